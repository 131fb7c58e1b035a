"""Organ failure and inflammatory response in sepsis."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.consciousness import whole_coma_score
from medical_tasks.calculators.hemodynamics import mean_arterial_pressure
from medical_tasks.calculators.inputs import Quantity
from medical_tasks.calculators.labs import BILIRUBIN_MG_DL, CREATININE_MG_DL, PLATELETS, WHITE_CELLS
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.patient import (
    DIASTOLIC,
    FIO2,
    GLASGOW_COMA_SCORE,
    HEART_RATE,
    PACO2,
    PAO2,
    RESPIRATORY_RATE,
    SYSTOLIC,
    TEMPERATURE,
    flag,
)
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["sirs", "sofa"]


def _drug(parameter: str, name: str) -> Quantity:
    measure = Measure(
        unit="mcg/kg/min",
        low=0,
        high=500,
        accepts=("mg/kg/h",),
        spellings=MappingProxyType({"mc/kg/min": "mcg/kg/min"}),  # a slip in the published data
    )
    return Quantity(parameter=parameter, name=name, measure=measure).optional(0.0, "not running")


_URINE: Final[Quantity] = Quantity(
    parameter="urine_ml_day",
    name="Urine Output",
    aliases=("urine",),
    measure=Measure(unit="mL/day", low=0, high=50_000, accepts=("L/day", "mL/h")),
).optional(None)

_RATIO: Final = Bands("PaO2/FiO2", "mm Hg", under=2, steps=((">=", 300, 1), (">=", 400, 0)))
_SUPPORTED_RATIO: Final = Bands(
    "PaO2/FiO2 with respiratory support",
    "mm Hg",
    under=4,
    steps=((">=", 100, 3), (">=", 200, 2), (">=", 300, 1), (">=", 400, 0)),
)
_PLATELETS: Final = Bands(
    "Platelets", "10^9/L", under=4, steps=((">=", 20, 3), (">=", 50, 2), (">=", 100, 1), (">=", 150, 0))
)
_COMA: Final = Bands(
    "Glasgow coma score", "", under=4, steps=((">=", 6, 3), (">=", 10, 2), (">=", 13, 1), (">=", 15, 0))
)
_BILIRUBIN: Final = Bands(
    "Bilirubin", "mg/dL", under=0, steps=((">=", 1.2, 1), (">=", 2, 2), (">=", 6, 3), (">=", 12, 4))
)
_CREATININE: Final = Bands(
    "creatinine", "mg/dL", under=0, steps=((">=", 1.2, 1), (">=", 2, 2), (">=", 3.5, 3), (">=", 5, 4))
)
_OUTPUT: Final = Bands("urine output", "mL/day", under=4, steps=((">=", 200, 3), (">=", 500, 0)))


@calculator(
    id=43,
    name="Sequential Organ Failure Assessment (SOFA) Score",
    category="risk",
    output="integer",
    inputs=(
        PAO2,
        FIO2,
        flag("mechanical_ventilation", "On mechanical ventilation", "mechanical ventilation"),
        flag("cpap", "Continuous positive airway pressure", "CPAP"),
        PLATELETS,
        GLASGOW_COMA_SCORE.optional(15.0, "15"),
        BILIRUBIN_MG_DL,
        flag("hypotension", "Hypotension"),
        SYSTOLIC.optional(None),
        DIASTOLIC.optional(None),
        _drug("dopamine_mcg_kg_min", "DOPamine"),
        _drug("dobutamine_mcg_kg_min", "DOBUTamine"),
        _drug("epinephrine_mcg_kg_min", "EPINEPHrine"),
        _drug("norepinephrine_mcg_kg_min", "norEPINEPHrine"),
        CREATININE_MG_DL.optional(None),
        _URINE,
    ),
    source="Vincent JL et al. Intensive Care Med 1996;22:707-710.",
    aliases=("SOFA",),
    unused=("Continuous veno-venous hemodialysis for ≥24 hours in the past week",),
)
def sofa(
    *,
    pao2_mm_hg: float,
    fio2_percent: float,
    mechanical_ventilation: bool,
    cpap: bool,
    platelets_10e9_l: float,
    glasgow_coma_score: float,
    bilirubin_mg_dl: float,
    hypotension: bool,
    systolic_mm_hg: float | None,
    diastolic_mm_hg: float | None,
    dopamine_mcg_kg_min: float,
    dobutamine_mcg_kg_min: float,
    epinephrine_mcg_kg_min: float,
    norepinephrine_mcg_kg_min: float,
    creatinine_mg_dl: float | None,
    urine_ml_day: float | None,
    say: Say = quiet,
) -> int:
    """SOFA score, 0 to 24: six organ systems with 0 to 4 points each.

    - respiration, PaO2/FiO2 in mm Hg: 400 or more 0, 300 1, 200 2, lower 2 without support; with mechanical ventilation
      or CPAP 100 to under 200 3, under 100 4
    - coagulation, platelets 10^9/L: 150 or more 0, 100 1, 50 2, 20 3, lower 4
    - consciousness, Glasgow coma score: 15 0, 13 1, 10 2, 6 3, lower 4
    - liver, bilirubin mg/dL: under 1.2 0, 1.2 1, 2 2, 6 3, 12 or more 4
    - circulation, doses in mcg/kg/min: dopamine over 15 or (nor)epinephrine over 0.1 4; dopamine over 5 or any
      (nor)epinephrine 3; any dopamine or dobutamine 2; mean arterial pressure under 70 mm Hg 1 (without measured
      pressures: hypotension 1)
    - kidney, the worse of creatinine mg/dL (under 1.2 0, 1.2 1, 2 2, 3.5 3, 5 or more 4) and urine (under 500 mL a day
      3, under 200 4); `None` is not measured and gives no point

    Raises:
        CalculatorInputError: the coma score is not whole.

    Source: Vincent et al., Intensive Care Med 1996;22:707-710.
    """
    points = Points(say)
    # One product and one quotient, cleared of binary noise: 84.3 mm Hg at 28.1 % is a ratio of 300, not 299.99...
    ratio = round(pao2_mm_hg * 100 / fio2_percent, 9)
    say(f"PaO2/FiO2 = {pao2_mm_hg:.6g} mm Hg / {fio2_percent / 100:.6g} = {ratio:.6g} mm Hg.")
    (_SUPPORTED_RATIO if mechanical_ventilation or cpap else _RATIO).count(ratio, points)
    _PLATELETS.count(platelets_10e9_l, points)
    _COMA.count(whole_coma_score(glasgow_coma_score), points)
    _BILIRUBIN.count(bilirubin_mg_dl, points)
    pressure = None
    if systolic_mm_hg is not None and diastolic_mm_hg is not None:
        measured = mean_arterial_pressure(systolic_mm_hg=systolic_mm_hg, diastolic_mm_hg=diastolic_mm_hg, say=say)
        pressure = round(measured, 9)
    doses = (
        f"Circulation: dopamine {dopamine_mcg_kg_min:.6g}, dobutamine {dobutamine_mcg_kg_min:.6g}, epinephrine "
        f"{epinephrine_mcg_kg_min:.6g}, norepinephrine {norepinephrine_mcg_kg_min:.6g} mcg/kg/min"
    )
    if dopamine_mcg_kg_min > 15 or epinephrine_mcg_kg_min > 0.1 or norepinephrine_mcg_kg_min > 0.1:
        points.add(f"{doses}, dopamine over 15 or (nor)epinephrine over 0.1", 4)
    elif dopamine_mcg_kg_min > 5 or epinephrine_mcg_kg_min > 0 or norepinephrine_mcg_kg_min > 0:
        points.add(f"{doses}, dopamine over 5 or any (nor)epinephrine", 3)
    elif dopamine_mcg_kg_min > 0 or dobutamine_mcg_kg_min > 0:
        points.add(f"{doses}, dopamine up to 5 or any dobutamine", 2)
    elif pressure is None:
        points.add(f"{doses}, hypotension {'present' if hypotension else 'absent'}", int(hypotension))
    elif pressure < 70:
        points.add(f"{doses}, MAP {pressure:.6g} mm Hg is under 70", 1)
    else:
        why = ", which decides over the reported hypotension" if hypotension else ""
        points.add(f"{doses}, MAP {pressure:.6g} mm Hg is 70 or more{why}", 0)
    by_creatinine, creatinine = (
        (0, "creatinine not given") if creatinine_mg_dl is None else _CREATININE.find(creatinine_mg_dl)
    )
    by_urine, urine = (0, "urine output not given") if urine_ml_day is None else _OUTPUT.find(urine_ml_day)
    points.add(
        f"Kidney, the worse of {creatinine} ({by_creatinine}) and {urine} ({by_urine})", max(by_creatinine, by_urine)
    )
    return points.score


_SIRS_TEMPERATURE: Final = Bands("Temperature", "°C", under=1, steps=((">=", 36, 0), (">", 38, 1)))
_SIRS_HEART_RATE: Final = Bands("Heart rate", "", under=0, steps=((">", 90, 1),))
_SIRS_WHITE_CELLS: Final = Bands("White blood cells", "10^9/L", under=1, steps=((">=", 4, 0), (">", 12, 1)))


@calculator(
    id=51,
    name="SIRS Criteria",
    category="diagnosis",
    output="integer",
    inputs=(
        TEMPERATURE,
        HEART_RATE,
        RESPIRATORY_RATE.optional(None),
        PACO2.optional(None),
        WHITE_CELLS,
    ),
    source="Bone RC et al. Chest 1992;101:1644-1655.",
    aliases=("SIRS",),
)
def sirs(
    *,
    temperature_c: float,
    heart_rate_per_min: float,
    respiratory_rate_per_min: float | None,
    paco2_mm_hg: float | None,
    white_cells_10e9_l: float,
    say: Say = quiet,
) -> int:
    """Criteria of the systemic inflammatory response syndrome that are met, 0 to 4.

    One each: temperature over 38 or under 36 °C; heart rate over 90; respiratory rate over 20 or PaCO2 under 32 mm Hg
    (`None`: not measured, not met); white cells over 12 or under 4 10^9/L. The immature forms of the original's fourth
    criterion are not among the dataset's inputs.

    Source: Bone et al., Chest 1992;101:1644-1655.
    """
    points = Points(say)
    _SIRS_TEMPERATURE.count(temperature_c, points)
    _SIRS_HEART_RATE.count(heart_rate_per_min, points)
    rate = "not given" if respiratory_rate_per_min is None else f"{respiratory_rate_per_min:.6g}"
    gas = "not given" if paco2_mm_hg is None else f"{paco2_mm_hg:.6g} mm Hg"
    fast = respiratory_rate_per_min is not None and respiratory_rate_per_min > 20
    low = paco2_mm_hg is not None and paco2_mm_hg < 32
    met = "met" if fast or low else "not met"
    points.add(f"Respiratory rate over 20 ({rate}) or PaCO2 under 32 mm Hg ({gas}) {met}", int(fast or low))
    _SIRS_WHITE_CELLS.count(white_cells_10e9_l, points)
    return points.score
