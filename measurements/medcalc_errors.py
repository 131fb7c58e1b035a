"""How often `errors` finds the type of a planted error: the table of measurements/README.md.

    python -m measurements.medcalc_errors [--seed 2024] [--rows 275]        prints the tables
    python -m measurements.medcalc_errors --write                         and puts them into the document
    python -m measurements.medcalc_errors --show A table                  prints replies that did not get their type
    python -m measurements.medcalc_errors --real CLONE --csv test_data.csv   agreement with labels of real replies

Replies are written about `fresh` rows: the working of the calculator, with one error
planted, in six layouts and varied words. The words follow the dataset's own
explanations and worked examples and clinicians' short forms; the reader's patterns are
not used. Reader and generator have one author all the same.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measurements.medcalc_real_errors import report, sortings
from medical_tasks.benchmarks.medcalc_bench.gold import entities_of
from medical_tasks.calculators import CalculatorInputError, Result, find
from medical_tasks.calculators.inputs import Choice
from medical_tasks.construct.fresh import fresh_rows
from medical_tasks.scoring.numbers.expression import formula_value

DOCUMENT = Path(__file__).resolve().parents[1] / "measurements" / "README.md"
BEGIN, END = "<!-- planted: begin -->", "<!-- planted: end -->"
LAYOUTS = ("numbered", "paragraph", "table", "bullets", "json", "narrative")
TRUTHS = ("A", "B", "C", "none")
STEP = re.compile(r"(?P<label>.*): (?P<points>[+-][\d.]+), total [-\d.]+\.")
MEASURED = re.compile(
    r"(?P<name>[A-Z][\w/ ().-]*?) (?P<value>-?\d[\d.]*)(?P<unit> mm Hg| [^\d\s]\S*| 10\^9/L)? is (?P<klass>.*)"
)

# How clinicians and models write the findings; the dataset's own names are used beside
# them.
SAID: Mapping[str, tuple[str, ...]] = {
    "Congestive heart failure": (
        "CHF",
        "a history of heart failure",
        "congestive cardiac failure",
    ),
    "Hypertension": (
        "high blood pressure (HTN)",
        "a history of hypertension",
        "arterial hypertension",
    ),
    "Diabetes": ("diabetes mellitus", "type 2 diabetes", "DM"),
    "Stroke": ("a prior stroke", "history of stroke"),
    "Stroke, transient ischemic attack or thromboembolism": (
        "stroke/TIA/thromboembolism",
        "prior stroke or TIA",
    ),
    "Vascular disease": (
        "vascular disease (prior MI, PAD or aortic plaque)",
        "peripheral arterial disease",
    ),
    "Clinical signs of deep vein thrombosis": (
        "clinical signs and symptoms of DVT",
        "signs of a DVT",
    ),
    "Pulmonary embolism as first or equally likely diagnosis": (
        "PE is the #1 diagnosis or equally likely",
        "PE as the most likely diagnosis",
    ),
    "Immobilization for 3 days or surgery in the previous 4 weeks": (
        "immobilization or surgery in the past month",
        "recent surgery or immobilisation",
    ),
    "Previous pulmonary embolism or deep vein thrombosis": (
        "a previous PE or DVT",
        "prior VTE (DVT/PE)",
    ),
    "Hemoptysis": ("haemoptysis", "coughing up blood"),
    "Malignancy treated within 6 months or palliative": (
        "active malignancy",
        "cancer under treatment",
    ),
    "Active cancer": ("active malignancy", "ongoing cancer treatment"),
    "Bedridden over 3 days or major surgery within 12 weeks": (
        "bedridden >3 days or major surgery within 12 weeks",
        "recent bed rest or major surgery",
    ),
    "Calf swelling over 3 cm": (
        "calf swelling >3 cm compared with the other leg",
        "a calf circumference difference",
    ),
    "Collateral superficial veins": (
        "collateral (nonvaricose) superficial veins",
        "superficial collateral veins",
    ),
    "Swelling of the entire leg": ("entire leg swelling", "whole-leg swelling"),
    "Tenderness along the deep veins": (
        "localized tenderness along the deep venous system",
        "deep venous tenderness",
    ),
    "Pitting edema of the symptomatic leg": (
        "pitting oedema",
        "pitting edema confined to the symptomatic leg",
    ),
    "Paralysis, paresis or plaster of the leg": (
        "paralysis, paresis or recent plaster cast",
        "leg paresis or cast",
    ),
    "Previous deep vein thrombosis": ("previously documented DVT", "a prior DVT"),
    "Alternative diagnosis at least as likely": (
        "an alternative diagnosis as likely or more likely than DVT",
    ),
    "Elevated-risk surgery": ("high-risk surgery", "high-risk type of surgery"),
    "Ischemic heart disease": (
        "history of ischaemic heart disease",
        "IHD",
        "coronary artery disease",
    ),
    "Cerebrovascular disease": (
        "history of stroke or TIA",
        "cerebrovascular disease (stroke/TIA)",
    ),
    "Treatment with insulin": ("preoperative insulin", "insulin-treated diabetes"),
    "Tender or swollen anterior cervical nodes": (
        "tender anterior cervical adenopathy",
        "swollen anterior cervical lymph nodes",
    ),
    "Exudate or swelling of the tonsils": (
        "tonsillar exudate",
        "tonsillar swelling or exudates",
    ),
    "Renal disease": ("abnormal renal function", "kidney disease"),
    "Liver disease": ("abnormal liver function", "hepatic disease"),
    "Major bleeding or predisposition": (
        "prior major bleeding",
        "bleeding history or predisposition",
    ),
    "Labile INR": ("labile INRs", "an unstable INR"),
    "Medication predisposing to bleeding": (
        "antiplatelet or NSAID use",
        "drugs predisposing to bleeding",
    ),
    "Melena": ("melaena", "black tarry stools (melena)"),
    "Recent syncope": ("syncope", "a syncopal episode"),
    "Hepatic disease": ("liver disease", "a history of hepatic disease"),
    "Cardiac failure": ("heart failure", "CHF"),
    "Severe organ failure or immunocompromise": (
        "chronic organ insufficiency or immunosuppression",
    ),
    "Nursing home": ("nursing home resident", "nursing home residency"),
    "Neoplastic disease": ("neoplasm", "active neoplastic disease"),
    "Altered mental status": ("altered mentation", "acute confusion"),
    "Pleural effusion": ("pleural effusion on x-ray", "an effusion on chest film"),
    "Myocardial infarction": ("prior MI", "previous heart attack"),
    "Peripheral vascular disease": ("PVD", "peripheral arterial disease"),
    "Cerebrovascular accident or transient ischemic attack": (
        "CVA or TIA",
        "stroke/TIA",
    ),
    "Chronic pulmonary disease": ("COPD", "chronic lung disease"),
    "Connective tissue disease": (
        "rheumatologic disease",
        "a connective tissue disorder",
    ),
    "Peptic ulcer disease": ("PUD", "peptic ulcers"),
    "Hemiplegia": ("hemiparesis/hemiplegia", "hemiplegia or paraplegia"),
    "Moderate to severe chronic kidney disease": (
        "moderate to severe CKD",
        "renal disease (moderate-severe)",
    ),
    "AIDS": ("AIDS/HIV", "HIV/AIDS"),
    "Fever in the past 24 hours": ("fever in the last day", "fever within 24 h"),
    "Symptom onset within 3 days": (
        "attended rapidly (≤3 days)",
        "symptoms for 3 days or less",
    ),
    "Purulent tonsils": ("pus on the tonsils", "tonsillar purulence"),
    "Severe inflammation of the tonsils": (
        "severely inflamed tonsils",
        "severe tonsillar inflammation",
    ),
    "Confusion": ("new-onset confusion", "mental confusion"),
    "Unilateral leg swelling": ("swelling of one leg", "one-sided leg swelling"),
    "Recent surgery or trauma": (
        "surgery or trauma in the past 4 weeks",
        "a recent operation or injury",
    ),
    "Hormone use": ("exogenous estrogen", "oral contraceptive or hormone therapy"),
    "Age": ("patient's age", "Age (years)"),
    "Heart rate": ("pulse", "HR"),
    "Pulse": ("heart rate", "HR"),
    "Respiratory rate": ("RR", "breathing rate"),
    "Systolic blood pressure": ("SBP", "systolic BP"),
    "BUN": ("blood urea nitrogen", "urea nitrogen (BUN)"),
    "White blood cells": ("WBC count", "leukocytes"),
    "Oxygen saturation": ("SpO2", "SaO2 on room air"),
    "Glasgow coma score": ("GCS", "Glasgow Coma Scale"),
    "Platelets": ("platelet count", "Plt"),
    "Hematocrit": ("Hct", "haematocrit"),
    "Hemoglobin (male)": ("Hb", "hemoglobin"),
    "Hemoglobin (female)": ("Hb", "hemoglobin"),
    "Temperature": ("body temperature", "Temp"),
    "MAP": ("mean arterial pressure", "mean arterial pressure (MAP)"),
    "Alcohol": ("alcohol use", "drinks per week"),
    "BMI": ("body mass index", "BMI (kg/m²)"),
    "Varicose veins": ("visible varicose veins", "varicosities"),
    "Swollen legs": ("current leg swelling", "swollen legs now"),
    "Central venous access": ("a central venous line", "central line"),
    "History of deep vein thrombosis or pulmonary embolism": (
        "a personal history of DVT/PE",
        "prior VTE (DVT/PE)",
    ),
    "Family history of thrombosis": (
        "a family history of blood clots",
        "family history of VTE",
    ),
    "Inflammatory bowel disease": ("IBD", "a history of IBD"),
    "Chronic obstructive pulmonary disease": (
        "COPD",
        "chronic obstructive lung disease",
    ),
    "Malignancy": ("present or previous cancer", "history of malignancy"),
}
FOREIGN = (
    "Obesity",
    "Smoking",
    "Hyperlipidemia",
    "Sleep apnea",
    "Anemia",
    "Gout",
    "Vitamin D deficiency",
)
YES = (
    "present",
    "yes",
    "documented in the note",
    "positive",
    "Yes, reported",
    "confirmed",
)
NO = (
    "absent",
    "no",
    "not mentioned",
    "none",
    "not reported in the note",
    "No evidence in the note",
)
HAS = (
    "The patient has {n}",
    "{N} is documented in the note",
    "The note describes {n}",
    "From the patient's note, the issue '{n}' is present",
    "There is {n}",
    "{N} applies here",
)
LACKS = (
    "There is no mention of {n}",
    "{N} is not reported, so it is assumed absent",
    "The patient does not have {n}",
    "From the patient's note, the issue '{n}' is absent",
    "The note says nothing about {n}",
    "Without {n}",
)
IS = (
    "{N} is {v}",
    "The patient's {n} is {v}",
    "{N}: {v}",
    "{N} of {v} was recorded",
    "The note gives a {n} of {v}",
)
WORDS = ("zero", "one", "two", "three", "four", "five", "six")


@dataclass(frozen=True)
class Criterion:
    """One criterion as a reply words it: `finding` in a few words, `sentence` as a full sentence."""

    name: str
    finding: str
    sentence: str
    points: float
    notable: bool


@dataclass(frozen=True)
class Reply:
    """A reply about a row with the type of the error planted in it."""

    row: Mapping[str, Any]
    truth: str
    layout: str
    text: str


def labels_of(result: Result) -> list[tuple[str, float]]:
    """Lists the criteria of a score in the calculator's own words, with their points."""
    matches = (STEP.fullmatch(line) for line in result.explanation.split("\n"))
    return [(match["label"], float(match["points"])) for match in matches if match]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


