"""Cases of body size, circulation, the electrocardiogram, kidney function, drug doses and pregnancy dates.

The day of the last period is written as notes write dates, the entities as MM/DD/YYYY.
"""

from __future__ import annotations

import datetime
import math
from typing import Final

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Chart, draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import (
    BMI,
    CREATININE,
    HEART_RATE,
    HEIGHT,
    QT,
    WEIGHT,
    Draw,
    Reading,
)
from medical_tasks.calculators import AnyCalculator

__all__ = [
    "body_size",
    "clearance",
    "conception_date",
    "due_date",
    "filtration_rate",
    "gestational_age",
    "maintenance_fluids",
    "mean_arterial_pressure",
    "opioids",
    "qtc",
    "steroid_conversion",
    "steroid_words",
    "target_weight",
]


_SIZE_REASONS: Final = (
    "before a planned bowel operation, for a nutrition check//{He} has kept {his} usual diet.",
    "for dosing of a new medicine//The pharmacist asked for current measurements.",
    "for a health check required by the employer//A form is to be filled in.",
    "before a course of chemotherapy, for dose planning//The first cycle is planned for next week.",
    "for advice on weight and exercise//{He} walks for half an hour on most days.",
)
# Pairs of whole centimetres and kilograms at which the BMI is exactly 25 or 18.5.
_ON_BOUND: Final = ((160, 64), (180, 81), (200, 100), (200, 74))
_BMI_BELT: Final = 0.25


def draw_height(chart: Chart) -> Reading:
    """States a height that fits the patient's sex, and enters it."""
    low, high = (160, 194) if chart.person.sex == "male" else (148, 180)
    height = (chart.draw.between(low, high) + chart.draw.between(low, high)) / 2
    return chart.measure("height_cm", HEIGHT, height, height)


def draw_weight(chart: Chart, height_cm: float, low: float, high: float, *, clear_of: tuple[float, ...] = ()) -> None:
    """States a weight that gives a BMI from `low` to `high`, and enters it.

    Args:
        chart: the patient.
        height_cm: the height stated.
        low: smallest BMI.
        high: largest BMI.
        clear_of: BMIs to keep away from: rounding a height in feet must not decide the class.
    """
    squared = (height_cm / 100) ** 2
    index = chart.draw.between(low, high)
    for bound in clear_of:
        if abs(index - bound) < _BMI_BELT:
            index = bound + (_BMI_BELT + 0.1) * (1 if chart.draw.chance(0.5) else -1)
    chart.measure("weight_kg", WEIGHT, index * squared, index * squared)


def size_on_a_bound(chart: Chart) -> None:
    """States a height and a weight whose BMI is exactly a limit of the classes, and enters them."""
    height, weight = chart.draw.pick(_ON_BOUND)
    chart.concepts.add("body")
    chart.note_value("vitals", Reading([height, "cm"], f"{height} cm", "height", "Ht", height))
    chart.note_value("vitals", Reading([weight, "kg"], f"{weight} kg", "weight", "Wt", weight))
    chart.enter("height_cm", [height, "cm"])
    chart.enter("weight_kg", [weight, "kg"])


