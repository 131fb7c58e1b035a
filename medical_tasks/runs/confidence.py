"""How sure a model says it is, and whether it should be: asking, taking off, figures.

Choice tasks say it by their probabilities. A text task is asked for it (`--confidence
asked`): one instruction is added to the question, and the line that it asks for is
taken off the answer before anything reads it. (`calibration` is another thing here: it
corrects a judge's verdicts by people's labels.)

Each answer whose confidence is known and whose headline metric is decided counts, of
several repeats each, in the clusters of the task's items. All others are left out and
counted. What they are not is guessed: an answer without a confidence may have any.
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
    from medical_tasks.scoring.confidence import Bin, CalibrationError, Ranking
    from medical_tasks.scoring.estimates import Estimate, Figure

Confidence = Literal["none", "asked"]
"""Whether a model is asked how sure it is."""
ASKED: Final = "asked"
RECIPE_KEY: Final = "confidence"
COLUMN: Final = "confidence"
"""The column of `items.parquet`, and with `--repeats` the beginning of others."""

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
    """The mean outcome of the surest share of the answers."""

    share: float
    value: float
    ci_low: float | None
    ci_high: float | None


class ConfidenceFigures(TypedDict):
    """What `results.json` says of a task's confidence; figures have `value`, `ci_low`, `ci_high`, `n`.

    Attributes:
        source: `probabilities` of the choices, or `asked`.
        metric: the headline metric, by which an answer is right.
        answers: how many there are, of all repeats.
        stated: how many of them have a confidence.
        n: how many count: with a confidence and a decided score.
        left_out: why the others do not, with their number.
        reason: why some figures are lacking.
        mean_confidence: of the answers that count.
        accuracy: the mean of the metric on the same answers.
        ece: expected calibration error, freed of its bias, with `plug_in`.
        bins: the answers by rising confidence.
        brier: mean squared error of the confidence, with `reference`: that of who
            always says the share of right answers.
        brier_choices: Brier's own score over all choices, of `probabilities`; its
            `reference` is that of equal shares.
        auroc: how well confidence tells right from wrong.
        aurc: mean shortfall over the shares of surest answers, with `reference`: that
            of answers in any order.
        curve: the mean outcome of the surest share of answers, from all of them down.
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
    """Refuses to ask for a confidence what cannot be asked, with the reason.

    Raises:
        UsageError: the model is asked nothing, or a task asks no text, or several.
    """
    if model.startswith("baseline/"):
        raise UsageError(
            f"{model} is asked nothing, so that --confidence asked has no meaning for it. Leave it "
            "out."
        )

    check_taken_off(tasks)
    if steps := [task.name for task in tasks if task.protocol]:
        raise UsageError(
            f"--confidence asked: {', '.join(steps)} go on after the first answer, by a protocol "
            "that reads each reply, and nobody knows which one is the last when it is asked. Run "
            "these without it."
        )


def check_taken_off(tasks: Sequence[TaskSpec]) -> None:
    """Refuses a stated confidence of tasks whose answers are no texts."""
    names = [task.name for task in tasks if task.asks != "text" or task.baseline]
    if names:
        raise UsageError(
            f"--confidence asked: {listed(names, 5)} ask for no text. Tasks that ask for the "
            "probabilities of choices report confidence without it: run these alone, and leave it "
            "out."
        )


def asking_for_confidence(prompts: PromptSet) -> PromptSet:
    """The prompts with the instruction at the end of each question."""
    from medical_tasks.scoring.stated_confidence import INSTRUCTION, INSTRUCTION_SHA256

    def render(item: Item) -> tuple[Message, ...]:
        *before, last = prompts.render(item)
        if last["role"] != "user":
            raise UsageError(
                "--confidence asked: the question begins the model's answer itself, so that "
                "nothing can be added to it. Run the task without it."
            )

        asked: Message = {
            "role": "user",
            "content": f"{last['content'].rstrip()}\n\n{INSTRUCTION}",
        }
        return (*before, asked)

    return replace(
        prompts,
        render=render,
        sha256=texts_sha256(prompts.sha256, INSTRUCTION),
        settings={**prompts.settings, "confidence_sha256": INSTRUCTION_SHA256},
    )


def with_confidence(score: ItemScore, stated: float | None) -> ItemScore:
    """The score with how sure the model was: what it stated, or its most probable choice."""
    if score.probabilities is not None:
        stated = max(score.probabilities.shares)
    return score if stated is None else replace(score, confidence=stated)


def confidence_cells(
    item: str, repeats: Sequence[Mapping[str, ItemScore]]
) -> dict[str, float | None]:
    """An item's cells of `items.parquet`: the mean over the repeats that state one, and each."""
    scores = [repeat.get(item) for repeat in repeats]
    values = [None if score is None else score.confidence for score in scores]
    known = [value for value in values if value is not None]
    mean = math.fsum(known) / len(known) if known else None
    cells = {COLUMN: mean}
    if len(values) > 1:
        for number, value in enumerate(values, 1):
            cells[f"{COLUMN}_repeat_{number}"] = value
    return cells


@dataclass
class _Answers:
    """The answers that count, in columns, and how many do not, by reason.

    Attributes:
        confidence: from 0 to 1, one an answer that counts, as in the columns below.
        outcome: its value of the headline metric.
        cluster: its item's cluster, or its item.
        probabilities: of all choices, for tasks that have them.
        left_out: how many do not count, by reason.
        answers: how many there are.
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
    """The figures of a task's answers.

    Args:
        task: the task with the metrics that are reported, the headline first.
        items: all that were asked.
        repeats: the scores by item id, of each repeat.
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
    """Whether an answer's value of a metric is a share that is better the higher it is."""
    of_items = metric.kind != "average" and metric.limits == (0.0, 1.0)
    return of_items and not metric.unit and metric.higher_is_better


def _collected(
    task: TaskSpec,
    metric: MetricSpec,
    items: Sequence[Item],
    repeats: Sequence[Mapping[str, ItemScore]],
) -> _Answers:
    """The answers that count, of all repeats, in columns; others by why they do not."""
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
    """Why an answer does not count; "" where it does."""
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
        shares = [each.shares for each in answers.probabilities]
        places = [each.right for each in answers.probabilities]
        equal = math.fsum(1.0 - 1.0 / len(each) for each in shares) / len(shares)
        score = choices_brier_score(shares, places, clusters=clusters)
        figures["brier_choices"] = _figure(score, reference=equal)


def _figure(estimate: Estimate, **beside: float) -> Figure:
    from medical_tasks.scoring.estimates import as_json

    return {**as_json(estimate), **beside}


def _bins(error: CalibrationError) -> list[BinFigures]:
    def of(one: Bin) -> BinFigures:
        return {
            "low": one.low,
            "high": one.high,
            "n": one.accuracy.n,
            "confidence": one.confidence,
            "accuracy": one.accuracy.value,
            "ci_low": one.accuracy.ci_low,
            "ci_high": one.accuracy.ci_high,
        }

    return [of(one) for one in error.bins]


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
