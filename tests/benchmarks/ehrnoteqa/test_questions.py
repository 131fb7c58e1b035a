"""A user's own questions, and the rule for a question's categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa import prompts
from medical_tasks.benchmarks.ehrnoteqa.questions import (
    CATEGORIES,
    FALLBACK,
    OWN_FIELDS,
    question_categories,
    read_own_rows,
)
from medical_tasks.errors import UsageError
from tests.benchmarks.common import write_jsonl
from tests.benchmarks.ehrnoteqa.twin_files import SECRET
from tests.case_tables import cases, tabled
from tests.support import SHARED, needs_shared, word_runs


def note(**changes: Any) -> dict[str, Any]:
    return {
        "note_id": "n1",
        "hadm_id": "2",
        "charttime": "2150-01-02 00:00:00",
        "text": f"It {SECRET}.",
    } | changes


def row(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = cases(__file__, "row")
    return fields | changes


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    return write_jsonl(folder / "own.jsonl", rows)


def test_own_rows_with_and_without_optional_fields(tmp_path: Path) -> None:
    # another question about the patient
    second = row(id="q2", num_notes=2, notes=[note(), note(note_id="n2")])
    assert list(read_own_rows(write(tmp_path, row(), second))) == [row(), second]
    short = {
        name: value
        for name, value in row().items()
        if name not in ("categories", "evidence")
    }
    read_row = next(read_own_rows(write(tmp_path, short)))
    assert read_row["evidence"] == []
    assert "treatment" in read_row["categories"]
    assert tuple(read_row) == tuple(OWN_FIELDS)


@tabled("changes", "message")
def test_a_wrong_own_row_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        list(read_own_rows(write(tmp_path, row(id="q0"), row(**changes))))
    assert "line 2" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_repeated_ids_and_missing_questions_are_refused(tmp_path: Path) -> None:
    without_question = {
        name: value for name, value in row().items() if name != "question"
    }
    for message, rows in {
        "line 2, field 'id': must be unique, it stands on line 1 already": (
            row(),
            row(),
        ),
        "missing: 'question'": (without_question,),
        "is empty": (),
    }.items():
        with pytest.raises(UsageError, match=message):
            list(read_own_rows(write(tmp_path, *rows)))


PAPER = SHARED / "seeds" / "000_16628310939a6eff.txt"
NAMES = {"sign/symptom": "sign_symptom", "test results": "test_results"}


def test_categories_are_the_ten_of_the_paper() -> None:
    assert (
        tuple(
            "treatment assessment problem etiology sign_symptom vitals test_results history "
            "instruction plan".split()
        )
        == CATEGORIES
    )
    assert FALLBACK in CATEGORIES


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which antibiotic did he get?", ["treatment"]),
        ("Had the wound healed, and was his condition stable?", ["assessment"]),
        ("What was the principal diagnosis?", ["problem"]),
        ("Why was she brought in?", ["etiology"]),
        ("Which symptoms did he have?", ["sign_symptom"]),
        ("Was her pulse regular?", ["vitals"]),
        ("What did the MRI show?", ["test_results"]),
        ("Does the patient have a history of stroke?", ["history"]),
        ("What was she told to do at home?", ["instruction"]),
        ("When is his follow-up?", ["plan"]),
        ("WHEN IS HIS FOLLOW\nUP?", ["plan"]),
        ("What did the patient’s ECG show?", ["test_results"]),
        ("", ["treatment"]),
        ("Who wrote the note?", ["treatment"]),
        (
            "What is planned, which tests were done, and how was the fever treated?",
            ["treatment", "test_results", "plan"],
        ),
        # A clause that leads the question with what is given does not count.
        ("Given his medical history, why did he fall?", ["etiology"]),
        ("Why did he fall, given his medical history?", ["etiology", "history"]),
        ("After the surgery, what were the vital signs?", ["vitals"]),
        # Without a comma behind it, such a clause is the question itself.
        ("Based on which symptoms?", ["sign_symptom"]),
        # A change of medication is not a change of the patient's condition.
        ("What were the changes in the patient's medications?", ["treatment"]),
        ("What were the changes in the patient's gait?", ["assessment"]),
    ],
)
def test_categories_of_a_question(question: str, expected: list[str]) -> None:
    assert list(question_categories(question)) == expected


@given(
    st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(
                "what was the any prior given , ? pain change in of".split()
            )
        ).map(" ".join),
    )
)
def test_categories_ignore_white_space_and_case(question: str) -> None:
    categories = question_categories(question)
    assert categories
    assert list(categories) == [
        category for category in CATEGORIES if category in categories
    ]
    assert question_categories(f" {question.lower()}\n") == categories


def examples_of_table_9() -> list[tuple[str, str]]:
    """Categories and questions of table 9 of the paper in the shared folder."""
    text = PAPER.read_text(encoding="utf-8")
    table = text[text.index("Table 9:") : text.index("E Model Evaluation")]
    cells = [line.split("\t") for line in table.splitlines()]
    return [
        (NAMES.get(row[1].lower(), row[1].lower()), row[2])
        for row in cells
        if len(row) == 3 and row[0].isdigit()
    ]


def examples_of_table_3() -> list[tuple[str, str, int]]:
    """Category, question and the category's share in percent."""
    text = PAPER.read_text(encoding="utf-8")
    table = text[
        text.index("Category\tExample\tProportion") : text.index("3.3 Clinician Review")
    ]
    rows = [line.split("\t") for line in table.splitlines()[1:]]
    return [
        (
            NAMES.get(row[0].lower(), row[0].lower()),
            row[1],
            int(row[2].removesuffix("%")),
        )
        for row in rows
        if len(row) == 3
    ]


@needs_shared
@pytest.mark.upstream
def test_categories_of_the_paper_s_examples() -> None:
    """The figures of docs/ehrnoteqa.md; the rule was written with knowledge of these questions."""
    examples = examples_of_table_9()
    assert len(examples) == 30
    assert {category for category, _ in examples} == set(CATEGORIES)
    categories = [question_categories(question) for _, question in examples]
    right = sum(
        category in assigned
        for (category, _), assigned in zip(examples, categories, strict=True)
    )
    assert (right, sum(map(len, categories))) == (28, 57)
    shorter = examples_of_table_3()
    assert len(shorter) == 10
    assert [share for *_, share in shorter] == [64, 19, 19, 20, 12, 3, 14, 12, 3, 5]
    assert max(shorter, key=lambda row: row[2])[0] == FALLBACK
    assert all(
        category in question_categories(question) for category, question, _ in shorter
    )
    assert sum(len(question_categories(question)) for _, question, _ in shorter) == 13


@needs_shared
@pytest.mark.upstream
def test_our_prompts_share_no_words_with_the_paper() -> None:
    """No run of eight words of the paper, which prints the judge's prompts, is in ours."""
    theirs = word_runs(PAPER.read_text(encoding="utf-8"), 8)
    assert len(theirs) > 10_000
    ours = {
        run
        for text in (prompts.INTRODUCTION, *prompts.FORMS.values())
        for run in word_runs(text, 8)
    }
    assert ours
    assert not ours & theirs
