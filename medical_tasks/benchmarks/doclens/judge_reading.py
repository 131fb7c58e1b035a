"""How replies to our prompts and to the authors' are read. What lacks the form asked for is `Unreadable`; nothing is guessed.

Values are made to be kept: the verdicts of a batch by place, without text; claims as one JSON text. A provenance with a number that
was not shown is unreadable (the authors drop such numbers). Replies to the authors' prompts are read more strictly than by their
scripts (`official_reading`):

| reply | read | their scripts accept besides |
|---|---|---|
| claims | behind `Claim 1: ` and so on, each on a line; 1 to 30 | marks within a line; any number |
| verdicts of GPT on claims | a list of objects, each with its claim as it was given | counted as they come |
| verdict of GPT | an object; `prediction` will do as name | exact names |
| verdict of Mistral | the last line, `prediction: 1` or `prediction: 0` | the first line with that in it, `prediction: 10` too |
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.doclens.measures import MAX_CLAIMS, MIN_CLAIMS, read_claims_reply
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import Checker, boolean, free_text, read_choice, read_json, read_object

Batch = tuple[bool | None, ...]
"""Value of a batched verdict: for each claim, in order, whether it is entailed; None for one that the reply leaves out."""

Cited = tuple[bool, tuple[int, ...]]
"""Value of a verdict on a sentence: whether what it cites entails it, and by which numbers; none if it is not entailed."""

_ENTAILED: Final = {"entailed": boolean}
_EXPLANATION: Final = {"explanation": free_text}
_YES_NO: Final = ("yes", "no")
_NUMBER: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 6  # as in a marker
_LIST: Final = re.compile(r"[0-9\[\],; \t]+")
_PROVENANCE: Final = re.compile(r"[ \t*_`#>-]*provenance[ \t*_`]*[:=](.*)", re.IGNORECASE)


def read_made(text: str) -> str | Unreadable:
    """Reads claims that were asked for; the value is a JSON list."""
    claims = read_claims_reply(text)
    return claims if isinstance(claims, Unreadable) else json.dumps(claims)


def read_verdict_object(text: str, *, explained: bool) -> bool | Unreadable:
    """Reads one verdict from a JSON object."""
    value = read_object(text, _keys(_ENTAILED, explained=explained))
    return value if isinstance(value, Unreadable) else bool(value["entailed"])


def read_verdict_lines(text: str) -> bool | Unreadable:
    """Reads one verdict from the last line, `entailed: yes` or `entailed: no`; a reply of that word alone will do."""
    word = read_choice(text, _YES_NO, label="entailed")
    return word if isinstance(word, Unreadable) else word == "yes"


def read_batch(ids: Sequence[str], *, explained: bool) -> Callable[[str], Batch | Unreadable]:
    """Makes a reader of verdicts on several claims.

    Returns:
        The reader. Ids that were not asked about or stand twice make a reply unreadable, and so does one without any verdict.
    """
    keys = {"id": free_text, **_keys(_ENTAILED, explained=explained)}

    def read(text: str) -> Batch | Unreadable:
        value = read_json(text)
        if isinstance(value, Unreadable):
            return value
        if not isinstance(value, dict) or set(value) != {"verdicts"} or not isinstance(value["verdicts"], list):
            return Unreadable("the reply needs to be an object with the key verdicts, a list, and no others")
        if not value["verdicts"]:
            return Unreadable("verdicts is empty")
        found: dict[str, bool] = {}
        for entry in value["verdicts"]:
            broken = _broken(entry, keys)
            if broken is not None:
                return Unreadable(broken)
            name = entry["id"]
            if name not in ids:
                return Unreadable("a verdict has an id that was not asked about")
            if name in found:
                return Unreadable(f"{name} stands twice")
            found[name] = entry["entailed"]
        return tuple(found.get(name) for name in ids)

    return read


def read_cited_object(numbers: Sequence[int], *, explained: bool) -> Callable[[str], Cited | Unreadable]:
    """Makes a reader of a verdict on a sentence, a JSON object."""

    def read(text: str) -> Cited | Unreadable:
        value = read_object(text, _keys({"provenance": _is_list, **_ENTAILED}, explained=explained))
        if isinstance(value, Unreadable):
            return value
        return cited_value(value["entailed"], value["provenance"], numbers)

    return read


def read_cited_lines(numbers: Sequence[int]) -> Callable[[str], Cited | Unreadable]:
    """Makes a reader of a verdict on a sentence, lines `provenance: 3, 7` (or `none`) and `entailed: yes`."""

    def read(text: str) -> Cited | Unreadable:
        entailed = read_verdict_lines(text)
        if isinstance(entailed, Unreadable):
            return entailed
        provenance = provenance_line(text)
        if isinstance(provenance, Unreadable):
            return provenance
        return cited_value(entailed, provenance, numbers)

    return read


def provenance_line(text: str) -> list[int] | Unreadable:
    """Reads the one line with the provenance of a reply in lines.

    Returns the numbers, in order; none for `none`. Of two such lines none can be known to be the judge's own.
    """
    spoken = text.rpartition("</think>")[2]
    lines = [found[1] for line in spoken.split("\n") if (found := _PROVENANCE.fullmatch(line.strip()))]
    if len(lines) != 1:
        return Unreadable(f"one line with provenance is needed; there are {len(lines)}")
    written = lines[0].strip(" \t*_`.")
    if written.casefold() in ("none", "[]"):
        return []
    numbers = _NUMBER.findall(written) if _LIST.fullmatch(written) else []
    if not numbers or any(len(number) > _MOST_DIGITS for number in numbers):
        return Unreadable("provenance is not numbers with commas between them, or none")
    return [int(number) for number in numbers]


def cited_value(entailed: bool, provenance: Any, numbers: Sequence[int]) -> Cited | Unreadable:
    """Checks a verdict on a sentence against what was shown.

    Returns the value. A number that was not shown makes the reply unreadable, however many were shown and whatever is
    decided: the judge did not read what it was asked. The only citation of an entailed sentence need not be named.
    """
    numbered = isinstance(provenance, list) and all(type(number) is int for number in provenance)
    if numbered and not set(provenance) <= set(numbers):
        return Unreadable("provenance has a number that is not cited")
    if not entailed:
        return False, ()
    if not numbered:
        return Unreadable("provenance must be a list of numbers")
    if len(set(numbers)) == 1:
        return True, (numbers[0],)
    if not provenance:
        return Unreadable("entailed and no provenance contradict each other")
    return True, tuple(sorted(set(provenance)))


def _keys(keys: Mapping[str, Checker], *, explained: bool) -> dict[str, Checker]:
    return {**_EXPLANATION, **keys} if explained else dict(keys)


def _is_list(value: Any) -> str | None:
    return None if isinstance(value, list) else "must be a list of numbers"


def _broken(entry: Any, keys: Mapping[str, Checker]) -> str | None:
    if not isinstance(entry, dict) or set(entry) != set(keys):
        return f"each verdict needs the keys {', '.join(keys)} and no others"
    for name, check in keys.items():
        broken = check(entry[name])
        if broken is not None:
            return f"{name} {broken}"
    return None


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

    Returns the reader. Its value is by the claims' places; a claim that was not asked about, or comes back more often than
    it was asked about, makes the reply unreadable. Capitals, white space and what is at a claim's ends do not count.
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
    """Makes a reader of GPT's verdict on a sentence."""

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
