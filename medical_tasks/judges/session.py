"""A judge by its name, opened and asked: votes, re-asks, the store of finished replies and the budget.

Every reply is stored the moment it arrives, under a hash of what decides it, and is
never asked for again; no prompt is stored.
"""

from __future__ import annotations

import contextlib
import copy
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import medical_tasks.plugins as plugins
from medical_tasks.errors import UsageError, check_least
from medical_tasks.guard import policy
from medical_tasks.io.progress import Progress
from medical_tasks.io.store import Store
from medical_tasks.judges.base import (
    Backend,
    Call,
    JudgeKind,
    JudgeOptions,
    NoReply,
    Question,
    Reply,
    Unscored,
    Verdict,
    ask_in_batches,
)
from medical_tasks.judges.budget import forecast, foresee
from medical_tasks.judges.case import CUT, NO_PAIR, UNREADABLE, Case, Rules, Thread
from medical_tasks.models.batch_journal import JOURNAL
from medical_tasks.models.budget import RunBudget
from medical_tasks.models.opener import NEUTRAL_ARGS, read_prices
from medical_tasks.models.usage import Meter, Prices, Usage, reply_metadata

_RECORDED = ("judge: not in the recorded verdicts", "judge: recorded ")
# What the same judge with the same settings does the same way again; an unreadable
# reply is kept, and not asked for anew.
_LASTING = (
    UNREADABLE,
    CUT,
    NO_PAIR,
    "judge: prompt too long",
    "judge: cannot tell",
    "judge: entails and contradicts",
    *_RECORDED,
)


@contextlib.contextmanager
def open_session(
    name: str,
    args: Mapping[str, str],
    options: JudgeOptions,
    *,
    store: Path,
    log_dir: Path,
    label: str = "",
    must_read: bool = False,
    quiet: bool = False,
    role: str = "judge",
) -> Iterator[JudgeSession]:
    """Opens a judge for the length of a `with` block; with `must_read` it has to read prompts.

    `role`: as messages name it.
    """
    prices = read_prices(args, model=name, what=role)
    backend = open_judge(name, args, votes=options.votes, log_dir=log_dir)
    try:
        if must_read and backend.reads != "prompt":
            raise UsageError(
                f"the {role} {name} compares two texts and reads no instructions. Choose one that "
                "does: openai-api/HOST/NAME, vllm-server/NAME, hf/PATH or inspect/PROVIDER/NAME."
            )

        # before anything is left on disk
        policy.require_endpoint(backend.endpoint, role)
        if options.batch:
            ask_in_batches(backend, store.with_name(JOURNAL))

        with Store(store) as opened:
            yield JudgeSession(
                backend, options, opened, label=label, quiet=quiet, prices=prices
            )
    finally:
        backend.close()


@contextlib.contextmanager
def open_offline(name: str, *, unread: str) -> Iterator[JudgeSession]:
    """Opens a judge that reads no prompts, for metrics of texts at hand; nothing of it is kept.

    `unread`: what it is not shown.
    """
    if name != "lexical" and not name.startswith("nli/"):
        raise ValueError(
            f"judge must be lexical or nli/FOLDER, which read no {unread}; got {name!r}. Give "
            "verdicts, or use medical-tasks score."
        )

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with open_session(
            name,
            {},
            JudgeOptions(),
            store=folder / "judge.sqlite",
            log_dir=folder,
            quiet=True,
        ) as session:
            yield session


def next_step(reasons: Collection[str]) -> str:
    """Says what can be done about questions without a verdict."""
    again = "Give the same command again to ask for the missing ones."
    lasting = "What cannot be read, or is too long, stays so with this judge; another one, or other --judge-args, may do better."
    if CUT in reasons:
        lasting += (
            " Replies that were cut have room with a larger --judge-reply-tokens."
        )

    if reasons and all(reason.startswith(_RECORDED) for reason in reasons):
        return "The file of verdicts does not hold the missing ones: add them to it, or choose a judge that can be asked."

    lost = [reason.startswith(_LASTING) for reason in reasons]
    return " ".join(
        ([again] if not all(lost) else []) + ([lasting] if any(lost) else [])
    )


# What changes no verdict: how much is asked at once, for how long, what it costs. A run
# may go on with others.
NEUTRAL_JUDGE_ARGS = NEUTRAL_ARGS | {"n_choices", "varies"}


def judge_kinds() -> dict[str, JudgeKind]:
    """Every kind of judge by name: the project's own, then those of other packages."""
    known: dict[str, JudgeKind] = {}
    for plugin, kind in plugins.objects("medical_tasks.judges", JudgeKind):
        if kind.name in known:
            plugins.leave_out(plugin, f"there is a kind of judge {kind.name} already")
        else:
            known[kind.name] = kind
    return known


