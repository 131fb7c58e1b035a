"""Cases of kidney function: creatinine clearance and filtration rate."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.cases_body import draw_height, draw_weight, size_on_a_bound
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import CREATININE
from medical_tasks.calculators import AnyCalculator

__all__ = ["clearance", "filtration_rate"]

_DOSE_VISIT: Final = (
    "for the dose of an anticoagulant//The pharmacy asked for the kidney function.",
    "with shingles, for the dose of valaciclovir//The blisters appeared two days ago.",
    "for the dose of metformin//It has been taken for four years.",
)
_DOSE_STAY: Final = (
    "with a urinary infection//The antibiotic chosen is cleared by the kidneys.",
    "with cellulitis of the forearm//Intravenous antibiotics are to be dosed.",
    "with an infected wound of the hand//Vancomycin is to be dosed.",
)
_RATE_REASONS: Final = (
    "for the yearly check of the kidney function//Last year it was done elsewhere.",
    "for a review of long-term lithium treatment//The drug has been taken for nine years.",
    "before a CT with contrast medium//The scan is to clarify a shadow in the neck.",
    "because of foamy urine//{He} noticed it two months ago.",
    "for a second opinion on a slowly rising creatinine//Earlier results were not sent along.",
)


def clearance(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Creatinine clearance, with the weight that the BMI class asks for."""
    clinic = draw.chance(0.4)
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 21, 93),
        setting="clinic" if clinic else "ward",
        reason=_DOSE_VISIT if clinic else _DOSE_STAY,
        blocks="urine sugar infection",
    )
    chart.sex()
    chart.age()
    if draw.chance(0.12):
        size_on_a_bound(chart)
    else:
        low, high = draw.pick(((16.2, 18.4), (18.6, 24.9), (18.6, 24.9), (25.1, 41), (25.1, 41)))
        draw_weight(chart, draw_height(chart).base, low, high, clear_of=(18.5, 25))
    chart.measure("creatinine_mg_dl", CREATININE, 0.55, 4.2)
    return chart


def filtration_rate(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Estimated filtration rate from creatinine, age and sex."""
    chart = Chart(calculator, draw, draw_person(draw, 19, 92), setting="clinic", reason=_RATE_REASONS, blocks="urine")
    chart.sex()
    chart.age()
    # The exponent of the 2021 equation changes at 0.7 (women) and 0.9 mg/dL (men); the curve has no jump there.
    chart.measure("creatinine_mg_dl", CREATININE, 0.5, 4.6, near=(0.7, 0.9))
    return chart
