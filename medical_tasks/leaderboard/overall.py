"""The overall table: the mean of the benchmarks' headline metrics, of the models that have them all.

Each benchmark counts once, by one task and metric (`HEADLINES`); all are shares of 0 to 1. The mean's interval is that of MOVER,
the method of variance estimates recovery (Zou and Donner 2008): benchmarks share no items, so the squared distances from value to
limit add up, and the square root of the sum, divided by their number, is the distance of the mean's limit. It keeps the skewness
that the intervals of single proportions have near 0 and 1. A model that lacks a benchmark is listed with what is missing and the
mean of the rest, marked partial, without interval and rank: a mean over fewer benchmarks is another number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from medical_tasks.benchmarks.catalog import BENCHMARKS, tasks
from medical_tasks.leaderboard.numbers import is_number
from medical_tasks.leaderboard.ranking import RankRange, ranges
from medical_tasks.leaderboard.records import Entry
from medical_tasks.leaderboard.submission_package.names import model_key
from medical_tasks.runs.recipe_differences import mapping

__all__ = ["HEADLINES", "Headline", "OverallEntry", "mover_mean", "overall_entries"]


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What a benchmark counts by.

    Attributes:
        benchmark: its title.
        task: one of its tasks.
        metric: a metric of that task with values of 0 to 1; where lower is better, 1 less the value counts.
    """

    benchmark: str
    task: str
    metric: str


HEADLINES: Final = tuple(
    Headline(benchmark=next(each.title for each in BENCHMARKS if each.name == benchmark), task=task, metric=metric)
    for benchmark, task, metric in (
        ("medcalc_bench", "medcalc", "accuracy"),
        ("kqa", "kqa", "comprehensiveness"),
        ("ehrnoteqa", "ehrnoteqa_open_level1", "accuracy"),
        ("doclens", "aci_bench", "claim_recall"),
        ("archehr_qa", "archehr_together", "factuality"),
    )
)
"""The five benchmarks, each by its first task and that task's first metric: asked plainly, without examples or retrieval."""


@dataclass(frozen=True, kw_only=True)
class OverallEntry:
    """One model over all benchmarks.

    Attributes:
        model: name to show.
        organisation: who submitted it.
        value: mean of its headline metrics, 0-1; None when it has none.
        ci_low: lower end of its 95 % interval; None when it is partial.
        ci_high: upper end.
        parts: benchmark's title to the entry that counts; only those it has.
        missing: titles of the benchmarks it has nothing of that could be ranked.
        partial: whether one is missing; such a mean is not ranked.
        rank: its places among the models of its group; None when partial.
        group: models of one group have all benchmarks in the same groups; "" when partial.
    """

    model: str
    organisation: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    parts: Mapping[str, Entry]
    missing: tuple[str, ...]
    partial: bool
    rank: RankRange | None = None
    group: str = ""


def overall_entries(entries: Sequence[Entry]) -> list[OverallEntry]:
    """Makes the overall table.

    Args:
        entries: of all tasks; published results and those marked with differences do not count.

    Returns:
        A row a model: those with all benchmarks first, best mean first, then those with more of them. A model with several
        results on a headline task counts by the one in the group that most models have.
    """
    metrics = {one.task: one for one in HEADLINES}
    usable = [
        each
        for each in entries
        if each.task in metrics and each.state != "reported" and not each.differences and _point(each) is not None
    ]
    # Of equally common groups the one of the latest entry, so that the order of the entries plays no part.
    common = Counter((each.task, each.group) for each in usable)
    latest: dict[tuple[str, str], str] = {}
    for each in usable:
        latest[each.task, each.group] = max(latest.get((each.task, each.group), ""), each.at)
    models: dict[tuple[str, str], dict[str, Entry]] = {}
    for each in usable:
        parts = models.setdefault(model_key(each.organisation, each.model), {})
        title = metrics[each.task].benchmark

        def order(one: Entry) -> tuple[Any, ...]:
            return (common[one.task, one.group], latest[one.task, one.group], one.group, one.at, one.submission)

        if title not in parts or order(each) > order(parts[title]):
            parts[title] = each
    rows = [_row(parts) for parts in models.values()]
    rows = _ranked([row for row in rows if not row.partial]) + [row for row in rows if row.partial]
    return sorted(rows, key=lambda row: (len(row.missing), -(row.value or 0.0), row.model, row.organisation))


def mover_mean(points: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    """The mean of independent estimates, with the MOVER interval.

    Args:
        points: value, lower and upper limit of each, at one confidence.

    Returns:
        Mean, lower and upper limit.

    Raises:
        ValueError: There are none.
    """
    if not points:
        raise ValueError("the mean of no estimates was asked for")
    k = len(points)
    mean = math.fsum(value for value, _, _ in points) / k
    below = math.sqrt(math.fsum((value - low) ** 2 for value, low, _ in points)) / k
    above = math.sqrt(math.fsum((high - value) ** 2 for value, _, high in points)) / k
    return mean, mean - below, mean + above


def _point(entry: Entry) -> tuple[float, float, float] | None:
    """Value and limits of an entry's headline, turned so that more is better; None where it has none that counts."""
    name = next(one.metric for one in HEADLINES if one.task == entry.task)
    found = mapping(entry.metrics.get(name))
    value, low, high = (found.get(key) for key in ("value", "ci_low", "ci_high"))
    if not (is_number(value) and is_number(low) and is_number(high)) or found.get("comparable") is False:
        return None
    if not 0.0 <= low <= value <= high <= 1.0:
        return None  # no share with its interval
    metric = next(each for each in tasks()[entry.task].metrics if each.name == name)
    return (value, low, high) if metric.higher_is_better else (1.0 - value, 1.0 - high, 1.0 - low)


def _row(parts: Mapping[str, Entry]) -> OverallEntry:
    titles = [one.benchmark for one in HEADLINES]
    newest = max(parts.values(), key=lambda each: (each.at, each.submission))
    missing = tuple(title for title in titles if title not in parts)
    points = [point for title in titles if title in parts and (point := _point(parts[title])) is not None]
    mean, low, high = mover_mean(points)
    return OverallEntry(
        model=newest.model,
        organisation=newest.organisation,
        value=mean,
        ci_low=None if missing else low,
        ci_high=None if missing else high,
        parts={title: parts[title] for title in titles if title in parts},
        missing=missing,
        partial=bool(missing),
        group="" if missing else " ".join(parts[title].group for title in titles),
    )


def _ranked(rows: Sequence[OverallEntry]) -> list[OverallEntry]:
    groups: dict[str, list[OverallEntry]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    made: list[OverallEntry] = []
    for members in groups.values():
        places = ranges([(row.ci_low or 0.0, row.ci_high or 0.0) for row in members])
        made += [replace(row, rank=place) for row, place in zip(members, places, strict=True)]
    return made
