"""From scored items to a metric's number, interval and bounds. Missing verdicts: docs/adr/0012-missing-verdicts.md."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.scoring.averages import components, sums
from medical_tasks.spec import Counts, Item, ItemScore, MetricSpec, TaskSpec, Verdicts

if TYPE_CHECKING:
    from medical_tasks.scoring.estimates import Estimate

BOOTSTRAP_SEED: Final = 0
_ENDS: Final = ("value", "ci_low", "ci_high", "bound_low", "bound_high")
NO_VERDICT: Final = "nothing to estimate from"
NO_ANSWER: Final = "no item was answered"
NOTHING: Final = "nothing to count on any item"
NO_COMPONENT: Final = "a metric it is made of has no value"
NOT_ALL: Final = "needs all its metrics; not reported"

Limits = Callable[[Item], Mapping[str, tuple[float, float]]]
"""What each metric could have been on an item without an answer."""


class Estimator:
    """A task's scores, with estimates for the verdicts that are missing. Other answers' verdicts come from the whole task."""

    def __init__(
        self,
        task: TaskSpec,
        scores: Mapping[str, ItemScore],
        *,
        items: int = 0,
        unanswered_limits: Limits | None = None,
    ) -> None:
        """Estimates what is missing."""
        self._task, self._scores, self._limits = task, scores, unanswered_limits
        self._ended = {metric.name: _ended(metric, scores, items) for metric in task.metrics}
        self._estimates = {
            metric.name: estimated(metric, scores)
            for metric in task.metrics
            if metric.official is None
        }
        self._valued: dict[str, bool] = {}

    def item_value(self, metric: MetricSpec, score: ItemScore) -> tuple[float, float]:
        """A metric's value on an item, estimated where need be, and its denominator (1 for a mean); nan and 0 without one."""
        if metric.name not in self._valued:
            every = list(self._scores.values())
            self._valued[metric.name] = not (
                self._ended[metric.name] or self._undecided(metric, every)
            )
        if not self._valued[metric.name]:
            return math.nan, 0.0
        if metric.name in score.values:
            value = score.values[metric.name]
            return value, 0.0 if math.isnan(value) else score.weights.get(metric.name, 1.0)
        found = self._estimates.get(metric.name, {}).get(score.id)
        return (math.nan, 0.0) if found is None else (found.value, found.weight)

    def of_whole_set(
        self,
        entry: dict[str, Any],
        metric: MetricSpec,
        items: Sequence[Item],
        drawn: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The entry of a random sample, as that of the set which it was drawn from; `sample` has the numbers of the sample."""
        from medical_tasks.scoring.finite import strata_of, whole_set_estimate, whole_set_shift

        if entry["value"] is None:
            return entry
        reported = {each.name: each for each in self._task.metrics}
        parts = components(metric, reported)
        shares = list(parts.shares.values())
        strata, units = strata_of(self._task, items, drawn)

        def columns(end: int | None = None) -> list[Sequence[float]]:
            pairs = (
                [self._sums(reported[name], item, end) for item in items] for name in parts.shares
            )
            return [column for each in pairs for column in zip(*each, strict=True)]

        def estimate(made: Sequence[Sequence[float]]) -> Estimate:
            return whole_set_estimate(
                made,
                shares,
                strata,
                units,
                clusters=[item.cluster for item in items] if self._task.drawn_whole else None,
                proportion=metric.kind == "proportion",
                limits=_range(metric, items, self._limits) or metric.limits,
            )

        known = columns()
        found = estimate(known)
        if math.isnan(found.value):
            return entry
        sample = {name: entry[name] for name in _ENDS}
        moved = {
            "value": found.value,
            "ci_low": _number(found.ci_low),
            "ci_high": _number(found.ci_high),
        }
        unclear = any(score.unclear for score in self._scores.values())
        least, most = metric.limits
        for end, name in enumerate(("bound_low", "bound_high")):
            moved[name] = None
            if entry[name] is not None:
                decided = columns(end) if unclear else known
                sampled = entry[name] - entry["value"]
                shift = whole_set_shift(sampled, end, known, decided, shares, estimate)
                moved[name] = min(max(least, found.value + shift), most)
        entry.pop("std", None)
        return {**entry, **moved, "sample": sample}

    def _sums(self, metric: MetricSpec, item: Item, end: int | None = None) -> tuple[float, float]:
        """What an item adds to a metric's numerator and denominator, estimated where need be; nan where nothing is known.

        `end`: 0 or 1 for the smallest or largest value that an unclear answer could have, None for the value it counts as.
        """
        score = self._counted(metric, item)
        if score is None:
            return math.nan, math.nan
        value, weight = self.item_value(metric, score)
        if end is not None and metric.name in score.values:
            value = score.could_be(metric.name)[end]
            weight = weight or score.weight(metric)
        if math.isnan(value):
            return (0.0, 0.0) if metric.name in score.values else (math.nan, math.nan)
        return value * weight, weight

    def entry(self, metric: MetricSpec, items: Sequence[Item]) -> dict[str, Any]:
        """Computes a metric's entry of `results.json`; what cannot be computed is None, and `reason` says why."""
        entry = (
            self._average(metric, items)
            if metric.kind == "average"
            else self._single(metric, items)
        )
        if metric.unit:
            entry["unit"] = metric.unit
        return entry

    def _counted(self, metric: MetricSpec, item: Item) -> ItemScore | None:
        """An item's score, as it counts in a metric; None for an item that has no answer and does not count."""
        score = self._scores.get(item.id)
        if score is None and self._scores and unanswered_value(metric) is not None:
            return ItemScore(id=item.id, values={metric.name: 0.0})
        return score

    def _single(self, metric: MetricSpec, items: Sequence[Item]) -> dict[str, Any]:
        found = _Found(metric, clustered=self._task.cluster is not None)
        for item in items:
            score = self._counted(metric, item)
            if score is not None and metric.name in score.values:
                found.decided(item, score)
            else:
                known = (
                    score.limits
                    if score is not None
                    else self._limits(item)
                    if self._limits
                    else {}
                )
                weight = math.inf if score is None else score.weights.get(metric.name, math.inf)
                found.open(
                    item,
                    known.get(metric.name, metric.limits),
                    weight,
                    None if score is None else self._estimates.get(metric.name, {}).get(item.id),
                )
        ends = _range(metric, items, self._limits)
        answered = [self._scores[item.id] for item in items if item.id in self._scores]
        reason = self._ended[metric.name] or self._undecided(metric, answered)
        if not reason and not (found.below or found.estimates or found.due):
            reason = NOTHING
            if found.missing:
                reason = (
                    _lacking([one for one in answered if metric.name not in one.values])
                    or NO_ANSWER
                )
        entry = found.entry(ends) if not reason else found.none(reason)
        if self._ended[metric.name] and not metric.judged:
            # The answers themselves end the script: nothing is missing that could bring a figure.
            entry |= {"bound_low": None, "bound_high": None}
        if unanswered_value(metric) is not None and len(answered) < len(items):
            entry["unanswered"] = len(items) - len(answered)
        return entry

    def _undecided(self, metric: MetricSpec, scores: Sequence[ItemScore]) -> str:
        """Why nothing stands for the missing verdicts of these items; "" where something does, or none are missing."""
        counts = [
            (score, score.counts[metric.name]) for score in scores if metric.name in score.counts
        ]
        missing = [(score, one) for score, one in counts if metric.name not in score.values]
        if not missing or (
            any(one.known for _, one in counts) and all(one.told for _, one in missing)
        ):
            return ""
        return _lacking([score for score, _ in missing]) or NO_VERDICT

    def _average(self, metric: MetricSpec, items: Sequence[Item]) -> dict[str, Any]:
        """The average of other metrics' totals, over the items on which all of them are decided."""
        from medical_tasks.scoring.means import average_interval

        reported = {each.name: each for each in self._task.metrics}
        parts = components(metric, reported)
        entry: dict[str, Any] = {"value": None, "ci_low": None, "ci_high": None, "n": 0}
        known = {item.id: self._scores[item.id] for item in items if item.id in self._scores}
        totals = [
            (share, self.entry(reported[name], items)) for name, share in parts.shares.items()
        ]
        lacking = ""
        if metric.official:  # an official average is of all its metrics, or there is none
            lacking = next((each["reason"] for _, each in totals if "reason" in each), "")
            lacking = lacking or (f"{NOT_ALL}: {', '.join(parts.missing)}" if parts.missing else "")
        if parts.shares and not lacking:
            columns: list[list[float]] = []
            for name in parts.shares:
                pairs = [
                    sums(reported[name], score.values.get(name), score.weights.get(name))
                    for score in known.values()
                ]
                columns += [[above for above, _ in pairs], [below for _, below in pairs]]
            clusters = (
                [item.cluster for item in items if item.id in known] if self._task.cluster else None
            )
            made = average_interval(
                columns, list(parts.shares.values()), clusters=clusters, limits=metric.limits
            )
            ends = (_number(made.value), _number(made.ci_low), _number(made.ci_high))
            entry |= {**dict(zip(("value", "ci_low", "ci_high"), ends, strict=True)), "n": made.n}
        for name in ("bound_low", "bound_high"):
            # Not all of them need be reached at once: no tighter than it can be.
            told = [(share, each[name]) for share, each in totals]
            open_ended = lacking or not told or any(end is None for _, end in told)
            entry[name] = None if open_ended else math.fsum(share * end for share, end in told)
        decided = min([len(known), *(each.get("scored", len(items)) for _, each in totals)])
        if decided < len(items):
            entry["scored"] = decided
        if entry["value"] is None:
            entry["reason"] = lacking or (NO_COMPONENT if known else NO_ANSWER)
        entry["components"] = list(parts.shares)
        if parts.missing:
            entry |= {"missing_components": list(parts.missing), "comparable": False}
        clear = all(each["bound_low"] == each["bound_high"] for _, each in totals)
        return _inside(entry, whole=clear and decided == len(items))


class _Found:
    """What is known of one metric on some items: numerators, denominators, limits, estimates."""

    def __init__(self, metric: MetricSpec, *, clustered: bool) -> None:
        self.metric, self.clustered, self.pooled = metric, clustered, metric.kind == "ratio"
        self.above: list[float] = []
        self.below: list[float] = []
        self.clusters: list[str] = []
        self.due: list[float] = []
        # How far below and above its value each unclear answer could bring the numerator.
        self.unclear: list[tuple[float, float]] = []
        # Limits and weight of unclear answers that count only if they are right.
        self.joining: list[tuple[float, float, float]] = []
        self.missing: list[tuple[float, float, float]] = []
        self.left: list[tuple[float, float, float]] = []
        self.estimates: list[Estimated] = []
        self.estimated_clusters: list[str] = []
        self.items = 0

    def decided(self, item: Item, score: ItemScore) -> None:
        self.items += 1
        value = score.values[self.metric.name]
        if math.isnan(value):
            ends = score.could_be(self.metric.name)
            if not math.isnan(ends[0]):
                self.joining.append((*ends, score.weight(self.metric)))
            return
        weight = score.weights[self.metric.name] if self.pooled else 1.0
        if weight:
            self.above.append(value * weight)
            self.below.append(weight)
            self.clusters.append(item.cluster)
        else:
            self.due.append(value)
        if score.unclear and weight:
            low, high = score.could_be(self.metric.name)
            self.unclear.append(((low - value) * weight, (high - value) * weight))

    @property
    def settled(self) -> bool:
        """Whether nothing is missing and no answer is unclear, so that the bounds are the value."""
        return not (self.missing or self.unclear or self.joining)

    def open(
        self, item: Item, limits: tuple[float, float], weight: float, estimated: Estimated | None
    ) -> None:
        self.items += 1
        weight = weight if self.pooled else 1.0
        if not weight and self.metric.official is None:
            return
        self.missing.append((*limits, weight))
        if estimated is None:
            self.left.append((*limits, weight))
        else:
            self.estimates.append(estimated)
            self.estimated_clusters.append(item.cluster)

    def none(self, reason: str) -> dict[str, Any]:
        """The entry without a value."""
        entry = {
            "value": None,
            "ci_low": None,
            "ci_high": None,
            "n": 0,
            **({"of": 0.0} if self.pooled else {}),
        }
        return {**entry, **self._missing_said([]), **self._bounds(), "reason": reason}

    def entry(self, ends: tuple[float, float] | None) -> dict[str, Any]:
        """The entry, with estimates for what is not decided; all values lie between `ends`, None where there is no such end."""
        if not self.below and not self.estimates:
            return self._nothing_to_share()
        complete = self._interval(self.above, self.below, self.clusters)
        weights = [one.weight for one in self.estimates]
        above = [*self.above, *(one.value * one.weight for one in self.estimates)]
        of = math.fsum([*self.below, *weights])
        value = math.fsum(above) / of if self.estimates else complete.value
        entry: dict[str, Any] = {
            "value": complete.value,
            "ci_low": complete.ci_low,
            "ci_high": complete.ci_high,
        }
        entry["n"] = len(self.below) + len(self.estimates)
        if self.pooled:
            entry["of"] = of
        # What is left out stands where the others' mean is, or as near as it can be; the authors' scripts leave it out.
        official = self.metric.official is not None
        if not official and any(not low <= value <= high for low, high, _ in self.left):
            stand_ins = [
                (min(max(value, low), high), weight)
                for low, high, weight in self.left
                if weight < math.inf
            ]
            of = math.fsum([*self.below, *weights, *(weight for _, weight in stand_ins)])
            value = math.fsum([*above, *(one * weight for one, weight in stand_ins)]) / of
        if value != complete.value:
            own = [place for place, one in enumerate(self.estimates) if one.own]
            partly = self._interval(
                [*self.above, *(self.estimates[place].value * weights[place] for place in own)],
                [*self.below, *(weights[place] for place in own)],
                [*self.clusters, *(self.estimated_clusters[place] for place in own)],
                fractions=True,
            )
            low, high = _around(value, (complete, partly), self.metric.limits)
            entry |= {"value": value, "ci_low": low, "ci_high": high}
        # Where there is no largest value there is a smallest all the same.
        low, high = ends or self.metric.limits
        entry["ci_low"] = _number(max(entry["ci_low"], low))
        entry["ci_high"] = _number(min(entry["ci_high"], high))
        if self.metric.kind == "proportion" and self.below:
            # The papers' plus-minus: standard error of a proportion, items taken as independent.
            entry["std"] = math.sqrt(value * (1 - value) / len(self.below))
        return _inside(
            {**entry, **self._missing_said(self.estimates), **self._bounds()},
            whole=self.settled,
        )

    def _missing_said(self, estimates: Sequence[Estimated]) -> dict[str, int]:
        if not self.missing:
            return {}
        said = {"scored": self.items - len(self.missing)}
        return said | ({"estimated": len(estimates)} if estimates else {})

    def _interval(
        self,
        above: Sequence[float],
        below: Sequence[float],
        clusters: Sequence[str],
        *,
        fractions: bool = False,
    ) -> Any:
        from medical_tasks.scoring.means import mean_interval, proportion_interval, ratio_interval

        groups = clusters if self.clustered else None
        if self.pooled:
            return ratio_interval(above, below, clusters=groups, limits=self.metric.limits)
        if self.metric.kind == "proportion" and not fractions:
            return proportion_interval(above, clusters=groups)
        return mean_interval(above, clusters=groups, limits=self.metric.limits)

    def _nothing_to_share(self) -> dict[str, Any]:
        """Nothing to share anywhere, where there should have been something: what items say of that, the worst of it."""
        low, high = self.metric.limits
        entry = {
            "value": min(self.due),
            "ci_low": low,
            "ci_high": high,
            "n": len(self.due),
            "of": 0.0,
        }
        return _inside({**entry, **self._missing_said([]), **self._bounds()}, whole=self.settled)

    def _bounds(self) -> dict[str, float | None]:
        """The value if all that is missing or unclear, at its largest denominator, had been worst, or best; None without an end."""
        made: dict[str, float | None] = {}
        for name, end, worst in (("bound_low", 0, min), ("bound_high", 1, max)):
            known = [(one[end] * one[2], one[2]) for one in self.missing if one[2] < math.inf]
            bottom = math.fsum([*self.below, *(weight for _, weight in known)])
            ends = [one[end] for one in self.missing if one[2] == math.inf]
            moved = (each[end] for each in self.unclear)
            top = math.fsum([*self.above, *moved, *(above for above, _ in known)])
            if bottom:
                ends.append(top / bottom)
            if self.joining:
                more = math.fsum(each[end] * each[2] for each in self.joining)
                ends.append((top + more) / (bottom + math.fsum(each[2] for each in self.joining)))
            # Of a pooled share an unclear answer leaves the denominator open as well: see `ItemScore.limits`.
            least, most = self.metric.limits
            made[name] = _number(min(max(worst(ends), least), most)) if ends else None
        return made


def _lacking(scores: Sequence[ItemScore]) -> str:
    """The most frequent reason for which something is not decided on these; "" where none has one."""
    reasons = Counter(score.unscored for score in scores if score.unscored)
    return f"{NO_VERDICT}: {max(sorted(reasons), key=reasons.__getitem__)}" if reasons else ""


def unanswered_value(metric: MetricSpec) -> float | None:
    """What an item without an answer counts as in a metric; None where it has no value."""
    counts = metric.official is not None and metric.official.unanswered == "counts as 0"
    return 0.0 if counts else None


def _ended(metric: MetricSpec, scores: Mapping[str, ItemScore], items: int) -> str:
    """Why an official figure has no value: on how many items, of the whole task; "" where it has one."""
    official = metric.official
    if official is None or metric.kind == "average":  # which is of metrics that end
        return ""
    items = max(items, len(scores))
    undecided = sum(metric.name not in score.values for score in scores.values())
    if undecided:
        return f"{official.undecided or NO_VERDICT} ({undecided} of {items} items)"
    if official.unanswered == "ends" and scores and items > len(scores):
        return f"official script ends: no answer ({items - len(scores)} of {items} items)"
    return ""


def _around(value: float, found: Iterable[Any], limits: tuple[float, float]) -> tuple[float, float]:
    """An interval around an estimate that is on no side narrower than those around what is decided."""
    sides = [(one.value - one.ci_low, one.ci_high - one.value) for one in found]
    sides = [side for side in sides if not math.isnan(sum(side))]
    if not sides:
        return math.nan, math.nan
    low, high = value - max(down for down, _ in sides), value + max(up for _, up in sides)
    # What does not fit inside the limits on one side is needed on the other.
    over, under = max(0.0, high - limits[1]), max(0.0, limits[0] - low)
    return max(limits[0], low - over), min(limits[1], high + under)


def _inside(entry: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """Bounds that hold the value: with nothing open they are the value, and else rounding moves none past it."""
    value = entry["value"]
    if value is None:
        return entry
    for name, worst in (("bound_low", min), ("bound_high", max)):
        if whole:
            entry[name] = value
        elif entry[name] is not None:
            entry[name] = worst(entry[name], value)
    return entry


def _range(
    metric: MetricSpec, items: Sequence[Item], unanswered_limits: Limits | None
) -> tuple[float, float] | None:
    """The range of a metric's values: its own, or the widest of these items'; None where there is no end."""
    low, high = metric.limits
    if math.isinf(high) and unanswered_limits is not None and items:
        high = max(unanswered_limits(item).get(metric.name, metric.limits)[1] for item in items)
    return (low, high) if -math.inf < low < high < math.inf else None


def _number(value: float) -> float | None:
    """JSON has neither nan nor inf; a value that cannot be computed, or has no end, is null."""
    return float(value) if math.isfinite(value) else None


_ABOUT_AS_LONG: Final = 2
"""How many verdicts more or fewer an answer has that stands for another."""


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """What stands for an undecided metric of an answered item; `own`: verdicts on the item itself went into it."""

    value: float
    weight: float
    own: bool


def estimated(metric: MetricSpec, scores: Mapping[str, ItemScore]) -> dict[str, Estimated]:
    """Estimates undecided items by id: from verdicts of the kind on the item, else on all judged ones, else of the kind above."""
    judged = {
        name: score.counts[metric.name]
        for name, score in scores.items()
        if metric.name in score.counts
    }
    lacking = {name: one for name, one in judged.items() if metric.name not in scores[name].values}
    if not lacking or not any(one.known for one in judged.values()):
        return {}
    rates = _Rates(judged.values(), by_item=metric.kind != "ratio")
    made: dict[str, Estimated] = {}
    for name, one in lacking.items():
        own = any(each.known for each in one.verdicts)
        if one.how == "any":
            hits, weight = (
                rates.any_of(round(one.of), sum(each.missing for each in one.verdicts)),
                1.0,
            )
        else:
            hits, of = rates.filled(one)
            weight = of if one.how == "share" else 1.0
        value = hits / weight if weight else 0.0
        low, high = scores[name].limits.get(metric.name, metric.limits)
        made[name] = Estimated(
            value=min(max(value, low), high),
            weight=weight if metric.kind == "ratio" else 1.0,
            own=own,
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
            missing = each.missing + (
                min(max(self._length(each.kind), 1.0), each.more) if each.more else 0.0
            )
            right, known = _within(each.kind, one.verdicts)
            rate = (right / known if known else self._rate(each.kind, one.how)) if missing else 0.0
            hits.append(each.weight * (each.hits + rate * missing))
            of.append(each.weight * (each.known + missing + each.unasked))
        return math.fsum(hits), math.fsum(of)

    def any_of(self, of: int, missing: int) -> float:
        """How probably missing verdicts hold a hit where none is known: in answers about as long, so many hidden by chance."""
        known_ones = [one for one in self._judged if one.known]
        alike = [
            one for one in known_ones if abs(round(one.of) - of) <= _ABOUT_AS_LONG
        ] or known_ones
        sizes = Counter((one.known, int(sum(each.hits for each in one.verdicts))) for one in alike)
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
            self._known[kind] = (
                math.fsum(hits for hits, _ in pairs),
                math.fsum(known for _, known in pairs),
            )
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
