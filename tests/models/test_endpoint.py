from __future__ import annotations

import asyncio
import functools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Answer, Failure, Model
from medical_tasks.models.call_pool import GIVE_UP_AFTER, run_calls
from medical_tasks.models.chat_client import ChatClient, ChatSettings, Completion
from medical_tasks.models.endpoint import chat_settings, open_endpoint
from tests.fault_server import Call, Fault, FaultServer, echo_answer, randomly
from tests.models.local_runs import answers, results
from tests.models.toy_server import model_at
from tests.models.toy_texts import CASES, numbered
from tests.support import ROOT


def test_every_request_has_its_own_answer_inside_a_running_loop() -> None:
    async def notebook(model: Model) -> dict[str, Answer | Failure]:
        return results(model, numbered(50))

    with FaultServer() as server:
        outcomes = asyncio.run(notebook(model_at(server)))
    assert len(outcomes) == len(server.calls) == 50
    by_prompt = {call.prompt: echo_answer(call) for call in server.calls}
    for i in range(50):
        text = by_prompt[f"question {i}"]
        assert outcomes[f"k{i}"] == Answer(
            key=f"k{i}",
            text=text,
            prompt_tokens=2,
            output_tokens=2,
            finish="stop",
            served_model="toy",
        )


@pytest.mark.parametrize(
    ("finish", "kept"), [("stop", "stop"), ("length", "length"), ("eos_token", "")]
)
def test_body_of_a_request_and_finish_of_its_answer(finish: str, kept: str) -> None:
    with FaultServer(finish=finish) as server:
        (result,) = answers(model_at(server), numbered(1, stop=("END",))).values()
        results(model_at(server), numbered(1))
    assert result.finish == kept
    assert server.calls[0].body == {
        "model": "toy", "messages": [{"role": "user", "content": "question 0"}], "max_tokens": 16, "stop": ["END"],
        "temperature": 0.0,
    }  # fmt: skip
    assert "stop" not in server.calls[1].body


@functools.cache
def faultless() -> dict[str, Answer]:
    """The answers of a server without faults."""
    with FaultServer() as server:
        return answers(model_at(server), numbered(15))


@given(
    seed=st.integers(0, 2**32),
    probability=st.floats(0, 1),
    concurrency=st.integers(1, 12),
    retries=st.integers(1, 3),
)
@settings(max_examples=12)
def test_faults_within_the_retries_change_no_answer(
    seed: int, probability: float, concurrency: int, retries: int
) -> None:
    faults = [
        Fault.rate_limit("0"), Fault.status_code(503), Fault.not_json(), Fault.no_choices(), Fault.null_content(),
        Fault.cut(), Fault.refuse(),
    ]  # fmt: skip
    plan = randomly(probability, faults, seed=seed, at_most=retries)
    expected = faultless()
    with FaultServer(plan) as server:
        assert (
            answers(
                model_at(server, concurrency=concurrency, max_retries=retries),
                numbered(15),
            )
            == expected
        )
    assert server.most_at_once <= concurrency


def test_results_arrive_as_they_finish_in_the_calling_thread() -> None:
    order: list[str] = []
    slow = threading.Event()
    caller = threading.current_thread()

    def plan(call: Call) -> Fault | None:
        if call.prompt == "question 0":
            assert slow.wait(20)
        return None

    def keep(result: Answer | Failure) -> None:
        assert threading.current_thread() is caller
        order.append(result.key)
        if len(order) == 4:
            slow.set()  # only now may the first request be answered

    with FaultServer(plan) as server:
        model_at(server, concurrency=2).generate(numbered(5), keep)
    assert order[-1] == "k0"
    assert sorted(order) == ["k0", "k1", "k2", "k3", "k4"]


HOPELESS = [
    (
        Fault.status_code(401, "bad key"),
        MissingError,
        "refused the key.*export HOST_API_KEY=",
    ),
    (
        Fault.status_code(404, "no model"),
        UsageError,
        "does not know this model.*/v1/models",
    ),
    (
        Fault.status_code(429, type="insufficient_quota"),
        MissingError,
        "has no quota left",
    ),
    (
        Fault(
            "reply", 308, {"Location": "https://user:key@other.example/v1?q=question"}
        ),
        UsageError,
        "redirects: HTTP 308, a redirect to other.example, which is not followed.*Give the address that answers",
    ),
]


