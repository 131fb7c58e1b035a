from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.models.embedder import embedder_identity, open_embedder
from tests.models.tiny_embedder import (
    LIMIT,
    TEXTS,
    WIDTH,
    change_weights,
    make_bert,
    make_layout,
    write_json,
)
from tests.models.toy_texts import CASES, change_json

MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
LONG = " ".join(TEXTS)


def expected(
    folder: Path,
    texts: tuple[str, ...],
    pooling: str,
    *,
    dense: Path | None = None,
    tanh: bool = False,
) -> Any:
    """Embeds text by text with transformers and numpy: no batch, no padding, no code of the package."""
    import torch
    import transformers
    from safetensors.torch import load_file

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    vectors = []
    for text in texts:
        with torch.no_grad():
            states = model(
                **tokenizer(
                    text, truncation=True, max_length=LIMIT, return_tensors="pt"
                )
            ).last_hidden_state
        rows = states[0].double().numpy()
        pooled = {"mean": rows.mean(axis=0), "cls": rows[0], "max": rows.max(axis=0)}[
            pooling
        ]
        if dense is not None:
            weights = load_file(dense / "model.safetensors")
            pooled = (
                weights["linear.weight"].double().numpy() @ pooled
                + weights["linear.bias"].double().numpy()
            )
            pooled = np.tanh(pooled) if tanh else pooled
        vectors.append(pooled / np.linalg.norm(pooled))
    return np.array(vectors)


def test_a_plain_bert_is_averaged_over_its_tokens(bert: Path) -> None:
    embedder = open_embedder(bert)
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), WIDTH)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected(bert, TEXTS, "mean"), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert embedder.truncated == 0
    assert np.abs(vectors[0] - vectors[1]).max() > 0.01  # texts have different vectors


@pytest.mark.parametrize(
    ("pooling", "config"),
    [
        ("mean", MEAN),
        (
            "cls",
            {
                "pooling_mode_cls_token": True,
                "pooling_mode_mean_tokens": False,
                "pooling_mode_max_tokens": False,
            },
        ),
        ("max", {"pooling_mode_max_tokens": True}),
        ("max", {"pooling_mode": "max"}),  # as version 5 writes it
    ],
)
def test_poolings_of_sentence_transformers(
    tmp_path: Path, pooling: str, config: dict[str, Any]
) -> None:
    folder = make_layout(tmp_path / "m", pooling=config, normalize=True)
    np.testing.assert_allclose(
        open_embedder(folder).embed(TEXTS), expected(folder, TEXTS, pooling), atol=1e-5
    )
    assert embedder_identity(folder)["pooling"] == pooling


@pytest.mark.parametrize(
    ("activation", "torch_file"), [("Tanh", False), ("Identity", False), ("Tanh", True)]
)
def test_a_dense_layer(tmp_path: Path, activation: str, torch_file: bool) -> None:
    folder = make_layout(
        tmp_path / "m", pooling=MEAN, dense=activation, torch_file=torch_file
    )
    vectors = open_embedder(folder).embed(TEXTS)
    same = make_layout(tmp_path / "safe", pooling=MEAN, dense=activation) / "2_Dense"
    plain = expected(folder, TEXTS, "mean", dense=same, tanh=activation == "Tanh")
    np.testing.assert_allclose(vectors, plain, atol=1e-5)
    assert vectors.shape == (len(TEXTS), 8)


def test_a_transformer_without_a_pooler(tmp_path: Path) -> None:
    # Models like ClinicalBERT, trained to fill in words, lack the pooler, which is not
    # used here.
    folder = make_bert(tmp_path / "m", pooler=False)
    np.testing.assert_allclose(
        open_embedder(folder).embed(TEXTS), expected(folder, TEXTS, "mean"), atol=1e-5
    )


