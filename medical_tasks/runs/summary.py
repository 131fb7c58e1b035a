"""Turns item scores into a task's entry of `results.json`, step by step.

    scores of each repeat            `ScoredTask`
    -> one score an item             `repeating.over_repeats`
    -> figures of all items          `estimation.Estimator`, or `repeating.RepeatedEstimator`
    -> of the set                    `of_whole_set`, where the items are a random sample of one
    -> figures of groups             the same estimator; marked where they are too few to tell
    -> cut totals                    where a metric has a `total`
    -> differences of paired items   where the benchmark names pairs: `paired_groups`
    -> corrected figures             `calibrating.Corrections.beside`, where a check of the judge fits
    -> JSON                          `Summary.as_json`

Each step takes a `Summary` and returns one. Parts of a run are merged before they are scored:
`merging` makes a run that is scored and summarised as if one command had asked everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from medical_tasks.runs.estimation import Estimator, Limits
from medical_tasks.runs.numbers import group_too_few
from medical_tasks.runs.paired_groups import paired_figures
from medical_tasks.runs.repeating import (
    RepeatedEstimator,
    Scores,
    Source,
    over_repeats,
)
from medical_tasks.runs.results import (
    ENDS,
    Breakdown,
    Coverage,
    Figures,
    Json,
    PairedFigure,
    TaskEntry,
    groups_in,
    in_order,
)
from medical_tasks.scoring.choice_orders import CHOSEN, PREFERENCE, place_p_values
from medical_tasks.spec import UNANSWERED, Item, ItemScore, TaskSpec


@dataclass(frozen=True, kw_only=True)
class ScoredTask:
    """A task's items with their scores.

    Attributes:
        task: the task with the metrics that are reported.
        items: all items that were asked, in the dataset's order.
        repeats: each repeat's scores by item id; one repeat if items were asked once.
        unanswered: each repeat's reasons why items have no answer.
        votes: each repeat's scores by each vote, for a judge with several votes.
        source: what the repeats are: answers of the model, or evaluations by the judge.
        limits: the limits of an unanswered item's values; by default the metrics' own.
    """

    task: TaskSpec
    items: Sequence[Item]
    repeats: Sequence[Scores]
    unanswered: Sequence[Mapping[str, str]]
    votes: Sequence[Sequence[Scores]] = ()
    source: Source = "repeats"
    limits: Limits | None = None


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A task's figures.

    Attributes:
        metrics: the figures over all items.
        coverage: how many items were asked, answered and scored.
        breakdown: the figures over groups, and over parts of each item.
        notes: how many answers have each note.
        pairs: the differences of groups within pairs of items.
    """

    metrics: Figures
    coverage: Coverage
    breakdown: Breakdown = field(default_factory=dict)
    pairs: Sequence[PairedFigure] = ()
    notes: Mapping[str, int] = field(default_factory=dict)

    def as_json(self, recipe: Json) -> TaskEntry:
        """Makes the task's entry of `results.json`."""
        entry: TaskEntry = {
            "n_items": self.coverage["asked"],
            "metrics": self.metrics,
            "coverage": self.coverage,
            "breakdown": self.breakdown,
            "recipe": dict(recipe),
        }
        if self.pairs:
            entry["pairs"] = list(self.pairs)
        if self.notes:
            entry["notes"] = dict(sorted(self.notes.items()))

        return entry


def summary_of(scored: ScoredTask, *, sample: Json | None = None) -> Summary:
    """Summarises a task's scores.

    Args:
        scored: the scores.
        sample: how the items were drawn from a set, as in the recipe; None for a whole set.
    """
    scores = over_repeats(scored.task, scored.repeats, scored.unanswered)
    estimator = _estimator(scored, scores)
    summary = Summary(
        metrics=_figures(scored.task, estimator, scored.items),
        coverage=_coverage(scored, scores),
        notes=Counter(
            note.partition(":")[0] for score in scores.values() for note in score.notes
        ),
        pairs=paired_figures(scored.task, scored.items, scores),
    )
    if sample is not None:
        summary = _of_whole_set(summary, scored, estimator, sample)

    return _clip_totals(_with_groups(summary, scored, estimator), scored.task)


def summarise(
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    unanswered: Mapping[str, str],
    *,
    recipe: Json,
    unanswered_limits: Limits | None = None,
) -> TaskEntry:
    """Computes the entry of `results.json` of a task whose items were answered once.

    Args:
        task: the task with the metrics that are reported.
        items: all items that were asked.
        scores: the scores by item id.
        unanswered: why items have no answer, by id.
        recipe: everything that decided the scores.
        unanswered_limits: the metrics' limits on an item without an answer; by default the
            metrics' own.
    """
    scored = ScoredTask(
        task=task,
        items=items,
        repeats=[scores],
        unanswered=[unanswered],
        limits=unanswered_limits,
    )
    return summary_of(scored, sample=drawn_from_set(recipe)).as_json(recipe)


