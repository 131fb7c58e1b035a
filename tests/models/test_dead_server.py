"""Unreachable and slow servers: how often they are tried, and the messages meanwhile."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import medical_tasks.models.call_pool as call_pool
import medical_tasks.models.knock as knock
from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError
from medical_tasks.judges.chat import open_chat
from medical_tasks.models.base import Answer, Failure
from medical_tasks.models.budget import RunBudget
from medical_tasks.models.endpoint import open_endpoint
from tests.fault_server import Fault, FaultServer, first
from tests.judges.scripted import calls
from tests.models.local_runs import results
from tests.models.toy_texts import ask

STEP = "Start the server, or correct the base URL."


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knock, "WAIT_S", 0.0)


@pytest.fixture
def closed() -> str:
    """The address of a port on which no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a port that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def ask_server(urls: str, count: int = 3, **args: str) -> list[Answer | Failure]:
    model = open_endpoint("openai-api/host/m", options={"base_url": urls, **args})
    requests = [ask(f"k{i}", f"q {i}", size=9) for i in range(count)]
    return list(results(model, requests).values())


def waiting(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("waiting for ")]


@pytest.mark.usefixtures("demo_home")
def test_the_message_about_an_unreachable_server_has_address_and_next_step(
    closed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"run --tasks medcalc --config demo --out r --model openai-api/host/m --model-args base_url={closed}"
    assert main(command.split()) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        f"asking 31 questions, up to 2,048 tokens each, at {closed}",
        f"waiting for {closed}: connection refused, attempt 2 of 3",
        f"waiting for {closed}: connection refused, attempt 3 of 3",
    ]
    assert f"nothing answers at {closed} (model 'm'): connection refused" in lines[-1]
    assert STEP in lines[-1]


def test_an_unknown_host_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        MissingError, match=r"nothing answers at http://nobody\.invalid/v1.*" + STEP
    ):
        ask_server("http://nobody.invalid/v1", max_retries="1")
    assert len(waiting(capsys.readouterr().err)) == 1


def test_https_to_a_server_without_encryption_is_an_error_at_once() -> None:
    with FaultServer() as server:
        with pytest.raises(
            MissingError, match=r"nothing answers at https://127.*SSL.*" + STEP
        ):
            ask_server(server.base_url.replace("http://", "https://"), count=1)
        assert server.calls == []


def test_a_silent_server_is_reported_as_slow(
    silent: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(call_pool, "SLOW_S", 0.0)
    outcomes = ask_server(silent, timeout="0.3", max_retries="0")
    assert {type(outcome) for outcome in outcomes} == {Failure}
    assert waiting(capsys.readouterr().err) == [
        f"waiting for {silent} (model 'm'): connected, and no answer yet; "
        "each attempt may take timeout=0.3 s"
    ]


def test_attempts_are_reported_until_the_first_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with FaultServer(first(2, Fault.status_code(503))) as server:
        outcomes = ask_server(server.base_url, count=9, concurrency="1")
        assert [type(outcome) for outcome in outcomes] == [Answer] * 9
        assert len(server.calls) == 27
        assert waiting(capsys.readouterr().err) == [
            f"waiting for {server.base_url}: http 503, attempt {number} of 7"
            for number in (2, 3)
        ]


def test_one_and_both_of_two_replicas_unreachable(
    closed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with FaultServer() as server:
        outcomes = ask_server(f"{closed} {server.base_url}")
        assert [type(outcome) for outcome in outcomes] == [Answer] * 3
        assert (
            f"{closed} does not answer; continuing with 1 of 2"
            in capsys.readouterr().err
        )
        gone = server.base_url
    with pytest.raises(
        MissingError, match=f"{closed}: connection refused; {gone}: connection ref"
    ):
        ask_server(f"{closed} {gone}")


def test_an_unreachable_server_of_a_judge(
    closed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies: list[object] = []
    judge = open_chat("openai-api/host/j", {"base_url": closed}, log_dir=tmp_path)
    with pytest.raises(MissingError, match=f"nothing answers at {closed}.*{STEP}"):
        judge.answer(calls(5), RunBudget(), replies.append)
    assert len(waiting(capsys.readouterr().err)) == 2
    assert replies == []


def test_an_unreachable_server_of_an_inspect_judge(
    closed: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("inspect_ai")
    from medical_tasks.judges.inspect_judge import open_inspect_judge

    monkeypatch.setenv("LOCALX_API_KEY", "none")
    replies: list[object] = []
    judge = open_inspect_judge("inspect/openai-api/localx/m", {"base_url": closed})
    with pytest.raises(MissingError, match=f"nothing answers at {closed}.*{STEP}"):
        judge.answer(calls(5), RunBudget(), replies.append)
    judge.close()
    assert len(waiting(capsys.readouterr().err)) == 2
    assert replies == []


def test_a_server_that_starts_late_is_waited_for(
    closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(closed.rpartition(":")[2].removesuffix("/v1"))
    listening: list[socket.socket] = []

    def start(url: str, trouble: str, attempt: int, tries: int) -> None:
        listening.append(socket.create_server(("127.0.0.1", port)))

    monkeypatch.setattr(knock, "say_waiting", start)
    assert asyncio.run(knock.unreachable([closed])) == {}
    assert len(listening) == 1
    listening[0].close()
