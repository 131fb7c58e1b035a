from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.models.base import Length, Request
from medical_tasks.models.chat_client import ChatSettings
from medical_tasks.models.checkpoint import Checkpoint
from medical_tasks.models.endpoint import EndpointModel, FolderTokens, open_endpoint
from medical_tasks.models.server import (
    ServedModel,
    open_served,
    vllm_context,
    writes_as_folder,
)
from medical_tasks.spec import Message
from tests.case_tables import tabled
from tests.fault_server import Fault
from tests.models.local_runs import reference
from tests.models.toy_server import ToyServer, model_at, program, together
from tests.models.toy_texts import CASES, TEXTS, change_json

CHOICES = ("chest pain on exertion", "fever", "a creatinine of 1.4 mg/dL")
TOKENIZE, MODELS = "/tokenize", "/v1/models"


def question(
    index: int, *, size: int = 100, continuations: tuple[str, ...] = ()
) -> Request:
    system: list[Message] = (
        [Message(role="system", content="Be brief.")] if index % 2 else []
    )
    return Request(
        key=f"q{index}",
        messages=(*system, Message(role="user", content=TEXTS[index])),
        max_new_tokens=0 if continuations else size,
        continuations=continuations,
    )


def sizes(folder: Path, requests: Sequence[Request]) -> list[int]:
    """Prompt lengths by the toy's chat template, written out."""
    _, tokenizer = reference(folder)
    texts = [
        "<s>"
        + "".join(
            f"<|{turn['role']}|>{turn['content']}</s>" for turn in request.messages
        )
        + "<|assistant|>"
        for request in requests
    ]
    return [
        len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts
    ]


def expected_lengths(
    folder: Path, requests: Sequence[Request], *, context: int = 4096
) -> list[Length]:
    return [Length(tokens=size, room=context - 100) for size in sizes(folder, requests)]


def test_lengths_by_the_servers_tokenizer(toy_model: Path) -> None:
    requests = [question(index) for index in range(12)]
    with ToyServer(toy_model, context=300, plan=together(3)) as server:
        model = model_at(server)
        assert model.lengths(requests) == expected_lengths(
            toy_model, requests, context=300
        )
        assert model.lengths(requests[:2]) == expected_lengths(
            toy_model, requests[:2], context=300
        )
    assert len(server.paths(MODELS)) == 1
    assert len(server.paths(TOKENIZE)) == 14
    assert server.paths(TOKENIZE)[0] == {
        "model": "toy", "messages": [dict(turn) for turn in requests[0].messages], "add_generation_prompt": True,
    }  # fmt: skip
    assert 1 < server.most_at_once <= 4


def test_continuations_are_counted_once(toy_model: Path) -> None:
    requests = [question(index, continuations=CHOICES) for index in range(5)]
    _, tokenizer = reference(toy_model)
    longest = max(
        len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in CHOICES
    )
    with ToyServer(toy_model) as server:
        model = model_at(server)
        # A text is sent and the server generates a token after it; a letter is that
        # token.
        lengths = model.lengths(requests)
        assert lengths == [
            Length(tokens=size + longest, room=4095)
            for size in sizes(toy_model, requests)
        ]
        letters = model.lengths([question(0, continuations=("A", "B"))])
    assert letters == [Length(tokens=sizes(toy_model, requests[:1])[0] + 1, room=4096)]
    alone = [body for body in server.paths(TOKENIZE) if "prompt" in body]
    assert sorted(body["prompt"] for body in alone) == sorted([*CHOICES, "A", "B"])
    assert all(body["add_special_tokens"] is False for body in alone)


def test_a_tokenizers_folder_gives_the_lengths_of_the_server(toy_model: Path) -> None:
    requests = [
        question(index, continuations=CHOICES if index % 3 else ())
        for index in range(8)
    ]
    with ToyServer(toy_model) as server:
        by_server = model_at(server).lengths(requests)
        sent = len(server.calls)
        by_folder = model_at(
            server, about={"context": 4096, "tokens": FolderTokens(toy_model)}
        ).lengths(requests)
        assert len(server.calls) == sent
    assert by_folder == by_server
    assert all(length is not None for length in by_folder)


