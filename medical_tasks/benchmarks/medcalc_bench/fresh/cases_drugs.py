"""Cases of dose conversion: glucocorticoids and opioids."""

from __future__ import annotations

from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart
from medical_tasks.benchmarks.medcalc_bench.fresh.draw import Draw
from medical_tasks.benchmarks.medcalc_bench.fresh.person import draw_person
from medical_tasks.calculators import AnyCalculator

__all__ = ["opioids", "steroid_conversion", "steroid_words"]

# The dataset's names with what a note calls the drug, its route, and doses in use (mg). Triamcinolone, intravenous in the
# dataset, is left out: no patient gets it so.
_STEROIDS: Final = {
    "Betamethasone IV": ("betamethasone", "intravenously", (4, 6, 12)),
    "Cortisone PO": ("cortisone", "by mouth", (25, 37.5, 50)),
    "Dexamethasone IV": ("dexamethasone", "intravenously", (4, 6, 8, 16)),
    "Dexamethasone PO": ("dexamethasone", "by mouth", (0.75, 1.5, 4, 6, 8)),
    "Hydrocortisone IV": ("hydrocortisone", "intravenously", (50, 100, 150, 200)),
    "Hydrocortisone PO": ("hydrocortisone", "by mouth", (15, 20, 25, 30)),
    "MethylPrednisoLONE IV": ("methylprednisolone", "intravenously", (40, 60, 80, 125)),
    "MethylPrednisoLONE PO": ("methylprednisolone", "by mouth", (4, 8, 16, 32)),
    "PrednisoLONE PO": ("prednisolone", "by mouth", (5, 7.5, 10, 20, 40)),
    "PredniSONE PO": ("prednisone", "by mouth", (5, 7.5, 12.5, 20, 40, 60)),
}
_STEROID_REASONS: Final = (
    "with polymyalgia, stable under treatment//Shoulder pain has gone.",
    "with a flare of rheumatoid arthritis//The hands have been swollen for a month.",
    "with severe asthma that is improving//{He} sleeps through the night again.",
    "with sarcoidosis under long-term treatment//The last scan was stable.",
    "with a relapse of ulcerative colitis that has settled//Stools are formed again.",
)
_OPIOID_REASONS: Final = (
    "for a review of {his} pain treatment//Pain is four out of ten on most days.",
    "with chronic back pain after two spine operations//The pain keeps {him} from sitting for long.",
    "with pain from bone metastases//The pain is worst at night.",
    "with nerve pain after shingles//The pain burns and is worse on touch.",
    "before a change of {his} pain treatment//The present one makes {him} sleepy.",
)
_TIMES: Final = {1: "once a day", 2: "twice a day", 3: "three times a day", 4: "four times a day"}
# The dataset's name with what a note calls the drug, single doses in use, their unit, and how often it is taken.
_OPIOIDS: Final = {
    "Codeine": ("codeine", (15, 30, 60), "mg", (2, 3, 4)),
    "FentaNYL buccal": ("buccal fentanyl", (100, 200, 400), "µg", (1, 2, 3)),
    "FentANYL patch": ("a fentanyl patch", (12, 25, 50, 75), "µg/h", ()),
    "HYDROcodone": ("hydrocodone", (5, 7.5, 10), "mg", (2, 3, 4)),
    "HYDROmorphone": ("hydromorphone", (2, 4, 8), "mg", (1, 2, 3)),
    "Methadone": ("methadone", (2.5, 5, 10), "mg", (1, 2, 3)),
    "Morphine": ("morphine", (10, 15, 30), "mg", (1, 2, 3)),
    "OxyCODONE": ("oxycodone", (5, 10, 20), "mg", (1, 2, 3, 4)),
    "OxyMORphone": ("oxymorphone", (5, 10), "mg", (1, 2, 3)),
    "Tapentadol": ("tapentadol", (50, 75, 100), "mg", (1, 2, 3)),
    "TraMADol": ("tramadol", (50, 100), "mg", (1, 2, 3, 4)),
}
_OTHER_PAIN_DRUGS: Final = (
    "Gabapentin 300 mg is taken three times a day.",
    "{He} also takes paracetamol 1 g four times a day.",
    "Amitriptyline 10 mg is taken at night.",
    "Naloxone spray has been prescribed for emergencies.",
)


def steroid_words(name: str) -> str:
    """What a note calls a steroid of the dataset: `PredniSONE PO` is "oral prednisone"."""
    drug, route, _ = _STEROIDS[name]
    return f"{'oral' if route == 'by mouth' else 'intravenous'} {drug}"


def steroid_conversion(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A change from one glucocorticoid to another."""
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 22, 84),
        setting="clinic" if draw.chance(0.5) else "ward",
        reason=_STEROID_REASONS,
        blocks="joints lungs bowel sugar",
    )
    source, target = draw.some(tuple(_STEROIDS), 2)
    drug, route, doses = _STEROIDS[source]
    dose = draw.pick(doses)
    chart.enter("source", [source, dose, "mg"])
    chart.enter("target_steroid", target)
    sentence = draw.pick(
        (
            "{He} receives {drug} {dose} mg {route} once a day.",
            "The current treatment is {drug}, {dose} mg {route} once daily.",
            "{He} is on a single daily dose of {dose} mg of {drug} {route}.",
        )
    )
    chart.say("medication", sentence.replace("{drug}", drug).replace("{dose}", f"{dose:g}").replace("{route}", route))
    change = draw.pick(
        (
            "The {drug} is to be replaced by {to}.",
            "A change to {to} is planned.",
            "The pharmacy suggests {to} instead of {drug}.",
        )
    )
    chart.say("plan", change.replace("{drug}", drug).replace("{to}", steroid_words(target)))
    return chart


def opioids(calculator: AnyCalculator, draw: Draw) -> Chart:
    """One to three opioids, each with dose and times a day; a patch with its rate."""
    chart = Chart(
        calculator, draw, draw_person(draw, 24, 84), setting="clinic", reason=_OPIOID_REASONS, blocks="pain operation"
    )
    for name in draw.some(tuple(_OPIOIDS), draw.pick((1, 2, 2, 3))):
        drug, doses, unit, times = _OPIOIDS[name]
        dose = draw.pick(doses)
        parameter = name.lower().replace(" ", "_")
        chart.enter(parameter, [dose, unit])
        if not times:
            chart.say("medication", f"{{He}} wears {drug} that delivers {dose} µg/h, changed every three days.")
            continue
        per_day = draw.pick(times)
        chart.enter(f"{parameter}_per_day", [per_day, "per day"])
        sentence = draw.pick(
            ("{He} takes {drug} {dose} {unit} {times}.", "For the pain {he} uses {drug}, {dose} {unit} {times}.")
        )
        text = sentence.replace("{drug}", drug).replace("{dose}", f"{dose:g}").replace("{unit}", unit)
        chart.say("medication", text.replace("{times}", _TIMES[per_day]))
    if draw.chance(0.6):
        chart.say("medication", draw.pick(_OTHER_PAIN_DRUGS))
    return chart
