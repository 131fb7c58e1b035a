"""Infections: severity of pneumonia acquired outside hospital, and how likely streptococci are in a sore throat."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import Convention, Valid, calculator
from medical_tasks.calculators.errors import CalculatorInputError
from medical_tasks.calculators.inputs import Flag, Input
from medical_tasks.calculators.labs import BUN_MG_DL, GLUCOSE_MG_DL, HEMATOCRIT, SODIUM_MMOL_L
from medical_tasks.calculators.measures import Measure
from medical_tasks.calculators.patient import (
    AGE,
    DIASTOLIC,
    HEART_RATE,
    PAO2,
    PH,
    RESPIRATORY_RATE,
    SEX,
    SYSTOLIC,
    TEMPERATURE,
    Sex,
    flag,
)
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = [
    "COUGH_UNMENTIONED_IS_ZERO",
    "centor",
    "curb_65",
    "feverpain",
    "pneumonia_severity_index",
]

# The dataset of v1.0 gives this finding under the name of a severity, whose classes mean liver disease too.
_LIVER_DISEASE: Final = Flag(
    parameter="liver_disease",
    name="Liver disease history",
    aliases=("Liver disease severity", "liver disease"),
    yes=frozenset({"mild", "moderate", "severe", "moderatetosevere"}),
)
_PSI_RESPIRATION: Final = Bands("Respiratory rate", "", under=0, steps=((">=", 30, 20),))
_PSI_SYSTOLIC: Final = Bands("Systolic blood pressure", "mm Hg", under=20, steps=((">=", 90, 0),))
_PSI_TEMPERATURE: Final = Bands("Temperature", "°C", under=15, steps=((">=", 35, 0), (">=", 40, 15)))
_PSI_PULSE: Final = Bands("Pulse", "", under=0, steps=((">=", 125, 10),))
_PSI_PH: Final = Bands("pH", "", under=30, steps=((">=", 7.35, 0),))
_PSI_BUN: Final = Bands("BUN", "mg/dL", under=0, steps=((">=", 30, 20),))
_PSI_SODIUM: Final = Bands("Sodium", "mmol/L", under=20, steps=((">=", 130, 0),))
_PSI_GLUCOSE: Final = Bands("Glucose", "mg/dL", under=0, steps=((">=", 250, 10),))
_PSI_HEMATOCRIT: Final = Bands("Hematocrit", "%", under=10, steps=((">=", 30, 0),))
_PSI_OXYGEN: Final = Bands("PaO2", "mm Hg", under=10, steps=((">=", 60, 0),))


@calculator(
    id=29,
    name="PSI Score: Pneumonia Severity Index for CAP",
    category="severity",
    output="integer",
    inputs=(
        AGE,
        SEX,
        flag("nursing_home", "Nursing home resident", "nursing home"),
        flag("neoplastic_disease", "Neoplastic disease"),
        _LIVER_DISEASE,
        flag("heart_failure", "Congestive Heart Failure", "CHF"),
        flag("cerebrovascular_disease", "Cerebrovascular disease history", "cerebrovascular disease"),
        flag("renal_disease", "Renal disease history", "Renal disease"),
        flag("altered_mental_status", "Altered mental status"),
        RESPIRATORY_RATE,
        SYSTOLIC,
        TEMPERATURE,
        HEART_RATE,
        PH,
        BUN_MG_DL,
        SODIUM_MMOL_L,
        GLUCOSE_MG_DL,
        HEMATOCRIT,
        PAO2,
        flag("pleural_effusion", "Pleural effusion on x-ray", "pleural effusion"),
    ),
    source="Fine MJ et al. N Engl J Med 1997;336:243-250.",
    aliases=("PSI", "PSI Score", "PORT score"),
    valid=(Valid(parameter="age_years", low=18, source="Fine 1997: adults"),),
)
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

    Age in completed years; female -10; nursing home 10. Neoplastic disease 30, liver disease 20, heart failure,
    cerebrovascular and renal disease 10 each. Altered mental status 20; respiratory rate 30 or more 20; systolic
    pressure under 90 mm Hg 20; temperature under 35 or 40 °C and more 15; pulse 125 or more 10. Arterial pH under 7.35
    30; BUN 30 mg/dL or more 20; sodium under 130 mmol/L 20; glucose 250 mg/dL or more 10; hematocrit under 30 % 10; PaO2
    under 60 mm Hg 10; pleural effusion 10.

    Source: Fine et al., N Engl J Med 1997;336:243-250.
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
    """Urea as `(BUN mg/dL, None)` or `(None, urea mmol/L)`: the published limits, 19 and 7, are not quite the same."""

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


def _split_urea(values: dict[str, Any]) -> dict[str, Any]:
    values["bun_mg_dl"], values["urea_mmol_l"] = values.pop("urea")
    return values


_CURB_BUN: Final = Bands("BUN", "mg/dL", under=0, steps=((">", 19, 1),))
_CURB_UREA: Final = Bands("Urea", "mmol/L", under=0, steps=((">", 7, 1),))
_CURB_RESPIRATION: Final = Bands("Respiratory rate", "", under=0, steps=((">=", 30, 1),))
_CURB_AGE: Final = Bands("Age", "", under=0, steps=((">=", 65, 1),))


@calculator(
    id=45,
    name="CURB-65 Score for Pneumonia Severity",
    category="risk",
    output="integer",
    inputs=(
        flag("confusion", "Confusion"),
        _Urea(
            parameter="urea",
            name=BUN_MG_DL.name,
            aliases=BUN_MG_DL.aliases,
            mass=BUN_MG_DL.measure,
            molar=Measure(unit="mmol/L", low=0.03, high=220, substance=BUN_MG_DL.measure.substance),
        ),
        RESPIRATORY_RATE,
        SYSTOLIC,
        DIASTOLIC,
        AGE,
    ),
    source="Lim WS et al. Thorax 2003;58:377-382.",
    aliases=("CURB-65",),
    valid=(Valid(parameter="age_years", low=18, source="Lim 2003: adults"),),
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

    One each: confusion; urea over 7 mmol/L, or BUN over 19 mg/dL as it is printed for that unit (give one of the two);
    respiratory rate 30 or more; systolic pressure under 90 or diastolic 60 mm Hg and less; age 65 or more.

    Raises:
        CalculatorInputError: neither or both of `bun_mg_dl` and `urea_mmol_l` are given.

    Source: Lim et al., Thorax 2003;58:377-382.
    """
    points = Points(say)
    points.flag("Confusion", confusion)
    if urea_mmol_l is not None and bun_mg_dl is None:
        _CURB_UREA.count(urea_mmol_l, points)
    elif bun_mg_dl is not None and urea_mmol_l is None:
        _CURB_BUN.count(bun_mg_dl, points)
    else:
        raise CalculatorInputError(
            f"urea: one of bun_mg_dl and urea_mmol_l is needed; got {bun_mg_dl} and {urea_mmol_l}. Give one"
        )
    _CURB_RESPIRATION.count(respiratory_rate_per_min, points)
    low = systolic_mm_hg < 90 or diastolic_mm_hg <= 60
    level = "low" if low else "not low"
    points.add(
        f"Blood pressure {systolic_mm_hg:.6g}/{diastolic_mm_hg:.6g} mm Hg is {level} (under 90 or /60 and less)",
        int(low),
    )
    _CURB_AGE.count(age_years, points)
    return points.score


