"""The authors' decisions, against cases that were run through their script (fixtures, key `kqa`)."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from medical_tasks.benchmarks.kqa.official import (
    N_QUESTIONS,
    GoldQuestion,
    counts_as_contradiction,
    label_is_true,
    official_summary,
)
from medical_tasks.errors import UsageError
from tests.support import SHARED, needs_shared

GOLD = [
    GoldQuestion(question="a", must_have=("m1", "m2"), nice_to_have=("n1",)),
    GoldQuestion(question="b", must_have=(), nice_to_have=("n2",)),
    GoldQuestion(question="c", must_have=(), nice_to_have=()),
]
TEXTS: dict[Any, str] = {
    ("is_entails", "a", "m1"): "The answer is True.",
    ("is_entails", "a", "m2"): "The answer is False.",
    ("is_contradict", "a", "m1"): "It is True that both speak of it. The answer is False.",
    ("is_contradict", "a", "m2"): "the answer is true.",
    ("is_contradict", "a", "n1"): "The answer is False.",
    ("is_contradict", "b", "n2"): "The answer is True.",
}


@pytest.fixture(scope="module")
def fixture() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((SHARED / "fixtures" / "metrics.json").read_text(encoding="utf-8"))["kqa"]
    return content


def _gold(fixture: dict[str, Any]) -> list[GoldQuestion]:
    rows = [*fixture["gold"], *fixture["gold_extra"]]
    assert len(rows) == 10
    return [
        GoldQuestion(
            question=row["Question"], must_have=tuple(row["Must_have"]), nice_to_have=tuple(row["Nice_to_have"])
        )
        for row in rows
    ]


def _texts(fixture: dict[str, Any]) -> dict[Any, str]:
    texts = {(one["task"], one["question"], one["statement"]): one["text"] for one in fixture["judge_texts"]}
    assert len(texts) == 24
    return texts


def _same(one: float, other: float | None) -> bool:
    return math.isnan(one) if other is None else one == other


@pytest.mark.upstream
@needs_shared
@pytest.mark.parametrize(
    "name", ["five_of_seven_answered", "extra_unknown_question_dropped", "empty_must_have_gives_nan_recall"]
)
def test_cases_run_through_their_script(fixture: dict[str, Any], name: str) -> None:
    assert len(fixture["cases"]) == 4
    case = next(one for one in fixture["cases"] if one["name"] == name)
    summary = official_summary(case["questions"], _gold(fixture), _texts(fixture))
    figures = {
        "Comp": summary.comp,
        "Comp_norm": summary.comp_norm,
        "Hall": summary.hall,
        "Hall_norm": summary.hall_norm,
        "N_contra": summary.n_contra,
        "N_answered_questions": summary.n_answered,
    }
    assert figures == case["expected"]
    assert len(summary.rows) == len(case["per_question"])
    for row, wanted in zip(summary.rows, case["per_question"], strict=True):
        assert row.question == wanted["Question"]
        assert _same(row.recall, wanted["recall"])
        assert _same(row.precision, wanted["precision"])
        assert row.n_contra == wanted["n_contra"]
        assert list(row.entail_labels) == wanted["entail_labels"]
        assert list(row.contradict_labels_must) == wanted["contradict_labels_must"]
        assert list(row.contradict_labels_nice) == wanted["contradict_labels_nice"]


@pytest.mark.upstream
@needs_shared
def test_a_lost_judge_reply_ends_their_script_and_is_named_by_ours(fixture: dict[str, Any]) -> None:
    case = next(one for one in fixture["cases"] if one["name"] == "judge_exception_swallowed")
    assert case["error"].startswith("TypeError")
    with pytest.raises(UsageError, match="is_contradict: no judge reply for the statement 'm' of the question 'Q10"):
        official_summary(
            ["Q1 Can I take ibuprofen with lisinopril?", "Q10 judge failure"], _gold(fixture), _texts(fixture)
        )


@pytest.mark.upstream
@needs_shared
def test_labels_of_single_replies(fixture: dict[str, Any]) -> None:
    assert len(fixture["label_units"]) == 10
    for unit in fixture["label_units"]:
        text = unit["judge_text"]
        assert label_is_true(text) is unit["ref_entail_label"], text
        assert counts_as_contradiction(text) is unit["ref_contra_counted"], text


def test_lower_case_letters_that_are_two_count_as_two() -> None:
    # The capital I with a dot is two characters in lower case, so that "true" stands further from the end.
    assert label_is_true("true" + "i" * 16)
    assert not label_is_true("true" + "\u0130" * 16)


def test_by_hand() -> None:
    # a: recall 1/2; labelled contradicted m2 only (precision 2/3), counted m1 only. b: no recall; n2 counted. c: nothing.
    summary = official_summary(["a", "b", "c", "d"], GOLD, TEXTS, n_questions=4)
    assert (summary.comp, summary.comp_norm) == (0.125, 0.5)
    assert (summary.hall, summary.hall_norm) == (0.5, 2 / 3)
    assert (summary.n_contra, summary.n_answered) == (2, 3)
    a, b, c = summary.rows
    assert a.precision == pytest.approx(2 / 3)
    assert (a.contradict_labels_must, a.contradict_labels_nice) == ((False, True), (False,))
    assert math.isnan(b.recall)
    assert (b.precision, b.n_contra) == (0.0, 1)
    assert math.isnan(c.recall)
    assert math.isnan(c.precision)


def test_rows_given_twice_count_twice() -> None:
    once, twice = (official_summary(answered, GOLD, TEXTS) for answered in (["a"], ["a", "a"]))
    assert twice.comp == 2 * once.comp
    assert twice.n_contra == 2 * once.n_contra
    assert twice.comp_norm == once.comp_norm


def test_nothing_answered() -> None:
    summary = official_summary([], GOLD, TEXTS)
    assert (summary.comp, summary.hall, summary.n_answered) == (0.0, 0.0, 0)
    assert math.isnan(summary.comp_norm)
    assert math.isnan(summary.hall_norm)
    assert N_QUESTIONS == 201


def test_a_constant_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="n_questions must be at least 1; got 0"):
        official_summary([], GOLD, TEXTS, n_questions=0)


@pytest.mark.parametrize(
    ("text", "label", "counted"),
    [
        ("", False, False),
        ("   ", False, False),
        ("untrue", True, False),
        ("True", True, True),
        ("TRUE", True, False),
        ("xxxxTrue" + "x" * 16, True, True),
        ("xxxxTrue" + "x" * 17, False, True),
        ("Falsetrue", True, False),
        ("Truest of all is the false", False, True),
    ],
)
def test_the_window_of_twenty_characters(text: str, label: bool, counted: bool) -> None:
    assert (label_is_true(text), counts_as_contradiction(text)) == (label, counted)
