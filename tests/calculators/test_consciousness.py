"""Glasgow coma score."""

from __future__ import annotations

import pytest

from medical_tasks.calculators import CalculatorInputError, calculate
from medical_tasks.calculators.intensive_care import glasgow_coma_score, whole_coma_score

EYE = {"eyes open spontaneously": 4, "eye opening to verbal command": 3, "eye opening to pain": 2, "no eye opening": 1}
VERBAL = {"oriented": 5, "confused": 4, "inappropriate words": 3, "incomprehensible sounds": 2, "no verbal response": 1}
MOTOR = {
    "obeys commands": 6,
    "localizes pain": 5,
    "withdrawal from pain": 4,
    "flexion to pain": 3,
    "extension to pain": 2,
    "no motor response": 1,
}


def test_every_combination_of_words_is_its_sum() -> None:
    seen = 0
    for eye, eye_points in EYE.items():
        for verbal, verbal_points in VERBAL.items():
            for motor, motor_points in MOTOR.items():
                entities = {"Best eye response": eye, "Best verbal response": verbal, "Best motor response": motor}
                assert calculate(21, entities).answer == eye_points + verbal_points + motor_points
                seen += 1
    assert seen == 4 * 5 * 6


@pytest.mark.parametrize("word", ["Oriented", "ORIENTED ", "5"])
def test_words_in_any_case_and_points(word: str) -> None:
    entities = {"Best eye response": "4", "Best verbal response": word, "Best motor response": "6"}
    assert calculate(21, entities).answer == 15


@pytest.mark.parametrize(
    ("part", "tested"), [("eye", "verbal 5, motor 6"), ("verbal", "eye 4, motor 6"), ("motor", "eye 4, verbal 5")]
)
def test_a_part_that_cannot_be_tested_leaves_no_total(part: str, tested: str) -> None:
    words = {"eye": "eyes open spontaneously", "verbal": "oriented", "motor": "obeys commands", part: "Not Testable"}
    entities = {f"Best {name} response": word for name, word in words.items()}
    with pytest.raises(CalculatorInputError, match=rf"Best {part} response: a total needs all three .*\({tested}\)"):
        calculate(21, entities)


def test_nothing_tested() -> None:
    with pytest.raises(CalculatorInputError, match=r"Best eye and verbal and motor response: .*\(none\)"):
        glasgow_coma_score(eye_response=None, verbal_response=None, motor_response=None)


def test_an_unknown_word_is_an_error() -> None:
    entities = {"Best eye response": "blinking", "Best verbal response": "oriented", "Best motor response": "6"}
    with pytest.raises(CalculatorInputError, match="Best eye response: expected one of .*; got 'blinking'"):
        calculate(21, entities)


def test_a_total_is_whole() -> None:
    assert whole_coma_score(14.0) == 14
    with pytest.raises(CalculatorInputError, match=r"Glasgow Coma Score: a whole number from 3 to 15; got 12\.5"):
        whole_coma_score(12.5)
