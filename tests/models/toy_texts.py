"""Made-up sentences to train the toy's tokenizer on and to ask the toy about."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

from medical_tasks.guard.policy import Subject
from medical_tasks.models.base import Request
from medical_tasks.spec import Message
from tests.case_tables import json_of

HERE = Path(__file__).parent
WORDS = json_of(HERE / "texts.json")
CASES = json_of(HERE / "cases.json")
"""Rows of parametrised tests, by the test's name."""

COMMIT = "0123456789abcdef0123456789abcdef01234567"
"""The commit of the repository in `hub_cache`."""

NOTES = Subject(
    name="notes", dataset="notes", access="credentialed", rule="notes stay here"
)
"""Credentialed data, for tests of the guard."""

_PARTS = product(*(WORDS[kind] for kind in ("subjects", "findings", "questions")))
TEXTS = tuple(
    f"{subject} {finding}. {question}" for subject, finding, question in _PARTS
)


def ask(
    key: str, text: str, *, size: int = 24, system: str = "", stop: tuple[str, ...] = ()
) -> Request:
    """A request of one user message, after a system message if given."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    messages.append({"role": "user", "content": text})
    return Request(key=key, messages=tuple(messages), max_new_tokens=size, stop=stop)


def numbered(
    count: int, *, more: str = "", size: int = 16, stop: tuple[str, ...] = ()
) -> list[Request]:
    """The requests `k0`, `k1` and so on, of the texts `question 0`, `question 1` and so on, each followed by `more`."""
    return [
        ask(f"k{number}", f"question {number}{more}", size=size, stop=stop)
        for number in range(count)
    ]


def change_json(folder: Path, file: str, **values: object) -> None:
    """Changes some entries of one of a model's JSON files."""
    path = folder / file
    path.write_text(
        json.dumps({**json_of(path), **values}),
        encoding="utf-8",
    )
