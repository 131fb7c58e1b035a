from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, RefusedError, UsageError
from medical_tasks.guard.policy import Subject, protect
from medical_tasks.judges.base import Call, NoReply, Question, Reply
from medical_tasks.judges.chat import ChatJudge, LocalJudge, open_chat
from medical_tasks.judges.reading import free_text, one_of, schema_of
from medical_tasks.models.base import Answer, Failure, OnResult, Request
from medical_tasks.models.budget import (
    Amount,
    RunBudget,
    estimate_chat,
    estimate_tokens,
)
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel
from medical_tasks.spec import Message
from tests.case_tables import tables
from tests.fault_server import Call as Received
from tests.fault_server import Fault, FaultServer, echo_answer, first
from tests.judges.scripted import answered as ask
from tests.judges.scripted import calls as plain_calls
from tests.support import GeneratesOnly

CASES = tables(__file__, "chat")

SIZE = 16


def question(name: str, *, size: int = SIZE) -> Question:
    return Question(
        id=name,
        messages=(
            Message(role="system", content="You judge."),
            Message(role="user", content=f"statement {name}"),
        ),
        template="t",
        read=lambda text: text,
        again="again: {problem}",
        max_tokens=size,
    )


def calls(count: int, *, votes: int = 1, size: int = SIZE) -> list[Call]:
    questions = [question(str(number), size=size) for number in range(count)]
    return [
        Call(key=f"{item.id}/{vote}", question=item, messages=item.messages, vote=vote)
        for item in questions
        for vote in range(votes)
    ]


def judge_with(
    url: str,
    *,
    sampling: Mapping[str, Any] | None = None,
    n_choices: bool = False,
    structured: bool = False,
    **limits: Any,
) -> ChatJudge:
    chat = ChatSettings(
        base_url=url, model="m",
        **{"concurrency": 8, "max_retries": 2, "timeout": 5.0, **limits},
    )  # fmt: skip
    model = EndpointModel("openai-api/h/m", chat, sampling=sampling or {})
    return ChatJudge(model, n_choices=n_choices, structured=structured)


def texts(outcomes: Mapping[str, Reply | NoReply]) -> dict[str, str]:
    """The texts of all replies by their calls' keys."""
    return {
        key: outcome.text
        for key, outcome in outcomes.items()
        if isinstance(outcome, Reply)
    }


def test_each_call_gets_the_reply_to_its_own_chat() -> None:
    with FaultServer() as server:
        outcomes = ask(
            judge_with(server.base_url, sampling={"temperature": 0.0}), calls(20)
        )
    assert len(outcomes) == len(server.calls) == 20
    for call in server.calls:
        key = f"{call.prompt.removeprefix('statement ')}/0"
        assert outcomes[key] == Reply(
            key=key,
            text=echo_answer(call),
            finish="stop",
            prompt_tokens=2,
            output_tokens=2,
            served_model="m",
        )
    body = server.calls[0].body
    assert (body["max_tokens"], body["temperature"]) == (SIZE, 0.0)
    assert not {"n", "seed"} & set(body)


def test_a_structured_judge_sends_the_schema_of_questions_that_have_one() -> None:
    schema = schema_of({"reason": free_text, "verdict": one_of("yes", "no")})
    plain, formed = calls(2)
    formed = replace(formed, question=replace(formed.question, schema=schema))
    for structured in (True, False):
        with FaultServer() as server:
            ask(judge_with(server.base_url, structured=structured), [plain, formed])
        formats = {
            call.prompt: call.body.get("response_format", {}).get("json_schema", {})
            for call in server.calls
        }
        assert [formats[f"statement {number}"].get("schema") for number in (0, 1)] == [
            None,
            schema if structured else None,
        ]


def test_every_attempt_is_admitted_and_settled() -> None:
    with FaultServer(first(2, Fault.status_code(503))) as server:
        budget = RunBudget()
        outcomes = ask(judge_with(server.base_url), calls(5), budget)
    assert len(texts(outcomes)) == 5
    assert {outcome.attempts for outcome in outcomes.values()} == {3}
    assert budget.calls == len(server.calls) == 15
    # a refused request took nothing; a good one the server's own count
    assert budget.tokens == 5 * 4
    assert budget._reserved == Amount()


