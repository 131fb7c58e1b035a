"""The four metrics of DocLens (section 3), of verdicts: claim recall and precision, citation recall and precision.

| metric | hits | of |
|---|---|---|
| `claim_recall` | claims of the reference that the output entails | claims of the reference |
| `claim_precision` | claims of the output that the reference entails | claims of the output |
| `citation_recall` | sentences that all they cite entails together | sentences of the output |
| `citation_precision` | citations that support such a sentence | citations of the output |

Each is a share of counts, so one rule serves a section, an example (its sections together) and all examples (pooled).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medical_tasks.doclens.claims import MAX_CLAIMS
from medical_tasks.doclens.verdicts import Example, Section

__all__ = [
    "METRICS",
    "Limits",
    "Tally",
    "decided",
    "example_limits",
    "metric_limits",
    "pooled_limits",
    "section_limits",
    "section_tallies",
    "total",
]

Limits = tuple[float, float]

METRICS: Final = ("claim_recall", "claim_precision", "citation_recall", "citation_precision")


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Hits of a number of things, as far as they are known.

    Attributes:
        low: hits.
        high: hits, with everything that is not decided.
        of: things.
        more: things that there may be besides; each may be a hit or not.
        due: whether nothing at all is a miss: an output that had something to say and has no sentence supports nothing (0);
            one that had nothing to say has no share (nan).
    """

    low: int = 0
    high: int = 0
    of: int = 0
    more: int = 0
    due: bool = False

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            low=self.low + other.low,
            high=self.high + other.high,
            of=self.of + other.of,
            more=self.more + other.more,
            due=self.due or other.due,
        )

    @property
    def limits(self) -> Limits:
        """Smallest and largest share; both nan without anything to share."""
        if not self.of + self.more:
            return (0.0, 0.0) if self.due else (math.nan, math.nan)
        # What there may be besides lowers the share by misses and raises it by hits, all of them each time.
        return self.low / (self.of + self.more), (self.high + self.more) / (self.of + self.more)


def section_tallies(section: Section) -> dict[str, Tally]:
    """Counts a section.

    Args:
        section: its verdicts.

    Returns:
        A tally a metric of `METRICS`.
    """
    citations = [one for sentence in section.sentences for one in sentence.supports]
    return {
        "claim_recall": _of_claims(section.reference_claims),
        "claim_precision": _of_claims(section.output_claims),
        "citation_recall": _tally(
            [sentence.entailed for sentence in section.sentences],
            due=section.reference_claims is None or bool(section.reference_claims),
        ),
        "citation_precision": _tally(citations),
    }


def total(tallies: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """Adds tallies up, metric by metric."""
    sums = dict.fromkeys(METRICS, Tally())
    for each in tallies:
        sums = {name: sums[name] + each[name] for name in METRICS}
    return sums


def metric_limits(tallies: Mapping[str, Tally]) -> dict[str, Limits]:
    """Smallest and largest value of each metric: equal where it is decided, both nan where it has no denominator."""
    return {name: tallies[name].limits for name in METRICS}


def example_limits(example: Example) -> dict[str, Limits]:
    """Computes one example's metrics, its sections together.

    Args:
        example: its verdicts.

    Returns:
        Metric to limits, in 0-1.
    """
    return metric_limits(total(map(section_tallies, example.sections.values())))


def section_limits(examples: Sequence[Example]) -> dict[str, dict[str, Limits]]:
    """Computes the metrics of each section, pooled over the examples that have it.

    Args:
        examples: any number.

    Returns:
        Section to metric to limits, in order of first mention.
    """
    names = dict.fromkeys(name for example in examples for name in example.sections)
    return {
        name: metric_limits(
            total(section_tallies(example.sections[name]) for example in examples if name in example.sections)
        )
        for name in names
    }


def pooled_limits(examples: Iterable[Example]) -> dict[str, Limits]:
    """Computes the metrics of all sections of all examples as one pool, in which a long note counts more than a short one.

    Args:
        examples: any number; of none every metric is nan.
    """
    return metric_limits(total(section_tallies(one) for example in examples for one in example.sections.values()))


def decided(limits: Mapping[str, Limits]) -> tuple[dict[str, float], dict[str, Limits]]:
    """Parts what is decided from what is not, as `spec.ItemScore` has them.

    Args:
        limits: metric to limits.

    Returns:
        Values of the decided metrics, nan among them, and the limits of the others.
    """
    values = {name: low for name, (low, high) in limits.items() if low == high or math.isnan(low)}
    return values, {name: known for name, known in limits.items() if name not in values}


def _of_claims(claims: Sequence[bool | None] | None) -> Tally:
    return Tally(more=MAX_CLAIMS) if claims is None else _tally(claims)


def _tally(outcomes: Sequence[bool | None], *, due: bool = False) -> Tally:
    low = outcomes.count(True)
    return Tally(low=low, high=low + outcomes.count(None), of=len(outcomes), due=due)
