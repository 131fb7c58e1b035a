"""Cuts an arithmetic expression into tokens, by the rules of Python's own tokenizer as far as `expression` needs them."""

from __future__ import annotations

import re

__all__ = ["END", "ExpressionError", "tokens"]


class ExpressionError(ValueError):
    """The text is no expression of the language, or has no value (division by zero, unknown name, too large)."""


_TOKEN = re.compile(
    r"""[ \t\f]*+(?:
      (?P<number>
          0[xX](?:_?[0-9a-fA-F])++ | 0[oO](?:_?[0-7])++ | 0[bB](?:_?[01])++
        | (?: [0-9](?:_?[0-9])*+ (?:\.(?:[0-9](?:_?[0-9])*+)?+)?+ | \.[0-9](?:_?[0-9])*+ )
          (?:[eE][+-]?[0-9](?:_?[0-9])*+)?+ [jJ]?+
      )
    | (?P<name>[A-Za-z_][A-Za-z_0-9]*+ (?:\.[A-Za-z_][A-Za-z_0-9]*+)*+)
    | (?P<text>'[^'\\\n]*+' | "[^"\\\n]*+")
    | (?P<sign>\*\*|//|==|!=|<=|>=|<<|>>|[-+*/%()\[\],<>=&|^~])
    | (?P<newline>\n|\r\n?)
    | (?P<comment>\#[^\n]*+)
    )""",
    re.VERBOSE,
)
END = ("end", "")
_KEYWORDS = frozenset({"and", "or", "not", "if", "else", "in", "is", "lambda", "for", "await", "yield"})


def tokens(text: str) -> list[tuple[str, str]]:
    """Kind and spelling of each token; the last is `END`.

    Args:
        text: the expression, of bounded length.

    Raises:
        ExpressionError: A character that starts no token, or a second line outside of brackets.
    """
    found_tokens: list[tuple[str, str]] = []
    position, depth = 0, 0
    text = text.lstrip(" \t").lstrip("\r\n").rstrip(" \t\f\r\n")
    if text[:1] in (" ", "\t"):
        raise ExpressionError("unexpected indent")
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ExpressionError(f"unexpected character {text[position]!r}")
        position = found.end()
        kind, written = found.lastgroup or "", found[found.lastgroup or 0]
        if kind == "newline" and depth <= 0:
            raise ExpressionError("more than one line")
        if kind in ("newline", "comment"):
            continue
        depth += (written in "([") - (written in ")]") if kind == "sign" else 0
        found_tokens.append(("word" if kind == "name" and written in _KEYWORDS else kind, written))
    found_tokens.append(END)
    return found_tokens