def drawn_from_set(recipe: Json) -> Json | None:
    """Returns how a run's items were drawn from a whole set; None if not, or for a part of a run."""
    return recipe.get("subset") if "shard" not in recipe else None


def _estimator(scored: ScoredTask, scores: Scores) -> Estimator:
    items = len(scored.items)
    if len(scored.repeats) == 1:
        return Estimator(
            scored.task, scores, items=items, unanswered_limits=scored.limits
        )

    return RepeatedEstimator(
        scored.task,
        scores,
        scored.repeats,
        scored.votes,
        scored.source,
        items=items,
        unanswered_limits=scored.limits,
    )


def _figures(task: TaskSpec, estimator: Estimator, items: Sequence[Item]) -> Figures:
    """Computes the figures of some items, without metrics that concern a part of each item."""
    return {
        metric.name: estimator.entry(metric, items)
        for metric in task.metrics
        if not metric.part
    }


def _coverage(scored: ScoredTask, scores: Scores) -> Coverage:
    """Counts how far scoring got, and why not further."""
    unscored = Counter(
        score.unscored for score in scores.values() if score.unscored is not None
    )
    unscored.update(
        UNANSWERED + reason
        for item, reason in scored.unanswered[0].items()
        if item not in scores
    )
    unclear = Counter(score.unclear for score in scores.values() if score.unclear)

    return {
        "asked": len(scored.items),
        "answered": len(scores),
        "scored": sum(score.unscored is None for score in scores.values()),
        "unscored": dict(sorted(unscored.items())),
        "unclear": dict(sorted(unclear.items())),
    }


def _of_whole_set(
    summary: Summary, scored: ScoredTask, estimator: Estimator, sample: Json
) -> Summary:
    """Turns the figures of a random sample into those of its set."""
    metrics = dict(summary.metrics)
    for metric in scored.task.metrics:
        if metric.name in metrics:
            figure = metrics[metric.name]
            metrics[metric.name] = estimator.of_whole_set(
                figure, metric, scored.items, sample
            )
    return replace(summary, metrics=metrics)


def _with_groups(summary: Summary, scored: ScoredTask, estimator: Estimator) -> Summary:
    """Adds the figures of parts and groups, marked if these are too few to tell."""
    task, items = scored.task, scored.items
    breakdown: Breakdown = {}
    for metric in task.metrics:
        if metric.part:
            by, group = metric.part
            figures = breakdown.setdefault(by, {}).setdefault(group, {})
            figures[metric.whole] = estimator.entry(metric, items)

    for by in task.groups:
        members: dict[str, list[Item]] = {}
        for item in items:
            for group in groups_in(item, by):
                members.setdefault(group, []).append(item)

        within = tuple(metric for metric in task.metrics if by not in metric.not_by)
        of_groups = replace(task, metrics=within)
        breakdown[by] = {
            group: _figures(of_groups, estimator, members[group])
            for group in in_order(members)
        }

    for by, groups in breakdown.items():
        for figures in groups.values():
            _mark_too_few(figures, summary.metrics, parts=by not in task.groups)

    # Evaluations judge the same answers.
    asked_once = len(scored.repeats) == 1 or scored.source == "evaluations"
    if CHOSEN in breakdown and asked_once:
        _test_positions(breakdown[CHOSEN], items, scored.repeats[0])

    return replace(summary, breakdown=breakdown)


def _test_positions(
    by_position: dict[str, Figures], items: Sequence[Item], scores: Scores
) -> None:
    """Adds to each position among choices the p-value of no preference for it."""
    for position, (p, p_holm) in place_p_values(items, scores).items():
        if position in by_position:
            figure = by_position[position][PREFERENCE]
            figure["p"], figure["p_holm"] = p, p_holm


def _mark_too_few(figures: Figures, whole: Figures, *, parts: bool) -> None:
    for name, figure in figures.items():
        if name in whole and group_too_few(figure, whole[name], parts=parts):
            figure["too_few"] = True


def _clip_totals(summary: Summary, task: TaskSpec) -> Summary:
    """Clips the figures of metrics with a `total` to it."""
    ranges = {
        metric.whole or metric.name: metric.total
        for metric in task.metrics
        if metric.total is not None
    }
    groups = (figures for by in summary.breakdown.values() for figures in by.values())
    for figures in (summary.metrics, *groups):
        for name in ranges.keys() & figures:
            low, high = ranges[name]
            for end in ENDS:
                value = figures[name][end]
                if value is not None:
                    figures[name][end] = min(max(value, low), high)

    return summary


def not_comparable(summary: Summary, task: TaskSpec) -> Summary:
    """Marks the figures of a judge that compares words: they are not comparable with others."""
    judged = {metric.whole or metric.name for metric in task.metrics if metric.judged}
    groups = (figures for by in summary.breakdown.values() for figures in by.values())
    for figures in (summary.metrics, *groups):
        for name in judged.intersection(figures):
            figures[name]["comparable"] = False
    return summary
