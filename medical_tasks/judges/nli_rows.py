"""What a model reads of each pair: the pair as a whole where it fits, else one row for each window of the premise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from medical_tasks.judges.base import Pair
from medical_tasks.judges.nli_form import Columns, Form
from medical_tasks.judges.windows import text_windows

__all__ = ["SMALLEST_ROOM", "make_rows"]

SMALLEST_ROOM = 32
"""Tokens that must be left for a window of the premise beside the hypothesis."""

_ROOM_STEP = 8  # rooms are rounded down to this, so that hypotheses of like length share a premise's windows

_Cut = Callable[[str, int], list[str]]


def make_rows(form: Form, pairs: Sequence[Pair]) -> list[list[Columns] | None]:
    """Tokenises pairs, and cuts premises that are too long into windows.

    Args:
        form: the loaded model.
        pairs: what is asked.

    Returns:
        For each pair its rows, one a window; None when the hypothesis leaves no room for a window of the premise.
    """
    whole = form.encode([pair.premise for pair in pairs], [pair.hypothesis for pair in pairs])
    longest = form.max_length
    if longest is None:
        return [[columns] for columns in whole]

    @lru_cache(maxsize=64)
    def cut(premise: str, room: int) -> list[str]:
        return text_windows(premise, room, form.count)

    return [
        [columns] if len(columns["input_ids"]) <= longest else _windows(form, pair, longest, cut)
        for pair, columns in zip(pairs, whole, strict=True)
    ]


def _windows(form: Form, pair: Pair, longest: int, cut: _Cut) -> list[Columns] | None:
    beside = len(form.encode([""], [pair.hypothesis])[0]["input_ids"])
    room = longest - beside
    while room >= SMALLEST_ROOM:
        room -= room % _ROOM_STEP
        texts = cut(pair.premise, room)
        made = form.encode(texts, [pair.hypothesis] * len(texts))
        excess = max(len(columns["input_ids"]) for columns in made) - longest
        if excess <= 0:
            return made
        room -= excess  # sentences were counted one by one; joined they can be some tokens more
    return None
