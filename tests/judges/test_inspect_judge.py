from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.judges.base import Call, NoReply, Reply
from medical_tasks.judges.inspect_judge import InspectJudge, open_inspect_judge
from medical_tasks.models.budget import RunBudget
from medical_tasks.models.call_pool import GIVE_UP_AFTER
from medical_tasks.models.inspect_model import InspectModel
from medical_tasks.models.inspect_options import InspectSettings
from tests.case_tables import tables
from tests.fault_server import Fault, FaultServer
from tests.judges.scripted import answered, calls, question
from tests.support import ROOT

CASES = tables(__file__, "inspect_judge")

# inspect's own call of tenacity, in its 0.3.285.
pytestmark = pytest.mark.filterwarnings(
    "ignore:The 'initial' parameter is deprecated:DeprecationWarning"
)

Script = Callable[[str, Any], Any]
"""From the last message and inspect's settings of the call to a text, an inspect output, or an error to raise."""


def output(text: str, **more: Any) -> Any:
    """An inspect output with its usage: without one, mockllm fetches a tokenizer."""
    from inspect_ai.model import ModelOutput, ModelUsage

    reply = ModelOutput.from_content("mockllm/model", text, **more)
    reply.usage = ModelUsage(input_tokens=7, output_tokens=3, total_tokens=10)
    return reply


@pytest.fixture
def mock() -> Iterator[Callable[..., InspectJudge]]:
    judges: list[InspectJudge] = []

    def make(
        script: Script,
        *,
        temperature: float = 0.0,
        seed: int | None = None,
        **limits: Any,
    ) -> InspectJudge:
        async def answer(
            messages: list[Any], tools: Any, choice: Any, config: Any
        ) -> Any:
            reply = script(messages[-1].text, config)
            if asyncio.iscoroutine(reply):
                reply = await reply
            if isinstance(reply, BaseException):
                raise reply
            return output(reply) if isinstance(reply, str) else reply

        settings = InspectSettings(
            config={"temperature": temperature}
            | ({} if seed is None else {"seed": seed}),
            **limits,
        )
        objects = {"custom_outputs": answer}
        model = InspectModel(
            "inspect/mockllm/model", settings, purpose="judge", objects=objects
        )
        judges.append(InspectJudge(model))
        return judges[-1]

    yield make
    for judge in judges:
        judge.close()


def test_replies_come_with_their_tokens(mock: Callable[..., InspectJudge]) -> None:
    judge = mock(
        lambda text, config: f"{text} {config.max_tokens} {config.temperature}"
    )
    budget = RunBudget()
    outcomes = answered(judge, calls(20), budget)
    assert outcomes == {
        f"key {number}": Reply(
            key=f"key {number}",
            text=f"q{number} 16 0.0",
            finish="stop",
            prompt_tokens=7,
            output_tokens=3,
            served_model="mockllm/model",
        )
        for number in range(20)
    }
    assert (budget.calls, budget.tokens) == (20, 200)
    assert judge.identity == {
        "backend": "inspect",
        "model": "mockllm/model",
        "temperature": "0.0",
    }
    assert (judge.endpoint, judge.samples, judge.reads) == (None, False, "prompt")
    # a second round with the same clients
    assert answered(judge, calls(2))["key 1"] == outcomes["key 1"]


def test_a_judge_answers_inside_a_running_loop(
    mock: Callable[..., InspectJudge],
) -> None:
    async def notebook(judge: InspectJudge) -> int:
        return len(answered(judge, calls(3)))

    assert asyncio.run(notebook(mock(lambda text, config: "yes"))) == 3


def test_concurrency_limits_the_requests_at_once(
    mock: Callable[..., InspectJudge],
) -> None:
    in_flight, most = 0, 0

    async def slowly(text: str) -> str:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.01)
        in_flight -= 1
        return text

    judge = mock(lambda text, config: slowly(text), concurrency=3)
    assert len(answered(judge, calls(12))) == 12
    assert most == 3


def test_an_error_of_the_callback_is_raised_and_the_judge_still_answers(
    mock: Callable[..., InspectJudge],
) -> None:
    judge = mock(lambda text, config: "yes", concurrency=2)

    def full(outcome: Reply | NoReply) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        judge.answer(calls(50), RunBudget(), full)
    assert len(answered(judge, calls(3))) == 3


def test_a_reply_without_choices_is_no_reply(mock: Callable[..., InspectJudge]) -> None:
    empty = output("x")
    empty.choices, empty.completion = [], ""
    outcome = answered(mock(lambda text, config: empty), calls(1))["key 0"]
    assert isinstance(outcome, NoReply)
    assert outcome.reason == "empty choices"


def test_calls_beyond_the_budget_are_not_sent(
    mock: Callable[..., InspectJudge],
) -> None:
    outcomes = answered(
        mock(lambda text, config: "yes"), calls(10), RunBudget(max_calls=4)
    )
    refused = [outcome for outcome in outcomes.values() if isinstance(outcome, NoReply)]
    assert len(refused) == 6
    assert {(outcome.reason, outcome.attempts) for outcome in refused} == {
        ("budget spent", 0)
    }


def test_every_message_and_vote_arrives(mock: Callable[..., InspectJudge]) -> None:
    seen: list[Any] = []

    def say(text: str, config: Any) -> str:
        seen.append((text, config.seed))
        return "yes"

    judge = mock(say, seed=5, temperature=0.7)
    assert judge.samples
    chat: Any = (
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "lone \ud800 sign"},
    )
    answered(judge, [Call(key="k", question=question("q"), messages=chat, vote=2)])
    assert seen == [("lone \ufffd sign", 7)]


