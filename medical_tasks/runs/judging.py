"""The judge of a run: opened once, used by every judged task, and reported with each task's scores.

A judge that cannot be reached leaves questions without a verdict and never ends a run; the
same command asks for the rest.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from medical_tasks.data.task_data import check_prompt_set
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason, redact_value
from medical_tasks.io.store import Store
from medical_tasks.judges.base import (
    Backend,
    Call,
    JudgeOptions,
    JudgePrompts,
    Judging,
    NoReply,
    OnReply,
    Question,
    Reply,
    Unscored,
    Verdict,
    ask_in_batches,
)
from medical_tasks.judges.checks import check_set_of, describe, last_check
from medical_tasks.judges.recorded import RecordedJudge
from medical_tasks.judges.session import (
    NEUTRAL_JUDGE_ARGS,
    VERDICT,
    JudgeSession,
    open_judge,
    open_session,
    require_evaluations,
    require_votes,
)
from medical_tasks.models.batch_journal import JOURNAL, batches_of, note_left
from medical_tasks.models.budget import RunBudget
from medical_tasks.models.checkpoint import find_checkpoint
from medical_tasks.models.opener import check_batch, deciding_args, read_prices
from medical_tasks.runs.calibrating import Calibration
from medical_tasks.runs.folder import RunFolder, locked
from medical_tasks.runs.results import JsonDict
from medical_tasks.spec import Scoring, TaskSpec

Chosen = TypeVar("Chosen", int, Literal["single", "batched"])
RECORDED = "recorded/"
_ONE_REPLY = ("lexical", "nli")
_NO_CHANCE = ("0", "0.0")
# Local weights are loaded after the model under test has left the device.
_LOADS_WEIGHTS = ("hf", "nli", "vllm", "vllm-server", "transformers-server")


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """The judge that a user requested, such as `openai-api/my-host/my-model`.

    Attributes:
        name: the model, or `recorded/FILE` for existing verdicts.
        args: the arguments for opening it (`--judge-args`).
        options: votes, evaluations, budget and so on.
        mode: one question per call, or several (`--judging`).
        prompts: own or official.
        calibration: the check that corrects its verdicts, if any.
    """

    name: str = "lexical"
    args: Mapping[str, str] = field(default_factory=dict)
    options: JudgeOptions = field(default_factory=JudgeOptions)
    mode: Any = "single"
    prompts: str = "own"
    calibration: Calibration | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that change verdicts; part of a run folder's settings."""
        return {
            "name": self.name,
            "args": deciding_args(self.name, self.args, neutral=NEUTRAL_JUDGE_ARGS),
            "votes": self.options.votes,
            "mode": self.mode,
            "prompts": self.prompts,
            # Only where it is set, so that the settings of older folders still match.
            **(
                {"reply_tokens": self.options.reply_tokens}
                if self.options.reply_tokens is not None
                else {}
            ),
        }

    @property
    def official(self) -> bool:
        """Whether the judge reads the authors' prompts; an entailment judge reads none."""
        if self.prompts != "official" or self.name.partition("/")[0] in _ONE_REPLY:
            return False
        return self.file is None or RecordedJudge(self.file).reads == "prompt"

    @property
    def file(self) -> Path | None:
        """The file of verdicts, None for a judge that is asked."""
        recorded = self.name.startswith(RECORDED)
        return Path(self.name.removeprefix(RECORDED)) if recorded else None


@contextlib.contextmanager
def open_session_in(
    folder: Callable[[], RunFolder], name: str, **opening: Any
) -> Iterator[JudgeSession]:
    """Opens a judge whose replies are kept in a run's folder, which `folder` makes.

    A forecast asks nothing and leaves no folder behind.
    """
    if opening["options"].forecast:
        with tempfile.TemporaryDirectory() as scratch:
            log_dir = Path(scratch)
            with open_session(
                name, store=log_dir / "none.sqlite", log_dir=log_dir, **opening
            ) as session:
                yield session

        return

    run = folder()
    with (
        locked(run),
        open_session(name, store=run.answers, log_dir=run.logs, **opening) as session,
    ):
        yield session


