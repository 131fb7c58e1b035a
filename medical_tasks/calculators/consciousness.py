"""Level of consciousness."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.inputs import Choice
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["glasgow_coma_score", "whole_coma_score"]

# None stands for a part that could not be tested, by sedation, a tube, a swollen eye.
_EYE: Final = Choice(
    parameter="eye_response",
    name="Best eye response",
    aliases=("eye",),
    words=MappingProxyType(
        {
            "eyes open spontaneously": 4,
            "spontaneous": 4,
            "4": 4,
            "eye opening to verbal command": 3,
            "to sound": 3,
            "3": 3,
            "eye opening to pain": 2,
            "to pressure": 2,
            "2": 2,
            "no eye opening": 1,
            "none": 1,
            "1": 1,
            "not testable": None,
            "NT": None,
        }
    ),
)
_VERBAL: Final = Choice(
    parameter="verbal_response",
    name="Best verbal response",
    aliases=("verbal",),
    words=MappingProxyType(
        {
            "oriented": 5,
            "5": 5,
            "confused": 4,
            "4": 4,
            "inappropriate words": 3,
            "words": 3,
            "3": 3,
            "incomprehensible sounds": 2,
            "sounds": 2,
            "2": 2,
            "no verbal response": 1,
            "none": 1,
            "1": 1,
            "not testable": None,
            "NT": None,
        }
    ),
)
_MOTOR: Final = Choice(
    parameter="motor_response",
    name="Best motor response",
    aliases=("motor",),
    words=MappingProxyType(
        {
            "obeys commands": 6,
            "6": 6,
            "localizes pain": 5,
            "localising": 5,
            "5": 5,
            "withdrawal from pain": 4,
            "normal flexion": 4,
            "4": 4,
            "flexion to pain": 3,
            "abnormal flexion": 3,
            "3": 3,
            "extension to pain": 2,
            "extension": 2,
            "2": 2,
            "no motor response": 1,
            "none": 1,
            "1": 1,
            "not testable": None,
            "NT": None,
        }
    ),
)


@calculator(
    id=21,
    name="Glasgow Coma Score (GCS)",
    category="severity",
    output="integer",
    inputs=(_EYE, _VERBAL, _MOTOR),
    source="Teasdale G, Jennett B. Lancet 1974;304:81-84; Teasdale G et al. Lancet Neurol 2014;13:844-854.",
    aliases=("GCS", "Glasgow Coma Score", "Glasgow Coma Scale"),
)
def glasgow_coma_score(
    *, eye_response: int | None, verbal_response: int | None, motor_response: int | None, say: Say = quiet
) -> int:
    """Glasgow coma score, 3 to 15: eye 1 to 4, verbal 1 to 5, motor 1 to 6.

    Eye: none 1, to pain 2, to command 3, spontaneous 4. Verbal: none 1, sounds 2, words 3, confused 4, oriented 5. Motor:
    none 1, extension 2, flexion 3, withdrawal 4, localizes 5, obeys 6. `None` is a part that could not be tested: the
    others are then reported one by one, and a total is not given.

    Raises:
        CalculatorInputError: a part could not be tested, or is outside its range.

    Source: Teasdale and Jennett, Lancet 1974;304:81-84; Teasdale et al., Lancet Neurol 2014;13:844-854.
    """
    parts = (("eye", eye_response, 4), ("verbal", verbal_response, 5), ("motor", motor_response, 6))
    untested = [part for part, value, _ in parts if value is None]
    if untested:
        tested = ", ".join(f"{part} {value}" for part, value, _ in parts if value is not None) or "none"
        raise CalculatorInputError(
            f"Best {' and '.join(untested)} response: a total needs all three parts; got 'not testable'. Report the "
            f"tested parts on their own ({tested})"
        )
    points = Points(say)
    for part, value, best in parts:
        if value is None or not 1 <= value <= best:
            raise CalculatorInputError(f"Best {part} response: points are 1 to {best}; got {value}. Check the response")
        points.add(f"Best {part} response {value} of {best}", value)
    return points.score


def whole_coma_score(glasgow_coma_score: float) -> int:
    """A Glasgow coma score that other scores count with, which is a whole number.

    Raises:
        CalculatorInputError: it is not whole.
    """
    whole = int(glasgow_coma_score)
    if whole != glasgow_coma_score:
        raise CalculatorInputError(
            f"Glasgow Coma Score: a whole number from 3 to 15; got {glasgow_coma_score:g}. Give the sum of the eye, "
            "verbal and motor response"
        )
    return whole
