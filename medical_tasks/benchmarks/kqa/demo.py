"""Synthetic questions with answers and statements, and a corpus to retrieve from, written for this package. Not medical advice.

No patient asked the questions; their shapes are those of the release: one must-have statement and nothing else, no nice-to-have
statements, long lists, typographic marks. The corpus is short texts for lay readers that cover most questions but not all, so that
"I don't know" is sometimes the right answer for a model that may use nothing else.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.kqa.documents import Document


def demo_questions() -> list[dict[str, Any]]:
    """The questions, with the columns of the release that they have; each answer says what its statements say."""
    questions: list[dict[str, Any]] = _demo()["questions"]
    return questions


def demo_documents() -> list[Document]:
    """The corpus."""
    return [Document(**document) for document in _demo()["documents"]]


@cache
def _demo() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("demo.json").read_text(encoding="utf-8"))
    return content
