"""Checkpoints of BLEURT with artificial weights in the layouts of its conversions."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.models.tiny_embedder import write_json
from tests.models.toy_texts import WORDS

LIMIT = 32
"""Most tokens of a pair."""

PAIRS = tuple(map(tuple, WORDS["pairs"]))
CONFIG: Mapping[str, Any] = WORDS["bleurt"]
"""The entries of BLEURT-20's conversion, with small numbers."""


def make_pieces(path: Path) -> None:
    """Trains a sentencepiece model with BLEURT's special tokens on the pairs' texts."""
    import sentencepiece

    texts = [text for pair in PAIRS for text in pair if text]
    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=buffer,
        vocab_size=CONFIG["vocab_size"],
        **WORDS["pieces"],
    )
    path.write_bytes(buffer.getvalue())


def deterministic(name: str, shape: tuple[int, ...]) -> Any:
    """Weights that are the same with every library: a sine of position and name; around 1 for the scale of a norm."""
    import torch

    start = sum(map(ord, name)) % 97
    flat = [
        0.3 * math.sin(1.7 * (start + position)) for position in range(math.prod(shape))
    ]
    values = torch.tensor(flat, dtype=torch.float64).reshape(shape).float()
    return values + 1 if name.endswith("LayerNorm.weight") else values


def shapes(config: Mapping[str, Any], prefix: str) -> dict[str, tuple[int, ...]]:
    """The tensors of bleurt-pytorch's state with their shapes: RemBERT's or BERT's by other names."""
    import transformers

    narrow = config.get("embedding_size")
    kind: Any = transformers.RemBertModel if narrow else transformers.BertModel
    sizes = {**config, "input_embedding_size": narrow} if narrow else dict(config)
    state = kind(
        kind.config_class(**{**sizes, "model_type": kind.config_class.model_type})
    ).state_dict()
    names = {
        name.replace("embedding_hidden_mapping_in", "embedding_projection"): name
        for name in state
    }
    tensors = {
        f"{prefix}.{name}": tuple(state[own_name].shape)
        for name, own_name in names.items()
    }
    return tensors | {
        "classifier.weight": (1, config["hidden_size"]),
        "classifier.bias": (1,),
    }


def make_bleurt(
    folder: Path, *, torch_file: bool = False, prefix: str = "bleurt", **changes: Any
) -> dict[str, Any]:
    """Saves a checkpoint with a sentencepiece tokenizer, as a `torch_file` if so; returns its tensors."""
    import torch
    from safetensors.torch import save_file

    config = {**CONFIG, **changes}
    write_json(folder / "config.json", config)
    make_pieces(folder / "spm.model")
    state = {
        name: deterministic(name, shape)
        for name, shape in shapes(config, prefix).items()
    }
    if torch_file:
        state[f"{prefix}.embeddings.position_ids"] = torch.arange(LIMIT)[None]
        torch.save(state, folder / "pytorch_model.bin")
    else:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return state


def make_word_bleurt(folder: Path) -> None:
    """Saves one like bleurt-base-512: BERT without projection, word pieces in lower case."""
    words = sorted(
        {
            word
            for pair in PAIRS
            for text in pair
            for word in text.lower().replace(".", " ").replace(",", " ").split()
        }
    )
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        ".",
        ",",
        "[",
        "]",
        "##s",
        *words,
    ]
    make_bleurt(folder, embedding_size=None, vocab_size=len(vocabulary))
    (folder / "spm.model").unlink()
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    write_json(
        folder / "tokenizer_config.json",
        {"do_lower_case": True, "tokenizer_class": "BleurtTokenizer"},
    )
