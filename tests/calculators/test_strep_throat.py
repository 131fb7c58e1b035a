"""Centor score with McIsaac's age item, and FeverPAIN."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import calculate
from medical_tasks.calculators.infection import COUGH_UNMENTIONED_IS_ZERO, feverpain

FEVERPAIN = ("fever", "cough_and_coryza_absent", "onset_within_3_days", "purulent_tonsils", "severe_inflammation")
SILENT = frozenset({COUGH_UNMENTIONED_IS_ZERO.name})
ADULT: dict[str, Any] = {"age": [30, "years"], "Temperature": [37, "degrees celsius"]}


@pytest.mark.parametrize(("temperature", "points"), [(100.3, 0), (100.4, 0), (100.5, 1)])
def test_centor_in_fahrenheit(temperature: float, points: int) -> None:
    # 100.4 °F is 38 °C exactly, and the rule says over 38. The second spelling stands in the data.
    for unit in ("degrees fahrenheit", "degrees fahreinheit"):
        entities = {**ADULT, "Temperature": [temperature, unit], "Cough Absent": False}
        assert calculate(20, entities).answer == points


@pytest.mark.parametrize("finding", FEVERPAIN)
def test_feverpain(finding: str) -> None:
    nothing: dict[str, Any] = dict.fromkeys(FEVERPAIN, False)
    everything: dict[str, Any] = dict.fromkeys(FEVERPAIN, True)
    assert feverpain(**nothing) == 0
    assert feverpain(**{**nothing, finding: True}) == 1
    assert feverpain(**everything) == 5


@pytest.mark.parametrize(
    ("calculator_id", "patient", "name"), [(20, ADULT, "Cough Absent"), (33, {}, "Absence of cough or coryza")]
)
def test_a_cough_that_is_not_mentioned(calculator_id: int, patient: dict[str, Any], name: str) -> None:
    rule = calculate(calculator_id, patient)
    assert rule.answer == 1
    assert name in rule.missing_taken_absent
    assert f"{name}: not given, taken as true: " in rule.explanation
    convention = calculate(calculator_id, patient, conventions=SILENT)
    assert convention.answer == 0
    assert convention.explanation.startswith("Convention cough-unmentioned-is-zero: ")
    for stated in (True, False):  # what is stated is not the convention's business
        entities = {**patient, name: stated}
        assert (
            calculate(calculator_id, entities).answer == calculate(calculator_id, entities, conventions=SILENT).answer
        )


@pytest.mark.parametrize("name", ["Symptom onset ≤3 days", "Symptom onset <=3 days"])
def test_the_names_of_both_releases(name: str) -> None:
    assert calculate(33, {name: True, "Absence of cough or coryza": False}).answer == 1
