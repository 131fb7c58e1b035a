"""Whether an answer is one, or the model abstained, by the wording alone.

"% respond" of the K-QA paper, table 4. A clause refuses, is courtesy (apology,
disclaimer, a bare referral to a doctor, an offer of help), or says something. Only a
text in which nothing says anything is surely an abstention; what is mixed is left to a
judge, and so is a refusal that may be a finding ("I could not find any interaction").
English only, but for a bare "I don't know" in some languages. See docs/kqa_scoring.md.

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
"""Most words of a sure abstention, repeated clauses counted once."""
ANSWER_WORDS: Final = 60
"""So many words that say something make an answer, whatever else the text declines."""
CLAUSE_WORDS: Final = 30
"""What a refusal says beyond so many words counts as saying something."""
READ: Final = 8_000
"""Characters that are looked at."""

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


def _one(words: str) -> str:
    """A pattern that takes one of the words or phrases, which a comma parts; the longest first."""
    choices = sorted((word.strip() for word in words.split(",")), key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, choices))})"


def _patterns(forms: Mapping[str, _Form]) -> dict[str, str]:
    """Patterns by name: alternatives are lists, in groups that say what they are about.

    `<name>` stands for a pattern above, `<words, parted by commas>` for one of the
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
            re.sub("<([^<>]+)>", lambda at: patterns.get(at[1]) or _one(at[1]), line)
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
    """Classifies an answer by its wording.

    Markdown, quotation marks and curly apostrophes make no difference.

    `sure`: nothing but refusal and courtesy, at most `LONGEST` words, or no words at
    all. `none`: nothing is refused, or `ANSWER_WORDS` words say something beside the
    refusal. `unsure`: anything between, or courtesy alone.
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
    """The clauses in lower case, without lead-ins; those of which nothing is left are left out."""
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
        for part in _CONTRASTS.split(sentence[mark.end() :] if mark else sentence):
            clause = " ".join(_COMPILED["adverbs"].sub("", part).split())
            yield from _split(clause.strip(_EDGES))


def _split(clause: str) -> Iterator[str]:
    """Takes a clause apart where a second one follows a comma, and drops what leads in."""
    concession = _COMPILED["concession"].match(clause)
    if concession and "," in clause:
        head, _, tail = clause[concession.end() :].partition(",")
        parts = [head, tail]
    else:
        parts = _COMPILED["opens_a_clause"].split(clause)

    for part in parts:
        rest = part.strip(_EDGES)
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
