"""A user's own texts: records, numbered sources, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import (
    OWN_COLUMNS,
    NumberingError,
    read_own_rows,
    read_own_texts,
    source_sentences,
)
from medical_tasks.benchmarks.doclens.spec import demo_entries
from medical_tasks.errors import UsageError
from tests.benchmarks.doclens.task_items import cases
from tests.support import SHARED, needs_shared

GOOD = {"example_id": "1", "input": "[0] SECRET one. [1] two.", "reference": "SECRET"}


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_rows(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        GOOD,
        {"example_id": 2, "input": "No number. Two sentences.", "reference": "", "output": "passed over", "more": [1]},
        {
            "example_id": "note 3",
            "input": "[0] x",
            "reference": " #####EMPTY##### ",
            "reference_plan": "#####EMPTY#####",
        },
    ]
    rows = list(read_own_rows("own", "test", {"test": write(tmp_path / "n.json", f"\ufeff{json.dumps(records)}")}))
    assert rows == [
        {"id": "1", "source": GOOD["input"], "sentences": ["SECRET one.", "two."], "reference": "SECRET"},
        {"id": "2", "source": records[1]["input"], "sentences": ["No number.", "Two sentences."], "reference": ""},
        {"id": "note 3", "source": "[0] x", "sentences": ["x"], "reference": ""},
    ]
    assert all(list(row) == [column.name for column in OWN_COLUMNS] for row in rows)
    texts = read_own_texts(tmp_path / "n.json")
    assert [text.sections for text in texts] == [{}, {}, {"plan": ""}]


def changed(**fields: Any) -> list[dict[str, Any]]:
    return [{**GOOD, **fields}]


@pytest.mark.parametrize(("content", "message"), cases("own_data", "test_bad_files_by_message_without_a_word_of_them"))
def test_bad_files_by_message_without_a_word_of_them(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_own_texts(write(tmp_path / "notes.json", content))
    assert "SECRET" not in str(caught.value)
    assert "notes.json" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read \(No such file"):
        read_own_texts(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b'[{"example_id": 1, "input": "\xe9"}]')
    with pytest.raises(UsageError, match="not UTF-8 text .* at byte 29"):
        read_own_texts(tmp_path / "latin.json")


def test_the_demo_has_sources_of_both_kinds() -> None:
    rows = list(read_own_rows("demo", "test", {}))
    assert (
        [row["id"] for row in rows]
        == [text["id"] for text in demo_entries("texts", "test")]
        == ["call-1", "call-2", "report-1", "letter-1"]
    )
    assert [len(row["sentences"]) for row in rows] == [9, 9, 5, 6]
    assert not rows[-1]["source"].startswith("[0]")
    assert all(row["reference"] for row in rows)


@needs_shared
@pytest.mark.upstream
def test_the_authors_files_are_such_files() -> None:
    folder = SHARED / "data" / "doclens"
    plain = read_own_texts(folder / "ACI-Bench-TestSet-1_clean.json")
    divided = read_own_texts(folder / "ACI-Bench-TestSet-1_clean.claim_min1max30.json")
    assert (len(plain), len(divided)) == (40, 40)
    assert {len(text.sections) for text in plain} == {0}
    assert {len(text.sections) for text in divided} == {4}
    assert sum(len(text.sentences) for text in plain) == 2082
    assert [text.sentences for text in plain] == [text.sentences for text in divided]


@pytest.mark.parametrize(("source", "sentences"), cases("own_data", "test_sentences"))
def test_sentences(source: str, sentences: list[str]) -> None:
    assert source_sentences(source) == sentences


@pytest.mark.parametrize(("source", "message"), cases("own_data", "test_numbers_that_are_not_the_places"))
def test_numbers_that_are_not_the_places(source: str, message: str) -> None:
    with pytest.raises(NumberingError, match=message) as caught:
        source_sentences(source)
    assert "SECRET" not in str(caught.value)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(alphabet="ab .\n[]", min_size=1).map(lambda text: " ".join(text.split())), min_size=1))
def test_numbering_and_reading_give_the_sentences_back(sentences: list[str]) -> None:
    source = "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(sentences))
    assert source_sentences(source) == sentences


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="aB. \n()12", max_size=60))
def test_a_source_without_numbers_loses_no_word(source: str) -> None:
    assert " ".join(source_sentences(source)).split() == source.split()
