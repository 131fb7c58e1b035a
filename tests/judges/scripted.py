"""A judge whose replies are scripted, in this process; and one that says what a table says.

backend = ScriptedBackend(lambda call: '{"verdict": true}')
session = JudgeSession(backend, JudgeOptions(), store)
backend.calls                 # every call it was asked for, in order
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from medical_tasks.judges.base import (
    LABELS,
    Backend,
    Call,
    NoReply,
    OnReply,
    Pair,
    Question,
    Reply,
    Unscored,
    Verdict,
)
from medical_tasks.judges.base import Unreadable as Unreadable
from medical_tasks.models.budget import Amount, RunBudget, estimate_chat

Script = Callable[[Call], str | Reply | NoReply | BaseException]


class ScriptedBackend:
    """Implements `judges.base.Backend`.

    Args:
        script: from call to the text of the reply (a label for a judge that reads
            pairs), to a `Reply` or `NoReply` (whose key does not matter), or to an
            error, which is raised then and there.
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
            said = self._script(call)
            if isinstance(said, BaseException):
                raise said
            budget.settle(most, Amount(prompt, 10))
            on_reply(self._outcome(call, said))

    def _outcome(self, call: Call, said: str | Reply | NoReply) -> Reply | NoReply:
        if isinstance(said, str) and self.reads == "pair":
            return Reply(key=call.key, label=LABELS[LABELS.index(said)])
        if isinstance(said, str):
            return Reply(
                key=call.key,
                text=said,
                prompt_tokens=estimate_chat(call.messages),
                output_tokens=10,
            )
        return replace(said, key=call.key)

    def close(self) -> None:
        pass


class TableJudge:
    """Implements `judges.base.Judge`: says what a table, or a function of the question, says.

    Args:
        verdicts: from question id to value; a question that is not there is unscored.
            Or a function, in which None is unscored.
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
        self._say = (
            verdicts
            if callable(verdicts)
            else lambda question: verdicts.get(question.id)
        )

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        self.asked.extend(questions)
        outcomes: list[Verdict | Unscored] = []
        for each in questions:
            value = self._say(each)
            if value is None:
                outcomes.append(Unscored(id=each.id, reason="judge: http 500"))
            else:
                outcomes.append(
                    Verdict(
                        id=each.id, value=value, votes=(value,), text=f"I say {value}."
                    )
                )
        return outcomes


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
    """One call a question, `q0` and so on."""
    asked = [question(f"q{number}") for number in range(count)]
    return [
        Call(key=f"key {place}", question=each, messages=each.messages, vote=0)
        for place, each in enumerate(asked)
    ]


def answered(
    judge: Backend, wanted: Sequence[Call], budget: RunBudget | None = None
) -> dict[str, Reply | NoReply]:
    """Asks a backend; each outcome comes once, in this thread."""
    found: dict[str, Reply | NoReply] = {}
    here = threading.get_ident()

    def keep(reply: Reply | NoReply) -> None:
        assert reply.key not in found
        assert threading.get_ident() == here
        found[reply.key] = reply

    judge.answer(wanted, budget or RunBudget(), keep)
    assert set(found) == {call.key for call in wanted}
    return found