@pytest.mark.parametrize(("fault", "error", "message"), HOPELESS)
def test_a_fault_of_every_call_stops_the_run_at_once(
    fault: Fault, error: type[Exception], message: str
) -> None:
    with FaultServer(lambda call: fault) as server:
        model = model_at(server, concurrency=2)
        with pytest.raises(
            error,
            match=f"(?s){server.base_url} .model 'toy'.*{message}.*same command continues",
        ):
            results(model, numbered(100))
    assert 1 <= len(server.calls) <= 2


@pytest.mark.parametrize("status", [400, 403, 422])
def test_endpoint_that_rejects_everything_stops_the_run_early(status: int) -> None:
    pinned = Fault.status_code(status, "Server is pinned to other")
    stops = pytest.raises((UsageError, MissingError), match="Server is pinned to other")
    with FaultServer(lambda call: pinned) as server, stops:
        results(model_at(server, concurrency=1), numbered(100))
    assert len(server.calls) == GIVE_UP_AFTER
    # After an answer, the endpoint is not given up.
    with FaultServer(
        lambda call: None if call.prompt == "question 0" else pinned
    ) as server:
        outcomes = results(model_at(server, concurrency=1), numbered(30))
    assert sum(isinstance(result, Failure) for result in outcomes.values()) == 29


def test_server_that_is_gone_stops_the_run_early() -> None:
    with FaultServer() as server:
        model = model_at(server, concurrency=1, max_retries=1)
    failed: list[Answer | Failure] = []
    with pytest.raises(MissingError, match="nothing answers at .*Start the server"):
        model.generate(numbered(100), failed.append)
    assert failed == []  # it never answered
    with FaultServer([None, *[Fault.refuse()] * 200]) as server:
        model = model_at(server, concurrency=1, max_retries=1)
        with pytest.raises(MissingError, match="nothing answers at .*Start the server"):
            model.generate(numbered(100), failed.append)
    assert len(failed) == GIVE_UP_AFTER


def test_fault_of_a_callback_or_a_call_ends_the_run() -> None:
    class DiskFullError(Exception):
        pass

    def keep(result: Answer | Failure) -> None:
        raise DiskFullError

    with FaultServer(latency=0.01) as server, pytest.raises(DiskFullError):
        model_at(server, concurrency=2).generate(numbered(200), keep)
    assert len(server.calls) < 200

    async def broken(client: ChatClient, job: int) -> Completion:
        raise KeyError(job)

    with FaultServer() as server, pytest.raises(KeyError, match="1"):
        run_calls(
            ChatSettings(base_url=server.base_url, model="m"),
            [1],
            broken,
            lambda job, outcome: None,
        )


