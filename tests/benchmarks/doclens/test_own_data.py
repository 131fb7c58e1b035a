"""A user's own texts: records, numbered sources, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.own_data import (
    OWN_COLUMNS,
    NumberingError,
    is_numbered,
    read_own_rows,
    read_own_texts,
    read_sources,
    source_sentences,
)
from medical_tasks.benchmarks.doclens.spec import demo_entries
from medical_tasks.errors import UsageError
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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("{}", "a list of records is needed, got an object of 0"),
        ("[]", "got a list of 0"),
        ('"SECRET"', "got a text of 6 characters"),
        ([GOOD, "SECRET"], "record 2: an object is needed, got a text of 6 characters"),
        ([{"example_id": "1", "input": "SECRET"}], "record 1: has no reference"),
        ([{"input": "SECRET", "reference": "SECRET"}], "record 1: has no example_id"),
        ('[{"example_id": 1, "input": "SECRET", "input": "a", "reference": ""}]', "a name stands twice in one object"),
        (changed(example_id=True), "example_id must be a whole number or a text .* got true or false"),
        (changed(example_id=1.5), "got a number"),
        (changed(example_id=""), "got a text of 0 characters"),
        (changed(example_id="SECRET " * 20), "got a text of 140 characters"),
        (changed(example_id="SECRET\nSECRET"), "without line ends"),
        (changed(input=None), r"record 1 \(example_id '1'\): input must be a text, got null"),
        (changed(input=["SECRET"]), "input must be a text, got a list of 1"),
        (changed(input=" \n"), "input must be a text that is not blank"),
        (changed(input="[0] "), "input must be a text that is not blank"),
        (changed(input="[0] a. [2] SECRET"), r"record 1 \(example_id '1'\): its input has \[2\] behind \[0\]"),
        (changed(input="[1] SECRET"), r"its input begins with \[1\]"),
        (changed(reference=7), "reference must be a text, got a number"),
        (changed(reference_plan={"SECRET": 1}), "'reference_plan' must be a text, got an object of 1"),
        (r'[{"example_id": 1, "input": "SECRET \ud800", "reference": ""}]', "input has characters that are none"),
        ([GOOD, {**GOOD, "example_id": 1}], r"record 2: example_id '1' stands twice"),
    ],
)
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
    assert [text.sentences for text in plain] == [text.sentences for text in divided]


@pytest.mark.parametrize(
    ("source", "sentences"),
    [
        ("[0][doctor] hi .\n[1][patient] hello\nthere .", ["[doctor] hi .", "[patient] hello there ."]),
        ("[0] A stone. [1] It passed.", ["A stone.", "It passed."]),
        ("[0] Take [5] drops [1] at night", ["Take [5] drops", "at night"]),
        ("  [0] one\n[1]\n[2] three", ["one", "", "three"]),
        ("[0] Benefit was shown [12]. [1] Go on.", ["Benefit was shown [12].", "Go on."]),
        (
            "He has a stone of 2.5 mm. Dr. Lee saw him.\n\nNo fever",
            ["He has a stone of 2.5 mm.", "Dr. Lee saw him.", "No fever"],
        ),
        ("See the list.\n[1] Smith.\n[2] Jones.", ["See the list.", "[1] Smith.", "[2] Jones."]),
        ("A score of [0] was given.", ["A score of [0] was given."]),
        ("", []),
        (" \n ", []),
        ("[0]", [""]),
    ],
)
def test_sentences(source: str, sentences: list[str]) -> None:
    assert source_sentences(source) == sentences


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("[1] SECRET one. [2] two.", r"begins with \[1\], the first number must be \[0\]"),
        ("[0] one.\n[2] SECRET", r"has \[2\] behind \[0\], where \[1\] comes next"),
        ("[0] one. [1] two. [3] SECRET", r"has \[3\] behind \[1\], where \[2\] comes next"),
        ("[0] one.\n[1] two\n[1] SECRET", r"has \[1\] behind \[1\], where \[2\] comes next"),
        ('[0] He said "no." [2] SECRET', r"has \[2\] behind \[0\]"),
        ("Dialogue of a visit: [0] SECRET [1] two", r"numbered from \[0\] on, but text stands before it"),
    ],
)
def test_numbers_that_are_not_the_places(source: str, message: str) -> None:
    with pytest.raises(NumberingError, match=message) as caught:
        source_sentences(source)
    assert "SECRET" not in str(caught.value)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(alphabet="ab .\n[]", min_size=1).map(lambda text: " ".join(text.split())), min_size=1))
def test_numbering_and_reading_give_the_sentences_back(sentences: list[str]) -> None:
    source = "\n".join(f"[{number}] {sentence}" for number, sentence in enumerate(sentences))
    assert is_numbered(source)
    assert source_sentences(source) == sentences


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="aB. \n()12", max_size=60))
def test_a_source_without_numbers_loses_no_word(source: str) -> None:
    assert " ".join(source_sentences(source)).split() == source.split()


@needs_shared
@pytest.mark.upstream
def test_the_authors_file_is_read_as_it_is() -> None:
    records = json.loads((SHARED / "data/doclens/ACI-Bench-TestSet-1_clean.json").read_text(encoding="utf-8"))
    found = [source_sentences(record["input"]) for record in records]
    assert (len(found), sum(map(len, found))) == (40, 2082)
    assert all(
        sentences == list(read_sources(record["input"]).values())
        for sentences, record in zip(found, records, strict=True)
    )