def body_size(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Body mass index, body surface area, ideal or adjusted weight."""
    chart = Chart(calculator, draw, draw_person(draw, 19, 84), setting="clinic", reason=_SIZE_REASONS)
    parameters = {item.parameter for item in calculator.inputs}
    if "sex" in parameters:
        chart.sex()
    height = draw_height(chart).base
    if "weight_kg" in parameters:
        # The adjusted weight is for those who weigh more than the ideal.
        draw_weight(chart, height, *((27, 46) if calculator.slug == "adjusted_body_weight" else (16.5, 42)))
    return chart


def target_weight(calculator: AnyCalculator, draw: Draw) -> Chart:
    """The weight at which a wanted BMI is reached."""
    reason = (
        "for advice on weight//{He} would like to know what to aim for.",
        "for a visit to the dietitian//{He} has kept a food diary for two weeks.",
        "for a review of the weight programme//{He} has joined a gym.",
    )
    chart = Chart(calculator, draw, draw_person(draw, 19, 76), setting="clinic", reason=reason)
    draw_height(chart)
    reading = BMI.read(draw, chart.system, 18.5, 25)
    chart.enter("bmi_kg_m2", reading.entity)
    sentence = draw.pick(
        (
            "A target body mass index of {bmi} was agreed on.",
            "The goal is a BMI of {bmi}.",
            "{He} wants to reach a BMI of {bmi}.",
        )
    )
    chart.say("plan", sentence.replace("{bmi}", reading.text))
    return chart


_FLUID_AGES: Final = (
    (2, 11, True, 4.5, 9.8),
    (9, 18, True, 8.5, 12),
    (2, 5, False, 11, 19.5),
    (5, 6, False, 17, 22),
    (7, 13, False, 21, 46),
    (19, 78, False, 48, 96),
)


_FASTING_INFANT: Final = (
    "before a hernia operation//{He} has had nothing by mouth since the early morning.",
    "with a chest infection, too breathless to feed//Feeds have been stopped for now.",
)
_FASTING_CHILD: Final = (
    "after an appendectomy//{He} is not yet allowed to eat or drink.",
    "for an MRI under sedation//{He} has been fasting since the morning.",
    "with a bowel that has stopped working after surgery//Food and drink are withheld.",
)
_FASTING_ADULT: Final = (
    "after an operation on the bowel//{He} is not yet allowed to eat or drink.",
    "before an operation that was put off until the evening//{He} has been fasting since midnight.",
)


def maintenance_fluids(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Fluids for a child, sometimes an adult, who must not eat."""
    low, high, months, light, heavy = draw.pick(_FLUID_AGES)
    person = draw_person(draw, low, high, months=months)
    reason = _FASTING_INFANT if person.months else _FASTING_CHILD if person.child else _FASTING_ADULT
    chart = Chart(
        calculator,
        draw,
        person,
        setting="child" if person.child else "ward",
        reason=reason,
        voice="parent" if person.child else "self",
        blocks="operation abdomen bowel bowelsounds lungs breathing appetite saturation",
    )
    chart.measure("weight_kg", WEIGHT, light, heavy, near=(10, 20))
    return chart


def mean_arterial_pressure(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A blood pressure."""
    reason = (
        "for a check of the blood pressure//Readings at the pharmacy have varied.",
        "after a fall on the stairs//{He} slipped on a wet step and bruised a knee.",
        "with dizziness on standing up//It lasts a few seconds and happens mostly in the mornings.",
        "before a dental operation//The dentist asked for a check beforehand.",
        "with a nosebleed that has stopped by now//It began after sneezing and stopped with pressure.",
    )
    chart = Chart(
        calculator,
        draw,
        draw_person(draw, 19, 90),
        setting="clinic" if draw.chance(0.5) else "emergency",
        reason=reason,
        blocks="operation hypertension",
    )
    chart.pressure(84, 196)
    return chart


def qtc(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A QT interval with its heart rate."""
    reason = (
        "for an ECG before a course of clarithromycin//{He} has no symptoms from the heart.",
        "for an ECG before starting haloperidol//The psychiatrist asked for it.",
        "for a routine ECG under methadone//The dose has not changed this year.",
        "with palpitations that have stopped by now//They came after a strong coffee and lasted a few minutes.",
        "for an ECG under citalopram//{He} has taken it for eight months.",
    )
    chart = Chart(calculator, draw, draw_person(draw, 19, 86), setting="clinic", reason=reason, blocks="ecg")
    rate = chart.measure("heart_rate_per_min", HEART_RATE, 44, 124)
    # An interval that fits the rate: between 375 and 505 ms once corrected by the square root.
    interval = draw.between(375, 505) * math.sqrt(60 / rate.base)
    chart.measure("qt_ms", QT, interval, interval)
    return chart


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


_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_FIRST_DAY: Final = datetime.date(2015, 1, 1)
_SPAN_DAYS: Final = 4000
_PERIOD: Final = (
    "Her last menstrual period began on {day}.",
    "The first day of the last menstrual period was {day}.",
    "She noted {day} as the first day of her last period.",
    "LMP {day}.",
)
_PREGNANCY_REASONS: Final = (
    "after a positive home pregnancy test",
    "for her first antenatal visit",
    "for advice early in pregnancy",
    "for a routine antenatal visit",
)
_LONGEST_PREGNANCY: Final = 286


def _written_date(draw: Draw, day: datetime.date) -> str:
    """A date as a note writes it; figures alone only where day and month cannot be mistaken for each other."""
    month = _MONTHS[day.month - 1]
    forms = [f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{day:%Y-%m-%d}"]
    if day.day > 12:
        forms.append(f"{day:%m/%d/%Y}")
    return draw.pick(forms)


def _pregnancy_chart(calculator: AnyCalculator, draw: Draw, reason: tuple[str, ...] = _PREGNANCY_REASONS) -> Chart:
    person = draw_person(draw, 19, 43, sex="female")
    return Chart(calculator, draw, person, setting="obstetric", reason=reason, blocks="cycle")


def _last_period(chart: Chart) -> datetime.date:
    day = _FIRST_DAY + datetime.timedelta(days=chart.draw.whole(0, _SPAN_DAYS))
    chart.enter("last_menstrual_date", f"{day:%m/%d/%Y}")
    chart.say("story", chart.draw.pick(_PERIOD).replace("{day}", _written_date(chart.draw, day)))
    return day


def due_date(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A due date; the length of the cycle is stated or left out."""
    chart = _pregnancy_chart(calculator, draw)
    _last_period(chart)
    if draw.chance(0.8):
        length = draw.pick((27, 28, 29)) if draw.chance(0.3) else draw.whole(22, 36)
        chart.enter("cycle_length_days", [length, "days"])
        sentence = draw.pick(
            ("Her cycles are regular, {n} days long.", "She has a regular {n}-day cycle.", "Cycle length {n} days.")
        )
        chart.say("story", sentence.replace("{n}", str(length)))
    return chart


def conception_date(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A date of conception."""
    chart = _pregnancy_chart(calculator, draw)
    _last_period(chart)
    if draw.chance(0.5):
        chart.say("story", draw.pick(("Her cycles are regular.", "Periods come regularly every four weeks.")))
    return chart


def gestational_age(calculator: AnyCalculator, draw: Draw) -> Chart:
    """A gestational age on the day of the visit."""
    chart = _pregnancy_chart(calculator, draw, _PREGNANCY_REASONS[1:])
    last = _last_period(chart)
    days = draw.whole(3, 40) * 7 + draw.pick((-1, 0, 1)) if draw.chance(0.35) else draw.whole(24, _LONGEST_PREGNANCY)
    today = last + datetime.timedelta(days=days)
    chart.enter("current_date", f"{today:%m/%d/%Y}")
    sentence = draw.pick(("Today is {day}.", "Date of this visit: {day}.", "She is seen on {day}."))
    chart.say("story", sentence.replace("{day}", _written_date(draw, today)))
    return chart