def test_the_users_context_overrides_the_servers_and_that_the_folders(
    toy_model: Path,
) -> None:
    requests = [question(0)]
    with ToyServer(toy_model, context=300) as server:
        for more, context in (
            ({"context": 250}, 250),
            ({"tokens": FolderTokens(toy_model)}, 300),
        ):
            assert model_at(server, about=more).lengths(requests) == expected_lengths(
                toy_model, requests, context=context
            )
    with ToyServer(toy_model, context=None) as server:
        assert model_at(server, about={"tokens": FolderTokens(toy_model)}).lengths(
            requests
        ) == expected_lengths(toy_model, requests)
        assert server.paths(TOKENIZE) == []


@pytest.mark.parametrize(
    "body", [None, [], {}, {"data": {}}, {"data": ["toy"]}, {"data": [{"id": "toy", "max_model_len": "many"}]},
             {"data": [{"id": "toy", "max_model_len": True}]}, {"data": [{"id": "toy", "max_model_len": 0}]}],
)  # fmt: skip
def test_a_server_that_names_no_context_receives_no_text(
    toy_model: Path, body: Any
) -> None:
    requests = [question(index) for index in range(5)]
    plan = lambda call: None if body is None else Fault.json_body(body)  # noqa: E731
    with ToyServer(toy_model, plan=plan, context=None) as server:
        model = model_at(server)
        assert model.lengths(requests) == model.lengths(requests) == [None] * 5
    assert [call.path for call in server.calls] == [MODELS]


@pytest.mark.parametrize(
    "fault",
    [
        Fault.status_code(404), Fault.status_code(400), Fault.status_code(401), Fault.status_code(422),
        Fault.json_body({"tokens": [1, 2]}), Fault.json_body({"count": 0}), Fault.json_body({"count": None}),
        Fault.json_body([3]),
    ],
)  # fmt: skip
def test_a_server_that_cannot_count_receives_one_text(
    toy_model: Path, fault: Fault
) -> None:
    requests = [question(index, continuations=CHOICES) for index in range(5)]
    plan = lambda call: fault if call.path == TOKENIZE else None  # noqa: E731
    with ToyServer(toy_model, plan=plan) as server:
        model = model_at(server)
        assert model.lengths(requests) == model.lengths(requests) == [None] * 5
    assert len(server.paths(TOKENIZE)) == 1


def test_a_text_that_is_not_counted_has_no_length(toy_model: Path) -> None:
    requests = [question(index) for index in range(6)]
    plan = lambda call: Fault.status_code(500) if TEXTS[3] in str(call.body) else None  # noqa: E731
    with ToyServer(toy_model, plan=plan) as server:
        lengths = model_at(server).lengths(requests)
    assert lengths[3] is None
    assert [
        length for index, length in enumerate(lengths) if index != 3
    ] == expected_lengths(toy_model, requests[:3] + requests[4:])


def test_lone_surrogates_are_measured(toy_model: Path) -> None:
    odd = Request(
        key="k",
        messages=(Message(role="user", content="a\ud800b"),),
        max_new_tokens=1,
        continuations=("x\udfff y",),
    )
    with ToyServer(toy_model) as server:
        by_server = model_at(server).lengths([odd])
        by_folder = model_at(
            server, about={"context": 4096, "tokens": FolderTokens(toy_model)}
        ).lengths([odd])
    assert by_server == by_folder != [None]


@pytest.mark.parametrize(
    ("base", "models", "tokenize"), CASES["addresses_beside_the_base_url"]
)
def test_addresses_beside_the_base_url(base: str, models: str, tokenize: str) -> None:
    replies = [
        Fault.json_body({"data": [{"id": "toy", "max_model_len": 50}]}),
        Fault.json_body({"count": 7}),
    ]
    with ToyServer(Path(), plan=lambda call: replies[call.number - 1]) as server:
        settings = ChatSettings(
            base_url=server.base_url.removesuffix("/v1") + base, model="toy"
        )
        model = EndpointModel("openai-api/x/toy", settings, sampling={})
        assert model.lengths([question(0, size=10)]) == [Length(tokens=7, room=40)]
    assert [call.path for call in server.calls] == [models, tokenize]


