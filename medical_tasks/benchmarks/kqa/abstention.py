"""Detects by wording alone whether a response answers or abstains.

This is "% respond" of the K-QA paper, table 4. Each clause is a refusal, a courtesy
(apology, disclaimer, a bare referral to a doctor, an offer of help), or content. Only a
text without any content is a sure abstention. A judge decides mixed texts, and refusals
that may be findings ("I could not find any interaction"). Besides a bare "I don't know"
in some other languages, only English is covered. See docs/kqa_scoring.md.

Example: "I'm sorry, I can't help with that. Please see a doctor." is sure; "I don't
know the cause, but rest may help." is unsure.

| a clause | examples |
|---|---|
| refuses | I don't know; I can't answer; this cannot be answered; the sources say nothing about it |
| refuses, or reports a finding | I could not find any interaction; we don't have enough data on its use in pregnancy |
| is courtesy | apologies, "as an AI", a bare referral ("please ask your doctor"), offers of help |
| says something | everything else, including "it is not known whether ...", "I cannot recommend it", a referral with a reason |

- **sure**: something refuses, nothing says anything, at most 120 words. No call is
  made.
- **none**: nothing refuses and something is said, or at least 60 words say something.
- **unsure**: the rest. A judge that reads prompts decides; for an entailment judge it
  is an answer.

Refusals are recognised in English, a bare "I don't know" in fourteen languages; others
count as answers that entail nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from medical_tasks.io.files import packaged
from medical_tasks.scoring.normal_form import shortened

Abstention = Literal["sure", "unsure", "none"]

_Form = str | list[str] | Mapping[str, str | list[str]]
"""A pattern, alternatives, or groups of these."""

LONGEST: Final = 120
"""Largest number of words in a sure abstention, with repeated clauses counted once."""
ANSWER_WORDS: Final = 60
"""Number of words of content that make an answer, whatever else the text declines."""
CLAUSE_WORDS: Final = 30
"""Number of words in a refusal after which the rest counts as content."""
READ: Final = 8_000
"""Number of characters that are read."""

_PLAIN: Final = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ´`′＇", "'"),
        **dict.fromkeys('“”„«»‹›"', " "),
        **dict.fromkeys("*_#|~", " "),
        **dict.fromkeys("‐‑‒–—―", "-"),
        "…": ". ",
    }
)
_SENTENCES: Final = re.compile(r"(?<=[.!?])[\s'\")\]]+|\s*[\n;:]\s*|\s+-\s+")
_CONTRASTS: Final = re.compile(
    r"[\s,]+(?:but|however|although|though|nevertheless|nonetheless|that said|yet)[\s,]+"
)
_LIST_MARK: Final = re.compile(r"\s*(?:[-•·]|\(?\d{1,2}[.)])\s+")
_LABEL: Final = re.compile(
    r"(?:the )?(?:final )?(?:answer|response|reply|output)(?: is)?"
)
_INITIAL: Final = re.compile(r"^\W*a\s*:")
_TAG: Final = re.compile(r"</?[a-z]{1,12}>")
_EDGES: Final = " \t'\".,!?-()[]{}<>。،؟¿¡।"


def _alternatives(words: str) -> str:
    """A pattern that matches one of the words or phrases, given with commas, the longest first."""
    choices = sorted((word.strip() for word in words.split(",")), key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, choices))})"


def _patterns(forms: Mapping[str, _Form]) -> dict[str, str]:
    """Builds patterns by name from lists of alternatives, which may be in named groups.

    `<name>` refers to an earlier pattern, `<words, separated by commas>` to one of the
    words.
    """
    patterns: dict[str, str] = {}
    for name, form in forms.items():
        groups = form.values() if isinstance(form, dict) else [form]
        lines = [
            line
            for group in groups
            for line in ([group] if isinstance(group, str) else group)
        ]
        patterns[name] = "|".join(
            re.sub(
                "<([^<>]+)>",
                lambda slot: patterns.get(slot[1]) or _alternatives(slot[1]),
                line,
            )
            for line in lines
        )

    return patterns


_FORMS: Final = packaged(__file__, "abstention.json")
_CONTRACTIONS: Final = tuple(
    (re.compile(pattern), spelt)
    for pattern, spelt in _FORMS.pop("contractions").items()
)
_COMPILED: Final = {
    name: re.compile(pattern) for name, pattern in _patterns(_FORMS).items()
}


def abstention(text: str) -> Abstention:
    """Classifies a response by its wording.

    Markdown, quotation marks and curly apostrophes make no difference.

    Returns:
        `sure`: only refusal and courtesy, in at most `LONGEST` words, or no words at
        all. `none`: no refusal, or `ANSWER_WORDS` words of content beside it.
        `unsure`: anything between, or courtesy alone.
    """
    refuses = False
    words = content = 0
    for clause in dict.fromkeys(_clauses(text)):
        size, kind = len(clause.split()), _kind(clause)
        words += size
        refuses |= kind in ("refusal", "doubtful")
        content += {"refusal": max(0, size - CLAUSE_WORDS), "courtesy": 0}.get(
            kind, size
        )

    if not any(map(str.isalnum, text)):
        return "sure"
    if refuses and content == 0 and words <= LONGEST:
        return "sure"
    if content >= ANSWER_WORDS or (content and not refuses):
        return "none"

    return "unsure"


def _clauses(text: str) -> Iterator[str]:
    """The clauses in lower case without lead-ins; empty ones are dropped."""
    plain = (
        unicodedata.normalize("NFKC", shortened(text[:READ]).translate(_PLAIN))
        .translate(_PLAIN)
        .lower()
    )
    plain = _INITIAL.sub(" ", _TAG.sub(" ", plain))
    for contraction, spelt in _CONTRACTIONS:
        plain = contraction.sub(spelt, plain)

    for sentence in _SENTENCES.split(plain):
        mark = _LIST_MARK.match(sentence)
        for fragment in _CONTRASTS.split(sentence[mark.end() :] if mark else sentence):
            clause = " ".join(_COMPILED["adverbs"].sub("", fragment).split())
            yield from _split(clause.strip(_EDGES))


def _split(clause: str) -> Iterator[str]:
    """Splits a clause where a second one follows a comma, and drops lead-ins."""
    concession = _COMPILED["concession"].match(clause)
    if concession and "," in clause:
        head, _, tail = clause[concession.end() :].partition(",")
        clauses = [head, tail]
    else:
        clauses = _COMPILED["opens_a_clause"].split(clause)

    for piece in clauses:
        rest = piece.strip(_EDGES)
        while (lead := _COMPILED["lead_in"].match(rest)) and lead.end():
            rest = rest[lead.end() :].strip(_EDGES)

        if any(map(str.isalnum, rest)) and not _LABEL.fullmatch(rest):
            yield rest


def _kind(clause: str) -> Literal["refusal", "doubtful", "courtesy", "content"]:
    start = " ".join(clause.split(" ")[:CLAUSE_WORDS])[:400]
    if _COMPILED["bare"].fullmatch(start):
        return "refusal"
    if _COMPILED["refusal"].match(start):
        return "doubtful" if _COMPILED["doubtful"].match(start) else "refusal"

    short = len(clause.split()) <= CLAUSE_WORDS
    if short and (
        _COMPILED["courtesy"].match(start) or _COMPILED["referral"].fullmatch(start)
    ):
        return "courtesy"

    return "content"