class StatusError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__("the question was: secret")
        self.status_code = status_code


class APIConnectionError(Exception):
    pass


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (lambda: StatusError(500), "http 500"),
        (lambda: StatusError(429), "rate limited"),
        (lambda: APIConnectionError("secret"), "connection"),
        (lambda: KeyError("secret"), "inspect KeyError"),
        (lambda: output(""), "empty content"),
        (
            lambda: output("I will not", stop_reason="content_filter"),
            "refused by filter",
        ),
        (lambda: asyncio.sleep(5), "timeout"),
    ],
)
def test_reasons_of_failures_hold_no_text_of_the_question(
    say: Callable[[], Any], reason: str, mock: Callable[..., InspectJudge]
) -> None:
    limit = 1.0 if reason == "timeout" else 60.0
    judge = mock(
        lambda text, config: say() if text == "q1" else "yes",
        total_time=limit,
        max_retries=0,
    )
    outcomes = answered(judge, calls(3))
    assert [type(outcomes[f"key {number}"]) for number in range(3)] == [
        Reply,
        NoReply,
        Reply,
    ]
    failed = outcomes["key 1"]
    assert isinstance(failed, NoReply)
    assert failed.reason == reason
    assert "secret" not in repr(failed)


@pytest.mark.parametrize(("status", "requests"), [(401, 1), (403, GIVE_UP_AFTER)])
def test_a_judge_that_never_answers_ends_the_run(
    status: int, requests: int, mock: Callable[..., InspectJudge]
) -> None:
    tried: list[str] = []

    def refuse(text: str, config: Any) -> Exception:
        tried.append(text)
        return StatusError(status)

    judge = mock(refuse, concurrency=1)
    outcomes: list[Reply | NoReply] = []
    with pytest.raises(
        MissingError,
        match="inspect's provider mockllm .model 'model'. refused the key",
    ):
        judge.answer(calls(200), RunBudget(), outcomes.append)
    # The error that ends the run is raised, and is no question's outcome.
    assert len(tried) == requests
    assert len(outcomes) == requests - 1
    assert {outcome.reason for outcome in outcomes if isinstance(outcome, NoReply)} <= {
        f"http {status}"
    }
    judge.close()  # nothing is left running that would delay it


def test_a_judge_that_has_answered_does_not_end_the_run(
    mock: Callable[..., InspectJudge],
) -> None:
    judge = mock(
        lambda text, config: "yes" if text == "q0" else StatusError(403), concurrency=1
    )
    assert len(answered(judge, calls(30))) == 30


def test_a_provider_with_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALX_API_KEY", "k")
    monkeypatch.delenv("INSPECT_EVAL_MODEL_BASE_URL", raising=False)
    with FaultServer([Fault.status_code(400)], answer=lambda call: "yes") as server:
        judge = open_inspect_judge(
            "inspect/openai-api/localx/m",
            {"base_url": server.base_url, "concurrency": "1", "max_retries": "0"},
        )
        outcomes = answered(judge, calls(3))
        judge.close()
    failed = outcomes["key 0"]
    assert isinstance(failed, NoReply)
    assert failed.reason in ("http 400", "inspect ModelGenerateError")
    assert outcomes["key 2"] == Reply(
        key="key 2",
        text="yes",
        finish="stop",
        prompt_tokens=1,
        output_tokens=1,
        served_model="m",
    )
    assert judge.endpoint == server.base_url
    assert judge.identity["base_url"] == server.base_url
    assert {call.body["max_tokens"] for call in server.calls} == {16}


@pytest.mark.parametrize(
    ("name", "options", "message"), CASES["wrong_names_and_arguments"]
)
def test_wrong_names_and_arguments(
    name: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_inspect_judge(name, options)


def test_a_missing_key_is_an_error_at_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALX_API_KEY", raising=False)
    monkeypatch.delenv("LOCALX_BASE_URL", raising=False)
    with pytest.raises(
        MissingError, match="inspect/openai-api/localx/m cannot be opened by inspect"
    ):
        open_inspect_judge("inspect/openai-api/localx/m", {})


@pytest.mark.slow
def test_nothing_is_logged_and_the_process_ends(tmp_path: Path) -> None:
    script = """
import json
from inspect_ai.model import ModelOutput, ModelUsage
from medical_tasks.judges.base import Call, Question
from medical_tasks.models.budget import RunBudget
from medical_tasks.judges.inspect_judge import InspectJudge
from medical_tasks.models.inspect_model import InspectModel
from medical_tasks.models.inspect_options import InspectSettings

def say(messages, tools, choice, config):
    output = ModelOutput.from_content("mockllm/model", "yes")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

model = InspectModel("inspect/mockllm/model", InspectSettings(), objects={"custom_outputs": say})
judge = InspectJudge(model)
question = Question(id="q", messages=({"role": "user", "content": "CANARY"},), template="t", read=str, again="")
outcomes = []
judge.answer([Call(key="k", question=question, messages=question.messages, vote=0)], RunBudget(), outcomes.append)
print(json.dumps([outcome.text for outcome in outcomes]))
"""
    home = tmp_path / "home"
    (tmp_path / "here").mkdir()
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INSPECT", "XDG"))
    }
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path / "here",
        env=environment | {"HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert json.loads(process.stdout) == ["yes"]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [
        path for path in files if path.suffix in (".eval", ".json", ".log", ".gz")
    ]
    assert not [path for path in files if b"CANARY" in path.read_bytes()]
