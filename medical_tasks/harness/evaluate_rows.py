"""Lets the `evaluate` metrics in `metrics/` take a dataset's own rows as references, by its official or its built columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

Columns = Mapping[str, Sequence[str | tuple[Callable[..., Any], *tuple[str, ...]]]]
"""What a metric needs, to the columns it can be had from beside one of its own name; what reads several, and these."""


class DatasetRows:
    """Mixed into an `evaluate.Metric`, before it: `evaluate` sees references in the form of its features alone."""

    columns: ClassVar[Columns]

    def add_batch(self, *, predictions: Any = None, references: Any = None, **inputs: Any) -> None:
        """Adds predictions and rows; `compute` calls it too."""
        if references is not None:
            references = [
                read_row(row, self.columns, f"references[{place}]")
                for place, row in enumerate(references)
            ]
        super().add_batch(predictions=predictions, references=references, **inputs)  # type: ignore[misc]

    def add(self, *, prediction: Any = None, reference: Any = None, **inputs: Any) -> None:
        """Adds a prediction and its row."""
        super().add(  # type: ignore[misc]
            prediction=prediction,
            reference=read_row(reference, self.columns, "reference"),
            **inputs,
        )


def read_row(row: Any, columns: Columns, where: str) -> Any:
    """Reads what a metric needs from a row, whatever else is in it; what is no row is left to `evaluate`.

    A row with all of the metric's own names is read by these; else the dataset's columns go first, so that a column of
    somebody's, such as a model's `answer` beside the official ones, is never taken for the gold.
    """
    if not isinstance(row, Mapping):
        return row
    if all(name in row for name in columns):
        return {name: row[name] for name in columns}
    found = {}
    for name, others in columns.items():
        sources = [
            source if isinstance(source, tuple) else (lambda value: value, source)
            for source in (*others, name)
        ]
        known = next(
            (source for source in sources if all(column in row for column in source[1:])), None
        )
        if known is None:
            taken = " or ".join(" and ".join(source[1:]) for source in sources)
            raise ValueError(
                f"{where}: has no {name}. It is read from {taken}; got {', '.join(map(str, row))}"
            )
        found[name] = known[0](*(row[column] for column in known[1:]))
    return found