CHOICES = (
    "Sex",
    "Ascites",
    "Encephalopathy",
    "Electrocardiogram",
    "Troponin",
    "Surgery type",
    "Mobility",
    "Liver disease",
    "Solid tumor",
    "Diabetes",
)
"""Labels of criteria that have a class, by what stands before it."""


def _finding_criterion(label: str, points: float, dice: random.Random) -> Criterion:
    """Words a finding that is present or absent."""
    yes = label.endswith(" present")
    head = label.removesuffix(" present" if yes else " absent")
    name = dice.choice((head, *SAID.get(head, ())))
    sentence = dice.choice(HAS if yes else LACKS).format(
        n=_lower(name), N=_capital(_lower(name))
    )
    return Criterion(
        name, dice.choice(YES if yes else NO), sentence, points, points != 0 or yes
    )


def _measured_criterion(
    measured: re.Match[str], points: float, dice: random.Random
) -> Criterion:
    """Words a criterion with a number."""
    head = measured["name"]
    name = dice.choice((head, *SAID.get(head, ())))
    number = f"{float(measured['value']):.4g}"
    value = f"{number}{measured['unit'] or ''}"
    if head == "Age":
        value = dice.choice((number, f"{number} years", f"{number} y"))
    klass = measured["klass"].split(",")[0]
    finding = dice.choice((value, f"{value} ({klass})", f"{value}, i.e. {klass}"))
    sentence = dice.choice(IS).format(n=_lower(name), N=_capital(name), v=value)
    if head == "Age" and dice.random() < 0.5:
        sentence = f"The patient is {number} years old"
    if dice.random() < 0.5:
        sentence += dice.choice(
            (f", which is {klass}", f" ({klass})", f" and falls in the class {klass}")
        )
    return Criterion(name, finding, sentence, points, points != 0)


