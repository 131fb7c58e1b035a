"""The demo records: golds worked out by hand from the published rules, which the calculators give as well."""

from __future__ import annotations

import json
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import CATEGORIES, COLUMNS
from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits, demo_rows
from medical_tasks.benchmarks.medcalc_bench.gold import answer_text, recompute

TABLES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

ROWS = demo_rows()


def test_there_are_enough_of_every_kind() -> None:
    assert len(ROWS) == 31
    assert len({row["calculator_id"] for row in ROWS}) == 30
    assert {row["category"] for row in ROWS} == set(CATEGORIES)
    assert Counter(row["output_type"] for row in ROWS) == {"decimal": 18, "integer": 11, "date": 2}
    assert len([row for row in ROWS if row["ground_truth_answer"].startswith("(")]) == 2
    assert [row["row_number"] for row in ROWS] == list(range(1, 32))
    texts = {row["note_id"]: row["patient_note"] for row in ROWS}
    assert all(texts[row["note_id"]] == row["patient_note"] for row in ROWS)
    assert len(texts) == len(set(texts.values())) == 29  # two notes are asked about twice


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["row_number"]))
def test_each_row(row: dict[str, Any]) -> None:
    answer = recompute(row).answer
    gold = row["ground_truth_answer"]
    if isinstance(answer, float):
        # Golds have three decimals at most, as in v1.0.
        assert float(gold) == pytest.approx(answer, abs=0.0005)
        assert gold == f"{Decimal(gold).normalize():f}"
    else:
        assert gold == answer_text(answer)
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", row["patient_note"])}
    spelled = {"two", "four"}  # doses a day are written as words
    for name, found in json.loads(row["relevant_entities"]).items():
        if isinstance(found, list):
            wanted = {float(item) for item in found if not isinstance(item, str)}
            if name.endswith("Per Day"):
                assert spelled & set(row["patient_note"].split())
            else:
                assert wanted <= numbers, name
        elif isinstance(found, str) and "/" in found:
            assert found in row["patient_note"]
    assert list(row) == [column.name for column in COLUMNS]
    types = {"string": str, "int64": int}
    assert all(type(row[column.name]) is types[column.dtype] for column in COLUMNS)
    assert 60 <= len(row["patient_note"].split()) <= 200
    assert row["question"].strip()
    (first, *_) = re.findall(r"[-\d./]+", row["ground_truth_answer"])
    assert first in row["ground_truth_explanation"]
    assert row["note_type"] == "Synthetic"
    assert re.fullmatch(r"demo-\d{4}", row["note_id"])
    if row["output_type"] != "decimal":
        assert row["lower_limit"] == row["ground_truth_answer"] == row["upper_limit"]
    else:
        low, gold, high = (float(row[name]) for name in ("lower_limit", "ground_truth_answer", "upper_limit"))
        assert [low, high] == pytest.approx([0.95 * gold, 1.05 * gold])


@pytest.mark.parametrize(("answer", "limits"), TABLES["decimal_limits"])
def test_decimal_limits(answer: str, limits: list[str]) -> None:
    assert list(decimal_limits(answer)) == limits
