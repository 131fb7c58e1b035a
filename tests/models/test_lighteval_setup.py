"""Opening `hf/...`: options, identity, files written, and error messages."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.lighteval_models import lighteval_settings, open_hf
from medical_tasks.models.opener import HF_OPTIONS, read_options
from tests.models.local_runs import QUESTIONS, Opener, answers
from tests.models.toy_texts import CASES, change_json

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]


def test_nothing_is_written_or_printed(
    toy_copy: Path,
    opened: Opener,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
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


def test_identity_has_what_decides_an_answer_and_no_path(
    toy_model: Path, toy_copy: Path, opened: Opener
) -> None:
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


def test_options_that_change_answers_change_the_identity(
    toy_model: Path, opened: Opener
) -> None:
    seen = {
        json.dumps(dict(opened(toy_model, **options).identity), sort_keys=True)
        for options in (
            {},
            {
                "batch_size": "3",
                "chunk_size": "7",
                "max_length": "512",
                "log_level": "error",
            },  # these options change no answer
            {"dtype": "bfloat16"},
            {"temperature": "0.7"},
            {"temperature": "0.7", "seed": "3"},
            {"enable_thinking": "false"},
        )
    }
    assert len(seen) == 5


def test_weights_run_in_the_dtype_of_the_checkpoint(
    toy_model: Path, toy_copy: Path, opened: Opener
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    # lighteval passes `auto` on as None, which is float32 for transformers 4.
    AutoModelForCausalLM.from_pretrained(toy_model).to(torch.bfloat16).save_pretrained(
        toy_copy
    )
    model = opened(toy_copy)
    assert (model.inner.model.dtype, model.identity["dtype"]) == (
        torch.bfloat16,
        "bfloat16",
    )
    single = opened(toy_copy, dtype="float32")
    assert (single.inner.model.dtype, single.identity["dtype"]) == (
        torch.float32,
        "float32",
    )


@pytest.mark.parametrize(
    ("options", "device", "expected"), CASES["options_reach_lightevals_configuration"]
)
def test_options_reach_lightevals_configuration(
    options: dict[str, str], device: str, expected: dict[str, object]
) -> None:
    from lighteval.models.transformers.transformers_model import TransformersModelConfig

    settings = lighteval_settings(
        read_options(options, HF_OPTIONS, model="hf/x"), device=device
    )
    config = TransformersModelConfig(model_name="x", **settings)
    assert {name: getattr(config, name) for name in expected} == expected
    assert config.override_chat_template is False


@pytest.mark.parametrize(("options", "message"), CASES["bad_options"])
def test_messages_about_bad_options(
    toy_model: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        open_hf(f"hf/{toy_model}", options=options)


def test_processes_that_accelerate_does_not_see_are_an_error(
    toy_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        UsageError,
        match=r"2 processes were started .*accelerate sees one.*ACCELERATE_USE_CPU=true torchrun",
    ):
        open_hf(f"hf/{toy_model}", options={})


def test_messages_about_missing_models_and_packages(
    tmp_path: Path, toy_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingError, match="no such folder"):
        open_hf(f"hf/{tmp_path / 'nowhere'}", options={})
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "bitsandbytes" else find_spec(name),
    )
    with pytest.raises(MissingError, match="dtype=4bit needs bitsandbytes"):
        open_hf(f"hf/{toy_model}", options={"dtype": "4bit"})
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        MissingError,
        match=r"needs lighteval, torch and transformers: pip install lighteval==0\.13\.0",
    ):
        open_hf(f"hf/{toy_model}", options={})


def test_messages_about_a_broken_model(toy_copy: Path) -> None:
    shutil.copy(toy_copy / "config.json", toy_copy / "kept.json")
    change_json(toy_copy, "config.json", model_type="no-such-architecture")
    with pytest.raises(UsageError, match=r"hf/.*changed-toy.*does not load"):
        open_hf(f"hf/{toy_copy}", options={})
    shutil.move(toy_copy / "kept.json", toy_copy / "config.json")
    change_json(toy_copy, "tokenizer_config.json", tokenizer_class="NoSuchTokenizer")
    (toy_copy / "tokenizer.json").unlink()
    with pytest.raises(
        UsageError, match=r"its tokenizer does not load with transformers \d"
    ):
        open_hf(f"hf/{toy_copy}", options={})


def test_messages_about_full_gpu_memory_have_the_next_step(
    toy_model: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from lighteval.models.transformers import transformers_model as backend

    full = Mock(side_effect=torch.OutOfMemoryError("CUDA out of memory.\nmore"))
    model = opened(toy_model, batch_size="6")
    model.inner.greedy_until = full
    with pytest.raises(
        UsageError,
        match=r"batch_size=6: CUDA out of memory.*same command with batch_size=3; finished answers",
    ):
        model.generate(QUESTIONS, lambda _: None)
    monkeypatch.setattr(backend, "TransformersModel", full)
    message = r"does not fit .*: CUDA out of memory.*model_parallel=true.*tensor_parallel_size"
    with pytest.raises(UsageError, match=message):
        open_hf(f"hf/{toy_model}", options={})