def test_an_attempt_that_was_cut_takes_its_reservation() -> None:
    with FaultServer(first(1, Fault.cut())) as server:
        budget = RunBudget()
        ask(judge_with(server.base_url), calls(1), budget)
    assert budget.tokens == estimate_chat(question("0").messages) + SIZE + 4


def test_reserved_tokens_do_not_spend_the_budget() -> None:
    # Each reservation is far above the use: with eight requests at once the limit would
    # seem spent at the second.
    reservation = estimate_chat(question("39").messages) + 400
    with FaultServer(latency=0.005) as server:
        budget = RunBudget(max_tokens=reservation + 30 * 4)
        outcomes = ask(judge_with(server.base_url), calls(40, size=400), budget)
    # While 30 have taken 4 tokens each, one more fits exactly.
    assert len(texts(outcomes)) == len(server.calls) == 31
    assert budget.tokens == 31 * 4 <= reservation + 30 * 4
    refused = [reply for reply in outcomes.values() if isinstance(reply, NoReply)]
    assert {reply.reason for reply in refused} == {"budget spent"}


def test_waiting_for_reserved_tokens_is_no_part_of_a_calls_time() -> None:
    reservation = estimate_chat(question("0").messages) + 400
    with FaultServer(latency=0.2) as server:
        judge = judge_with(server.base_url, total_time=0.9)
        budget = RunBudget(max_tokens=reservation + 100)
        outcomes = ask(judge, calls(6, size=400), budget)
    assert len(server.calls) == 6  # one after another: the last waits 1 s
    assert len(texts(outcomes)) == 6


@settings(max_examples=15)
@given(
    max_calls=st.none() | st.integers(0, 20),
    max_tokens=st.none() | st.integers(0, 600),
    votes=st.integers(1, 3),
    n_choices=st.booleans(),
    seed=st.integers(0, 5),
)
def test_limits_hold_and_every_call_has_one_outcome(
    max_calls: int | None,
    max_tokens: int | None,
    votes: int,
    n_choices: bool,
    seed: int,
) -> None:
    faults = [Fault.status_code(500), Fault.not_json(), None, None]

    def plan(call: Received) -> Fault | None:
        return faults[(call.number * 7 + seed) % 4]

    votes_on_six = calls(6, votes=votes)
    with FaultServer(plan) as server:
        budget = RunBudget(max_calls=max_calls, max_tokens=max_tokens)
        ask(judge_with(server.base_url, n_choices=n_choices), votes_on_six, budget)
    assert budget.calls == len(server.calls)
    assert max_calls is None or len(server.calls) <= max_calls
    assert max_tokens is None or budget.tokens <= max_tokens
    assert budget._reserved == Amount()


def numbered(call: Received) -> list[str]:
    return [f"{call.prompt} #{number}" for number in range(int(call.body.get("n", 1)))]


def test_votes_on_a_question_share_a_request() -> None:
    with FaultServer(answer=numbered) as server:
        budget = RunBudget()
        outcomes = ask(
            judge_with(server.base_url, n_choices=True, sampling={"seed": 5}),
            calls(4, votes=3),
            budget,
        )
    assert [call.body["n"] for call in server.calls] == [3] * 4
    assert {call.body["seed"] for call in server.calls} == {5}
    assert texts(outcomes) == {
        f"{name}/{vote}": f"statement {name} #{vote}"
        for name in range(4)
        for vote in range(3)
    }
    # The tokens of a request are counted once.
    assert sum(reply.attempts for reply in outcomes.values()) == 4
    replies = [reply for reply in outcomes.values() if isinstance(reply, Reply)]
    tokens = [(reply.prompt_tokens, reply.output_tokens) for reply in replies]
    assert (
        sum((read or 0) + (written or 0) for read, written in tokens) == budget.tokens
    )


def test_a_vote_with_another_chat_has_its_own_request() -> None:
    three = calls(1, votes=3)
    again = Call(
        key="again",
        question=three[0].question,
        messages=(*three[0].messages, Message(role="user", content="once more")),
        vote=1,
    )
    with FaultServer(answer=numbered) as server:
        outcomes = ask(
            judge_with(server.base_url, n_choices=True), [three[0], again, three[2]]
        )
    assert sorted(call.body.get("n", 1) for call in server.calls) == [1, 2]
    assert texts(outcomes)["again"] == "once more #0"


