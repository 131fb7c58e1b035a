"""Every calculator against its own hand-derived cases.

`tests/golden/calculators/<slug>.json` holds `{"source": ..., "cases": [{"why": ..., "entities": {...}, "answer": ...}]}`:
at least three cases, `why` being the derivation and one of them starting with `boundary`. Decimals are compared at a
relative 1e-6, the rest exactly; dates are `MM/DD/YYYY`, a gestational age is `["15 weeks", "1 days"]`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.calculators import CALCULATORS, calculate, find

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "calculators"
FILES = sorted(GOLDEN.glob("*.json"))
CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}-{number}")
    for path in FILES
    for number, case in enumerate(json.loads(path.read_text(encoding="utf-8"))["cases"])
]


def test_every_calculator_has_a_golden_file() -> None:
    assert {path.stem for path in FILES} == {entry.slug for entry in CALCULATORS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_is_complete(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    assert golden["source"]
    assert len(golden["cases"]) >= 3
    assert any(case["why"].startswith("boundary") for case in golden["cases"])


@pytest.mark.parametrize(("slug", "case"), CASES)
def test_golden(slug: str, case: dict[str, Any]) -> None:
    result = calculate(slug, case["entities"], conventions=frozenset(case.get("conventions", ())))
    expected = case["answer"]
    if isinstance(expected, list):
        expected = tuple(expected)
    if find(slug).output == "decimal":
        assert result.answer == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert isinstance(result.answer, float)
    else:
        assert result.answer == expected
        assert type(result.answer) is type(expected)
    assert result.explanation.count("\n") >= 1
