"""Which rows a local model reads together: longest first, as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from medical_tasks.errors import UsageError

__all__ = ["CPU_TOKENS", "GPU_TOKENS", "Batches", "Row"]

CPU_TOKENS = 2048
"""Tokens a batch, padding included, on a CPU: larger ones leave its caches."""

GPU_TOKENS = 32768
"""Tokens a batch on a GPU. Where that is too much, the batch is halved."""

Probabilities = Sequence[Sequence[float]]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One window of one pair, as the model reads it.

    Attributes:
        pair: number of the pair it belongs to.
        columns: what the model reads of each token: `input_ids`, and for some models `token_type_ids`.
    """

    pair: int
    columns: dict[str, list[int]] = field(compare=False)

    def __len__(self) -> int:
        """Tokens, special ones included."""
        return len(self.columns["input_ids"])


class Batches:
    """Reads rows in batches, and finds out how large these can be.

    Args:
        score: probabilities of each of some rows, rows x labels.
        memory_full: what `score` raises when the device's memory is full.
        tokens: most tokens a batch, padding included; a row that is longer is read alone.
        rows: most rows a batch, instead of tokens; None for no such limit.
    """

    def __init__(
        self,
        score: Callable[[Sequence[Row]], Probabilities],
        *,
        memory_full: tuple[type[Exception], ...],
        tokens: int,
        rows: int | None = None,
    ) -> None:
        self._score = score
        self._memory_full = memory_full
        self.tokens = tokens
        self.rows = rows

    def read(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Sequence[float]]]:
        """Scores all rows, longest first.

        Raises:
            UsageError: One row alone fills the device's memory.
        """
        ordered = sorted(rows, key=len, reverse=True)
        place = 0
        while place < len(ordered):
            batch = ordered[place : place + self._size(len(ordered[place]))]
            try:
                scores = self._score(batch)
            except self._memory_full as error:
                self._halve(batch, error)
                continue
            yield from zip(batch, scores, strict=True)
            place += len(batch)

    def _size(self, longest: int) -> int:
        return self.rows if self.rows is not None else max(1, self.tokens // longest)

    def _halve(self, batch: Sequence[Row], error: Exception) -> None:
        """Halves the limit; later batches are of rows no longer than these, so that it holds for them."""
        if len(batch) == 1:
            raise UsageError(
                f"the device's memory does not suffice for one pair of {len(batch[0])} tokens: "
                f"{str(error).splitlines()[0]} Give a smaller max_length, or dtype=bfloat16; what was decided is kept."
            ) from error
        if self.rows is not None:
            self.rows = len(batch) // 2
        else:
            self.tokens = len(batch) // 2 * len(batch[0])
