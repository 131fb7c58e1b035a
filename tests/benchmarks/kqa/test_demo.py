"""The synthetic questions: sound in form, of every shape, and buildable."""

from __future__ import annotations

from pathlib import Path

from medical_tasks.benchmarks.catalog import build_dataset
from medical_tasks.benchmarks.kqa.data import COLUMNS, demo_documents, demo_ids, demo_rows, load_items
from medical_tasks.benchmarks.kqa.spec import DATASET, KQA
from medical_tasks.data.dataset_store import read_rows

ROWS = demo_rows()
ITEMS = load_items(KQA, ROWS)


def test_rows_have_the_columns() -> None:
    assert len(ROWS) == 13
    for row in ROWS:
        assert list(row) == [column.name for column in COLUMNS]
        for column in COLUMNS:
            assert isinstance(row[column.name], list if column.repeated else str)
    assert demo_ids() == {item.id for item in ITEMS}
    assert len(demo_ids()) == 13


def test_shapes() -> None:
    sizes = [(len(row["must_have"]), len(row["nice_to_have"])) for row in ROWS]
    assert (1, 0) in sizes
    assert any(must > 1 and nice == 0 for must, nice in sizes)
    assert any(must == 1 and nice > 0 for must, nice in sizes)
    assert max(must + nice for must, nice in sizes) >= 12
    assert any(not row["question"].isascii() for row in ROWS)
    assert {item.groups["must_haves"] for item in ITEMS} == {"up to 2", "3 to 4", "5 or more"}
    assert {item.groups["question_form"] for item in ITEMS} == {"yes or no", "open", "other"}


def test_statements_are_whole_sentences_that_stand_once() -> None:
    checked = 0
    for row in ROWS:
        statements = [*row["must_have"], *row["nice_to_have"]]
        checked += len(statements)
        assert len({statement.casefold() for statement in statements}) == len(statements)
        for statement in statements:
            assert statement == statement.strip()
            assert statement.endswith(".")
            assert "\n" not in statement
    assert checked >= 80


def test_the_corpus() -> None:
    assert len(demo_documents()) == 9
    assert len({document.name for document in demo_documents()}) == 9
    for document in demo_documents():
        assert document.name.startswith("demo/")
        assert 30 <= len(document.text.split()) <= 150


def test_it_builds(tmp_path: Path) -> None:
    built = build_dataset("kqa", source=None, config="demo", out=tmp_path / "kqa")
    assert (built.rows, built.notes) == (13, ())
    assert read_rows(built.folder, "demo", "test", spec=DATASET) == ROWS
