"""A model's confidence in its answers: asks for it, removes it from the answer, computes figures.

Choice tasks express confidence by their probabilities. Text tasks ask for it
(`--confidence asked`): the question gets one more instruction, and the line that it requests
is removed from the answer before anything reads it. (In this package `calibration` means
something else: correcting a judge's verdicts by people's labels.)

An answer counts if its confidence is known and its headline metric is decided; every repeat
counts, in the clusters of the task's items. Other answers are left out and counted. Nothing
is imputed: an answer without a confidence may have any.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypedDict

from medical_tasks.errors import UsageError, listed
from medical_tasks.spec import (
    Item,
    ItemScore,
    Message,
    MetricSpec,
    Probabilities,
    PromptSet,
    TaskSpec,
    texts_sha256,
)

if TYPE_CHECKING:
    from medical_tasks.scoring.confidence import CalibrationError, Ranking
    from medical_tasks.scoring.estimates import Estimate, Figure

Confidence = Literal["none", "asked"]
"""Whether a model is asked how sure it is."""
ASKED: Final = "asked"
RECIPE_KEY: Final = "confidence"
COLUMN: Final = "confidence"
"""The column of `items.parquet`, and the prefix of further columns with `--repeats`."""

UNREAD: Final = "no confidence"
UNCLEAR: Final = "the answer is unclear"
UNDECIDED: Final = "no score"
"""Why an answer counts in no figure."""
NO_SHARE: Final = (
    "{} has no value of a single answer between 0 and 1, so that there is nothing to hold a "
    "confidence against"
)
NOT_BINARY: Final = (
    "{} is a share of each answer, not right or wrong: calibration error, Brier score and AUROC "
    "are of answers that are one or the other"
)


class BinFigures(TypedDict):
    """Answers of similar confidence: a point of the reliability curve.

    Attributes:
        low: the smallest confidence.
        high: the largest.
        n: how many answers there are.
        confidence: their mean confidence.
        accuracy: the share that is right, with the interval `ci_low` to `ci_high`.
    """

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float
    ci_low: float
    ci_high: float


class CurvePoint(TypedDict):
    """The mean outcome of the most confident share of the answers."""

    share: float
    value: float
    ci_low: float | None
    ci_high: float | None


class ConfidenceFigures(TypedDict):
    """A task's confidence in `results.json`; figures have `value`, `ci_low`, `ci_high`, `n`.

    Attributes:
        source: `probabilities` of the choices, or `asked`.
        metric: the headline metric, which decides whether an answer is right.
        answers: the number of answers, over all repeats.
        stated: how many of them have a confidence.
        n: how many count: with a confidence and a decided score.
        left_out: the number of the others, by reason.
        reason: why some figures are missing.
        mean_confidence: the mean over the answers that count.
        accuracy: the mean of the metric over the same answers.
        ece: expected calibration error, corrected for its bias, with `plug_in`.
        bins: the answers by rising confidence.
        brier: mean squared error of the confidence; its `reference` is that of always
            stating the share of right answers.
        brier_choices: Brier's own score over all choices, for `probabilities`; its
            `reference` is that of equal shares.
        auroc: how well confidence separates right from wrong answers.
        aurc: mean shortfall over the shares of most confident answers; its `reference` is
            that of answers in random order.
        curve: the mean outcome of the most confident share of answers, from all of them
            down.
    """

    source: str
    metric: str
    answers: int
    stated: int
    n: int
    left_out: dict[str, int]
    reason: NotRequired[str]
    mean_confidence: NotRequired[Figure]
    accuracy: NotRequired[Figure]
    ece: NotRequired[Figure]
    bins: NotRequired[list[BinFigures]]
    brier: NotRequired[Figure]
    brier_choices: NotRequired[Figure]
    auroc: NotRequired[Figure]
    aurc: NotRequired[Figure]
    curve: NotRequired[list[CurvePoint]]


def check_askable(tasks: Sequence[TaskSpec], model: str) -> None:
    """Refuses models and tasks that cannot be asked for a confidence.

    Raises:
        UsageError: the model is a baseline, or a task asks for no text or in several steps.
    """
    if model.startswith("baseline/"):
        raise UsageError(
            f"{model} is asked nothing, so --confidence asked has no meaning for it. Leave it "
            "out."
        )

    check_taken_off(tasks)
    if steps := [task.name for task in tasks if task.protocol]:
        raise UsageError(
            f"--confidence asked: {', '.join(steps)} continue after the first answer, with a protocol "
            "that reads each reply, so the last question is not known when it is asked. Run "
            "these without it."
        )


def check_taken_off(tasks: Sequence[TaskSpec]) -> None:
    """Refuses tasks that cannot state a confidence, since their answers are not texts."""
    names = [task.name for task in tasks if task.asks != "text" or task.baseline]
    if names:
        raise UsageError(
            f"--confidence asked: {listed(names, 5)} ask for no text. Tasks that ask for the "
            "probabilities of choices report confidence without it: run these alone, and leave it "
            "out."
        )


def asking_for_confidence(prompts: PromptSet) -> PromptSet:
    """Adds the instruction to the end of each question."""
    from medical_tasks.scoring.stated_confidence import INSTRUCTION, INSTRUCTION_SHA256

    def render(item: Item) -> tuple[Message, ...]:
        *before, last = prompts.render(item)
        if last["role"] != "user":
            raise UsageError(
                "--confidence asked: the question itself begins the model's answer, so nothing "
                "can be added to it. Run the task without it."
            )

        question: Message = {
            "role": "user",
            "content": f"{last['content'].rstrip()}\n\n{INSTRUCTION}",
        }
        return (*before, question)

    return replace(
        prompts,
        render=render,
        sha256=texts_sha256(prompts.sha256, INSTRUCTION),
        settings={**prompts.settings, "confidence_sha256": INSTRUCTION_SHA256},
    )


def with_confidence(score: ItemScore, stated: float | None) -> ItemScore:
    """Adds the model's confidence to a score: the stated one, or that of its most probable choice."""
    if score.probabilities is not None:
        stated = max(score.probabilities.shares)
    return score if stated is None else replace(score, confidence=stated)


