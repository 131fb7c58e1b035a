"""How replies to our prompts and to the authors' are read. What lacks the form asked for is `Unreadable`; nothing is guessed.

Values are made to be kept: verdicts of a batch by place, claims as one JSON text. The authors' scripts (`official_scoring`) accept
more: marks of claims within a line and any number of them, verdicts on other claims, numbers that were not shown, and of Mistral's
lines the first that has `prediction: 1` in it, `prediction: 10` too.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from medical_tasks.benchmarks.doclens.measures import MAX_CLAIMS, MIN_CLAIMS, read_claims_reply
from medical_tasks.judges.base import Unreadable
from medical_tasks.judges.reading import Checker, boolean, free_text, read_choice, read_json, read_object

Batch = tuple[bool | None, ...]
"""Value of a batched verdict: for each claim, in order, whether it is entailed; None for one that the reply leaves out."""

Cited = tuple[bool, tuple[int, ...]]
"""Value of a verdict on a sentence: whether what it cites entails it, and by which numbers; none if it is not entailed."""

_NUMBER: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 6  # as in a marker
_LIST: Final = re.compile(r"[0-9\[\],; \t]+")
_PROVENANCE: Final = re.compile(r"[ \t*_`#>-]*provenance[ \t*_`]*[:=](.*)", re.IGNORECASE)

_Value = TypeVar("_Value")
_Given = ParamSpec("_Given")


class _BrokenError(Exception):
    """Ends a reading; says what is wrong with the reply."""


def _known(value: _Value | Unreadable) -> _Value:
    if isinstance(value, Unreadable):
        raise _BrokenError(value.problem)
    return value


def _reader(
    read: Callable[Concatenate[str, _Given], _Value],
) -> Callable[Concatenate[str, _Given], _Value | Unreadable]:
    @functools.wraps(read)
    def guarded(text: str, /, *args: _Given.args, **options: _Given.kwargs) -> _Value | Unreadable:
        try:
            return read(text, *args, **options)
        except _BrokenError as end:
            return Unreadable(str(end))

    return guarded


@_reader
def read_made(text: str) -> str:
    """Reads claims that were asked for; the value is a JSON list."""
    return json.dumps(_known(read_claims_reply(text)))


@_reader
def read_verdict_object(text: str, *, explained: bool) -> bool:
    """Reads one verdict from a JSON object."""
    return bool(_known(read_object(text, _keys({"entailed": boolean}, explained=explained)))["entailed"])


@_reader
def read_verdict_lines(text: str) -> bool:
    """Reads one verdict from the last line, `entailed: yes` or `entailed: no`; a reply of that word alone will do."""
    return _known(read_choice(text, ("yes", "no"), label="entailed")) == "yes"


@_reader
def read_batch(text: str, ids: Sequence[str], *, explained: bool) -> Batch:
    """Reads verdicts on several claims; ids that were not asked about or stand twice make the reply unreadable."""
    keys = {"id": free_text, **_keys({"entailed": boolean}, explained=explained)}
    value = _known(read_json(text))
    if not isinstance(value, dict) or set(value) != {"verdicts"} or not isinstance(value["verdicts"], list):
        raise _BrokenError("the reply needs to be an object with the key verdicts, a list, and no others")
    if not value["verdicts"]:
        raise _BrokenError("verdicts is empty")
    found: dict[str, bool] = {}
    for entry in value["verdicts"]:
        if not isinstance(entry, dict) or set(entry) != set(keys):
            raise _BrokenError(f"each verdict needs the keys {', '.join(keys)} and no others")
        for key, check in keys.items():
            if broken := check(entry[key]):
                raise _BrokenError(f"{key} {broken}")
        if entry["id"] not in ids:
            raise _BrokenError("a verdict has an id that was not asked about")
        if entry["id"] in found:
            raise _BrokenError(f"{entry['id']} stands twice")
        found[entry["id"]] = entry["entailed"]
    return tuple(map(found.get, ids))


@_reader
def read_cited_object(text: str, numbers: Sequence[int], *, explained: bool) -> Cited:
    """Reads a verdict on a sentence, a JSON object; `numbers` were shown."""
    value = _known(read_object(text, _keys({"provenance": _is_list, "entailed": boolean}, explained=explained)))
    return _cited(value["entailed"], value["provenance"], numbers)


@_reader
def read_cited_lines(text: str, numbers: Sequence[int]) -> Cited:
    """Reads a verdict on a sentence, lines `provenance: 3, 7` (or `none`) and `entailed: yes`."""
    return _cited(_known(read_verdict_lines(text)), _provenance(text), numbers)


def _provenance(text: str) -> list[int]:
    """The numbers of the one line with the provenance; of two such lines none can be known to be the judge's own."""
    spoken = text.rpartition("</think>")[2]
    lines = [found[1] for line in spoken.split("\n") if (found := _PROVENANCE.fullmatch(line.strip()))]
    if len(lines) != 1:
        raise _BrokenError(f"one line with provenance is needed; there are {len(lines)}")
    written = lines[0].strip(" \t*_`.")
    if written.casefold() in ("none", "[]"):
        return []
    numbers = _NUMBER.findall(written) if _LIST.fullmatch(written) else []
    if not numbers or any(len(number) > _MOST_DIGITS for number in numbers):
        raise _BrokenError("provenance is not numbers with commas between them, or none")
    return [int(number) for number in numbers]