def write_criterion(label: str, points: float, dice: random.Random) -> Criterion:
    """Words one criterion of a score."""
    if label.endswith((" present", " absent")):
        return _finding_criterion(label, points, dice)
    measured = MEASURED.fullmatch(label)
    if measured:
        return _measured_criterion(measured, points, dice)
    head, _, rest = label.partition(" ")
    for prefix in CHOICES:
        if label.startswith(prefix + " "):
            head, rest = prefix, label.removeprefix(prefix + " ")
    if label.startswith("Best "):
        response, value = re.fullmatch(
            r"Best (\w+) response (\d) of \d", label
        ).groups()  # type: ignore[union-attr]
        name = f"{_capital(response)} response"
        return Criterion(
            name,
            f"{response[0].upper()}{value}",
            f"Best {response} response scores {response[0].upper()}{value}",
            points,
            True,
        )
    if label.startswith("History with"):
        head, rest = "History", label.removeprefix("History with ")
    if label.startswith("Risk factors: "):
        head, rest = "Risk factors", label.removeprefix("Risk factors: ").split(",")[0]
    if label.startswith(("Cough", "No cough")):
        none = label.startswith("No")
        name = dice.choice(
            ("Cough", "Absence of cough")
            if "coryza" not in label
            else ("Cough or coryza", "Absence of cough or coryza")
        )
        yes = none == name.startswith("Absence")
        sentence = (
            "There is no " if none else "The patient has a "
        ) + name.removeprefix("Absence of ").lower()
        return Criterion(
            name,
            dice.choice(("yes", "present")) if yes else dice.choice(("no", "absent")),
            sentence,
            points,
            True,
        )
    if head == "Sex":
        sentence = dice.choice(
            (
                f"The patient is {rest}",
                f"The patient's sex is {rest}",
                f"Gender: {rest}",
            )
        )
        return Criterion(
            dice.choice(("Sex", "Gender", "Sex category")),
            rest,
            sentence,
            points,
            points != 0,
        )
    if label.startswith("Respiratory rate over 20"):
        rate = re.search(r"over 20 \(([^)]*)\) or .*\(([^)]*)\)", label)
        values = f"RR {rate[1]}, PaCO2 {rate[2]}"  # type: ignore[index]
        return Criterion(
            "Respiratory rate or PaCO2",
            values,
            f"For the respiratory criterion: {values}",
            points,
            points != 0,
        )
    if label.startswith("Blood pressure"):
        value = label.split(" ")[2]
        return Criterion(
            "Blood pressure",
            f"{value} mmHg",
            f"The blood pressure is {value} mmHg",
            points,
            points != 0,
        )
    if label.startswith("Glasgow coma score:"):
        value = label.rpartition(" ")[2]
        return Criterion(
            "Glasgow coma score",
            f"GCS {value}",
            f"With a GCS of {value} the coma item is 15 - GCS",
            points,
            True,
        )
    if label.startswith("Circulation: "):
        _, _, why = label.partition("mcg/kg/min, ")
        return Criterion(
            "Cardiovascular",
            why,
            f"For the cardiovascular system: {why}",
            points,
            points != 0,
        )
    if label.startswith("Kidney"):
        return Criterion(
            "Renal",
            label.partition("worse of ")[2],
            "Renal: " + label.partition("worse of ")[2],
            points,
            True,
        )
    if head in ("Liver", "Solid"):
        raise ValueError(label)
    return Criterion(head, rest or "noted", f"{head}: {rest}", points, points != 0)


