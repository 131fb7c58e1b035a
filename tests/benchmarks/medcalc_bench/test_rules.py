"""Each rule of the reader of answers, on the sentences that it lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.scoring import decide
from medical_tasks.scoring.numbers.rules import (
    RETRACTION,
    RULES,
    THIS,
    Rule,
    reason_of,
    refusals,
)

HOLDS = [(rule, sentence) for rule in RULES for sentence in rule.holds]
FAILS = [(rule, sentence) for rule in RULES for sentence in rule.fails]


def holds(rule: Rule, sentence: str) -> bool:
    return any(pattern.search(sentence) for pattern in rule.patterns)


@pytest.mark.parametrize(
    ("rule", "sentence"), HOLDS, ids=[sentence for _, sentence in HOLDS]
)
def test_a_rule_matches_its_sentences(rule: Rule, sentence: str) -> None:
    assert holds(rule, sentence.lower()), rule.law


@pytest.mark.parametrize(
    ("rule", "sentence"), FAILS, ids=[sentence for _, sentence in FAILS]
)
def test_a_rule_does_not_match_its_counterexamples(rule: Rule, sentence: str) -> None:
    assert not holds(rule, sentence.lower()), rule.law


def test_every_rule_lists_sentences_with_a_quantity_and_counterexamples() -> None:
    assert RULES
    for rule in RULES:
        assert rule.holds
        assert rule.fails
        assert all(THIS in sentence for sentence in rule.holds), rule.law


@pytest.mark.parametrize(
    "text",
    ["i dont know", "couldnt tell", "no\nanswer", "no\r\nidea", "i can only\tsay"],
)
def test_a_refusal_is_found_however_it_is_written(text: str) -> None:
    assert refusals(text)


@pytest.mark.parametrize("before", ["the values of ", "points of "])
def test_a_remark_about_values_is_found_at_the_end_of_a_sentence(before: str) -> None:
    assert reason_of(before, ".")


CLEARANCE = {"calculator_id": 2, "gold": "37.7", "lower": "35.8", "upper": "39.6"}
QT = {"calculator_id": 11, "gold": "412", "lower": "391", "upper": "433"}
SCORE = {"calculator_id": 4, "gold": "3", "lower": "3", "upper": "3"}
NEGATIVE = {"calculator_id": 63, "gold": "-2", "lower": "-2.1", "upper": "-1.9"}


@pytest.mark.parametrize(
    ("row", "reply"),
    [
        (
            CLEARANCE,
            "The factor is 0.85. This gives a creatinine clearance of 37.7 mL/min.",
        ),
        (
            CLEARANCE,
            "Using the CKD-EPI 2021 equation is wrong here. The CrCl is ***37.7***.",
        ),
        (CLEARANCE, '{"answer": "37.7 mL/min"'),
        (CLEARANCE, "Final answer:\n\n> **37.7**"),
        (QT, "QTc ≈ 412 ms (0.412 s)"),
        (QT, "QTc = 0.412 s, i.e. 412 ms"),
        (SCORE, "Child-Pugh was not asked; the CHA2DS2-VASc score is 3/9."),
    ],
)
def test_replies_that_state_the_answer(row: dict[str, object], reply: str) -> None:
    decision = decide(reply, **row)  # type: ignore[arg-type]
    assert decision.correct, decision.why
    assert not decision.unclear


@pytest.mark.parametrize(
    ("row", "reply", "reason"),
    [
        (NEGATIVE, "The delta gap is at least -2.", "a bound"),
        (SCORE, "3, unless he smokes, then 4", "several answers"),
        (SCORE, "The CHA2DS2-VASc score is 3, which I round to 4.", "several answers"),
        (SCORE, "The CHA2DS2-VASc score is 3 or 4.", "several answers"),
        (SCORE, "The CHA2DS2-VASc score is 3 if she is over 75.", "a condition"),
        (SCORE, "Is the CHA2DS2-VASc score 3?", "a question"),
        (SCORE, "The CHA2DS2-VASc score is not 3.", "a denial"),
        (CLEARANCE, "The CrCl is between 37.7 and 45 mL/min.", "several answers"),
        (CLEARANCE, "The CrCl is 37.7 mL/min. Wait, that is wrong.", "taken back"),
    ],
)
def test_replies_whose_answer_is_unclear(
    row: dict[str, object], reply: str, reason: str
) -> None:
    decision = decide(reply, **row)  # type: ignore[arg-type]
    assert not decision.correct
    assert decision.unclear.startswith(reason), decision


@pytest.mark.parametrize(
    ("reply", "notes"),
    [
        ("37.7 mL/min", ()),
        ("37.7 L/day", ("other_unit: L/day for mL/min",)),
        ("37.7 mg/dL", ("unit_mismatch: mg/dL for mL/min",)),
    ],
)
def test_a_right_number_in_another_unit_is_noted(
    reply: str, notes: tuple[str, ...]
) -> None:
    decision = decide(f"The creatinine clearance is {reply}.", **CLEARANCE)  # type: ignore[arg-type]
    assert decision.correct
    assert decision.notes == notes


# The words of all sentences but the value, which a sentence has once.
WORDS = sorted(
    {
        word
        for rule in RULES
        for text in rule.holds + rule.fails
        for word in text.lower().split()
        if THIS not in word
    }
    | set(
        "× + = ≈ < ( ) - | ? cannot could won't would above each of to equal be for the § ¤ ¤, ¤. patient's".split()
    )
)


@given(
    words_before=st.lists(st.sampled_from(WORDS), max_size=8),
    words_after=st.lists(st.sampled_from(WORDS), max_size=6),
)
def test_patterns_that_the_reader_skips_do_not_match(
    words_before: list[str], words_after: list[str]
) -> None:
    before, after = " ".join([*words_before, ""]), " ".join(["", *words_after])
    reasons = [rule.reason for rule in RULES if holds(rule, f"{before}{THIS}{after}")]
    assert reason_of(before, after) == (reasons[0] if reasons else "")


@pytest.mark.parametrize(
    ("postscript", "takes_back"),
    [
        (". ps: ignore that", True),
        (". p.s. that was a joke", True),
        (". ps: consult a doctor", False),
        (". p.s. see a specialist", False),
    ],
)
def test_a_postscript_takes_back_only_if_it_says_so(
    postscript: str, takes_back: bool
) -> None:
    assert bool(RETRACTION.search(postscript)) is takes_back
