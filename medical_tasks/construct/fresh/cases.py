"""Cases: how the patient of each calculator is drawn.

`cases.json` lists the steps of each case in order. A step that draws several dependent
values is a function in this module. All draws come from one stream, so that the order of
steps matters: moving a step changes everything drawn after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import medical_tasks.construct.fresh.cases_measures as cases_measures
from medical_tasks.calculators import AnyCalculator
from medical_tasks.construct.fresh.chart import Chart, draw_person
from medical_tasks.construct.fresh.findings import FINDINGS, GRADES
from medical_tasks.construct.fresh.quantities import Draw, read_json

__all__ = ["CASE_OF", "draw_chart"]

_DATA: Final = read_json("cases.json")
_TEXTS: Final = _DATA["texts"]
CASE_OF: Final[Mapping[int, str]] = {
    number: name
    for name, case in _DATA["cases"].items()
    for number in case["calculators"]
}
"""Calculator id to the name of its case, for all 55."""


def draw_chart(calculator: AnyCalculator, draw: Draw) -> Chart:
    """Draws the patient of a calculator, with all statements about the patient."""
    name = CASE_OF[calculator.id]
    case = _DATA["cases"][name]
    chart = (
        _OPENINGS[name](calculator, draw, case)
        if name in _OPENINGS
        else _opened(calculator, draw, case)
    )
    for method, *arguments in case["steps"]:
        options = (
            arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
        )
        step = (
            functools.partial(_STEPS[method], chart)
            if method in _STEPS
            else getattr(chart, method)
        )
        step(*arguments, **options)

    return chart


def _opened(calculator: AnyCalculator, draw: Draw, case: Mapping[str, Any]) -> Chart:
    """Draws the person, scene and reason of a case, before its steps add values.

    A case has one setting, two with a share, or scenes that fix setting and reason
    together, which its steps look up as `chart.scene`.
    """
    scene, name = "", CASE_OF[calculator.id]
    setting: Any = case.get("setting")
    reason: Any = case.get("reason")
    if "scenes" in case:
        share, *scenes = case["scenes"]
        scene, setting, reason = scenes[0] if draw.chance(share) else scenes[1]

    options = {key: case[key] for key in ("near", "sex", "months") if key in case}
    person = case.get("person") or draw_person(draw, *case["ages"], **options)
    if isinstance(setting, list):
        setting = setting[0] if draw.chance(setting[2]) else setting[1]

    reasons = _DATA["reasons"][reason] if isinstance(reason, str) else reason
    more = {key: case[key] for key in ("voice", "blocks") if key in case}
    chart = Chart(calculator, draw, person, setting=setting, reason=reasons, **more)
    chart.scene, chart.topic = (
        scene,
        reason if isinstance(reason, str) else case.get("topic", name),
    )

    return chart


def _open_operation(
    calculator: AnyCalculator, draw: Draw, case: Mapping[str, object]
) -> Chart:
    """Opens a case with a planned operation, of elevated risk or not.

    Intraperitoneal, intrathoracic and suprainguinal vascular operations have an elevated
    risk.
    """
    elevated, reason = draw.pick(_TEXTS["operations"])
    reasons = (
        f"for assessment {reason}//The anaesthetist asked for it.",
        f"for assessment {reason}",
    )
    chart = _opened(calculator, draw, {**case, "reason": reasons})
    chart.enter("elevated_risk_surgery", elevated)

    return chart


def _open_throat(
    calculator: AnyCalculator, draw: Draw, case: Mapping[str, Any]
) -> Chart:
    """Opens a case with a sore throat in a child or an adult."""
    if "near" in case:
        person = (
            draw_person(draw, 3, 64, near=case["near"])
            if draw.chance(0.5)
            else draw_person(draw, 3, 17)
        )
    else:
        person = draw_person(draw, *case["ages"])

    drawn = {"person": person, "setting": "child" if person.child else "clinic"}
    return _opened(
        calculator,
        draw,
        {"voice": "parent" if person.age < 14 else "self", **case, **drawn},
    )


def _open_insulin(
    calculator: AnyCalculator, draw: Draw, case: Mapping[str, object]
) -> Chart:
    """Opens a case with suspected insulin resistance."""
    reason = draw.pick(_DATA["reasons"]["insulin_resistance"])
    # Irregular periods are a reason only for women, and not in later years.
    person = (
        draw_person(draw, 19, 44, sex="female")
        if "periods" in reason
        else draw_person(draw, 19, 69)
    )
    return _opened(calculator, draw, {**case, "person": person, "reason": (reason,)})


_GERIATRIC_AGE: Final = 68


def _open_charlson(
    calculator: AnyCalculator, draw: Draw, case: Mapping[str, Any]
) -> Chart:
    """Opens a case with a review; some reasons are only for geriatric patients."""
    person = draw_person(draw, *case["ages"], near=case["near"])
    reasons = _DATA["reasons"]["reviews"]
    reasons = reasons if person.age >= _GERIATRIC_AGE else reasons[:-1]
    return _opened(calculator, draw, {**case, "person": person, "reason": reasons})


def _open_fluids(
    calculator: AnyCalculator, draw: Draw, case: Mapping[str, object]
) -> Chart:
    """Opens a case with fasting, in an infant, a child or an adult, with a weight."""
    low, high, months, light, heavy = draw.pick(_TEXTS["fluid_ages"])
    person = draw_person(draw, low, high, months=months)
    setting, voice, reason = (
        ("child", "parent", "child") if person.child else ("ward", "self", "adult")
    )
    drawn = {
        "person": person,
        "setting": setting,
        "reason": f"fasting_{'infant' if months else reason}",
    }
    chart = _opened(calculator, draw, {"voice": voice, **case, **drawn})
    chart.measure("weight_kg", "weight", light, heavy, near=(10, 20))

    return chart


_OPENINGS: Final[
    Mapping[str, Callable[[AnyCalculator, Draw, Mapping[str, Any]], Chart]]
] = {
    "revised_cardiac_risk": _open_operation,
    "centor": _open_throat,
    "feverpain": _open_throat,
    "insulin_resistance": _open_insulin,
    "charlson": _open_charlson,
    "maintenance_fluids": _open_fluids,
}


def drinks(chart: Chart) -> None:
    """Drinks a week, often close to the limit of 8."""
    draw = chart.draw
    count = draw.pick((7, 8, 9)) if draw.chance(0.35) else draw.whole(0, 21)
    chart.concepts.add("alcohol")
    chart.enter(
        "drinks_per_week", [count, "drinks/week"], what="drinks", text=str(count)
    )
    chart.say("social", draw.pick(_TEXTS["drinks"]).replace("{n}", str(count)))


def surgery_or_bed(chart: Chart) -> None:
    """Surgery or bed rest: with both, it would be unclear which of them a note means."""
    surgery = chart.find("surgery", "surgery_4w", present=0.25)
    chart.find(
        "immobilization",
        present=0.0 if surgery else 0.25,
        mentioned=0.0 if surgery else 0.7,
    )


def hormones(chart: Chart) -> None:
    """Hormone therapy, which only women below 52 can have."""
    woman = chart.person.sex == "female" and chart.person.age < 52
    chart.find(
        "hormone_use",
        "hormones",
        present=0.4 if woman else 0.0,
        mentioned=0.7 if woman else 0.3,
    )


def bed_and_leg(chart: Chart) -> None:
    """Surgery or bed rest, and the swelling of leg and calf.

    The dataset's name of the first item joins surgery and bed rest.
    """
    surgery = chart.find(
        "major_surgery", "major_surgery_12w", present=0.25, mentioned=0.7
    )
    bed = None if surgery else chart.find("bedridden", present=0.25, mentioned=0.7)
    if surgery or bed:
        chart.enter("bedridden", True)
    whole = chart.find("entire_leg_swollen", "whole_leg", present=0.2)
    chart.find("calf_swelling", present=0.35, forced=True if whole else None)


_BEDDING: Final = frozenset(
    {"recent_fracture", "recent_trauma", "recent_spinal_cord_injury"}
)


def caprini(chart: Chart) -> None:
    """Items of the Caprini score, most of which are left out; at most one is grave."""
    draw, surgical = chart.draw, chart.scene == "surgical"
    graves, recent, past = (
        _TEXTS[f"caprini_{name}"] for name in ("grave", "recent", "past")
    )
    chart.leave_open("plaster", *(name for _, name in (*graves, *recent, *past)))
    grave = draw.pick(graves) if draw.chance(0.25) else None
    surgery = (
        (draw.pick((1, 2, 3) if grave else (1, 2, 3, 4, 5)),) if surgical else (0,)
    )
    if surgical or draw.chance(0.5):
        chart.choose("surgery", "planned_surgery", *surgery)

    if grave:
        _grave_finding(chart, grave)
    else:
        _no_grave_finding(chart, graves)

    for parameter, finding in draw.some(recent, 3):
        chart.find(parameter, finding, present=0.2, mentioned=0.6)

    for parameter, finding in draw.some(past, 9):
        chart.find(parameter, finding, present=0.25, mentioned=0.7)


def _grave_finding(chart: Chart, grave: Sequence[str]) -> None:
    """States a grave item; some keep the patient in bed."""
    chart.find(*grave, forced=True)
    if grave[0] in _BEDDING:
        chart.choose("mobility", "mobility", 2)
    elif chart.draw.chance(0.8):
        chart.choose("mobility")


def _no_grave_finding(chart: Chart, graves: Sequence[Sequence[str]]) -> None:
    """Denies at most one grave item by name, since more would crowd the note."""
    draw = chart.draw
    if draw.chance(0.8):
        chart.choose("mobility")
    if draw.chance(0.4):
        chart.find(*draw.pick(graves), present=0.0, mentioned=1.0)
    if draw.chance(0.2):
        chart.find("recent_plaster_cast", "plaster", present=0.5, mentioned=1.0)


def without(chart: Chart, parameter: str, symptom: str) -> None:
    """Enters that a symptom is absent, which gives a point.

    The note always mentions the symptom.
    """
    is_there = chart.draw.chance(0.45)
    text = chart.state(FINDINGS[symptom], is_there=is_there)
    chart.enter(parameter, not is_there, what=symptom, text=text)


_NORMAL_GAP: Final = 12
_SMALLEST_DELTA: Final = 0.6


def gap(chart: Chart) -> None:
    """Electrolytes of an anion gap, and albumin if the calculator corrects for it.

    Chloride is computed from the drawn gap, so that gaps are uniformly distributed. The
    difference of three independent values would not be.
    """
    draw = chart.draw
    corrected = any(
        item.parameter == "albumin_g_dl" for item in chart.calculator.inputs
    )
    sodium, bicarbonate = draw.whole(128, 150), draw.whole(6, 22)
    distance = draw.whole(9, 30)
    albumin = draw.whole(18, 45) / 10
    # A delta gap close to 0 would have limits close to 0.
    while (
        abs(distance + (2.5 * (4 - albumin) if corrected else 0) - _NORMAL_GAP)
        < _SMALLEST_DELTA
    ):
        distance += 1

    chart.measure("sodium_mmol_l", "sodium", sodium, sodium)
    chart.measure(
        "chloride_mmol_l",
        "chloride",
        sodium - bicarbonate - distance,
        sodium - bicarbonate - distance,
    )
    chart.measure("bicarbonate_mmol_l", "bicarbonate", bicarbonate, bicarbonate)
    if corrected:
        chart.measure("albumin_g_dl", "albumin", albumin, albumin)


def lipids(chart: Chart) -> None:
    """Lipids that fit together: the total is the sum of its parts, by Friedewald's formula."""
    draw = chart.draw
    hdl, triglycerides, rest = (
        draw.between(29, 82),
        draw.between(58, 388),
        draw.between(58, 214),
    )
    total = rest + hdl + triglycerides / 5
    chart.measure("total_cholesterol_mg_dl", "cholesterol", total, total)
    chart.measure("hdl_mg_dl", "hdl", hdl, hdl)
    chart.measure("triglycerides_mg_dl", "triglycerides", triglycerides, triglycerides)


