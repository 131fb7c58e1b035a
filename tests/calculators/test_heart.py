"""The heart: scores, the Framingham equation, corrected QT intervals."""

from __future__ import annotations

from typing import Any

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.heart import framingham_risk

FACTORS = ("hypertension", "hypercholesterolemia", "diabetes", "obesity", "smoking", "family_history")
HEART: dict[str, Any] = {
    "suspicion": "slight",
    "electrocardiogram": "normal",
    "age_years": 30,
    **dict.fromkeys(FACTORS, False),
    "atherosclerotic_disease": False,
    "transient_ischemic_attack": False,
    "troponin": "normal",
}


@pytest.mark.parametrize(("creatinine", "points"), [(176.8, 0), (176.9, 1)])
def test_rcri_in_micromoles(creatinine: float, points: int) -> None:
    # 113.12 g/mol: 2 mg/dL is 176.80 µmol/L, and 176.8 is not over it.
    assert calculate(17, {"Pre-operative creatinine": [creatinine, "µmol/L"]}).answer == points


def test_rcri_takes_its_own_cerebrovascular_item() -> None:
    # The rows of v1.0 carry a second, contradicting entity that belongs to another score.
    result = calculate(17, {"History of cerebrovascular disease": True, "Cerebrovascular disease history": False})
    assert result.answer == 1
    assert result.ignored == ("Cerebrovascular disease history",)


@pytest.mark.parametrize(
    ("name", "word", "points"),
    [
        ("Suspicion History", "Slightly suspicious", 0),
        ("Suspicion History", "Moderately suspicious", 1),
        ("Suspicion History", "Highly suspicious", 2),
        ("Electrocardiogram Test", "Normal", 0),
        ("Electrocardiogram Test", "Non-specific repolarization disturbance", 1),
        ("Electrocardiogram Test", "Significant ST deviation", 2),
        ("Initial troponin", "less than or equal to normal limit", 0),
        ("Initial troponin", "between the normal limit or up to three times the normal limit", 1),
        ("Initial troponin", "greater than three times normal limit", 2),
        ("Diabetes mellitus criteria for CCI rule", True, 1),
        ("Diabetes mellitus", "Uncomplicated", 1),
    ],
)
def test_words_of_heart(name: str, word: object, points: int) -> None:
    assert calculate(18, {"age": [30, "years"], name: word}).answer == points


PERSON: dict[str, Any] = {
    "age_years": 55,
    "total_cholesterol_mg_dl": 213,
    "hdl_mg_dl": 50,
    "systolic_mm_hg": 125,
    "treated": False,
    "smoker": False,
}


@pytest.mark.parametrize("sex", ["male", "female"])
@pytest.mark.parametrize(
    ("change", "sign"),
    [
        ({"age_years": 60}, 1),
        ({"total_cholesterol_mg_dl": 250}, 1),
        ({"hdl_mg_dl": 60}, -1),
        ({"systolic_mm_hg": 150}, 1),
        ({"treated": True}, 1),
        ({"smoker": True}, 1),
    ],
)
def test_direction_of_each_factor(sex: Any, change: dict[str, Any], sign: int) -> None:
    before, after = framingham_risk(sex=sex, **PERSON), framingham_risk(sex=sex, **{**PERSON, **change})
    assert 0 < before < 100
    assert (after - before) * sign > 0


@pytest.mark.parametrize(("sex", "cap"), [("male", 70), ("female", 78)])
def test_the_smoking_term_is_capped_by_age(sex: str, cap: int) -> None:
    def steps(age: int) -> str:
        entities = {"sex": sex, "age": age, "TC": 213, "HDL": 50, "SBP": 125, "Smoker": True}
        return calculate(46, entities).explanation

    assert f"ln({cap}) (smoker)" in steps(cap)
    assert f"ln({cap}) (smoker)" in steps(cap + 1)
    assert f"ln({cap - 1}) (smoker)" in steps(cap - 1)


@pytest.mark.parametrize(("age", "said"), [(19, True), (20, False), (79, False), (80, True)])
def test_ages_outside_the_study_are_said(age: int, said: bool) -> None:
    entities = {"sex": "Male", "age": age, "TC": 213, "HDL": 50, "SBP": 125}
    assert ("extrapolation" in calculate(46, entities).explanation) is said


def test_an_age_of_zero_has_no_logarithm() -> None:
    with pytest.raises(CalculatorInputError, match="age: the risk equation needs an age above 0; got 0 years"):
        calculate(46, {"sex": "Male", "age": 0, "TC": 213, "HDL": 50, "SBP": 125})


def test_missing_habits_count_as_absent() -> None:
    result = calculate(46, {"sex": "Male", "age": 55, "TC": 213, "HDL": 50, "SBP": 125})
    assert result.missing_taken_absent == ("Blood pressure being treated with medicines", "Smoker")
    assert result.answer == pytest.approx(framingham_risk(sex="male", **PERSON))


SLUGS = ("qtc_bazett", "qtc_fridericia", "qtc_framingham", "qtc_hodges", "qtc_rautaharju")


def test_bazett_corrects_most_at_a_fast_rate() -> None:
    entities = {"QT interval": [360, "msec"], "Heart Rate or Pulse": [100, "beats per minute"]}
    answers = {slug: calculate(slug, entities).answer for slug in SLUGS}
    assert answers == {
        "qtc_bazett": pytest.approx(464.758),
        "qtc_fridericia": pytest.approx(426.829, rel=1e-5),
        "qtc_framingham": pytest.approx(421.6),
        "qtc_hodges": pytest.approx(430.0),
        "qtc_rautaharju": pytest.approx(440.0),
    }


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize(
    ("qt", "rate", "message"),
    [
        ([400, "msec"], [0, "bpm"], "Heart Rate or Pulse: 0 beats per minute is outside what is possible"),
        (
            [400, "msec"],
            [60, "msec"],
            "Heart Rate or Pulse: unit 'msec' is not accepted; give one of: beats per minute",
        ),
        ([400, "s"], [60, "bpm"], "QT interval: 400000 msec is outside what is possible"),
        (0.4, [60, "bpm"], "QT interval: 0.4 msec is outside what is possible"),
        (None, [60, "bpm"], "missing required input: QT interval"),
    ],
)
def test_impossible_tracings(slug: str, qt: object, rate: object, message: str) -> None:
    with pytest.raises(CalculatorInputError, match=message):
        calculate(slug, {"QT interval": qt, "Heart Rate or Pulse": rate})