def _lower(name: str) -> str:
    first = name.split(" ")[0].split("/")[0]
    return (
        name if first[1:2].isupper() or first.isupper() else name[:1].lower() + name[1:]
    )


def _p(points: float, dice: random.Random, *, worded: bool = False) -> str:
    number = f"{points:g}"
    if worded and points in (0, 1, 2, 3) and dice.random() < 0.5:
        number = dice.choice(("no", "zero")) if points == 0 else WORDS[int(points)]
    return f"{number} {'point' if abs(points) == 1 else 'points'}"


AWARDS = (
    ", so we add {p} to the score",
    ", which is worth {p}",
    ", scoring {p}",
    "; this contributes {p}",
    " and therefore gets {p}",
    " ({p})",
    ", giving {p}",
)


def numbered(items: Sequence[Criterion], dice: random.Random) -> str:
    style = dice.randrange(4)
    lines = []
    for n, criterion in enumerate(items, 1):
        p = _p(criterion.points, dice, worded=True)
        if style == 0:
            lines.append(f"{n}. {_capital(criterion.name)}: {criterion.finding} - {p}")
        elif style == 1:
            lines.append(f"{n}) {criterion.sentence}{dice.choice(AWARDS).format(p=p)}.")
        elif style == 2:
            lines.append(
                f"{n}. **{_capital(criterion.name)}**: {criterion.sentence} → {criterion.points:+g}"
            )
        else:
            lines += [
                f"{n}. **{_capital(criterion.name)}**",
                f"   - Finding: {criterion.finding}",
                f"   - Points: {criterion.points:g}",
            ]
    return "\n".join(lines)


def bullets(items: Sequence[Criterion], dice: random.Random) -> str:
    style, sign = dice.randrange(4), dice.choice("-*•")
    lines = []
    for criterion in items:
        p = _p(criterion.points, dice)
        lines.append(
            (
                f"{sign} {_capital(criterion.name)} ({criterion.finding}): {p}",
                f"{sign} {criterion.points:+g} for {_lower(criterion.name)} ({criterion.finding})",
                f"{sign} {criterion.sentence}. [{p}]",
                f"{sign} {_capital(criterion.name)} = {criterion.points:g} ({criterion.finding})",
            )[style]
        )
    return "\n".join(lines)


def paragraph(items: Sequence[Criterion], dice: random.Random) -> str:
    style = dice.randrange(3)
    if style == 0:
        return " ".join(
            criterion.sentence
            + dice.choice(AWARDS).format(p=_p(criterion.points, dice, worded=True))
            + "."
            for criterion in items
        )
    if style == 1:  # grouped: "The patient scores 1 point for ..., 2 points for ..."
        counted = [
            criterion for criterion in items if criterion.points or criterion.notable
        ] or list(items)
        rest = [criterion for criterion in items if criterion not in counted]
        text = "The patient scores " + ", ".join(
            f"{_p(criterion.points, dice)} for {_lower(criterion.name)} ({criterion.finding})"
            for criterion in counted
        )
        return (
            text
            + "."
            + (
                " No points for "
                + ", ".join(_lower(criterion.name) for criterion in rest)
                + "."
                if rest
                else ""
            )
        )
    parts = [
        f"{_lower(criterion.name)} ({criterion.finding}, {_p(criterion.points, dice)})"
        for criterion in items
    ]
    return "Going through the criteria in turn: " + ", ".join(parts) + "."