def open_judge(
    name: str, options: Mapping[str, str], *, votes: int = 1, log_dir: Path
) -> Backend:
    """Opens a judge. Nothing is sent yet, but what can be checked is.

    With several votes the default temperature is 1.
    """
    known = judge_kinds()
    word, slash, rest = name.partition("/")
    kind = known.get(word)
    if kind is None or kind.alone == bool(slash) or (slash and not rest):
        kinds = "\n".join(f"  {each.summary}" for each in known.values())
        raise UsageError(f"unknown judge {name!r}. A judge is one of:\n{kinds}")

    if votes > 1 and kind.samples:
        options = {"temperature": "1", **options}

    return kind.opener(name, options, log_dir)


VERDICT = "verdict"
"""Kind of the store's records: one reply each."""
_KEPT = ("text", "label", "finish", "prompt_tokens", "output_tokens")
FORECAST_ONLY = "judge: forecast only"

_Waiting = dict[str, list[tuple[Case, Thread]]]


@dataclass(slots=True)
class SessionStats:
    """What a session did so far."""

    asked: int = 0
    decided: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    from_store: int = 0
    replies: int = 0
    calls: int = 0
    # votes that decided questions did not need, against asking all of them
    saved: int = 0
    reasked: int = 0


def require_evaluations(name: str, evaluations: int, *, samples: bool) -> None:
    """Refuses several evaluations by a judge that gives the same reply each time.

    They could not differ, so that their agreement would be perfect and say nothing.
    """
    if evaluations > 1 and not samples:
        raise UsageError(
            f"--evaluations {evaluations}: the judge {name} gives the same reply each time, so that "
            "its evaluations cannot differ. Leave it out, or choose a judge that samples (a chat "
            "judge with a temperature above 0, or varies=true)."
        )


def require_votes(name: str, votes: int, *, samples: bool) -> None:
    """Refuses several votes of a judge that gives the same reply each time."""
    if votes > 1 and not samples:
        raise UsageError(
            f"the judge {name} gives the same reply each time, so that votes must be 1, got "
            f"{votes}. Leave --votes out, or choose a judge that samples (a chat judge with a "
            "temperature above 0)."
        )