def test_a_transformer_in_its_own_folder(tmp_path: Path) -> None:
    """The layout before version 2 of Sentence-Transformers: no config.json beside modules.json."""
    folder = make_layout(
        tmp_path / "old-one",
        pooling=MEAN,
        inner="0_Transformer",
        settings={"max_seq_length": 8},
    )
    embedder = open_embedder(folder)
    assert (embedder.max_length, embedder.identity["model"]) == (8, "old-one")
    np.testing.assert_allclose(
        embedder.embed(["no"]),
        expected(folder / "0_Transformer", ("no",), "mean"),
        atol=1e-5,
    )


def test_a_text_without_words_has_a_zero_vector(bert: Path) -> None:
    embedder = open_embedder(bert)
    vectors = embedder.embed(["", "no", " \n\t", "\u2003"])
    assert (vectors[[0, 2, 3]] == 0).all()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1)
    assert embedder.embed([]).shape == (0, WIDTH)
    assert embedder.embed([""]).shape == (1, WIDTH)
    # white space at the ends is ignored
    assert (embedder.embed(["  no "]) == vectors[1]).all()


def test_long_texts_are_cut_and_counted(bert: Path) -> None:
    embedder = open_embedder(bert)
    assert embedder.max_length == LIMIT
    vectors = embedder.embed([LONG, LONG, f"{LONG} and more", "no"])
    assert embedder.truncated == 2  # equal texts once
    # text after the limit is not read
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    np.testing.assert_allclose(vectors[:1], expected(bert, (LONG,), "mean"), atol=1e-5)
    embedder.embed([LONG])
    assert embedder.truncated == 2
    exact = " ".join(["no"] * (LIMIT - 2))  # two special tokens
    embedder.embed([exact])
    assert embedder.truncated == 2
    embedder.embed([f"{exact} no"])
    assert embedder.truncated == 3


def test_the_length_limit_is_the_smallest_of_a_models_files(tmp_path: Path) -> None:
    short = make_bert(tmp_path / "a", model_max_length=16)
    assert open_embedder(short).max_length == 16
    folder = make_layout(tmp_path / "b", pooling=MEAN)
    for length, expected in ((7, 7), (4000, LIMIT), (None, LIMIT)):
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": length})
        assert embedder_identity(folder)["max_length"] == str(expected)


def test_a_layout_may_ask_for_lower_case(tmp_path: Path) -> None:
    texts = ["No KNOWN allergies.", "no known allergies."]
    settings = {"max_seq_length": 20, "do_lower_case": True}
    folder = make_layout(tmp_path / "m", pooling=MEAN, settings=settings)
    lowered = open_embedder(folder).embed(texts)
    assert (lowered[0] == lowered[1]).all()
    cased = open_embedder(make_layout(tmp_path / "n", pooling=MEAN)).embed(texts)
    assert np.abs(cased[0] - cased[1]).max() > 1e-3


