"""Checkpoints of BLEURT with made-up weights in the layouts of its conversions, made by the tests."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.models.tiny_embedder import write_json

LIMIT = 32
"""Most tokens of a pair."""

PAIRS = (
    ("No sign of a fracture.", "There is no fracture."),
    (
        "He was given Lasix because his weight rose.",
        "Lasix was given twice daily, and oxygen was weaned from 4 L to 1 L.",
    ),
    ("", "The scan was normal."),
    ("The scan was normal.", ""),
    ("", ""),
    ("Heparin was given, and she was bridged to warfarin. " * 4, "Heparin. " * 12),
)
CONFIG: Mapping[str, Any] = {
    "architectures": ["BleurtForSequenceClassification"],
    "model_type": "bleurt",
    "vocab_size": 120,
    "embedding_size": 12,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0,
    "attention_probs_dropout_prob": 0,
    "max_position_embeddings": LIMIT,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "output_embedding_size": 32,
}
"""As the conversion of BLEURT-20 has them, but for the numbers."""


def make_pieces(path: Path) -> None:
    """Trains a sentencepiece model with BLEURT's special tokens on the pairs' texts."""
    import sentencepiece

    texts = [text for pair in PAIRS for text in pair if text]
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=made,
        vocab_size=CONFIG["vocab_size"],
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        pad_piece="[PAD]",
        unk_piece="[UNK]",
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        minloglevel=5,
    )
    path.write_bytes(made.getvalue())


def deterministic(name: str, shape: tuple[int, ...]) -> Any:
    """Weights that are the same with every library: a sine of place and name; around 1 for the scale of a norm."""
    import torch

    start = sum(map(ord, name)) % 97
    flat = [0.3 * math.sin(1.7 * (start + place)) for place in range(math.prod(shape))]
    values = torch.tensor(flat, dtype=torch.float64).reshape(shape).float()
    return values + 1 if name.endswith("LayerNorm.weight") else values


def shapes(config: Mapping[str, Any], prefix: str) -> dict[str, tuple[int, ...]]:
    """The tensors of bleurt-pytorch's state with their shapes."""
    width, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    narrow = config.get("embedding_size") or width
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, narrow),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], narrow),
        "embeddings.token_type_embeddings.weight": (2, narrow),
        "embeddings.LayerNorm.weight": (narrow,),
        "embeddings.LayerNorm.bias": (narrow,),
        "pooler.dense.weight": (width, width),
        "pooler.dense.bias": (width,),
    }
    if config.get("embedding_size"):
        found["encoder.embedding_projection.weight"] = (width, narrow)
        found["encoder.embedding_projection.bias"] = (width,)
    for layer in range(config["num_hidden_layers"]):
        parts = {
            **{f"attention.self.{each}": (width, width) for each in ("query", "key", "value")},
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }
        for part, shape in parts.items():
            found[f"encoder.layer.{layer}.{part}.weight"] = shape
            found[f"encoder.layer.{layer}.{part}.bias"] = shape[:1]
        for part in ("attention.output", "output"):
            for end in ("weight", "bias"):
                found[f"encoder.layer.{layer}.{part}.LayerNorm.{end}"] = (width,)
    head = {"classifier.weight": (1, width), "classifier.bias": (1,)}
    return {f"{prefix}.{name}": shape for name, shape in found.items()} | head


def make_bleurt(folder: Path, *, torch_file: bool = False, prefix: str = "bleurt", **changes: Any) -> dict[str, Any]:
    """Saves a checkpoint with a sentencepiece tokenizer; returns its tensors.

    Args:
        torch_file: weights as `pytorch_model.bin`, with the buffer that old files have.
    """
    import torch
    from safetensors.torch import save_file

    config = {**CONFIG, **changes}
    write_json(folder / "config.json", config)
    make_pieces(folder / "spm.model")
    state = {name: deterministic(name, shape) for name, shape in shapes(config, prefix).items()}
    if torch_file:
        state[f"{prefix}.embeddings.position_ids"] = torch.arange(LIMIT)[None]
        torch.save(state, folder / "pytorch_model.bin")
    else:
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
    return state


def make_word_bleurt(folder: Path) -> None:
    """Saves one of BERT's kind: no projection, word pieces in small letters, as bleurt-base-512 has it."""
    words = sorted(
        {word for pair in PAIRS for text in pair for word in text.lower().replace(".", " ").replace(",", " ").split()}
    )
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "[", "]", "##s", *words]
    make_bleurt(folder, embedding_size=None, vocab_size=len(vocabulary))
    (folder / "spm.model").unlink()
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    write_json(folder / "tokenizer_config.json", {"do_lower_case": True, "tokenizer_class": "BleurtTokenizer"})