def opens_early(name: str) -> bool:
    """Whether a judge can be opened before the model under test runs, to report problems early."""
    return name.partition("/")[0] not in _LOADS_WEIGHTS


def default_votes(name: str, args: Mapping[str, str], tasks: Sequence[TaskSpec]) -> int:
    """Returns the default number of votes per verdict: the tasks' own, 1 for a deterministic judge."""
    if name.partition("/")[0] in (*_ONE_REPLY, "recorded"):
        return 1
    if args.get("temperature") in _NO_CHANCE and args.get("varies") != "true":
        return 1

    by_task = {task.name: task.votes for task in tasks if task.judge}
    return _common_value(
        by_task, 1, f"take different numbers of votes from the judge {name}", "--votes"
    )


def default_mode(tasks: Sequence[TaskSpec]) -> Literal["single", "batched"]:
    """Returns the tasks' default way of judging, on which they must agree."""
    by_task = {task.name: task.judging for task in tasks if task.judge}
    return _common_value(by_task, "single", "are judged in different ways", "--judging")


def _common_value(
    by_task: Mapping[str, Chosen], default: Chosen, difference: str, option: str
) -> Chosen:
    """Returns the value that all tasks share, or the default: one judge serves them all."""
    if len(set(by_task.values())) > 1:
        choices = ", ".join(f"{task} {value}" for task, value in by_task.items())
        raise UsageError(
            f"the tasks {difference} ({choices}). Run them one by one, or give {option}."
        )
    return next(iter(by_task.values()), default)


class _UnopenedJudge:
    """Takes the place of a judge before it is opened; implements `judges.base.Judge`."""

    name, comparable = "nobody", True
    reads: Literal["prompt", "pair"] = "prompt"

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        if questions:
            raise RuntimeError(
                f"{len(questions)} questions for a judge that is not open"
            )
        return []


def check_request(request: JudgeRequest, tasks: Sequence[TaskSpec]) -> None:
    """Refuses a bad request before the model under test runs, as far as that needs no open judge."""
    kind = request.name.partition("/")[0]
    if kind == "recorded" and (request.args or request.options.votes > 1):
        unused = [
            *(["--judge-args"] if request.args else []),
            *(["--votes"] if request.options.votes > 1 else []),
        ]
        raise UsageError(
            f"{', '.join(unused)}: {request.name} holds recorded verdicts. Leave it out."
        )

    if request.options.batch:
        check_batch(request.name, "--judge-batch")
        policy.require_no_batch("--judge-batch")

    if kind in (*_ONE_REPLY, "recorded"):
        require_evaluations(request.name, request.options.evaluations, samples=False)
    if kind in _ONE_REPLY:
        require_votes(request.name, request.options.votes, samples=False)

    if kind in ("nli", "hf"):
        find_checkpoint(
            request.name.partition("/")[2], revision=request.args.get("revision")
        )

    for task in tasks:
        if task.judge:
            prompts = _judge_prompts(task, request)
            judging = Judging(
                judge=_UnopenedJudge(), prompts=prompts, mode=request.mode
            )
            task.benchmark.score_items(task, [], [], Scoring(judging=judging))


def _judge_prompts(task: TaskSpec, request: JudgeRequest) -> JudgePrompts:
    check_prompt_set(task, request.prompts)
    return task.benchmark.load_judge_prompts(
        task, request.prompts, request.options.upstream
    )


