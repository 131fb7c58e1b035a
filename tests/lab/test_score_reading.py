"""Criteria of a score are found by changing a patient's case, one input after the other."""

from __future__ import annotations

import pytest

import medical_tasks as mt
from medical_tasks.lab.score_reading import criteria_of


@pytest.mark.parametrize(("age", "points"), [(50, 0), (70, 1), (80, 2)])
def test_the_criteria_of_a_case_with_their_points_and_inputs(
    age: int, points: int
) -> None:
    """CHA2DS2-VASc (Lip et al., 2010, Chest 137:263) gives an age of 65 one point and one of 75 two."""
    result = mt.calc("cha2ds2_vasc", age=age, sex="female", hypertension=True)
    criteria = criteria_of(result, {})
    assert [
        (criterion.inputs, criterion.points, sorted(criterion.possible))
        for criterion in criteria
    ] == [
        (("age_years",), points, [0, 1, 2]),
        (("sex",), 1, [0, 1]),
        (("heart_failure",), 0, [0, 1]),
        (("hypertension",), 1, [0, 1]),
        (("diabetes",), 0, [0, 1]),
        (("stroke", "thromboembolism", "transient_ischemic_attack"), 0, [0, 2]),
        (("vascular_disease",), 0, [0, 1]),
    ]
    assert str(age) in criteria[0].label