def test_choices_beyond_the_votes_are_ignored() -> None:
    with FaultServer(answer=lambda call: ["a", "b", "c", "d"]) as server:
        outcomes = ask(judge_with(server.base_url, n_choices=True), calls(1, votes=2))
    assert texts(outcomes) == {"0/0": "a", "0/1": "b"}
    assert len(server.calls) == 1


def test_votes_are_separate_requests_where_the_budget_has_no_room_for_all() -> None:
    reservation = estimate_chat(question("0").messages) + SIZE
    with FaultServer(answer=numbered) as server:
        outcomes = ask(
            judge_with(server.base_url, n_choices=True),
            calls(1, votes=4),
            RunBudget(max_tokens=reservation + 5),
        )
    assert [call.body.get("n", 1) for call in server.calls] == [1, 1]  # 5 tokens each
    assert (len(outcomes), len(texts(outcomes))) == (4, 2)


def test_votes_are_separate_requests_where_the_server_ignores_n() -> None:
    with FaultServer(
        answer=lambda call: [f"{call.prompt} seed {call.body['seed']}"]
    ) as server:
        judge = judge_with(
            server.base_url, n_choices=True, sampling={"seed": 0}, concurrency=1
        )
        outcomes = ask(judge, calls(3, votes=3))
        assert [call.body.get("n", 1) for call in server.calls] == [3] + [1] * 8
        ask(judge, calls(1, votes=2))
    assert [call.body.get("n", 1) for call in server.calls[9:]] == [1, 1]
    assert texts(outcomes) == {
        f"{name}/{vote}": f"statement {name} seed {vote}"
        for name in range(3)
        for vote in range(3)
    }


@pytest.mark.parametrize("status", [400, 422])
def test_votes_are_separate_requests_where_the_server_rejects_n(status: int) -> None:
    def plan(call: Received) -> Fault | None:
        return Fault.status_code(status, "n must be 1") if "n" in call.body else None

    with FaultServer(plan) as server:
        outcomes = ask(judge_with(server.base_url, n_choices=True), calls(20, votes=2))
    assert len(texts(outcomes)) == 40
    # those in flight when the first was rejected
    assert sum("n" in call.body for call in server.calls) <= 8


def test_the_data_guard_records_the_purpose_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path))
    subject = Subject(
        name="notes", dataset="notes", access="credentialed", rule="it stays at home"
    )
    log = tmp_path / "audit.jsonl"
    with protect([subject]):
        with pytest.raises(RefusedError, match=r"notes.*judge-api\.example.*\(judge\)"):
            ask(judge_with("https://judge-api.example/v1"), calls(3))
        with FaultServer() as server:
            assert len(ask(judge_with(server.base_url), calls(3))) == 3
    assert [json.loads(line)["purpose"] for line in log.read_text().splitlines()] == [
        "judge",
        "judge",
    ]


def test_replies_before_an_error_are_delivered() -> None:
    delivered: list[str] = []
    with FaultServer([None] * 5 + [Fault.status_code(401)] * 20) as server:
        judge = judge_with(server.base_url, concurrency=1)
        with pytest.raises(MissingError):
            judge.answer(
                calls(20), RunBudget(), lambda reply: delivered.append(reply.key)
            )
    assert delivered == [f"{name}/0" for name in range(5)]


def test_an_error_releases_the_budget_of_requests_in_flight() -> None:
    def plan(call: Received) -> Fault:
        return Fault.hang() if call.prompt != "statement 7" else Fault.status_code(401)

    budget = RunBudget()
    with FaultServer(plan) as server, pytest.raises(MissingError):
        ask(judge_with(server.base_url), calls(20), budget)
    assert budget._reserved == Amount()


