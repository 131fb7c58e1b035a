"""Every calculator against its own hand-derived cases.

`tests/golden/calculators/<slug>.json` holds `{"source": ..., "cases": [{"why": ..., "entities": {...}, "answer": ...}]}`:
at least three cases, `why` being the derivation and one of them starting with `boundary`. Decimals are compared at a
relative 1e-6, the rest exactly; dates are `MM/DD/YYYY`, a gestational age is `["15 weeks", "1 days"]`. A case with `error`
in place of `answer` is refused with that text in the message, and `warnings` is the number of warnings, 0 when left out.

`benchmarks/calculator_mutations.py` shows that every constant of the rules moves one of these answers.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.calculators

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "calculators"
FILES = sorted(GOLDEN.glob("*.json"))
TOTAL = re.compile(r", total (\S+)\.$", re.MULTILINE)


@cache
def cases() -> tuple[tuple[str, dict[str, Any]], ...]:
    """All cases with the slug of their calculator."""
    return tuple(
        (path.stem, case) for path in FILES for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    )


def difference(slug: str, case: Mapping[str, Any], calculators: Any) -> str | None:
    """What a calculator makes otherwise than a case says; None when nothing.

    Args:
        slug: of the calculator.
        case: one of the file's cases.
        calculators: the package `medical_tasks.calculators`, or a changed copy of it.
    """
    try:
        result = calculators.calculate(slug, case["entities"], conventions=frozenset(case.get("conventions", ())))
    except calculators.CalculatorInputError as error:
        return None if "error" in case and case["error"] in str(error) else f"refused: {error}"
    except (ArithmeticError, ValueError, LookupError, TypeError) as error:
        return f"broken: {error!r}"
    if "error" in case:
        return f"not refused: {result.answer!r}"
    expected = tuple(case["answer"]) if isinstance(case["answer"], list) else case["answer"]
    if calculators.find(slug).output == "decimal":
        same = isinstance(result.answer, float) and math.isclose(result.answer, expected, rel_tol=1e-6, abs_tol=1e-9)
    else:
        same = result.answer == expected and type(result.answer) is type(expected)
    if not same:
        return f"{result.answer!r}, not {expected!r}"
    totals = TOTAL.findall(result.explanation)
    if totals and float(totals[-1]) != result.answer:
        return f"points add up to {totals[-1]}, not {result.answer}"
    if len(result.warnings) != case.get("warnings", 0):
        return f"warnings {result.warnings}, not {case.get('warnings', 0)}"
    return None if result.explanation.count("\n") >= 1 else "no steps"


def test_every_calculator_has_a_golden_file() -> None:
    assert {path.stem for path in FILES} == {entry.slug for entry in medical_tasks.calculators.CALCULATORS}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_is_complete(path: Path) -> None:
    golden = json.loads(path.read_text(encoding="utf-8"))
    assert golden["source"]
    assert len(golden["cases"]) >= 3
    assert any(case["why"].startswith("boundary") for case in golden["cases"])


@pytest.mark.parametrize("slug", [path.stem for path in FILES])
def test_golden(slug: str) -> None:
    of_slug = [case for name, case in cases() if name == slug]
    assert [(case["why"], found) for case in of_slug if (found := difference(slug, case, medical_tasks.calculators))] == []
