"""The ids of patients' questions, apart from what makes items of them: the demo needs them too."""

from __future__ import annotations

from medical_tasks.benchmarks.kqa.data import question_id


def item_id(question: str) -> str:
    """The id of a question's item, which K-QA's form makes of its text."""
    return question_id(question)
