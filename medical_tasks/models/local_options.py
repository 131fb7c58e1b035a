"""Model arguments of models that run in this process: `hf/...` and `vllm/...`. Names are lighteval's where it has one."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from medical_tasks.models.model_options import COUNT, WORD, Reader

__all__ = ["HF_OPTIONS", "LOG_LEVELS", "SAMPLING", "VLLM_OPTIONS", "decoding"]

LOG_LEVELS = {
    "error": logging.ERROR,
    "warning": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
}

DTYPES = ("auto", "float32", "float16", "bfloat16")


def _whole(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _number(text: str, *, low: float, high: float, open_low: bool) -> float:
    value = float(text)
    if not math.isfinite(value) or value > high or value < low or (open_low and value == low):
        raise ValueError(text)
    return value


def _one_of(words: Mapping[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text not in words:
            raise ValueError(text)
        return words[text]

    return read


WHOLE: Reader = (_whole, "a whole number from 0")
FLAG: Reader = (_one_of({"true": True, "false": False}), "true or false")
SHARE: Reader = (lambda text: _number(text, low=0, high=1, open_low=True), "a number above 0, up to 1")

SAMPLING: Mapping[str, Reader] = {
    "temperature": (lambda text: _number(text, low=0, high=2, open_low=False), "a number from 0 (greedy) to 2"),
    "top_p": SHARE,
    "top_k": COUNT,
    "repetition_penalty": (lambda text: _number(text, low=0, high=10, open_low=True), "a number above 0, up to 10"),
    "seed": WHOLE,
}
"""How the next token is chosen; nothing given is greedy."""

_BOTH: Mapping[str, Reader] = {
    **SAMPLING,
    "revision": WORD,
    "chunk_size": COUNT,
    "enable_thinking": FLAG,
    "log_level": (_one_of(LOG_LEVELS), f"one of {', '.join(LOG_LEVELS)}"),
}

HF_OPTIONS: Mapping[str, Reader] = {
    **_BOTH,
    "dtype": (_one_of({word: word for word in (*DTYPES, "4bit", "8bit")}), f"one of {', '.join(DTYPES)}, 4bit, 8bit"),
    "batch_size": (lambda text: None if text == "auto" else COUNT[0](text), "a whole number from 1, or auto"),
    "max_length": COUNT,
    "model_parallel": (_one_of({"auto": None, "true": True, "false": False}), "one of auto, true, false"),
}
"""What `hf/...` takes."""

VLLM_OPTIONS: Mapping[str, Reader] = {
    **_BOTH,
    "dtype": (_one_of({word: word for word in DTYPES}), f"one of {', '.join(DTYPES)}"),
    "tensor_parallel_size": COUNT,
    "pipeline_parallel_size": COUNT,
    "data_parallel_size": COUNT,
    "gpu_memory_utilization": SHARE,
    "max_model_length": COUNT,
    "max_num_seqs": COUNT,
    "max_num_batched_tokens": COUNT,
    "quantization": WORD,
    "load_format": WORD,
}
"""What `vllm/...` takes."""


def decoding(values: Mapping[str, Any]) -> str:
    """Says in one line how the next token is chosen, for the model's identity.

    Args:
        values: the arguments read.

    Returns:
        `greedy`, or the settings given; a repetition penalty stands with either.
    """
    if not values.get("temperature"):
        penalty = values.get("repetition_penalty")
        return "greedy" if penalty is None else f"greedy, repetition_penalty={penalty:g}"
    given = {"seed": 0, **{name: values[name] for name in SAMPLING if name in values}}
    return ", ".join(f"{name}={given[name]:g}" for name in SAMPLING if name in given)
