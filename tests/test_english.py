"""What users read has the field's English: messages, helps, summaries, and the pages of `docs/`.

`AVOIDED` lists phrases that were once frequent here and that a reader stumbles over, each
with what to write instead. The list grows when a reader stumbles again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

import pytest

from scripts.budgets import Module

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "examples/*/README.md",
)

AVOIDED: Final = (
    (r"\bstands?\b(?!-| for\b)", "is, appears, or name the thing that acts"),
    (r"\b(?:lies|lie)\b", "is"),
    (r"\b(?:is|are) of (?!the\b|a\b|an\b|its\b|\d)", "has, belongs to, comes from"),
    (r"\bis there(?: already)?(?:,| and)", "exists"),
    (r"\bwr(?:ite|itten|ites) over\b", "overwrite"),
    (r"\bhave not (?:the|a|any)\b", "do not have"),
    (r"\b(?:hold|holds|held)\b[^.]{0,30}\bagainst\b", "check, compare with"),
    (r"\bthat these \w+ fit\b", "compatible with these"),
    (r"\bonly say what\b", "only list, only estimate"),
    (r"\blooked into\b.*\blooked into\b", "read, searched"),
    (r"\bwhich is of\b", "which has"),
    (r"\b\w+ wrong use\b", "usage error"),
    (r"\bhand(?:s|ed|ing)? (?:in|over)\b", "submit, send, pass"),
    (r"\b(?:hold|holds|held) the truth\b", "cover the truth"),
    (r"\bfor want of\b", "because ... is missing"),
    (r"\bsaid (?:of|about)\b", "the options for, the value of"),
    (r"\b(?:is|are) said (?:if|when|where)\b", "is reported, is printed"),
    (r"\btold as\b", "reported as"),
    (r"\bha(?:s|ve) no say\b", "does not affect"),
    (r"\bbe\s+meant\b", "implausible"),
    (r"\bc[oa]mes? of\b", "is due to, results from"),
    (r"\btake what there is\b", "accept fewer"),
    (r"\btakes? (?:its|the) place of\b|\bin place of whom\b", "replace, instead of"),
    (r"\bput right\b", "correct, repair"),
    (r"\bspeaks? of\b", "mention"),
    (r"\bsets? (?:it|them|the \w+) beside\b", "compare with"),
    (r"\bquestions? (?:was|were|is|are) put\b", "ask"),
    (r"\bin whose (?:manner|way)\b", "whose ... to follow"),
    (r"\banew\b", "again, from scratch, or re- before the verb"),
    (r"\bgo(?:es)? on\b|\bwent on\b", "continue, resume"),
    (r"\bmend(?:s|ed|ing)?\b", "correct, fix, repair"),
    (r"\ball the same\b", "nevertheless, but"),
    (r"\bb(?:ear|ears|ore|orne) out\b", "support, agree with"),
    (r"\bin place of\b", "instead of"),
    (r"\b(?:is|are|was|were) made of\b", "built from"),
    (r"\bin vain\b", "without effect, name what failed"),
    (r"\bat hand\b", "available, or name the thing"),
    (r"\bas many as there (?:are|is)\b", "all"),
    (r"\btakes? (?:no|none)\b", "has no, does not accept"),
    (r"\b(?:is|are|be) told\b", "is distinguished, is reported"),
    (
        r"\bof another (?:release|judge|format)\b",
        "from another",
    ),
    (r"(?:,| and) there is none\b", "name what is missing and the next step"),
)
"""A phrase, and what to write instead."""

CALLS: Final = re.compile(
    r"(?:Error|Option|Verb|MetricSpec|tell|note|doing|print|warning|info)$"
)
"""Names of calls whose texts a user reads."""


class Text(NamedTuple):
    """A text that a user reads, and where it is from."""

    source: str
    text: str


def test_pages_have_no_avoided_phrase() -> None:
    texts = list(page_texts())
    assert texts
    assert not avoided_in(texts)


@pytest.mark.parametrize(
    "text",
    [
        "row 3: the id stands twice",
        "file.csv: is there already, and nothing is written over",
        "the tasks are of several datasets",
        "the file lies in the folder",
        "patients have not the number of notes",
        "a later look is held for long against the gate",
        "a unit that cannot\nbe meant",
        "how much comes of items",
        "Give the command again to write it anew",
        "the same command goes on from there",
        "Mend the row",
    ],
)
def test_an_avoided_phrase_is_found(text: str) -> None:
    assert avoided_in([Text("here", text)])


def avoided_in(texts: list[Text]) -> list[str]:
    """Which texts have an avoided phrase, each with what to write instead."""
    return [
        f"{source}: {match[0]!r} in {text[:120]!r}: write {instead}"
        for source, text in texts
        for pattern, instead in AVOIDED
        if (match := re.search(pattern, text, re.IGNORECASE))
    ]


def user_texts(modules: Iterable[Module]) -> Iterator[Text]:
    """Every message, help line and summary in code; `test_source_rules` reads the package's."""
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.Call) and CALLS.search(_name(node.func)):
                for argument in (
                    *node.args,
                    *(keyword.value for keyword in node.keywords),
                ):
                    for text in _texts(argument):
                        yield Text(f"{module.path}:{node.lineno}", text)
            elif isinstance(node, ast.ClassDef) and _is_options(module.path):
                yield Text(
                    f"{module.path}:{node.lineno}", ast.get_docstring(node) or ""
                )


def page_texts() -> Iterator[Text]:
    """The lines of the pages, without code."""
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            prose = re.sub(r"(?ms)^```.*?^```|^    .*?$", "", path.read_text())
            for line in re.sub(r"`[^`\n]*`", "CODE", prose).splitlines():
                yield Text(str(path.relative_to(ROOT)), line)


def _is_options(path: PurePosixPath) -> bool:
    return "options" in (path.stem, path.parent.name)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _texts(node: ast.expr) -> Iterator[str]:
    """The texts of an expression; what an f-string fills in is a `{}`."""
    for child in ast.walk(node):
        if isinstance(child, ast.JoinedStr):
            yield "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else "{}"
                for piece in child.values
            )
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