def confidence_cells(
    item: str, repeats: Sequence[Mapping[str, ItemScore]]
) -> dict[str, float | None]:
    """Makes an item's cells: the mean over repeats with a confidence, and each repeat's."""
    scores = [repeat.get(item) for repeat in repeats]
    values = [None if score is None else score.confidence for score in scores]
    stated = [value for value in values if value is not None]
    mean = math.fsum(stated) / len(stated) if stated else None
    cells = {COLUMN: mean}
    if len(values) > 1:
        for number, value in enumerate(values, 1):
            cells[f"{COLUMN}_repeat_{number}"] = value
    return cells


@dataclass
class _Answers:
    """The answers that count, in columns of one value per answer, and how many do not.

    Attributes:
        confidence: the confidences, from 0 to 1.
        outcome: the values of the headline metric.
        cluster: the items' clusters, or the items.
        probabilities: the probabilities of all choices, for tasks that have them.
        left_out: how many answers do not count, by reason.
        answers: the number of all answers.
        stated: how many of them have a confidence.
    """

    confidence: list[float] = field(default_factory=list)
    outcome: list[float] = field(default_factory=list)
    cluster: list[Hashable] = field(default_factory=list)
    probabilities: list[Probabilities] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    stated: int = 0


def confidence_figures(
    task: TaskSpec,
    items: Sequence[Item],
    repeats: Sequence[Mapping[str, ItemScore]],
    *,
    source: Literal["probabilities", "asked"],
) -> ConfidenceFigures:
    """Computes the confidence figures of a task.

    Args:
        task: the task with the metrics that are reported, the headline first.
        items: all items that were asked.
        repeats: each repeat's scores by item id.
        source: where confidences come from.
    """
    metric = task.metrics[0]
    answers = _collected(task, metric, items, repeats)
    figures = ConfidenceFigures(
        source=source,
        metric=metric.name,
        answers=answers.answers,
        stated=answers.stated,
        n=len(answers.outcome),
        left_out=dict(sorted(answers.left_out.items())),
    )
    if not _is_share(metric):
        figures["reason"] = NO_SHARE.format(metric.name)
        return figures

    if answers.outcome:
        single = not task.cluster and len(repeats) == 1
        clusters = None if single else answers.cluster
        _add_ranking(figures, answers, metric, clusters)
        if metric.kind == "proportion":
            _add_calibration(figures, answers, clusters)
        else:
            figures["reason"] = NOT_BINARY.format(metric.name)

    return figures


