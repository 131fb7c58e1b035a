"""Body size: body mass index, ideal, adjusted and target weight, body surface area."""

from __future__ import annotations

import math
from typing import Final

from medical_tasks.calculators.base import Valid, calculator
from medical_tasks.calculators.patient import BMI, HEIGHT, SEX, WEIGHT, Sex
from medical_tasks.calculators.trace import Say, quiet

__all__ = [
    "DEVINE_HEIGHT",
    "adjusted_body_weight",
    "body_mass_index",
    "body_surface_area",
    "ideal_body_weight",
    "target_weight",
]

DEVINE_HEIGHT: Final = Valid(parameter="height_cm", low=152.4, source="Devine 1974: for each inch over 5 feet")


@calculator(
    id=6,
    name="Body Mass Index (BMI)",
    category="physical",
    output="decimal",
    unit="kg/m^2",
    inputs=(WEIGHT, HEIGHT),
    source="Quetelet index; WHO Technical Report Series 894 (2000).",
    aliases=("BMI",),
)
def body_mass_index(*, weight_kg: float, height_cm: float, say: Say = quiet) -> float:
    """Body mass index in kg/m²: weight / height².

    Source: Quetelet index; WHO Technical Report Series 894 (2000).
    """
    index = weight_kg * 10_000 / (height_cm * height_cm)  # one division, so that a BMI of exactly 25 stays 25
    say(f"BMI = weight / height² = {weight_kg:.6g} kg / ({height_cm / 100:.6g} m)² = {index:.6g} kg/m^2.")
    return index


@calculator(
    id=10,
    name="Ideal Body Weight",
    category="physical",
    output="decimal",
    unit="kg",
    inputs=(SEX, HEIGHT),
    source="Devine BJ. Drug Intell Clin Pharm 1974;8:650-655.",
    aliases=("IBW",),
    valid=(DEVINE_HEIGHT,),
    unused=("weight",),
)
def ideal_body_weight(*, sex: Sex, height_cm: float, say: Say = quiet) -> float:
    """Ideal body weight in kg: 50 (men) or 45.5 (women) + 2.3 for each inch of height over 60.

    Below 60 inches the formula goes on downward; the paper gives no floor.

    Source: Devine, Drug Intell Clin Pharm 1974;8:650-655.
    """
    base = 50.0 if sex == "male" else 45.5
    inches = height_cm / 2.54
    weight = base + 2.3 * (inches - 60)
    say(f"Height = {height_cm:.6g} cm / 2.54 = {inches:.6g} in.")
    say(f"IBW ({sex}) = {base:g} + 2.3 × ({inches:.6g} − 60) = {weight:.6g} kg.")
    return weight


@calculator(
    id=62,
    name="Adjusted Body Weight",
    category="physical",
    output="decimal",
    unit="kg",
    inputs=(SEX, WEIGHT, HEIGHT),
    source="Bauer LA et al. Eur J Clin Pharmacol 1983;24:643-647; ideal weight by Devine (1974).",
    aliases=("ABW", "AdjBW"),
    valid=(DEVINE_HEIGHT,),
)
def adjusted_body_weight(*, sex: Sex, weight_kg: float, height_cm: float, say: Say = quiet) -> float:
    """Adjusted body weight in kg: IBW + 0.4 · (weight − IBW), with Devine's IBW.

    Source: Bauer et al., Eur J Clin Pharmacol 1983;24:643-647 (40 % of the excess weight).
    """
    ideal = ideal_body_weight(sex=sex, height_cm=height_cm, say=say)
    weight = ideal + 0.4 * (weight_kg - ideal)
    say(f"ABW = IBW + 0.4 × (weight − IBW) = {ideal:.6g} + 0.4 × ({weight_kg:.6g} − {ideal:.6g}) = {weight:.6g} kg.")
    return weight


@calculator(
    id=60,
    name="Body Surface Area Calculator",
    category="physical",
    output="decimal",
    unit="m^2",
    inputs=(WEIGHT, HEIGHT),
    source="Mosteller RD. N Engl J Med 1987;317:1098.",
    aliases=("BSA",),
)
def body_surface_area(*, weight_kg: float, height_cm: float, say: Say = quiet) -> float:
    """Body surface area in m²: √(height cm · weight kg / 3600).

    Source: Mosteller, N Engl J Med 1987;317:1098.
    """
    area = math.sqrt(weight_kg * height_cm / 3600)
    say(f"BSA = √(weight × height / 3600) = √({weight_kg:.6g} kg × {height_cm:.6g} cm / 3600) = {area:.6g} m^2.")
    return area


@calculator(
    id=61,
    name="Target weight",
    category="physical",
    output="decimal",
    unit="kg",
    inputs=(BMI, HEIGHT),
    source="Body mass index (WHO Technical Report Series 894, 2000) solved for weight.",
)
def target_weight(*, bmi_kg_m2: float, height_cm: float, say: Say = quiet) -> float:
    """Weight in kg at which a person of this height has the wanted BMI: BMI · height².

    Source: the definition of the body mass index, solved for weight.
    """
    metres = height_cm / 100
    weight = bmi_kg_m2 * metres * metres
    say(f"Weight = BMI × height² = {bmi_kg_m2:.6g} kg/m^2 × ({metres:.6g} m)² = {weight:.6g} kg.")
    return weight
