"""Matching answers to items: what may differ, what may not, and what stays ambiguous."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.medcalc_bench.spec import MEDCALC
from medical_tasks.catalog import dataset_spec, task_spec
from medical_tasks.data.task_data import load_task_data
from medical_tasks.importing.matching import Questions, folded, id_values
from medical_tasks.importing.published import PublishedAnswer
from medical_tasks.spec import Item
from tests.report.tiny_runs import built

_NOTE = "A 70-year-old woman with FiO\u2082 of 51 % came in. Her \u201ccreatinine\u201d was 1.6."


def _item(name: str, note: str, question: str) -> Item:
    fields: Mapping[str, Any] = {
        "patient_note": note, "question": question, "ground_truth_answer": "7", "calculator_id": 2,
    }  # fmt: skip
    return Item(id=name, fields=fields, groups={}, cluster=note)


QUESTIONS = Questions(
    MEDCALC,
    [
        _item("1", _NOTE, "What is her SOFA score?"),
        _item("2", _NOTE, "What is her SOFA score? Answer in points."),
        _item("3", "Another note, of a man.", "What is his BMI?"),
        _item("4", "Another note, of a man.", "What is his BMI?"),
    ],
)
_PLAIN = _NOTE.replace("\u2082", "2").replace("\u201c", '"').replace("\u201d", '"')


@pytest.mark.parametrize(
    ("ids", "questions", "item", "way"),
    [
        # Blanks, quotation marks, case and forms of characters may differ.
        ((), [f"NOTE: {_PLAIN.replace(' ', chr(10))}\nQ: what is her SOFA score?"], "1", "text"),
        # A longer question holds the shorter one.
        ((), [f"{_NOTE} What is her SOFA score? Answer in points."], "2", "text"),
        (("1",), [f"{_NOTE} What is her SOFA score?"], "1", "id"),
        # The text decides where a source numbers its rows in its own way.
        (("3",), [f"{_NOTE} What is her SOFA score?"], "1", "text"),
        # Of two items with the same question only an id identifies one.
        ((), ["Another note, of a man. What is his BMI?"], None, "ambiguous"),
        (("4",), ["Another note, of a man. What is his BMI?"], "4", "id"),
        # The same id in another version of the data, whose note or question differs.
        (("1",), [f"{_NOTE.replace('1.6', '1.9')} What is her SOFA score?"], None, "asks otherwise"),
        (("3",), ["What is his BMI?"], "3", "id and bare question"),
        (("3",), ["What is his age?"], None, "asks otherwise"),
        (("3", "1"), [], "3", "id alone"),
        (("row", "1"), [], None, "unknown"),
        (("9",), ["Who was the first president?"], None, "unknown"),
        # A bare row is looked at before a prompt with worked examples.
        ((), [f"{_NOTE} What is her SOFA score?", f"Another note, of a man. What is his BMI? {_NOTE}"], "1", "text"),
    ],
)  # fmt: skip
def test_an_answer_finds_its_item(
    ids: tuple[str, ...], questions: list[str], item: str | None, way: str
) -> None:
    answer = PublishedAnswer(at="row 1", ids=ids, questions=tuple(questions), text="7")
    (match,) = QUESTIONS.matches([answer])
    assert (match.item, match.way) == (item, way)


@pytest.mark.parametrize("name", ["kqa", "meqsum", "aci_bench"])
def test_questions_in_other_words_find_their_items(name: str, tmp_path: Path) -> None:
    """A question of K-QA, a message of MeQSum, a dialogue of ACI-BENCH, in the prompt of another harness."""
    task = task_spec(name)
    home = built(tmp_path, task.dataset)
    items = load_task_data(
        task, dataset_spec(task.dataset), data=home, config="demo"
    ).items
    texts = [
        item.fields.get("question") or "\n".join(item.fields["sentences"])
        for item in items
    ]
    answers = [
        PublishedAnswer(at=str(number), questions=(f"Do it for me: {text}.",), text="x")
        for number, text in enumerate(texts)
    ]
    matches = Questions(task, items).matches(answers)
    assert [match.item for match in matches] == [item.id for item in items]
    assert {match.way for match in matches} == {"text"}


def test_ids_come_from_fields_named_as_ids() -> None:
    row = {
        "Row Number": 7,
        "question_id": "q7",
        "answer": "12",
        "valid": True,
        "note": "1",
    }
    assert id_values(row) == ("7", "q7")
    assert folded("Mr. Roe\u2019s  FiO\u2082") == "mr.roe'sfio2"
