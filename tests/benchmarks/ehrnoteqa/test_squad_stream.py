"""JSON read piece by piece gives what reading it whole gives, whatever its size and shape; damage is told by its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa import evidence
from medical_tasks.benchmarks.ehrnoteqa.evidence import read_paragraphs, read_titles
from medical_tasks.errors import UsageError
from tests.benchmarks.ehrnoteqa.twin_files import SECRET

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ENTRIES = st.lists(st.fixed_dictionaries({"title": st.text(), "paragraphs": st.lists(VALUES, max_size=3)}), max_size=3)


def write(folder: Path, text: str) -> Path:
    path = folder / "file.json"
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> list[tuple[int, int, Any, Any]]:
    return [(each.entry, each.number, each.title, each.value) for each in read_paragraphs(path)]


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(write(folder, text))
    assert "marble" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@settings(deadline=None, max_examples=25)
@given(entries=ENTRIES, indent=st.sampled_from([None, 1]), plain=st.booleans())
def test_it_reads_what_json_reads(
    tmp_path_factory: pytest.TempPathFactory, chunk: int, entries: list[dict[str, Any]], indent: int | None, plain: bool
) -> None:
    folder = tmp_path_factory.mktemp("squad")
    expected = [
        (number, place, entry["title"] if next(iter(entry)) == "title" else None, value)
        for number, entry in enumerate(entries, start=1)
        for place, value in enumerate(entry["paragraphs"], start=1)
    ]
    patched = pytest.MonkeyPatch()
    patched.setattr(evidence, "_CHUNK_BYTES", chunk)
    try:
        for whole in ({"version": 12.5, "data": entries, "more": [1]}, entries):
            text = json.dumps(whole, indent=indent, ensure_ascii=plain)
            try:
                path = write(folder, text)
            except UnicodeEncodeError:  # a lone surrogate, which only escapes can name
                path = write(folder, json.dumps(whole, indent=indent))
            assert read(path) == expected
            assert read_titles(path) == dict(enumerate((entry["title"] for entry in entries), start=1))
    finally:
        patched.undo()


def test_the_shapes(tmp_path: Path) -> None:
    one = {"title": "t", "paragraphs": [{"a": 1}]}
    behind = {"paragraphs": [{"a": 1}], "title": "t"}
    assert read(write(tmp_path, json.dumps({"data": [one]}))) == [(1, 1, "t", {"a": 1})]
    assert read(write(tmp_path, json.dumps([one]))) == [(1, 1, "t", {"a": 1})]
    assert read(write(tmp_path, json.dumps(one))) == [(1, 1, "t", {"a": 1})]
    assert read(write(tmp_path, json.dumps([behind, one]))) == [(1, 1, None, {"a": 1}), (2, 1, "t", {"a": 1})]
    assert read_titles(write(tmp_path, json.dumps([behind, one]))) == {1: "t", 2: "t"}
    assert read(write(tmp_path, "\ufeff" + json.dumps({"data": []}, indent=3).replace("\n", "\r\n") + "\r\n\r\n")) == []


def test_lines_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_CHUNK_BYTES", 5)
    text = '{"data": [\n{"title": "t", "paragraphs": [\n\n1,\n{"a":\n2}\n,\n 3]}]}'
    assert [each.line for each in read_paragraphs(write(tmp_path, text))] == [4, 5, 8]


TEXT = json.dumps({"data": [{"title": "t", "paragraphs": [{"context": f"he {SECRET} " * 9, "n": [1, 2]}]}]}, indent=1)


def test_a_file_cut_anywhere_is_refused(tmp_path: Path) -> None:
    for end in range(len(TEXT)):
        told = refusal(tmp_path, TEXT[:end])
        assert re.search(r"line \d+: not a SQuAD-form JSON file: .*(cut off|empty)", told), (end, told)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n", "line 2: not a SQuAD-form JSON file: it is empty"),
        (f'"{SECRET}"', "line 1: not a SQuAD-form JSON file: an object must stand there"),
        ("{}", "the object that ends there has no 'data' or 'paragraphs'"),
        ('{"data": [{"title": "x"}]}', "the object that ends there has no 'paragraphs'"),
        ('{"data": [{"data": []}]}', "the object that ends there has no 'paragraphs'"),
        ('{"data": 5}', "a list must stand there"),
        ('{"data": [5]}', "an object must stand there"),
        ('{"data": []} x', "something stands behind the end of the JSON value"),
        ('{"data": [] "more": 1}', "it is damaged there"),
        (
            '{"data": [],\n"data": []}',
            "line 2: not a SQuAD-form JSON file: the object that holds this has two members of",
        ),
        ('[{"paragraphs": [], "paragraphs": []}]', "two members of one name"),
        ("{1: 2}", "it is damaged there"),
        ('{"data": [],}', "it is damaged there"),
        ('[{"paragraphs":\n[{"a": 1 2}' + " " * 50 + "]}]", "line 2: not a SQuAD-form JSON file: it is damaged there"),
        ('[{"paragraphs": [' + "[" * 100_000, "nested too deeply in the value"),
        ('[{"paragraphs": [' + "1" * 5_000 + "]}]", "a number of too many digits in the value"),
    ],
)
def test_damage_is_told_by_its_place(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path, text)


def test_damage_is_told_without_reading_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_CHUNK_BYTES", 64)
    read_bytes: list[int] = []
    path = write(tmp_path, '[{"paragraphs": [{"a" 1' + " " * 10_000 + "}]}]")
    with pytest.raises(UsageError, match="it is damaged there"):
        list(read_paragraphs(path, on_read=read_bytes.append))
    assert read_bytes
    assert max(read_bytes) < 1_000


def test_a_lost_quote_does_not_take_all_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_CHUNK_BYTES", 64)
    monkeypatch.setattr(evidence, "PARAGRAPH_LIMIT_CHARS", 1_000)
    told = refusal(tmp_path, '[{"paragraphs": [{"a": "' + "x" * 10_000 + '"}]}]')
    assert "the value that begins there has more than 1,000 characters" in told


def test_other_encodings_and_files_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes('[{"paragraphs": ["é"]}]'.encode("latin-1"))
    with pytest.raises(UsageError, match=r"not UTF-8 near byte 23 \(byte 0xe9\)"):
        read(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path)


@pytest.mark.parametrize("number", [1.801439850948198e16, -2.5e-300, 12.25, 7, -0.0, 1e22])
@pytest.mark.parametrize("chunk", range(1, 12))
def test_a_number_is_whole_wherever_it_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, number: float
) -> None:
    monkeypatch.setattr(evidence, "_CHUNK_BYTES", chunk)
    path = write(tmp_path, json.dumps([{"title": "t", "paragraphs": [number, number]}]))
    assert [value for _, _, _, value in read(path)] == [number, number]