class JudgeSession:
    """A judge as benchmarks see it; implements `judges.base.Judge`. Use from one thread.

    Several sessions may share a budget.
    """

    def __init__(
        self,
        backend: Backend,
        options: JudgeOptions,
        store: Store,
        *,
        budget: RunBudget | None = None,
        label: str = "",
        quiet: bool = False,
        prices: Prices | None = None,
    ) -> None:
        check_least({"votes of a judge": options.votes})
        check_least({"evaluations by a judge": options.evaluations})
        check_least({"reasks of a judge": options.reasks}, 0)
        require_votes(backend.name, options.votes, samples=backend.samples)
        require_evaluations(backend.name, options.evaluations, samples=backend.samples)
        self.name = backend.name
        self.comparable = backend.comparable
        self.reads = backend.reads
        self.identity = dict(backend.identity)
        self.budget = budget or RunBudget(options.max_calls, options.max_tokens)
        self.stats = SessionStats()
        self.rows: list[dict[str, Any]] = []
        """Every question asked so far, in order: `id`, `value` or `unscored` (the reason), `votes`, `text`, `sha256`."""
        self.foreseen: dict[str, list[int]] = {}
        """By `budget.foresee`, what all questions so far take with nothing in the store; of a judge that reads prompts."""
        self._prices = prices
        self._meter = Meter()
        self._backend = backend
        self._options = options
        self._store = store
        self._label = label
        self._quiet = quiet
        # Keys of replies that were asked for, or found in the store: several
        # evaluations may take one.
        self._known: set[str] = set()
        self._begun = False
        self._rules = Rules(
            identity=self.identity,
            reads=backend.reads,
            votes=options.votes,
            reasks=options.reasks,
        )

    @property
    def usage(self) -> Usage:
        """What the replies behind the verdicts took, those of the store included."""
        return self._meter.usage(self._prices)

    @property
    def adapted(self) -> dict[str, str]:
        """Settings that the judge's server refused, and what was sent instead."""
        return self._meter.adapted

    def again(self, times: int = 1) -> JudgeSession:
        """The same judge with its next votes, which answer the same questions anew.

        What they take is counted here too.

        Args:
            times: how many sets of votes further on.

        Example:
            With three votes, `again(2)` decides by the votes 6, 7 and 8.
        """
        other = copy.copy(self)
        first = self._rules.first + times * self._options.votes
        other._rules = replace(self._rules, first=first)

        return other

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Decides all questions, in order.

        The votes that all need at least, then re-asks, and further votes where it is
        open.
        """
        longest = self._options.reply_tokens
        if longest is not None:
            questions = [
                replace(question, max_tokens=longest) for question in questions
            ]

        cases = [Case(question, self._rules) for question in questions]
        if len({question.id for question in questions}) < len(questions):
            raise ValueError("two questions of one `ask` have the same id")

        for name, (least, most) in (
            foresee(cases).items() if self.reads == "prompt" else ()
        ):
            before = self.foreseen.get(name, (0, 0))
            self.foreseen[name] = [before[0] + least, before[1] + most]

        foreseen = False
        asked = [*cases, *self._ahead(questions)]
        while waiting := self._read_store(asked):
            if not foreseen:
                self._foresee(asked)
                foreseen = True

            if self._options.forecast:
                break

            self._send(waiting)

        return [self._finish(case) for case in cases]

    def _ahead(self, questions: Sequence[Question]) -> list[Case]:
        """The same questions in the evaluations to come, whose replies wait in the store.

        Asked together with the first evaluation they share its forecast and its batch.
        Only the first questions are the same in each: what is asked next may depend on
        what was said.
        """
        if self._begun or not questions or self._rules.first:
            return []

        self._begun = True
        votes = self._options.votes
        rules = [
            replace(self._rules, first=number * votes)
            for number in range(1, self._options.evaluations)
        ]

        return [Case(question, each) for each in rules for question in questions]

    def _read_store(self, cases: Sequence[Case]) -> _Waiting:
        """Advances the cases by stored replies; returns the requests that are not stored."""
        while True:
            waiting: _Waiting = {}
            for case in cases:
                for thread in case.waiting:
                    waiting.setdefault(thread.key, []).append((case, thread))

            found = self._store.get_many(VERDICT, waiting) if waiting else {}
            if not found:
                return waiting

            new = found.keys() - self._known
            self._known.update(new)
            if self._options.replayed:  # they are this run's, made in its parts
                self.stats.calls += sum(found[key].get("requests", 1) for key in new)
            else:
                self.stats.from_store += len(new)

            self._meter.add(found)
            for key, record in found.items():
                for case, thread in waiting[key]:
                    case.hear(thread, record)

    def _foresee(self, cases: Sequence[Case]) -> None:
        if self._options.forecast or (
            self._backend.endpoint is not None and not self._quiet
        ):
            line = forecast(
                cases, judge=self.name, label=self._label, prices=self._prices
            )
            print(line, file=sys.stderr, flush=True)

    def _send(self, waiting: _Waiting) -> None:
        """Asks for the replies that the store lacks, and gives them to their cases.

        Of two processes that ask the same at once the first reply is kept, and both go
        by it, so that their verdicts agree.
        """
        calls = {
            key: Call(
                key=key,
                question=case.question,
                messages=thread.messages,
                vote=thread.vote,
            )
            for key, ((case, thread), *_) in waiting.items()
        }
        self._known.update(calls)
        outcomes: dict[str, Reply | NoReply] = {}
        label = f"judging {self._label}" if self._label else "judging"
        with Progress(label, len(calls), quiet=self._quiet) as progress:
            last = time.monotonic()

            def on_reply(reply: Reply | NoReply) -> None:
                nonlocal last
                # Replies that are made side by side share the time.
                before, last = last, time.monotonic()
                outcomes[reply.key] = reply
                self._book(reply, last - before)
                progress.step()

            before = self.budget.calls
            try:
                self._backend.answer(list(calls.values()), self.budget, on_reply)
            finally:
                # Some requests end without an outcome of their own: all are given up
                # when a key is refused.
                told = sum(reply.attempts for reply in outcomes.values())
                self.stats.calls += max(told, self.budget.calls - before)

        # What was kept, and not what was heard: where another process was first, both
        # go by its reply.
        kept = self._store.get_many(
            VERDICT, [key for key in outcomes if isinstance(outcomes[key], Reply)]
        )
        self._meter.add(kept)
        for key, pairs in waiting.items():
            outcome = outcomes[key]
            for case, thread in pairs:
                if isinstance(outcome, NoReply):
                    case.fail(thread, outcome.reason)
                else:
                    case.hear(thread, kept[key])

    def _book(self, reply: Reply | NoReply, seconds: float) -> None:
        """Keeps a reply and what it took; a failure is not kept, to be asked again."""
        if isinstance(reply, NoReply):
            return

        # None where another reply came with the same request, or nothing was asked
        # (`lexical`).
        asked = reply.attempts > 0 or (
            self.reads == "pair" and reply.prompt_tokens is not None
        )
        record = {name: getattr(reply, name) for name in _KEPT} | {
            **reply_metadata(reply),
            "requests": int(asked),
            "seconds": round(seconds, 6),
        }
        self._store.put(VERDICT, reply.key, record, first=True)
        self.stats.replies += 1

    def _finish(self, case: Case) -> Verdict | Unscored:
        """The outcome of a case, counted, and noted as a row of the session."""
        outcome = case.outcome or Unscored(
            id=case.question.id, reason=FORECAST_ONLY, sha256=case.sha256
        )
        stats = self.stats
        stats.asked += 1
        stats.reasked += case.reasked
        row: dict[str, Any] = {
            "id": outcome.id,
            "text": case.text,
            "sha256": outcome.sha256,
        }
        if isinstance(outcome, Verdict):
            stats.decided += 1
            stats.saved += case.votes - len(case.threads)
            row |= {"value": outcome.value, "votes": list(outcome.votes)}
        else:
            stats.unscored[outcome.reason] += 1
            known = [
                thread.value[0] for thread in case.threads if thread.value is not None
            ]
            row |= {"unscored": outcome.reason, "votes": known}

        self.rows.append(row)
        return outcome
