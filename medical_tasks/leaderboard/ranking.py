"""Which results can stand in one ranking, and their ranks as ranges.

`docs/leaderboard.md` has the rules.

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
    """The best and worst place an entry can have, from 1."""

    first: int
    last: int

    def __str__(self) -> str:
        return (
            str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        )


Limits = tuple[float, float]


def rank_ranges(entries: Sequence[Entry], metric: MetricSpec) -> list[RankRange | None]:
    """Ranks entries by one metric, those of each group among themselves.

    None for one without a rank.
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
    """Ranks intervals among those of the same key; None stays without a rank."""
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
    """Ranks intervals (lower, upper), in their order; those that touch overlap."""
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
    """The interval by which a metric's entry is ranked.

    None where it has none, or its judge's numbers cannot be compared.
    """
    value, low, high = (metric.get(key) for key in ("value", "ci_low", "ci_high"))
    if (
        not (is_number(value) and is_number(low) and is_number(high))
        or low > high
        or metric.get("comparable") is False
    ):
        return None

    return float(low), float(high)


_DIGITS: Final = 10
# Each model's answers have claims of their own; only how they were made separates.
_OUTPUT_CLAIMS: Final = "output_claims"


def group_of(task: TaskSpec, recipe: Recipe) -> str:
    """Names the group of a result.

    A short hash, the same for results whose numbers can be ranked together.
    """
    needed = {metric.needs for metric in task.metrics}
    scoring = mapping(recipe.get("scoring"))
    decides = {
        key: recipe.get(key)
        for key in ("metrics", "prompts", "protocol", "baseline", "judge")
    }
    # Answers that others published stand apart from those that were given to be scored.
    imported = {"imported": True} if recipe.get("imported") else {}

    return _digest(
        {
            **_questions(task, recipe),
            **imported,
            **decides,
            # What only some metrics need separates these alone: `measure_of`.
            "scoring": {
                key: _setting(key, value)
                for key, value in scoring.items()
                if key not in needed
            },
        }
    )


def data_of(task: TaskSpec, recipe: Recipe) -> str:
    """Names the questions of a result: a short hash, the same whatever they were asked with."""
    return _digest(_questions(task, recipe))


def _questions(task: TaskSpec, recipe: Recipe) -> JsonDict:
    """A task's version and its data.

    The same rows can come from a renamed file, and be those of another version.
    """
    data = mapping(recipe.get("data"))
    return {
        "task": task.name,
        "version": str(recipe.get("task_version")).partition("-")[0],
        "data": {name: value for name, value in data.items() if name not in SAME_ROWS},
    }


def measure_of(metric: MetricSpec, entry: Json, recipe: Recipe) -> str:
    """Names what else a metric's numbers depend on within a group: a short hash, "" for nothing.

    `entry` is the metric's.
    """
    scoring = mapping(recipe.get("scoring"))
    if metric.kind == "average":
        # Of other components, or of components by other checkpoints, it is another
        # measure.
        settings = {key: _setting(key, value) for key, value in scoring.items()}
        return _digest({"scoring": settings, "of": entry.get("missing_components")})

    return (
        _digest(_setting(metric.needs, scoring.get(metric.needs)))
        if metric.needs
        else ""
    )


def group_label(recipe: Recipe) -> str:
    """Says in words what a group has in common, beside the task.

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
    """The same without hashes, as people name it (`v1.0 test, own prompts, judged by X`)."""
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
    """Says what tells a result from others of the same model.

    Its group, and the settings that belong to the model.
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
    # A file is known by its hash, not by its name.
    return (
        {**value, "file": None}
        if isinstance(value, Mapping) and "sha256" in value
        else value
    )


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
