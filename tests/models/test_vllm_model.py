"""`vllm/...` as far as it works without a GPU. With vLLM installed, lighteval's code runs over a stand-in engine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Answer, ChoiceScores, Failure
from medical_tasks.models.checkpoint import find_checkpoint
from medical_tasks.models.lighteval_models import (
    generation_settings,
    open_vllm,
    vllm_settings,
)
from medical_tasks.models.opener import VLLM_OPTIONS, read_options
from tests.models.choice_runs import choose
from tests.models.local_runs import results
from tests.models.toy_texts import CASES, TEXTS, ask, change_json

pytestmark = pytest.mark.slow

HAS_VLLM = importlib.util.find_spec("vllm") is not None
needs_vllm = pytest.mark.skipif(
    not HAS_VLLM, reason="vLLM is in the second environment: make check-vllm"
)
without_vllm = pytest.mark.skipif(HAS_VLLM, reason="vLLM is installed here")


@without_vllm
def test_without_vllm_the_message_has_the_install_command(toy_model: Path) -> None:
    with pytest.raises(
        MissingError,
        match=r"(?s)it is not installed.*make env-vllm.*'lighteval\[vllm\].*vllm-server/",
    ):
        open_vllm(f"vllm/{toy_model}", options={})


@needs_vllm
def test_unsuitable_machines_are_refused_before_anything_is_read(
    tmp_path: Path, toy_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lighteval.utils import imports

    with pytest.raises(
        MissingError, match=r"this vLLM needs a GPU, and torch finds none.*--model hf/"
    ):
        open_vllm(f"vllm/{tmp_path / 'nowhere'}", options={})
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        UsageError,
        match=r"vLLM starts its own workers.*WORLD_SIZE=2.*tensor_parallel_size",
    ):
        open_vllm(f"vllm/{toy_model}", options={})
    monkeypatch.setattr(imports, "is_package_available", lambda name: False)
    with pytest.raises(
        MissingError, match=r"lighteval cannot use vLLM \d.*'lighteval\[vllm\]"
    ):
        open_vllm(f"vllm/{toy_model}", options={})


@pytest.mark.parametrize(("options", "message"), CASES["bad_vllm_options"])
def test_messages_about_bad_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_vllm("vllm/x", options=options)


def test_every_option_reaches_lightevals_configuration(toy_model: Path) -> None:
    from lighteval.models.model_input import GenerationParameters
    from lighteval.models.vllm.vllm_model import VLLMModelConfig

    (options,) = CASES["every_vllm_option"]
    values = read_options(options, VLLM_OPTIONS, model="vllm/x")
    settings = vllm_settings(
        values, find_checkpoint(str(toy_model), revision=None), name="vllm/x"
    )
    config = VLLMModelConfig(
        **settings,
        generation_parameters=GenerationParameters(**generation_settings(values)),
    )
    in_parameters = ("temperature", "top_p", "top_k", "repetition_penalty")
    for name in set(options) - set(in_parameters):
        assert str(getattr(config, name)) == options[name], name
    assert [
        str(getattr(config.generation_parameters, name)) for name in in_parameters
    ] == [
        "0.6",
        "0.95",
        "20",
        "1.1",
    ]
    assert config.generation_parameters.seed == 7
    assert config.generation_parameters.max_new_tokens is None
    assert config.override_chat_template is False
    assert config.model_name == str(toy_model)


def test_context_and_type_come_from_the_model(toy_copy: Path) -> None:
    def settings(**values: Any) -> dict[str, Any]:
        return vllm_settings(
            values, find_checkpoint(str(toy_copy), revision=None), name="vllm/toy"
        )

    assert (settings()["max_model_length"], settings()["dtype"]) == (4096, "float32")
    assert settings(max_model_length=512)["max_model_length"] == 512
    change_json(toy_copy, "config.json", dtype="bfloat16", max_position_embeddings=None)
    with pytest.raises(
        UsageError,
        match=r"vllm/toy: its config\.json names no context length.*max_model_length=N",
    ):
        settings()
    assert settings(max_model_length=512)["dtype"] == "bfloat16"


class Engine:
    """A stand-in for vLLM's engine: the answer is a fixed text and the end token, cut at the requested length."""

    instances: ClassVar[list[Engine]] = []

    def __init__(self, **arguments: Any) -> None:
        from transformers import AutoTokenizer

        self.arguments = arguments
        self.calls: list[dict[str, Any]] = []
        self.tokenizer = AutoTokenizer.from_pretrained(arguments["model"])
        Engine.instances.append(self)

    def generate(
        self, *, prompt_token_ids: list[list[int]], sampling_params: Any, use_tqdm: bool
    ) -> list[Any]:
        self.calls.append(
            {"prompts": prompt_token_ids, "sampling": sampling_params, "bar": use_tqdm}
        )
        ids = self.tokenizer("walks without a stick", add_special_tokens=False)[
            "input_ids"
        ]
        tokens = [*ids, self.tokenizer.eos_token_id][: sampling_params.max_tokens]
        text = self.tokenizer.decode(tokens, skip_special_tokens=True)
        # vLLM's form of the prompt's log-probabilities: nothing for the first token;
        # the numbers are derived from the token's id.
        logprobs = [
            [
                None,
                *(
                    {token: SimpleNamespace(logprob=-token / 1000, rank=1)}
                    for token in prompt[1:]
                ),
            ]
            for prompt in prompt_token_ids
        ]
        if sampling_params.prompt_logprobs:
            return [
                SimpleNamespace(prompt_token_ids=p, prompt_logprobs=k)
                for p, k in zip(prompt_token_ids, logprobs, strict=True)
            ]
        return [
            SimpleNamespace(
                prompt_token_ids=prompt,
                outputs=[SimpleNamespace(token_ids=tokens, text=text)],
            )
            for prompt in prompt_token_ids
        ]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    import torch
    from lighteval.models.vllm import vllm_model as backend

    Engine.instances = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(backend, "LLM", Engine)
    return Engine


