"""The judge of a run: opened once, asked by every judged task, and reported beside each of their scores.

One that cannot be reached leaves questions without a verdict and never ends a run; the
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
# Local weights are loaded when the model under test has left the device.
_LOADS_WEIGHTS = ("hf", "nli", "vllm", "vllm-server", "transformers-server")


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """The judge a user asked for, such as `openai-api/my-host/my-model`.

    `recorded/FILE` for verdicts that are there already.

    Attributes:
        name: the model, or the file of verdicts.
        args: how it is opened (`--judge-args`).
        options: votes, evaluations, budget and the like.
        mode: one question a call, or several (`--judging`).
        prompts: own or official.
        calibration: the check by which its verdicts are corrected, if any.
    """

    name: str = "lexical"
    args: Mapping[str, str] = field(default_factory=dict)
    options: JudgeOptions = field(default_factory=JudgeOptions)
    mode: Any = "single"
    prompts: str = "own"
    calibration: Calibration | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What of the request changes verdicts; part of a run folder's settings."""
        return {
            "name": self.name,
            "args": deciding_args(self.name, self.args, neutral=NEUTRAL_JUDGE_ARGS),
            "votes": self.options.votes,
            "mode": self.mode,
            "prompts": self.prompts,
            # Only where it is set, so that folders made without it stay what they were.
            **(
                {"reply_tokens": self.options.reply_tokens}
                if self.options.reply_tokens is not None
                else {}
            ),
        }

    @property
    def official(self) -> bool:
        """Whether a judge is asked with the authors' prompts; one of entailment reads none."""
        if self.prompts != "official" or self.name.partition("/")[0] in _ONE_REPLY:
            return False
        return self.file is None or RecordedJudge(self.file).reads == "prompt"

    @property
    def file(self) -> Path | None:
        """The file of verdicts, None where a judge is asked."""
        recorded = self.name.startswith(RECORDED)
        return Path(self.name.removeprefix(RECORDED)) if recorded else None


