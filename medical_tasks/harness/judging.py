"""The parts shared by both harness adapters: a judge that opens with its first question, and pooled ratios."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.guard.private_store import private_folder
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions
from medical_tasks.judges.recorded import RecordedJudge
from medical_tasks.options import read_settings
from medical_tasks.runs.finishing import check_scores
from medical_tasks.runs.judging import (
    JudgeRequest,
    RunJudge,
    check_request,
    default_mode,
    default_votes,
    opens_early,
)
from medical_tasks.spec import (
    PLAIN_SCORING,
    Answer,
    Item,
    ItemScore,
    MetricSpec,
    Scoring,
    TaskSpec,
)

JUDGE_VARIABLE = "MEDICAL_TASKS_JUDGE"
ARGS_VARIABLE = "MEDICAL_TASKS_JUDGE_ARGS"
VOTES_VARIABLE = "MEDICAL_TASKS_JUDGE_VOTES"

logger = logging.getLogger(__name__)

# One part of the private store for all harnesses; a fixed id in the form of the others.
_FOLDER = hashlib.sha256(b"harness").hexdigest()[:32]


def harness_request(
    prompts: str = "own", upstream: str | None = None, *, task: TaskSpec | None = None
) -> JudgeRequest:
    """Reads the judge and its settings from the environment, with the defaults of the `task`.

    The lexical judge if nothing is set.
    """
    name = os.environ.get(JUDGE_VARIABLE) or "lexical"
    args = read_settings(os.environ.get(ARGS_VARIABLE, ""), option=ARGS_VARIABLE)
    votes = os.environ.get(VOTES_VARIABLE) or str(
        default_votes(name, args, [] if task is None else [task])
    )
    if not votes.isdigit() or int(votes) < 1:
        raise UsageError(
            f"{VOTES_VARIABLE} must be a whole number from 1, got {votes!r}."
        )

    return JudgeRequest(
        name=name,
        args=args,
        options=JudgeOptions(
            votes=int(votes), upstream=None if upstream is None else Path(upstream)
        ),
        mode=default_mode([] if task is None else [task]),
        prompts=prompts,
    )


def score_checked(
    task: TaskSpec,
    items: Sequence[Item],
    answers: Sequence[Answer],
    scoring: Scoring = PLAIN_SCORING,
) -> list[ItemScore]:
    """Scores answers with the benchmark's own scorer, and checks what it returned.

    Raises:
        PluginError: The scorer is another package's and returned what no scorer may.
    """
    scores = task.benchmark.score_items(task, items, answers, scoring)
    check_scores(task, items, scores)
    return scores


class HarnessJudge:
    """Scores answers of judged tasks from whatever thread a harness calls in.

    The judge is opened with the first answers, or in `check` where that costs little, and
    stays open. Verdicts are stored in one private folder for all harnesses, so that a vote
    that is stored is not asked for again. A judge on this machine scores one call at a time;
    one with an endpoint scores several.
    """

    def __init__(self, request: JudgeRequest) -> None:
        self._request = request
        self._lock = threading.Lock()
        self._opened: RunJudge | None = None

    @property
    def comparable(self) -> bool:
        """Whether its numbers can be compared with others."""
        file = self._request.file
        return (
            self._request.name != "lexical"
            if file is None
            else RecordedJudge(file).comparable
        )

    @property
    def official(self) -> bool:
        """Whether it uses the authors' prompts."""
        return self._request.official

    def __deepcopy__(self, memo: dict[int, object]) -> HarnessJudge:
        """Returns itself: lighteval copies its configurations, and an open judge must not be copied."""
        return self

    def check(self, task: TaskSpec) -> None:
        """Reports problems of the judge before a model answers for hours, as far as no weights are needed."""
        check_request(self._request, [task])
        if opens_early(self._request.name):
            self._open()

    def _open(self) -> RunJudge:
        with self._lock:
            if self._opened is None:
                self._opened = RunJudge(
                    self._request, log_dir=private_folder(_FOLDER) / "logs"
                )
            return self._opened

    def score(
        self, task: TaskSpec, items: Sequence[Item], answers: Sequence[Answer]
    ) -> list[ItemScore]:
        """Scores answers with the benchmark's own scorer."""
        judge = self._open()
        # A connection of SQLite belongs to one thread.
        with Store(private_folder(_FOLDER) / "verdicts.sqlite") as store:
            judging = judge.task_judge(task, store).judging
            with (
                self._lock
                if judge.backend.endpoint is None
                else contextlib.nullcontext()
            ):
                scores = score_checked(task, items, answers, Scoring(judging=judging))

        trouble, judge.backend.trouble = judge.backend.trouble, None
        if trouble is not None:
            # Not raised: the harness would lose the model's answers. Answers that are
            # not judged have no score.
            logger.warning(
                "the judge %s could not be asked: %s", self._request.name, trouble
            )

        return scores


class Weighted(float):
    """An item's share with its denominator.

    The denominator is 0 for nan, and `inf` where an official script ends, so that there
    is no figure for all items.
    """

    weight: float

    def __new__(cls, value: float, weight: float) -> Weighted:
        """Makes a share with its denominator."""
        weighted = super().__new__(cls, value)
        weighted.weight = weight
        return weighted

    def __reduce__(self) -> tuple[type[Weighted], tuple[float, float]]:
        return Weighted, (float(self), self.weight)


def shown_metrics(
    task: TaskSpec, *, comparable: bool = True, official: bool = False
) -> dict[str, MetricSpec]:
    """Returns the metrics that a harness reports, by the names in its tables.

    A name is all that it shows of a metric and its judge.
    """
    suffix = "" if comparable else "_not_comparable"
    reported = task.reporting((), official=official).metrics
    metrics = (metric for metric in reported if metric.kind != "average")
    return {
        f"{metric.name}{suffix if metric.judged else ''}": metric for metric in metrics
    }


def metric_value(metric: MetricSpec, score: ItemScore) -> float:
    """Returns a metric's value, with its denominator if the metric is pooled; nan for none."""
    value = score.values.get(metric.name, math.nan)
    if not is_pooled(metric):
        return value
    if metric.official and metric.name not in score.values:
        return Weighted(math.nan, math.inf)

    return Weighted(
        value, 0.0 if math.isnan(value) else score.weights.get(metric.name, 1.0)
    )


def is_pooled(metric: MetricSpec) -> bool:
    """Returns whether a metric's total needs `pooled_mean`.

    It does for ratios, and for metrics whose script a single item can end.
    """
    return metric.kind == "ratio" or bool(metric.official and metric.official.undecided)


# For functions with `mean` in their name lighteval computes the standard error of a mean;
# for others it bootstraps in as many processes as there are cores.
def pooled_mean(values: Iterable[float]) -> float:
    """Returns the sum of the numerators over the sum of the denominators.

    Without denominators, the smallest value without a weight, or nan.

    Example: 1 of 2 claims of one answer and 1 of 1 of another.

        >>> round(pooled_mean([Weighted(0.5, 2.0), Weighted(1.0, 1.0)]), 3)
        0.667
    """
    weighted, unweighted = [], []
    for value in values:
        if not isinstance(value, Weighted):
            raise TypeError(
                f"a pooled metric needs values with their weights; got {type(value).__name__}"
            )

        if value.weight:
            weighted.append(value)
        elif not math.isnan(value):
            unweighted.append(float(value))

    total = math.fsum(value.weight for value in weighted)
    if math.isinf(total):
        return math.nan

    return (
        math.fsum(value * value.weight for value in weighted) / total
        if total
        else min(unweighted, default=math.nan)
    )