def child_pugh(chart: Chart) -> None:
    """The INR, the ascites and the encephalopathy of the Child-Pugh score."""
    draw = chart.draw
    # Published tables end the middle class at 2.2 or at 2.3, so that values in between
    # would be ambiguous.
    chart.measure(
        "inr", "inr", *((1.0, 2.18) if draw.chance(0.7) else (2.35, 3.1)), near=(1.7,)
    )
    if draw.chance(0.9):
        chart.choose("ascites")

    if draw.chance(0.9):
        # Patients with the highest grade do not come to a clinic.
        grades = (0, 1) if chart.scene == "visit" else ()
        if chart.choose("encephalopathy", "encephalopathy", *grades):
            chart.voice = "none"


def dialysis(chart: Chart) -> None:
    """Dialysis, and a creatinine that fits it."""
    dialyzed = chart.find("dialysis_twice", present=0.15, mentioned=0.5)
    if not dialyzed:
        dialyzed = chart.find(
            "continuous_hemodialysis", "cvvhd", present=0.1, mentioned=0.4
        )
    chart.measure(
        "creatinine_mg_dl", "creatinine", *((2.4, 6.8) if dialyzed else (0.6, 4.6))
    )


def transaminases(chart: Chart) -> None:
    """An AST, and an ALT in proportion to it."""
    ast = chart.draw.between(21, 168)
    chart.measure("ast_u_l", "ast", ast, ast)
    chart.measure("alt_u_l", "alt", ast * 0.6, ast * 1.7)