def test_a_folder_in_the_earliest_layout(tmp_path: Path) -> None:
    """Bio_ClinicalBERT's: weights with the heads of its training, in torch's own file, and a list of words."""
    import torch
    import transformers

    folder = tmp_path / "old"
    folder.mkdir()
    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "no",
        "known",
        "allerg",
        "##ies",
        ".",
    ]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    sizes = {
        "hidden_size": WIDTH,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = {
        **sizes,
        "vocab_size": len(words),
        "max_position_embeddings": LIMIT,
        "model_type": "bert",
    }
    write_json(folder / "config.json", config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.BertForPreTraining(
            transformers.BertConfig(
                **sizes, vocab_size=len(words), max_position_embeddings=LIMIT
            )
        ).eval()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with torch.no_grad():
        states = (
            model.bert(input_ids=torch.tensor([[2, 5, 6, 7, 8, 9, 3]]))
            .last_hidden_state[0]
            .mean(dim=0)
        )
    # in lower case, which is transformers' default
    vectors = open_embedder(folder).embed(["No known allergies."])
    np.testing.assert_allclose(vectors[0], (states / states.norm()).numpy(), atol=1e-5)


def test_the_identity_has_what_decides_a_vector_and_no_path(
    bert: Path, tmp_path: Path
) -> None:
    identity = embedder_identity(bert)
    assert identity == open_embedder(str(bert)).identity
    assert identity["model"] == "tiny-bert"
    assert (identity["max_length"], identity["pooling"], identity["dtype"]) == (
        str(LIMIT),
        "mean",
        "float32",
    )
    assert str(bert.parent) not in json.dumps(identity)
    copy = Path(shutil.copytree(bert, tmp_path / "elsewhere" / "tiny-bert"))
    assert embedder_identity(copy) == identity
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert embedder_identity(copy)["weights"] != identity["weights"]


def test_the_identity_has_the_layers_after_the_pooling(tmp_path: Path) -> None:
    folder = make_layout(tmp_path / "m", pooling=MEAN, dense="Tanh", normalize=True)
    layers = embedder_identity(folder)["layers"]
    assert layers.startswith("dense ")
    assert layers.endswith(", normalize")
    change_json(
        folder / "2_Dense",
        "config.json",
        activation_function="torch.nn.modules.linear.Identity",
    )
    assert embedder_identity(folder)["layers"] != layers


def test_messages_about_missing_models_and_decoders(tmp_path: Path) -> None:
    import transformers

    with pytest.raises(
        MissingError,
        match="hf download emilyalsentzer/Bio_ClinicalBERT --revision d5892b39",
    ) as caught:
        open_embedder(tmp_path / "nowhere", example="emilyalsentzer/Bio_ClinicalBERT")
    assert "Nothing is downloaded here" in str(caught.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingError, match=r"no config\.json"):
        open_embedder(tmp_path / "empty")
    folder = make_bert(tmp_path / "m")
    config = transformers.T5Config(
        vocab_size=300,
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    transformers.T5Model(config).save_pretrained(folder)
    with pytest.raises(
        UsageError,
        match=r"a model with a decoder \(t5\)|no file of it says how long a text can be",
    ):
        open_embedder(folder)


def write_text(folder: Path, *, file: str, text: str) -> None:
    (folder / file).write_text(text, encoding="utf-8")


def cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def drop_weights(folder: Path) -> None:
    change_weights(
        folder, lambda name, value: None if "layer.1.attention" in name else value
    )


def not_finite(folder: Path) -> None:
    change_weights(folder, lambda _, value: value / 0)


def replace_dense(folder: Path, content: bytes) -> None:
    (folder / "2_Dense" / "model.safetensors").unlink()
    (folder / "2_Dense" / "pytorch_model.bin").write_bytes(content)


DAMAGES: list[tuple[Callable[[Path], Any], str]] = [
    (
        lambda folder: (folder / "1_Pooling" / "config.json").unlink(),
        "1_Pooling/config.json: cannot be read",
    ),
    (lambda folder: (folder / "2_Dense" / "model.safetensors").unlink(), "no weights"),
    (cut_weights, "Download it again"),
    (drop_weights, "its files lack 10 of its weights .* which would be random"),
    (lambda folder: (folder / "model.safetensors").unlink(), "no weights"),
    *(
        (partial(replace_dense, content=content), "dense layer 2_Dense does not load")
        for content in (b"", b"no tensors", b"\x80\x02cos\nsystem\n(S'true'\ntR.")
    ),
    (not_finite, "m gives numbers that are not finite"),
    *(
        (partial(write_text, file=file, text=text), message)
        for file, text, message in CASES["damaged_embedder"]
    ),
]


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_layout(
        tmp_path_factory.mktemp("models") / "m",
        pooling=MEAN,
        dense="Tanh",
        normalize=True,
    )


@pytest.mark.parametrize(
    ("damage", "message"), DAMAGES, ids=[message for _, message in DAMAGES]
)
def test_a_damaged_or_unknown_checkpoint(
    undamaged: Path, tmp_path: Path, damage: Callable[[Path], Any], message: str
) -> None:
    folder = Path(shutil.copytree(undamaged, tmp_path / "m"))
    damage(folder)
    with pytest.raises((UsageError, MissingError), match=message):
        open_embedder(folder).embed(TEXTS)
