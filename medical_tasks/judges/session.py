"""Opens a judge by name and asks it: votes, re-asks, the store of finished replies and the budget.

Every reply is stored as soon as it arrives, under a hash of everything that determines
it, and is never requested again. Prompts are not stored.
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
# Failures that the same judge with the same settings repeats; an unreadable reply is
# stored, and not requested again.
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
    """Opens a judge for a `with` block.

    With `must_read` it has to read prompts. `role` is its name in messages.
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
    """Opens a judge that reads no prompts, for metrics of existing texts; stores nothing.

    `unread` names what it does not read, for the message.
    """
    if name != "lexical" and not name.startswith("nli/"):
        raise ValueError(
            f"judge must be lexical or nli/FOLDER, which read no {unread}; got {name!r}. Give "
            "verdicts, or use medical-tasks score."
        )

    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
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
    """The advice about questions without a verdict."""
    retry = "Give the same command again to ask for the missing ones."
    lasting = "What cannot be read, or is too long, stays so with this judge; another one, or other --judge-args, may do better."
    if CUT in reasons:
        lasting += (
            " Replies that were cut have room with a larger --judge-reply-tokens."
        )

    if reasons and all(reason.startswith(_RECORDED) for reason in reasons):
        return "The file of verdicts does not hold the missing ones: add them to it, or choose a judge that can be asked."

    lost = [reason.startswith(_LASTING) for reason in reasons]
    return " ".join(
        ([retry] if not all(lost) else []) + ([lasting] if any(lost) else [])
    )


# Arguments that change no verdict, but concurrency, timeouts or prices. A run may
# continue with others.
NEUTRAL_JUDGE_ARGS = NEUTRAL_ARGS | {"n_choices", "varies"}


def judge_kinds() -> dict[str, JudgeKind]:
    """Every kind of judge by name: the project's own, then those of other packages."""
    kinds: dict[str, JudgeKind] = {}
    for plugin, kind in plugins.objects("medical_tasks.judges", JudgeKind):
        if kind.name in kinds:
            plugins.leave_out(plugin, f"there is a kind of judge {kind.name} already")
        else:
            kinds[kind.name] = kind
    return kinds


def open_judge(
    name: str, options: Mapping[str, str], *, votes: int = 1, log_dir: Path
) -> Backend:
    """Opens a judge; sends nothing yet, but checks what it can.

    With several votes the default temperature is 1.
    """
    kinds = judge_kinds()
    word, slash, rest = name.partition("/")
    kind = kinds.get(word)
    if kind is None or kind.alone == bool(slash) or (slash and not rest):
        listed = "\n".join(f"  {kind.summary}" for kind in kinds.values())
        raise UsageError(f"unknown judge {name!r}. A judge is one of:\n{listed}")

    if votes > 1 and kind.samples:
        options = {"temperature": "1", **options}

    return kind.opener(name, options, log_dir)


VERDICT = "verdict"
"""Kind of the store's records, each of which is one reply."""
_STORED = ("text", "label", "finish", "prompt_tokens", "output_tokens")
FORECAST_ONLY = "judge: forecast only"

_Waiting = dict[str, list[tuple[Case, Thread]]]


@dataclass(slots=True)
class SessionStats:
    """Counts of a session so far."""

    questions: int = 0
    decided: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    from_store: int = 0
    replies: int = 0
    calls: int = 0
    saved: int = 0  # votes that early decisions made unnecessary
    reasked: int = 0


def require_evaluations(name: str, evaluations: int, *, samples: bool) -> None:
    """Refuses several evaluations by a judge that gives the same reply each time.

    They could not differ, so that their perfect agreement would be meaningless.
    """
    if evaluations > 1 and not samples:
        raise UsageError(
            f"--evaluations {evaluations}: the judge {name} gives the same reply each time, so that "
            "its evaluations cannot differ. Leave it out, or choose a judge that samples (a chat "
            "judge with a temperature above 0, or varies=true)."
        )


