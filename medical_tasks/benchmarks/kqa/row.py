"""A row of the built dataset and its id, whatever it was made from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

__all__ = ["question_id", "typed_row"]

_ID_DIGITS = 16
_DIAGNOSIS_DIGITS = 8


def question_id(question: str, diagnosis: str | None = None) -> str:
    """Names a question by its text.

    White space does not count: one question of the release ends in a line break, and copies of a dataset differ there.

    Args:
        question: the question.
        diagnosis: tells repeats of one question apart; not part of the name of its first occurrence.

    Returns:
        16 hexadecimal digits, with a dash and 8 more for a repeat.
    """
    name = _digest(question, _ID_DIGITS)
    return name if diagnosis is None else f"{name}-{_digest(diagnosis, _DIAGNOSIS_DIGITS)}"


def _digest(text: str, digits: int) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:digits]


def typed_row(
    *,
    question: str,
    answer: str = "",
    must_have: Sequence[str] = (),
    nice_to_have: Sequence[str] = (),
    sources: Sequence[str] = (),
    icd_10_diag: str = "",
    entity_text: Sequence[str] = (),
    matched_entity: str = "",
    entity_tag: Sequence[str] = (),
    id: str = "",  # noqa: A002 - the column's name
) -> dict[str, Any]:
    """Puts a row together, with the columns in their order.

    Args:
        question: column of that name, as all that follow.
        answer: see `data.COLUMNS`.
        must_have: see there.
        nice_to_have: see there.
        sources: see there.
        icd_10_diag: see there.
        entity_text: see there.
        matched_entity: see there.
        entity_tag: see there.
        id: the row's id; made from the question when it is empty.

    Returns:
        Column name to value.
    """
    return {
        "id": id or question_id(question),
        "question": question,
        "answer": answer,
        "must_have": list(must_have),
        "nice_to_have": list(nice_to_have),
        "sources": list(sources),
        "icd_10_diag": icd_10_diag,
        "entity_text": list(entity_text),
        "matched_entity": matched_entity,
        "entity_tag": list(entity_tag),
    }
