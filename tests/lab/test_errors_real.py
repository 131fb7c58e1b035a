"""Real replies with labels, and invented ones of the same patterns, which need no upstream file."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from measurements import medcalc_real_errors
from medical_tasks.lab.error_types import TYPES
from tests.benchmarks.medcalc_bench.official_csv import V1
from tests.case_tables import json_of
from tests.lab.test_error_types import classify, row
from tests.support import needs_shared

INVENTED: list[dict[str, Any]] = json_of(
    Path(__file__).with_name("test_errors_invented.json")
)
HISTORY = os.environ.get("MEDCALC_HISTORY")
LABELS = medcalc_real_errors.labels()


@pytest.mark.parametrize("case", INVENTED, ids=[case["pattern"] for case in INVENTED])
def test_invented_replies(case: dict[str, Any]) -> None:
    sorted_error = classify(row(case["calculator_id"], case["entities"]), case["reply"])
    assert sorted_error.error_type == case["type"], sorted_error.reason


def test_no_reason_states_a_false_calculation() -> None:
    """A power must not be read as a subtraction: 142 * (1.9/0.7) - 0.329 is not in the reply."""
    powers = [
        case for case in INVENTED if "**" in case["reply"] or "^" in case["reply"]
    ]
    assert powers
    for case in powers:
        reason = classify(
            row(case["calculator_id"], case["entities"]), case["reply"]
        ).reason
        assert ")-" not in reason


def test_labels_are_complete() -> None:
    assert {label.half for label in LABELS} == set(medcalc_real_errors.HALVES)
    assert all(set(label.types) <= set(TYPES) and label.reason for label in LABELS)
    assert len({(label.blob, label.line) for label in LABELS}) == len(LABELS)
    rows = {
        half: {label.row for label in LABELS if label.half == half}
        for half in medcalc_real_errors.HALVES
    }
    assert not rows["development"] & rows["held out"]


def test_another_reply_than_the_labelled_one_is_refused() -> None:
    line = {"LLM Explanation": "something else", "LLM Answer": "1"}
    with pytest.raises(ValueError, match="SHA-256 .* labelled was"):
        medcalc_real_errors.reply_of(line, LABELS[0])


def test_a_folder_without_the_replies_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nor a git repository with that blob"):
        list(medcalc_real_errors._file(tmp_path, LABELS[0].blob))


@pytest.mark.upstream
@needs_shared
@pytest.mark.skipif(
    HISTORY is None,
    reason="MEDCALC_HISTORY does not name a clone of the authors' repository with its history",
)
def test_real_replies() -> None:
    """At least 70 of 100 real replies get an acceptable type, and at most 3 of 100 another."""
    sortings = list(medcalc_real_errors.sortings(Path(HISTORY or ""), V1))
    assert len(sortings) == len(LABELS)
    for half in medcalc_real_errors.HALVES:
        own = [sorting for sorting in sortings if sorting.label.half == half]
        counts = Counter(
            "acceptable"
            if sorting.is_acceptable
            else sorting.error_type == "undetermined"
            for sorting in own
        )
        assert counts["acceptable"] >= 0.7 * len(own)
        assert counts[False] <= 0.03 * len(own)
