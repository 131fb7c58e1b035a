"""The authors' aggregation of whole score files (their `aggregate_scores.py`).

A score file maps section to example to a list of records. Counts are pooled over a
section's examples, and over all sections for `total`; a share of 0 records is 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ScoreFile = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]


def official_scores(
    *,
    claim_recall: ScoreFile | None = None,
    claim_precision: ScoreFile | None = None,
    citations: ScoreFile | None = None,
) -> dict[str, dict[str, float]]:
    """The script's output: metric to section to share from 0 to 1, and `total`.

    A file that is None is not evaluated.
    """
    recall, precision = official_citation_scores(citations or {})
    return {
        "claim_recall": official_claim_scores(claim_recall or {}),
        "claim_precision": official_claim_scores(claim_precision or {}),
        "citation_recall": recall,
        "citation_precision": precision,
    }


def official_claim_scores(scores: ScoreFile) -> dict[str, float]:
    counts: dict[str, tuple[int, int]] = {}
    for section, examples in scores.items():
        true: list[bool] = []
        for records in examples.values():
            true += [record["entailment_prediction"] == 1 for record in records]
        counts[section] = sum(true), len(true)
    return _shares(counts)


def official_citation_scores(
    scores: ScoreFile,
) -> tuple[dict[str, float], dict[str, float]]:
    recall: dict[str, tuple[int, int]] = {}
    precision: dict[str, tuple[int, int]] = {}
    for section, examples in scores.items():
        results = [
            _cited(record) for records in examples.values() for record in records
        ]
        right = [support for _, supported in results for support in supported]
        recall[section] = sum(entailed for entailed, _ in results), len(results)
        precision[section] = sum(right), len(right)
    return _shares(recall), _shares(precision)


def _cited(record: Mapping[str, Any]) -> tuple[bool, list[bool]]:
    entailed = record["entailment_prediction"] == 1
    return entailed, [
        entailed and number in record["provenance"] for number in record["citations"]
    ]


def _shares(counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
    pooled = (
        sum(hits for hits, _ in counts.values()),
        sum(of for _, of in counts.values()),
    )
    return {
        name: hits / of if of else 0.0
        for name, (hits, of) in (*counts.items(), ("total", pooled))
    }