def test_at_most_as_many_replies_as_concurrency_wait_for_a_slow_caller() -> None:
    kept = 0

    def slow(reply: Reply | NoReply) -> None:
        nonlocal kept
        threading.Event().wait(0.005)
        assert len(server.calls) - kept <= 3
        kept += 1

    with FaultServer() as server:
        judge_with(server.base_url, concurrency=3).answer(calls(30), RunBudget(), slow)
    assert kept == 30


def test_identity_has_what_decides_a_reply_and_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_HOST_BASE_URL", "https://api.example.org/v1/")
    monkeypatch.setenv("MY_HOST_API_KEY", "sk-secret")
    options = {"temperature": "0.5", "top_p": "0.9", "seed": "3"}
    neutral = {
        "concurrency": "3",
        "timeout": "9",
        "price_in": "2.5",
        "price_out": "10",
        "n_choices": "true",
    }
    judge = open_chat("openai-api/my-host/org/m", options, log_dir=tmp_path)
    other = open_chat("openai-api/my-host/org/m", options | neutral, log_dir=tmp_path)
    assert judge.identity == other.identity == {
        "backend": "openai-api", "model": "org/m", "base_url": "https://api.example.org/v1",
        "temperature": "0.5", "top_p": "0.9", "seed": "3",
    }  # fmt: skip
    assert (judge.name, judge.endpoint, judge.comparable, judge.samples, judge.reads) == (
        "openai-api/my-host/org/m", "https://api.example.org/v1", True, True, "prompt",
    )  # fmt: skip
    judge.close()


def test_a_judge_has_32_requests_at_once_unless_concurrency_is_set() -> None:
    def patient(call: Received) -> str:
        end = time.monotonic() + 10
        while server.most_at_once < 32 and time.monotonic() < end:
            time.sleep(0.01)
        return "yes"

    def open_at(url: str, **options: str) -> ChatJudge:
        return open_chat("openai-api/h/m", options | {"base_url": url}, log_dir=Path())

    with FaultServer(answer=patient) as server:
        ask(open_at(server.base_url), calls(40))
    assert server.most_at_once == 32
    with FaultServer(latency=0.01) as server:
        ask(open_at(server.base_url, concurrency="2"), calls(6))
    assert server.most_at_once == 2


