"""Which item a verdict is about: a question's name begins with its item's id."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

__all__ = ["item_of", "verdicts_of_items"]


def item_of(question: str, ids: Container[str]) -> str | None:
    """Finds the item a question is about.

    Args:
        question: its name: the item's id alone, or with `/` and more behind it.
        ids: of the task's items; they may hold `/` as well, and the longest one that fits is meant.

    Returns:
        The id, or None.
    """
    while question not in ids:
        question, slash, _ = question.rpartition("/")
        if not slash:
            return None
    return question


def verdicts_of_items(
    rows: Iterable[Mapping[str, Any]], ids: Container[str]
) -> tuple[dict[str, list[Mapping[str, Any]]], list[str]]:
    """Sorts a task's verdicts by item.

    Args:
        rows: the verdicts, in order.
        ids: of the task's items.

    Returns:
        Item id to its verdicts in order, and the questions that are about no item.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    lost: list[str] = []
    for row in rows:
        item = item_of(str(row["id"]), ids)
        if item is None:
            lost.append(str(row["id"]))
        else:
            found.setdefault(item, []).append(row)
    return found, lost
