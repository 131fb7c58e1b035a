"""Every calculator against its own hand-derived cases.

`tests/golden/calculators/<slug>.json` holds `{"source": ..., "cases": [{"why": ...,
"entities": {...}, "answer": ...}]}`: at least three cases, `why` being the derivation
and one of them starting with `boundary`. Decimals are compared at a relative 1e-6, the
rest exactly; dates are `MM/DD/YYYY`, a gestational age is `["15 weeks", "1 days"]`. A
case with `error` in place of `answer` is refused with that text in the message, and
`warnings` is the number of warnings, 0 when left out. `says` are texts of the steps;
`absent` are the inputs taken as absent and `ignored` those not used, where a case is
about them. `arguments` in place of `entities` calls the rule itself.

`tables` are cases in short: `{"why": ..., "entities": {...}, "answer": ..., "classes":
{"Input": [[value, points], ...]}}` is a patient, and how many points the score moves
with another value of one input (of several, joined by ` + `, that take the same value).
Numbers are in the rule's own unit, and stand on and beside every bound of the
publication.

`tests/golden/conversions.json` holds known conversions between units.
`measurements/calculator_mutations.py` shows that every constant of the rules moves one
of these answers.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import medical_tasks.calculators
from tests.case_tables import json_of
from tests.support import ROOT

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "calculators"
CONVERSIONS = GOLDEN.parent / "conversions.json"
FILES = sorted(GOLDEN.glob("*.json"))
TOTAL = re.compile(r", total (\S+)\.$", re.MULTILINE)


@cache
def cases() -> tuple[tuple[str, dict[str, Any]], ...]:
    """All cases with the slug of their calculator."""
    made: list[tuple[str, dict[str, Any]]] = []
    for path in FILES:
        golden = json_of(path)
        made += [(path.stem, case) for case in golden["cases"]]
        for table in golden.get("tables", ()):
            made.append(
                (path.stem, {key: table[key] for key in ("why", "entities", "answer")})
            )
            for names, values in table["classes"].items():
                for value, points in values:
                    changed = {
                        **table["entities"],
                        **dict.fromkeys(names.split(" + "), value),
                    }
                    why = f"{table['why']}, and {names} {value}"
                    made.append(
                        (
                            path.stem,
                            {
                                "why": why,
                                "entities": changed,
                                "answer": table["answer"] + points,
                            },
                        )
                    )
    return tuple(made)


@cache
def conversions() -> tuple[dict[str, Any], ...]:
    """All known conversions."""
    return tuple(json_of(CONVERSIONS))


def conversion_difference(case: Mapping[str, Any], calculators: Any) -> str | None:
    """What the conversion of units makes otherwise than a case of `conversions` says; None when nothing."""
    substance = (
        getattr(calculators.units, case["substance"]) if "substance" in case else None
    )
    try:
        made = calculators.units.convert(
            case["value"], case["unit"], case["to"], substance=substance
        )
    except (
        calculators.CalculatorInputError,
        ArithmeticError,
        ValueError,
        LookupError,
        TypeError,
    ) as error:
        return f"broken: {error!r}"
    return (
        None
        if math.isclose(made, case["answer"], rel_tol=1e-12)
        else f"{made!r}, not {case['answer']!r}"
    )


def difference(slug: str, case: Mapping[str, Any], calculators: Any) -> str | None:
    """What a calculator makes otherwise than a case says; None when nothing.

    Args:
        slug: of the calculator.
        case: one of the file's cases.
        calculators: the package `medical_tasks.calculators`, or a changed copy of it.
    """
    try:
        if "arguments" in case:
            return f"not refused: {calculators.find(slug)(**case['arguments'])!r}"
        result = calculators.calculate(
            slug, case["entities"], conventions=frozenset(case.get("conventions", ()))
        )
    except calculators.CalculatorInputError as error:
        return (
            None
            if "error" in case and case["error"] in str(error)
            else f"refused: {error}"
        )
    except (ArithmeticError, ValueError, LookupError, TypeError) as error:
        return f"broken: {error!r}"
    if "error" in case:
        return f"not refused: {result.answer!r}"
    if not _same(
        result.answer,
        case["answer"],
        decimal=calculators.find(slug).output == "decimal",
    ):
        return f"{result.answer!r}, not {case['answer']!r}"
    totals = TOTAL.findall(result.explanation)
    if totals and float(totals[-1]) != result.answer:
        return f"points add up to {totals[-1]}, not {result.answer}"
    if len(result.warnings) != case.get("warnings", 0):
        return f"warnings {result.warnings}, not {case.get('warnings', 0)}"
    if unsaid := [
        text for text in case.get("says", ()) if text not in result.explanation
    ]:
        return f"the steps do not say {unsaid}: {result.explanation}"
    for key, names in (
        ("absent", result.missing_taken_absent),
        ("ignored", result.ignored),
    ):
        if list(names) != case.get(key, list(names)):
            return f"{key} {names}, not {case[key]}"
    return None if result.explanation.count("\n") >= 1 else "no steps"


def _same(answer: object, expected: Any, *, decimal: bool) -> bool:
    if decimal:
        return isinstance(answer, float) and math.isclose(
            answer, float(expected), rel_tol=1e-6, abs_tol=1e-9
        )
    exact = tuple(expected) if isinstance(expected, list) else expected
    return answer == exact and type(answer) is type(exact)


def test_every_calculator_has_a_golden_file() -> None:
    assert {path.stem for path in FILES} == {
        entry.slug for entry in medical_tasks.calculators.CALCULATORS
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_is_complete(path: Path) -> None:
    golden = json_of(path)
    assert golden["source"]
    assert len(golden["cases"]) >= 3
    assert any(case["why"].startswith("boundary") for case in golden["cases"])


@pytest.mark.parametrize("slug", [path.stem for path in FILES])
def test_golden(slug: str) -> None:
    of_slug = [case for name, case in cases() if name == slug]
    assert [
        (case["why"], found)
        for case in of_slug
        if (found := difference(slug, case, medical_tasks.calculators))
    ] == []


def test_known_conversions() -> None:
    assert len(conversions()) >= 70
    assert [
        (case, found)
        for case in conversions()
        if (found := conversion_difference(case, medical_tasks.calculators))
    ] == []


def test_a_changed_constant_is_noticed() -> None:
    # One small rule; the run over all of them stands in docs/calculators.md.
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "measurements.calculator_mutations",
            "intensive_care.mean_arterial_pressure",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "8 changes of 1 files: 8 noticed, 0 equivalent, 0 survive" in done.stdout
