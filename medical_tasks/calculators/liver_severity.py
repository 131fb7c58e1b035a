"""Severity of liver disease by classes."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from medical_tasks.calculators.bands import Bands
from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.inputs import Choice
from medical_tasks.calculators.labs import ALBUMIN_G_DL, BILIRUBIN_MG_DL, INR
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["Ascites", "Encephalopathy", "child_pugh"]

Ascites: TypeAlias = Literal["absent", "slight", "moderate"]
Encephalopathy: TypeAlias = Literal["none", "grade 1-2", "grade 3-4"]

_ASCITES: Final[Choice] = Choice(
    parameter="ascites",
    name="Ascites",
    words=MappingProxyType(
        {
            "absent": "absent",
            "none": "absent",
            "no": "absent",
            "no ascites": "absent",
            "slight": "slight",
            "mild": "slight",
            "moderate": "moderate",
            "moderate to severe": "moderate",
            "severe": "moderate",
        }
    ),
).optional("absent")
_ENCEPHALOPATHY: Final[Choice] = Choice(
    parameter="encephalopathy",
    name="Encephalopathy",
    words=MappingProxyType(
        {
            "No Encephalopathy": "none",
            "none": "none",
            "no": "none",
            "absent": "none",
            "Grade 0": "none",
            "Grade 1-2": "grade 1-2",
            "Grade 1": "grade 1-2",
            "Grade 2": "grade 1-2",
            "Grade 3-4": "grade 3-4",
            "Grade 3": "grade 3-4",
            "Grade 4": "grade 3-4",
        }
    ),
).optional("none", "no encephalopathy")

_BILIRUBIN: Final = Bands("Bilirubin", "mg/dL", under=1, steps=((">=", 2, 2), (">", 3, 3)))
_ALBUMIN: Final = Bands("Albumin", "g/dL", under=3, steps=((">=", 2.8, 2), (">", 3.5, 1)))
_INR: Final = Bands("INR", "", under=1, steps=((">=", 1.7, 2), (">", 2.3, 3)))
_ASCITES_POINTS: Final = MappingProxyType({"absent": 1, "slight": 2, "moderate": 3})
_ENCEPHALOPATHY_POINTS: Final = MappingProxyType({"none": 1, "grade 1-2": 2, "grade 3-4": 3})


@calculator(
    id=15,
    name="Child-Pugh Score for Cirrhosis Mortality",
    category="severity",
    output="integer",
    inputs=(BILIRUBIN_MG_DL, ALBUMIN_G_DL, INR, _ASCITES, _ENCEPHALOPATHY),
    source="Pugh RNH et al. Br J Surg 1973;60:646-649.",
    aliases=("Child-Pugh", "CTP"),
)
def child_pugh(
    *,
    bilirubin_mg_dl: float,
    albumin_g_dl: float,
    inr: float,
    ascites: Ascites,
    encephalopathy: Encephalopathy,
    say: Say = quiet,
) -> int:
    """Child-Pugh score, 5 to 15.

    Bilirubin under 2 mg/dL 1, 2 to 3 2, over 3 3. Albumin over 3.5 g/dL 1, 2.8 to 3.5 2, under 2.8 3. INR under 1.7 1,
    1.7 to 2.3 2, over 2.3 3. Ascites absent 1, slight 2, moderate or more 3. Encephalopathy none 1, grade 1 or 2 2,
    grade 3 or 4 3.

    Source: Pugh et al., Br J Surg 1973;60:646-649, with the INR classes in use for the prothrombin time.
    """
    points = Points(say)
    _BILIRUBIN.count(bilirubin_mg_dl, points)
    _ALBUMIN.count(albumin_g_dl, points)
    _INR.count(inr, points)
    points.add(f"Ascites {ascites}", _ASCITES_POINTS[ascites])
    points.add(f"Encephalopathy {encephalopathy}", _ENCEPHALOPATHY_POINTS[encephalopathy])
    return points.score
