from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import (
    CATEGORIES,
    COLUMNS,
    OFFICIAL_COLUMNS,
    SOURCES,
    V1_TEST_SHA256,
    load_items,
    read_rows,
)
from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC, MEDCALC_BENCH
from medical_tasks.errors import UsageError
from tests.benchmarks.medcalc_bench.official_csv import V1, csv_text, official_row, v1_cells, v12_rows, write_csv
from tests.support import needs_shared

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def read(path: Path, config: str = "v1.0") -> list[dict[str, Any]]:
    return list(read_rows(config, "test", {"test": path}))


def test_every_column_is_kept_and_typed(tmp_path: Path) -> None:
    source = official_row(7)
    (row,) = read(write_csv(tmp_path / "test_data.csv", [source]))
    assert list(row) == [column.name for column in COLUMNS]
    assert row == {**TABLES["typed_row"], "patient_note": source["Patient Note"]}
    path, entities = tmp_path / "x.csv", '{"b": true, "a": [1.5, "mg"]}'
    row = official_row(1, **{"Relevant Entities": entities})
    path.write_text(csv_text([row], reversed(OFFICIAL_COLUMNS)), encoding="utf-8")
    (made,) = read(path)
    assert list(made) == [column.name for column in COLUMNS]
    assert made["relevant_entities"] == '{"a":[1.5,"mg"],"b":true}'


@pytest.mark.parametrize("config", ["v1.2", "verified"])
def test_later_releases_get_the_names_of_v1(tmp_path: Path, config: str) -> None:
    rows = read(write_csv(tmp_path / "test_data.csv", v12_rows()), config)
    assert [row["category"] for row in rows] == ["lab", "dosage", "date", "date"]
    assert [row["source_category"] for row in rows] == ["lab test", "dosage conversion", "date", "date"]
    assert rows[2]["ground_truth_answer"] == "('15 weeks', '6 days')"
    assert rows[3]["ground_truth_answer"] == "5/9/2024"


WIDE, TWICE = [{**official_row(1), "Difficulty": "hard"}], csv_text([official_row(1), official_row(2)])
SHORT = [name for name in OFFICIAL_COLUMNS if name != "Note Type"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (csv_text([official_row(1, Category="x" * 500)]), r"got 'x{60}\.\.\.'\. Download"),
        (
            csv_text([official_row(4), official_row(5), official_row(4)]),
            "Row Number 4 stands on line 3 and again on line 7; it must be unique",
        ),
        (
            csv_text(WIDE, [*OFFICIAL_COLUMNS, "Difficulty"]),
            "wrong columns for the MedCalc-Bench v1.0 test set. unexpected: 'Difficulty'",
        ),
        (csv_text(WIDE, SHORT), "missing: 'Note Type'. Expected: 'Row Number', 'Calculator ID'"),
        (TWICE[: TWICE.rindex("sodium 140")], "unexpected end of data, line 5.*a quoted field is left open"),
        (
            TWICE[: TWICE.rindex(",pmc-1002-1")],
            "the row that ends on line 4 has 5 fields, the header has 14; the file is cut off",
        ),
        ("", "x.csv: is empty"),
        (csv_text([]), "has a header and no rows"),
        (csv_text([official_row(1, Question="20 °C?")]), r"not UTF-8 after line \d+ \(byte 0xb0\)"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=message):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize(("column", "value", "message"), TABLES["bad_cells_name_line_row_and_column"])
def test_bad_cells_name_line_row_and_column(tmp_path: Path, column: str, value: str, message: str) -> None:
    path = write_csv(tmp_path / "x.csv", [official_row(1), official_row(2, **{column: value})])
    with pytest.raises(UsageError, match=message) as caught:
        read(path)
    # The note spans two lines of the file, so that the second row ends on the fifth; an empty note saves one.
    line = 4 if column == "Patient Note" else 5
    assert str(caught.value).startswith(f"{path}: line {line}, Row Number ")


@pytest.mark.parametrize(("output_type", "answer", "good"), TABLES["forms_of_the_gold"])
def test_forms_of_the_gold(tmp_path: Path, output_type: str, answer: str, good: bool) -> None:
    gold = dict.fromkeys(("Ground Truth Answer", "Lower Limit", "Upper Limit"), answer)
    path = write_csv(tmp_path / "x.csv", [official_row(1, **{"Output Type": output_type}, **gold)])
    if good:
        assert read(path)[0]["ground_truth_answer"] == answer
    else:
        with pytest.raises(UsageError, match=f"for output type {output_type}, got"):
            read(path)


def item_rows(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**TABLES["item_rows"], "row_number": number, **change} for number, change in enumerate(changes, start=1)]


