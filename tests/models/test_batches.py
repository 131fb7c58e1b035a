"""Batches at a provider: their requests, results and recovery. Whole commands are in `tests/cli/test_run_batches.py`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from medical_tasks.errors import MissingError, RefusedError
from medical_tasks.guard.policy import protect
from medical_tasks.models.base import Answer, Failure, Request
from medical_tasks.models.batch_journal import JOURNAL, Entry, Journal, batches_of
from medical_tasks.models.batch_provider import Line, Provider
from medical_tasks.models.chat_client import ChatSettings
from tests.models.fake_batches import FakeBatches, Refused
from tests.models.local_runs import answers, results
from tests.models.toy_server import model_at
from tests.models.toy_texts import NOTES, numbered

SOME = numbered(4)


def batched(
    server: FakeBatches, folder: Path, requests: list[Request]
) -> dict[str, Answer]:
    model = model_at(server, batch_poll=0.001)
    model.ask_in_batches(folder / JOURNAL)
    return answers(model, requests)


def test_answers_are_those_of_requests_one_by_one(tmp_path: Path) -> None:
    with FakeBatches() as server:
        assert batched(server, tmp_path, SOME) == answers(model_at(server), SOME)
        (file,) = [
            stored for stored in server.files.values() if stored.name.endswith(".jsonl")
        ]
    # The first question is a separate request; those of the batch have its form.
    by_itself, *others = [call.body for call in server.calls[: len(SOME)]]
    assert {frozenset(body) for body in others} == {frozenset(by_itself)}
    lines = [json.loads(line) for line in file.content.splitlines()]
    assert [line["custom_id"] for line in lines] == [
        request.key for request in SOME[1:]
    ]
    # The journal has ids and keys, and no text.
    written = (tmp_path / JOURNAL).read_text()
    assert "question" not in written
    assert (tmp_path / JOURNAL).stat().st_mode & 0o077 == 0
    (batch,) = batches_of(tmp_path / "answers.sqlite", "model", "answer")
    assert batch == {"id": "batch_1", "requests": 3, "status": "completed"}


def test_stop_words_that_a_server_refuses_cut_the_answers_of_a_batch_too(
    tmp_path: Path,
) -> None:
    def no_stop(body: object) -> Refused | None:
        refused = "Unsupported parameter: 'stop' is not supported with this model."
        return Refused(400, refused) if "stop" in dict(body) else None  # type: ignore[call-overload]

    requests = numbered(3, stop=("END",))
    with FakeBatches(line=no_stop, answer=lambda _: "It is 5. END And so on") as server:
        model = model_at(server, batch_poll=0.001)
        model._settings.adaptations.own = frozenset({"stop"})
        model.ask_in_batches(tmp_path / JOURNAL)
        by_key = answers(model, requests)
    assert {answer.text for answer in by_key.values()} == {"It is 5. "}
    assert all(answer.adapted == {"stop": "left out"} for answer in by_key.values())


def test_a_failed_line_has_the_class_of_a_failed_request(tmp_path: Path) -> None:
    faults = {
        "question 1": Refused(400, "maximum context length is 8 tokens"),
        "question 2": Refused(500, "The server had an error"),
        "question 3": Refused(400, "no such thing as 'question 3'"),
    }
    with FakeBatches(
        line=lambda body: faults.get(body["messages"][-1]["content"])
    ) as server:
        model = model_at(server, batch_poll=0.001)
        model.ask_in_batches(tmp_path / JOURNAL)
        outcomes = results(model, SOME)
    failed = {
        key: outcome
        for key, outcome in outcomes.items()
        if isinstance(outcome, Failure)
    }
    assert {key: outcome.reason for key, outcome in failed.items()} == {
        "k1": "prompt too long",
        "k2": "http 500",
        "k3": "http 400",
    }
    assert "question 3" not in failed["k3"].detail


def test_a_batch_is_found_after_a_page_of_newer_ones() -> None:
    with FakeBatches() as server:
        settings = ChatSettings(base_url=server.base_url, model="toy")
        provider = Provider(settings)
        own_entries: list[Entry] = []
        for number in range(103):
            entry = Entry(
                id=f"own{number}",
                address=server.base_url,
                model="toy",
                purpose="model",
                created=0,
                keys=[["k"]],
                requests=1,
            )
            body = {"model": "toy", "messages": [{"role": "user", "content": "x"}]}
            if number < 2:
                entry.file = provider.upload(entry, [Line(keys=("k",), body=body)])
                entry.batch = provider.create(entry)
                own_entries.append(entry)
            else:
                other = replace(
                    server.batches["batch_1"], id=f"other{number}", file="", metadata={}
                )
                server.batches[other.id] = other
        first, second = own_entries
        assert provider.find_batch(first) == "batch_1"
        second.file = ""
        assert provider.find_batch(second) == "batch_2"  # by its metadata alone
        assert provider.find_file(second) == "file-2"
        assert (
            provider.find_batch(Entry(**{**vars(first), "id": "none", "file": "none"}))
            == ""
        )


def test_an_unreachable_server_leaves_the_journal_empty(
    tmp_path: Path,
) -> None:
    with FakeBatches() as server:
        model = model_at(server, batch_poll=0.001, max_retries=0)
    model.ask_in_batches(tmp_path / JOURNAL)
    with pytest.raises(MissingError, match="nothing answers at"):
        results(model, SOME)
    assert Journal(tmp_path / JOURNAL).entries == []


def test_credentialed_text_is_refused_for_a_batch_before_any_request(
    tmp_path: Path,
) -> None:
    with FakeBatches() as server:
        model = model_at(server)
        model.ask_in_batches(tmp_path / JOURNAL)
        with protect([NOTES]), pytest.raises(RefusedError, match="--batch is refused"):
            results(model, SOME)
    assert server.steps == []
