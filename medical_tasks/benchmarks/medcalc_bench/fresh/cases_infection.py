"""Cases of infection: sore throat, pneumonia, systemic inflammation."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh import events, history, history_clots
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import Finding
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    BUN,
    GLUCOSE,
    HEART_RATE,
    HEMATOCRIT,
    PACO2,
    PAO2,
    PH,
    RESPIRATORY_RATE,
    SODIUM,
    TEMPERATURE,
    WHITE_CELLS,
)
from medical_tasks.calculators import AnyCalculator

__all__ = ["centor", "curb_65", "feverpain", "pneumonia_severity", "sirs"]

_THROAT: Final = (
    "with a sore throat//Swallowing hurts.",
    "with pain on swallowing//Solid food has become difficult.",
    "because of a sore throat//The voice is unchanged.",
)
_CHEST: Final = (
    "with pneumonia of the right lower lobe//The illness began five days ago.",
    "with community-acquired pneumonia seen on the chest X-ray//The illness began with chills three days ago.",
    "with a productive cough and a new infiltrate in the left lung//The sputum has been yellow since the weekend.",
)
_SEPTIC: Final = (
    "with fever and flank pain//It began two days ago.",
    "with a red, swollen forearm//A cat scratched it four days ago.",
    "with abdominal pain since last night//The pain moved to the lower right side.",
    "with shaking chills after a bladder catheter was changed//They began within hours.",
    "with malaise and a cough for three days//{He} has hardly eaten.",
)


def centor(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A sore throat; a cough that the note does not speak of counts as absent."""
    person = draw_person(draw, 3, 64, near=(15, 45)) if draw.chance(0.5) else draw_person(draw, 3, 17)
    chart = Chart(
        calculator,
        draw,
        person,
        setting="child" if person.child else "clinic",
        reason=_THROAT,
        voice="parent" if person.age < 14 else "self",
        blocks="throat cough infection appetite ears temperature white",
    )
    chart.age()
    chart.measure("temperature_c", TEMPERATURE, 36.6, 39.8, near=(38.0,))
    _without_cough(chart, "cough_absent", events.COUGH)
    chart.find("tender_nodes", events.NODES, present=0.5)
    chart.find("tonsillar_exudate", events.EXUDATE, present=0.5)
    return chart


def feverpain(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A sore throat by the other score."""
    person = draw_person(draw, 5, 62)
    chart = Chart(
        calculator,
        draw,
        person,
        setting="child" if person.child else "clinic",
        reason=_THROAT,
        voice="parent" if person.age < 14 else "self",
        blocks="throat cough onset temperature infection appetite ears white",
    )
    chart.find("fever", events.FEVER_24H, present=0.5)
    _without_cough(chart, "cough_and_coryza_absent", events.CORYZA)
    chart.find("onset_within_3_days", events.ONSET_3_DAYS, present=0.5)
    chart.find("purulent_tonsils", events.PURULENT, present=0.45)
    chart.find("severe_inflammation", events.SEVERE_INFLAMMATION, present=0.4)
    return chart


def _without_cough(chart: Chart, parameter: str, symptom: Finding) -> None:
    """The entity says that the symptom is absent; the note speaks of the symptom itself."""
    if chart.draw.chance(0.8):
        there = chart.draw.chance(0.45)
        chart.state(symptom, there=there)
        chart.enter(parameter, not there)


def curb_65(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Pneumonia in five items."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 28, 93, near=(65,)),
        setting="emergency",
        reason=_CHEST,
        blocks="film lungs cough saturation brain temperature infection",
        voice="self",
    )
    chart.age()
    if chart.find("confusion", events.CONFUSION, present=0.3):
        chart.voice = "none"
    # The publication prints urea over 7 mmol/L and BUN over 19 mg/dL, which are not quite the same.
    printed = {"mg/dL": (19.0,), "mmol/L": (7.0,)}
    chart.measure("urea", BUN, 8, 46, near=(19.0,), printed=printed)
    chart.measure("respiratory_rate_per_min", RESPIRATORY_RATE, 16, 38, near=(30,))
    chart.pressure(82, 158, near=(90,), near_diastolic=(60,))
    return chart


def pneumonia_severity(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Pneumonia in twenty items."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 40, 94),
        setting="emergency",
        reason=_CHEST,
        blocks="film lungs cough saturation infection brain urine albumin legs abdomen heart home bowel red",
    )
    chart.age()
    chart.sex()
    chart.find("nursing_home", history.NURSING_HOME, present=0.2, known=0.6)
    chart.find("neoplastic_disease", history_clots.NEOPLASM, present=0.15, known=0.6)
    chart.find("liver_disease", history.LIVER_DISEASE, present=0.12, known=0.5)
    chart.find("heart_failure", history.HEART_FAILURE, present=0.25, known=0.6)
    chart.find("cerebrovascular_disease", history.CEREBROVASCULAR, present=0.2, known=0.5)
    chart.find("renal_disease", history.RENAL_DISEASE, present=0.2, known=0.5)
    if chart.find("altered_mental_status", events.ALTERED_MIND, present=0.25):
        chart.voice = "none"
    chart.find("pleural_effusion", events.PLEURAL_EFFUSION, present=0.3)
    chart.measure("respiratory_rate_per_min", RESPIRATORY_RATE, 18, 38, near=(30,))
    chart.pressure(82, 158, near=(90,))
    chart.measure("temperature_c", TEMPERATURE, 36.4, 40.6, near=(35.0, 40.0))
    chart.measure("heart_rate_per_min", HEART_RATE, 76, 142, near=(125,))
    chart.measure("ph", PH, 7.24, 7.5, near=(7.35,))
    chart.measure("bun_mg_dl", BUN, 9, 62, near=(30,))
    chart.measure("sodium_mmol_l", SODIUM, 124, 146, near=(130,))
    chart.measure("glucose_mg_dl", GLUCOSE, 86, 330, near=(250,))
    chart.measure("hematocrit_percent", HEMATOCRIT, 25, 47, near=(30,))
    chart.measure("pao2_mm_hg", PAO2, 49, 92, near=(60,))
    return chart


def sirs(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Signs of systemic inflammation; rate or gas may not have been measured."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 90),
        setting="emergency",
        reason=_SEPTIC,
        blocks="saturation lungs film urine abdomen gas infection cough skin",
    )
    chart.measure("temperature_c", TEMPERATURE, 35.2, 40.2, near=(36.0, 38.0))
    chart.measure("heart_rate_per_min", HEART_RATE, 64, 136, near=(90,))
    chart.perhaps(0.85, "respiratory_rate_per_min", RESPIRATORY_RATE, 12, 32, near=(20,))
    chart.perhaps(0.4, "paco2_mm_hg", PACO2, 25, 46, near=(32,))
    chart.measure("white_cells_10e9_l", WHITE_CELLS, 2.4, 21, near=(4.0, 12.0))
    return chart
