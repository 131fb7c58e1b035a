"""What the notes say, read by patterns of the tests' own.

The entities, all of them, and nothing else of them.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurements.fresh import LINK, other_readings, recomputed
from medical_tasks.calculators import CALCULATORS, AnyCalculator, find
from medical_tasks.calculators.inputs import Choice, Flag, Quantity
from medical_tasks.construct.fresh import fresh_rows
from medical_tasks.construct.fresh.rows import draw_item
from tests.case_tables import json_of, tables

TABLES: dict[str, Any] = tables(__file__)

# A second reader of the notes: patterns apart from the generator's own wordings. For
# each entity they know by which words a note speaks of it (`flags`, and `absences` of
# entities that are the absence of what a note speaks of), what it says where a denial
# does not decide (`verdicts`), what it says for each class, what a quantity is called,
# and how its unit is written.
LEXICON: dict[str, dict[str, Any]] = json_of(Path(__file__).with_name("lexicon.json"))
FLAGS, ABSENCES, VERDICTS = LEXICON["flags"], LEXICON["absences"], LEXICON["verdicts"]
CLASSES, QUANTITIES, UNITS = LEXICON["classes"], LEXICON["quantities"], LEXICON["units"]

# A sentence that denies: the words of denial, and the near misses (another time,
# another cause) that amount to one. Harmless is what reads like a denial and is none:
# part of a disease's name, or of what a finding looks like.
DENIAL, HARMLESS, MEN, WOMEN, WOMEN_ONLY, MEN_ONLY, MARKED, KIN, CORRECTED = (
    re.compile(LEXICON["patterns"][name], re.IGNORECASE)
    for name in (
        "denial",
        "harmless",
        "men",
        "women",
        "women_only",
        "men_only",
        "marked",
        "kin",
        "corrected",
    )
)
SHORT_NOTE, LONG_NOTE = (60, 300), (300, 800)  # words, at least and at most
# calculators that ask for dates, and for relatives
PREGNANCY, FAMILY_COUNTS = (13, 68, 69), (18, 36)

Row = dict[str, Any]
BED_OR_SURGERY = "Bedridden recently >3 days or major surgery within 12 weeks"


@functools.cache
def made_rows() -> list[Row]:
    return [*fresh_rows(20_260, 55 * 32, 1), *map(unmarked, long_rows())]


@functools.cache
def long_rows() -> list[Row]:
    return list(fresh_rows(20_260, 55 * 20))


def unmarked(row: Row) -> Row:
    """A row of long notes without certain sentences.

    Left out are those that say themselves that they are old, copied or of somebody
    else.
    """
    number = int(row["calculator_id"])
    patterns = [
        CORRECTED,
        *[MARKED] * (number not in PREGNANCY),
        *[KIN] * (number not in FAMILY_COUNTS),
    ]
    parts = sentences(row["patient_note"])
    left = [
        part for part in parts if not any(pattern.search(part) for pattern in patterns)
    ]
    return {**row, "patient_note": "\n".join(left)}


def entities(row: Row) -> dict[str, Any]:
    return dict(json.loads(row["relevant_entities"]))


def inputs(row: Row, kind: type) -> Iterator[Any]:
    """The calculator's inputs of a kind."""
    return (
        item
        for item in find(int(row["calculator_id"])).inputs
        if isinstance(item, kind)
    )


def sentences(note: str) -> list[str]:
    return re.split(r"(?<=[.!?\]])\s+|\n+(?=[^\n])", note)


def written(value: float) -> str:
    """Every way a note may print a number: decimals kept, thousands set off by a comma."""
    if isinstance(value, int):
        return rf"(?:{value}|{value:,})"
    return re.escape(f"{value:g}") + ("0*" if value % 1 else r"(?:\.0+)?")


def number_pattern(value: Any) -> str:
    """The pattern of an entity's number and unit in a note."""
    if isinstance(value, list) and len(value) == 4:
        return rf"{value[0]} ft {value[2]} in"
    number, unit = value if isinstance(value, list) else (value, "")
    return f"{written(number)}{UNITS.get(unit, ' ' + re.escape(unit))}(?![\\w/])"


def test_length_templates_and_lexicon() -> None:
    short = made_rows()[: -len(long_rows())]
    for rows, (low, high) in ((short, SHORT_NOTE), (long_rows(), LONG_NOTE)):
        lengths = [len(row["patient_note"].split()) for row in rows]
        assert low <= min(lengths) < max(lengths) <= high
    for row in [*short, *long_rows()]:
        text = row["patient_note"] + row["question"]
        assert not re.search(r"[{}|]|//|\b[fm]:|  |\.\.|,\.|\bNone\b", text), text
    flags = {
        item.name
        for entry in CALCULATORS
        for item in entry.inputs
        if isinstance(item, Flag)
    }
    assert flags == {*FLAGS, *ABSENCES, *VERDICTS}
    amounts = {
        item.name
        for entry in CALCULATORS
        for item in entry.inputs
        if isinstance(item, Quantity)
    }
    elsewhere = {
        "age",
        "Systolic Blood Pressure",
        "Diastolic Blood Pressure",
        "cycle length",
    }
    elsewhere |= {"Number of Alcoholic Drinks Per Week"} | {
        name for name in amounts if " Dose" in name
    }
    assert amounts - elsewhere <= set(QUANTITIES)


