"""The judge of a run: opened once, asked by every judged task, and reported beside each of their scores.

One that cannot be reached leaves questions without a verdict and never ends a run; the same command asks for the rest.
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
)
from medical_tasks.judges.budget import RunBudget
from medical_tasks.judges.checks import check_set_of, describe, last_check
from medical_tasks.judges.recorded import RecordedJudge
from medical_tasks.judges.session import (
    NEUTRAL_JUDGE_ARGS,
    JudgeSession,
    open_judge,
    open_session,
    require_votes,
)
from medical_tasks.models.checkpoint import find_checkpoint
from medical_tasks.models.opener import deciding_args, read_prices
from medical_tasks.runs.calibrating import Calibration
from medical_tasks.runs.folder import RunFolder, locked
from medical_tasks.spec import Scoring, TaskSpec

Chosen = TypeVar("Chosen", int, Literal["single", "batched"])
RECORDED = "recorded/"
_ONE_REPLY = ("lexical", "nli")
_NO_CHANCE = ("0", "0.0")
# Local weights are loaded when the model under test has left the device.
_LOADS_WEIGHTS = ("hf", "nli", "vllm", "vllm-server", "transformers-server")


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """The judge a user asked for, such as `openai-api/my-host/my-model`; `recorded/FILE` for verdicts that are there already."""

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
        if not self.name.startswith(RECORDED):
            return True
        return RecordedJudge(Path(self.name.removeprefix(RECORDED))).reads == "prompt"


@contextlib.contextmanager
def open_session_in(
    folder: Callable[[], RunFolder], name: str, **opening: Any
) -> Iterator[JudgeSession]:
    """Opens a judge whose replies a run's folder keeps, made only now; a forecast asks and leaves nothing."""
    if opening["options"].forecast:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            with open_session(
                name, store=place / "none.sqlite", log_dir=place, **opening
            ) as session:
                yield session
        return
    run = folder()
    with locked(run), open_session(name, store=run.answers, log_dir=run.logs, **opening) as session:
        yield session


def opens_early(name: str) -> bool:
    """Says whether a judge can be opened before the model under test runs, so that what it lacks is told at once."""
    return name.partition("/")[0] not in _LOADS_WEIGHTS


def default_votes(name: str, args: Mapping[str, str], tasks: Sequence[TaskSpec]) -> int:
    """How many votes a verdict takes by default: the tasks' own number; 1 for a judge that says the same each time."""
    if name.partition("/")[0] in (*_ONE_REPLY, "recorded"):
        return 1
    if args.get("temperature") in _NO_CHANCE and args.get("varies") != "true":
        return 1
    own = {task.name: task.votes for task in tasks if task.judge}
    return _agreed(own, 1, f"take different numbers of votes from the judge {name}", "--votes")


def default_mode(tasks: Sequence[TaskSpec]) -> Literal["single", "batched"]:
    """How judged tasks are judged when nobody says; they must agree."""
    own = {task.name: task.judging for task in tasks if task.judge}
    return _agreed(own, "single", "are judged in different ways", "--judging")


def _agreed(own: Mapping[str, Chosen], default: Chosen, differ: str, option: str) -> Chosen:
    if len(set(own.values())) > 1:
        said = ", ".join(f"{task} {each}" for task, each in own.items())
        raise UsageError(f"the tasks {differ} ({said}). Run them one by one, or give {option}.")
    return next(iter(own.values()), default)


class _Nobody:
    """Stands for a judge before it is opened, and is asked nothing. Implements `judges.base.Judge`."""

    name, comparable = "nobody", True
    reads: Literal["prompt", "pair"] = "prompt"

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        if questions:
            raise RuntimeError(f"{len(questions)} questions were put to a judge that is not there")
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
    if kind in _ONE_REPLY:
        require_votes(request.name, request.options.votes, samples=False)
    if kind in ("nli", "hf"):
        find_checkpoint(request.name.partition("/")[2], revision=request.args.get("revision"))
    for task in tasks:
        if task.judge:
            prompts = _judge_prompts(task, request)
            judging = Judging(judge=_Nobody(), prompts=prompts, mode=request.mode)
            task.benchmark.score_items(task, [], [], Scoring(judging=judging))


