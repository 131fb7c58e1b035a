from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from medical_tasks.cli.entry import main
from medical_tasks.errors import MissingError, RefusedError, UsageError
from medical_tasks.guard import policy
from medical_tasks.models.base import Answer, Failure
from medical_tasks.models.endpoint import EndpointModel, open_endpoint
from medical_tasks.models.opener import deciding_args
from tests.fault_server import Call, Fault, FaultServer
from tests.models.local_runs import results
from tests.models.toy_server import model_at
from tests.models.toy_texts import NOTES, numbered


class Replica(FaultServer):
    """A server that lists its model; `refused`: the numbers of the requests whose connection it closes."""

    lists_models = True
    model, length = "toy", 4096
    refused: Sequence[int] = ()
    held: threading.Event | None = None

    def good(self, call: Call) -> Fault:
        if call.number in self.refused:
            return Fault.refuse()
        if call.path == "/v1/models":
            return Fault.json_body(
                {"data": [{"id": self.model, "max_model_len": self.length}]}
            )
        assert self.held is None or self.held.wait(30)
        return super().good(call)

    @property
    def chats(self) -> list[str]:
        return [
            call.prompt for call in self.calls if call.path == "/v1/chat/completions"
        ]


def over(*servers: Replica, **more: Any) -> EndpointModel:
    return model_at(
        servers[0], replicas=tuple(server.base_url for server in servers[1:]), **more
    )


QUESTIONS = numbered(60)


def test_idle_replicas_get_more_requests_and_a_killed_one_loses_no_answer(
    capfd: pytest.CaptureFixture[str],
) -> None:
    outcomes: list[Answer | Failure] = []
    with Replica() as quick, Replica() as slow, ExitStack() as life:
        killed = life.enter_context(Replica())
        slow.held = held = threading.Event()
        model = over(quick, slow, killed, concurrency=6)

        def take(result: Answer | Failure) -> None:
            outcomes.append(result)
            if len(outcomes) == 20:
                life.close()
            if len(outcomes) == len(QUESTIONS) - 3:
                held.set()  # all others are answered

        model.generate(QUESTIONS, take)
    assert sorted(item.key for item in outcomes) == sorted(
        item.key for item in QUESTIONS
    )
    assert all(isinstance(item, Answer) for item in outcomes)
    assert len(slow.chats) <= 3 < len(quick.chats)
    assert (
        capfd.readouterr().err
        == f"note: {killed.base_url} does not answer; continuing with 2 of 3\n"
    )


def test_a_replica_that_answers_again_is_used_unless_its_model_changed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medical_tasks.models.wire.FIRST_ABSENCE_S", 0.0)
    # With one request at a time and no waits the order is certain: of two idle replicas
    # the first gets it.
    with Replica() as first, Replica() as second:
        first.refused = (4, 5, 6)  # the list of models and two questions were answered
        model = over(first, second, concurrency=1)
        assert all(
            isinstance(outcome, Answer)
            for outcome in results(model, QUESTIONS[:8]).values()
        )
        assert second.chats == [f"question {i}" for i in (2, 3, 4)]
        second.model, first.refused = "other", range(12, 99)
        second.refused = range(5, 6)  # it stops, and another server has the port
        with pytest.raises(MissingError, match="nothing answers at"):
            results(model, QUESTIONS[8:])
    assert second.chats[3:] == ["question 9"]
    notes = capfd.readouterr().err.splitlines()
    assert [note.partition(" ")[2].partition(";")[0] for note in notes] == [
        f"{first.base_url} does not answer", f"{first.base_url} answers again", f"{first.base_url} does not answer",
        f"{second.base_url} does not answer",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "length"), [("other", 4096), ("toy", 2048)])
def test_replicas_that_serve_another_model_or_length_are_refused_at_once(
    name: str, length: int
) -> None:
    with Replica() as first, Replica() as second:
        second.model, second.length = name, length
        with pytest.raises(
            UsageError, match=f"must serve the same.*{first.base_url}.*4096.*{name}"
        ):
            results(over(first, second), QUESTIONS)
    assert not first.chats + second.chats


@pytest.mark.usefixtures("demo_home")
def test_a_run_continues_with_other_replicas(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = "run --tasks medcalc --config demo --out run --model openai-api/host/toy"

    def run(*urls: str, more: str = "") -> int:
        args = f"base_url={' '.join(urls)},max_retries=0{more}"
        return main([*command.split(), "--model-args", args])

    with Replica() as first, Replica() as second:
        first.refused = second.refused = range(5, 999)
        assert run(first.base_url, second.base_url, more=",concurrency=2") == 3
        assert (
            f"nothing answers at {first.base_url}, {second.base_url} (model 'toy')"
            in capsys.readouterr().err
        )
        answered = set(first.chats[:3] + second.chats[:3])
        first.refused = ()
        assert run(second.base_url, first.base_url) == 0
        assert not answered & set(first.chats[4:])
        count = len(first.chats)
        assert run(first.base_url, more=",served=toy") == 0
        assert len(first.chats) == count
        assert run(first.base_url) == 2


def test_the_data_guard_checks_every_replica() -> None:
    far = "http://api.remote.example/v1"
    with Replica() as near, policy.protect([NOTES]):
        model = model_at(near, replicas=(far,))
        for ask_it in (
            lambda: policy.require_endpoint(model.endpoint, "model"),
            lambda: results(model, QUESTIONS),
        ):
            with pytest.raises(RefusedError, match="api.remote.example"):
                ask_it()
    assert near.calls == []


def test_several_addresses_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "MY_HOST_BASE_URL", "http://a:1/v1/, http://b:1/v1\nhttp+unix://%2Ftmp%2Fc/v1"
    )
    monkeypatch.setenv("MY_HOST_API_KEY", "k")
    model = open_endpoint("openai-api/my-host/m", options={})
    assert model.endpoint == "http://a:1/v1 http://b:1/v1 http+unix://%2Ftmp%2Fc/v1"
    assert model.identity == {
        "backend": "openai-api",
        "model": "m",
        "served": "m",
        "temperature": "0.0",
    }
    with model.asking() as settings:
        assert settings.concurrency == 48


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        ("http://a/v1 http://a/v1/", "given twice"),
        ("http://a/v1,b:1/v1", "white space between"),
        (",", "not set up"),
    ],
)
def test_messages_about_wrong_addresses(urls: str, message: str) -> None:
    with pytest.raises((UsageError, MissingError), match=message):
        open_endpoint("openai-api/my-other/m", options={"base_url": urls})


@pytest.mark.parametrize(
    "args",
    [{"base_url": "http://a http://b"}, {"base_url": "http://c", "served": "m"}],
)
def test_addresses_of_a_named_model_decide_no_answer(args: dict[str, str]) -> None:
    assert deciding_args("openai-api/my-host/m", args) == {}
