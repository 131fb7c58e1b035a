"""The authors' reading of their judges' replies, bug for bug; what is None here stays without a prediction in their score files.

- claims that GPT made (`claim_evaluation/generate_subclaims.py`): line feeds are deleted, with nothing in their place, then the
  text is cut at `Claim 1: `, `Claim 2: ` and so on. What stands before the first is dropped; small letters, a missing space or a
  claim that speaks of `Claim 2: ` are not seen or cut; nothing keeps the number of claims to 30
- GPT: the whole reply is JSON, a code fence is not; a list of claims is stored as it came, however many they are; a reply about
  citations needs its three keys, one about MeQSum's questions the key `prediction`
- Mistral: the first line with `prediction: 1` or `prediction: 0` decides, whatever stands behind the digit; it is asked up to 15
  times. The first line with `provenance: ` that names a sentence shown gives the provenance: all numbers of the line, those before
  `provenance: ` too, are places in the list shown. A sentence with one citation has that one, whatever is said
- TRUE: entailed if the text it makes is exactly `1`

And what their aggregation (`aggregate_scores.py`) makes of their score files' records: a claim or sentence counts when its
prediction equals 1 (1.0 and true do, "1" does not); each record counts in the denominator, also those a judge returned too many; of
a sentence that counts, the listed citations that are in the provenance are right, repeats as often as they are listed. Where their
script ends with an error there is no number to reproduce, and a `UsageError` names what was wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.errors import UsageError

__all__ = [
    "MISTRAL_TRIES",
    "counted_citation",
    "counted_claims",
    "gpt_citation_reply",
    "gpt_claims_reply",
    "gpt_question_reply",
    "mistral_citation_reply",
    "mistral_claim_reply",
    "official_claims",
]

MISTRAL_TRIES: Final = 15

_PREDICTION: Final = "entailment_prediction"
_NEXT: Final = "Their script fails here too; judge it again."

_CITATION_KEYS = ("entailment_prediction", "explanation", "provenance")
_NUMBER = re.compile(r"\d+")
_MARK = re.compile("Claim [0-9]+: ")
_MAX_DIGITS = 640  # the fewest digits Python can be set to refuse


def official_claims(reply: str) -> list[str]:
    """Reads claims that GPT made; white space at their ends included, maybe none, maybe blank ones."""
    return _MARK.split(reply.replace("\n", ""))[1:]


def gpt_claims_reply(reply: str) -> Any:
    """Reads GPT's judgement on all claims of a text.

    Args:
        reply: its raw text.

    Returns:
        What their score file has: whatever the JSON holds, mostly a list of records; an empty list when it is no JSON.
    """
    try:
        return json.loads(reply)
    except (ValueError, RecursionError):
        return []


def gpt_question_reply(reply: str) -> dict[str, Any] | None:
    """Reads GPT's judgement on a pair of MeQSum's questions; their records have it under both names."""
    value = gpt_claims_reply(reply)
    if not isinstance(value, dict) or "prediction" not in value:
        return None
    return value | {"entailment_prediction": value["prediction"]}


def gpt_citation_reply(reply: str) -> dict[str, Any] | None:
    """Reads GPT's judgement on a sentence and its citations: all keys it gave, or None."""
    value = gpt_claims_reply(reply)
    return value if isinstance(value, dict) and all(key in value for key in _CITATION_KEYS) else None


def mistral_claim_reply(replies: Iterable[str]) -> dict[str, Any] | None:
    """Reads Mistral's judgement on a claim, of its first reply that has one.

    Args:
        replies: in the order they would be given; no more are taken than they ask for.

    Returns:
        `explanation` and `entailment_prediction`, or None.
    """
    for _, reply in zip(range(MISTRAL_TRIES), replies, strict=False):
        explanation, prediction = _said(reply)
        if prediction is not None:
            return {"explanation": explanation, "entailment_prediction": prediction}
    return None


def mistral_citation_reply(replies: Iterable[str], *, citations: Sequence[int]) -> dict[str, Any] | None:
    """Reads Mistral's judgement on a sentence and its citations, of its first reply that has one.

    Args:
        replies: as in `mistral_claim_reply`.
        citations: the numbers shown, in order.

    Returns:
        `explanation`, `entailment_prediction` and `provenance`, or None.
    """
    for _, reply in zip(range(MISTRAL_TRIES), replies, strict=False):
        explanation, prediction = _said(reply)
        provenance = list(citations) if len(citations) == 1 else _provenance(reply, citations)
        if prediction == 0 or (prediction == 1 and provenance):
            return {"explanation": explanation, "entailment_prediction": prediction, "provenance": provenance}
    return None


def counted_claims(given: Any, where: str) -> list[bool]:
    """Says of each record of a text's claims whether it counts.

    Args:
        given: what the score file has of the text.
        where: its name, for messages.

    Raises:
        UsageError: Their script fails on it.
    """
    return [_counts(record, where) for record in _records(given, where)]


def counted_citation(record: Mapping[str, Any], where: str) -> tuple[bool, list[bool]]:
    """Says whether a sentence counts, and which of the citations it lists; arguments and errors as of `counted_claims`."""
    citations = _list(record, "citations", where)
    if not _counts(record, where):
        return False, [False] * len(citations)
    provenance = _stored_provenance(record, where) if citations else ()
    return True, [number in provenance for number in citations]


def _said(reply: str) -> tuple[str, int | None]:
    """Explanation and prediction; of the first the text behind the last `explanation: ` of its line."""
    explanation, prediction = "", None
    for line in _generated(reply):
        if prediction is None and "prediction: 1" in line:
            prediction = 1
        elif prediction is None and "prediction: 0" in line:
            prediction = 0
        if not explanation and "explanation: " in line:
            explanation = line.rpartition("explanation: ")[2]
    return explanation, prediction


def _generated(reply: str) -> list[str]:
    """The lines of what a model generated; their prompts end with this mark."""
    return reply.rpartition("[/INST] ")[2].split("\n")


def _provenance(reply: str, citations: Sequence[int]) -> list[int]:
    for line in _generated(reply):
        if "provenance: " in line:
            places = [int(digits[:_MAX_DIGITS]) for digits in _NUMBER.findall(line.rpartition("explanation: ")[2])]
            if found := [citations[place] for place in places if place < len(citations)]:
                return found
    return []


def _records(given: Any, where: str) -> Sequence[Mapping[str, Any]]:
    # A judge's reply that was no list is stored as it came; an empty object or text is no claims to them.
    if isinstance(given, Mapping | str) and not given:
        return []
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise UsageError(f"{where}: a list of records is needed; the judge's reply was something else. {_NEXT}")
    return given


def _counts(record: Mapping[str, Any], where: str) -> bool:
    if _PREDICTION not in record:
        raise UsageError(f"{where}: a record without {_PREDICTION}, because a reply could not be read. {_NEXT}")
    return bool(record[_PREDICTION] == 1)


def _list(record: Mapping[str, Any], name: str, where: str) -> Sequence[Any]:
    value = record.get(name)
    if not isinstance(value, list | tuple):
        raise UsageError(f"{where}: a record without a list of {name}. {_NEXT}")
    return value


def _stored_provenance(record: Mapping[str, Any], where: str) -> Collection[Any]:
    # An object there is looked through by its keys, which are texts, so that nothing is in it.
    value = record.get("provenance")
    return value if isinstance(value, Mapping) else _list(record, "provenance", where)
