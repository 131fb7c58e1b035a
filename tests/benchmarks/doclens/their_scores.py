"""The authors' aggregation of whole score files (their `aggregate_scores.py`), of the decisions on single records.

A score file is section to example to a list of records. Counts are pooled over a section's examples, and over everything for
`total`; a share of nothing is 0. MeQSum (but for TRUE): recall and precision each are or-ed with the judgement that both questions
are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.benchmarks.doclens.official_scoring import counted_citation, counted_claims
from medical_tasks.errors import UsageError

ScoreFile = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]


def official_scores(
    *,
    claim_recall: ScoreFile | None = None,
    claim_precision: ScoreFile | None = None,
    same: ScoreFile | None = None,
    citations: ScoreFile | None = None,
) -> dict[str, dict[str, float]]:
    """What their script prints: metric to section to share, in 0-1, and `total`; a file that is None is not evaluated."""
    recall, precision = official_citation_scores(citations or {})
    return {
        "claim_recall": official_claim_scores(claim_recall or {}, same=same),
        "claim_precision": official_claim_scores(claim_precision or {}, same=same),
        "citation_recall": recall,
        "citation_precision": precision,
    }


def official_claim_scores(scores: ScoreFile, *, same: ScoreFile | None = None) -> dict[str, float]:
    counts: dict[str, tuple[int, int]] = {}
    for section, examples in scores.items():
        true: list[bool] = []
        for example, given in examples.items():
            where = f"{section}, {example}"
            true += counted_claims(given, where) if same is None else _either(given, section, example, same)
        counts[section] = sum(true), len(true)
    return _shares(counts)


def official_citation_scores(scores: ScoreFile) -> tuple[dict[str, float], dict[str, float]]:
    recall: dict[str, tuple[int, int]] = {}
    precision: dict[str, tuple[int, int]] = {}
    for section, examples in scores.items():
        found = [
            counted_citation(record, f"{section}, {example}") for example, given in examples.items() for record in given
        ]
        right = [one for _, supported in found for one in supported]
        recall[section] = sum(entailed for entailed, _ in found), len(found)
        precision[section] = sum(right), len(right)
    return _shares(recall), _shares(precision)


def _shares(counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    pooled = sum(hits for hits, _ in counts.values()), sum(of for _, of in counts.values())
    return {name: hits / of if of else 0.0 for name, (hits, of) in (*counts.items(), ("total", pooled))}


def _either(given: Any, section: str, example: str, same: ScoreFile) -> list[bool]:
    """Whether each record counts, or its partner in the third file; records without a partner stand for themselves."""
    where = f"{section}, {example}"
    if example not in same.get(section, {}):
        raise UsageError(f"{where}: not among the judgements of sameness.")
    partners = same[section][example]
    true = counted_claims(given, where)
    # The third file is looked at only where the first says no.
    return [
        one or (place < len(partners) and counted_claims([partners[place]], f"{where} (same)")[0])
        for place, one in enumerate(true)
    ]
