from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from medical_tasks.judges.base import Call, JudgeOptions, NoReply, Reply, Verdict
from medical_tasks.judges.budget import RunBudget, estimate_chat
from medical_tasks.judges.local import LocalJudge
from medical_tasks.judges.session import JudgeSession
from medical_tasks.models.base import Answer, Failure, Model, OnResult, Request
from medical_tasks.store import Store
from tests.judges.scripted import question


class ScriptedModel:
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


def calls(count: int) -> list[Call]:
    return [
        Call(key=f"key {number}", question=question(f"q{number}"), messages=question(f"q{number}").messages, vote=0)
        for number in range(count)
    ]


def asked(judge: LocalJudge, wanted: list[Call], budget: RunBudget | None = None) -> list[Reply | NoReply]:
    heard: list[Reply | NoReply] = []
    judge.answer(wanted, budget or RunBudget(), heard.append)
    assert {outcome.key for outcome in heard} == {call.key for call in wanted}
    return sorted(heard, key=lambda outcome: outcome.key)


def test_a_models_answers_are_replies() -> None:
    model = ScriptedModel(answering("yes"), identity=GREEDY)
    judge = LocalJudge(model)
    assert asked(judge, calls(2)) == [Reply(key=f"key {number}", text="yes", output_tokens=2) for number in range(2)]
    (batch,) = model.batches
    assert [(request.key, request.max_new_tokens, request.messages) for request in batch] == [
        (f"key {number}", 16, ({"role": "user", "content": f"q{number}"},)) for number in range(2)
    ]
    assert (judge.name, judge.identity, judge.endpoint, judge.reads) == ("hf/scripted", GREEDY, None, "prompt")
    judge.close()
    assert model.closed


def test_a_failure_is_no_reply() -> None:
    def say(request: Request) -> Answer | Failure:
        return Failure(key=request.key, reason="prompt too long", detail="9 tokens")

    (outcome,) = asked(LocalJudge(ScriptedModel(say, identity=GREEDY)), calls(1))
    assert outcome == NoReply(key="key 0", reason="prompt too long", detail="9 tokens", attempts=1)


@pytest.mark.parametrize(
    ("identity", "samples"),
    [
        ({"decoding": "greedy"}, False),
        ({"decoding": "greedy, repetition_penalty=1.1"}, False),
        ({"decoding": "temperature=0.7, seed=0"}, True),
        ({"temperature": "0.0"}, False),
        ({"temperature": "1"}, True),
        ({}, False),
    ],
)
def test_only_a_temperature_makes_votes_differ(identity: Mapping[str, str], samples: bool) -> None:
    assert LocalJudge(ScriptedModel(answering("yes"), identity=identity)).samples is samples


def test_the_budget_is_used_up_and_no_further() -> None:
    model = ScriptedModel(answering("yes"), identity=GREEDY)
    outcomes = asked(LocalJudge(model), calls(5), RunBudget(max_calls=3))
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [True, True, True, False, False]
    assert outcomes[-1] == NoReply(key="key 4", reason="budget spent")


def test_what_was_reserved_for_longer_replies_is_used_for_others() -> None:
    model = ScriptedModel(answering("yes"), identity=GREEDY)
    prompt = estimate_chat(calls(1)[0].messages)
    budget = RunBudget(max_tokens=2 * (prompt + 16))
    outcomes = asked(LocalJudge(model), calls(5), budget)
    # Each takes its prompt and 2 tokens of the 16 reserved: the limit is used up in several rounds.
    assert [len(batch) for batch in model.batches] == [2, 1, 1]
    assert budget.tokens == 4 * (prompt + 2) <= 2 * (prompt + 16)
    assert [type(outcome) for outcome in outcomes].count(NoReply) == 1


def test_unknown_lengths_are_booked_as_estimated() -> None:
    budget = RunBudget()
    asked(LocalJudge(ScriptedModel(answering("yes", None), identity=GREEDY)), calls(1), budget)
    assert (budget.tokens, budget.estimated) == (estimate_chat(calls(1)[0].messages) + 16, True)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    from medical_tasks.models.lighteval_model import open_hf
    from medical_tasks.models.toy import make_toy_model

    folder = make_toy_model(tmp_path_factory.mktemp("toy") / "toy", ["say yes or no to the statement"])
    model = open_hf(f"hf/{folder}", options={"temperature": "1", "seed": "3"})
    yield model
    model.close()


@pytest.mark.slow
def test_a_real_model_votes(toy: Model, tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:

        def run() -> tuple[list[Verdict], JudgeSession]:
            session = JudgeSession(LocalJudge(toy), JudgeOptions(votes=3), store, quiet=True)
            outcomes = session.ask([question(f"q{number}", read=lambda text: text) for number in range(2)])
            return [outcome for outcome in outcomes if isinstance(outcome, Verdict)], session

        verdicts, first = run()
        assert len(verdicts) == 2
        # A random model never says the same twice; of votes that all differ the first one stands.
        assert [len(set(verdict.votes)) for verdict in verdicts] == [3, 3]
        assert [verdict.value for verdict in verdicts] == [verdict.votes[0] for verdict in verdicts]
        assert (first.stats.replies, first.stats.estimated) == (6, True)
        again, second = run()
        assert again == verdicts
        assert (second.stats.replies, second.stats.from_store) == (0, 6)