@contextlib.contextmanager
def open_session_in(
    folder: Callable[[], RunFolder], name: str, **opening: Any
) -> Iterator[JudgeSession]:
    """Opens a judge whose replies a run's folder keeps, made only now.

    A forecast asks and leaves nothing.
    """
    if opening["options"].forecast:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            with open_session(
                name, store=place / "none.sqlite", log_dir=place, **opening
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
    """Says whether a judge can be opened before the model under test runs, so that what it lacks is told at once."""
    return name.partition("/")[0] not in _LOADS_WEIGHTS


def default_votes(name: str, args: Mapping[str, str], tasks: Sequence[TaskSpec]) -> int:
    """How many votes a verdict takes by default: the tasks' own number.

    1 for a judge that says the same each time.
    """
    if name.partition("/")[0] in (*_ONE_REPLY, "recorded"):
        return 1
    if args.get("temperature") in _NO_CHANCE and args.get("varies") != "true":
        return 1

    own = {task.name: task.votes for task in tasks if task.judge}
    return _agreed(
        own, 1, f"take different numbers of votes from the judge {name}", "--votes"
    )


def default_mode(tasks: Sequence[TaskSpec]) -> Literal["single", "batched"]:
    """How judged tasks are judged when nobody says; they must agree."""
    own = {task.name: task.judging for task in tasks if task.judge}
    return _agreed(own, "single", "are judged in different ways", "--judging")


def _agreed(
    own: Mapping[str, Chosen], default: Chosen, differ: str, option: str
) -> Chosen:
    """What all tasks take, or the default; one judge serves all, so they must agree."""
    if len(set(own.values())) > 1:
        said = ", ".join(f"{task} {each}" for task, each in own.items())
        raise UsageError(
            f"the tasks {differ} ({said}). Run them one by one, or give {option}."
        )
    return next(iter(own.values()), default)


class _Nobody:
    """Stands for a judge before it is opened, and is asked nothing.

    Implements `judges.base.Judge`.
    """

    name, comparable = "nobody", True
    reads: Literal["prompt", "pair"] = "prompt"

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        if questions:
            raise RuntimeError(
                f"{len(questions)} questions were put to a judge that is not there"
            )
        return []


def check_request(request: JudgeRequest, tasks: Sequence[TaskSpec]) -> None:
    """Says what is wrong with a request before the model under test answers for hours, as far as no judge is needed for it."""
    kind = request.name.partition("/")[0]
    if kind == "recorded" and (request.args or request.options.votes > 1):
        unused = [
            *(["--judge-args"] if request.args else []),
            *(["--votes"] if request.options.votes > 1 else []),
        ]
        raise UsageError(
            f"{', '.join(unused)}: {request.name} holds verdicts that were given. Leave it out."
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
            judging = Judging(judge=_Nobody(), prompts=prompts, mode=request.mode)
            task.benchmark.score_items(task, [], [], Scoring(judging=judging))


def _judge_prompts(task: TaskSpec, request: JudgeRequest) -> JudgePrompts:
    check_prompt_set(task, request.prompts)
    return task.benchmark.load_judge_prompts(
        task, request.prompts, request.options.upstream
    )


class _Patient:
    """A backend that leaves calls without a reply when nobody answers them, instead of ending the run."""

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
        """Asks the backend, and gives every call a reply or a `NoReply`.

        Once it cannot be reached nothing is asked of it again, and the reason is kept.
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
    """The judge that a user asked for, opened once and asked by every judged task.

    Use as a context manager, with a store for the replies; what it opens is closed at
    the end. A harness, whose threads bring stores of their own, opens it without one.

    Attributes:
        request: what the user asked for.
        asked: the file of verdicts, or the back end, which is open.
    """

    _store: Store

    def __init__(
        self, request: JudgeRequest, *, log_dir: Path, store: Path | None = None
    ) -> None:
        """Opens the judge, or its file of verdicts, and checks what is wanted of it.

        Args:
            request: the judge that the user chose.
            log_dir: for the logs of a server that is started.
            store: the file that keeps verdicts; None to keep none.
        """
        self.request = request
        self._path = store
        self._prices = read_prices(request.args, model=request.name, what="judge")
        self._budget = RunBudget(request.options.max_calls, request.options.max_tokens)
        self.asked: RecordedJudge | _Patient
        # What is wrong with it is said now, before the model under test answers for
        # hours.
        if request.file is not None:
            self.asked = RecordedJudge(request.file)
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

        self.asked = _Patient(opened)

    def __enter__(self) -> RunJudge:
        if self._path is not None:
            self._store = Store(self._path)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._path is not None:
            self._store.close()
        self.asked.close()

    def check_calibration(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuses a calibration of another judge before anything is asked of one."""
        for task in tasks:
            if task.judge and self.request.calibration is not None:
                recipe = _recipe(
                    self.request, self.asked, _judge_prompts(task, self.request)
                )
                self.request.calibration.check_judge(recipe, self.asked.identity)

    def batches(self) -> list[dict[str, str | int]]:
        """The batches that replies of the run's store came in."""
        return [] if self._path is None else batches_of(self._path, "judge", VERDICT)

    def task_judge(self, task: TaskSpec, store: Store | None = None) -> TaskJudge:
        """Opens the judge for one task.

        Its own questions, on the run's budget and a store, the run's by default.
        """
        self.check_calibration([task])
        judge: RecordedJudge | JudgeSession
        if self.request.file is not None:
            judge = RecordedJudge(self.request.file)
        elif isinstance(self.asked, _Patient):
            judge = JudgeSession(
                self.asked,
                self.request.options,
                store or self._store,
                budget=self._budget,
                label=task.name,
                prices=self._prices,
            )

        return TaskJudge(task, judge, self)


def _recipe(
    request: JudgeRequest,
    judge: RecordedJudge | JudgeSession | _Patient,
    prompts: JudgePrompts,
) -> dict[str, Any]:
    """What of a judge decides the scores."""
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
    """The judge of a run, which keeps its replies in the run's folder.

    None where no task needs one.
    """
    return (
        contextlib.nullcontext()
        if request is None
        else RunJudge(request, store=folder.answers, log_dir=folder.logs)
    )


class TaskJudge:
    """The judge of one task, and what there is to say of it afterwards."""

    def __init__(
        self, task: TaskSpec, judge: JudgeSession | RecordedJudge, opened: RunJudge
    ) -> None:
        request = opened.request
        prompts = _judge_prompts(task, request)
        self._task, self._judge, self._opened = task, judge, opened
        self.judging = Judging(judge=judge, prompts=prompts, mode=request.mode)

    @property
    def recipe(self) -> dict[str, Any]:
        """What of the judge decides the scores."""
        return _recipe(self._opened.request, self._judge, self.judging.prompts)

    def by_evaluation(self) -> list[Judging]:
        """The judge in each evaluation, with votes of its own; one where it decides once."""
        if not isinstance(self._judge, JudgeSession):
            return [self.judging]
        further = range(1, self._opened.request.options.evaluations)
        return [
            self.judging,
            *(replace(self.judging, judge=self._judge.again(n)) for n in further),
        ]

    @property
    def decided(self) -> Sequence[JsonDict]:
        """Every question so far, with its value; those of later evaluations are marked."""
        return self._judge.rows

    def by_vote(self) -> list[Judging]:
        """The judge as its first two votes on each question have it.

        None where it had one vote each.
        """
        rows = {
            (row["id"], row["sha256"]): row for row in self._judge.rows if row["votes"]
        }
        if all(len(row["votes"]) == 1 for row in rows.values()):
            return []

        said = [
            [
                {**row, "value": row["votes"][: vote + 1][-1], "unscored": None}
                for row in rows.values()
            ]
            for vote in (0, 1)
        ]
        return [
            replace(self.judging, judge=RecordedJudge(Path("votes"), rows=each))
            for each in said
        ]

    def report(self, entry: dict[str, Any], *, private: bool) -> None:
        """Adds how far the judge got, what it took, and its last check.

        Reasons are reduced to classes for private data.
        """
        stats, options = self._judge.stats, self._opened.request.options
        asked: dict[str, Any] = {
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
            "check": self._said(asked),
            "trouble": self._opened.asked.trouble,
        }
        if isinstance(self._judge, JudgeSession):
            entry["judge"] |= {"usage": self._judge.usage}
            if self._judge.adapted:
                entry["recipe"]["judge"] |= {"adapted": self._judge.adapted}

            entry["judge"] |= (
                {"forecast": self._judge.foreseen} if self._judge.foreseen else {}
            )
            made = self._opened.batches()
            entry["judge"] |= {"batches": made} if made else {}

    def _said(self, asked: Mapping[str, Any]) -> str:
        if isinstance(self._judge, RecordedJudge):
            return f"judge {self._judge.name}: verdicts from a file; who gave them is for that file to say"
        return describe(
            last_check(self._judge.identity, **asked), judge=self._judge.name, **asked
        )

    def rows(self, *, private: bool) -> list[dict[str, Any]]:
        """The lines of `verdicts.jsonl`.

        Of private data without the judge's texts, which may quote the source.
        """
        about: dict[str, Any] = {} if self._judge.comparable else {"comparable": False}
        if self._judge.reads == "pair":
            about["reads"] = "pair"

        made: list[dict[str, Any]] = []
        for row in self._judge.rows:
            line = {"task": self._task.name, **row, **about}
            if private:
                line.pop("text", None)
                line |= {
                    name: redact_value(line[name])
                    for name in ("value", "votes")
                    if name in line
                }
                if "unscored" in line:
                    line["unscored"] = redact_reason(line["unscored"])

            made.append(line)

        return made