def bleeding_hemoglobin(chart: Chart) -> None:
    """A hemoglobin, often close to a limit of bleeding scores, which depend on sex."""
    near = (10, 12, 13) if chart.person.sex == "male" else (10, 12)
    chart.measure("hemoglobin_g_dl", "hemoglobin", 7.2, 14.6, near=near)


def burden(chart: Chart) -> None:
    """The conditions of the Charlson index; some items are left out of each note."""
    draw, entries = chart.draw, _TEXTS["charlson"]
    chart.leave_open(*(name for _, name in entries))
    for parameter, finding in draw.some(entries, 11):
        young = finding == "dementia" and chart.person.age < _GERIATRIC_AGE
        chart.find(
            parameter,
            finding,
            present=0.0 if young else 0.22,
            mentioned=0.7,
            clouds=finding == "dementia",
        )

    names = {
        "liver_disease": "charlson_liver",
        "diabetes": "charlson_diabetes",
        "solid_tumor": "solid_tumor",
    }
    for parameter, name in names.items():
        if draw.chance(0.7):
            chart.choose(parameter, name, *((0,) if draw.chance(0.5) else (1, 2)))


def coma(chart: Chart) -> None:
    """The three responses of the Glasgow Coma Scale, all of a similar depth."""
    depth = chart.draw.between(0, 1)
    for parameter in ("eye_response", "verbal_response", "motor_response"):
        share = min(max(depth + chart.draw.between(-0.3, 0.3), 0), 1)
        chart.choose(parameter, parameter, round((len(GRADES[parameter]) - 1) * share))


