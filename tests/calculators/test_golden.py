"""Every calculator against its own hand-derived cases.

`tests/golden/calculators/<slug>.json` holds `{"source": ..., "cases": [{"why": ...,
"entities": {...}, "answer": ...}]}`: at least three cases, where `why` is the
derivation, and that of one case begins with `boundary`. Decimals are compared at a
relative 1e-6, the rest exactly; dates are `MM/DD/YYYY`, a gestational age is `["15
weeks", "1 days"]`. A case with `error` in place of `answer` is refused with that text in
the message. `warnings` is the number of warnings, 0 by default. `says` are texts of the
steps; `absent` are the inputs taken as absent and `ignored` those not used, where a case
is about them. `arguments` in place of `entities` calls the rule itself.

`tables` abbreviate cases: `{"why": ..., "entities": {...}, "answer": ..., "classes":
{"Input": [[value, points], ...]}}` is a patient, and by how many points the score
changes with another value of an input (or of several, joined by ` + `, that take the
same value). Numbers are in the rule's own unit: each bound of the publication, and
values next to it.

`tests/golden/conversions.json` holds known conversions between units.
`measurements/calculator_mutations.py` shows that a change of any constant of the rules
changes one of these answers.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
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
    """Returns all cases with the slug of their calculator."""
    pairs: list[tuple[str, dict[str, Any]]] = []
    for path in FILES:
        golden = json_of(path)
        pairs += [(path.stem, case) for case in golden["cases"]]
        for table in golden.get("tables", ()):
            pairs += [(path.stem, case) for case in _cases_of_table(table)]
    return tuple(pairs)


def _cases_of_table(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the patient of a table, and the same patient with each other value."""
    yield {key: table[key] for key in ("why", "entities", "answer")}
    for names, values in table["classes"].items():
        for value, points in values:
            changes = dict.fromkeys(names.split(" + "), value)
            yield {
                "why": f"{table['why']}, and {names} {value}",
                "entities": {**table["entities"], **changes},
                "answer": table["answer"] + points,
            }


@cache
def conversions() -> tuple[dict[str, Any], ...]:
    """Returns all known conversions."""
    return tuple(json_of(CONVERSIONS))


def conversion_difference(case: Mapping[str, Any], calculators: Any) -> str | None:
    """Describes how a conversion differs from a case of `conversions`; None if it does not."""
    substance = (
        getattr(calculators.units, case["substance"]) if "substance" in case else None
    )
    try:
        value = calculators.units.convert(
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
    if math.isclose(value, case["answer"], rel_tol=1e-12):
        return None
    return f"{value!r}, not {case['answer']!r}"


def difference(slug: str, case: Mapping[str, Any], calculators: Any) -> str | None:
    """Describes how a calculator's result differs from a case; None if it does not.

    Args:
        slug: slug of the calculator.
        case: case of its golden file.
        calculators: package `medical_tasks.calculators`, or a changed copy of it.
    """
    try:
        if "arguments" in case:
            return f"not refused: {calculators.find(slug)(**case['arguments'])!r}"
        result = calculators.calculate(
            slug, case["entities"], conventions=frozenset(case.get("conventions", ()))
        )
    except calculators.CalculatorInputError as error:
        if "error" in case and case["error"] in str(error):
            return None
        return f"refused: {error}"
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
    absent_texts = [
        text for text in case.get("says", ()) if text not in result.explanation
    ]
    if absent_texts:
        return f"the steps do not say {absent_texts}: {result.explanation}"
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
    assert len([case for case in golden["cases"] if "answer" in case]) >= 3
    assert any(case["why"].startswith("boundary") for case in golden["cases"])


@pytest.mark.parametrize("slug", [path.stem for path in FILES])
def test_golden(slug: str) -> None:
    of_slug = [case for name, case in cases() if name == slug]
    assert of_slug
    for case in of_slug:
        assert difference(slug, case, medical_tasks.calculators) is None, case["why"]


def test_known_conversions() -> None:
    assert len(conversions()) >= 70
    for case in conversions():
        assert conversion_difference(case, medical_tasks.calculators) is None, case


def test_a_changed_constant_is_noticed() -> None:
    # Of one small rule; docs/calculators.md has the run over all of them.
    process = subprocess.run(
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
    assert (process.returncode, process.stderr) == (0, "")
    assert "8 changes of 1 files: 8 noticed, 0 equivalent, 0 survive" in process.stdout