def table(items: Sequence[Criterion], dice: random.Random) -> str:
    heads, make = dice.choice(
        (
            (
                ("Criterion", "Patient", "Points"),
                lambda n, e: (_capital(e.name), e.finding, f"{e.points:g}"),
            ),
            (
                ("#", "Item", "Finding in the note", "Score"),
                lambda n, e: (str(n), e.name, e.finding, f"{e.points:+g}"),
            ),
            (
                ("Parameter", "Points assigned", "Reason"),
                lambda n, e: (f"**{e.name}**", f"{e.points:g}", e.sentence),
            ),
            (
                ("Variable", "Value", "Pts"),
                lambda n, e: (e.name, e.finding, _p(e.points, dice)),
            ),
        )
    )
    rows = [
        heads,
        tuple("---" for _ in heads),
        *(make(n, criterion) for n, criterion in enumerate(items, 1)),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def narrative(items: Sequence[Criterion], dice: random.Random, slip: float = 0) -> str:
    """Writes running totals, one of which may be wrong by `slip`."""
    total, parts = 0.0, ["The current score is 0."]
    counted = [
        index for index, criterion in enumerate(items) if criterion.points > 0
    ] or [-1]
    at = dice.choice(counted)
    for index, criterion in enumerate(items):
        before, total = total, total + criterion.points + slip * (index == at)
        points = criterion.points
        if points > 0:
            amount = WORDS[int(points)] if points in (1, 2, 3) else f"{points:g}"
            tail = dice.choice(
                (
                    f"so we increase the score by {amount}, "
                    f"making the current total {before:g} + {points:g} = {total:g}",
                    f"and so we add {_p(points, dice, worded=True)}, bringing the running total to {total:g}",
                )
            )
        elif points < 0:
            tail = (
                f"so we subtract {abs(points):g} points, "
                f"making the total {before:g} - {abs(points):g} = {total:g}"
            )
        else:
            tail = dice.choice(
                (
                    f"so the score remains unchanged, keeping the total at {total:g}",
                    f"so 0 points are added, keeping the current total at {total:g}",
                    "so a point should not be given",
                )
            )
        parts.append(
            f"{criterion.sentence}. Because of this, {tail}."
            if dice.random() < 0.5
            else f"{criterion.sentence}, {tail}."
        )
    return "\n".join(parts)


WRITE = {
    "numbered": numbered,
    "bullets": bullets,
    "paragraph": paragraph,
    "table": table,
}


def _sum(items: Sequence[Criterion], total: float, dice: random.Random) -> str:
    counted = [criterion.points for criterion in items if criterion.points]
    shown = " + ".join(
        f"({points:g})" if points < 0 else f"{points:g}" for points in counted
    )
    return dice.choice(
        (
            f"Total: {shown} = {total:g}" if len(counted) > 1 else f"Total: {total:g}",
            f"Total score = {total:g}",
            f"Adding these up gives a score of {total:g}.",
            f"Sum of points: {shown} = {total:g}"
            if len(counted) > 1
            else f"Sum of points: {total:g}",
        )
    )


def written(
    items: Sequence[Criterion],
    layout: str,
    total: float,
    answer: float,
    dice: random.Random,
) -> str:
    """Writes a whole reply."""
    if layout == "json":
        style = dice.randrange(3)
        if style == 0:
            steps: Any = [
                {
                    "criterion": criterion.name,
                    "finding": criterion.finding,
                    "points": _whole(criterion.points),
                }
                for criterion in items
            ]
            return json.dumps(
                {"steps": steps, "total": _whole(total), "answer": f"{answer:g}"}
            )
        if style == 1:
            steps = [
                criterion.sentence
                + dice.choice(AWARDS).format(p=_p(criterion.points, dice))
                for criterion in items
            ]
            return json.dumps(
                {
                    "step_by_step_thinking": [*steps, _sum(items, total, dice)],
                    "answer": f"{answer:g}",
                }
            )
        steps = {
            criterion.name: {
                "evidence": criterion.finding,
                "score": _whole(criterion.points),
            }
            for criterion in items
        }
        return json.dumps(
            {
                "calculation": steps,
                "total_score": _whole(total),
                "answer": _whole(answer),
            },
            indent=1,
        )
    slip = total - sum(criterion.points for criterion in items)
    working = (
        narrative(items, dice, slip)
        if layout == "narrative"
        else WRITE[layout](items, dice)
    )
    if layout != "narrative":
        working += ("\n" if layout != "paragraph" else " ") + _sum(items, total, dice)
    if dice.random() < 0.5:
        return json.dumps({"step_by_step_thinking": working, "answer": f"{answer:g}"})
    return f"{working}\n\nFinal answer: {answer:g}"


def _whole(number: float) -> float | int:
    return int(number) if number == int(number) else number


def score_reply(
    row: Mapping[str, Any], truth: str, layout: str, dice: random.Random
) -> str | None:
    """Writes a reply about a row of a score; None if this error cannot be planted."""
    calculator = find(int(row["calculator_id"]))
    result = calculator.calculate(entities_of(row))
    labels = labels_of(result)
    gold = float(result.answer)  # type: ignore[arg-type]
    if truth == "B":
        labels = _other_note(calculator, entities_of(row), gold, dice) or []
        if not labels:
            return None
    items = [write_criterion(label, points, dice) for label, points in labels]
    if truth == "A":
        items = _other_rule(items, labels, dice)
    total = sum(criterion.points for criterion in items)
    if (
        dice.random() < 0.15 and len(items) > 9
    ):  # long scores: only what counts, and what was looked at
        items = [criterion for criterion in items if criterion.notable] or items
    answer = total
    if truth == "C" and (
        layout != "narrative" or any(criterion.points > 0 for criterion in items)
    ):
        answer = total = total + dice.choice((-2, -1, 1, 2))
    if truth == "none":
        kind = dice.randrange(3)
        if kind == 0:  # a slip after a right working
            answer = total + dice.choice((-1, 1, 2))
        elif kind == 1:  # no working
            return dice.choice(
                ("The score is {}.", "Answer: {}", '{{"answer": "{}"}}')
            ).format(f"{gold + dice.choice((-1, 1, 3)):g}")
        else:  # cut off
            return (
                written(items, layout, total, answer, dice)[: 40 + dice.randrange(60)]
                + " ..."
            )
    return None if answer == gold else written(items, layout, total, answer, dice)


def _other_rule(
    items: list[Criterion], labels: Sequence[tuple[str, float]], dice: random.Random
) -> list[Criterion]:
    kind = dice.randrange(4)
    counted = [index for index, criterion in enumerate(items) if criterion.points]
    if (
        kind == 0 and len(items) > 3 and counted
    ):  # a criterion that the reply leaves out
        index = dice.choice(counted)
        return [criterion for at, criterion in enumerate(items) if at != index]
    if kind == 1:  # one that the rule does not have
        name = dice.choice(FOREIGN)
        return [
            *items,
            Criterion(
                name, "present", f"The patient has {name.lower()}", 1, notable=True
            ),
        ]
    able = [
        index
        for index, (label, points) in enumerate(labels)
        if points or not label.endswith(" absent")
    ]
    if not able:
        return items
    index = dice.choice(able)
    points = items[index].points
    choices = (
        [points + 1, points + 2, points - 1]
        if points > 0
        else [points - 1, points + 1, points + 2]
    )
    if abs(points) >= 10:
        choices = [points / 2, points * 2, points + 10]
    changed = replace(items[index], points=dice.choice(choices), notable=True)
    return [*items[:index], changed, *items[index + 1 :]]


def _other_note(
    calculator: Any, entities: Mapping[str, Any], gold: float, dice: random.Random
) -> list[tuple[str, float]] | None:
    keys = sorted(entities)
    dice.shuffle(keys)
    for key in keys:
        value, item = entities[key], calculator.input_named(key)
        changes: list[Any] = []
        if isinstance(value, bool):
            changes = [not value]
        elif isinstance(item, Choice):
            changes = [word for word in item.words if word not in ("True", "False")]
        elif isinstance(value, list) and isinstance(value[0], int | float):
            changes = [
                [round(value[0] * factor, 2), *value[1:]]
                for factor in (0.6, 0.8, 1.25, 1.6)
            ]
        elif isinstance(value, int | float):
            changes = [value - 3, value + 2]
        dice.shuffle(changes)
        for change in changes:
            try:
                other = calculator.calculate({**entities, key: change})
            except CalculatorInputError:
                continue
            if float(other.answer) != gold:
                return labels_of(other)
    return None


# --- equations ---------------------------------------------------------------------------------------------------------

_GAP = ("Anion gap", "{sodium_mmol_l} - ({chloride_mmol_l} + {bicarbonate_mmol_l})")
_CORRECTED = ("Corrected anion gap", "{1} + 2.5 * (4 - {albumin_g_dl})")
_RR = ("RR interval", "60 / {heart_rate_per_min}")
EQUATIONS: Mapping[int, tuple[tuple[str, str], ...]] = {
    5: (("MAP", "({systolic_mm_hg} + 2 * {diastolic_mm_hg}) / 3"),),
    6: (("Height in m", "{height_cm} / 100"), ("BMI", "{weight_kg} / {1}^2")),
    7: (("Corrected calcium", "{calcium_mg_dl} + 0.8 * (4 - {albumin_g_dl})"),),
    11: (_RR, ("QTc", "{qt_ms} / sqrt({1})")),
    19: (
        ("FIB-4", "({age_years} * {ast_u_l}) / ({platelets_10e9_l} * sqrt({alt_u_l}))"),
    ),
    26: (("Corrected Na", "{sodium_mmol_l} + 0.024 * ({glucose_mg_dl} - 100)"),),
    30: (
        (
            "Serum osmolality",
            "2 * {sodium_mmol_l} + {bun_mg_dl} / 2.8 + {glucose_mg_dl} / 18",
        ),
    ),
    31: (("HOMA-IR", "({insulin_micro_iu_ml} * {glucose_mg_dl}) / 405"),),
    39: (_GAP,),
    40: (
        (
            "FENa",
            "100 * ({urine_sodium_mmol_l} * {creatinine_mg_dl}) / ({sodium_mmol_l} * {urine_creatinine_mg_dl})",
        ),
    ),
    44: (
        (
            "LDL",
            "{total_cholesterol_mg_dl} - {hdl_mg_dl} - ({triglycerides_mg_dl} / 5)",
        ),
    ),
    56: (_RR, ("QTc", "{qt_ms} / ({1}^(1/3))")),
    57: (_RR, ("QTc", "{qt_ms} + 154 * (1 - {1})")),
    58: (("QTc", "{qt_ms} + 1.75 * ({heart_rate_per_min} - 60)"),),
    59: (("QTc", "{qt_ms} * (120 + {heart_rate_per_min}) / 180"),),
    60: (("BSA", "sqrt({weight_kg} * {height_cm} / 3600)"),),
    61: (
        ("Height in m", "{height_cm} / 100"),
        ("Target weight", "{bmi_kg_m2} * {1}^2"),
    ),
    63: (_GAP, ("Delta gap", "{1} - 12")),
    64: (
        _GAP,
        ("Delta gap", "{1} - 12"),
        ("Delta ratio", "{2} / (24 - {bicarbonate_mmol_l})"),
    ),
    65: (_GAP, _CORRECTED),
    66: (_GAP, _CORRECTED, ("Delta gap", "{2} - 12")),
    67: (
        _GAP,
        _CORRECTED,
        ("Delta gap", "{2} - 12"),
        ("Delta ratio", "{3} / (24 - {bicarbonate_mmol_l})"),
    ),
    3: (
        (
            "eGFR",
            "142 * ({creatinine_mg_dl} / {kappa})^{alpha} * 0.9938^{age_years} * {ckd}",
        ),
    ),
    9: (("eGFR", "175 * {creatinine_mg_dl}^-1.154 * {age_years}^-0.203 * {mdrd}"),),
    10: (
        ("Height in inches", "{height_cm} / 2.54"),
        ("IBW", "{base} + 2.3 * ({1} - 60)"),
    ),
    62: (
        ("Height in inches", "{height_cm} / 2.54"),
        ("IBW", "{base} + 2.3 * ({1} - 60)"),
        ("Adjusted weight", "{2} + 0.4 * ({weight_kg} - {2})"),
    ),
}
VALUE_NAMES: Mapping[str, tuple[str, ...]] = {
    "systolic_mm_hg": ("SBP", "systolic blood pressure"),
    "diastolic_mm_hg": ("DBP", "diastolic blood pressure"),
    "height_cm": ("height", "Height (cm)"),
    "weight_kg": ("weight", "body weight"),
    "calcium_mg_dl": ("serum calcium", "total calcium"),
    "albumin_g_dl": ("albumin", "serum albumin"),
    "heart_rate_per_min": ("heart rate", "HR"),
    "qt_ms": ("QT interval", "QT"),
    "age_years": ("age", "Age"),
    "ast_u_l": ("AST", "aspartate aminotransferase (AST)"),
    "alt_u_l": ("ALT", "alanine aminotransferase (ALT)"),
    "platelets_10e9_l": ("platelet count", "platelets"),
    "sodium_mmol_l": ("sodium", "serum sodium (Na)"),
    "glucose_mg_dl": ("glucose", "blood glucose"),
    "bun_mg_dl": ("BUN", "blood urea nitrogen"),
    "insulin_micro_iu_ml": ("insulin", "fasting insulin"),
    "chloride_mmol_l": ("chloride", "Cl"),
    "bicarbonate_mmol_l": ("bicarbonate", "HCO3"),
    "urine_sodium_mmol_l": ("urine sodium", "urinary sodium"),
    "urine_creatinine_mg_dl": ("urine creatinine", "urinary creatinine"),
    "creatinine_mg_dl": ("serum creatinine", "creatinine"),
    "total_cholesterol_mg_dl": ("total cholesterol", "TC"),
    "hdl_mg_dl": ("HDL cholesterol", "HDL"),
    "triglycerides_mg_dl": ("triglycerides", "TG"),
    "bmi_kg_m2": ("target BMI", "BMI"),
}
INNER = ("kappa", "alpha", "ckd", "mdrd", "base")


def _r(number: float) -> float:
    return float(f"{number:.5g}")


def equation_reply(
    row: Mapping[str, Any], truth: str, layout: str, dice: random.Random
) -> str | None:
    """Writes a reply about a row of an equation; None if this error cannot be planted."""
    calculator = find(int(row["calculator_id"]))
    chain = EQUATIONS.get(calculator.id)
    result = calculator.calculate(entities_of(row))
    if chain is None or (calculator.id == 9 and result.used.get("black")):
        return None
    low, high = float(row["lower_limit"]), float(row["upper_limit"])
    used = dict(result.used)
    female = used.get("sex") == "female"
    names = [
        name
        for name in VALUE_NAMES
        if any("{" + name + "}" in form for _, form in chain)
    ]
    values = {name: _r(float(used[name])) for name in names}
    forms = [form for _, form in chain]
    if truth == "A":
        forms = _other_constant(forms, dice)
    if truth == "B":
        wrong = dice.choice(names)
        values[wrong] = _r(values[wrong] * dice.choice((0.7, 0.85, 1.2, 1.4)) + 1)
    values |= {
        "base": 45.5 if female else 50,
        "mdrd": 0.742 if female else 1,
        "ckd": 1.012 if female else 1,
    }
    if calculator.id == 3:
        values["kappa"] = 0.7 if female else 0.9
        values["alpha"] = (
            -1.2
            if values["creatinine_mg_dl"] > values["kappa"]
            else (-0.241 if female else -0.302)
        )
    slip = dice.randrange(len(chain)) if truth == "C" else None
    shown: list[tuple[str, str, str, float]] = []
    results: list[float] = []
    for index, form in enumerate(forms):
        filled = re.sub(
            r"\{(\d)\}", lambda match: f"{results[int(match[1]) - 1]:g}", form
        ).format_map({name: f"{number:g}" for name, number in values.items()})
        value = formula_value(filled)
        if value is None:
            return None
        value = _r(value)
        if index == slip:
            value = _r(value * dice.choice((0.8, 1.15, 1.3)) + dice.choice((-1, 1, 2)))
        results.append(value)
        plain_form = re.sub(
            r"\{(\d)\}", lambda match: chain[int(match[1]) - 1][0], form
        )
        shown.append((chain[index][0], plain_form, filled, value))
    answer = results[-1]
    if truth == "none":
        if dice.random() < 0.5:
            return f"The result is {answer * 1.3 + 2:.4g}."
        mentioned = dice.sample(names, len(names))
        text = "; ".join(
            f"{VALUE_NAMES[name][0]} {values[name]:g}" for name in mentioned
        )
        return f"{text}. I estimate about {answer * 1.4 + 3:.3g}."
    if low <= answer <= high:
        return None
    stated = [(dice.choice(VALUE_NAMES[name]), f"{values[name]:g}") for name in names]
    if "sex" in used:
        stated.append(("sex", str(used["sex"])))
    return _equation_text(stated, shown, layout, answer, dice)


def _other_constant(forms: Sequence[str], dice: random.Random) -> list[str]:
    spots = [
        (index, match)
        for index, form in enumerate(forms)
        for match in re.finditer(r"(?<![\w{.^])\d+(?:\.\d+)?(?![\w}.])", form)
        if not form.endswith("/ 100")
    ]
    if not spots:  # a formula without constants: another operation
        return [
            form.replace(" - (", " - ", 1).replace(" + ", " - ", 1) for form in forms
        ]
    index, match = dice.choice(spots)
    number = float(match[0])
    other = _r(number * dice.choice((0.75, 1.25, 1.5)))
    form = forms[index]
    return [
        *forms[:index],
        form[: match.start()] + f"{other:g}" + form[match.end() :],
        *forms[index + 1 :],
    ]


def _equation_text(
    stated: Sequence[tuple[str, str]],
    shown: Sequence[tuple[str, str, str, float]],
    layout: str,
    answer: float,
    dice: random.Random,
) -> str:
    times = dice.choice(("*", "×", "x"))
    symbol = {name: dice.choice(VALUE_NAMES[name]) for name in VALUE_NAMES} | {
        name: name for name in INNER
    }
    lines = []
    for name, form, filled, value in shown:
        form = form.format_map(symbol)
        both = (
            f"{name} = {form} = {filled} = {value:g}"
            if dice.random() < 0.5
            else f"{name} = {filled} = {value:g}"
        )
        lines.append(both.replace("*", times))
    values = [f"{name} = {value}" for name, value in stated]
    if layout == "numbered":
        text = "\n".join(
            f"{n}. {line}" for n, line in enumerate([", ".join(values), *lines], 1)
        )
    elif layout == "bullets":
        text = "\n".join(
            f"- {line}"
            for line in [*(f"{name}: {value}" for name, value in stated), *lines]
        )
    elif layout == "table":
        text = "| Variable | Value |\n|---|---|\n" + "\n".join(
            f"| {name} | {value} |" for name, value in stated
        )
        text += "\n\n" + "\n".join(lines)
    elif layout == "json":
        steps = [{"step": n, "calculation": line} for n, line in enumerate(lines, 1)]
        return json.dumps(
            {"values": dict(stated), "steps": steps, "answer": f"{answer:g}"}
        )
    else:
        listed = ", ".join(f"the {_lower(name)} is {value}" for name, value in stated)
        text = f"From the note, {listed}. " + (
            " Then " if layout == "paragraph" else "\nPlugging in: "
        ).join(f"{line}." if layout == "paragraph" else line for line in lines)
    if dice.random() < 0.5:
        return json.dumps({"step_by_step_thinking": text, "answer": f"{answer:g}"})
    return f"{text}\n\nAnswer: {answer:g}"


SCORES = (4, 8, 15, 16, 17, 18, 20, 21, 25, 27, 28, 29, 32, 33, 36, 43, 45, 48, 51)


def replies(seed: int, rows: int, kind: str) -> Iterator[Reply]:
    """Yields replies about `fresh` rows: each row with each error in each layout.

    Args:
        seed: of rows and words.
        rows: how many fresh rows are drawn.
        kind: "scores" or "equations".
    """
    make = score_reply if kind == "scores" else equation_reply
    calculator_ids = SCORES if kind == "scores" else tuple(EQUATIONS)
    for row in fresh_rows(seed, rows, 1):
        if row["calculator_id"] not in calculator_ids:
            continue
        for truth in TRUTHS:
            for layout in LAYOUTS:
                text = make(
                    row,
                    truth,
                    layout,
                    random.Random(f"{seed}:{row['row_number']}:{truth}:{layout}"),
                )
                if text is not None:
                    yield Reply(row, truth, layout, text)


def tally(sample: Iterator[Reply]) -> Counter[tuple[str, str, str]]:
    """Counts of (planted, layout, type given)."""
    from medical_tasks.lab.error_types import sort_error

    counts: Counter[tuple[str, str, str]] = Counter()
    for reply in sample:
        sorting = sort_error(reply.row, reply.text)
        if sorting is not None:
            counts[reply.truth, reply.layout, sorting.error_type] += 1
    return counts


def is_right(truth: str, error_type: str) -> bool:
    """Whether a type is the planted one; if none of A to C is planted, D and undetermined are right."""
    return error_type == truth or (
        truth == "none" and error_type in ("D", "undetermined")
    )


def cell(counts: Mapping[tuple[str, str, str], int], truth: str) -> str:
    """Writes the shares of right and wrong types of one planted error, over all layouts."""
    total: Counter[str] = Counter()
    for (planted, _, error_type), n in counts.items():
        total[error_type] += n * (planted == truth)
    number = sum(total.values())
    right = sum(n for error_type, n in total.items() if is_right(truth, error_type))
    wrong = number - right - total["undetermined"] * (truth != "none")
    return f"{100 * right / number:.1f} / {100 * wrong / number:.1f} ({number})"


def main() -> int:
    """Prints the tables, writes them, or shows replies that got another type."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--rows", type=int, default=275)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--show", nargs=2, metavar=("PLANTED", "LAYOUT"))
    parser.add_argument("--kind", choices=("scores", "equations"), default="scores")
    parser.add_argument(
        "--real", type=Path, metavar="CLONE", help="the authors' repository"
    )
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="test split of v1.0, for --real"
    )
    arguments = parser.parse_args()
    if (arguments.real is None) != (arguments.csv is None):
        parser.error(
            "--real and --csv go together: the replies and the rows they are about"
        )
    if arguments.real:
        print(report(list(sortings(arguments.real, arguments.csv))))
        return 0
    if arguments.show:
        from medical_tasks.lab.error_types import sort_error

        for reply in replies(arguments.seed, arguments.rows, arguments.kind):
            if (reply.truth, reply.layout) == tuple(arguments.show) or (
                reply.truth,
                "all",
            ) == tuple(arguments.show):
                sorting = sort_error(reply.row, reply.text)
                if sorting is not None and not is_right(
                    reply.truth, sorting.error_type
                ):
                    print(
                        f"=== {reply.row['calculator_id']} {reply.layout} {sorting}\n{reply.text}\n--- ours:"
                    )
                    print(
                        "; ".join(
                            f"{a}: {b:g}"
                            for a, b in labels_of(
                                find(reply.row["calculator_id"]).calculate(
                                    entities_of(reply.row)
                                )
                            )
                        )
                    )
        return 0
    scores, equations = (
        tally(replies(arguments.seed, arguments.rows, kind))
        for kind in ("scores", "equations")
    )
    text = "| planted | scores | equations |\n|---|---|---|\n" + "\n".join(
        f"| {truth} | {cell(scores, truth)} | {cell(equations, truth)} |"
        for truth in TRUTHS
    )
    print(text)
    if arguments.write:
        document = DOCUMENT.read_text()
        head, _, rest = document.partition(BEGIN)
        DOCUMENT.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