# Both scores give a point for a cough that is absent. What a note does not mention is absent: so is the cough.
_COUGH_ABSENT: Final = flag("cough_absent", "Cough Absent", "absence of cough").optional(
    True, "true: a cough that is not mentioned is absent"
)
_COUGH_AND_CORYZA_ABSENT: Final = flag("cough_and_coryza_absent", "Absence of cough or coryza").optional(
    True, "true: cough and coryza that are not mentioned are absent"
)
COUGH_UNMENTIONED_IS_ZERO: Final = Convention(
    name="cough-unmentioned-is-zero",
    description="an absence of cough (or coryza) that is not mentioned gives no point.",
    absent=MappingProxyType({"cough_absent": False, "cough_and_coryza_absent": False}),
)
"""How the labels of dataset v1.0 treat a missing `Cough Absent` or `Absence of cough or coryza`."""

_CENTOR_AGE: Final = Bands("Age", "", under=0, steps=((">=", 3, 1), (">=", 15, 0), (">=", 45, -1)))
_CENTOR_TEMPERATURE: Final = Bands("Temperature", "°C", under=0, steps=((">", 38, 1),))


@calculator(
    id=20,
    name="Centor Score (Modified/McIsaac) for Strep Pharyngitis",
    category="severity",
    output="integer",
    inputs=(
        AGE,
        TEMPERATURE,
        _COUGH_ABSENT,
        flag("tender_nodes", "Tender/swollen anterior cervical lymph nodes", "tender nodes"),
        flag("tonsillar_exudate", "Exudate or swelling on tonsils", "tonsillar exudate"),
    ),
    source="McIsaac WJ et al. CMAJ 1998;158:75-83.",
    aliases=("McIsaac", "Centor Score"),
    valid=(Valid(parameter="age_years", low=3, source="McIsaac 1998: patients of 3 and over"),),
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

    Age 3 to 14 1, 15 to 44 0, 45 or more -1 (under 3, where the score is not validated, 0). One each: temperature over
    38 °C; no cough; tender or swollen anterior cervical nodes; exudate or swelling of the tonsils.

    Source: McIsaac et al., CMAJ 1998;158:75-83.
    """
    points = Points(say)
    _CENTOR_AGE.count(age_years, points)
    _CENTOR_TEMPERATURE.count(temperature_c, points)
    points.add("No cough" if cough_absent else "Cough", int(cough_absent))
    points.flag("Tender or swollen anterior cervical nodes", tender_nodes)
    points.flag("Exudate or swelling of the tonsils", tonsillar_exudate)
    return points.score


@calculator(
    id=33,
    name="FeverPAIN Score for Strep Pharyngitis",
    category="diagnosis",
    output="integer",
    inputs=(
        flag("fever", "Fever in past 24 hours", "fever"),
        _COUGH_AND_CORYZA_ABSENT,
        flag("onset_within_3_days", "Symptom onset ≤3 days"),
        flag("purulent_tonsils", "Purulent tonsils"),
        flag("severe_inflammation", "Severe tonsil inflammation"),
    ),
    source="Little P et al. BMJ 2013;347:f5806.",
    aliases=("FeverPAIN",),
    unused=(
        "Altered mental status for PECARN head injury criteria",
        "Occipital, parietal or temporal scalp hematoma; history of level of conciousness (LOC) ≥5 sec; not acting normally "
        "per parent or severe mechanism of injury?",
    ),
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

    One each: fever in the past 24 hours; no cough or coryza; attended within 3 days of onset; purulent tonsils;
    severely inflamed tonsils.

    Source: Little et al., BMJ 2013;347:f5806.
    """
    points = Points(say)
    points.flag("Fever in the past 24 hours", fever)
    points.add("No cough or coryza" if cough_and_coryza_absent else "Cough or coryza", int(cough_and_coryza_absent))
    points.flag("Symptom onset within 3 days", onset_within_3_days)
    points.flag("Purulent tonsils", purulent_tonsils)
    points.flag("Severe inflammation of the tonsils", severe_inflammation)
    return points.score