def ranged(
    chart: Chart,
    parameter: str,
    amount: str,
    *ranges: Sequence[float],
    near: Sequence[float],
) -> None:
    """A value in the first, normal range more often than in one of the abnormal ranges."""
    low, high = ranges[0] if chart.draw.chance(0.6) else chart.draw.pick(ranges[1:])
    chart.measure(parameter, amount, low, high, near=near)


def oxygen(chart: Chart) -> None:
    """The inspired oxygen, and what APACHE II counts with it.

    From 50 % this is the gradient, below it PaO2.
    """
    much = chart.draw.chance(0.5)
    if much:
        reading = chart.measure(
            "fio2_percent",
            "fio2",
            50,
            100,
            near=(50,) if chart.draw.chance(0.3) else (),
        )
    else:
        reading = chart.measure("fio2_percent", "fio2", 21, 45)

    if much and reading.base >= 49.5:  # one drawn beside 50 % may come out below it
        chart.measure(
            "aa_gradient_mm_hg", "aa_gradient", 120, 540, near=(200, 350, 500)
        )
    else:
        chart.measure("pao2_mm_hg", "pao2", 50, 104, near=(55, 60, 70))


def renal_failure(chart: Chart) -> None:
    """A creatinine, and an acute or chronic renal failure that fits it."""
    failing = chart.draw.chance(0.3)
    low, high = (1.6, 5.2) if failing else (0.6, 1.9)
    chart.measure(
        "creatinine_mg_dl",
        "coarse_creatinine",
        low,
        high,
        near=(2.0, 3.5) if failing else (1.5,),
    )
    chart.find("acute_renal_failure", forced=failing, mentioned=0.7)
    if not failing:
        chart.find("chronic_renal_failure", present=0.12, mentioned=0.5)


def admission(chart: Chart) -> None:
    """The kind of admission; surgical patients had an operation."""
    if chart.scene == "surgical":
        chart.choose("surgery", "admission", 1, 2)
    elif chart.draw.chance(0.6):
        chart.choose("surgery", "admission", 0)


def ventilation(chart: Chart) -> None:
    """Mechanical ventilation or, without it, CPAP."""
    if not chart.find(
        "mechanical_ventilation", "ventilation", present=0.5, mentioned=0.7
    ):
        chart.find("cpap", present=0.3, mentioned=0.5)


def circulation(chart: Chart) -> None:
    """Vasopressors, a measured pressure, or the word hypotension.

    These decide the points for circulation.
    """
    draw = chart.draw
    if draw.chance(0.45):
        drugs = _TEXTS["vasopressors"]
        parameter, drug, rates = draw.pick((*drugs, drugs[0]))
        rate = draw.pick(rates)
        chart.enter(parameter, [rate, "mcg/kg/min"])
        unit = draw.pick(("mcg/kg/min", "µg/kg/min"))
        chart.say("care", f"{drug.capitalize()} runs at {rate:g} {unit}.")
        chart.pressure(92, 124, mentioned=0.5)
    elif draw.chance(0.75):
        chart.pressure(84, 136, near_mean=(70,))
    else:
        chart.find("hypotension", present=0.5, mentioned=1.0)


_FUNCTIONS: Final[tuple[Callable[..., object], ...]] = (
    drinks,
    surgery_or_bed,
    hormones,
    bed_and_leg,
    caprini,
    without,
    gap,
    lipids,
    child_pugh,
    dialysis,
    transaminases,
    bleeding_hemoglobin,
    burden,
    coma,
    ranged,
    oxygen,
    renal_failure,
    admission,
    ventilation,
    circulation,
    *cases_measures.STEPS,
)
_STEPS: Final = {function.__name__: function for function in _FUNCTIONS}