def told_of(row: Row, pattern: str) -> list[bool]:
    """For each sentence that speaks of a finding, whether it says that the finding is there."""
    parts = [HARMLESS.sub("", part) for part in sentences(row["patient_note"])]
    return [
        not DENIAL.search(part)
        for part in parts
        if re.search(pattern, part, re.IGNORECASE)
    ]


def test_flags_are_told_as_the_entities_have_them_and_not_told_when_left_out() -> None:
    seen: Counter[tuple[str, bool | None]] = Counter()
    for row in made_rows():
        known = entities(row)
        for item in inputs(row, Flag):
            value = known.get(item.name)
            seen[item.name, value] += 1
            context = (
                row["note_id"],
                row["calculator_name"],
                item.name,
                value,
                row["patient_note"],
            )
            if item.name in VERDICTS:
                found = [
                    bool(re.search(each, row["patient_note"], re.IGNORECASE))
                    for each in VERDICTS[item.name]
                ]
                assert found == [value is True, value is False], context
                continue
            told = told_of(
                row, FLAGS[item.name] if item.name in FLAGS else ABSENCES[item.name]
            )
            if value is None:
                assert told == [], context
            elif item.name == BED_OR_SURGERY and known.get(
                "Major surgery within 12 weeks"
            ):
                continue  # one name for two findings: the operation alone makes it true
            elif value is (item.name in FLAGS):
                assert True in told, context
            else:
                assert told, context
                assert True not in told, context
    # Every finding occurs in all three forms; what gives a point by its absence is
    # always spoken of.
    wanted = [(name, value) for name in FLAGS for value in (True, False, None)]
    wanted += [(name, value) for name in ABSENCES for value in (True, False)]
    assert [each for each in wanted if not seen[each]] == []
    assert not any(seen[name, None] for name in ABSENCES)
    assert {name for name, _ in seen} == {*FLAGS, *ABSENCES, *VERDICTS}


def test_classes_are_told_as_the_entities_have_them() -> None:
    seen: set[tuple[str, str | None]] = set()
    for row in made_rows():
        known = entities(row)
        for item in inputs(row, Choice):
            if item.name in ("sex", "target steroid"):
                continue
            value = known.get(item.name)
            told = {
                word
                for word, pattern in CLASSES[item.name].items()
                if re.search(pattern, row["patient_note"], re.IGNORECASE)
            }
            seen.add((item.name, value))
            assert told == ({value} if value else set()), (
                row["note_id"],
                item.name,
                value,
                row["patient_note"],
            )
    assert {(name, word) for name, words in CLASSES.items() for word in words} <= seen


def test_each_quantity_stands_once_with_its_unit_and_no_left_out_one_does() -> None:
    seen: Counter[str] = Counter()
    for row in made_rows():
        known, note = entities(row), row["patient_note"]
        for item in inputs(row, Quantity):
            if item.name not in QUANTITIES:
                continue
            value = known.get(item.name)
            name = rf"(?<![\w-])(?:{QUANTITIES[item.name]}){LINK}"
            flags = re.IGNORECASE if len(item.name) > 2 else 0
            stated = re.findall(rf"{name} (?=\d)", note, flags)
            context = (row["note_id"], item.name, value, note)
            if value is None:
                assert not stated, context
            else:
                seen[item.name] += 1
                assert len(stated) == 1, context
                assert re.search(rf"{name} {number_pattern(value)}", note, flags), (
                    context
                )
    assert set(seen) >= set(QUANTITIES) - {
        "DOPamine",
        "DOBUTamine",
        "EPINEPHrine",
        "norEPINEPHrine",
    }


