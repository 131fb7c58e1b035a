"""The golds of the demo records, computed again by formulas written here from the published rules."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.data import CATEGORIES, COLUMNS
from medical_tasks.benchmarks.medcalc_bench.demo import decimal_limits, demo_rows

ROWS = demo_rows()
Entities = dict[str, Any]


def value(entities: Entities, name: str) -> float:
    found = entities[name]
    return float(found[0] if isinstance(found, list) else found)


def day(entities: Entities, name: str) -> date:
    month, number, year = map(int, entities[name].split("/"))
    return date(year, month, number)


def american(moment: date) -> str:
    return moment.strftime("%m/%d/%Y")


def true(entities: Entities, *names: str) -> int:
    return sum(bool(entities[name]) for name in names)


def anion_gap(entities: Entities) -> float:
    return value(entities, "Sodium") - value(entities, "Chloride") - value(entities, "Bicarbonate")


def ckd_epi(entities: Entities) -> float:  # Inker, NEJM 2021
    female = entities["sex"] == "Female"
    kappa, alpha = (0.7, -0.241) if female else (0.9, -0.302)
    ratio = value(entities, "creatinine") / kappa
    factor: float = 142 * min(ratio, 1) ** alpha * max(ratio, 1) ** -1.2 * 0.9938 ** value(entities, "age")
    return factor * (1.012 if female else 1)


def body_mass_index(entities: Entities) -> float:
    assert entities["height"][1] == "cm"
    return value(entities, "weight") / (value(entities, "height") / 100) ** 2


def gestational_age(entities: Entities) -> str:
    days = (day(entities, "Current Date") - day(entities, "Last menstrual date")).days
    return f"('{days // 7} weeks', '{days % 7} days')"


def mme(entities: Entities) -> float:  # factors: CDC 2022
    factors = {"OxyCODONE": 1.5, "TraMADol": 0.2}
    assert {name.split()[0] for name in entities} == set(factors)
    return sum(
        value(entities, f"{drug} Dose") * value(entities, f"{drug} Dose Per Day") * factor
        for drug, factor in factors.items()
    )


def steroid(entities: Entities) -> float:  # equal doses: 5 mg prednisone, 0.75 mg dexamethasone
    equal = {"PredniSONE PO": 5, "Dexamethasone PO": 0.75}
    name, dose, _ = entities["input steroid"]
    return float(dose * equal[entities["target steroid"]] / equal[name])


def cha2ds2_vasc(entities: Entities) -> int:  # Lip 2010
    age = value(entities, "age")
    embolism = ("Stroke", "Transient Ischemic Attacks History", "Thromboembolism history")
    single = ("Congestive Heart Faliure", "Hypertension history", "Vascular disease history", "Diabetes history")
    return (
        (2 if age >= 75 else 1 if age >= 65 else 0)
        + bool(entities["sex"] == "Female")
        + 2 * (true(entities, *embolism) > 0)
        + true(entities, *single)
    )


def curb_65(entities: Entities) -> int:  # Lim 2003
    low = value(entities, "Systolic Blood Pressure") < 90 or value(entities, "Diastolic Blood Pressure") <= 60
    return (
        true(entities, "Confusion")
        + (value(entities, "Blood Urea Nitrogen (BUN)") > 19)
        + (value(entities, "respiratory rate") >= 30)
        + low
        + (value(entities, "age") >= 65)
    )


def wells_pe(entities: Entities) -> float:  # Wells 2000
    return (
        3 * true(entities, "Clinical signs and symptoms of Deep Vein Thrombosis")
        + 3 * true(entities, "Pulmonary Embolism is #1 diagnosis OR equally likely")
        + 1.5 * (value(entities, "Heart Rate or Pulse") > 100)
        + 1.5 * (true(entities, "Immobilization for at least 3 days", "Surgery in the previous 4 weeks") > 0)
        + 1.5
        * (true(entities, "Previously documented Deep Vein Thrombosis", "Previously Documented Pulmonary Embolism") > 0)
        + true(entities, "Hemoptysis", "Malignancy with treatment within 6 months or palliative")
    )


def wells_dvt(entities: Entities) -> int:  # Wells 2003
    other = "Alternative diagnosis to Deep Vein Thrombosis as likely or more likely"
    rest = ("Bedridden recently >3 days or major surgery within 12 weeks", "Major surgery within 12 weeks")
    single = [name for name in entities if name not in (other, *rest)]
    assert len(single) == 8
    return true(entities, *single) + (true(entities, *rest) > 0) - 2 * true(entities, other)


def has_bled(entities: Entities) -> int:  # Pisters 2010
    flags = [name for name, found in entities.items() if isinstance(found, bool)]
    assert len(flags) == 7
    return (
        true(entities, *flags)
        + (value(entities, "age") > 65)
        + (value(entities, "Number of Alcoholic Drinks Per Week") >= 8)
    )


def centor(entities: Entities) -> int:  # McIsaac 1998
    age = value(entities, "age")
    flags = [name for name, found in entities.items() if isinstance(found, bool)]
    assert len(flags) == 3
    return (
        (1 if 3 <= age < 15 else -1 if age >= 45 else 0)
        + (value(entities, "Temperature") > 38)
        + true(entities, *flags)
    )


def glasgow(entities: Entities) -> int:  # Teasdale 1974
    points: dict[str, int] = {"eye opening to verbal command": 3, "confused": 4, "localizes pain": 5}
    return sum(points[answer] for answer in entities.values())


def perc(entities: Entities) -> int:  # Kline 2004
    single = ("Unilateral Leg Swelling", "Hemoptysis", "Recent surgery or trauma", "Hormone use")
    before = ("Previously Documented Pulmonary Embolism", "Previously documented Deep Vein Thrombosis")
    return (
        (value(entities, "age") >= 50)
        + (value(entities, "Heart Rate or Pulse") >= 100)
        + (value(entities, "O₂ saturation percentage") < 95)
        + true(entities, *single)
        + (true(entities, *before) > 0)
    )


def sirs(entities: Entities) -> int:  # Bone 1992
    temperature = value(entities, "Temperature")
    cells = value(entities, "White blood cell count")
    assert entities["White blood cell count"][1] == "µL"
    return (
        (temperature > 38 or temperature < 36)
        + (value(entities, "Heart Rate or Pulse") > 90)
        + (value(entities, "respiratory rate") > 20)
        + (cells > 12_000 or cells < 4_000)
    )


FORMULAS: dict[int, Callable[[Entities], float | int | str]] = {
    3: ckd_epi,
    4: cha2ds2_vasc,
    5: lambda e: (value(e, "Systolic Blood Pressure") + 2 * value(e, "Diastolic Blood Pressure")) / 3,
    6: body_mass_index,
    7: lambda e: value(e, "Calcium") + 0.8 * (4 - value(e, "Albumin")),
    8: wells_pe,
    10: lambda e: (45.5 if e["sex"] == "Female" else 50) + 2.3 * (value(e, "height") - 60),
    11: lambda e: value(e, "QT interval") / math.sqrt(60 / value(e, "Heart Rate or Pulse")),
    13: lambda e: american(day(e, "Last menstrual date") + timedelta(280 + e["cycle length"] - 28)),
    16: wells_dvt,
    19: lambda e: (
        value(e, "age")
        * value(e, "Aspartate aminotransferase")
        / (value(e, "Platelet count") / 1000 * math.sqrt(value(e, "Alanine aminotransferase")))
    ),
    20: centor,
    21: glasgow,
    22: lambda e: 40 + 2 * (value(e, "weight") - 10),
    24: steroid,
    25: has_bled,
    26: lambda e: value(e, "Sodium") + 0.024 * (value(e, "Glucose") - 100),
    30: lambda e: 2 * value(e, "Sodium") + value(e, "Blood Urea Nitrogen (BUN)") / 2.8 + value(e, "Glucose") / 18,
    33: lambda e: true(e, *e),
    38: lambda e: 0.6 * value(e, "weight") * (value(e, "Sodium") / 140 - 1),
    39: anion_gap,
    44: lambda e: (
        value(e, "Total cholesterol") - value(e, "high-density lipoprotein cholesterol") - value(e, "Triglycerides") / 5
    ),
    45: curb_65,
    48: perc,
    49: mme,
    51: sirs,
    60: lambda e: math.sqrt(value(e, "weight") * value(e, "height") / 3600),
    65: lambda e: anion_gap(e) + 2.5 * (4 - value(e, "Albumin")),
    68: lambda e: american(day(e, "Last menstrual date") + timedelta(14)),
    69: gestational_age,
}


def test_there_are_enough_of_every_kind() -> None:
    assert len(ROWS) == 31
    assert len({row["calculator_id"] for row in ROWS}) == 30
    assert {row["category"] for row in ROWS} == set(CATEGORIES)
    assert Counter(row["output_type"] for row in ROWS) == {"decimal": 18, "integer": 11, "date": 2}
    assert len([row for row in ROWS if row["ground_truth_answer"].startswith("(")]) == 2
    assert {row["calculator_id"] for row in ROWS} == set(FORMULAS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['row_number']}-{row['calculator_name']}")
def test_gold_is_what_the_published_rule_gives(row: dict[str, Any]) -> None:
    computed = FORMULAS[row["calculator_id"]](json.loads(row["relevant_entities"]))
    if isinstance(computed, str):
        assert row["ground_truth_answer"] == computed
    else:
        # Golds have three decimals at most, as in v1.0.
        assert float(row["ground_truth_answer"]) == pytest.approx(computed, abs=0.0005)
        assert row["ground_truth_answer"] == f"{Decimal(row['ground_truth_answer']).normalize():f}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["row_number"]))
def test_a_reader_finds_every_value_in_the_note(row: dict[str, Any]) -> None:
    numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", row["patient_note"])}
    spelled = {"two", "four"}  # doses a day are written as words
    for name, found in json.loads(row["relevant_entities"]).items():
        if isinstance(found, list):
            wanted = {float(item) for item in found if not isinstance(item, str)}
            if name.endswith("Per Day"):
                assert spelled & set(row["patient_note"].split())
            else:
                assert wanted <= numbers, name
        elif isinstance(found, str) and "/" in found:
            assert found in row["patient_note"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row["row_number"]))
def test_form_of_a_row(row: dict[str, Any]) -> None:
    assert list(row) == [column.name for column in COLUMNS]
    types = {"string": str, "int64": int}
    assert all(type(row[column.name]) is types[column.dtype] for column in COLUMNS)
    assert 60 <= len(row["patient_note"].split()) <= 200
    assert row["question"].strip()
    (first, *_) = re.findall(r"[-\d./]+", row["ground_truth_answer"])
    assert first in row["ground_truth_explanation"]
    assert row["note_type"] == "Synthetic"
    assert re.fullmatch(r"demo-\d{4}", row["note_id"])
    if row["output_type"] != "decimal":
        assert row["lower_limit"] == row["ground_truth_answer"] == row["upper_limit"]
    else:
        low, gold, high = (float(row[name]) for name in ("lower_limit", "ground_truth_answer", "upper_limit"))
        assert [low, high] == pytest.approx([0.95 * gold, 1.05 * gold])


def test_numbers_and_notes() -> None:
    assert [row["row_number"] for row in ROWS] == list(range(1, 32))
    texts = {row["note_id"]: row["patient_note"] for row in ROWS}
    assert all(texts[row["note_id"]] == row["patient_note"] for row in ROWS)
    assert len(texts) == len(set(texts.values())) == 29  # two notes are asked about twice


@pytest.mark.parametrize(
    ("answer", "limits"),
    [
        ("25.238", ("23.9761", "26.4999")),  # paper's first row, by hand: 25.238 x 0.95, x 1.05
        ("126", ("119.7", "132.3")),
        ("-0.828", ("-0.8694", "-0.7866")),
        ("0", ("0", "0")),
        ("100", ("95", "105")),
        ("747", ("709.65", "784.35")),
    ],
)
def test_decimal_limits(answer: str, limits: tuple[str, str]) -> None:
    assert decimal_limits(answer) == limits


def test_rows_are_the_same_each_time() -> None:
    assert demo_rows() == ROWS
