"""Checkpoints with random weights for embeddings: a plain BERT, and layouts of Sentence-Transformers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.models.toy_texts import WORDS

LIMIT = 24
WIDTH = 32
TEXTS: tuple[str, ...] = tuple(WORDS["notes"])
BERT: Any = WORDS["bert"]
_TYPES = "sentence_transformers.models"


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def change_weights(folder: Path, change: Callable[[str, Any], Any]) -> None:
    """Changes each of a checkpoint's tensors, and removes those that become None."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    changed = {name: change(name, value) for name, value in load_file(path).items()}
    save_file(
        {name: value for name, value in changed.items() if value is not None},
        path,
        metadata={"format": "pt"},
    )


def make_bert(
    folder: Path, *, pooler: bool = True, model_max_length: int = 10**30
) -> Path:
    """A small BERT with a tokenizer of words; room for `LIMIT` tokens. Without `pooler` its file lacks those weights."""
    import torch
    import transformers
    from tokenizers import (
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer(lowercase=False)
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=300, special_tokens=BERT["special"], show_progress=False
    )
    raw.train_from_iterator([*TEXTS, *(text.lower() for text in TEXTS)], trainer)
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, model_max_length=model_max_length, **BERT["tokens"]
    ).save_pretrained(folder)
    config = transformers.BertConfig(
        hidden_size=WIDTH, max_position_embeddings=LIMIT, **BERT["config"]
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(config, add_pooling_layer=pooler).save_pretrained(folder)
    return folder


def make_layout(
    folder: Path,
    *,
    pooling: Mapping[str, Any],
    dense: str = "",
    normalize: bool = False,
    settings: Mapping[str, Any] | None = None,
    inner: str = "",
    torch_file: bool = False,
) -> Path:
    """A BERT in the layout of Sentence-Transformers; `dense`: activation of a dense layer to 8 numbers."""
    import torch
    from safetensors.torch import save_file

    make_bert(folder / inner)
    modules = [("Transformer", inner), ("Pooling", "1_Pooling")]
    write_json(
        folder / "1_Pooling" / "config.json",
        {"word_embedding_dimension": WIDTH, **pooling},
    )
    if settings is not None:
        write_json(folder / inner / "sentence_bert_config.json", dict(settings))
    if dense:
        modules.append(("Dense", "2_Dense"))
        path = folder / "2_Dense"
        activation = f"torch.nn.modules.activation.{dense}"
        shape = {"in_features": WIDTH, "out_features": 8, "bias": True}
        write_json(path / "config.json", {**shape, "activation_function": activation})
        generator = torch.Generator().manual_seed(1)
        weights = {
            "linear.weight": torch.randn(8, WIDTH, generator=generator),
            "linear.bias": torch.randn(8, generator=generator),
        }
        if torch_file:
            torch.save(weights, path / "pytorch_model.bin")
        else:
            save_file(weights, path / "model.safetensors")
    if normalize:
        modules.append(("Normalize", "3_Normalize"))
    listed = [
        {"idx": number, "name": str(number), "path": path, "type": f"{_TYPES}.{kind}"}
        for number, (kind, path) in enumerate(modules)
    ]
    write_json(folder / "modules.json", listed)
    return folder