def _cited(entailed: bool, provenance: Any, numbers: Sequence[int]) -> Cited:
    """Checks a verdict on a sentence against what was shown.

    A number that was not shown makes the reply unreadable, however many were shown and whatever is decided: the judge did not
    read what it was asked. The only citation of an entailed sentence need not be named.
    """
    numbered = isinstance(provenance, list) and all(type(number) is int for number in provenance)
    if numbered and not set(provenance) <= set(numbers):
        raise _BrokenError("provenance has a number that is not cited")
    if not entailed:
        return False, ()
    if not numbered:
        raise _BrokenError("provenance must be a list of numbers")
    if len(set(numbers)) == 1:
        return True, (numbers[0],)
    if not provenance:
        raise _BrokenError("entailed and no provenance contradict each other")
    return True, tuple(sorted(set(provenance)))


def _keys(keys: Mapping[str, Checker], *, explained: bool) -> dict[str, Checker]:
    return {"explanation": free_text, **keys} if explained else dict(keys)


def _is_list(value: Any) -> str | None:
    return None if isinstance(value, list) else "must be a list of numbers"


_MARK: Final = re.compile(r"(^[ \t]*)?Claim [0-9]{1,4}: ", re.MULTILINE)
_LABEL: Final = re.compile(r"^([ \t*_`#]*)entailment[ _\\]{0,3}prediction", re.IGNORECASE | re.MULTILINE)
_ENDS: Final = " .\"'“”‘’"
_NAMES: Final = ("entailment_prediction", "entailment prediction", "prediction")


@_reader
def read_official_made(text: str) -> str:
    """Reads claims; the value is a JSON list. White space is run together, where the authors delete line feeds."""
    spoken = text.rpartition("</think>")[2]
    # Which numbers the claims have does not matter: in a worked example of theirs two have the same.
    marks = list(_MARK.finditer(spoken))
    if any(mark[1] is None for mark in marks):
        raise _BrokenError("a claim has the mark of another one in it")
    if not MIN_CLAIMS <= len(marks) <= MAX_CLAIMS:
        raise _BrokenError(f"{MIN_CLAIMS} to {MAX_CLAIMS} claims are asked for; there are {len(marks)}")
    ends = [*(mark.start() for mark in marks[1:]), len(spoken)]
    claims = [" ".join(spoken[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=True)]
    if not all(claims):
        raise _BrokenError("a claim is empty")
    return json.dumps(list(dict.fromkeys(claims)))


@_reader
def read_official_batch(text: str, claims: Sequence[str]) -> Batch:
    """Reads GPT's verdicts on several claims, each with its claim; capitals, white space and a claim's ends do not count.

    A claim that was not asked about, or comes back more often than it was asked about, makes the reply unreadable.
    """
    asked = Counter(map(_bare, claims))
    value = _known(read_json(text))
    if not isinstance(value, list) or not value:
        raise _BrokenError("the reply needs to be a list of objects, one for each claim")
    found: dict[str, bool] = {}
    times: Counter[str] = Counter()
    for entry in value:
        if not isinstance(entry, dict) or not isinstance(entry.get("claim"), str):
            raise _BrokenError("each entry needs to be an object with the claim as it was given")
        verdict, name = _prediction(entry), _bare(entry["claim"])
        times[name] += 1
        if name not in asked:
            raise _BrokenError("an entry's claim is none of those asked about; repeat each claim as it was given")
        if times[name] > asked[name] or found.get(name, verdict) != verdict:
            raise _BrokenError("a claim stands twice")
        found[name] = verdict
    # Of two claims that look alike here, one answer is not known to be meant for which.
    return tuple(found.get(name) if times[name] == asked[name] else None for name in map(_bare, claims))


@_reader
def read_official_only(text: str, claim: str) -> bool:
    """Reads GPT's verdict on one claim, a list as for several."""
    (verdict,) = _known(read_official_batch(text, [claim]))
    if verdict is None:
        raise _BrokenError("there is no verdict")
    return verdict


@_reader
def read_official_object(text: str) -> bool:
    """Reads GPT's verdict on two questions."""
    value = _known(read_json(text))
    if not isinstance(value, dict):
        raise _BrokenError("a JSON array where one object is asked for")
    return _prediction(value)


@_reader
def read_official_lines(text: str) -> bool:
    """Reads Mistral's verdict."""
    return _known(read_choice(_LABEL.sub(r"\1prediction", text), ("1", "0"), label="prediction")) == "1"


@_reader
def read_official_cited(text: str, numbers: Sequence[int]) -> Cited:
    """Reads GPT's verdict on a sentence."""
    value = _known(read_json(text))
    if not isinstance(value, dict) or "provenance" not in value:
        raise _BrokenError("the reply needs to be an object with explanation, provenance and prediction")
    return _cited(_prediction(value), value["provenance"], numbers)


@_reader
def read_official_cited_lines(text: str, numbers: Sequence[int]) -> Cited:
    """Reads Mistral's verdict on a sentence; the reply names places among the numbers."""
    entailed = _known(read_official_lines(text))
    try:
        places = _provenance(text)
    except _BrokenError:
        if entailed and len(set(numbers)) > 1:  # only then have citations to be told apart
            raise
        places = []
    if not all(place < len(numbers) for place in places):
        raise _BrokenError("provenance has an idx that was not shown")
    return _cited(entailed, [numbers[place] for place in places], numbers)


def _prediction(value: dict[str, Any]) -> bool:
    given = [value[name] for name in _NAMES if name in value]
    if len(given) != 1:
        raise _BrokenError("one entailment_prediction is needed")
    if not isinstance(given[0], bool | int | float) or given[0] not in (0, 1):
        raise _BrokenError("entailment_prediction must be 1 or 0")
    return given[0] == 1


def _bare(claim: str) -> str:
    return " ".join(claim.casefold().split()).strip(_ENDS)
