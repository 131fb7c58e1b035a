"""The `demo` configuration: synthetic questions that run every K-QA task without a download.

Questions, answers and statements are invented, and their shapes are those of the release: one must-have statement and
nothing else, no nice-to-have statements, long lists, typographic marks. Their corpus for retrieval is `demo_documents`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from medical_tasks.benchmarks.kqa.demo_questions import QUESTIONS
from medical_tasks.benchmarks.kqa.row import question_id, typed_row

__all__ = ["demo_ids", "demo_rows"]


def demo_rows() -> list[dict[str, Any]]:
    """Makes the rows of the `demo` configuration.

    Returns:
        One mapping a row, with the names and types of the rows of the release.
    """
    return [
        typed_row(
            question=record.question,
            answer=record.answer,
            must_have=record.must_have,
            nice_to_have=record.nice_to_have,
            icd_10_diag=record.diagnosis,
        )
        for record in QUESTIONS
    ]


@lru_cache(maxsize=1)
def demo_ids() -> frozenset[str]:
    """Returns the ids of the demo's questions."""
    return frozenset(question_id(record.question) for record in QUESTIONS)
