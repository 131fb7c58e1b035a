"""Deep vein thrombosis: how likely it is."""

from __future__ import annotations

from medical_tasks.calculators.base import calculator
from medical_tasks.calculators.patient import flag
from medical_tasks.calculators.trace import Points, Say, quiet

__all__ = ["wells_dvt"]


@calculator(
    id=16,
    name="Wells' Criteria for DVT",
    category="risk",
    output="integer",
    inputs=(
        flag("active_cancer", "Active cancer", "cancer"),
        flag(
            "bedridden",
            "Bedridden recently >3 days or major surgery within 12 weeks",
            "Bedridden recently >3 days",
        ),
        flag("major_surgery", "Major surgery within 12 weeks"),
        flag("calf_swelling", "Calf swelling >3 centimeters compared to the other leg", "calf swelling"),
        flag("collateral_veins", "Collateral (nonvaricose) superficial veins present", "collateral veins"),
        flag("entire_leg_swollen", "Entire Leg Swollen"),
        flag("tenderness", "Localized tenderness along the deep venous system"),
        flag("pitting_edema", "Pitting edema, confined to symptomatic leg", "pitting edema"),
        flag(
            "paralysis_or_plaster",
            "Paralysis, paresis, or recent plaster immobilization of the lower extremity",
        ),
        flag("previous_dvt", "Previously documented Deep Vein Thrombosis", "previous DVT"),
        flag(
            "alternative_diagnosis",
            "Alternative diagnosis to Deep Vein Thrombosis as likely or more likely",
            "alternative diagnosis",
        ),
    ),
    source="Wells PS et al. N Engl J Med 2003;349:1227-1235.",
    aliases=("Wells DVT",),
)
def wells_dvt(
    *,
    active_cancer: bool,
    bedridden: bool,
    major_surgery: bool,
    calf_swelling: bool,
    collateral_veins: bool,
    entire_leg_swollen: bool,
    tenderness: bool,
    pitting_edema: bool,
    paralysis_or_plaster: bool,
    previous_dvt: bool,
    alternative_diagnosis: bool,
    say: Say = quiet,
) -> int:
    """Wells' criteria for deep vein thrombosis, -2 to 9.

    One each: active cancer; bedridden over 3 days or major surgery within 12 weeks (together); calf swelling over 3 cm;
    collateral superficial veins; entire leg swollen; tenderness along the deep veins; pitting edema of that leg;
    paralysis, paresis or plaster of the leg; previous thrombosis. Another diagnosis at least as likely -2.

    Source: Wells et al., N Engl J Med 2003;349:1227-1235.
    """
    points = Points(say)
    points.flag("Active cancer", active_cancer)
    points.flag("Bedridden over 3 days or major surgery within 12 weeks", bedridden or major_surgery)
    points.flag("Calf swelling over 3 cm", calf_swelling)
    points.flag("Collateral superficial veins", collateral_veins)
    points.flag("Swelling of the entire leg", entire_leg_swollen)
    points.flag("Tenderness along the deep veins", tenderness)
    points.flag("Pitting edema of the symptomatic leg", pitting_edema)
    points.flag("Paralysis, paresis or plaster of the leg", paralysis_or_plaster)
    points.flag("Previous deep vein thrombosis", previous_dvt)
    points.flag("Alternative diagnosis at least as likely", alternative_diagnosis, -2)
    return points.score
