"""Decides which results can be ranked together, and computes their ranks as ranges.

Results are ranked within a **group**: same task and version `N`, data rows, prompts,
protocol, judge with votes and prompts, and scoring settings. The model's own settings
do not separate groups: decoding, answer length, shortened questions, other task
arguments. Metrics that need a checkpoint are ranked only against the same checkpoint,
averages only against the same components.

A **rank is a range**: from one after the entries whose 95 % intervals are wholly above,
to the number of entries whose intervals are not wholly below. Reported results, entries
with a reason, and values without an interval have no rank.

Over several tasks: The first page ranks by the mean of the tasks that a reader chooses,
each by its headline metric and its first group: official data before any other, then
the group of most results. Its MOVER interval (Zou and Donner 2008) covers 93.5 to 96.5
% in simulations.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from medical_tasks.io.untrusted import is_number
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.entries import Recipe
from medical_tasks.runs.recipes import SAME_ROWS, mapping
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.spec import MetricSpec, TaskSpec


@dataclass(frozen=True, kw_only=True)
class RankRange:
    """The best and the worst possible rank of an entry, from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        return (
            str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        )


Limits = tuple[float, float]


def rank_ranges(entries: Sequence[Entry], metric: MetricSpec) -> list[RankRange | None]:
    """Ranks the entries of each group by one metric; None for an entry without a rank.

    Ranks count within a group (`group_of`) and measure (`measure_of`). A result that is only
    reported, that has `differences`, or that has no comparable interval has no rank.
    """
    keyed: list[tuple[tuple[str, ...], Limits] | None] = []
    for entry in entries:
        stated = mapping(entry.metrics.get(metric.name))
        limits = (
            None
            if entry.state == "reported" or entry.differences
            else limits_of(stated)
        )
        keyed.append(
            limits
            and (
                (entry.task, entry.group, measure_of(metric, stated, entry.recipe)),
                limits,
            )
        )

    return places_of(keyed, higher_is_better=metric.higher_is_better)


def places_of(
    keyed: Sequence[tuple[tuple[str, ...], Limits] | None],
    *,
    higher_is_better: bool = True,
) -> list[RankRange | None]:
    """Ranks intervals with the same key; None remains without a rank.

    Args:
        keyed: for each entry its key and interval, or None.
        higher_is_better: the metric's direction.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for index, pair in enumerate(keyed):
        if pair is not None:
            groups.setdefault(pair[0], []).append(index)

    places: list[RankRange | None] = [None] * len(keyed)
    for members in groups.values():
        intervals = [pair[1] for index in members if (pair := keyed[index]) is not None]
        for index, rank in zip(
            members, ranges(intervals, higher_is_better=higher_is_better), strict=True
        ):
            places[index] = rank

    return places


def ranges(
    intervals: Sequence[Limits], *, higher_is_better: bool = True
) -> list[RankRange]:
    """Ranks intervals (lower, upper), in their order; touching intervals overlap.

    The best possible rank comes after the entries whose whole interval is above its own,
    the worst possible rank before those whose whole interval is below.

    Example:
        The first two overlap, and both are above the third:

        >>> [str(rank) for rank in ranges([(0.70, 0.80), (0.62, 0.72), (0.40, 0.50)])]
        ['1-2', '1-2', '3']
    """
    turned = (
        intervals if higher_is_better else [(-high, -low) for low, high in intervals]
    )
    lows, highs = sorted(low for low, _ in turned), sorted(high for _, high in turned)
    n = len(turned)

    return [
        RankRange(
            first=1 + n - bisect_right(lows, high), last=n - bisect_left(highs, low)
        )
        for low, high in turned
    ]


def limits_of(metric: Json) -> Limits | None:
    """Returns the interval that ranks an entry; None if it has none or is not comparable."""
    value, low, high = (metric.get(key) for key in ("value", "ci_low", "ci_high"))
    if (
        not (is_number(value) and is_number(low) and is_number(high))
        or low > high
        or metric.get("comparable") is False
    ):
        return None

    return float(low), float(high)


_DIGITS: Final = 10
# Each model's answers have their own claims; only the way they were made must be the same.
_OUTPUT_CLAIMS: Final = "output_claims"


def group_of(task: TaskSpec, recipe: Recipe) -> str:
    """Returns the group of a result: a short hash, equal if results can be ranked together.

    Example:
        Two runs of version 2 of a task on the same rows, with the same prompts and judge,
        are in one group, whatever the names of the files. With another judge, another
        number of votes or the authors' prompts, they are in different ones. The model and
        its generation settings do not separate: they are what is ranked.
    """
    needed = {metric.needs for metric in task.metrics}
    scoring = mapping(recipe.get("scoring"))
    decides = {
        key: recipe.get(key)
        for key in ("metrics", "prompts", "protocol", "baseline", "judge")
    }
    # Published answers are separated from those that were generated here.
    imported = {"imported": True} if recipe.get("imported") else {}

    return _digest(
        {
            **_questions(task, recipe),
            **imported,
            **decides,
            # Settings of some metrics separate these alone: `measure_of`.
            "scoring": {
                key: _setting(key, value)
                for key, value in scoring.items()
                if key not in needed
            },
        }
    )


def data_of(task: TaskSpec, recipe: Recipe) -> str:
    """Returns a short hash of a result's questions, independent of prompts and settings."""
    return _digest(_questions(task, recipe))


