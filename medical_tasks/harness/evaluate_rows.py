"""Reads a metric's values from rows of a dataset, by its official or its built columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Row: TypeAlias = Mapping[str, object]

Source: TypeAlias = str | tuple[Callable[..., object], *tuple[str, ...]]
"""A column's name, or a function and the columns it takes: `(split_turns, "dialogue")`."""

Columns: TypeAlias = Mapping[str, Sequence[Source]]
"""Further sources for each of a metric's values, besides the column of the value's own name."""


def read_row(row: object, columns: Columns, where: str) -> object:
    """Reads a metric's values from a row; `evaluate` handles what is not a row.

    A row with all of the metric's own names is read by these. Otherwise the dataset's
    columns take precedence, so that another column, such as a model's `answer` beside
    the official ones, is never taken for the gold.

    Example:
        >>> read_row({"Must_have": ["Rest."], "id": 3}, {"must_have": ("Must_have",)}, "row")
        {'must_have': ['Rest.']}
    """
    if not isinstance(row, Mapping):
        return row
    if all(name in row for name in columns):
        return {name: row[name] for name in columns}

    return {name: _value(row, name, others, where) for name, others in columns.items()}


def _unchanged(value: object) -> object:
    return value


def _value(row: Row, name: str, others: Sequence[Source], where: str) -> object:
    """Returns a field of a row, from the first of its sources whose columns all exist.

    Args:
        row: of the dataset.
        name: of the field; the column with that name is the last source.
        others: columns with another name, or a function with the columns that it reads.
        where: the row's position, for the message.
    """
    sources = [
        source if isinstance(source, tuple) else (_unchanged, source)
        for source in (*others, name)
    ]
    for read, *columns in sources:
        if all(column in row for column in columns):
            return read(*(row[column] for column in columns))

    expected = " or ".join(" and ".join(columns) for _, *columns in sources)
    raise ValueError(
        f"{where}: has no {name}. It is read from {expected}; got {', '.join(map(str, row))}"
    )
