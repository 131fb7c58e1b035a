"""Pulmonary embolism: how likely it is, and whether it is ruled out without a test."""

from __future__ import annotations

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.patient import AGE, HEART_RATE, SPO2, flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["perc", "wells_pe"]

_PREVIOUS_DVT = flag("previous_dvt", "Previously documented Deep Vein Thrombosis", "previous DVT")
_PREVIOUS_PE = flag("previous_pe", "Previously Documented Pulmonary Embolism", "previous PE")
_HEMOPTYSIS = flag("hemoptysis", "Hemoptysis", "haemoptysis")


@calculator(
    id=8,
    name="Wells' Criteria for Pulmonary Embolism",
    category="risk",
    output="decimal",
    inputs=(
        flag("dvt_signs", "Clinical signs and symptoms of Deep Vein Thrombosis", "signs of DVT"),
        flag("pe_most_likely", "Pulmonary Embolism is #1 diagnosis OR equally likely", "PE most likely"),
        HEART_RATE,
        flag("immobilization", "Immobilization for at least 3 days", "immobilization"),
        flag("surgery", "Surgery in the previous 4 weeks", "recent surgery"),
        _PREVIOUS_PE,
        _PREVIOUS_DVT,
        _HEMOPTYSIS,
        flag("malignancy", "Malignancy with treatment within 6 months or palliative", "cancer"),
    ),
    source="Wells PS et al. Thromb Haemost 2000;83:416-420.",
    aliases=("Wells PE",),
)
def wells_pe(
    *,
    dvt_signs: bool,
    pe_most_likely: bool,
    heart_rate_per_min: float,
    immobilization: bool,
    surgery: bool,
    previous_pe: bool,
    previous_dvt: bool,
    hemoptysis: bool,
    malignancy: bool,
    say: Say = quiet,
) -> float:
    """Wells' criteria for pulmonary embolism, 0 to 12.5.

    Signs of deep vein thrombosis 3; embolism at least as likely as any other diagnosis 3; heart rate over 100 1.5;
    immobilization for 3 days or surgery within 4 weeks 1.5 together; previous embolism or thrombosis 1.5 together;
    hemoptysis 1; malignancy treated within 6 months or palliative 1.

    Source: Wells et al., Thromb Haemost 2000;83:416-420.
    """
    points = Points(say)
    points.flag("Clinical signs of deep vein thrombosis", dvt_signs, 3)
    points.flag("Pulmonary embolism as first or equally likely diagnosis", pe_most_likely, 3)
    fast = heart_rate_per_min > 100
    points.add(f"Heart rate {heart_rate_per_min:.6g} is {'over 100' if fast else '100 or less'}", 1.5 if fast else 0)
    points.flag("Immobilization for 3 days or surgery in the previous 4 weeks", immobilization or surgery, 1.5)
    points.flag("Previous pulmonary embolism or deep vein thrombosis", previous_pe or previous_dvt, 1.5)
    points.flag("Hemoptysis", hemoptysis, 1)
    points.flag("Malignancy treated within 6 months or palliative", malignancy, 1)
    return float(points.total)


@calculator(
    id=48,
    name="PERC Rule for Pulmonary Embolism",
    category="diagnosis",
    output="integer",
    inputs=(
        AGE,
        HEART_RATE,
        SPO2,
        flag("leg_swelling", "Unilateral Leg Swelling", "leg swelling"),
        _HEMOPTYSIS,
        flag("surgery_or_trauma", "Recent surgery or trauma"),
        _PREVIOUS_PE,
        _PREVIOUS_DVT,
        flag("hormone_use", "Hormone use", "estrogen use"),
    ),
    source="Kline JA et al. J Thromb Haemost 2004;2:1247-1255.",
    aliases=("PERC",),
)
def perc(
    *,
    age_years: float,
    heart_rate_per_min: float,
    oxygen_saturation_percent: float,
    leg_swelling: bool,
    hemoptysis: bool,
    surgery_or_trauma: bool,
    previous_pe: bool,
    previous_dvt: bool,
    hormone_use: bool,
    say: Say = quiet,
) -> int:
    """Pulmonary embolism rule-out criteria that are met, 0 to 8; embolism is ruled out at 0 only.

    One each: age 50 or more; heart rate 100 or more; oxygen saturation under 95 %; unilateral leg swelling; hemoptysis;
    surgery or trauma within 4 weeks; previous embolism or thrombosis (together); hormone use.

    Source: Kline et al., J Thromb Haemost 2004;2:1247-1255.
    """
    points = Points(say)
    old, fast, low = age_years >= 50, heart_rate_per_min >= 100, oxygen_saturation_percent < 95
    points.add(f"Age {age_years:.6g} is {'50 or more' if old else 'under 50'}", int(old))
    points.add(f"Heart rate {heart_rate_per_min:.6g} is {'100 or more' if fast else 'under 100'}", int(fast))
    points.add(
        f"Oxygen saturation {oxygen_saturation_percent:.6g} % is {'under 95' if low else '95 or more'}", int(low)
    )
    points.flag("Unilateral leg swelling", leg_swelling)
    points.flag("Hemoptysis", hemoptysis)
    points.flag("Recent surgery or trauma", surgery_or_trauma)
    points.flag("Previous pulmonary embolism or deep vein thrombosis", previous_pe or previous_dvt)
    points.flag("Hormone use", hormone_use)
    return points.score
