"""How pairs become what a model reads, and what it says becomes probabilities: common to both families."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from medical_tasks.judges.base import Label
from medical_tasks.judges.nli_batches import Row

__all__ = ["Columns", "Form"]

Columns = dict[str, list[int]]
"""What a model reads of each token, by the name of its argument."""


class Form(ABC):
    """A loaded model with its way of being asked.

    Args:
        model: of transformers, in evaluation mode.
        tokenizer: of transformers.
        labels: what its probabilities are of, in order.
        max_length: most tokens it is given at once, special ones included; None for no bound.
    """

    def __init__(self, model: Any, tokenizer: Any, *, labels: tuple[Label, ...], max_length: int | None) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.max_length = max_length
        self._marks = frozenset(tokenizer.all_special_ids) - {tokenizer.unk_token_id}

    @abstractmethod
    def encode(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[Columns]:
        """Tokenises pairs, whatever their length."""

    @abstractmethod
    def score(self, rows: Sequence[Row]) -> list[list[float]]:
        """Reads some rows at once; returns rows x labels."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each of some texts, special ones left out."""
        return [len(columns["input_ids"]) for columns in self.tokenize(list(texts), add_special_tokens=False)]

    def tokenize(self, *texts: list[str], add_special_tokens: bool = True) -> list[Columns]:
        """Calls the tokenizer.

        What looks like a special token in a judged text must not end or divide it. Most tokenizers can be told to take it
        for text; those of T5's kind find it among their pieces all the same, and there it is left out.
        """
        if not texts[0]:
            return []
        made = self.tokenizer(
            *texts,
            add_special_tokens=add_special_tokens,
            split_special_tokens=True,
            truncation=False,
            verbose=False,
            return_attention_mask=False,
            return_special_tokens_mask=True,
        )
        masks = made.pop("special_tokens_mask")
        return [self._unmarked({name: made[name][row] for name in made}, mask) for row, mask in enumerate(masks)]

    def _unmarked(self, columns: Columns, mask: Sequence[int]) -> Columns:
        """Drops special tokens that the tokenizer did not add itself."""
        ids = columns["input_ids"]
        planted = {place for place, token in enumerate(ids) if token in self._marks and not mask[place]}
        if not planted:
            return columns
        return {
            name: [value for place, value in enumerate(values) if place not in planted]
            for name, values in columns.items()
        }

    def tensors(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Pads rows on the right to the longest, and masks the padding."""
        import torch

        longest = max(map(len, rows))
        fill = {"input_ids": self.tokenizer.pad_token_id or 0}
        made = {
            name: torch.tensor(
                [row.columns[name] + [fill.get(name, 0)] * (longest - len(row)) for row in rows],
                device=self.model.device,
            )
            for name in rows[0].columns
        }
        mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
        return {**made, "attention_mask": torch.tensor(mask, device=self.model.device)}
