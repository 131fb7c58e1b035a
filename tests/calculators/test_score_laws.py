"""Laws that every rule-based score obeys for every patient that its inputs allow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import AnyCalculator, calculate
from medical_tasks.calculators.inputs import Flag
from tests.calculators.score_strategies import RANGES, SCORES, patients

every_score = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.slug)
some = settings(max_examples=20)

# Findings that speak against the disease, and so take points away.
AGAINST = {("wells_dvt", "alternative_diagnosis")}
# Findings whose silence is not "no": an unmentioned cough is no cough.
TAKEN_AS_PRESENT = {"cough_absent", "cough_and_coryza_absent"}


def test_the_scores_are_all_here() -> None:
    assert len(SCORES) == len(RANGES) == 18


@every_score
@given(data=st.data())
@some
def test_a_score_stays_in_its_published_range(
    score: AnyCalculator, data: st.DataObject
) -> None:
    result = calculate(score, data.draw(patients(score)))
    low, high = RANGES[score.slug]
    assert isinstance(result.answer, float if score.slug == "wells_pe" else int)
    assert low <= result.answer <= high


@every_score
@given(data=st.data())
@some
def test_the_steps_add_up_to_the_answer(
    score: AnyCalculator, data: st.DataObject
) -> None:
    result = calculate(score, data.draw(patients(score)))
    assert isinstance(result.answer, int | float)
    steps = [
        re.search(r": ([+-][\d.]+), total (-?[\d.]+)\.$", line)
        for line in result.explanation.splitlines()
    ]
    counted = [(float(step[1]), float(step[2])) for step in steps if step]
    assert len(counted) >= 3
    assert sum(points for points, _ in counted) == counted[-1][1] == result.answer
    last = result.explanation.splitlines()[-1]
    assert last == f"{score.name} = {result.answer:g}."


@every_score
@given(data=st.data())
@some
def test_a_further_finding_never_lowers_a_score(
    score: AnyCalculator, data: st.DataObject
) -> None:
    patient = data.draw(patients(score))
    for item in score.inputs:
        if isinstance(item, Flag):
            without: Any = calculate(score, {**patient, item.name: False}).answer
            with_it: Any = calculate(score, {**patient, item.name: True}).answer
            if (score.slug, item.parameter) in AGAINST:
                assert with_it <= without
            else:
                assert with_it >= without


@every_score
@given(data=st.data())
@some
def test_what_is_not_mentioned_is_absent(
    score: AnyCalculator, data: st.DataObject
) -> None:
    patient = data.draw(patients(score))
    silent = {
        item.name: item.parameter in TAKEN_AS_PRESENT
        for item in score.inputs
        if isinstance(item, Flag)
    }
    named = calculate(score, {**patient, **silent})
    unnamed = calculate(
        score, {name: value for name, value in patient.items() if name not in silent}
    )
    assert named.answer == unnamed.answer
    assert set(silent) <= set(unnamed.missing_taken_absent)
    assert not set(silent) & set(named.missing_taken_absent)


@given(data=st.data())
@some
def test_more_points_of_the_coma_score_never_worsen_the_patient(
    data: st.DataObject,
) -> None:
    for score in SCORES:
        if score.slug in {"apache_ii", "sofa"}:
            patient = data.draw(patients(score))
            totals: list[Any] = [
                calculate(score, {**patient, "Glasgow Coma Score": c}).answer
                for c in range(3, 16)
            ]
            assert totals == sorted(totals, reverse=True)
            assert totals[0] - totals[-1] == {"apache_ii": 12, "sofa": 4}[score.slug]