def _questions(task: TaskSpec, recipe: Recipe) -> JsonDict:
    """Returns the version of a task and its data.

    File names and dataset versions are left out, since the rows can be the same.
    """
    data = mapping(recipe.get("data"))
    return {
        "task": task.name,
        "version": str(recipe.get("task_version")).partition("-")[0],
        "data": {name: value for name, value in data.items() if name not in SAME_ROWS},
    }


def measure_of(metric: MetricSpec, entry: Json, recipe: Recipe) -> str:
    """Returns a short hash of what else a metric depends on within a group; "" for nothing.

    `entry` is the metric's.

    Example:
        Two results are in one group, but used different checkpoints for one metric. That
        metric and the averages are ranked apart, all other metrics together.
    """
    scoring = mapping(recipe.get("scoring"))
    if metric.kind == "average":
        # With other components, or components by other checkpoints, it is another measure.
        settings = {key: _setting(key, value) for key, value in scoring.items()}
        return _digest({"scoring": settings, "of": entry.get("missing_components")})

    return (
        _digest(_setting(metric.needs, scoring.get(metric.needs)))
        if metric.needs
        else ""
    )


def group_label(recipe: Recipe) -> str:
    """Describes what a group has in common besides the task.

    Example: `v1.0 test (952aa5a194), prompts own, judge X, 5 votes`.
    """
    data = mapping(recipe.get("data"))
    parts = [
        f"{data.get('config')} {data.get('split')} ({str(data.get('rows_sha256'))[:_DIGITS]})"
    ]
    prompts = mapping(recipe.get("prompts"))
    if prompts:
        parts.append(
            f"prompts {prompts.get('set')} ({str(prompts.get('sha256'))[:_DIGITS]})"
        )

    judge = mapping(recipe.get("judge"))
    if judge:
        votes = judge.get("votes")
        parts.append(
            f"judge {judge.get('name')}" + (f", {votes} votes" if votes != 1 else "")
        )

    return ", ".join(parts)


def group_words(recipe: Recipe) -> str:
    """Describes a group without hashes (`v1.0 test, own prompts, judged by X`)."""
    data, judge = mapping(recipe.get("data")), mapping(recipe.get("judge"))
    prompts = mapping(recipe.get("prompts")).get("set")
    votes = (
        f" ({judge.get('votes')} votes)" if judge.get("votes") not in (None, 1) else ""
    )
    parts = [
        f"{data.get('config')} {data.get('split')}",
        f"{prompts} prompts"
        if prompts
        else "published answers"
        if recipe.get("imported")
        else "no prompts",
    ]

    return ", ".join(
        [*parts, *([f"judged by {judge.get('name')}{votes}"] if judge else [])]
    )


def setting_of(task: TaskSpec, recipe: Recipe) -> str:
    """Describes what distinguishes a result from others of the same model.

    These are its group and the settings of the model.
    """
    parts = [group_label(recipe)]
    parts += [
        f"{key}={value}" for key, value in mapping(recipe.get("task_args")).items()
    ]
    longest = mapping(recipe.get("generation")).get("max_new_tokens")
    if longest is not None and longest != task.generation_size:
        parts.append(f"answers of at most {longest} tokens")

    cut = len(mapping(mapping(recipe.get("truncation")).get("words_left_out")))
    if cut:
        parts.append(f"{cut} questions shortened")

    return ", ".join(parts)


def _setting(key: str, value: object) -> Any:
    if key == _OUTPUT_CLAIMS:
        return isinstance(value, Mapping)
    # A file is identified by its hash, not by its name.
    return (
        {**value, "file": None}
        if isinstance(value, Mapping) and "sha256" in value
        else value
    )


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
