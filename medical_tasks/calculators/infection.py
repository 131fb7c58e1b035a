"""Infection and sepsis.

Pneumonia acquired outside hospital, sore throat, organ failure, inflammatory response.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from medical_tasks.calculators.base import Convention, calculator
from medical_tasks.calculators.inputs import Input, numbers_agree
from medical_tasks.calculators.intensive_care import (
    mean_arterial_pressure,
    whole_coma_score,
)
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.shared_inputs import Sex, quantity
from medical_tasks.calculators.steps import Bands, Points, Say, quiet
from medical_tasks.calculators.units import CalculatorInputError

_PSI_RESPIRATION: Final = Bands("Respiratory rate", "", 0, (30, 20))
_PSI_SYSTOLIC: Final = Bands("Systolic blood pressure", "mm Hg", 20, (90, 0))
_PSI_TEMPERATURE: Final = Bands("Temperature", "°C", 15, (35, 0), (40, 15))
_PSI_PULSE: Final = Bands("Pulse", "", 0, (125, 10))
_PSI_PH: Final = Bands("pH", "", 30, (7.35, 0))
_PSI_BUN: Final = Bands("BUN", "mg/dL", 0, (30, 20))
_PSI_SODIUM: Final = Bands("Sodium", "mmol/L", 20, (130, 0))
_PSI_GLUCOSE: Final = Bands("Glucose", "mg/dL", 0, (250, 10))
_PSI_HEMATOCRIT: Final = Bands("Hematocrit", "%", 10, (30, 0))
_PSI_OXYGEN: Final = Bands("PaO2", "mm Hg", 10, (60, 0))


@calculator(source="Fine MJ et al. N Engl J Med 1997;336:243-250.")
def pneumonia_severity_index(
    *,
    age_years: float,
    sex: Sex,
    nursing_home: bool,
    neoplastic_disease: bool,
    liver_disease: bool,
    heart_failure: bool,
    cerebrovascular_disease: bool,
    renal_disease: bool,
    altered_mental_status: bool,
    respiratory_rate_per_min: float,
    systolic_mm_hg: float,
    temperature_c: float,
    heart_rate_per_min: float,
    ph: float,
    bun_mg_dl: float,
    sodium_mmol_l: float,
    glucose_mg_dl: float,
    hematocrit_percent: float,
    pao2_mm_hg: float,
    pleural_effusion: bool,
    say: Say = quiet,
) -> int:
    """Pneumonia severity index in points, -10 to 285 and one more for each year of age.

    Age in completed years; female -10; nursing home 10. Neoplastic disease 30, liver
    disease 20, heart failure, cerebrovascular and renal disease 10 each. Altered mental
    status 20; respiratory rate 30 or more 20; systolic pressure under 90 mm Hg 20;
    temperature under 35 or 40 °C and more 15; pulse 125 or more 10. Arterial pH under
    7.35 30; BUN 30 mg/dL or more 20; sodium under 130 mmol/L 20; glucose 250 mg/dL or
    more 10; hematocrit under 30 % 10; PaO2 under 60 mm Hg 10; pleural effusion 10.
    """
    points = Points(say)
    points.add(f"Age {age_years:.6g} in completed years", int(age_years))
    points.add(f"Sex {sex}", -10 if sex == "female" else 0)
    points.flag("Nursing home", nursing_home, 10)
    points.flag("Neoplastic disease", neoplastic_disease, 30)
    points.flag("Liver disease", liver_disease, 20)
    points.flag("Congestive heart failure", heart_failure, 10)
    points.flag("Cerebrovascular disease", cerebrovascular_disease, 10)
    points.flag("Renal disease", renal_disease, 10)
    points.flag("Altered mental status", altered_mental_status, 20)
    _PSI_RESPIRATION.count(respiratory_rate_per_min, points)
    _PSI_SYSTOLIC.count(systolic_mm_hg, points)
    _PSI_TEMPERATURE.count(temperature_c, points)
    _PSI_PULSE.count(heart_rate_per_min, points)
    _PSI_PH.count(ph, points)
    _PSI_BUN.count(bun_mg_dl, points)
    _PSI_SODIUM.count(sodium_mmol_l, points)
    _PSI_GLUCOSE.count(glucose_mg_dl, points)
    _PSI_HEMATOCRIT.count(hematocrit_percent, points)
    _PSI_OXYGEN.count(pao2_mm_hg, points)
    points.flag("Pleural effusion", pleural_effusion, 10)

    return points.score


@dataclass(frozen=True, kw_only=True)
class _Urea(Input):
    """Urea as `(BUN mg/dL, None)` or `(None, urea mmol/L)`.

    The published limits, 19 and 7, are not quite the same.
    """

    mass: Measure
    molar: Measure

    def read(self, raw: object, say: Say) -> tuple[float | None, float | None]:
        """The value in the unit it came in."""
        texts = raw if isinstance(raw, list | tuple) else (raw,)
        if any("mol" in text.casefold() for text in texts if isinstance(text, str)):
            value, line = self.molar.read(raw, self.name)
            say(line)
            return None, value
        value, line = self.mass.read(raw, self.name)
        say(line)
        return value, None

    def doubt(self, raw: object, value: object) -> str | None:
        """See `Input.doubt`."""
        return self.mass.doubt(raw, self.mass.read(raw, self.name)[0], self.name)

    @property
    def expects(self) -> str:
        """The accepted units."""
        return ", ".join((*self.mass.accepted[:1], *self.molar.accepted[:1]))

    def schema(self) -> dict[str, object]:
        """A number for the mass, or a text with its unit."""
        description = f"{self.name} in {self.mass.unit}, or with its unit as a text"
        kinds = [{"type": "number"}, {"type": "string"}]
        return {"description": description, "anyOf": kinds}

    def written(self, value: tuple[float | None, float | None]) -> object:
        """See `Input.written`."""
        mass, molar = value
        return mass if molar is None else f"{molar!r} {self.molar.unit}"

    def agrees(
        self,
        value: tuple[float | None, float | None],
        other: tuple[float | None, float | None],
        *,
        within: float,
    ) -> bool:
        """See `Input.agrees`; in whichever unit each came."""
        return numbers_agree(self._mass(value), self._mass(other), within=within)

    def _mass(self, value: tuple[float | None, float | None]) -> float:
        mass, molar = value
        if mass is not None:
            return mass
        return self.mass.read((molar, self.molar.unit), self.name)[0]


def _split_urea(values: dict[str, Any]) -> dict[str, Any]:
    values["bun_mg_dl"], values["urea_mmol_l"] = values.pop("urea")
    return values


_CURB_BUN: Final = Bands("BUN", "mg/dL", 0, (">", 19, 1))
_CURB_UREA: Final = Bands("Urea", "mmol/L", 0, (">", 7, 1))
_CURB_RESPIRATION: Final = Bands("Respiratory rate", "", 0, (30, 1))
_BUN: Final = quantity("bun_mg_dl")
_CURB_AGE: Final = Bands("Age", "", 0, (65, 1))


@calculator(
    source="Lim WS et al. Thorax 2003;58:377-382.",
    inputs=(
        "confusion",
        _Urea(
            parameter="urea",
            name=_BUN.name,
            aliases=_BUN.aliases,
            mass=_BUN.measure,
            molar=Measure(
                unit="mmol/L", low=0.03, high=220, substance=_BUN.measure.substance
            ),
        ),
        "respiratory_rate_per_min",
        "systolic_mm_hg",
        "diastolic_mm_hg",
        "age_years",
    ),
    adapt=_split_urea,
)
def curb_65(
    *,
    confusion: bool,
    respiratory_rate_per_min: float,
    systolic_mm_hg: float,
    diastolic_mm_hg: float,
    age_years: float,
    bun_mg_dl: float | None = None,
    urea_mmol_l: float | None = None,
    say: Say = quiet,
) -> int:
    """CURB-65, 0 to 5.

    One each: confusion; urea over 7 mmol/L, or BUN over 19 mg/dL as it is printed for
    that unit (give one of the two); respiratory rate 30 or more; systolic pressure
    under 90 or diastolic 60 mm Hg and less; age 65 or more.

    Raises:
        CalculatorInputError: neither or both of `bun_mg_dl` and `urea_mmol_l` are
            given.
    """
    points = Points(say)
    points.flag("Confusion", confusion)
    if urea_mmol_l is not None and bun_mg_dl is None:
        _CURB_UREA.count(urea_mmol_l, points)
    elif bun_mg_dl is not None and urea_mmol_l is None:
        _CURB_BUN.count(bun_mg_dl, points)
    else:
        raise CalculatorInputError(
            f"urea: one of bun_mg_dl and urea_mmol_l is needed; got {bun_mg_dl} and {urea_mmol_l}. "
            "Give one"
        )

    _CURB_RESPIRATION.count(respiratory_rate_per_min, points)
    low = systolic_mm_hg < 90 or diastolic_mm_hg <= 60
    level = "low" if low else "not low"
    points.add(
        f"Blood pressure {systolic_mm_hg:.6g}/{diastolic_mm_hg:.6g} mm Hg is {level} (under 90 or "
        "/60 and less)",
        int(low),
    )
    _CURB_AGE.count(age_years, points)

    return points.score


# Both scores give a point for a cough that is absent. What a note does not mention is
# absent: so is the cough.
COUGH_UNMENTIONED_IS_ZERO: Final = Convention(
    name="cough-unmentioned-is-zero",
    description="an absence of cough (or coryza) that is not mentioned gives no point.",
    absent=MappingProxyType({"cough_absent": False, "cough_and_coryza_absent": False}),
)
"""How the labels of dataset v1.0 treat a missing `Cough Absent` or `Absence of cough or coryza`."""

_CENTOR_AGE: Final = Bands("Age", "", 0, (3, 1), (15, 0), (45, -1))
_CENTOR_TEMPERATURE: Final = Bands("Temperature", "°C", 0, (">", 38, 1))


@calculator(
    source="McIsaac WJ et al. CMAJ 1998;158:75-83.",
    conventions=(COUGH_UNMENTIONED_IS_ZERO,),
)
def centor(
    *,
    age_years: float,
    temperature_c: float,
    cough_absent: bool,
    tender_nodes: bool,
    tonsillar_exudate: bool,
    say: Say = quiet,
) -> int:
    """Centor score with McIsaac's age item, -1 to 5.

    Age 3 to 14 1, 15 to 44 0, 45 or more -1 (under 3, where the score is not validated,
    0). One each: temperature over 38 °C; no cough; tender or swollen anterior cervical
    nodes; exudate or swelling of the tonsils.
    """
    points = Points(say)
    _CENTOR_AGE.count(age_years, points)
    _CENTOR_TEMPERATURE.count(temperature_c, points)
    points.add("No cough" if cough_absent else "Cough", int(cough_absent))
    points.flag("Tender or swollen anterior cervical nodes", tender_nodes)
    points.flag("Exudate or swelling of the tonsils", tonsillar_exudate)

    return points.score


@calculator(
    source="Little P et al. BMJ 2013;347:f5806.",
    conventions=(COUGH_UNMENTIONED_IS_ZERO,),
)
def feverpain(
    *,
    fever: bool,
    cough_and_coryza_absent: bool,
    onset_within_3_days: bool,
    purulent_tonsils: bool,
    severe_inflammation: bool,
    say: Say = quiet,
) -> int:
    """FeverPAIN score, 0 to 5.

    One each: fever in the past 24 hours; no cough or coryza; attended within 3 days of
    onset; purulent tonsils; severely inflamed tonsils.
    """
    points = Points(say)
    points.flag("Fever in the past 24 hours", fever)
    points.add(
        "No cough or coryza" if cough_and_coryza_absent else "Cough or coryza",
        int(cough_and_coryza_absent),
    )
    points.flag("Symptom onset within 3 days", onset_within_3_days)
    points.flag("Purulent tonsils", purulent_tonsils)
    points.flag("Severe inflammation of the tonsils", severe_inflammation)

    return points.score


_RATIO: Final = Bands("PaO2/FiO2", "mm Hg", 2, (300, 1), (400, 0))
_SUPPORTED_RATIO: Final = Bands(
    "PaO2/FiO2 with respiratory support",
    "mm Hg",
    4,
    (100, 3),
    (200, 2),
    (300, 1),
    (400, 0),
)
_PLATELETS: Final = Bands(
    "Platelets", "10^9/L", 4, (20, 3), (50, 2), (100, 1), (150, 0)
)
_COMA: Final = Bands("Glasgow coma score", "", 4, (6, 3), (10, 2), (13, 1), (15, 0))
_BILIRUBIN: Final = Bands("Bilirubin", "mg/dL", 0, (1.2, 1), (2, 2), (6, 3), (12, 4))
_SOFA_CREATININE: Final = Bands(
    "creatinine", "mg/dL", 0, (1.2, 1), (2, 2), (3.5, 3), (5, 4)
)
_OUTPUT: Final = Bands("urine output", "mL/day", 4, (200, 3), (500, 0))


@calculator(source="Vincent JL et al. Intensive Care Med 1996;22:707-710.")
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
      (nor)epinephrine 3; any dopamine or dobutamine 2; mean arterial pressure under 70 mm Hg 1
      (without measured pressures: hypotension 1)
    - kidney, the worse of creatinine mg/dL (under 1.2 0, 1.2 1, 2 2, 3.5 3, 5 or more 4) and urine (under 500 mL a day
      3, under 200 4); `None` is not measured and gives no point

    Raises:
        CalculatorInputError: the coma score is not whole.
    """
    points = Points(say)
    # One product and one quotient, cleared of binary noise: 84.3 mm Hg at 28.1 % is a
    # ratio of 300, not 299.99...
    ratio = round(pao2_mm_hg * 100 / fio2_percent, 9)
    say(
        f"PaO2/FiO2 = {pao2_mm_hg:.6g} mm Hg / {fio2_percent / 100:.6g} = {ratio:.6g} mm Hg."
    )
    (_SUPPORTED_RATIO if mechanical_ventilation or cpap else _RATIO).count(
        ratio, points
    )
    _PLATELETS.count(platelets_10e9_l, points)
    _COMA.count(whole_coma_score(glasgow_coma_score), points)
    _BILIRUBIN.count(bilirubin_mg_dl, points)
    pressure = None
    if systolic_mm_hg is not None and diastolic_mm_hg is not None:
        measured = mean_arterial_pressure(
            systolic_mm_hg=systolic_mm_hg, diastolic_mm_hg=diastolic_mm_hg, say=say
        )
        pressure = round(measured, 9)

    _count_circulation(
        points,
        pressure,
        hypotension=hypotension,
        dopamine=dopamine_mcg_kg_min,
        dobutamine=dobutamine_mcg_kg_min,
        epinephrine=epinephrine_mcg_kg_min,
        norepinephrine=norepinephrine_mcg_kg_min,
    )
    by_creatinine, creatinine = (
        (0, "creatinine not given")
        if creatinine_mg_dl is None
        else _SOFA_CREATININE.find(creatinine_mg_dl)
    )
    by_urine, urine = (
        (0, "urine output not given")
        if urine_ml_day is None
        else _OUTPUT.find(urine_ml_day)
    )
    points.add(
        f"Kidney, the worse of {creatinine} ({by_creatinine}) and {urine} ({by_urine})",
        max(by_creatinine, by_urine),
    )

    return points.score


