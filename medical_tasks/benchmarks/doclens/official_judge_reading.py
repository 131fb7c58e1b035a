"""How replies to the authors' prompts are read: by the forms that these ask for, and without the guesses of their scripts.

| reply | read | theirs besides (`official_replies`) |
|---|---|---|
| claims | behind `Claim 1: ` and so on, each on a line; 1 to 30 | marks within a line too; any number |
| verdicts of GPT on claims | a list of objects, each with its claim as it was given | counted as they come |
| verdict of GPT | an object; `prediction` will do as name | exact names |
| verdict of Mistral | the last line, `prediction: 1` or `prediction: 0` | the first line with that in it, `prediction: 10` too |

What is unreadable here is asked again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.doclens.claims import MAX_CLAIMS, MIN_CLAIMS
from medical_tasks.benchmarks.doclens.judge_reading import Batch, Cited, cited_value, provenance_line
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import read_choice, read_json

__all__ = [
    "AGAIN_CLAIMS",
    "AGAIN_JSON",
    "AGAIN_LINES",
    "read_official_batch",
    "read_official_cited",
    "read_official_cited_lines",
    "read_official_lines",
    "read_official_made",
    "read_official_object",
]

AGAIN_CLAIMS: Final = 'That could not be read: {problem}. Write each claim on a line of its own, "Claim 1: ..." first.'
AGAIN_JSON: Final = "That could not be read: {problem}. Reply with the JSON asked for and nothing else."
AGAIN_LINES: Final = (
    'That could not be read: {problem}. Say it again in the form asked for; the last line is "entailment_prediction: 1" or '
    '"entailment_prediction: 0" and holds nothing else.'
)

_MARK: Final = re.compile(r"(^[ \t]*)?Claim [0-9]{1,4}: ", re.MULTILINE)
_LABEL: Final = re.compile(r"^([ \t*_`#]*)entailment[ _\\]{0,3}prediction", re.IGNORECASE | re.MULTILINE)
_ENDS: Final = " .\"'“”‘’"
_NAMES: Final = ("entailment_prediction", "entailment prediction", "prediction")


def read_official_made(text: str) -> str | Unreadable:
    """Reads claims; the value is a JSON list.

    White space is run together, where the authors delete line feeds. Which numbers the claims have does not matter: in a worked
    example of theirs two have the same.
    """
    spoken = text.rpartition("</think>")[2]
    marks = list(_MARK.finditer(spoken))
    if any(mark[1] is None for mark in marks):
        return Unreadable("a claim has the mark of another one in it")
    if not MIN_CLAIMS <= len(marks) <= MAX_CLAIMS:
        return Unreadable(f"{MIN_CLAIMS} to {MAX_CLAIMS} claims are asked for; there are {len(marks)}")
    ends = [*(mark.start() for mark in marks[1:]), len(spoken)]
    claims = [" ".join(spoken[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=True)]
    if not all(claims):
        return Unreadable("a claim is empty")
    return json.dumps(list(dict.fromkeys(claims)))


def read_official_batch(claims: Sequence[str]) -> Callable[[str], Batch | Unreadable]:
    """Makes a reader of GPT's verdicts on several claims.

    Args:
        claims: as they were asked about.

    Returns:
        The reader. Its value is by the claims' places; a claim that was not asked about, or comes back more often than it was
        asked about, makes the reply unreadable. Capitals, white space and what is at a claim's ends do not count.
    """
    asked = Counter(map(_bare, claims))

    def read(text: str) -> Batch | Unreadable:
        value = read_json(text)
        if isinstance(value, Unreadable):
            return value
        if not isinstance(value, list) or not value:
            return Unreadable("the reply needs to be a list of objects, one for each claim")
        found: dict[str, bool] = {}
        times: Counter[str] = Counter()
        for entry in value:
            if not isinstance(entry, dict) or not isinstance(entry.get("claim"), str):
                return Unreadable("each entry needs to be an object with the claim as it was given")
            verdict = _prediction(entry)
            if isinstance(verdict, Unreadable):
                return verdict
            name = _bare(entry["claim"])
            times[name] += 1
            if name not in asked:
                return Unreadable("an entry's claim is none of those asked about; repeat each claim as it was given")
            if times[name] > asked[name] or found.get(name, verdict) != verdict:
                return Unreadable("a claim stands twice")
            found[name] = verdict
        # Of two claims that look alike here, one answer is not known to be meant for which.
        return tuple(found.get(name) if times[name] == asked[name] else None for name in map(_bare, claims))

    return read


def read_official_object(text: str) -> bool | Unreadable:
    """Reads GPT's verdict on two questions."""
    value = read_json(text)
    if isinstance(value, Unreadable):
        return value
    return _prediction(value) if isinstance(value, dict) else Unreadable("a JSON array where one object is asked for")


def read_official_lines(text: str) -> bool | Unreadable:
    """Reads Mistral's verdict."""
    word = read_choice(_LABEL.sub(r"\1prediction", text), ("1", "0"), label="prediction")
    return word if isinstance(word, Unreadable) else word == "1"


def read_official_cited(numbers: Sequence[int]) -> Callable[[str], Cited | Unreadable]:
    """Makes a reader of GPT's verdict on a sentence.

    Args:
        numbers: of what was shown.
    """

    def read(text: str) -> Cited | Unreadable:
        value = read_json(text)
        if isinstance(value, Unreadable):
            return value
        if not isinstance(value, dict) or "provenance" not in value:
            return Unreadable("the reply needs to be an object with explanation, provenance and prediction")
        entailed = _prediction(value)
        return entailed if isinstance(entailed, Unreadable) else cited_value(entailed, value["provenance"], numbers)

    return read


def read_official_cited_lines(numbers: Sequence[int]) -> Callable[[str], Cited | Unreadable]:
    """Makes a reader of Mistral's verdict on a sentence.

    Args:
        numbers: of what was shown, in order: the reply names places.
    """

    def read(text: str) -> Cited | Unreadable:
        entailed = read_official_lines(text)
        if isinstance(entailed, Unreadable):
            return entailed
        places = provenance_line(text)
        if isinstance(places, Unreadable):
            # Only several citations of an entailed sentence have to be told apart.
            return places if entailed and len(set(numbers)) > 1 else cited_value(entailed, [], numbers)
        if not all(place < len(numbers) for place in places):
            return Unreadable("provenance has an idx that was not shown")
        return cited_value(entailed, [numbers[place] for place in places], numbers)

    return read


def _prediction(value: dict[str, Any]) -> bool | Unreadable:
    given = [value[name] for name in _NAMES if name in value]
    if len(given) != 1:
        return Unreadable("one entailment_prediction is needed")
    if not isinstance(given[0], bool | int | float) or given[0] not in (0, 1):
        return Unreadable("entailment_prediction must be 1 or 0")
    return given[0] == 1


def _bare(claim: str) -> str:
    return " ".join(claim.casefold().split()).strip(_ENDS)
