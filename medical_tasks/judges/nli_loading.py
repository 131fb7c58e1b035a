"""From a folder with a model in it to a model that is ready, and the type and place of its weights."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.judges.nli_classifier import ClassifierForm, longest_input
from medical_tasks.judges.nli_form import Form
from medical_tasks.judges.nli_labels import read_labels
from medical_tasks.judges.nli_options import TRUE_TOKENS, Family
from medical_tasks.judges.nli_true import OfficialTrueForm, TrueForm
from medical_tasks.models.checkpoint import Checkpoint
from medical_tasks.models.quiet import quiet_libraries

__all__ = ["load_form"]

_LOAD_ERRORS = (OSError, ValueError, ImportError, KeyError, RuntimeError)


def load_form(name: str, checkpoint: Checkpoint, family: Family, values: Mapping[str, Any]) -> tuple[Form, str]:
    """Loads tokenizer and weights.

    Weights go to the accelerators where there are any (accelerate's `device_map="auto"`, which spreads a model that is
    larger than one), else to the CPU. Code that a repository brings is never run.

    Args:
        name: the judge's name, for messages.
        checkpoint: the model's folder.
        family: how it is asked.
        values: the arguments read.

    Returns:
        The model with its way of being asked, and the type of its weights.

    Raises:
        UsageError: It does not load here, lacks weights, has labels that mean nothing, or does not fit into memory.
    """
    import torch

    config = checkpoint.read("config.json")
    labels = read_labels(config, values.get("labels"), model=name) if family == "classifier" else ()
    dtype = values.get("dtype", "auto")
    dtype = _best_dtype(torch) if dtype == "auto" else dtype
    with quiet_libraries(logging.ERROR):
        tokenizer = _tokenizer(name, checkpoint)
        model = _model(name, checkpoint, family, getattr(torch, dtype))
    wanted = values.get("max_length")
    if family == "classifier":
        longest = longest_input(config, tokenizer, wanted, model=name)
        return ClassifierForm(model, tokenizer, labels=labels, max_length=longest), dtype
    if values.get("official"):
        return OfficialTrueForm(model, tokenizer, name=name), dtype
    return TrueForm(model, tokenizer, name=name, max_length=wanted or TRUE_TOKENS), dtype


def _best_dtype(torch: Any) -> str:
    """Half precision where the hardware has it and T5 bears it (bfloat16); CPUs compute in float32."""
    if torch.cuda.is_available() and torch.cuda.is_bf16_supported(including_emulation=False):
        return "bfloat16"
    return "float32"


def _tokenizer(name: str, checkpoint: Checkpoint) -> Any:
    import transformers

    try:
        return transformers.AutoTokenizer.from_pretrained(
            str(checkpoint.folder), local_files_only=True, trust_remote_code=False
        )
    except _LOAD_ERRORS as error:
        raise UsageError(
            f"{name}: its tokenizer does not load with transformers {transformers.__version__}: {error}\n"
            "A tokenizer made of a sentencepiece file needs sentencepiece and protobuf (pip install sentencepiece protobuf); one "
            "saved by transformers 5 does not load in 4."
        ) from error


def _model(name: str, checkpoint: Checkpoint, family: Family, dtype: Any) -> Any:
    import torch
    import transformers

    auto = transformers.AutoModelForSeq2SeqLM if family == "true" else transformers.AutoModelForSequenceClassification
    place = {"device_map": "auto"} if torch.accelerator.is_available() else {}
    try:
        model, report = auto.from_pretrained(
            str(checkpoint.folder),
            dtype=dtype,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **place,
        )
    except torch.OutOfMemoryError as error:
        raise UsageError(
            f"{name}: the model does not fit into the device's memory: {str(error).splitlines()[0]} Give dtype=bfloat16, or "
            "show this process more devices."
        ) from error
    except _LOAD_ERRORS as error:
        raise UsageError(f"{name} does not load with transformers {transformers.__version__}: {error}") from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise UsageError(
            f"{name}: its files lack {len(missing)} of its weights ({', '.join(missing[:3])}), which would be random. "
            "Download it again, or name a model that was trained for natural language inference."
        )
    return model.eval()
