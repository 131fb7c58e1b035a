"""A judge in this process whose replies are scripted; and one whose verdicts come from a table.

backend = ScriptedBackend(lambda call: '{"verdict": true}')
session = JudgeSession(backend, JudgeOptions(), store)
backend.calls                 # every call it received, in order
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from medical_tasks.io.store import Store
from medical_tasks.judges.base import (
    LABELS,
    Backend,
    Call,
    JudgeOptions,
    NoReply,
    OnReply,
    Pair,
    Question,
    Reply,
    Unscored,
    Verdict,
)
from medical_tasks.judges.base import Unreadable as Unreadable
from medical_tasks.judges.session import JudgeSession
from medical_tasks.models.budget import Amount, RunBudget, estimate_chat

Script = Callable[[Call], str | Reply | NoReply | BaseException]


class ScriptedBackend:
    """Implements `judges.base.Backend`.

    Args:
        script: from call to the text of the reply (a label for a judge that reads
            pairs), to a `Reply` or `NoReply` (whose key does not matter), or to an
            error, which is raised at that call.
    """

    comparable = True

    def __init__(
        self,
        script: Script,
        *,
        reads: Literal["prompt", "pair"] = "prompt",
        samples: bool = True,
        endpoint: str | None = None,
        name: str = "scripted/judge",
        version: str = "1",
        order: Callable[[Sequence[Call]], Iterable[Call]] = lambda calls: calls,
    ) -> None:
        self.name = name
        self.identity: Mapping[str, str] = {"backend": "scripted", "version": version}
        self.endpoint = endpoint
        self.samples = samples
        self.reads: Literal["prompt", "pair"] = reads
        self.calls: list[Call] = []
        self.rounds: list[int] = []
        self._script = script
        self._order = order

    def answer(
        self, calls: Sequence[Call], budget: RunBudget, on_reply: OnReply
    ) -> None:
        self.rounds.append(len(calls))
        for call in self._order(calls):
            prompt = estimate_chat(call.messages)
            most = Amount(prompt, call.question.max_tokens)
            if not budget.admit(most):
                on_reply(NoReply(key=call.key, reason="budget spent"))
                continue
            self.calls.append(call)
            scripted = self._script(call)
            if isinstance(scripted, BaseException):
                raise scripted
            budget.settle(most, Amount(prompt, 10))
            on_reply(self._outcome(call, scripted))

    def _outcome(self, call: Call, scripted: str | Reply | NoReply) -> Reply | NoReply:
        if isinstance(scripted, str) and self.reads == "pair":
            return Reply(key=call.key, label=LABELS[LABELS.index(scripted)])
        if isinstance(scripted, str):
            return Reply(
                key=call.key,
                text=scripted,
                prompt_tokens=estimate_chat(call.messages),
                output_tokens=10,
            )
        return replace(scripted, key=call.key)

    def close(self) -> None:
        pass


class TableJudge:
    """Implements `judges.base.Judge` with the verdicts of a table, or of a function of the question.

    Args:
        verdicts: from question id to value; a question that is missing is unscored. Or
            a function, for which None means unscored.
    """

    name = "table/judge"
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(
        self,
        verdicts: Mapping[str, Any] | Callable[[Question], Any],
        *,
        comparable: bool = True,
    ) -> None:
        self.comparable = comparable
        self.asked: list[Question] = []
        self._value_of = (
            verdicts
            if callable(verdicts)
            else lambda question: verdicts.get(question.id)
        )

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        self.asked.extend(questions)
        outcomes: list[Verdict | Unscored] = []
        for item in questions:
            value = self._value_of(item)
            if value is None:
                outcomes.append(Unscored(id=item.id, reason="judge: http 500"))
            else:
                outcomes.append(
                    Verdict(
                        id=item.id, value=value, votes=(value,), text=f"I say {value}."
                    )
                )
        return outcomes


def session(judge: Backend, store: Store, **options: Any) -> JudgeSession:
    """Opens a quiet session; `options` are those of `JudgeOptions`."""
    return JudgeSession(judge, JudgeOptions(**options), store, quiet=True)


def read_word(text: str) -> str | Unreadable:
    """Reads a reply that is yes or no; both are values."""
    return text if text in ("yes", "no") else Unreadable("neither yes nor no")


def question(
    name: str,
    *,
    content: str | None = None,
    template: str = "t1",
    read: Callable[[str], Any | Unreadable] = read_word,
    max_tokens: int = 16,
    pair: Pair | None = None,
) -> Question:
    """Makes a question whose chat is its name, unless `content` says otherwise."""
    return Question(
        id=name,
        messages=({"role": "user", "content": name if content is None else content},),
        template=template,
        read=read,
        again='Not read: {problem}. Say yes or no, not {"verdict": "yes"}.',
        max_tokens=max_tokens,
        pair=pair,
    )


def calls(count: int) -> list[Call]:
    """Makes one call for each of the questions `q0`, `q1` and so on."""
    questions = [question(f"q{number}") for number in range(count)]
    return [
        Call(key=f"key {index}", question=item, messages=item.messages, vote=0)
        for index, item in enumerate(questions)
    ]


def answered(
    judge: Backend, calls: Sequence[Call], budget: RunBudget | None = None
) -> dict[str, Reply | NoReply]:
    """Asks a backend, and checks that each outcome comes once, in this thread."""
    outcomes: dict[str, Reply | NoReply] = {}
    here = threading.get_ident()

    def keep(reply: Reply | NoReply) -> None:
        assert reply.key not in outcomes
        assert threading.get_ident() == here
        outcomes[reply.key] = reply

    judge.answer(calls, budget or RunBudget(), keep)
    assert set(outcomes) == {call.key for call in calls}
    return outcomes