def test_items_carry_id_groups_fields_and_clusters() -> None:
    rows = item_rows({}, {"row_number": 12, "category": "risk", "calculator_name": "X"})
    items = load_items(MEDCALC, rows)
    assert [item.id for item in items] == ["1", "12"]
    assert [dict(item.groups) for item in items] == [
        {"category": "lab", "calculator": "Anion Gap"},
        {"category": "risk", "calculator": "X"},
    ]
    assert set(items[0].groups) == set(MEDCALC.groups)
    assert dict(items[1].fields) == rows[1]
    assert load_items(MEDCALC, []) == []
    items = load_items(MEDCALC, item_rows(*TABLES["clusters"]))
    clusters = [item.cluster for item in items]
    assert clusters[0] == clusters[1] == "pmc-1-1"
    assert clusters[2] == clusters[4]  # one template text under two numbers
    assert len(set(clusters)) == 3
    with pytest.raises(UsageError, match="medcalc: two rows of the built dataset have the same row_number"):
        load_items(MEDCALC, item_rows({}, {"row_number": 1}))


def test_source_covers_the_spec() -> None:
    (source,) = SOURCES
    assert source.spec is MEDCALC_BENCH
    assert list(source.splits) == ["v1.0", "v1.2", "verified", "demo", "fresh"]
    # Paper, abstract; READMEs of the two repositories.
    assert source.published_rows["v1.0"] == {"test": 1047}
    assert source.published_rows["v1.2"] == source.published_rows["verified"] == {"test": 1100}
    assert source.living == {"v1.2", "verified"}


@pytest.fixture(scope="module")
def v1() -> list[dict[str, Any]]:
    return read(V1)


@needs_shared
@pytest.mark.upstream
def test_v1(v1: list[dict[str, Any]]) -> None:
    # Paper, table 1 and appendix A: 1,047 rows, 55 calculators.
    assert len(v1) == 1047
    assert len({row["calculator_id"] for row in v1}) == len({row["calculator_name"] for row in v1}) == 55
    assert Counter(row["category"] for row in v1) == TABLES["v1_counts"]
    assert set(CATEGORIES) == {row["category"] for row in v1}
    assert Counter(row["output_type"] for row in v1) == {"decimal": 627, "integer": 380, "date": 40}
    for source, row in zip(v1_cells(), v1, strict=True):
        for theirs, ours in OFFICIAL_COLUMNS.items():
            if theirs in ("Row Number", "Calculator ID"):
                assert str(row[ours]) == source[theirs]
            elif theirs == "Relevant Entities":
                assert json.loads(row[ours]) == ast.literal_eval(source[theirs])
            else:
                assert row[ours] == source[theirs]
        assert row["source_category"] == source["Category"]
    decimals = [row for row in v1 if row["output_type"] == "decimal"]
    assert len(decimals) == 627
    for row in decimals:
        assert (row["lower_limit"], row["upper_limit"]) == decimal_limits(row["ground_truth_answer"]), row["row_number"]
    for row in v1:
        if row["output_type"] != "decimal":
            assert row["lower_limit"] == row["ground_truth_answer"] == row["upper_limit"]
    items = load_items(MEDCALC, v1)
    notes = {item.cluster: row["patient_note"] for item, row in zip(items, v1, strict=True)}
    assert len(notes) == len(set(notes.values())) == len({row["patient_note"] for row in v1}) == 979
    assert all(notes[item.cluster] == row["patient_note"] for item, row in zip(items, v1, strict=True))
    from medical_tasks.data.dataset_source import file_sha256

    assert file_sha256(V1) == V1_TEST_SHA256
