"""Rules that every wording of the generator keeps, so that lists and sentences read right whatever is drawn."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from medical_tasks.benchmarks.medcalc_bench.fresh.cases import CASE_OF
from medical_tasks.benchmarks.medcalc_bench.fresh.chart import Setting
from medical_tasks.benchmarks.medcalc_bench.fresh.findings import (
    FINDINGS,
    GRADES,
    PLACES,
    STATEMENTS,
    list_sentence,
)
from medical_tasks.benchmarks.medcalc_bench.fresh.long_notes import CLAUSES
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Draw, read_json
from medical_tasks.benchmarks.medcalc_bench.fresh.rows import (
    ASIDES,
    QUESTIONS,
    REMARKS,
    named_drugs,
)
from medical_tasks.calculators import CALCULATORS

PLACEHOLDERS = {"He", "he", "His", "his", "him", "side", "other"}


def test_the_stock() -> None:
    assert len(FINDINGS) == 102
    assert len(GRADES) == 14
    assert len(REMARKS) == 164
    assert len(ASIDES) == 24
    assert set(QUESTIONS) == set(CASE_OF) == {entry.id for entry in CALCULATORS}
    for finding in FINDINGS.values():
        for sex in "fm":
            for wordings in (finding.yes, finding.no):
                assert [
                    text
                    for text in wordings
                    if not text.startswith(("f:", "m:")) or text.startswith(sex)
                ]
    for remark in REMARKS:
        assert remark.concepts, remark.text
        assert remark.text.endswith(".")
        assert remark.brief.endswith(".")
        assert len(remark.brief.split()) <= len(remark.text.split())
    layouts = [each for style in read_json("long_notes.json")["layouts"].values() for each in style]
    placed = {
        " ".join(sorted(" ".join(names for _, names, _ in layout).split())) for layout in layouts
    }
    assert len(layouts) == 9
    assert placed == {  # so that nothing said of a patient is left out
        "care course earlier exam family history impression medication opening plan ros social story tests"
    }
    assert {each.place for each in CLAUSES} | set(PLACES.values()) <= {*" ".join(placed).split()}
    places = set(get_args(Setting))
    assert len(CLAUSES) == 248
    assert all(each.settings <= places for each in (*REMARKS, *CLAUSES))
    assert all(settings <= places for settings, _, _ in ASIDES)
    for questions in QUESTIONS.values():
        assert len(set(questions)) >= 2
        assert all(text[-1] in ".?" for text in questions)


def test_a_question_names_drugs_and_no_dose() -> None:
    entities = {"input steroid": ["PredniSONE PO", 10, "mg"], "target steroid": "Cortisone PO"}
    asked = "What dose of Cortisone PO in mg is equivalent to the patient's dose of PredniSONE PO?"
    assert named_drugs(QUESTIONS[24][0], entities) == asked


@pytest.mark.parametrize("name", sorted(FINDINGS))
def test_findings(name: str) -> None:
    finding = FINDINGS[name]
    assert finding.yes
    assert finding.no
    assert finding.concepts, "a finding without a concept lets distractors speak of it"
    if finding.kind in STATEMENTS:
        assert finding.told, "prose tells statements in sentences"
        assert finding.denied
    else:
        for phrase in finding.no:  # stands after "no" and before "or"
            assert not re.match(r"(a|an|the|no|any) ", phrase), phrase
    for sentence in (*finding.told, *finding.denied):
        assert re.match(r"(f:|m:)?[A-Z{]", sentence), sentence
        assert sentence.endswith("."), sentence
    for text in (*finding.yes, *finding.no, *finding.told, *finding.denied):
        assert set(re.findall(r"{(\w+)}", text)) <= PLACEHOLDERS, text


@pytest.mark.parametrize("name", sorted(GRADES))
def test_grades(name: str) -> None:
    classes = GRADES[name]
    assert len({entry.word for entry in classes}) == len(classes) >= 3
    for entry in classes:
        assert entry.phrases
        assert entry.told or entry.kind not in STATEMENTS
        assert entry.told or not entry.absent
        assert all(sentence.endswith(".") for sentence in entry.told)


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
            assert any(part in text for part in joined), text
            assert text.endswith(".")
            assert text[0].isupper() or text[0] == "{"
            if voice != "self":
                assert not re.search(r"denies|complains|When asked", text, re.IGNORECASE)
    assert len(seen) >= 2