def require_votes(name: str, votes: int, *, samples: bool) -> None:
    """Refuses several votes by a judge that gives the same reply each time."""
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
        """What all questions so far take with an empty store, by `budget.foresee`; only for a judge that reads prompts."""
        self._prices = prices
        self._meter = Meter()
        self._backend = backend
        self._options = options
        self._store = store
        self._label = label
        self._quiet = quiet
        # Keys of replies that were requested, or came from the store: several
        # evaluations may use one.
        self._seen: set[str] = set()
        self._begun = False
        self._rules = Rules(
            identity=self.identity,
            reads=backend.reads,
            votes=options.votes,
            reasks=options.reasks,
        )

    @property
    def usage(self) -> Usage:
        """Usage of the verdicts' replies, including those from the store."""
        return self._meter.usage(self._prices)

    @property
    def adapted(self) -> dict[str, str]:
        """Settings that the judge's server refused, with their replacements."""
        return self._meter.adapted

    def again(self, times: int = 1) -> JudgeSession:
        """Returns the same judge with its next votes, which decide the same questions again.

        Their usage is counted here too.

        Args:
            times: how many sets of votes to skip.

        Example:
            With three votes, `again(2)` decides by the votes 6, 7 and 8.
        """
        other = copy.copy(self)
        first = self._rules.first + times * self._options.votes
        other._rules = replace(self._rules, first=first)

        return other

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        """Decides all questions, in order.

        First come the votes that every question needs, then re-asks, and further votes
        on undecided questions.
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
        all_cases = [*cases, *self._ahead(questions)]
        while waiting := self._read_store(all_cases):
            if not foreseen:
                self._foresee(all_cases)
                foreseen = True

            if self._options.forecast:
                break

            self._send(waiting)

        return [self._finish(case) for case in cases]

    def _ahead(self, questions: Sequence[Question]) -> list[Case]:
        """The same questions in the following evaluations, whose replies are stored until then.

        Asked with the first evaluation, they share its forecast and its batch. This is
        done only for the first questions, since later ones may depend on verdicts.
        """
        if self._begun or not questions or self._rules.first:
            return []

        self._begun = True
        votes = self._options.votes
        rules = [
            replace(self._rules, first=number * votes)
            for number in range(1, self._options.evaluations)
        ]

        return [Case(question, own) for own in rules for question in questions]

    def _read_store(self, cases: Sequence[Case]) -> _Waiting:
        """Advances the cases by stored replies; returns the requests that are not stored."""
        while True:
            waiting: _Waiting = {}
            for case in cases:
                for thread in case.waiting:
                    waiting.setdefault(thread.key, []).append((case, thread))

            stored = self._store.get_many(VERDICT, waiting) if waiting else {}
            if not stored:
                return waiting

            new = stored.keys() - self._seen
            self._seen.update(new)
            if self._options.replayed:  # requested by the parts of this run
                self.stats.calls += sum(stored[key].get("requests", 1) for key in new)
            else:
                self.stats.from_store += len(new)

            self._meter.add(stored)
            for key, record in stored.items():
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
        """Requests the replies that the store lacks, and passes them to their cases.

        If two processes make the same request at once, the first reply is stored and
        both use it, so that their verdicts agree.
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
        self._seen.update(calls)
        outcomes: dict[str, Reply | NoReply] = {}
        label = f"judging {self._label}" if self._label else "judging"
        with Progress(label, len(calls), quiet=self._quiet) as progress:
            last = time.monotonic()

            def on_reply(reply: Reply | NoReply) -> None:
                nonlocal last
                # Concurrent replies share the time.
                before, last = last, time.monotonic()
                outcomes[reply.key] = reply
                self._book(reply, last - before)
                progress.step()

            before = self.budget.calls
            try:
                self._backend.answer(list(calls.values()), self.budget, on_reply)
            finally:
                # Some requests end without an outcome of their own: a refused key
                # cancels all.
                reported = sum(reply.attempts for reply in outcomes.values())
                self.stats.calls += max(reported, self.budget.calls - before)

        # The stored replies, not those of this process: another one may have been
        # first.
        stored = self._store.get_many(
            VERDICT, [key for key in outcomes if isinstance(outcomes[key], Reply)]
        )
        self._meter.add(stored)
        for key, pairs in waiting.items():
            outcome = outcomes[key]
            for case, thread in pairs:
                if isinstance(outcome, NoReply):
                    case.fail(thread, outcome.reason)
                else:
                    case.hear(thread, stored[key])

    def _book(self, reply: Reply | NoReply, seconds: float) -> None:
        """Stores a reply and its usage, but no failure, so that it is requested again."""
        if isinstance(reply, NoReply):
            return

        # A reply counts no request if it shared another's, or needed none (`lexical`).
        has_request = reply.attempts > 0 or (
            self.reads == "pair" and reply.prompt_tokens is not None
        )
        record = {name: getattr(reply, name) for name in _STORED} | {
            **reply_metadata(reply),
            "requests": int(has_request),
            "seconds": round(seconds, 6),
        }
        self._store.put(VERDICT, reply.key, record, first=True)
        self.stats.replies += 1

    def _finish(self, case: Case) -> Verdict | Unscored:
        """Counts the outcome of a case, and adds it to the session's rows."""
        outcome = case.outcome or Unscored(
            id=case.question.id, reason=FORECAST_ONLY, sha256=case.sha256
        )
        stats = self.stats
        stats.questions += 1
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
            votes = [
                thread.value[0] for thread in case.threads if thread.value is not None
            ]
            row |= {"unscored": outcome.reason, "votes": votes}

        self.rows.append(row)
        return outcome
