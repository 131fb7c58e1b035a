from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from medical_tasks.judges.base import NoReply, Reply
from medical_tasks.judges.budget import RunBudget, estimate_chat
from medical_tasks.judges.chat import LocalJudge
from medical_tasks.models.base import Answer, Failure, OnResult, Request
from tests.judges.scripted import answered, calls
from tests.support import GeneratesOnly

CASES = json.loads(Path(__file__).with_name("cases").joinpath("local.json").read_text(encoding="utf-8"))


class ScriptedModel(GeneratesOnly):
    """Implements `models.base.Model`."""

    name = "hf/scripted"
    endpoint: str | None = None
    is_main = True

    def __init__(self, say: Callable[[Request], Answer | Failure], *, identity: Mapping[str, str]) -> None:
        self.identity = identity
        self.batches: list[list[Request]] = []
        self.closed = False
        self._say = say

    def share(self, keys: list[str]) -> list[str]:
        return keys

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.batches.append(list(requests))
        for request in reversed(requests):
            on_result(self._say(request))

    def close(self) -> None:
        self.closed = True


def answering(text: str, tokens: int | None = 2) -> Callable[[Request], Answer]:
    return lambda request: Answer(key=request.key, text=text, output_tokens=tokens)


GREEDY = {"backend": "hf", "decoding": "greedy"}


def asked(judge: LocalJudge, count: int, budget: RunBudget | None = None) -> list[Reply | NoReply]:
    return [outcome for _, outcome in sorted(answered(judge, calls(count), budget).items())]


def test_a_models_answers_are_replies() -> None:
    model = ScriptedModel(answering("yes"), identity=GREEDY)
    judge = LocalJudge(model)
    assert asked(judge, 2) == [Reply(key=f"key {number}", text="yes", output_tokens=2) for number in range(2)]
    (batch,) = model.batches
    assert [(request.key, request.max_new_tokens, request.messages) for request in batch] == [
        (f"key {number}", 16, ({"role": "user", "content": f"q{number}"},)) for number in range(2)
    ]
    assert (judge.name, judge.identity, judge.endpoint, judge.reads) == ("hf/scripted", GREEDY, None, "prompt")
    judge.close()
    assert model.closed
    model = ScriptedModel(lambda request: Answer(key=request.key, text="yes", finish="length"), identity=GREEDY)
    assert asked(LocalJudge(model), 1) == [Reply(key="key 0", text="yes", finish="length")]

    def say(request: Request) -> Answer | Failure:
        return Failure(key=request.key, reason="prompt too long", detail="9 tokens")

    (outcome,) = asked(LocalJudge(ScriptedModel(say, identity=GREEDY)), 1)
    assert outcome == NoReply(key="key 0", reason="prompt too long", attempts=1)


@pytest.mark.parametrize(("identity", "samples"), CASES["only_a_temperature_makes_votes_differ"])
def test_only_a_temperature_makes_votes_differ(identity: Mapping[str, str], samples: bool) -> None:
    assert LocalJudge(ScriptedModel(answering("yes"), identity=identity)).samples is samples


def test_the_budget_is_used_up_and_no_further() -> None:
    model = ScriptedModel(answering("yes"), identity=GREEDY)
    outcomes = asked(LocalJudge(model), 5, RunBudget(max_calls=3))
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [True, True, True, False, False]
    assert outcomes[-1] == NoReply(key="key 4", reason="budget spent")
    budget = RunBudget()
    asked(LocalJudge(ScriptedModel(answering("yes", None), identity=GREEDY)), 1, budget)
    assert budget.tokens == estimate_chat(calls(1)[0].messages) + 16
    model = ScriptedModel(answering("yes"), identity=GREEDY)
    assert estimate_chat(calls(1)[0].messages) == 10
    budget = RunBudget(max_tokens=64)
    outcomes = asked(LocalJudge(model), 5, budget)
    # Each reserves 26 and takes 12. 52 are reserved; then 24 used and 26 reserved; then 36 and 26; 48 leave no room for 26.
    assert [len(batch) for batch in model.batches] == [2, 1, 1]
    assert budget.tokens == 48
    assert [type(outcome) for outcome in outcomes].count(NoReply) == 1