def _judge_prompts(task: TaskSpec, request: JudgeRequest) -> JudgePrompts:
    check_prompt_set(task, request.prompts)
    return task.benchmark.load_judge_prompts(task, request.prompts, request.options.upstream)


class _Patient:
    """A backend that leaves calls without a reply when nobody answers them, instead of ending the run."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name, self.identity, self.endpoint = backend.name, backend.identity, backend.endpoint
        self.comparable, self.samples, self.reads = (
            backend.comparable,
            backend.samples,
            backend.reads,
        )
        self.trouble: str | None = None

    def answer(self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply) -> None:
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


class OpenJudge:
    """A judge whose backend is open: asked by sessions, which bring the store."""

    def __init__(self, request: JudgeRequest, *, log_dir: Path) -> None:
        self.request = request
        self._prices = read_prices(request.args, model=request.name, what="judge")
        self._backend: _Patient | None = None
        if request.name.startswith(RECORDED):
            RecordedJudge(
                Path(request.name.removeprefix(RECORDED))
            )  # says at once what is wrong with it
        else:
            opened = open_judge(
                request.name, request.args, votes=request.options.votes, log_dir=log_dir
            )
            self._backend = _Patient(opened)
            require_votes(opened.name, request.options.votes, samples=opened.samples)
            # Before the model under test answers for hours.
            policy.require_endpoint(opened.endpoint, "judge")
        self._budget = RunBudget(request.options.max_calls, request.options.max_tokens)

    @property
    def trouble(self) -> str | None:
        """Why the judge could not be asked, None when it could."""
        return None if self._backend is None else self._backend.trouble

    def forget_trouble(self) -> None:
        """Lets a judge that could not be asked be tried again."""
        if self._backend is not None:
            self._backend.trouble = None

    @property
    def endpoint(self) -> str | None:
        """Where the judge is asked, None in this process."""
        return None if self._backend is None else self._backend.endpoint

    def check_calibration(self, tasks: Sequence[TaskSpec]) -> None:
        """Refuses a calibration of another judge before anything is asked of one."""
        if self.request.calibration is not None:
            for task in (task for task in tasks if task.judge):
                with (
                    tempfile.TemporaryDirectory() as scratch,
                    Store(Path(scratch) / "none.sqlite") as store,
                ):
                    self.session(task, store)

    def session(self, task: TaskSpec, store: Store) -> TaskJudge:
        """Opens a session for one task, on a store and the run's budget."""
        judge: RecordedJudge | JudgeSession
        if self._backend is None:
            judge = RecordedJudge(Path(self.request.name.removeprefix(RECORDED)))
        else:
            how: dict[str, Any] = {
                "budget": self._budget,
                "label": task.name,
                "prices": self._prices,
            }
            judge = JudgeSession(self._backend, self.request.options, store, **how)
        return TaskJudge(task, judge, self)

    def close(self) -> None:
        """Frees what the backend holds."""
        if self._backend is not None:
            self._backend.close()


class RunJudge(OpenJudge):
    """A run's judge and the store of its replies. Use as a context manager; what it opens is closed at the end."""

    _store: Store

    def __init__(self, request: JudgeRequest, *, store: Path, log_dir: Path) -> None:
        super().__init__(request, log_dir=log_dir)
        self._path = store

    def __enter__(self) -> RunJudge:
        self._store = Store(self._path)
        return self

    def __exit__(self, *raised: object) -> None:
        self._store.close()
        self.close()

    def task_judge(self, task: TaskSpec) -> TaskJudge:
        """Opens the judge for one task: a session of its own, on the run's store and budget."""
        return self.session(task, self._store)


