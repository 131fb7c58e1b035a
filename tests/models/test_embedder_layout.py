"""Checkpoints that are damaged, or laid out in a way that is not known: told, and never read as something else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.embedder import open_embedder
from tests.models.tiny_embedder import TEXTS, make_bert, make_layout, write_json

MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


def modules(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> None:
    listed = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    write_json(folder / "modules.json", change(listed) or listed)


def cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def drop_weights(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    kept = {name: value for name, value in load_file(path).items() if "layer.1.attention" not in name}
    save_file(kept, path, metadata={"format": "pt"})


def not_finite(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    save_file({name: value / 0 for name, value in load_file(path).items()}, path, metadata={"format": "pt"})


DAMAGES: list[tuple[Callable[[Path], Any], str]] = [
    (lambda folder: (folder / "modules.json").write_text("[", encoding="utf-8"), "modules.json: not JSON"),
    (lambda folder: write_json(folder / "modules.json", {}), "a JSON list is expected"),
    (lambda folder: write_json(folder / "modules.json", []), "a Transformer, then Pooling, .* got nothing"),
    (lambda folder: write_json(folder / "modules.json", [7]), "every module needs a type and a path"),
    (lambda folder: modules(folder, lambda found: found[:1]), "are expected, got Transformer"),
    (
        lambda folder: modules(folder, lambda found: found[2].update(type="sentence_transformers.models.LSTM")),
        "module 'sentence_transformers.models.LSTM' is not known here. Known are",
    ),
    (
        lambda folder: modules(folder, lambda found: found[0].update(type="custom_st.Transformer")),
        "module 'custom_st.Transformer' is not known",
    ),
    (lambda folder: modules(folder, lambda found: found[1].update(path="../1_Pooling")), "leads out of the folder"),
    (lambda folder: (folder / "1_Pooling" / "config.json").unlink(), "1_Pooling/config.json: cannot be read"),
    (
        lambda folder: write_json(folder / "1_Pooling" / "config.json", {**MEAN, "pooling_mode_max_tokens": True}),
        "one pooling out of mean, cls and max is expected, got mean_tokens, max_tokens",
    ),
    (lambda folder: write_json(folder / "1_Pooling" / "config.json", {}), "is expected, got none"),
    (
        lambda folder: write_json(folder / "1_Pooling" / "config.json", {"pooling_mode": "lasttoken"}),
        "is expected, got lasttoken",
    ),
    (
        lambda folder: write_json(folder / "sentence_bert_config.json", {"max_seq_length": "many"}),
        "max_seq_length must be a number of 1 or more, got 'many'",
    ),
    (
        lambda folder: write_json(folder / "sentence_bert_config.json", {"do_lower_case": "no"}),
        "do_lower_case must be true or false",
    ),
    (
        lambda folder: write_json(
            folder / "config_sentence_transformers.json", {"default_prompt_name": "query", "prompts": {"query": "q: "}}
        ),
        "puts the prompt 'query' before every text",
    ),
    (
        lambda folder: write_json(
            folder / "2_Dense" / "config.json", {"in_features": 32, "out_features": 8, "activation_function": "a.Mish"}
        ),
        "the activation 'Mish' is not known here",
    ),
    (
        lambda folder: write_json(
            folder / "2_Dense" / "config.json",
            {"in_features": 32, "out_features": 8, "module_input_name": "token_embeddings"},
        ),
        "works on single tokens",
    ),
    (
        lambda folder: write_json(folder / "2_Dense" / "config.json", {"in_features": 32}),
        "out_features must be a number of 1 or more, got None",
    ),
    (
        lambda folder: write_json(folder / "2_Dense" / "config.json", {"in_features": 16, "out_features": 8}),
        "a dense layer takes 16 numbers, what comes before it gives 32",
    ),
    (
        lambda folder: write_json(folder / "2_Dense" / "config.json", {"in_features": 32, "out_features": 9}),
        "dense layer 2_Dense does not load",
    ),
    (lambda folder: (folder / "2_Dense" / "model.safetensors").unlink(), "no weights"),
    (lambda folder: (folder / "config.json").write_text("{", encoding="utf-8"), "not JSON"),
    (cut_weights, "Download it again"),
    (drop_weights, "its files lack 10 of its weights .* which would be random"),
    (lambda folder: (folder / "tokenizer.json").write_text("{}", encoding="utf-8"), "its tokenizer does not load"),
    (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    (not_finite, "m gives numbers that are not finite"),
]  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x80\x02cos\nsystem\n(S'true'\ntR."])
def test_a_dense_layer_that_is_no_tensors(tmp_path: Path, content: bytes) -> None:
    folder = make_layout(tmp_path / "m", pooling=MEAN, dense="Tanh", torch_file=True)
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(UsageError, match="dense layer 2_Dense does not load"):
        open_embedder(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_layout(tmp_path_factory.mktemp("models") / "m", pooling=MEAN, dense="Tanh", normalize=True)


@pytest.mark.parametrize(("damage", "message"), DAMAGES, ids=[message for _, message in DAMAGES])
def test_a_damaged_or_unknown_checkpoint(
    whole: Path, tmp_path: Path, damage: Callable[[Path], Any], message: str
) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "m"))
    damage(folder)
    with pytest.raises((UsageError, MissingError), match=message):
        open_embedder(folder).embed(TEXTS)


def test_a_model_with_a_decoder_is_none(tmp_path: Path) -> None:
    import transformers

    folder = make_bert(tmp_path / "m")
    config = transformers.T5Config(
        vocab_size=300, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    transformers.T5Model(config).save_pretrained(folder)
    with pytest.raises(UsageError, match=r"a model with a decoder \(t5\)|no file of it says how long a text can be"):
        open_embedder(folder, max_length=8)
