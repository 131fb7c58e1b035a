"""Sequence classifiers of pairs: premise and hypothesis in, one probability a label out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.errors import UsageError
from medical_tasks.judges.nli_batches import Row
from medical_tasks.judges.nli_form import Columns, Form
from medical_tasks.models.encoder import AFTER_PADDING, UNBOUNDED

__all__ = ["ClassifierForm", "longest_input"]


def longest_input(config: Mapping[str, Any], tokenizer: Any, wanted: int | None, *, model: str) -> int:
    """Finds how many tokens a classifier can be given, special ones included.

    Args:
        config: its `config.json`.
        tokenizer: of transformers.
        wanted: the option `max_length`.
        model: its name, for messages.

    Raises:
        UsageError: More is wanted than the model has positions for, or nothing says how long its inputs can be.
    """
    positions = config.get("max_position_embeddings")
    if positions is not None and config.get("model_type") in AFTER_PADDING:
        positions -= int(config.get("pad_token_id", 1)) + 1
    bounds = [int(bound) for bound in (positions, tokenizer.model_max_length) if bound and bound < UNBOUNDED]
    if wanted is not None:
        if positions is not None and wanted > positions:
            raise UsageError(f"max_length={wanted}: {model} has positions for {positions} tokens; give no more.")
        return wanted
    if not bounds:
        raise UsageError(
            f"{model}: neither its config nor its tokenizer says how long an input can be: give max_length."
        )
    return min(bounds)


class ClassifierForm(Form):
    """A classifier."""

    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[Columns]:
        """Tokenises pairs as the tokenizer joins two texts."""
        return self.tokenize(list(premises), list(hypotheses))

    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        """One pass; softmax over the outputs."""
        import torch

        with torch.inference_mode():
            logits = self.model(**self.tensors(rows)).logits
            chances: list[list[float]] = logits.float().softmax(dim=-1).tolist()
        return chances