def run_judge(
    request: JudgeRequest | None, folder: RunFolder
) -> contextlib.AbstractContextManager[RunJudge | None]:
    """The judge of a run, which keeps its replies in the run's folder; None where no task needs one."""
    return (
        contextlib.nullcontext()
        if request is None
        else RunJudge(request, store=folder.answers, log_dir=folder.logs)
    )


class TaskJudge:
    """The judge of one task, and what there is to say of it afterwards."""

    def __init__(
        self, task: TaskSpec, judge: JudgeSession | RecordedJudge, opened: OpenJudge
    ) -> None:
        request = opened.request
        prompts = _judge_prompts(task, request)
        self._task, self._judge, self._opened = task, judge, opened
        self.judging = Judging(judge=judge, prompts=prompts, mode=request.mode)
        if request.calibration is not None:
            request.calibration.check_judge(self.recipe, judge.identity)

    @property
    def recipe(self) -> dict[str, Any]:
        """What of the judge decides the scores."""
        options = self._opened.request.options
        return {
            **self._judge.identity,
            "name": self._judge.name,
            "comparable": self._judge.comparable,
            "votes": options.votes,
            "reasks": options.reasks,
            "reply_tokens": options.reply_tokens,
            "mode": self.judging.mode,
            "prompts": {"set": self.judging.prompts.name, "sha256": self.judging.prompts.sha256},
        }

    def by_vote(self) -> list[Judging]:
        """The judge as its first two votes on each question have it; none where it had one vote each."""
        rows = {(row["id"], row["sha256"]): row for row in self._judge.rows if row["votes"]}
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
            replace(self.judging, judge=RecordedJudge(Path("votes"), rows=each)) for each in said
        ]

    def report(self, entry: dict[str, Any], *, private: bool) -> None:
        """Adds how far the judge got, what it took, and its last check; reasons are reduced to classes for private data."""
        stats, options = self._judge.stats, self._opened.request.options
        asked: dict[str, Any] = {
            "votes": options.votes,
            "mode": self.judging.mode,
            "prompts": self.judging.prompts.name,
            "name": check_set_of(self._task),
        }
        reasons = Counter(map(redact_reason if private else str, stats.unscored.elements()))
        entry["judge"] = {
            "name": self._judge.name,
            "comparable": self._judge.comparable,
            "votes": options.votes,
            "verdicts": {
                "asked": stats.asked,
                "decided": stats.decided,
                "unscored": dict(sorted(reasons.items())),
            },
            "from_store": stats.from_store,
            "calls": stats.calls,
            "votes_saved": stats.saved,
            "reasked": stats.reasked,
            "check": self._said(asked),
            "trouble": self._opened.trouble,
        }
        if isinstance(self._judge, JudgeSession):
            entry["judge"] |= {"usage": self._judge.usage}
            entry["judge"] |= {"forecast": self._judge.foreseen} if self._judge.foreseen else {}

    def _said(self, asked: Mapping[str, Any]) -> str:
        if isinstance(self._judge, RecordedJudge):
            return f"judge {self._judge.name}: verdicts from a file; who gave them is for that file to say"
        return describe(last_check(self._judge.identity, **asked), judge=self._judge.name, **asked)

    def rows(self, *, private: bool) -> list[dict[str, Any]]:
        """The lines of `verdicts.jsonl`; of private data without the judge's texts, which may quote the source."""
        about: dict[str, Any] = {} if self._judge.comparable else {"comparable": False}
        if self._judge.reads == "pair":
            about["reads"] = "pair"
        made: list[dict[str, Any]] = []
        for row in self._judge.rows:
            line = {"task": self._task.name, **row, **about}
            if private:
                line.pop("text", None)
                line |= {
                    name: redact_value(line[name]) for name in ("value", "votes") if name in line
                }
                if "unscored" in line:
                    line["unscored"] = redact_reason(line["unscored"])
            made.append(line)
        return made
