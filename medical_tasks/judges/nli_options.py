"""Arguments of `nli/...`, and which of the two families a model belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from medical_tasks.errors import UsageError
from medical_tasks.models.model_options import COUNT, WORD, Reader, read_options

__all__ = ["NLI_OPTIONS", "TRUE_TOKENS", "Family", "find_family", "read_nli_options"]

Family = Literal["true", "classifier"]

TRUE_TOKENS = 2048
"""Longest input of a T5, in tokens, unless `max_length` says otherwise. Its positions are relative and set no bound."""

_DTYPES = ("auto", "float32", "float16", "bfloat16")
_T5 = frozenset({"t5", "mt5", "umt5"})


def _one_of(words: Mapping[str, Any]) -> Reader:
    def read(text: str) -> Any:
        if text not in words:
            raise ValueError(text)
        return words[text]

    return read, f"one of {', '.join(words)}"


NLI_OPTIONS: Mapping[str, Reader] = {
    "batch_size": COUNT,
    "dtype": _one_of({word: word for word in _DTYPES}),
    "labels": WORD,
    "max_length": COUNT,
    "official": _one_of({"true": True, "false": False}),
    "revision": WORD,
}
"""What `nli/...` takes."""


def find_family(config: Mapping[str, Any], *, model: str) -> Family:
    """Finds out how a model is asked.

    Args:
        config: its `config.json`.
        model: its name, for messages.

    Raises:
        UsageError: It is neither a T5 that writes text nor a sequence classifier, or brings code of its own.
    """
    names = [str(name) for name in config.get("architectures") or ()]
    kind = str(config.get("model_type", ""))
    if kind in _T5 and (not names or any(name.endswith("ForConditionalGeneration") for name in names)):
        return "true"
    if any(name.endswith("ForSequenceClassification") for name in names):
        return "classifier"
    said = ", ".join(names) or "no architectures"
    raise UsageError(
        f"{model}: neither a T5 in the TRUE form (T5ForConditionalGeneration) nor a classifier of pairs "
        f"(...ForSequenceClassification): its config.json says model_type {kind or 'nothing'!r} and {said}. Name a model of "
        "natural language inference; chat models judge through openai-api/ or a local server."
    )


def read_nli_options(options: Mapping[str, str], family: Family, *, model: str) -> dict[str, Any]:
    """Reads the arguments and refuses those that the family has no use for.

    Raises:
        UsageError: An unknown argument, a value against its rule, or one for the other family.
    """
    values = read_options(options, NLI_OPTIONS, model=model)
    if family == "true" and "labels" in values:
        raise UsageError(f"labels={options['labels']}: {model} is a T5 that answers 1 or 0; labels is for classifiers.")
    if values.get("official"):
        if family == "classifier":
            raise UsageError(f"official=true: {model} is a classifier; DocLens' way is for a T5 in the TRUE form.")
        if "max_length" in values:
            raise UsageError("official=true cuts premises at 500 words and nowhere else; leave max_length out.")
    return values
