"""Rules for every wording of the generator: lists and sentences are well-formed for any draw."""

from __future__ import annotations

import datetime
import re
from typing import get_args

import pytest

from medical_tasks.benchmarks.medcalc_bench.questions import QUESTIONS, named_drugs
from medical_tasks.calculators import CALCULATORS
from medical_tasks.construct.fresh.cases import CASE_OF
from medical_tasks.construct.fresh.chart import Setting, draw_person
from medical_tasks.construct.fresh.findings import (
    FINDINGS,
    GRADES,
    SECTION_OF_KIND,
    STATEMENTS,
    list_sentence,
)
from medical_tasks.construct.fresh.material import (
    CLAUSES,
    DISEASES,
    WORDS,
    Phrasing,
    topics_of,
)
from medical_tasks.construct.fresh.quantities import Draw, read_json

PLACEHOLDERS = {"He", "he", "His", "his", "him", "side", "other"}


SLOTS = {"day", "old", "year", *read_json("notes.json")["rules"]}  # filled by code


def slots(text: str) -> set[str]:
    """Returns the lists that a frame names, without the mark of a capital."""
    names = re.findall(r"<([a-z][a-z0-9_-]*)>", text)
    return {name.removesuffix("_c") for name in names} - SLOTS


def test_material_is_complete() -> None:
    assert set(QUESTIONS) == set(CASE_OF) == {entry.id for entry in CALCULATORS}
    for finding in FINDINGS.values():
        for sex in "fm":
            for wordings in (finding.yes, finding.no):
                assert [
                    text
                    for text in wordings
                    if not text.startswith(("f:", "m:")) or text.startswith(sex)
                ]
    layouts = [
        layout
        for style in read_json("notes.json")["layouts"].values()
        for layout in style
    ]
    placed = {
        " ".join(sorted(" ".join(names for _, names, _ in layout).split()))
        for layout in layouts
    }
    assert placed == {  # so that no section of a note is left out
        "care course earlier exam family history impression medication opening plan ros social story tests"
    }
    assert {clause.section for clause in CLAUSES} | set(SECTION_OF_KIND.values()) <= {
        *" ".join(placed).split()
    }
    places = set(get_args(Setting))
    assert CLAUSES
    assert all(clause.settings <= places for clause in CLAUSES)
    for questions in QUESTIONS.values():
        assert len(set(questions)) >= 2
        assert all(text[-1] in ".?" for text in questions)


def test_every_list_is_used_and_every_slot_has_a_list() -> None:
    templates = [
        read_json(f"{name}.json") for name in ("notes", "stories", "findings", "cases")
    ]
    frames = " ".join([*(clause.text for clause in CLAUSES), str(templates)])
    beside = {
        name for lists in templates[0]["beside"].values() for name in lists.values()
    }
    used = slots(frames) | {name for names in beside for name in names.split("|")}
    pending = list(used)
    while pending:
        new = slots(" ".join(WORDS[pending.pop()])) - used
        used |= new
        pending += new
    assert used == set(WORDS)
    for name, words in WORDS.items():
        assert len(set(words)) == len(words) >= 5, name


def test_every_disease_has_its_drugs_and_details() -> None:
    assert DISEASES
    for disease in DISEASES:
        assert all([*disease.names, *disease.drugs, *disease.details]), disease.names
        assert disease.ages[0] < disease.ages[1]


def test_topics_by_words() -> None:
    assert {"operation", "abdomen"} <= topics_of("Appendicectomy in 2011.")
    assert "coronary" in topics_of("a well-placed stent")
    assert "kin" in topics_of("His brother-in-law sings.")
    assert topics_of("She grows tulips.") == frozenset()


@pytest.mark.parametrize(("age", "years"), [(19, {2024}), (43, set(range(2000, 2025)))])
def test_years_are_within_the_patients_life(age: int, years: set[int]) -> None:
    draw = Draw(str(age))
    phrasing = Phrasing(draw, draw_person(draw, age, age), datetime.date(2025, 3, 1))
    drawn = {int(phrasing.fill("<year>", {})) for _ in range(300)}
    assert drawn
    assert drawn <= years
    assert max(drawn) == 2024


def test_articles_fit_their_words() -> None:
    draw = Draw("a")
    phrasing = Phrasing(draw, draw_person(draw, 50, 50), datetime.date(2025, 3, 1))
    for word, article in (
        ("umpire", "an"),
        ("union", "a"),
        ("egg", "an"),
        ("one-way", "a"),
    ):
        assert phrasing.fill("saw a {word}", {"word": word}) == f"Saw {article} {word}"


def test_a_question_names_drugs_and_no_dose() -> None:
    entities = {
        "input steroid": ["PredniSONE PO", 10, "mg"],
        "target steroid": "Cortisone PO",
    }
    expected = "What dose of Cortisone PO in mg is equivalent to the patient's dose of PredniSONE PO?"
    assert named_drugs(QUESTIONS[24][0], entities).startswith(expected)


@pytest.mark.parametrize("name", sorted(FINDINGS))
def test_findings(name: str) -> None:
    finding = FINDINGS[name]
    assert finding.yes
    assert finding.no
    assert finding.concepts, "a finding without a concept lets distractors speak of it"
    if finding.kind in STATEMENTS:
        assert finding.affirmed, "prose tells statements in sentences"
        assert finding.denied
    else:
        for phrase in finding.no:  # follows "no" and precedes "or"
            assert not re.match(r"(a|an|the|no|any) ", phrase), phrase
    for sentence in (*finding.affirmed, *finding.denied):
        assert re.match(r"(f:|m:)?[A-Z{]", sentence), sentence
        assert sentence.endswith("."), sentence
    for text in (*finding.yes, *finding.no, *finding.affirmed, *finding.denied):
        assert set(re.findall(r"{(\w+)}", text)) <= PLACEHOLDERS, text


@pytest.mark.parametrize("name", sorted(GRADES))
def test_grades(name: str) -> None:
    classes = GRADES[name]
    assert len({entry.word for entry in classes}) == len(classes) >= 3
    for entry in classes:
        assert entry.phrases
        assert entry.affirmed or entry.kind not in STATEMENTS
        assert entry.affirmed or not entry.absent
        assert all(sentence.endswith(".") for sentence in entry.affirmed)


@pytest.mark.parametrize("brief", [True, False])
@pytest.mark.parametrize("voice", ["self", "parent", "none"])
def test_lists(brief: bool, voice: str) -> None:
    seen = set()
    for key in range(20):
        for present, joined in (
            (True, ("cough and fever", "cough, fever")),
            (False, ("cough or fever",)),
        ):
            text = list_sentence(
                Draw(str(key)),
                "symptom",
                ["cough", "fever"],
                present=present,
                brief=brief,
                voice=voice,  # type: ignore[arg-type]
            )
            seen.add(text)
            assert any(wording in text for wording in joined), text
            assert text.endswith(".")
            assert text[0].isupper() or text[0] == "{"
            if voice != "self":
                assert not re.search(
                    r"denies|complains|When asked", text, re.IGNORECASE
                )
    assert len(seen) >= 2
