"""From a model's name to the model: `hf/`, `vllm/`, `vllm-server/`, `transformers-server/`, `openai-api/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from medical_tasks.errors import UsageError
from medical_tasks.models.base import Model

__all__ = ["KINDS", "NEUTRAL_ARGS", "open_model", "parse_model_args"]

KINDS: dict[str, str] = {
    "hf": "hf/PATH_OR_REPO: a local model through lighteval's transformers backend",
    "vllm": "vllm/PATH_OR_REPO: a local model through lighteval's vLLM backend (second environment)",
    "vllm-server": "vllm-server/NAME: a vLLM server started and stopped for the run",
    "transformers-server": "transformers-server/PATH: a `transformers serve` started and stopped for the run",
    "openai-api": "openai-api/HOST_ALIAS/MODEL: any OpenAI-compatible server",
    "baseline": "baseline/NAME: no model (reference, empty, random, copy-example)",
}

# How much is asked at once, for how long, on how many devices, how loudly: meant to change no answer, so that a run can go
# on with others. What does change answers is part of the model's identity, and with it of every answer's key.
NEUTRAL_ARGS = frozenset(
    {
        "api_key_env", "batch_size", "chunk_size", "concurrency", "context", "gpu_memory_utilization", "log_level",
        "max_num_batched_tokens", "max_num_seqs", "max_retries", "model_parallel", "start_timeout", "timeout", "tokenizer",
        "total_time",
    }
)  # fmt: skip


def parse_model_args(text: str, *, option: str = "--model-args") -> dict[str, str]:
    """Reads `k=v,k=v`; a value with commas stands in double quotes.

    Args:
        text: what the user gave.
        option: under which option, for messages.

    Raises:
        UsageError: A part has no `=`, a name stands twice, or a quote is open.
    """
    import csv

    if not text.strip():
        return {}
    # The csv reader wants the quote first in its field: k="a,b" becomes "k=a,b".
    found: dict[str, str] = {}
    try:
        parts = next(csv.reader([_quote_fields(text)], strict=True, skipinitialspace=True))
    except csv.Error as error:
        raise UsageError(f"{option} {text!r}: {error}. Give k=v,k=v; a value with commas in double quotes.") from error
    for part in parts:
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or not name:
            raise UsageError(f"{option} {text!r}: {part!r} is not of the form name=value.")
        if name in found:
            raise UsageError(f"{option} {text!r}: {name!r} is given twice.")
        found[name] = value.strip()
    return found


def _quote_fields(text: str) -> str:
    import re

    return re.sub(r'(^|,)\s*([^,="]+)="', r'\1"\2=', text)


def open_model(name: str, options: Mapping[str, str], *, log_dir: Path) -> Model:
    """Opens the model under test.

    Args:
        name: for example `hf/models/llama`.
        options: settings of its backend.
        log_dir: where a server started for the run writes its log.

    Raises:
        UsageError: Unknown kind of model, or bad options.
        MissingError: A package, key, file or server is not there; says how to get it.
    """
    kind, slash, rest = name.partition("/")
    if kind not in KINDS or not slash or not rest:
        kinds = "\n".join(f"  {line}" for line in KINDS.values())
        raise UsageError(f"unknown model {name!r}. A model is named by its kind, a slash and its own name:\n{kinds}")
    if kind == "hf":
        from medical_tasks.models.lighteval_model import open_hf

        return open_hf(name, options=options)
    if kind == "vllm":
        from medical_tasks.models.vllm_model import open_vllm

        return open_vllm(name, options=options)
    if kind == "openai-api":
        from medical_tasks.models.endpoint import open_endpoint

        return open_endpoint(name, options=options)
    if kind in ("vllm-server", "transformers-server"):
        from medical_tasks.models.server import open_served

        return open_served(name, options=options, log_dir=log_dir)
    raise UsageError(f"{name!r} is a baseline; it is asked without opening a model.")
