"""The metrics take rows of the datasets as they are: released, built, or with the metric's own names."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import OFFICIAL_COLUMNS
from medical_tasks.harness.evaluate_rows import read_row
from tests.case_tables import cases
from tests.support import ROOT, SHARED, needs_shared

METRICS = ROOT / "metrics"


@pytest.mark.upstream
@needs_shared
def test_all_rows_of_medcalc_bench(load_metric: Callable[[Path], Any]) -> None:
    with (SHARED / "data" / "medcalc" / "test_data_v1.csv").open(
        encoding="utf-8", newline=""
    ) as stream:
        official = list(csv.DictReader(stream))
    built = [
        {
            ours: row[theirs]
            for theirs, ours in OFFICIAL_COLUMNS.items()
            if theirs in row
        }
        for row in official
    ]
    names = {
        "calculator_id": "Calculator ID",
        "answer": "Ground Truth Answer",
        "lower": "Lower Limit",
        "upper": "Upper Limit",
    }
    own = [{name: row[column] for name, column in names.items()} for row in official]
    replies = [json.dumps({"answer": row["Ground Truth Answer"]}) for row in official]
    metric = load_metric(METRICS / "medcalc")
    # A model's answer beside the official columns is not the gold; the second half of
    # the replies is wrong.
    for predictions, share in (
        (replies, 1.0),
        (replies[:500] + ['{"answer": "-1"}'] * 547, 500 / 1047),
    ):
        results = [
            metric.compute(predictions=predictions, references=rows)
            for rows in (official, built, own)
        ]
        results.append(
            metric.compute(
                predictions=predictions,
                references=[row | {"answer": "-1"} for row in official],
            )
        )
        assert results[0]["n"] == 1047
        assert results[0]["accuracy"] == share
        assert all(result == results[0] for result in results)


@pytest.mark.parametrize(("module", "row", "expected"), cases(__file__, "ROWS"))
def test_rows_in_the_released_form_are_read(
    module: str, row: dict[str, Any], expected: dict[str, Any]
) -> None:
    columns = import_module(f"medical_tasks.benchmarks.{module}").METRIC_COLUMNS
    assert read_row(row, columns, "row") == expected
    assert (
        read_row(expected | {"note": "of somebody's own"}, columns, "row") == expected
    )


def test_a_missing_column_is_named_with_its_accepted_names(
    load_metric: Callable[[Path], Any],
) -> None:
    loaded = [
        load_metric(METRICS / name)
        for name in ("medcalc", "kqa", "doclens", "ehrnoteqa", "archehr_qa")
    ]
    message = r"references\[1\]: has no lower. It is read from Lower Limit or lower_limit or lower; got calculator_id, answer, no"
    good = {"calculator_id": 2, "answer": "1", "lower": "1", "upper": "1"}
    with pytest.raises(ValueError, match=message):
        loaded[0].compute(
            predictions=["1", "1"],
            references=[good, {"calculator_id": 2, "answer": "1", "no": ""}],
        )
    with pytest.raises(ValueError, match="has no nice_to_have.* got Must_have"):
        loaded[1].compute(predictions=["a"], references=[{"Must_have": ["a"]}])
    with pytest.raises(
        ValueError, match="choice_A and choice_B and .* or choices; got answer"
    ):
        loaded[3].compute(predictions=["a"], references=[{"answer": "A"}])
    assert loaded[0].compute(predictions=[], references=[])["n"] == 0
