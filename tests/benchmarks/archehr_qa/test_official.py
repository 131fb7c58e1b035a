"""How the organizers' scripts read submissions, bug for bug."""

from __future__ import annotations

import pytest

from medical_tasks.benchmarks.archehr_qa.scoring import (
    has_bleu,
    official_alignment,
    official_answer,
    official_ids,
    official_text,
)
from tests.benchmarks.archehr_qa.fixture_cases import checked, checked_items
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
def test_the_checked_cases() -> None:
    items, answers = checked_items()
    read = dict(zip((item.id for item in items), map(official_answer, answers), strict=True))
    parsed = checked()["parsed"]
    assert len(parsed) == 6
    for case in parsed:
        answer = read[case["case_id"]]
        assert (answer.text, sorted(answer.citations)) == (case["answer"], sorted(case["citations"]))


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


def test_texts_of_2026_are_taken_as_they_are() -> None:
    assert official_text(" Why\nwas  it? ", 15) == "Why\nwas  it?"
    assert official_text("a\u00a0b\tc  d", 3) == "a b c"
    assert official_text(" \n", 15) == ""
    # evaluate's BLEU divides by the tokens of the prediction.
    assert [has_bleu(text) for text in ("a", ".", "", "<skipped>", " \u3000")] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("reply", "ids"),
    [
        ('["2", "01", " 3"]', ("2", "01", " 3")),
        (' ["2"] ', ("2",)),
        ("<think>[1]</think>\n[]", ()),
        ("[2, 1]", ("read",)),  # numbers are no ids of a submission; what we read has their texts
        ('```json\n["2"]\n```', ("read",)),
        ('["2"] and more', ("read",)),
        ("", ("read",)),
    ],
)
def test_ids_of_a_submission(reply: str, ids: tuple[str, ...]) -> None:
    assert official_ids(reply, ("read",)) == ids


def test_pairs_of_a_submission() -> None:
    exact = '[{"answer_id": "1", "evidence_id": ["2", "02"]}, {"answer_id": "x", "evidence_id": [], "more": 1}]'
    assert official_alignment(exact, ()) == (("1", ("2", "02")), ("x", ()))
    for other in ("1: 2", '{"1": ["2"]}', '[{"answer_id": 1, "evidence_id": ["2"]}]', '[{"answer_id": "1"}]'):
        assert official_alignment(other, [("1", "2")]) == (("1", ("2",)),)