class _TolerantBackend:
    """Wraps a backend so that unanswered calls stay without a reply instead of ending the run."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name, self.identity, self.endpoint = (
            backend.name,
            backend.identity,
            backend.endpoint,
        )
        self.comparable, self.samples, self.reads = (
            backend.comparable,
            backend.samples,
            backend.reads,
        )
        self.trouble: str | None = None

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        """Asks the backend, and reports a reply or a `NoReply` for every call.

        A backend that was once unreachable is not asked again; the reason is kept.
        """
        answered: set[str] = set()

        def deliver(reply: Reply | NoReply) -> None:
            answered.add(reply.key)
            on_reply(reply)

        try:
            if self.trouble is None:
                self._backend.answer(calls, budget, deliver)
        except MissingError as error:
            self.trouble = str(error)

        for call in calls:
            if call.key not in answered:
                on_reply(NoReply(key=call.key, reason="not reachable"))

    def close(self) -> None:
        self._backend.close()


class RunJudge:
    """The judge that a user requested, opened once and used by every judged task.

    Use it as a context manager, with a store for the replies. A harness, whose threads bring
    their own stores, opens it without one.

    Attributes:
        request: the user's request.
        backend: the file of verdicts, or the open backend.
    """

    _store: Store

    def __init__(
        self, request: JudgeRequest, *, log_dir: Path, store: Path | None = None
    ) -> None:
        """Opens the judge, or its file of verdicts, and checks the request against it.

        Args:
            request: the judge that the user chose.
            log_dir: the folder for the logs of a server that is started.
            store: the file that keeps verdicts; None to keep none.
        """
        self.request = request
        self._path = store
        self._prices = read_prices(request.args, model=request.name, what="judge")
        self._budget = RunBudget(request.options.max_calls, request.options.max_tokens)
        self.backend: RecordedJudge | _TolerantBackend
        # Problems are reported now, before the model under test answers for hours.
        if request.file is not None:
            self.backend = RecordedJudge(request.file)
            return

        votes, evaluations = request.options.votes, request.options.evaluations
        opened = open_judge(
            request.name, request.args, votes=votes * evaluations, log_dir=log_dir
        )
        require_votes(opened.name, votes, samples=opened.samples)
        require_evaluations(opened.name, evaluations, samples=opened.samples)
        policy.require_endpoint(opened.endpoint, "judge")
        if request.options.batch and store is not None:
            ask_in_batches(opened, store.with_name(JOURNAL))
        elif store is not None:
            note_left(store, "judge", VERDICT, option="--judge-batch")

        self.backend = _TolerantBackend(opened)

    def __enter__(self) -> RunJudge:
        if self._path is not None:
            self._store = Store(self._path)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._path is not None:
            self._store.close()
        self.backend.close()

    def check_calibration(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuses a calibration for another judge before anything is asked."""
        for task in tasks:
            if task.judge and self.request.calibration is not None:
                recipe = _recipe(
                    self.request, self.backend, _judge_prompts(task, self.request)
                )
                self.request.calibration.check_judge(recipe, self.backend.identity)

    def batches(self) -> list[dict[str, str | int]]:
        """Returns the batches in which the replies of the run's store came."""
        return [] if self._path is None else batches_of(self._path, "judge", VERDICT)

    def task_judge(self, task: TaskSpec, store: Store | None = None) -> TaskJudge:
        """Opens the judge for one task, on the run's budget and by default the run's store."""
        self.check_calibration([task])
        judge: RecordedJudge | JudgeSession
        if self.request.file is not None:
            judge = RecordedJudge(self.request.file)
        elif isinstance(self.backend, _TolerantBackend):
            judge = JudgeSession(
                self.backend,
                self.request.options,
                store or self._store,
                budget=self._budget,
                label=task.name,
                prices=self._prices,
            )

        return TaskJudge(task, judge, self)


def _recipe(
    request: JudgeRequest,
    judge: RecordedJudge | JudgeSession | _TolerantBackend,
    prompts: JudgePrompts,
) -> dict[str, Any]:
    """Collects the settings of a judge that decide the scores."""
    return {
        **judge.identity,
        "name": judge.name,
        "comparable": judge.comparable,
        "votes": request.options.votes,
        "reasks": request.options.reasks,
        "reply_tokens": request.options.reply_tokens,
        "mode": request.mode,
        "prompts": {"set": prompts.name, "sha256": prompts.sha256},
    }


def run_judge(
    request: JudgeRequest | None, folder: RunFolder
) -> contextlib.AbstractContextManager[RunJudge | None]:
    """Opens the judge of a run, with its replies in the run's folder; None without a request."""
    return (
        contextlib.nullcontext()
        if request is None
        else RunJudge(request, store=folder.answers, log_dir=folder.logs)
    )