@pytest.mark.parametrize(("options", "message"), CASES["malformed_argument"])
def test_malformed_argument(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_chat(
            "openai-api/x/m",
            {"base_url": "http://127.0.0.1:1/v1"} | options,
            log_dir=Path(),
        )


GREEDY = {"backend": "hf", "decoding": "greedy"}


class ScriptedModel(GeneratesOnly):
    """Implements `models.base.Model`."""

    name = "hf/scripted"

    def __init__(
        self,
        reply: Callable[[Request], Answer | Failure],
        *,
        identity: Mapping[str, str] = GREEDY,
    ) -> None:
        self.identity = identity
        self.batches: list[list[Request]] = []
        self.closed = False
        self._reply = reply

    def generate(self, requests: Sequence[Request], on_result: OnResult) -> None:
        self.batches.append(list(requests))
        for request in reversed(requests):
            on_result(self._reply(request))

    def close(self) -> None:
        self.closed = True


def answering(text: str, tokens: int | None = 2) -> ScriptedModel:
    return ScriptedModel(
        lambda request: Answer(key=request.key, text=text, output_tokens=tokens)
    )


def local_outcomes(
    model: ScriptedModel, count: int, budget: RunBudget | None = None
) -> list[Reply | NoReply]:
    outcomes = ask(LocalJudge(model), plain_calls(count), budget)
    return [outcome for _, outcome in sorted(outcomes.items())]


def test_answers_of_a_local_model_become_replies() -> None:
    model = answering("yes")
    assert local_outcomes(model, 2) == [
        Reply(key=f"key {number}", text="yes", output_tokens=2) for number in range(2)
    ]
    (batch,) = model.batches
    assert [
        (request.key, request.max_new_tokens, request.messages) for request in batch
    ] == [
        (f"key {number}", 16, ({"role": "user", "content": f"q{number}"},))
        for number in range(2)
    ]
    judge = LocalJudge(model)
    assert (judge.name, judge.identity, judge.endpoint, judge.reads) == (
        "hf/scripted",
        GREEDY,
        None,
        "prompt",
    )
    judge.close()
    assert model.closed


def test_a_local_models_finish_and_failure_are_the_replys() -> None:
    model = ScriptedModel(
        lambda request: Answer(key=request.key, text="yes", finish="length")
    )
    assert local_outcomes(model, 1) == [Reply(key="key 0", text="yes", finish="length")]
    model = ScriptedModel(
        lambda request: Failure(
            key=request.key, reason="prompt too long", detail="9 tokens"
        )
    )
    assert local_outcomes(model, 1) == [
        NoReply(key="key 0", reason="prompt too long", attempts=1)
    ]


@pytest.mark.parametrize(("identity", "samples"), CASES["identities_and_samples"])
def test_a_local_judge_samples_only_with_a_temperature(
    identity: dict[str, str], samples: bool
) -> None:
    model = ScriptedModel(lambda request: pytest.fail(request.key), identity=identity)
    assert LocalJudge(model).samples is samples


@pytest.mark.parametrize(
    ("sampling", "samples"),
    [({}, True), ({"temperature": 0.0}, False), ({"temperature": 0.3}, True)],
)
def test_a_chat_judge_samples_unless_its_temperature_is_0(
    sampling: dict[str, float], samples: bool
) -> None:
    assert judge_with("http://127.0.0.1:9/v1", sampling=sampling).samples is samples


def test_a_local_judge_stays_within_its_calls() -> None:
    outcomes = local_outcomes(answering("yes"), 5, RunBudget(max_calls=3))
    assert [isinstance(outcome, Reply) for outcome in outcomes] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert outcomes[-1] == NoReply(key="key 4", reason="budget spent")


def test_a_local_judge_stays_within_its_tokens() -> None:
    assert estimate_chat(plain_calls(1)[0].messages) == 10
    budget = RunBudget()
    local_outcomes(answering("yes", None), 1, budget)
    assert budget.tokens == 10 + 16
    model = answering("yes")
    budget = RunBudget(max_tokens=64)
    outcomes = local_outcomes(model, 5, budget)
    # Each reserves 26 and takes 12. 52 are reserved; then 24 used and 26 reserved; then
    # 36 and 26; 48 leave no room for 26.
    assert [len(batch) for batch in model.batches] == [2, 1, 1]
    assert budget.tokens == 48
    assert [type(outcome) for outcome in outcomes].count(NoReply) == 1


def test_a_budget_reserves_before_a_request_and_settles_after_it() -> None:
    budget = RunBudget(max_tokens=100)
    assert budget.admit(Amount(40, 20))
    assert not budget.admit(Amount(40, 20))  # 60 are reserved
    budget.settle(Amount(40, 20), Amount(30))
    assert budget.admit(Amount(40, 20))
    assert (budget.calls, budget.tokens) == (2, 30)
    budget.settle(Amount(40, 20), None)
    assert budget.tokens == 90
    assert budget.admit(Amount(10, 0))
    assert not budget.admit(Amount(1, 0))
    assert not RunBudget(max_calls=0).admit(Amount())
    with pytest.raises(UsageError, match="0 or more requests, got -1"):
        RunBudget(max_calls=-1)
    with pytest.raises(UsageError, match="0 or more tokens, got -5"):
        RunBudget(max_tokens=-5)
    assert (
        estimate_chat(
            [
                {"role": "system", "content": "abc"},
                {"role": "user", "content": "abcdef"},
            ]
        )
        == 3 + 16
    )


def test_threads_together_never_exceed_a_budget() -> None:
    budget = RunBudget(max_calls=500, max_tokens=100_000)
    highest: list[int] = []

    def spend() -> None:
        while budget.admit(Amount(300, 100)):
            budget.settle(Amount(300, 100), Amount(150))
            highest.append(budget.tokens)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (budget.calls, budget.tokens) == (500, 75_000)
    assert max(highest) <= 100_000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abc", 1),
        ("abcd", 2),
        ("a b c", 2),
        ("12.5", 4),
        ("é", 2),
        ("µg", 3),
        ("\ud800", 3),
    ],
)
def test_token_estimates_by_hand(text: str, tokens: int) -> None:
    # a third of the letters and blanks, rounded up, and each other byte
    assert estimate_tokens(text) == tokens