def _count_circulation(
    points: Points,
    pressure: float | None,
    *,
    hypotension: bool,
    dopamine: float,
    dobutamine: float,
    epinephrine: float,
    norepinephrine: float,
) -> None:
    """Counts the points of drugs in mcg/kg/min, else of the mean arterial pressure."""
    doses = (
        f"Circulation: dopamine {dopamine:.6g}, dobutamine {dobutamine:.6g}, epinephrine "
        f"{epinephrine:.6g}, norepinephrine {norepinephrine:.6g} mcg/kg/min"
    )
    if dopamine > 15 or epinephrine > 0.1 or norepinephrine > 0.1:
        points.add(f"{doses}, dopamine over 15 or (nor)epinephrine over 0.1", 4)
    elif dopamine > 5 or epinephrine > 0 or norepinephrine > 0:
        points.add(f"{doses}, dopamine over 5 or any (nor)epinephrine", 3)
    elif dopamine > 0 or dobutamine > 0:
        points.add(f"{doses}, dopamine up to 5 or any dobutamine", 2)
    elif pressure is None:
        points.add(
            f"{doses}, hypotension {'present' if hypotension else 'absent'}",
            int(hypotension),
        )
    elif pressure < 70:
        points.add(f"{doses}, MAP {pressure:.6g} mm Hg is under 70", 1)
    else:
        why = ", which decides over the reported hypotension" if hypotension else ""
        points.add(f"{doses}, MAP {pressure:.6g} mm Hg is 70 or more{why}", 0)


