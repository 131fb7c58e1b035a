"""The rows and items of MedCalc-Bench: official files, the demo rows, and entities in their two notations."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.data import (
    CATEGORIES,
    COLUMNS,
    OFFICIAL_COLUMNS,
    SOURCES,
    V1_TEST_SHA256,
    load_items,
    read_rows,
)
from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits, demo_rows
from medical_tasks.benchmarks.medcalc_bench.gold import (
    MAX_ENTITIES_CHARS,
    answer_text,
    canonical_entities,
    parse_entities,
    recompute,
)
from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.spec import Row
from tests.benchmarks.medcalc_bench.official_csv import (
    V1,
    csv_text,
    official_row,
    v1_cells,
    v12_rows,
    write_csv,
)
from tests.case_tables import tables
from tests.support import needs_shared

TABLES: dict[str, Any] = tables(__file__)


def read(path: Path, config: str = "v1.0") -> list[Row]:
    return list(read_rows(config, "test", {"test": path}))


def test_every_column_is_kept_and_typed(tmp_path: Path) -> None:
    source = official_row(7)
    (row,) = read(write_csv(tmp_path / "test_data.csv", [source]))
    assert list(row) == [column.name for column in COLUMNS]
    assert row == {**TABLES["typed_row"], "patient_note": source["Patient Note"]}


def test_columns_in_another_order_and_entities_as_json(tmp_path: Path) -> None:
    path, entities = tmp_path / "x.csv", '{"b": true, "a": [1.5, "mg"]}'
    source = official_row(1, **{"Relevant Entities": entities})
    path.write_text(csv_text([source], reversed(OFFICIAL_COLUMNS)), encoding="utf-8")
    (row,) = read(path)
    assert list(row) == [column.name for column in COLUMNS]
    assert row["relevant_entities"] == '{"a":[1.5,"mg"],"b":true}'


@pytest.mark.parametrize("config", ["v1.2", "verified"])
def test_categories_of_later_releases_get_the_names_of_v1(
    tmp_path: Path, config: str
) -> None:
    rows = read(write_csv(tmp_path / "test_data.csv", v12_rows()), config)
    assert [row["category"] for row in rows] == ["lab", "dosage", "date", "date"]
    assert [row["source_category"] for row in rows] == [
        "lab test",
        "dosage conversion",
        "date",
        "date",
    ]
    assert rows[2]["ground_truth_answer"] == "('15 weeks', '6 days')"
    assert rows[3]["ground_truth_answer"] == "5/9/2024"


EXTRA_COLUMN = [{**official_row(1), "Difficulty": "hard"}]
WITHOUT_NOTE_TYPE = [name for name in OFFICIAL_COLUMNS if name != "Note Type"]
TWO_ROWS = csv_text([official_row(1), official_row(2)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            csv_text([official_row(1, Category="x" * 500)]),
            r"got 'x{60}\.\.\.'\. Download",
        ),
        (
            csv_text([official_row(4), official_row(5), official_row(4)]),
            "Row Number 4 appears in row 2 and again in row 4; it must be unique",
        ),
        (
            csv_text(EXTRA_COLUMN, [*OFFICIAL_COLUMNS, "Difficulty"]),
            "wrong columns for the MedCalc-Bench v1.0 test set. unexpected: 'Difficulty'",
        ),
        (
            csv_text(EXTRA_COLUMN, WITHOUT_NOTE_TYPE),
            "missing: 'Note Type'. Expected: 'Row Number', 'Calculator ID'",
        ),
        (TWO_ROWS[: TWO_ROWS.rindex("sodium 140")], "."),
        (
            TWO_ROWS[: TWO_ROWS.rindex(",pmc-1002-1")],
            "row 3 has 5 fields, the header has 14; the file is cut off",
        ),
        ("", "x.csv: is empty"),
        (csv_text([]), "has a header and no rows"),
        (csv_text([official_row(1, Question="20 °C?")]), r"row 2 is not UTF-8"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=message):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("column", "value", "message"), TABLES["bad_cells_name_row_and_column"]
)
def test_bad_cells_name_row_and_column(
    tmp_path: Path, column: str, value: str, message: str
) -> None:
    path = write_csv(
        tmp_path / "x.csv", [official_row(1), official_row(2, **{column: value})]
    )
    with pytest.raises(UsageError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: row 3, Row Number ")


@pytest.mark.parametrize(
    ("output_type", "answer", "accepted"), TABLES["forms_of_the_gold"]
)
def test_forms_of_the_gold(
    tmp_path: Path, output_type: str, answer: str, accepted: bool
) -> None:
    gold = dict.fromkeys(("Ground Truth Answer", "Lower Limit", "Upper Limit"), answer)
    path = write_csv(
        tmp_path / "x.csv", [official_row(1, **{"Output Type": output_type}, **gold)]
    )
    if accepted:
        assert read(path)[0]["ground_truth_answer"] == answer
    else:
        with pytest.raises(UsageError, match=f"for output type {output_type}, got"):
            read(path)


def item_rows(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**TABLES["item_rows"], "row_number": number, **change}
        for number, change in enumerate(changes, start=1)
    ]


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


def test_items_with_the_same_note_share_a_cluster() -> None:
    items = load_items(MEDCALC, item_rows(*TABLES["clusters"]))
    clusters = [item.cluster for item in items]
    assert clusters[0] == clusters[1] == "pmc-1-1"
    assert clusters[2] == clusters[4]  # one template text under two numbers
    assert len(set(clusters)) == 3


def test_access_and_published_sizes() -> None:
    source, own = SOURCES
    assert own.spec.access == "credentialed"
    # Paper, abstract; READMEs of the two repositories.
    assert source.published_rows["v1.0"] == {"test": 1047}
    assert (
        source.published_rows["v1.2"]
        == source.published_rows["verified"]
        == {"test": 1100}
    )
    assert source.living == {"v1.2", "verified"}


@pytest.fixture(scope="module")
def v1() -> list[Row]:
    return read(V1)


@needs_shared
@pytest.mark.upstream
def test_counts_of_v1(v1: list[Row]) -> None:
    # Paper, table 1 and appendix A: 1,047 rows, 55 calculators.
    assert file_sha256(V1) == V1_TEST_SHA256
    assert len(v1) == 1047
    assert (
        len({row["calculator_id"] for row in v1})
        == len({row["calculator_name"] for row in v1})
        == 55
    )
    assert Counter(row["category"] for row in v1) == TABLES["v1_counts"]
    assert set(CATEGORIES) == {row["category"] for row in v1}
    assert Counter(row["output_type"] for row in v1) == {
        "decimal": 627,
        "integer": 380,
        "date": 40,
    }


@needs_shared
@pytest.mark.upstream
def test_cells_of_v1_are_kept(v1: list[Row]) -> None:
    for source, row in zip(v1_cells(), v1, strict=True):
        for theirs, ours in OFFICIAL_COLUMNS.items():
            if theirs in ("Row Number", "Calculator ID"):
                assert str(row[ours]) == source[theirs]
            elif theirs == "Relevant Entities":
                assert json.loads(row[ours]) == ast.literal_eval(source[theirs])
            else:
                assert row[ours] == source[theirs]
        assert row["source_category"] == source["Category"]


@needs_shared
@pytest.mark.upstream
def test_limits_of_v1(v1: list[Row]) -> None:
    for row in v1:
        gold = row["ground_truth_answer"]
        is_decimal = row["output_type"] == "decimal"
        expected = decimal_limits(gold) if is_decimal else (gold, gold)
        limits = row["lower_limit"], row["upper_limit"]
        assert limits == expected, row["row_number"]


@needs_shared
@pytest.mark.upstream
def test_the_clusters_of_v1_are_its_979_notes(v1: list[Row]) -> None:
    items = load_items(MEDCALC, v1)
    pairs = {
        (item.cluster, row["patient_note"]) for item, row in zip(items, v1, strict=True)
    }
    assert len(pairs) == 979
    assert len({cluster for cluster, _ in pairs}) == 979
    assert len({note for _, note in pairs}) == 979


# Golds worked out by hand from the published rules, which the calculators give as well.
DEMO = demo_rows()


def test_counts_of_the_demo_rows() -> None:
    assert len(DEMO) == 31
    assert len({row["calculator_id"] for row in DEMO}) == 30
    assert {row["category"] for row in DEMO} == set(CATEGORIES)
    assert Counter(row["output_type"] for row in DEMO) == {
        "decimal": 18,
        "integer": 11,
        "date": 2,
    }
    assert len([row for row in DEMO if row["ground_truth_answer"].startswith("(")]) == 2
    assert [row["row_number"] for row in DEMO] == list(range(1, 32))
    texts = {row["note_id"]: row["patient_note"] for row in DEMO}
    assert all(texts[row["note_id"]] == row["patient_note"] for row in DEMO)
    # two notes are asked about twice
    assert len(texts) == len(set(texts.values())) == 29


@pytest.mark.parametrize("row", DEMO, ids=lambda row: str(row["row_number"]))
def test_gold_and_limits_of_a_demo_row(row: dict[str, Any]) -> None:
    answer = recompute(row).answer
    gold = row["ground_truth_answer"]
    if isinstance(answer, float):
        # Golds have three decimals at most, as in v1.0.
        assert float(gold) == pytest.approx(answer, abs=0.0005)
        assert gold == f"{Decimal(gold).normalize():f}"
    else:
        assert gold == answer_text(answer)
    (first, *_) = re.findall(r"[-\d./]+", gold)
    assert first in row["ground_truth_explanation"]
    limits = decimal_limits(gold) if row["output_type"] == "decimal" else (gold, gold)
    assert (row["lower_limit"], row["upper_limit"]) == limits


@pytest.mark.parametrize("row", DEMO, ids=lambda row: str(row["row_number"]))
def test_a_demo_note_states_the_values_of_its_entities(row: dict[str, Any]) -> None:
    note = row["patient_note"]
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", note)}
    for name, value in json.loads(row["relevant_entities"]).items():
        if name.endswith("Per Day"):  # notes spell out how often a drug is taken
            assert {"two", "four"} & set(note.split())
        elif isinstance(value, list):
            expected = {float(item) for item in value if not isinstance(item, str)}
            assert expected <= numbers, name
        elif isinstance(value, str) and "/" in value:
            assert value in note


@pytest.mark.parametrize("row", DEMO, ids=lambda row: str(row["row_number"]))
def test_the_form_of_a_demo_row(row: dict[str, Any]) -> None:
    types = {"string": str, "int64": int}
    assert all(type(row[column.name]) is types[column.dtype] for column in COLUMNS)
    assert 60 <= len(row["patient_note"].split()) <= 200
    assert row["note_type"] == "Synthetic"
    assert re.fullmatch(r"demo-\d{4}", row["note_id"])


@pytest.mark.parametrize(("answer", "limits"), TABLES["decimal_limits"])
def test_decimal_limits(answer: str, limits: list[str]) -> None:
    assert list(decimal_limits(answer)) == limits


@pytest.mark.parametrize(("text", "canonical"), TABLES["canonical_form"])
def test_canonical_form_of_entities(text: str, canonical: str) -> None:
    assert canonical_entities(text) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *TABLES["refused"],
        (
            "{'a': '" + "x" * MAX_ENTITIES_CHARS + "'}",
            f"characters, at most {MAX_ENTITIES_CHARS} are read",
        ),
    ],
)
def test_entities_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        canonical_entities(text)


@pytest.mark.parametrize(
    "text",
    [
        "-" * (MAX_ENTITIES_CHARS - 1) + "1",
        "[" * MAX_ENTITIES_CHARS,
        "[" * (MAX_ENTITIES_CHARS // 2) + "]" * (MAX_ENTITIES_CHARS // 2),
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "{'a': " + "1+" * 30_000 + "1}",
        "{'a': " + "9" * 60_000 + "}",
        '{"a": ' + "9" * 60_000 + "}",
        "{'a': " + "not " * 16_000 + "1}",
        "(" * 150 + ")" * 150,
    ],
    ids=lambda text: text[:8],
)
def test_texts_that_would_exhaust_the_parser_are_refused(text: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"neither a JSON|nested too deeply|a mapping of|Exceeds the limit",
    ):
        canonical_entities(text)


@pytest.mark.filterwarnings("error")
def test_tuples_become_lists_order_is_kept_and_a_backslash_does_not_warn() -> None:
    assert parse_entities(r"{'a': '\d'}") == {"a": "\\d"}
    parsed = parse_entities("{'b': (1, ('x', 2)), 'a': 0}")
    assert list(parsed) == ["b", "a"]
    assert parsed["b"] == [1, ["x", 2]]


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
entities = st.dictionaries(
    st.text(max_size=12),
    scalars
    | st.lists(scalars, max_size=3)
    | st.dictionaries(st.text(max_size=5), scalars, max_size=2),
    max_size=6,
)


@given(value=entities)
def test_both_notations_mean_the_same(value: dict[str, Any]) -> None:
    canonical = canonical_entities(repr(value))
    assert (
        canonical
        == canonical_entities(json.dumps(value))
        == canonical_entities(json.dumps(value, ensure_ascii=False))
    )
    # The text of a value differs for 1, 1.0 and True, and for 0.0 and -0.0.
    sorted_value = json.loads(json.dumps(value, sort_keys=True))
    assert repr(json.loads(canonical)) == repr(sorted_value)
    assert canonical_entities(canonical) == canonical