def test_pressures_ages_drinks_doses_and_sex() -> None:
    counted: Counter[str] = Counter()
    for row in made_rows():
        known, note = entities(row), row["patient_note"]
        context = (row["note_id"], row["relevant_entities"], note)
        if "Systolic Blood Pressure" in known:
            counted["pressure"] += 1
            systolic = known["Systolic Blood Pressure"][0]
            stated = re.findall(
                rf"(?:pressure|S?BP){LINK} (\d+)(?:/(\d+))? ?mm ?Hg", note
            )
            assert len(stated) == 1, context
            assert int(stated[0][0]) == systolic, context
            if "Diastolic Blood Pressure" in known:
                assert int(stated[0][1]) == known["Diastolic Blood Pressure"][0], (
                    context
                )
        elif any(
            item.name == "Systolic Blood Pressure" for item in inputs(row, Quantity)
        ):
            assert not re.search(r"\d/\d+ ?mm ?Hg", note), context
        if "age" in known:
            counted["age"] += 1
            assert re.search(rf"\b{known['age'][0]}(-year-old| y [MF]\b)", note), (
                context
            )
        if "Number of Alcoholic Drinks Per Week" in known:
            counted["drinks"] += 1
            drinks = known["Number of Alcoholic Drinks Per Week"][0]
            assert re.search(rf"\b{drinks} (alcoholic )?drinks per week", note), context
        for name, value in known.items():
            if name.endswith(" Dose"):
                counted["dose"] += 1
                drug = (
                    name.removesuffix(" Dose")
                    .lower()
                    .replace("fentanyl buccal", "buccal fentanyl")
                )
                drug = drug.replace("fentanyl patch", "a fentanyl patch that delivers")
                assert re.search(
                    rf"{drug},? {value[0]:g} {re.escape(value[1])}\b", note
                ), (
                    name,
                    context,
                )
    assert min(counted[key] for key in ("pressure", "age", "drinks", "dose")) > 30, (
        counted
    )


def test_sex_is_kept_and_bodies_fit_it() -> None:
    counted: Counter[str] = Counter()
    for row in [*made_rows()[: -len(long_rows())], *long_rows()]:
        known, note = entities(row), row["patient_note"]
        woman = bool(re.search(r"\b(woman|girl)\b|\d (y|mo) F\b", note))
        man = bool(re.search(r"\b(man|boy)\b|\d (y|mo) M\b", note))
        assert woman != man, note
        counted["woman" if woman else "man"] += 1
        assert not (MEN if woman else WOMEN).search(note), (row["note_id"], note)
        own = " ".join(part for part in sentences(note) if not KIN.search(part))
        assert not (MEN_ONLY if woman else WOMEN_ONLY).search(own), (
            row["note_id"],
            note,
        )
        if "sex" in known:
            assert known["sex"] == ("Female" if woman else "Male")
        if int(row["calculator_id"]) in (13, 68, 69):
            assert woman
    assert min(counted.values()) > 500


@pytest.mark.parametrize(("one", "other"), TABLES["no_note_says_both"])
def test_no_note_says_both(one: str, other: str) -> None:
    counts: Counter[tuple[bool, ...]] = Counter()
    for row in made_rows():
        found = tuple(
            bool(re.search(pattern, row["patient_note"], re.IGNORECASE))
            for pattern in (one, other)
        )
        assert found != (True, True), (row["note_id"], row["patient_note"])
        counts[found] += 1
    assert counts[True, False] > 5
    assert counts[False, True] > 0


DATED = re.compile(
    r"(?P<weekday>Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? "
    r"(?P<date>\d{4}-\d\d-\d\d|\d\d?/\d\d?/\d{4}|\d\d? [A-Z]\w+ \d{4}|[A-Z]\w+ \d\d?, \d{4})"
)
DATE_FORMS = ("%Y-%m-%d", "%m/%d/%Y", "%d %B %Y", "%B %d, %Y")


def test_weekdays_belong_to_their_dates() -> None:
    found = [
        match for row in long_rows() for match in DATED.finditer(row["patient_note"])
    ]
    assert len(found) > 50
    for match in found:
        days = []
        for form in DATE_FORMS:
            with contextlib.suppress(ValueError):
                days.append(datetime.datetime.strptime(match["date"], form).date())
        (day,) = days
        assert day.year >= 2022
        assert f"{day:%A}" == f"{match['weekday']}day"


@given(key=st.text(max_size=8), calculator=st.sampled_from(CALCULATORS))
def test_long_notes_have_one_reading_and_their_facts_give_the_gold(
    key: str, calculator: AnyCalculator
) -> None:
    item = draw_item(calculator, key, 2)
    assert item.note == draw_item(calculator, key, 2).note
    assert LONG_NOTE[0] <= len(item.note.split()) <= LONG_NOTE[1]
    assert other_readings(item.chart, item.note, item.others) == []
    known = {entry.parameter: entry.name for entry in calculator.inputs}
    facts = {
        known[name]: value
        for name, value in recomputed([*item.chart.facts, *item.others]).items()
    }
    assert calculator.calculate(facts).answer == item.result.answer


def test_a_competing_value_without_its_marker_is_found() -> None:
    item = next(
        item
        for key in range(50)
        if (item := draw_item(find(3), str(key), 2))
        and any(fact.status == "superseded" for fact in item.others)
    )
    fact = next(
        fact for fact in item.others if fact.status == "superseded" and fact.reading
    )
    assert fact.reading is not None
    planted = f"{item.note} Bloods: creatinine {fact.reading.text}."
    assert len(other_readings(item.chart, planted, item.others)) == 1
    assert other_readings(item.chart, item.note.replace(fact.text, "Old."), item.others)
