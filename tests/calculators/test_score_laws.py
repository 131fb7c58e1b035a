"""Laws of the rule-based scores, for every patient that their inputs allow."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.calculators import AnyCalculator, calculate, find
from medical_tasks.calculators.inputs import Flag
from tests.calculators.score_strategies import RANGES, SCORES, patients

every_score = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.slug)
some = settings(max_examples=20)

# Findings that make the disease less likely, and so take points away.
NEGATIVE_FINDINGS = {("wells_dvt", "alternative_diagnosis")}
# Findings that are present if the note does not mention them: no cough.
TAKEN_AS_PRESENT = {"cough_absent", "cough_and_coryza_absent"}


def test_there_are_eighteen_scores() -> None:
    assert len(SCORES) == 18


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
    points = [float(step[1]) for step in steps if step]
    totals = [float(step[2]) for step in steps if step]
    assert len(points) >= 3
    assert sum(points) == totals[-1] == result.answer
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
            if (score.slug, item.parameter) in NEGATIVE_FINDINGS:
                assert with_it <= without
            else:
                assert with_it >= without


@every_score
@given(data=st.data())
@some
def test_findings_that_are_not_mentioned_are_absent(
    score: AnyCalculator, data: st.DataObject
) -> None:
    patient = data.draw(patients(score))
    defaults = {
        item.name: item.parameter in TAKEN_AS_PRESENT
        for item in score.inputs
        if isinstance(item, Flag)
    }
    others = {name: value for name, value in patient.items() if name not in defaults}
    mentioned = calculate(score, {**others, **defaults})
    unmentioned = calculate(score, others)
    assert mentioned.answer == unmentioned.answer
    assert set(defaults) <= set(unmentioned.missing_taken_absent)
    assert not set(defaults) & set(mentioned.missing_taken_absent)


@given(data=st.data())
@some
def test_a_higher_coma_score_never_raises_a_severity_score(
    data: st.DataObject,
) -> None:
    for slug, most in (("apache_ii", 12), ("sofa", 4)):
        patient = data.draw(patients(find(slug)))
        totals: list[Any] = [
            calculate(slug, {**patient, "Glasgow Coma Score": points}).answer
            for points in range(3, 16)
        ]
        assert totals == sorted(totals, reverse=True)
        assert totals[0] - totals[-1] == most