def test_server_on_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with ToyServer(
        Path(), plan=lambda call: Fault.json_body({"count": 7}), socket_path=path
    ) as server:
        settings = ChatSettings(
            base_url=f"http+unix://{str(path).replace('/', '%2F')}/v1", model="toy"
        )
        with policy.protect([policy.Subject.of(DATASET)]):
            model = EndpointModel("openai-api/x/toy", settings, sampling={}, context=50)
            assert model.lengths([question(0, size=10)]) == [Length(tokens=7, room=40)]
    assert [call.path for call in server.calls] == [TOKENIZE]


def test_messages_about_folders_that_cannot_measure_chats(
    toy_copy: Path, tmp_path: Path
) -> None:
    options = {
        "base_url": "http://127.0.0.1:1/v1",
        "context": "200",
        "tokenizer": str(toy_copy),
    }
    with pytest.raises(
        MissingError,
        match="no tokenizer_config.json there.*folder of the served model's tokenizer",
    ):
        open_endpoint("openai-api/x/m", options={**options, "tokenizer": str(tmp_path)})
    (toy_copy / "chat_template.jinja").unlink()
    with pytest.raises(
        UsageError, match="no chat template.*folder of the model that is served"
    ):
        open_endpoint("openai-api/x/m", options=options).lengths([question(0)])
    (toy_copy / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError, match="does not load with transformers"):
        open_endpoint("openai-api/x/m", options=options).lengths([question(0)])


# Servers started for the run.


def served(kind: str, folder: Path, tmp_path: Path, **options: str) -> ServedModel:
    if kind == "vllm-server":
        options |= {
            "executable": str(program(tmp_path / "bin" / "vllm")),
            "device": "cpu",
            "start_timeout": "20",
        }
    model = open_served(f"{kind}/{folder}", options=options, log_dir=tmp_path / "logs")
    assert isinstance(model, ServedModel)
    return model


@tabled("kind", "options", "context")
def test_the_models_folder_gives_lengths_without_a_server(
    kind: str, options: dict[str, str], context: int, toy_model: Path, tmp_path: Path
) -> None:
    requests = [question(index) for index in range(3)]
    model = served(kind, toy_model, tmp_path, **options)
    assert model.lengths(requests) == expected_lengths(
        toy_model, requests, context=context
    )
    assert model.lengths([]) == []
    assert not (tmp_path / "logs").exists()


def test_a_server_is_started_only_if_the_folder_gives_no_lengths(
    toy_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    model = served(
        "vllm-server", toy_model, tmp_path, flags="--chat-template other.jinja"
    )
    with pytest.raises(MissingError, match="exit code 1"):
        model.lengths([question(0)])
    assert model.lengths([]) == []


def test_a_transformers_server_is_not_started_for_lengths(
    toy_copy: Path, tmp_path: Path
) -> None:
    change_json(toy_copy, "config.json", max_position_embeddings=None)
    model = served("transformers-server", toy_copy, tmp_path)
    assert model.lengths([question(0)]) == [None]
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("flags", "config", "tokenizer", "context"), CASES["vllm_context"]
)
def test_vllm_context(
    tmp_path: Path,
    flags: str,
    config: dict[str, Any],
    tokenizer: dict[str, Any],
    context: int | None,
) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({"max_position_embeddings": 4096, **config})
    )
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    assert (
        vllm_context(flags.split(), Checkpoint(folder=tmp_path, label="m", revision=""))
        == context
    )


@pytest.mark.parametrize(("flags", "same"), CASES["writes_as_folder"])
def test_writes_as_folder(flags: str, same: bool) -> None:
    assert writes_as_folder(flags.split()) is same
