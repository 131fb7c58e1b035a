"""The shared task's script, bug for bug: its reading, its figures to the last bit, and where it ends with an error."""

from __future__ import annotations

import json

import pytest

from medical_tasks.archehr_qa.official import official_answer, official_factuality
from medical_tasks.errors import UsageError
from tests.archehr_qa.fixture_cases import FIXTURE, checked, checked_items
from tests.support import needs_shared


@pytest.mark.upstream
@needs_shared
def test_every_checked_form() -> None:
    units = checked()["parser_units"]
    raised = 0
    for unit in units:
        read = official_answer(unit["answer"])
        if "ref_error" in unit:
            raised += 1
            assert not read.citations, unit["answer"]  # where it ends with an AssertionError
        else:
            assert (read.text, sorted(read.citations)) == (unit["ref_answer"], unit["ref_citations"]), unit["answer"]
    assert (len(units), raised) == (26, 4)


@pytest.mark.upstream
@needs_shared
def test_the_checked_cases_and_their_figures() -> None:
    items, answers = checked_items()
    read = dict(zip((item.id for item in items), map(official_answer, answers), strict=True))
    parsed = checked()["parsed"]
    assert len(parsed) == 6
    for case in parsed:
        answer = read[case["case_id"]]
        assert (answer.text, sorted(answer.citations)) == (case["answer"], sorted(case["citations"]))
    key = {
        record["case_id"]: {each["sentence_id"]: each["relevance"] for each in record["answers"]}
        for record in json.loads((FIXTURE / "archehr-qa_key.json").read_text(encoding="utf-8"))
    }
    found = official_factuality([(item.id, answer) for item, answer in zip(items, answers, strict=True)], key)
    assert found == checked()["factuality"]


def test_what_it_does_to_other_forms() -> None:
    forms = {
        "A. |1, 2|": ("1", " 2"),
        "A. |1-3|": ("1-3",),
        "A. |1|.": ("1",),
        "A. |1||2|": ("2",),
        "A. |1| B. |2|": ("2",),
        "A. |01|": ("01",),
        "A. |,|": (),
        "A. [1]": (),
        "A. |1|\r\nB. |2|\r\n": ("1", "2"),
    }
    assert {text: official_answer(text).citations for text in forms} == forms


KEY = {"1": {"1": "essential", "2": "supplementary"}, "2": {"1": "not-relevant"}}


def test_figures_by_hand() -> None:
    found = official_factuality([("1", "A. |1,2|"), ("2", "B. |1|")], KEY)
    # Case 1: 1 of 2 cited is essential, 1 of 1 essential is cited. Case 2: nothing is right, so that all three are 0.
    assert found["strict"]["macro"] == {"precision": 0.25, "recall": 0.5, "f1": pytest.approx(1 / 3)}
    assert found["strict"]["micro"] == {"precision": pytest.approx(1 / 3), "recall": 1.0, "f1": 0.5}
    assert found["lenient"]["micro"]["precision"] == pytest.approx(2 / 3)
    twice = official_factuality([("1", "A. |1|"), ("1", "A. |1,2|"), ("2", "B. |1|")], KEY)
    assert twice["strict"]["micro"]["precision"] == 0.5
    assert official_factuality([], {})["strict"]["micro"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_where_it_ends_with_an_error() -> None:
    with pytest.raises(UsageError, match="cases of the answers and of the key differ, in 2, 3"):
        official_factuality([("1", "A. |1|"), ("3", "B. |1|")], KEY)
    with pytest.raises(UsageError, match="case 2 cites nothing, where it ends with an AssertionError") as caught:
        official_factuality([("1", "A. |1|"), ("2", "Zebra [1].")], KEY)
    assert "ebra" not in str(caught.value)
