"""Helpers that tests of several benchmarks share: written and refused files, judges' prompts and sessions."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from medical_tasks.errors import MedicalTasksError, UsageError
from medical_tasks.io.store import Store
from medical_tasks.judges.base import Backend, JudgeOptions, Question
from medical_tasks.judges.session import JudgeSession


def write_jsonl(path: Path, rows: Iterable[Any]) -> Path:
    """Writes a file with a JSON value in each line."""
    lines = (json.dumps(row) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_csv(
    path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> Path:
    """Writes a CSV file with a header."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def refusal_message(
    read: Callable[[], object], error: type[MedicalTasksError] = UsageError
) -> str:
    """The message with which a file is refused; it does not quote the marble of the files' texts."""
    with pytest.raises(error) as caught:
        read()
    message = str(caught.value)
    assert "marble" not in message
    return message


def question_text(question: Question) -> str:
    """The prompt of a question, which is one message of the user."""
    assert [message["role"] for message in question.messages] == ["user"]
    return str(question.messages[0]["content"])


def json_values(keys: Sequence[str]) -> st.SearchStrategy[Any]:
    """JSON values whose objects have some of the keys."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(keys), inner, max_size=4)
        ),
        max_leaves=12,
    )


@contextmanager
def judge_session(
    folder: Path, backend: Backend, options: JudgeOptions
) -> Iterator[JudgeSession]:
    """A real session of a judge, with an empty store."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "judge.sqlite"
    with Store(path) as store:
        yield JudgeSession(backend, options, store, quiet=True)
