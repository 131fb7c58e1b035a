"""Sore throat: how likely streptococci are."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import Convention, Valid, calculator
from medical_tasks.calculators.patient import AGE, TEMPERATURE, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["COUGH_UNMENTIONED_IS_ZERO", "centor", "feverpain"]

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
