"""What of a model's reply is its answer: everything but the reasoning that a server left in it.

Marks of `<think>` and its like, of OpenThinker and Command A (`<|...|>`), MedGemma
(`<unused94>`), Gemma 4 (`<|channel>`), gpt-oss (`<|channel|>analysis`, or bare
`analysisWe ...assistantfinal`), HuatuoGPT-o1 (`## Thinking`) and Granite 3 (a
sentence).
"""

from __future__ import annotations

import re
from typing import Final

from medical_tasks.io.patterns import Pattern

_TAGS: Final = {"think": ("", "think(?:ing)?|thoughts?")} | {
    name: (r"(?<!\[)", name.replace("_", "[_ -]"))  # "[analysis]" is text
    for name in (
        "reasoning",
        "reflection",
        "analysis",
        "scratchpad",
        "cot",
        "chain_of_thought",
        "inner_monologue",
    )
}
_REST: Final = r"(?: [^<>=\n]{1,60}=[^<>\n]{0,200})?[]>▷＞]"
_HEADER: Final = r"[^<]{0,200}(?:<\|constrain\|>[^<]{0,100})?"
# What a mark does, and to which kind of block: `open` and `close` it, `end` it only
# where it is open, begin the answer (`to`). All begin with a bracket and are bounded
# behind it, so that a search is fast, and linear in the text.
_MARKS: Final = {
    f"{action}_{kind}": rf"{bracket}{slash}(?:[a-z]{{1,20}}:)?(?:{name}){_REST}"
    for kind, (bracket, name) in _TAGS.items()
    for action, slash in (("open", ""), ("close", "/"))
} | {
    "open_words": r"\|(?:begin|start)_(?:of_)?(?:thought|thinking)\|>",
    "close_words": r"\|end_(?:of_)?(?:thought|thinking)\|>",
    "open_unused": "unused94>",
    "close_unused": "unused95>",
    "open_gemma": r"\|channel>",
    "close_gemma": r"channel\|>",
    "to_answer": rf"\|channel\|>\s{{0,4}}final\b{_HEADER}<\|message\|>",
    "open_message": rf"\|channel\|>{_HEADER}(?:<\|message\|>)?",
    "end_message": r"\|(?:end|return|call)\|>",
    "end_header": r"\|start\|>assistant|\|message\|>",
    "open_turn": r"\|start\|>",
}
_MARK: Final = Pattern(
    rf"[\[<◁＜](?:{'|'.join(f'(?P<{name}>{mark})' for name, mark in _MARKS.items())})",
    re.IGNORECASE,
)
_MARK_WORDS: Final = (
    "|", "think", "thought", "reasoning", "reflection", "analysis", "scratchpad", "cot", "chain",
    "monologue", "unused9",
)  # fmt: skip
"""Of which each mark has one: most replies have none, and are not searched for marks."""
# Reasoning without brackets, where a reply begins with it.
_PLAIN: Final = tuple(
    (Pattern(opening, re.IGNORECASE), Pattern(closing, re.IGNORECASE | re.MULTILINE))
    for opening, closing in (
        (r"\s*analysis(?=[a-z])", "assistantfinal"),
        (r"\s*#{1,6} ?Thinking[ \r]*\n", r"^#{1,6} ?Final Response[ \r]*$"),
        (
            r"\s*Here(?: is|['’]s) my thought process:",
            r"Here(?: is|['’]s) my response:",
        ),
    )
)


def spoken(text: str) -> str:
    """Takes the reasoning out of a reply.

    A block ends at the first mark that closes its kind, so reasoning may mention its
    own opening mark. What follows an opening mark that is never closed is reasoning. So
    is everything before a closing mark without an opening one: chat templates open the
    reasoning themselves, and blocks are nested. A reply of reasoning alone is blank.
    """
    text = _after_plain(text)
    if not any(bracket in text for bracket in "<[◁＜"):
        return text

    folded = text.casefold()
    if not any(word in folded for word in _MARK_WORDS):
        return text

    parts: list[str] = []
    inside = ""  # the kind of block that is open
    start = 0
    for mark in _MARK.finditer(text):
        action, _, kind = str(mark.lastgroup).partition("_")
        if (action == "to" and inside != "turn") or (action == "close" and not inside):
            parts, inside = [], ""
        elif not inside:
            parts.append(text[start : mark.start()])
            inside = kind if action == "open" else ""
        elif kind == inside and action != "open":
            inside = ""
        else:
            continue

        start = mark.end()

    if not inside:
        parts.append(text[start:])

    return (
        parts[0]
        if len(parts) == 1
        else "\n".join(part for part in parts if part.strip())
    )


def _after_plain(text: str) -> str:
    """Takes away reasoning without brackets, with which a reply begins."""
    for opening, closing in _PLAIN:
        if opening.match(text):
            closed = closing.search(text)
            text = text[closed.end() :] if closed else ""
    return text


def as_written(text: str) -> str:
    r"""Takes the answer out of a reply, with the white space around it.

    Authors' scripts send that to their judges too. White space beside reasoning that
    was taken out belongs to neither.

        >>> as_written(" It was a marble.\n"), as_written("<think>So.</think>\n\nIt was a marble.")
        (' It was a marble.\n', 'It was a marble.')
    """
    answer = spoken(text)
    return answer if answer == text else answer.strip()
