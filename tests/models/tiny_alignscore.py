"""A checkpoint of AlignScore with random weights in the authors' layout, and a plain scorer to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.models.toy_texts import WORDS

LIMIT = 48
"""Most tokens of a pair."""

CONTEXTS, CLAIMS = tuple(WORDS["contexts"]), tuple(WORDS["claims"])
ROBERTA: Any = WORDS["roberta"]


def make_roberta(
    folder: Path,
    *,
    width: int = 32,
    layers: int = 2,
    longest: int = LIMIT,
    texts: Sequence[str] = (*CONTEXTS, *CLAIMS),
    vocabulary: int = 600,
) -> Any:
    """Saves a tokenizer trained on texts, configuration and random weights; returns the model."""
    import torch
    import transformers
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        processors,
        trainers,
    )

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=ROBERTA["special"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    raw.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), add_prefix_space=False
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, model_max_length=longest, **ROBERTA["tokens"]
    ).save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=max(2, width // 64),
        max_position_embeddings=longest + 2,
        **ROBERTA["config"],
        initializer_range=0.3 if width < 100 else 0.05,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.RobertaModel(config).eval()
    model.save_pretrained(folder)
    return model


def make_alignscore(folder: Path, **options: Any) -> tuple[Path, Path]:
    """Saves `tiny.ckpt` as PyTorch Lightning does, and the backbone beside it; options are those of `make_roberta`."""
    import torch

    model = make_roberta(folder / "tiny-roberta", **options)
    state = {f"base_model.{name}": value for name, value in model.state_dict().items()}
    # as old files have it
    state["base_model.embeddings.position_ids"] = torch.arange(4)[None]
    state["mlm_head.bias"] = torch.zeros(8)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for layer, outputs in (("bin_layer", 2), ("tri_layer", 3), ("reg_layer", 1)):
            state[f"{layer}.weight"] = (
                torch.randn(outputs, int(model.config.hidden_size)) / 8
            )
            state[f"{layer}.bias"] = torch.randn(outputs) / 8
    file = folder / "tiny.ckpt"
    torch.save(
        {
            "state_dict": state,
            "hyper_parameters": {"model": "tiny-roberta"},
            "epoch": 0,
        },
        file,
    )
    return file, folder / "tiny-roberta"


def plain_score(
    file: Path, backbone: Path, context: str, claim: str, head: str
) -> float:
    """Scores one pair by transformers alone: cut by the tokenizer, padded to the limit, and no code of the package."""
    import torch
    import transformers

    state = torch.load(file, weights_only=True)["state_dict"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(backbone)
    model = transformers.AutoModel.from_pretrained(backbone).eval()
    options = {"max_length": LIMIT, "padding": "max_length", "return_tensors": "pt"}
    try:
        columns = tokenizer(context, claim, truncation="only_first", **options)
    except Exception:
        columns = tokenizer(context, claim, truncation=True, **options)
    with torch.no_grad():
        pooled = model(**columns).pooler_output
        layer = {"nli": "tri_layer", "bin": "bin_layer", "reg": "reg_layer"}[head]
        outputs = torch.nn.functional.linear(
            pooled, state[f"{layer}.weight"], state[f"{layer}.bias"]
        )[0]
    return float(
        outputs[0]
        if head == "reg"
        else outputs.softmax(dim=0)[1 if head == "bin" else 0]
    )