_SIRS_TEMPERATURE: Final = Bands("Temperature", "°C", 1, (36, 0), (">", 38, 1))
_SIRS_HEART_RATE: Final = Bands("Heart rate", "", 0, (">", 90, 1))
_SIRS_WHITE_CELLS: Final = Bands("White blood cells", "10^9/L", 1, (4, 0), (">", 12, 1))


@calculator(source="Bone RC et al. Chest 1992;101:1644-1655.")
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

    One each: temperature over 38 or under 36 °C; heart rate over 90; respiratory rate
    over 20 or PaCO2 under 32 mm Hg (`None`: not measured, not met); white cells over 12
    or under 4 10^9/L. The immature forms of the original's fourth criterion are not
    among the dataset's inputs.
    """
    points = Points(say)
    _SIRS_TEMPERATURE.count(temperature_c, points)
    _SIRS_HEART_RATE.count(heart_rate_per_min, points)
    rate = (
        "not given"
        if respiratory_rate_per_min is None
        else f"{respiratory_rate_per_min:.6g}"
    )
    gas = "not given" if paco2_mm_hg is None else f"{paco2_mm_hg:.6g} mm Hg"
    fast = respiratory_rate_per_min is not None and respiratory_rate_per_min > 20
    low = paco2_mm_hg is not None and paco2_mm_hg < 32
    met = "met" if fast or low else "not met"
    points.add(
        f"Respiratory rate over 20 ({rate}) or PaCO2 under 32 mm Hg ({gas}) {met}",
        int(fast or low),
    )
    _SIRS_WHITE_CELLS.count(white_cells_10e9_l, points)

    return points.score
