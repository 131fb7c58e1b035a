"""Estimates of what missing verdicts would have said, from known ones. Why so: docs/adr/0012-missing-verdicts.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from medical_tasks.spec import Counts, ItemScore, MetricSpec, Verdicts

_ABOUT_AS_LONG: Final = 2
"""How many verdicts more or fewer an answer has that stands for another."""


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """What stands for a metric that is not decided on an answered item.

    `value` is inside the metric's limits; `weight` is the denominator of a pooled metric, else 1; `own`: verdicts on
    the item itself went into it.
    """

    value: float
    weight: float
    own: bool


def estimated(metric: MetricSpec, scores: Mapping[str, ItemScore]) -> dict[str, Estimated]:
    """Estimates a metric on each answered item that lacks verdicts, by id.

    Known verdicts of a kind on an item stand for the missing ones of that kind there. Where there are none, those of all judged
    answers do, and where nobody judged that kind, those of the kind above it. Nothing is estimated where nothing is known.
    """
    judged = {name: score.counts[metric.name] for name, score in scores.items() if metric.name in score.counts}
    lacking = {name: one for name, one in judged.items() if metric.name not in scores[name].values}
    if not lacking or not any(one.known for one in judged.values()):
        return {}
    rates = _Rates(judged.values(), by_item=metric.kind != "ratio")
    made: dict[str, Estimated] = {}
    for name, one in lacking.items():
        own = any(each.known for each in one.verdicts)
        if one.how == "any":
            hits, weight = rates.any_of(round(one.of), sum(each.missing for each in one.verdicts)), 1.0
        else:
            hits, of = rates.filled(one)
            weight = of if one.how == "share" else 1.0
        value = hits / weight if weight else 0.0
        low, high = scores[name].limits.get(metric.name, metric.limits)
        made[name] = Estimated(
            value=min(max(value, low), high), weight=weight if metric.kind == "ratio" else 1.0, own=own
        )
    return made


class _Rates:
    """What verdicts of judged answers say of verdicts that are missing."""

    def __init__(self, judged: Iterable[Counts], *, by_item: bool) -> None:
        self._judged, self._by_item = list(judged), by_item
        self._known: dict[str, tuple[float, float]] = {}
        self._lengths: dict[str, float] = {}

    def filled(self, one: Counts) -> tuple[float, float]:
        """Hits of an answer and what they are a share of, with estimates for what is missing."""
        hits: list[float] = []
        of: list[float] = []
        for each in one.verdicts:
            missing = each.missing + (min(max(self._length(each.kind), 1.0), each.more) if each.more else 0.0)
            right, known = _within(each.kind, one.verdicts)
            rate = (right / known if known else self._rate(each.kind, one.how)) if missing else 0.0
            hits.append(each.weight * (each.hits + rate * missing))
            of.append(each.weight * (each.known + missing + each.unasked))
        return math.fsum(hits), math.fsum(of)

    def any_of(self, of: int, missing: int) -> float:
        """How probably one of an answer's missing verdicts is a hit where no known one is.

        Of the judged answers about as long, so many of the known verdicts are hidden at random.
        """
        sizes = Counter(
            (one.known, int(sum(each.hits for each in one.verdicts)))
            for one in self._judged
            if one.known and abs(round(one.of) - of) <= _ABOUT_AS_LONG
        ) or Counter((one.known, int(sum(each.hits for each in one.verdicts))) for one in self._judged if one.known)
        clean, hidden = [], []
        for (known, hits), times in sizes.items():
            taken = min(missing, known)
            if hits <= taken:
                share = times * math.comb(known - hits, taken - hits) / math.comb(known, taken)
                clean.append(share)
                hidden.append(share if hits else 0.0)
        return math.fsum(hidden) / math.fsum(clean) if clean else 1.0

    def _rate(self, kind: str, how: str) -> float:
        """The share of hits in a kind: of an answer's share the mean over answers, else over all verdicts."""
        if kind not in self._known:
            pairs = [_within(kind, one.verdicts) for one in self._judged]
            pairs = [(hits, known) for hits, known in pairs if known]
            if how == "share" and self._by_item:
                pairs = [(hits / known, 1.0) for hits, known in pairs]
            self._known[kind] = math.fsum(hits for hits, _ in pairs), math.fsum(known for _, known in pairs)
        hits, known = self._known[kind]
        return hits / known if known else self._rate(kind.rpartition("/")[0], how)

    def _length(self, kind: str) -> float:
        """How long a list is that could not be made: the mean of those that could."""
        if kind not in self._lengths:
            found = [
                each.known + each.missing
                for one in self._judged
                for each in one.verdicts
                if _is_within(each.kind, kind) and each.known + each.missing
            ]
            self._lengths[kind] = math.fsum(found) / len(found) if found else 0.0
        return self._lengths[kind] or self._length(kind.rpartition("/")[0])


def _is_within(kind: str, other: str) -> bool:
    return not other or kind == other or kind.startswith(f"{other}/")


def _within(kind: str, verdicts: Iterable[Verdicts]) -> tuple[float, float]:
    """Hits and known verdicts of a kind."""
    found = [each for each in verdicts if _is_within(each.kind, kind)]
    return float(sum(each.hits for each in found)), float(sum(each.known for each in found))
