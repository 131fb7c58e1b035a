"""Lines of the official files' form, with invented content."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def answered_line(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "Question": f"Is invented question {number} fine?",
        "Free_form_answer": "It is.",
        "Must_have": [" It is fine.", "It is invented."],
        "Nice_to_have": ["It has a number."],
        "Sources": "https://a.example/x?\n y=1\n \n\n https://b.example/",
        "ICD_10_diag": None,
        **changes,
    }


def question_line(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "Question": f"Is invented question {number} fine?",
        "ICD_10_diag": "Cough",
        "entity_text": ["cough"],
        "matched_entity": "cough",
        "entity_tag": ["problem"],
        **changes,
    }


def write_jsonl(path: Path, lines: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
