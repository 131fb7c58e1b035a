"""Acid and base: the point without a ratio, unlikely units, and how the gaps are joined."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate

IONS = {"Sodium": [140, "mEq/L"], "Chloride": [100, "mEq/L"]}


@pytest.mark.parametrize("calculator", [64, 67])
def test_no_delta_ratio_at_a_bicarbonate_of_24(calculator: int) -> None:
    entities = {**IONS, "Bicarbonate": [24, "mEq/L"], "Albumin": [4, "g/dL"]}
    with pytest.raises(CalculatorInputError, match="Bicarbonate: .* has no value at 24 mmol/L; got 24 mmol/L. Use the"):
        calculate(calculator, entities)
    for near in (23.9, 24.1):
        answer = calculate(calculator, {**entities, "Bicarbonate": [near, "mmol/L"]}).answer
        assert isinstance(answer, float)
        assert abs(answer) > 30


@pytest.mark.parametrize("albumin", [[2.5, "g/dL"], [25, "g/L"], [2500, "mg/dL"], [25_000_000 / 66_500, "µmol/L"]])
def test_albumin_in_any_unit(albumin: list[object]) -> None:
    assert calculate(65, {**IONS, "Bicarbonate": [20, "mmol/L"], "Albumin": albumin}).answer == pytest.approx(23.75)


def test_gaps_build_on_each_other() -> None:
    entities = {**IONS, "Bicarbonate": [14, "mEq/L"], "Albumin": [3, "g/dL"]}
    answers = {i: calculate(i, entities).answer for i in (39, 63, 64, 65, 66, 67)}
    assert answers == {39: 26.0, 63: 14.0, 64: 1.4, 65: 28.5, 66: 16.5, 67: 1.65}


def test_albumin_is_not_used_without_correction() -> None:
    assert calculate(39, {**IONS, "Bicarbonate": [24, "mEq/L"], "Albumin": [4, "g/dL"]}).ignored == ("Albumin",)