@needs_vllm
def test_lightevals_answers_over_a_stand_in_engine(
    toy_model: Path, engine: type[Engine]
) -> None:
    before = sorted(toy_model.rglob("*"))
    model: Any = open_vllm(
        f"vllm/{toy_model}",
        options={
            "max_model_length": "100",
            "chunk_size": "8",
            "tensor_parallel_size": "2",
        },
    )
    requests = [
        ask(f"q{index}", text, size=24) for index, text in enumerate(TEXTS[:21])
    ]
    requests += [
        ask("short", TEXTS[0], size=2),
        ask("stop", TEXTS[0], stop=("without",)),
        ask("long", "fever " * 200),
    ]
    by_key = results(model, requests)
    assert len(by_key) == 24
    assert isinstance(by_key["long"], Failure)
    whole, short, stopped = by_key["q3"], by_key["short"], by_key["stop"]
    assert isinstance(whole, Answer)
    assert (whole.text, whole.finish) == ("walks without a stick", "stop")
    assert isinstance(short, Answer)
    assert (short.finish, short.output_tokens) == ("length", 2)
    assert isinstance(stopped, Answer)
    assert (stopped.text, stopped.finish) == ("walks ", "stop")

    (started,) = engine.instances
    assert started.arguments["max_model_len"] == 100
    assert started.arguments["tensor_parallel_size"] == 2
    assert sorted(len(call["prompts"]) for call in started.calls) == [1, 1, 5, 8, 8]
    for call in started.calls:
        assert call["sampling"].temperature == 0
        assert call["bar"] is False
    prompts = {tuple(prompt) for call in started.calls for prompt in call["prompts"]}
    layout = model.setup.layout
    assert prompts == {
        layout.tokens(layout.render(request.messages))
        for request in requests
        if request.key != "long"
    }
    assert all(prompt.count(started.tokenizer.bos_token_id) == 1 for prompt in prompts)
    assert model.identity["backend"] == "vllm"
    assert "vllm 0.10" in model.identity["engine"]
    assert sorted(toy_model.rglob("*")) == before
    model.close()


@needs_vllm
def test_lightevals_log_likelihoods_over_a_stand_in_engine(
    toy_model: Path, engine: type[Engine]
) -> None:
    model: Any = open_vllm(
        f"vllm/{toy_model}", options={"max_model_length": "100", "chunk_size": "8"}
    )
    layout = model.setup.layout
    requests = [
        choose(f"q{index}", text, ("A", "chest pain", " "))
        for index, text in enumerate(TEXTS[:5])
    ]
    by_key = results(
        model,
        [
            *requests,
            choose("long", "fever " * 200),
            choose("empty", "fever", ("A", "")),
        ],
    )
    assert len(by_key) == 7
    for key, reason in (
        ("long", "prompt too long"),
        ("empty", "choice without tokens"),
    ):
        failure = by_key[key]
        assert isinstance(failure, Failure)
        assert failure.reason == reason
    prompts: set[tuple[int, ...]] = set()
    for request in requests:
        answer = by_key[request.key]
        assert isinstance(answer, Answer)
        text = layout.render(request.messages)
        wholes = [
            layout.tokens(text + continuation) for continuation in request.continuations
        ]
        parts = [whole[len(layout.tokens(text)) :] for whole in wholes]
        scores = ChoiceScores.from_text(answer.text)
        assert scores.tokens == tuple(map(len, parts))
        assert scores.logprobs == pytest.approx(
            [-sum(answer_tokens) / 1000 for answer_tokens in parts]
        )
        prompts |= set(wholes)
    (started,) = engine.instances
    assert [len(call["prompts"]) for call in started.calls] == [8, 7]
    assert {
        tuple(prompt) for call in started.calls for prompt in call["prompts"]
    } == prompts
    assert all(call["sampling"].prompt_logprobs == 1 for call in started.calls)
    # vLLM needs room for the one token that it generates.
    (length,) = model.lengths([choose("", "fever", ("A",))])
    assert length.room == 99
    model.close()


@needs_vllm
def test_with_data_parallelism_all_prompts_are_one_chunk(
    toy_model: Path, engine: type[Engine]
) -> None:
    # lighteval loads the model again, in every process, for each chunk.
    model: Any = open_vllm(f"vllm/{toy_model}", options={"data_parallel_size": "2"})
    assert engine.instances == []
    assert model._chunk_size([]) is None
    assert model._texts_at_once([]) is None


@needs_vllm
def test_the_message_about_an_engine_that_does_not_start(
    toy_model: Path, engine: type[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, **arguments: Any) -> None:
        raise RuntimeError("Engine core initialization failed.")

    monkeypatch.setattr(engine, "__init__", fail)
    with pytest.raises(
        UsageError,
        match=r"vLLM did not start: Engine core.*\n.*lower max_model_length \(now 4096\)",
    ):
        open_vllm(f"vllm/{toy_model}", options={})
