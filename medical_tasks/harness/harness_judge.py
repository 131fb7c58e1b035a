"""The judge of tasks that a harness runs: chosen by environment variables, since harnesses have no option for it.

    MEDICAL_TASKS_JUDGE=openai-api/my-host/judge-model MEDICAL_TASKS_JUDGE_ARGS=concurrency=16 lighteval ...

What it said is kept in the user's cache, so that a harness that starts again asks nothing twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.guard.private_store import private_folder
from medical_tasks.io.store import Store
from medical_tasks.judges.base import JudgeOptions
from medical_tasks.judges.recorded import RecordedJudge
from medical_tasks.models.opener import parse_model_args
from medical_tasks.runs.judging import (
    RECORDED,
    JudgeRequest,
    OpenJudge,
    check_request,
    default_mode,
    default_votes,
    opens_early,
)
from medical_tasks.spec import Item, ItemScore, TaskSpec

__all__ = ["ARGS_VARIABLE", "JUDGE_VARIABLE", "VOTES_VARIABLE", "HarnessJudge", "harness_request"]

JUDGE_VARIABLE = "MEDICAL_TASKS_JUDGE"
ARGS_VARIABLE = "MEDICAL_TASKS_JUDGE_ARGS"
VOTES_VARIABLE = "MEDICAL_TASKS_JUDGE_VOTES"

logger = logging.getLogger(__name__)

# One part of the private store for all harnesses; a fixed id in the form of the others.
_FOLDER = hashlib.sha256(b"harness").hexdigest()[:32]


def harness_request(prompts: str = "own", upstream: str | None = None, *, task: TaskSpec | None = None) -> JudgeRequest:
    """Reads whom to ask from the environment; the lexical judge when nothing is said.

    Args:
        prompts: the judge's prompts, `own` or `official`.
        upstream: the authors' checkout, for `official`.
        task: what is judged; its own number of votes is taken when none is named, and its own way of judging.

    Raises:
        UsageError: A variable's value is not of its form.
    """
    name = os.environ.get(JUDGE_VARIABLE) or "lexical"
    args = parse_model_args(os.environ.get(ARGS_VARIABLE, ""), option=ARGS_VARIABLE)
    votes = os.environ.get(VOTES_VARIABLE) or str(default_votes(name, args, [] if task is None else [task]))
    if not votes.isdigit() or int(votes) < 1:
        raise UsageError(f"{VOTES_VARIABLE} must be a whole number from 1, got {votes!r}.")
    return JudgeRequest(
        name=name,
        args=args,
        options=JudgeOptions(votes=int(votes), upstream=None if upstream is None else Path(upstream)),
        mode=default_mode([] if task is None else [task]),
        prompts=prompts,
    )


class HarnessJudge:
    """Scores answers of judged tasks from whatever thread a harness calls in.

    Args:
        request: whom to ask and how.
    """

    def __init__(self, request: JudgeRequest) -> None:
        self._request = request
        self._lock = threading.Lock()
        self._opened: OpenJudge | None = None

    @property
    def comparable(self) -> bool:
        """Whether its numbers can be set beside others."""
        if self._request.name.startswith(RECORDED):
            return RecordedJudge(Path(self._request.name.removeprefix(RECORDED))).comparable
        return self._request.name != "lexical"

    def __deepcopy__(self, memo: dict[int, Any]) -> HarnessJudge:
        """Lighteval copies its configurations; an open judge stays one."""
        return self

    def check(self, task: TaskSpec) -> None:
        """Says what is wrong with the judge before a model answers for hours, as far as no weights are needed for it.

        Args:
            task: a task with a judge.

        Raises:
            UsageError: As `run_judge.check_request` and `OpenJudge`.
            MissingError: Likewise.
        """
        check_request(self._request, [task])
        if opens_early(self._request.name):
            self._open()

    def _open(self) -> OpenJudge:
        with self._lock:
            if self._opened is None:
                self._opened = OpenJudge(self._request, log_dir=private_folder(_FOLDER) / "logs")
            return self._opened

    def score(self, task: TaskSpec, items: Sequence[Item], responses: Sequence[str]) -> list[ItemScore]:
        """Scores answers with the benchmark's own scorer.

        Args:
            task: a task with a judge.
            items: the items.
            responses: the model's raw text for each.
        """
        judge = self._open()
        # A connection of SQLite belongs to one thread.
        with Store(private_folder(_FOLDER) / "verdicts.sqlite") as store:
            judging = judge.task_judge(task, store).judging
            with self._lock if judge.endpoint is None else contextlib.nullcontext():
                scores: list[ItemScore] = task.benchmark.score_items(task, items, responses, judging=judging)
        if judge.trouble is not None:
            # Not raised: the harness would lose the model's answers with it. What is not judged has no score.
            logger.warning("the judge %s could not be asked: %s", self._request.name, judge.trouble)
            judge.forget_trouble()
        return scores
