"""The authors' aggregation, bug for bug (their `aggregate_scores.py`), of their score files' contents.

A score file is section to example to a list of records. What they do with it:

- counts are pooled over a section's examples, and over everything for `total`; a share of nothing is 0
- a claim or sentence counts when its prediction equals 1: 1.0 and true do, "1" does not; each record counts in the denominator,
  also those a judge returned too many, and an example whose list is empty is not there
- citation precision counts the listed citations that are in the provenance, repeats as often as they are listed, and only in
  sentences that count
- MeQSum (but for TRUE): recall and precision each are or-ed with the judgement that both questions are the same

Where their script ends with an error there is no number to reproduce, and a `UsageError` names what was wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from medical_tasks.errors import UsageError

__all__ = [
    "ScoreFile",
    "counted_citation",
    "counted_claims",
    "official_citation_scores",
    "official_claim_scores",
    "official_scores",
]

ScoreFile = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
"""Section to example to records."""

_PREDICTION: Final = "entailment_prediction"
_NEXT: Final = "Their script fails here too; judge it again."


def official_scores(
    *,
    claim_recall: ScoreFile | None = None,
    claim_precision: ScoreFile | None = None,
    same: ScoreFile | None = None,
    citations: ScoreFile | None = None,
) -> dict[str, dict[str, float]]:
    """Computes what their script prints.

    Args:
        claim_recall: contents of the file of that name; None when it is not evaluated, which is a total of 0.
        claim_precision: likewise.
        same: MeQSum's third file; None for other datasets, and for TRUE.
        citations: likewise.

    Returns:
        Metric to section to share, in 0-1, and `total`.

    Raises:
        UsageError: Something their script fails on.
    """
    # Of a file without sections there is a total of 0 as well.
    recall, precision = official_citation_scores(citations or {})
    return {
        "claim_recall": official_claim_scores(claim_recall or {}, same=same),
        "claim_precision": official_claim_scores(claim_precision or {}, same=same),
        "citation_recall": recall,
        "citation_precision": precision,
    }


def official_claim_scores(scores: ScoreFile, *, same: ScoreFile | None = None) -> dict[str, float]:
    """Computes the share of claims that count.

    Args:
        scores: contents of a file of claims.
        same: as in `official_scores`.

    Returns:
        Section to share, and `total`.

    Raises:
        UsageError: A list is none, or a record has no prediction.
    """
    counts: dict[str, tuple[int, int]] = {}
    for section, examples in scores.items():
        hits = claims = 0
        for example, given in examples.items():
            where = f"{section}, {example}"
            true = (
                counted_claims(given, where)
                if same is None
                else _either(_records(given, where), section, example, same=same)
            )
            hits += sum(true)
            claims += len(true)
        counts[section] = hits, claims
    return _shares(counts)


def official_citation_scores(scores: ScoreFile) -> tuple[dict[str, float], dict[str, float]]:
    """Computes citation recall and citation precision.

    Args:
        scores: contents of a file of citations.

    Returns:
        Of each, section to share, and `total`.

    Raises:
        UsageError: A record has no prediction or no citations, or is entailed and has no list of provenance.
    """
    recall: dict[str, tuple[int, int]] = {}
    precision: dict[str, tuple[int, int]] = {}
    for section, examples in scores.items():
        hits = sentences = right = cited = 0
        for example, given in examples.items():
            where = f"{section}, {example}"
            for record in _records(given, where):
                entailed, supported = counted_citation(record, where)
                sentences += 1
                cited += len(supported)
                hits += entailed
                right += sum(supported)
        recall[section] = hits, sentences
        precision[section] = right, cited
    return _shares(recall), _shares(precision)


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
    provenance = _provenance(record, where) if citations else ()
    return True, [number in provenance for number in citations]


def _shares(counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    pooled = sum(hits for hits, _ in counts.values()), sum(of for _, of in counts.values())
    return {name: hits / of if of else 0.0 for name, (hits, of) in (*counts.items(), ("total", pooled))}


def _either(records: Sequence[Mapping[str, Any]], section: str, example: str, *, same: ScoreFile) -> list[bool]:
    """Whether each record counts, or its partner in the third file; records without a partner stand for themselves."""
    where = f"{section}, {example}"
    try:
        partners = _records(same[section][example], f"{where} (same)")
    except KeyError:
        raise UsageError(f"{where}: not among the judgements of sameness. {_NEXT}") from None
    true = []
    for place, record in enumerate(records):
        one = _counts(record, where)
        # The third file is looked at only where the first says no: a record of it that says nothing does no harm otherwise.
        true.append(one or (place < len(partners) and _counts(partners[place], f"{where} (same)")))
    return true


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


def _provenance(record: Mapping[str, Any], where: str) -> Collection[Any]:
    # An object there is looked through by its keys, which are texts, so that nothing is in it.
    value = record.get("provenance")
    return value if isinstance(value, Mapping) else _list(record, "provenance", where)
