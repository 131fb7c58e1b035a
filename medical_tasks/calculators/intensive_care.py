"""Intensive care: mean arterial pressure, Glasgow coma score, APACHE II."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.steps import Bands, Points, Say, quiet
from medical_tasks.calculators.units import CalculatorInputError


@calculator(
    source="One third of systole and two thirds of diastole; standard clinical approximation."
)
def mean_arterial_pressure(
    *, systolic_mm_hg: float, diastolic_mm_hg: float, say: Say = quiet
) -> float:
    """Mean arterial pressure in mm Hg: (SBP + 2 · DBP) / 3."""
    pressure = (systolic_mm_hg + 2 * diastolic_mm_hg) / 3
    say(
        f"MAP = (SBP + 2 × DBP) / 3 = ({systolic_mm_hg:.6g} + 2 × {diastolic_mm_hg:.6g}) / 3 = "
        f"{pressure:.6g} mm Hg."
    )
    return pressure


@calculator(
    source="Teasdale G, Jennett B. Lancet 1974;304:81-84; Teasdale G et al. Lancet Neurol 2014;13:844-854."
)
def glasgow_coma_score(
    *,
    eye_response: int | None,
    verbal_response: int | None,
    motor_response: int | None,
    say: Say = quiet,
) -> int:
    """Glasgow coma score, 3 to 15: eye 1 to 4, verbal 1 to 5, motor 1 to 6.

    Eye: none 1, to pain 2, to command 3, spontaneous 4. Verbal: none 1, sounds 2, words
    3, confused 4, oriented 5. Motor: none 1, extension 2, flexion 3, withdrawal 4,
    localizes 5, obeys 6. `None` is a part that could not be tested: the others are then
    reported one by one, and a total is not given.

    Raises:
        CalculatorInputError: a part could not be tested, or is outside its range.
    """
    parts = (
        ("eye", eye_response, 4),
        ("verbal", verbal_response, 5),
        ("motor", motor_response, 6),
    )
    untested = [response for response, value, _ in parts if value is None]
    if untested:
        tested = (
            ", ".join(
                f"{response} {value}"
                for response, value, _ in parts
                if value is not None
            )
            or "none"
        )
        raise CalculatorInputError(
            f"Best {' and '.join(untested)} response: a total needs all three parts; got 'not "
            f"testable'. Report the tested parts on their own ({tested})"
        )

    points = Points(say)
    for response, value, best in parts:
        if value is None or not 1 <= value <= best:
            raise CalculatorInputError(
                f"Best {response} response: points are 1 to {best}; got {value}. Check the response"
            )

        points.add(f"Best {response} response {value} of {best}", value)

    return points.score


def whole_coma_score(glasgow_coma_score: float) -> int:
    """A Glasgow coma score that other scores count with, which is a whole number.

    Raises:
        CalculatorInputError: it is not whole.
    """
    whole = int(glasgow_coma_score)
    if whole != glasgow_coma_score:
        raise CalculatorInputError(
            f"Glasgow Coma Score: a whole number from 3 to 15; got {glasgow_coma_score:g}. Give "
            "the sum of the eye, verbal and motor response"
        )

    return whole


Admission: TypeAlias = Literal["nonoperative", "elective", "emergency"]


_TEMPERATURE: Final = Bands(
    "Temperature",
    "°C",
    4,
    (30, 3),
    (32, 2),
    (34, 1),
    (36, 0),
    (38.5, 1),
    (39, 3),
    (41, 4),
)
_PRESSURE: Final = Bands(
    "MAP",
    "mm Hg",
    4,
    (">", 49, 2),
    (">", 69, 0),
    (">", 109, 2),
    (">", 129, 3),
    (">", 159, 4),
)
_HEART_RATE: Final = Bands(
    "Heart rate", "", 4, (40, 3), (55, 2), (70, 0), (110, 2), (140, 3), (180, 4)
)
_RESPIRATION: Final = Bands(
    "Respiratory rate", "", 4, (6, 2), (10, 1), (12, 0), (25, 1), (35, 3), (50, 4)
)
# The table prints whole numbers (200-349, 350-499; 55-60, 61-70). Between them the
# milder class holds until the printed bound of the worse one is reached.
_GRADIENT: Final = Bands("A-a gradient", "mm Hg", 0, (200, 2), (350, 3), (">", 499, 4))
_OXYGEN: Final = Bands("PaO2", "mm Hg", 4, (55, 3), (">", 60, 1), (">", 70, 0))
_ACIDITY: Final = Bands(
    "pH", "", 4, (7.15, 3), (7.25, 2), (7.33, 0), (7.5, 1), (7.6, 3), (7.7, 4)
)
_SODIUM: Final = Bands(
    "Sodium",
    "mmol/L",
    4,
    (111, 3),
    (120, 2),
    (130, 0),
    (150, 1),
    (155, 2),
    (160, 3),
    (180, 4),
)
_POTASSIUM: Final = Bands(
    "Potassium", "mmol/L", 4, (2.5, 2), (3, 1), (3.5, 0), (5.5, 1), (6, 3), (7, 4)
)
_CREATININE: Final = Bands(
    "Creatinine", "mg/dL", 2, (0.6, 0), (1.5, 2), (2, 3), (3.5, 4)
)
_HEMATOCRIT: Final = Bands(
    "Hematocrit", "%", 4, (20, 2), (30, 0), (46, 1), (50, 2), (60, 4)
)
_WHITE_CELLS: Final = Bands(
    "White blood cells", "10^9/L", 4, (1, 2), (3, 0), (15, 1), (20, 2), (40, 4)
)
_AGE: Final = Bands("Age", "", 0, (45, 2), (55, 3), (65, 5), (75, 6))


@calculator(source="Knaus WA et al. Crit Care Med 1985;13:818-829.")
def apache_ii(
    *,
    temperature_c: float,
    systolic_mm_hg: float,
    diastolic_mm_hg: float,
    heart_rate_per_min: float,
    respiratory_rate_per_min: float,
    fio2_percent: float,
    aa_gradient_mm_hg: float | None,
    pao2_mm_hg: float | None,
    ph: float,
    sodium_mmol_l: float,
    potassium_mmol_l: float,
    creatinine_mg_dl: float,
    acute_renal_failure: bool,
    chronic_renal_failure: bool,
    hematocrit_percent: float,
    white_cells_10e9_l: float,
    glasgow_coma_score: float,
    age_years: float,
    chronic_illness: bool,
    surgery: Admission,
    say: Say = quiet,
) -> int:
    """APACHE II score, 0 to 71: acute physiology, age and chronic health.

    Points fall off on both sides of the normal class (0):

    - temperature °C: under 30 4, 30 3, 32 2, 34 1, 36 0, 38.5 1, 39 3, 41 4
    - mean arterial pressure mm Hg: up to 49 4, 69 2, 109 0, 129 2, 159 3, above 4
    - heart rate: under 40 4, 40 3, 55 2, 70 0, 110 2, 140 3, 180 4
    - respiratory rate: under 6 4, 6 2, 10 1, 12 0, 25 1, 35 3, 50 4
    - oxygen: at FiO2 of 50 % or more the A-a gradient in mm Hg, under 200 0, 200 2, 350 3, above 499 4; at a lower FiO2
      PaO2 in mm Hg, under 55 4, up to 60 3, up to 70 1, above 0
    - arterial pH: under 7.15 4, 7.15 3, 7.25 2, 7.33 0, 7.5 1, 7.6 3, 7.7 4
    - sodium mmol/L: under 111 4, 111 3, 120 2, 130 0, 150 1, 155 2, 160 3, 180 4
    - potassium mmol/L: under 2.5 4, 2.5 2, 3 1, 3.5 0, 5.5 1, 6 3, 7 4
    - creatinine mg/dL: under 0.6 2, 0.6 0, 1.5 2, 2 3, 3.5 4; doubled in acute renal failure
    - hematocrit %: under 20 4, 20 2, 30 0, 46 1, 50 2, 60 4
    - white cells 10^9/L: under 1 4, 1 2, 3 0, 15 1, 20 2, 40 4
    - Glasgow coma score: 15 minus the score
    - age: 45 2, 55 3, 65 5, 75 6
    - severe organ insufficiency or immunocompromise: 5 without an operation or after an emergency operation, 2 after an
      elective one

    Args not told by their names: `chronic_renal_failure` alone does not double the
    points for creatinine; `aa_gradient_mm_hg` and `pao2_mm_hg` are needed in their own
    range of FiO2 only.

    Raises:
        CalculatorInputError: the oxygen value for this FiO2 is missing, or the coma
            score is not whole.
    """
    points = Points(say)
    _TEMPERATURE.count(temperature_c, points)
    measured = mean_arterial_pressure(
        systolic_mm_hg=systolic_mm_hg, diastolic_mm_hg=diastolic_mm_hg, say=say
    )
    _PRESSURE.count(round(measured, 9), points)
    _HEART_RATE.count(heart_rate_per_min, points)
    _RESPIRATION.count(respiratory_rate_per_min, points)
    if fio2_percent >= 50:
        _GRADIENT.count(
            _needed(aa_gradient_mm_hg, "A-a gradient", "50 % or more", fio2_percent),
            points,
        )
    else:
        _OXYGEN.count(_needed(pao2_mm_hg, "PaO2", "under 50 %", fio2_percent), points)

    _ACIDITY.count(ph, points)
    _SODIUM.count(sodium_mmol_l, points)
    _POTASSIUM.count(potassium_mmol_l, points)
    renal, why = _CREATININE.find(creatinine_mg_dl)
    if acute_renal_failure:
        points.add(f"{why}, {renal} doubled in acute renal failure", 2 * renal)
    elif chronic_renal_failure:
        points.add(f"{why}, not doubled in chronic renal failure", renal)
    else:
        points.add(why, renal)

    _HEMATOCRIT.count(hematocrit_percent, points)
    _WHITE_CELLS.count(white_cells_10e9_l, points)
    coma = whole_coma_score(glasgow_coma_score)
    points.add(f"Glasgow coma score: 15 − {coma}", 15 - coma)
    _AGE.count(age_years, points)
    if chronic_illness:
        points.add(
            f"Severe organ failure or immunocompromise, {surgery}",
            2 if surgery == "elective" else 5,
        )
    else:
        points.add("Severe organ failure or immunocompromise absent", 0)

    return points.score


def _needed(value: float | None, name: str, limit: str, fio2_percent: float) -> float:
    if value is None:
        raise CalculatorInputError(
            f"missing required input: {name}, which decides the oxygen points at FiO2 of {limit}; "
            f"got FiO2 {fio2_percent:g} %. Give {name} in mm Hg"
        )
    return value
