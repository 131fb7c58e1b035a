"""Made-up sentences: what the toy's tokenizer learns, and what it is asked."""

from __future__ import annotations

import json
from pathlib import Path

from medical_tasks.models.base import Request
from medical_tasks.spec import Message

_SUBJECTS = (
    "The patient",
    "An infant",
    "A retired teacher",
    "The second twin",
    "A marathon runner",
    "The new admission",
)
_FINDINGS = (
    "reports chest pain on exertion",
    "has a creatinine of 1.4 mg/dL",
    "was given 500 mg of amoxicillin",
    "denies fever, cough or weight loss",
    "walks without a stick",
    "needs a follow-up scan in six weeks",
    "sleeps badly since the operation",
)
_QUESTIONS = ("What should be done next?", "Is the dose right?", "Which score applies?", "May treatment be stopped?")

TEXTS = tuple(
    f"{subject} {finding}. {question}" for subject in _SUBJECTS for finding in _FINDINGS for question in _QUESTIONS
)


CASES = json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))
"""Rows of parametrised tests, by the test's name."""


def ask(key: str, text: str, *, size: int = 24, system: str = "", stop: tuple[str, ...] = ()) -> Request:
    """A request of one user message, after a system message if given."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": text})
    return Request(key=key, messages=tuple(messages), max_new_tokens=size, stop=stop)


def change_json(folder: Path, file: str, **values: object) -> None:
    """Changes some entries of one of a model's JSON files."""
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **values}), encoding="utf-8")