def _is_share(metric: MetricSpec) -> bool:
    """Whether an answer's value of a metric is a share, and higher is better."""
    of_items = metric.kind != "average" and metric.limits == (0.0, 1.0)
    return of_items and not metric.unit and metric.higher_is_better


def _collected(
    task: TaskSpec,
    metric: MetricSpec,
    items: Sequence[Item],
    repeats: Sequence[Mapping[str, ItemScore]],
) -> _Answers:
    """Collects the answers of all repeats that count, and counts the others by reason."""
    collected = _Answers()
    for item in items:
        cluster = item.cluster if task.cluster else item.id
        for score in (repeat[item.id] for repeat in repeats if item.id in repeat):
            collected.answers += 1
            collected.stated += score.confidence is not None
            if reason := _left_out(score, metric):
                collected.left_out[reason] += 1
                continue

            collected.confidence.append(score.confidence or 0.0)
            collected.outcome.append(score.values[metric.name])
            collected.cluster.append(cluster)
            if score.probabilities is not None:
                collected.probabilities.append(score.probabilities)

    return collected


def _left_out(score: ItemScore, metric: MetricSpec) -> str:
    """Says why an answer does not count; "" if it does."""
    if score.confidence is None:
        return UNREAD
    low, high = score.could_be(metric.name)
    if math.isnan(low) or math.isnan(high):
        return UNDECIDED
    return UNCLEAR if low != high else ""


def _add_ranking(
    figures: ConfidenceFigures,
    answers: _Answers,
    metric: MetricSpec,
    clusters: Sequence[Hashable] | None,
) -> None:
    """Adds the means, and how well confidence ranks the answers."""
    from medical_tasks.scoring.confidence import ranking
    from medical_tasks.scoring.means import mean_interval, proportion_interval

    sure, outcome = answers.confidence, answers.outcome
    binary = metric.kind == "proportion"
    mean_of = proportion_interval if binary else mean_interval
    ranked = ranking(sure, outcome, clusters=clusters)
    accuracy = mean_of(outcome, clusters=clusters)
    figures["mean_confidence"] = _figure(mean_interval(sure, clusters=clusters))
    figures["accuracy"] = _figure(accuracy)
    figures["aurc"] = _figure(ranked.aurc, reference=1.0 - accuracy.value)
    figures["curve"] = _curve(ranked)
    if binary:
        figures["auroc"] = _figure(ranked.auroc)


def _add_calibration(
    figures: ConfidenceFigures,
    answers: _Answers,
    clusters: Sequence[Hashable] | None,
) -> None:
    """Adds how far confidences are from the shares of right answers."""
    from medical_tasks.scoring.confidence import (
        brier_score,
        calibration_error,
        choices_brier_score,
    )

    sure, right = answers.confidence, answers.outcome
    share = math.fsum(right) / len(right)
    error = calibration_error(sure, right, clusters=clusters)
    brier = brier_score(sure, right, clusters=clusters)
    figures["ece"] = _figure(error.estimate, plug_in=error.plug_in)
    figures["bins"] = _bins(error)
    figures["brier"] = _figure(brier, reference=share * (1.0 - share))
    if answers.probabilities:
        shares = [choices.shares for choices in answers.probabilities]
        right_choices = [choices.right for choices in answers.probabilities]
        uniform = math.fsum(1.0 - 1.0 / len(choices) for choices in shares) / len(
            shares
        )
        score = choices_brier_score(shares, right_choices, clusters=clusters)
        figures["brier_choices"] = _figure(score, reference=uniform)


def _figure(estimate: Estimate, **extra: float) -> Figure:
    from medical_tasks.scoring.estimates import as_json

    return {**as_json(estimate), **extra}


def _bins(error: CalibrationError) -> list[BinFigures]:
    return [
        {
            "low": group.low,
            "high": group.high,
            "n": group.accuracy.n,
            "confidence": group.confidence,
            "accuracy": group.accuracy.value,
            "ci_low": group.accuracy.ci_low,
            "ci_high": group.accuracy.ci_high,
        }
        for group in error.bins
    ]


def _curve(ranked: Ranking) -> list[CurvePoint]:
    from medical_tasks.scoring.confidence import SHARES
    from medical_tasks.scoring.estimates import as_json

    return [
        {
            "share": share,
            "value": point.value,
            "ci_low": as_json(point)["ci_low"],
            "ci_high": as_json(point)["ci_high"],
        }
        for share, point in zip(SHARES, ranked.curve, strict=True)
    ]
