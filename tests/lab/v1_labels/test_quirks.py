"""One case or more for each quirk."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.lab.v1_labels import label
from tests.calculators.score_strategies import table

TABLES = table("labels")
"""Invented rows with their labels, which `why` adds up; changes of one patient with their points; refused inputs."""


@pytest.mark.parametrize("case", TABLES["cases"])
def test_quirks(case: dict[str, Any]) -> None:
    result = label(case["calculator"], case["entities"])
    assert (result.answer, result.note) == (case["answer"], case["note"]), case.get(
        "why"
    )


COMA_ADDED = "Glasgow Coma Score added instead of 15 minus it"
WHITE_CELLS = "white cells compared per mm³ with limits in 10⁹/L"


@pytest.mark.parametrize(("change", "points", "note"), TABLES["apache"])
def test_apache(change: dict[str, Any], points: int, note: str | None) -> None:
    # 15 for the coma score and 4 for white cells, where a healthy patient has 0
    result = label(28, {**TABLES["apache_patient"], **change})
    assert result.answer == 15 + 4 + points
    assert result.note is not None
    others = [
        quirk
        for quirk in result.note.split("; ")
        if quirk not in (COMA_ADDED, WHITE_CELLS)
    ]
    assert len(others) == (note is not None)
    assert note is None or note in others[0]


@pytest.mark.parametrize(("change", "points"), TABLES["sofa"])
def test_sofa(change: dict[str, Any], points: int) -> None:
    # The patient has 4: a ratio of 95 / 21 = 4.5, not ventilated, 2; no dopamine 2.
    assert label(43, {**TABLES["sofa_patient"], **change}).answer == points


def test_names_of_later_versions() -> None:
    later = {
        "age": [40.0, "years"],
        "Diabetes mellitus": "uncomplicated",
        "Chronic Pulmonary Disease": True,
    }
    assert label(32, later).answer == 2
    assert (
        label(
            11, {"Heart Rate or Pulse": [60, "bpm"], "QT Interval": [400, "msec"]}
        ).answer
        == 400
    )
    assert (
        label(
            27,
            {
                **TABLES["bleeding_patient"],
                "Melena Present": True,
                "Recent Syncope": True,
            },
        ).answer
        == 3
    )
    assert (
        label(
            33, {"Symptom onset <=3 days": True, "Absence of cough or coryza": False}
        ).answer
        == 1
    )
