"""How the authors' scripts read citations and their judges' replies, bug for bug. None is what has no prediction in their files.

Citations are those of `citation_evaluation/eval_citation.py` and `eval_citation_model.py`, replies those of
`claim_evaluation/generate_subclaims.py` and `aggregate_scores.py`. Where a script ends with an error, a `UsageError` says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.scoring.sentences import UNTRAINED, Punkt, punkt_spans

SplitMethod = Literal["sent", "citation", "meqsum"]

MAX_CITATIONS: Final = 10
"""How many citations of a sentence are looked at."""

_RUN = re.compile(r"[\[\d+\]]+")
_OPEN = re.compile(r"\[(\d+)")
_REMOVED = re.compile(r" ?\[\d+")
_SOURCE = re.compile(r"\[(\d+)\]")
_MAX_DIGITS = 640  # the fewest digits Python can be set to refuse; no source has as many sentences


@dataclass(frozen=True, kw_only=True)
class OfficialSentence:
    """A sentence as their score files have it."""

    output: str  # with its citations, white space run together; "" for the one segment that counts as uncited
    target: str
    citations: tuple[
        int, ...
    ] = ()  # what counts in the denominator of citation precision, cut to ten if it is asked about
    asked: bool = False  # whether a judge decides; otherwise nothing supports it
    borrowed: bool = False  # whether the citations are those of a later sentence


def official_segments(text: str, *, method: SplitMethod, punkt: Punkt = UNTRAINED) -> list[str]:
    """Splits an output as they do, white space as it stands.

    `sent` (ACI-BENCH) takes NLTK's `sent_tokenize`, `meqsum` the whole output. `citation` (radiology reports, other texts) cuts
    behind each run of `[`, `]`, `+` and digits, so every number of the prose ends a segment; the rest is dropped.
    """
    if method == "meqsum":
        return [text]
    if method == "sent":
        return [text[start:end] for start, end in punkt_spans(text, punkt)]
    ends = [found.end() for found in _RUN.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def official_ids(text: str) -> list[int]:
    """Lists the numbers behind `[`, repeats included: `[1-3]` cites 1, `[4, 5]` cites 4."""
    return [int(digits[:_MAX_DIGITS]) for digits in _OPEN.findall(text)]


def remove_citations_official(text: str) -> str:
    """Takes `[1` with the space before it away, then each ` |` and each `]` of the text."""
    # One pass takes what their two take: a number behind a bracket is never followed by what makes another.
    return _REMOVED.sub("", text).replace(" |", "").replace("]", "")


def official_sources(text: str) -> dict[int, str]:
    """Splits an input at every `[0]`; what stands before the first is dropped, and of a number given twice the last counts."""
    marks = list(_SOURCE.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        int(mark[1][:_MAX_DIGITS]): " ".join(text[mark.end() : end].split())
        for mark, end in zip(marks, ends, strict=False)
    }


def official_sentences(
    text: str, *, method: SplitMethod, sources: Mapping[int, str] | Collection[int], punkt: Punkt = UNTRAINED
) -> list[OfficialSentence]:
    """Reads an output as they do; one that `citation` cuts into one segment is a sentence that nothing supports."""
    if not text:
        return []
    segments = official_segments(text, method=method, punkt=punkt)
    if method == "citation" and len(segments) == 1:
        return [OfficialSentence(output="", target="")]
    found: list[OfficialSentence] = []
    later: list[int] = []  # what the next sentence that has any cites, with repeats
    for segment in reversed(segments):
        output = " ".join(segment.split())
        own = official_ids(output)
        found.append(_sentence(output, own=own, later=later, sources=sources))
        later = own or later
    return found[::-1]


def _sentence(
    output: str, *, own: list[int], later: list[int], sources: Mapping[int, str] | Collection[int]
) -> OfficialSentence:
    # The order of a Python set of small numbers is mostly ascending, but not always ({8, 1}): which ten are the first is its.
    citations = list(set(own)) if own else later
    asked = bool(citations) and max(citations) < len(sources)
    if asked:
        citations = citations[:MAX_CITATIONS]
        missing = [number for number in citations if number not in sources]
        if missing:
            raise UsageError(
                f"[{missing[0]}] is cited, and the source's {len(sources)} sentences have no such number. The authors' script "
                "fails on sources that are not numbered 0, 1, 2 ...: number them so."
            )
    return OfficialSentence(
        output=output,
        target=remove_citations_official(output),
        citations=tuple(citations),
        asked=asked,
        borrowed=not own and bool(citations),
    )


MISTRAL_TRIES: Final = 15

_PREDICTION: Final = "entailment_prediction"
_NEXT: Final = "Their script fails here too; judge it again."

_CITATION_KEYS = ("entailment_prediction", "explanation", "provenance")
_NUMBER = re.compile(r"\d+")
_MARK = re.compile("Claim [0-9]+: ")


def official_claims(reply: str) -> list[str]:
    """Reads claims that GPT made: line feeds are deleted, then the text is cut at `Claim 1: ` and so on, wherever that stands."""
    return _MARK.split(reply.replace("\n", ""))[1:]


def gpt_claims_reply(reply: str) -> Any:
    """Reads GPT's judgement on all claims of a text: whatever the JSON holds, an empty list when it is none, as in a fence."""
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
    """Reads Mistral's judgement on a claim, of its first reply that has one."""
    for reply in islice(replies, MISTRAL_TRIES):
        explanation, prediction = _said(reply)
        if prediction is not None:
            return {"explanation": explanation, "entailment_prediction": prediction}
    return None


def mistral_citation_reply(replies: Iterable[str], *, citations: Sequence[int]) -> dict[str, Any] | None:
    """Reads Mistral's judgement on a sentence and its citations; of one citation that is the provenance, whatever is said."""
    for reply in islice(replies, MISTRAL_TRIES):
        explanation, prediction = _said(reply)
        provenance = list(citations) if len(citations) == 1 else _provenance(reply, citations)
        if prediction == 0 or (prediction == 1 and provenance):
            return {"explanation": explanation, "entailment_prediction": prediction, "provenance": provenance}
    return None


def counted_claims(given: Any, where: str) -> list[bool]:
    """Says of each record of a text's claims whether it counts."""
    return [_counts(record, where) for record in _records(given, where)]


def counted_citation(record: Mapping[str, Any], where: str) -> tuple[bool, list[bool]]:
    """Says whether a sentence counts, and which of the citations it lists, repeats as often as they are listed."""
    citations = _list(record, "citations", where)
    if not _counts(record, where):
        return False, [False] * len(citations)
    if not citations:
        return True, []
    given = record.get("provenance")
    # An object there is looked through by its keys, which are texts, so that nothing is in it.
    provenance = given if isinstance(given, Mapping) else _list(record, "provenance", where)
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