class TaskJudge:
    """The judge of one task, and its report afterwards."""

    def __init__(
        self, task: TaskSpec, judge: JudgeSession | RecordedJudge, opened: RunJudge
    ) -> None:
        request = opened.request
        prompts = _judge_prompts(task, request)
        self._task, self._judge, self._opened = task, judge, opened
        self.judging = Judging(judge=judge, prompts=prompts, mode=request.mode)

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings of the judge that decide the scores."""
        return _recipe(self._opened.request, self._judge, self.judging.prompts)

    def by_evaluation(self) -> list[Judging]:
        """Returns the judge of each evaluation, with votes of its own."""
        if not isinstance(self._judge, JudgeSession):
            return [self.judging]
        further = range(1, self._opened.request.options.evaluations)
        return [
            self.judging,
            *(replace(self.judging, judge=self._judge.again(n)) for n in further),
        ]

    @property
    def decided(self) -> Sequence[JsonDict]:
        """Every question so far with its value; rows of later evaluations are marked."""
        return self._judge.rows

    def by_vote(self) -> list[Judging]:
        """Returns the judge reduced to each of its first two votes; empty if it voted once."""
        rows = {
            (row["id"], row["sha256"]): row for row in self._judge.rows if row["votes"]
        }
        if all(len(row["votes"]) == 1 for row in rows.values()):
            return []

        rows_by_vote = [
            [
                {**row, "value": row["votes"][: vote + 1][-1], "unscored": None}
                for row in rows.values()
            ]
            for vote in (0, 1)
        ]
        return [
            replace(self.judging, judge=RecordedJudge(Path("votes"), rows=rows))
            for rows in rows_by_vote
        ]

    def report(self, entry: dict[str, Any], *, private: bool) -> None:
        """Adds the judge's coverage, usage and last check to a task's entry.

        Reasons are reduced to classes for private data.
        """
        stats, options = self._judge.stats, self._opened.request.options
        check_query: dict[str, Any] = {
            "votes": options.votes,
            "mode": self.judging.mode,
            "prompts": self.judging.prompts.name,
            "name": check_set_of(self._task),
        }
        reasons = Counter(
            map(redact_reason if private else str, stats.unscored.elements())
        )
        entry["judge"] = {
            "name": self._judge.name,
            "comparable": self._judge.comparable,
            "votes": options.votes,
            "verdicts": {
                "asked": stats.questions,
                "decided": stats.decided,
                "unscored": dict(sorted(reasons.items())),
            },
            "from_store": stats.from_store,
            "calls": stats.calls,
            "votes_saved": stats.saved,
            "reasked": stats.reasked,
            "check": self._describe_check(check_query),
            "trouble": self._opened.backend.trouble,
        }
        if isinstance(self._judge, JudgeSession):
            entry["judge"] |= {"usage": self._judge.usage}
            if self._judge.adapted:
                entry["recipe"]["judge"] |= {"adapted": self._judge.adapted}

            entry["judge"] |= (
                {"forecast": self._judge.foreseen} if self._judge.foreseen else {}
            )
            batches = self._opened.batches()
            entry["judge"] |= {"batches": batches} if batches else {}

    def _describe_check(self, query: Mapping[str, Any]) -> str:
        if isinstance(self._judge, RecordedJudge):
            return f"judge {self._judge.name}: verdicts from a file; who gave them is for that file to say"
        return describe(
            last_check(self._judge.identity, **query), judge=self._judge.name, **query
        )

    def rows(self, *, private: bool) -> list[dict[str, Any]]:
        """Returns the lines of `verdicts.jsonl`.

        For private data they lack the judge's texts, which may quote the source.
        """
        judge_fields: dict[str, Any] = (
            {} if self._judge.comparable else {"comparable": False}
        )
        if self._judge.reads == "pair":
            judge_fields["reads"] = "pair"

        lines: list[dict[str, Any]] = []
        for row in self._judge.rows:
            line = {"task": self._task.name, **row, **judge_fields}
            if private:
                line.pop("text", None)
                line |= {
                    name: redact_value(line[name])
                    for name in ("value", "votes")
                    if name in line
                }
                if "unscored" in line:
                    line["unscored"] = redact_reason(line["unscored"])

            lines.append(line)

        return lines