INTERRUPTED = """
import sys
from medical_tasks.models.base import Request
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.endpoint import EndpointModel

chat = ChatSettings(base_url=sys.argv[1], model="m", concurrency=4, max_retries=0)
model = EndpointModel("openai-api/host/m", chat, sampling={})
requests = [
    Request(key=f"k{i}", messages=({"role": "user", "content": f"question {i}"},), max_new_tokens=1) for i in range(50)
]
try:
    model.generate(requests, lambda result: print(result.key, result.text, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_the_second_ctrl_c_ends_at_once_and_closes_the_connections() -> None:
    hanging = threading.Semaphore(0)

    def plan(call: Call) -> Fault | None:
        if call.number <= 10:
            return None
        hanging.release()
        return Fault.hang()

    with FaultServer(plan) as server:
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-X", "dev", "-c", INTERRUPTED, server.base_url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        for _ in range(4):
            # four requests are in flight, ten are answered
            assert hanging.acquire(timeout=60)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        assert any(
            "stopping: waiting for 4 requests" in line
            for line in iter(process.stderr.readline, "")
        )
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    lines = out.split("\n")
    assert lines[-2:] == ["interrupted", ""]
    assert len(lines[:-2]) == 10
    assert all(" answer " in line for line in lines[:-2])
    assert "Warning" not in err
    assert process.returncode == 0


def test_the_first_ctrl_c_waits_for_requests_in_flight_and_none_is_repeated(
    demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived, answered = threading.Semaphore(0), threading.Event()

    def plan(call: Call) -> None:
        if call.number > 3:
            arrived.release()
            answered.wait(timeout=60)

    environment = {**os.environ, "MEDICAL_TASKS_DATA": str(demos)}
    with FaultServer(plan) as server:
        command = [sys.executable, "-m", "medical_tasks", "run", "--tasks", "medcalc"]
        command += ["--config", "demo", "--max-samples", "9"]
        command += ["--model", "openai-api/host/m", "--model-args"]
        command += [f"base_url={server.base_url},concurrency=4"]
        command += ["--out", str(tmp_path / "run")]
        process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        for _ in range(4):
            assert arrived.acquire(timeout=60)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any("stopping: waiting for 4 requests" in line for line in lines)
        answered.set()
        assert "stopped. Finished work is kept" in process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert len(server.prompts) == 7
        monkeypatch.setenv("MEDICAL_TASKS_DATA", str(demos))
        assert main(command[3:]) == 0
        assert len(server.prompts) == len(set(server.prompts)) == 9


# Names, variables, arguments.


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    for name in ("MY_HOST_BASE_URL", "MY_HOST_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


def test_open_reads_the_environment(host: Callable[[str, str], None]) -> None:
    host("MY_HOST_BASE_URL", "http://10.0.0.5:8000/v1/")
    host("MY_HOST_API_KEY", "sk-secret")
    model = open_endpoint("openai-api/my-host/org/model-7b", options={})
    assert model.name == "openai-api/my-host/org/model-7b"
    assert model.endpoint == "http://10.0.0.5:8000/v1"
    assert model.is_main
    assert model.share(["a"]) == ["a"]
    assert model.identity == {
        "backend": "openai-api",
        "model": "org/model-7b",
        "base_url": "http://10.0.0.5:8000/v1",
        "temperature": "0.0",
    }
    model.close()


def test_settings_that_change_no_answer_are_not_in_the_identity() -> None:
    def identity(**options: str) -> Mapping[str, str]:
        return open_endpoint(
            "openai-api/x/m", options={"base_url": "http://127.0.0.1:1/v1", **options}
        ).identity

    plain = identity()
    assert plain["temperature"] == "0.0"
    assert (
        identity(concurrency="99", timeout="5", total_time="9", max_retries="0")
        == plain
    )
    warm = identity(temperature="0.7", top_p="0.9", seed="3")
    assert warm == {**plain, "temperature": "0.7", "top_p": "0.9", "seed": "3"}
    assert "temperature" not in identity(temperature="none")


def test_messages_about_missing_variables_have_their_export_lines(
    host: Callable[[str, str], None],
) -> None:
    with pytest.raises(MissingError) as caught:
        open_endpoint("openai-api/my-host/m", options={})
    assert "export MY_HOST_BASE_URL=http://127.0.0.1:8000/v1" in str(caught.value)
    assert "export MY_HOST_API_KEY=" in str(caught.value)
    host("MY_HOST_BASE_URL", "http://127.0.0.1:8000/v1")
    with pytest.raises(MissingError) as caught:
        open_endpoint("openai-api/my-host/m", options={})
    assert "BASE_URL" not in str(caught.value)
    assert "export MY_HOST_API_KEY=" in str(caught.value)
    # An address given as an argument overrides the environment's, and needs no key.
    model = open_endpoint(
        "openai-api/my-host/m", options={"base_url": "http://127.0.0.1:9/v1"}
    )
    assert model.endpoint == "http://127.0.0.1:9/v1"


def test_named_key_variable_and_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLINIC_KEY", raising=False)
    with FaultServer(key="sk-7") as server:
        options = {
            "base_url": server.base_url,
            "api_key_env": "CLINIC_KEY",
            "max_tokens_field": "max_completion_tokens",
        }
        with pytest.raises(MissingError, match="export CLINIC_KEY="):
            open_endpoint("openai-api/my-host/m", options=options)
        monkeypatch.setenv("CLINIC_KEY", "sk-7")
        model = open_endpoint("openai-api/my-host/m", options=options)
        answers(model, numbered(1))
    assert "sk-7" not in str(model.identity)
    assert server.calls[0].body["max_completion_tokens"] == 16
    assert "max_tokens" not in server.calls[0].body


@pytest.mark.parametrize(
    "name",
    [
        "openai-api/host",
        "openai-api/host/",
        "openai-api//m",
        "hf/x",
        "",
        "openai-api/9.9/m",
    ],
)
def test_malformed_name(name: str) -> None:
    message = (
        r"a host alias starts with a letter.*got '9.9'"
        if "9.9" in name
        else "openai-api/<host alias>/<model>, got"
    )
    with pytest.raises(UsageError, match=message):
        open_endpoint(name, options={})


@pytest.mark.parametrize(("name", "value", "message"), CASES["malformed_argument"])
def test_malformed_argument(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_endpoint(
            "openai-api/x/m",
            options={"base_url": "http://127.0.0.1:1/v1"} | {name: value},
        )


def test_openai_needs_only_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert chat_settings("openai", "gpt-4o", {}).base_url == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert chat_settings("openai", "gpt-4o", {}).base_url == "http://127.0.0.1:9/v1"
