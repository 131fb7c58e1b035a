"""Notes state exactly their entities, as read by the tests' own patterns."""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
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

# A second reader of the notes: patterns independent of the generator's wordings. For
# each entity they have the words that mention it (`flags`, and `absences` of entities
# that are the absence of a finding), the words that decide where a denial does not
# (`verdicts`), the words for each class, a quantity's names, and how its unit is
# written.
LEXICON: dict[str, dict[str, Any]] = json_of(Path(__file__).with_name("lexicon.json"))
FLAGS, ABSENCES, VERDICTS = LEXICON["flags"], LEXICON["absences"], LEXICON["verdicts"]
CLASSES, QUANTITIES, UNITS = LEXICON["classes"], LEXICON["quantities"], LEXICON["units"]

# A sentence that denies: the words of denial, and the near misses (another time,
# another cause) that amount to one. Harmless are texts that only look like a denial:
# part of a disease's name, or of the description of a finding.
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
def generated_rows() -> list[Row]:
    return [
        *fresh_rows(20_260, 55 * 32, 1),
        *map(without_marked_sentences, long_rows()),
    ]


@functools.cache
def long_rows() -> list[Row]:
    return list(fresh_rows(20_260, 55 * 20))


def without_marked_sentences(row: Row) -> Row:
    """Returns a row of long notes without the sentences marked as old, copied or about somebody else."""
    number = int(row["calculator_id"])
    patterns = [
        CORRECTED,
        *[MARKED] * (number not in PREGNANCY),
        *[KIN] * (number not in FAMILY_COUNTS),
    ]
    texts = sentences(row["patient_note"])
    left = [
        sentence
        for sentence in texts
        if not any(pattern.search(sentence) for pattern in patterns)
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


def number_forms(value: float) -> str:
    """Every way a note may print a number: decimals kept, thousands set off by a comma."""
    if isinstance(value, int):
        return rf"(?:{value}|{value:,})"
    return re.escape(f"{value:g}") + ("0*" if value % 1 else r"(?:\.0+)?")


def number_pattern(value: Any) -> str:
    """The pattern of an entity's number and unit in a note."""
    if isinstance(value, list) and len(value) == 4:
        return rf"{value[0]} ft {value[2]} in"
    number, unit = value if isinstance(value, list) else (value, "")
    return f"{number_forms(number)}{UNITS.get(unit, ' ' + re.escape(unit))}(?![\\w/])"


def test_length_templates_and_lexicon() -> None:
    short = generated_rows()[: -len(long_rows())]
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


def findings_in(row: Row, pattern: str) -> list[bool]:
    """For each sentence about a finding, whether it states that the finding is present."""
    texts = [HARMLESS.sub("", sentence) for sentence in sentences(row["patient_note"])]
    return [
        not DENIAL.search(sentence)
        for sentence in texts
        if re.search(pattern, sentence, re.IGNORECASE)
    ]


def check_flags(rows: Iterable[Row]) -> Counter[tuple[str, bool | None]]:
    """Checks that notes state flags as the entities do; counts the flags with their values."""
    seen: Counter[tuple[str, bool | None]] = Counter()
    for row in rows:
        values = entities(row)
        for item in inputs(row, Flag):
            value = values.get(item.name)
            seen[item.name, value] += 1
            context = (
                row["note_id"],
                row["calculator_name"],
                item.name,
                value,
                row["patient_note"],
            )
            if item.name in VERDICTS:
                actual = [
                    bool(re.search(pattern, row["patient_note"], re.IGNORECASE))
                    for pattern in VERDICTS[item.name]
                ]
                assert actual == [value is True, value is False], context
                continue
            verdicts = findings_in(
                row, FLAGS[item.name] if item.name in FLAGS else ABSENCES[item.name]
            )
            if value is None:
                assert verdicts == [], context
            elif item.name == BED_OR_SURGERY and values.get(
                "Major surgery within 12 weeks"
            ):
                continue  # one name for two findings: the operation alone makes it true
            elif value is (item.name in FLAGS):
                assert True in verdicts, context
            else:
                assert verdicts, context
                assert True not in verdicts, context
    return seen


def test_notes_state_flags_as_the_entities_do() -> None:
    seen = check_flags(generated_rows())
    # Every finding occurs in all three forms; one whose absence gives a point is always
    # mentioned.
    expected = [(name, value) for name in FLAGS for value in (True, False, None)]
    expected += [(name, value) for name in ABSENCES for value in (True, False)]
    assert [key for key in expected if not seen[key]] == []
    assert not any(seen[name, None] for name in ABSENCES)
    assert {name for name, _ in seen} == {*FLAGS, *ABSENCES, *VERDICTS}


def check_classes(rows: Iterable[Row]) -> set[tuple[str, str | None]]:
    """Checks that notes state classes as the entities do; returns those that occur."""
    seen: set[tuple[str, str | None]] = set()
    for row in rows:
        values = entities(row)
        for item in inputs(row, Choice):
            if item.name in ("sex", "target steroid"):
                continue
            value = values.get(item.name)
            words = {
                word
                for word, pattern in CLASSES[item.name].items()
                if re.search(pattern, row["patient_note"], re.IGNORECASE)
            }
            seen.add((item.name, value))
            assert words == ({value} if value else set()), (
                row["note_id"],
                item.name,
                value,
                row["patient_note"],
            )
    return seen


def test_notes_state_classes_as_the_entities_do() -> None:
    seen = check_classes(generated_rows())
    assert {(name, word) for name, words in CLASSES.items() for word in words} <= seen


def check_quantities(rows: Iterable[Row]) -> Counter[str]:
    """Checks that notes state each quantity once, with its unit; counts the quantities."""
    seen: Counter[str] = Counter()
    for row in rows:
        values, note = entities(row), row["patient_note"]
        for item in inputs(row, Quantity):
            if item.name not in QUANTITIES:
                continue
            value = values.get(item.name)
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
    return seen


def test_notes_state_each_quantity_once_with_its_unit() -> None:
    seen = check_quantities(generated_rows())
    assert set(seen) >= set(QUANTITIES) - {
        "DOPamine",
        "DOBUTamine",
        "EPINEPHrine",
        "norEPINEPHrine",
    }


def check_pressures_ages_drinks_and_doses(rows: Iterable[Row]) -> Counter[str]:
    """Checks what notes state in forms of their own; counts each of the four."""
    counted: Counter[str] = Counter()
    for row in rows:
        values, note = entities(row), row["patient_note"]
        context = (row["note_id"], row["relevant_entities"], note)
        if "Systolic Blood Pressure" in values:
            counted["pressure"] += 1
            systolic = values["Systolic Blood Pressure"][0]
            stated = re.findall(
                rf"(?:pressure|S?BP){LINK} (\d+)(?:/(\d+))? ?mm ?Hg", note
            )
            assert len(stated) == 1, context
            assert int(stated[0][0]) == systolic, context
            if "Diastolic Blood Pressure" in values:
                assert int(stated[0][1]) == values["Diastolic Blood Pressure"][0], (
                    context
                )
        elif any(
            item.name == "Systolic Blood Pressure" for item in inputs(row, Quantity)
        ):
            assert not re.search(r"\d/\d+ ?mm ?Hg", note), context
        if "age" in values:
            counted["age"] += 1
            assert re.search(rf"\b{values['age'][0]}(-year-old| y [MF]\b)", note), (
                context
            )
        if "Number of Alcoholic Drinks Per Week" in values:
            counted["drinks"] += 1
            drinks = values["Number of Alcoholic Drinks Per Week"][0]
            assert re.search(rf"\b{drinks} (alcoholic )?drinks per week", note), context
        for name, value in values.items():
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
    return counted


def test_pressures_ages_drinks_and_doses() -> None:
    counted = check_pressures_ages_drinks_and_doses(generated_rows())
    assert min(counted[key] for key in ("pressure", "age", "drinks", "dose")) > 30, (
        counted
    )


def test_notes_state_one_sex_throughout() -> None:
    counted: Counter[str] = Counter()
    for row in [*generated_rows()[: -len(long_rows())], *long_rows()]:
        values, note = entities(row), row["patient_note"]
        woman = bool(re.search(r"\b(woman|girl)\b|\d (y|mo) F\b", note))
        man = bool(re.search(r"\b(man|boy)\b|\d (y|mo) M\b", note))
        assert woman != man, note
        counted["woman" if woman else "man"] += 1
        assert not (MEN if woman else WOMEN).search(note), (row["note_id"], note)
        own = " ".join(
            sentence for sentence in sentences(note) if not KIN.search(sentence)
        )
        assert not (MEN_ONLY if woman else WOMEN_ONLY).search(own), (
            row["note_id"],
            note,
        )
        if "sex" in values:
            assert values["sex"] == ("Female" if woman else "Male")
        if int(row["calculator_id"]) in (13, 68, 69):
            assert woman
    assert min(counted.values()) > 500


@pytest.mark.parametrize(("first", "second"), TABLES["no_note_says_both"])
def test_no_note_states_both(first: str, second: str) -> None:
    counts: Counter[tuple[bool, ...]] = Counter()
    for row in generated_rows():
        matches = tuple(
            bool(re.search(pattern, row["patient_note"], re.IGNORECASE))
            for pattern in (first, second)
        )
        assert matches != (True, True), (row["note_id"], row["patient_note"])
        counts[matches] += 1
    assert counts[True, False] > 5
    assert counts[False, True] > 0


DATED = re.compile(
    r"(?P<weekday>Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? "
    r"(?P<date>\d{4}-\d\d-\d\d|\d\d?/\d\d?/\d{4}|\d\d? [A-Z]\w+ \d{4}|[A-Z]\w+ \d\d?, \d{4})"
)
DATE_FORMS = ("%Y-%m-%d", "%m/%d/%Y", "%d %B %Y", "%B %d, %Y")


def test_weekdays_fit_their_dates() -> None:
    matches = [
        match for row in long_rows() for match in DATED.finditer(row["patient_note"])
    ]
    assert len(matches) > 50
    for match in matches:
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
    names = {entry.parameter: entry.name for entry in calculator.inputs}
    facts = {
        names[name]: value
        for name, value in recomputed([*item.chart.facts, *item.others]).items()
    }
    assert calculator.calculate(facts).answer == item.result.answer


def test_a_competing_value_without_its_marker_is_reported() -> None:
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
