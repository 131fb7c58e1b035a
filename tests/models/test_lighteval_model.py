"""`hf/...` on the toy: the same answers as transformers gives one by one, nothing cut, nothing left behind."""

from __future__ import annotations

import functools
import importlib.util
import json
import shutil
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.base import Answer, Failure, Model, Request
from medical_tasks.models.chunks import Prompt
from medical_tasks.models.lighteval_model import generation_settings, lighteval_settings, open_hf
from medical_tasks.models.local_model import read_answer
from medical_tasks.models.local_options import HF_OPTIONS
from medical_tasks.models.model_options import read_options
from tests.models.toy_texts import TEXTS, ask, change_json

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

Opener = Callable[..., Any]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Opens `hf/` models and closes them at the end."""
    models: list[Model] = []

    def open_it(folder: Path, **options: str) -> Model:
        models.append(open_hf(f"hf/{folder}", options=options))
        return models[-1]

    yield open_it
    for model in models:
        model.close()


@pytest.fixture(scope="module")
def default(toy_model: Path) -> Iterator[Any]:
    """The toy with default options; tests must not change it."""
    model = open_hf(f"hf/{toy_model}", options={})
    yield model
    model.close()


def answers(model: Model, requests: Sequence[Request]) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for result in collect(model, requests):
        assert isinstance(result, Answer), result
        found[result.key] = result
    assert set(found) == {request.key for request in requests}
    return found


def collect(model: Model, requests: Sequence[Request]) -> list[Answer | Failure]:
    results: list[Answer | Failure] = []
    model.generate(requests, results.append)
    assert len(results) == len(requests)
    return results


@functools.cache
def reference(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer of transformers, without lighteval and without the model's own decoding habits."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.eos_token_id)
    return model, tokenizer


def alone(folder: Path, request: Request, **settings: Any) -> list[int]:
    """Answers one prompt by transformers alone; ids up to the end token."""
    import torch

    model, tokenizer = reference(folder)
    batch = tokenizer.apply_chat_template(
        [dict(message) for message in request.messages],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    ids = batch["input_ids"]
    with torch.no_grad():
        rows = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=request.max_new_tokens,
            do_sample=False,
            **settings,
        )
    answer: list[int] = rows[0, ids.shape[1] :].tolist()
    return answer[: answer.index(tokenizer.eos_token_id)] if tokenizer.eos_token_id in answer else answer


def decode(folder: Path, ids: list[int]) -> str:
    text: str = reference(folder)[1].decode(ids, skip_special_tokens=True)
    return text


def count_calls(model: Any) -> list[int]:
    """Notes how many questions each call of lighteval gets."""
    calls: list[int] = []
    inner = model.inner.greedy_until

    def noted(docs: list[Any]) -> Any:
        calls.append(len(docs))
        return inner(docs)

    model.inner.greedy_until = noted
    return calls


QUESTIONS = [ask(f"q{index}", text, system="Be brief." if index % 2 else "") for index, text in enumerate(TEXTS[::8])]


def test_answers_are_those_of_transformers_alone(toy_model: Path, default: Any) -> None:
    assert len(QUESTIONS) == 21
    found = answers(default, QUESTIONS)
    finishes = set()
    for request in QUESTIONS:
        expected = alone(toy_model, request)
        answer = found[request.key]
        assert (answer.text, answer.output_tokens) == (decode(toy_model, expected), len(expected))
        assert answer.finish == ("length" if len(expected) == request.max_new_tokens else "stop")
        finishes.add(answer.finish)
    assert finishes == {"stop", "length"}


@pytest.mark.parametrize(
    "options", [{"batch_size": "1"}, {"batch_size": "5", "chunk_size": "9"}, {"batch_size": "auto"}]
)
def test_batches_and_chunks_change_no_answer(
    toy_model: Path, opened: Opener, default: Any, options: dict[str, str]
) -> None:
    assert answers(opened(toy_model, **options), QUESTIONS) == answers(default, QUESTIONS)


def test_each_chunk_is_handed_over_before_the_next_is_asked(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model, batch_size="4", chunk_size="8")
    seen: list[str] = []

    def stop_at_ten(result: Answer | Failure) -> None:
        seen.append(result.key)
        if len(seen) == 10:
            raise KeyboardInterrupt

    calls = count_calls(model)
    with pytest.raises(KeyboardInterrupt):
        model.generate(QUESTIONS, stop_at_ten)
    assert calls == [8, 8]
    assert len(set(seen)) == 10


def test_a_default_chunk_is_one_batch(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model)
    calls = count_calls(model)
    collect(model, QUESTIONS)
    assert calls == [8, 8, 5]


def test_a_long_prompt_is_a_failure_and_one_that_just_fits_is_asked(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model, max_length="200")
    layout = model.setup.layout
    words = "fever cough "

    def length(count: int, size: int) -> Request:
        return ask(f"{count}-{size}", words * count, size=size)

    def tokens(request: Request) -> int:
        return len(layout.tokens(layout.render(request.messages)))

    count = max(count for count in range(1, 100) if tokens(length(count, 16)) + 16 <= 200)
    fits, over, hopeless = length(count, 16), length(count, 200 - tokens(length(count, 1)) + 1), length(3, 200)
    assert tokens(over) + over.max_new_tokens == 201
    results = {result.key: result for result in collect(model, [over, fits, hopeless])}
    assert isinstance(results[fits.key], Answer)
    for request in (over, hopeless):
        failure = results[request.key]
        assert isinstance(failure, Failure)
        assert failure.reason == "prompt too long"
        assert failure.detail == (
            f"{tokens(request)} tokens and {request.max_new_tokens} for the answer, the model's context is 200"
        )


def test_many_tokens_in_few_characters_are_not_cut(toy_model: Path, default: Any) -> None:
    # Alone in one call, lighteval would cut the first prompt at the tokens of the second, which has more characters.
    dense = ask("dense", "ŵ" * 150, size=4)
    wordy = ask("wordy", "The patient reports chest pain on exertion. " * 8, size=4)
    sizes = {
        one.key: len(default.setup.layout.tokens(default.setup.layout.render(one.messages))) for one in (dense, wordy)
    }
    assert sizes["dense"] > sizes["wordy"] + 4
    assert len(dense.messages[0]["content"]) < len(wordy.messages[0]["content"])
    found = answers(default, [dense, wordy])
    for request in (dense, wordy):
        assert found[request.key].text == decode(toy_model, alone(toy_model, request))


def test_a_changed_prompt_is_noticed(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model)
    inner = model.inner.greedy_until

    def drop_a_token(docs: list[Any]) -> list[Any]:
        responses: list[Any] = inner(docs)
        responses[0].input_tokens[-1] += 1
        return responses

    model.inner.greedy_until = drop_a_token
    with pytest.raises(RuntimeError, match="lighteval changed the prompt of request q"):
        model.generate(QUESTIONS[:3], lambda _: None)


def test_stop_sequences_end_the_answer_and_are_not_in_it(toy_model: Path, default: Any) -> None:
    whole = answers(default, QUESTIONS)
    longest = max(whole.values(), key=lambda answer: len(answer.text))
    stop = longest.text[len(longest.text) // 2 :][:4]
    request = next(one for one in QUESTIONS if one.key == longest.key)
    cut = answers(
        default, [Request(key="cut", messages=request.messages, max_new_tokens=24, stop=("never-said", stop))]
    )["cut"]
    assert cut.text == longest.text[: longest.text.index(stop)]
    assert cut.finish == "stop"


def test_questions_of_different_length_and_stops_in_one_call(toy_model: Path, default: Any) -> None:
    mixed = [
        ask(f"m{size}{stop}", TEXTS[5], size=size, stop=stop) for size in (1, 24) for stop in ((), ("never-said",))
    ]
    found = answers(default, mixed)
    assert found["m24()"].text == found["m24('never-said',)"].text
    assert found["m24()"].text.startswith(found["m1()"].text)
    assert found["m1()"].output_tokens == 1


def test_every_end_token_of_the_model_ends_an_answer(toy_model: Path, toy_copy: Path, opened: Opener) -> None:
    request = max(QUESTIONS, key=lambda one: len(alone(toy_model, one)))
    ids = alone(toy_model, request)
    second_end = ids[len(ids) // 2]
    change_json(toy_copy, "generation_config.json", eos_token_id=[2, second_end])
    found = answers(opened(toy_copy), QUESTIONS)
    kept = ids[: ids.index(second_end)]
    assert (found[request.key].output_tokens, found[request.key].finish) == (len(kept), "stop")
    assert found[request.key].text == decode(toy_model, kept)


def test_no_token_is_generated_after_any_end_token(toy_model: Path, toy_copy: Path, opened: Opener) -> None:
    request = max(QUESTIONS, key=lambda one: len(alone(toy_model, one)))
    ids = alone(toy_model, request)
    change_json(toy_copy, "generation_config.json", eos_token_id=[2, ids[3]])
    model = opened(toy_copy)
    steps: list[int] = []
    inner = model.inner.greedy_until

    def noted(docs: list[Any]) -> Any:
        responses = inner(docs)
        steps.extend(len(response.output_tokens[0]) for response in responses)
        return responses

    model.inner.greedy_until = noted
    answers(model, [request])
    assert steps == [ids.index(ids[3]) + 1]


def test_the_models_own_decoding_habits_are_not_used(
    toy_model: Path, toy_copy: Path, opened: Opener, default: Any
) -> None:
    change_json(
        toy_copy, "generation_config.json", do_sample=True, temperature=1.9, repetition_penalty=4.0, num_beams=3
    )
    assert answers(opened(toy_copy), QUESTIONS[:5]) == answers(default, QUESTIONS[:5])


def test_a_repetition_penalty_is_used_when_asked_for(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model, repetition_penalty="2.5")
    assert model.identity["decoding"] == "greedy, repetition_penalty=2.5"
    found = answers(model, QUESTIONS[:5])
    plain = 0
    for request in QUESTIONS[:5]:
        expected = alone(toy_model, request, repetition_penalty=2.5)
        assert found[request.key].text == decode(toy_model, expected)
        plain += expected == alone(toy_model, request)
    assert plain < 5


def test_sampling_is_repeatable_by_its_seed(toy_model: Path, opened: Opener, default: Any) -> None:
    def texts(**options: str) -> list[str]:
        return [answer.text for answer in answers(opened(toy_model, temperature="1.0", **options), QUESTIONS).values()]

    first, again, other = texts(seed="1"), texts(seed="1"), texts(seed="2")
    assert first == again
    assert first != other
    greedy = [answer.text for answer in answers(default, QUESTIONS).values()]
    assert greedy not in (first, other)


def test_a_model_without_chat_template(toy_model: Path, toy_copy: Path, opened: Opener, default: Any) -> None:
    (toy_copy / "chat_template.jinja").unlink()
    model = opened(toy_copy)
    assert model.identity["layout"] == "plain"
    assert model.identity["weights"] != default.identity["weights"]
    assert len(answers(model, QUESTIONS[:5])) == 5


def test_nothing_is_written_and_nothing_is_said(
    toy_copy: Path, opened: Opener, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = toy_copy.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    before = sorted(toy_copy.rglob("*"))
    answers(opened(toy_copy), QUESTIONS[:9])
    assert sorted(toy_copy.rglob("*")) == before
    assert list(home.rglob("*")) == []
    assert capfd.readouterr() == ("", "")


def test_identity_names_what_counts_and_no_place(toy_model: Path, toy_copy: Path, opened: Opener) -> None:
    import lighteval
    import transformers

    identity = dict(opened(toy_model).identity)
    moved = dict(opened(toy_copy).identity)
    assert moved.pop("model") == "changed-toy"
    assert identity.pop("model") == "toy"
    assert identity == moved
    assert {name: identity[name] for name in identity if name != "weights"} == {
        "backend": "hf",
        "dtype": "float32",
        "decoding": "greedy",
        "layout": "chat template",
        "engine": f"lighteval {'.'.join(lighteval.__version__.split('.')[:2])}, "
        f"transformers {transformers.__version__.split('.')[0]}",
        "device": "cpu",
    }
    assert str(toy_model.parent) not in json.dumps(identity)


def test_identity_follows_what_changes_answers(toy_model: Path, opened: Opener) -> None:
    seen = {
        json.dumps(dict(opened(toy_model, **options).identity), sort_keys=True)
        for options in (
            {},
            {"batch_size": "3", "chunk_size": "7", "max_length": "512", "log_level": "error"},  # nothing of this counts
            {"dtype": "bfloat16"},
            {"temperature": "0.7"},
            {"temperature": "0.7", "seed": "3"},
            {"enable_thinking": "false"},
        )
    }
    assert len(seen) == 5


def test_weights_run_in_the_type_they_were_saved_for(toy_model: Path, toy_copy: Path, opened: Opener) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    # lighteval hands `auto` on as nothing, which is float32 for transformers 4.
    AutoModelForCausalLM.from_pretrained(toy_model).to(torch.bfloat16).save_pretrained(toy_copy)
    model = opened(toy_copy)
    assert (model.inner.model.dtype, model.identity["dtype"]) == (torch.bfloat16, "bfloat16")
    given = opened(toy_copy, dtype="float32")
    assert (given.inner.model.dtype, given.identity["dtype"]) == (torch.float32, "float32")


@pytest.mark.parametrize(
    ("options", "device", "expected"),
    [
        ({}, "cpu", {"batch_size": 8, "max_length": None, "model_parallel": None}),
        ({}, "cuda", {"batch_size": None, "max_length": None, "model_parallel": None}),
        ({"batch_size": "auto"}, "cpu", {"batch_size": None, "max_length": None, "model_parallel": None}),
        ({"batch_size": "3"}, "cuda", {"batch_size": 3, "max_length": None, "model_parallel": None}),
        ({"model_parallel": "true"}, "cuda", {"batch_size": None, "max_length": None, "model_parallel": True}),
        (
            {"model_parallel": "false", "max_length": "99"},
            "cpu",
            {"batch_size": 8, "max_length": 99, "model_parallel": False},
        ),
    ],
)
def test_options_reach_lightevals_configuration(
    options: dict[str, str], device: str, expected: dict[str, object]
) -> None:
    from lighteval.models.transformers.transformers_model import TransformersModelConfig

    settings = lighteval_settings(read_options(options, HF_OPTIONS, model="hf/x"), device=device)
    config = TransformersModelConfig(model_name="x", **settings)
    assert {name: getattr(config, name) for name in expected} == expected
    assert config.override_chat_template is False


def test_generation_settings_never_hold_the_answer_length() -> None:
    from lighteval.models.model_input import GenerationParameters

    options = {"temperature": "0.6", "top_p": "0.9", "top_k": "20", "repetition_penalty": "1.1", "seed": "4"}
    settings = generation_settings(read_options(options, HF_OPTIONS, model="hf/x"))
    parameters = GenerationParameters(**settings)
    assert parameters.max_new_tokens is None
    assert (parameters.temperature, parameters.top_p, parameters.top_k) == (0.6, 0.9, 20)
    assert (parameters.repetition_penalty, parameters.seed) == (1.1, 4)
    assert generation_settings({"batch_size": 4}) == {}


def test_model_parallel_is_handed_to_lighteval(toy_model: Path, opened: Opener) -> None:
    assert opened(toy_model, model_parallel="false").inner.config.model_parallel is False


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batchsize": "4"}, r"unknown model argument 'batchsize' for hf/.*Accepted: batch_size, .*top_p"),
        ({"batch_size": "0"}, "batch_size must be a whole number from 1, or auto, got '0'"),
        ({"batch_size": "many"}, "batch_size must be a whole number from 1, or auto, got 'many'"),
        ({"dtype": "half"}, "dtype must be one of auto, float32, float16, bfloat16, 4bit, 8bit, got 'half'"),
        ({"model_parallel": "yes"}, "model_parallel must be one of auto, true, false, got 'yes'"),
        ({"temperature": "nan"}, r"temperature must be a number from 0 \(greedy\) to 2, got 'nan'"),
        ({"top_p": "0"}, "top_p must be a number above 0, up to 1, got '0'"),
        ({"revision": "main"}, "revision=main: .* is a folder"),
        ({"max_new_tokens": "9"}, "unknown model argument 'max_new_tokens'"),
    ],
)
def test_bad_options_are_told(toy_model: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_hf(f"hf/{toy_model}", options=options)


def test_what_is_missing_is_told(tmp_path: Path, toy_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingError, match="no such folder"):
        open_hf(f"hf/{tmp_path / 'nowhere'}", options={})
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else find_spec(name))
    with pytest.raises(MissingError, match="dtype=4bit needs bitsandbytes"):
        open_hf(f"hf/{toy_model}", options={"dtype": "4bit"})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingError, match=r"needs lighteval, torch and transformers: pip install 'medical-tasks\[lighteval\]'"
    ):
        open_hf(f"hf/{toy_model}", options={})


def test_a_broken_model_is_told(toy_copy: Path) -> None:
    shutil.copy(toy_copy / "config.json", toy_copy / "kept.json")
    change_json(toy_copy, "config.json", model_type="no-such-architecture")
    with pytest.raises(UsageError, match=r"hf/.*changed-toy.*does not load"):
        open_hf(f"hf/{toy_copy}", options={})
    shutil.move(toy_copy / "kept.json", toy_copy / "config.json")
    change_json(toy_copy, "tokenizer_config.json", tokenizer_class="NoSuchTokenizer")
    (toy_copy / "tokenizer.json").unlink()
    with pytest.raises(UsageError, match=r"its tokenizer does not load with transformers \d"):
        open_hf(f"hf/{toy_copy}", options={})


def test_processes_that_do_not_see_each_other_are_told(toy_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        UsageError, match=r"2 processes were started .*accelerate sees one.*ACCELERATE_USE_CPU=true torchrun"
    ):
        open_hf(f"hf/{toy_model}", options={})


def test_running_out_of_gpu_memory_says_what_to_do(toy_model: Path, opened: Opener) -> None:
    import torch

    def run_out(docs: list[Any]) -> list[Any]:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB.\nmore")

    model = opened(toy_model, batch_size="6")
    model.inner.greedy_until = run_out
    with pytest.raises(UsageError, match=r"batch_size=6: CUDA out of memory.*same command with batch_size=3; what was"):
        model.generate(QUESTIONS, lambda _: None)


def test_a_model_too_large_for_the_gpu_says_what_to_do(toy_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from lighteval.models.transformers import transformers_model as backend

    def run_out(config: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 90.00 GiB.\nmore")

    monkeypatch.setattr(backend, "TransformersModel", run_out)
    with pytest.raises(
        UsageError, match=r"does not fit .*: CUDA out of memory.*model_parallel=true.*tensor_parallel_size"
    ):
        open_hf(f"hf/{toy_model}", options={})


def test_different_requests_in_the_processes_are_noticed(toy_model: Path, opened: Opener) -> None:
    model = opened(toy_model)
    model.share = types.MethodType(lambda self, keys: ["other"], model)
    with pytest.raises(RuntimeError, match="given different requests"):
        model.generate(QUESTIONS[:2], lambda _: None)


def test_no_requests(toy_model: Path, default: Any) -> None:
    assert collect(default, []) == []
    assert default.share(["a", "b"]) == ["a", "b"]
    assert (default.is_main, default.endpoint, default.name) == (True, None, f"hf/{toy_model}")


ENDS = frozenset({2, 9})


@pytest.mark.parametrize(
    ("tokens", "stop", "expected"),
    [
        ([], (), ("", 0, "stop")),
        ([2], (), ("", 0, "stop")),
        ([5, 6, 2, 2], (), ("5 6", 2, "stop")),
        ([5, 9, 7, 2], (), ("5", 1, "stop")),
        ([5, 6, 7, 8], (), ("5 6 7 8", 4, "length")),
        ([5, 6, 7], (), ("5 6 7", 3, "stop")),  # its batch was ended by a stop sequence of all rows
        ([5, 6, 7, 8], ("7", "6"), ("5 ", 4, "stop")),
        ([5, 6, 7, 8], ("x",), ("5 6 7 8", 4, "length")),
        ([5, 6, 7, 2], ("7",), ("5 6 ", 3, "stop")),
        ([5, 6, 7, 2], ("5",), ("", 3, "stop")),
    ],
)
def test_reading_an_answer(tokens: list[int], stop: tuple[str, ...], expected: tuple[str, int, str]) -> None:
    prompt = Prompt(request=ask("k", "x", size=4), text="x", tokens=(1,), stop=stop)
    answer = read_answer(prompt, tokens, ENDS, lambda ids: " ".join(map(str, ids)))
    assert (answer.text, answer.output_tokens, answer.finish) == expected
