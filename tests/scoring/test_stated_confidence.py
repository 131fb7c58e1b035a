"""Stated confidence: the forms in which models state it, and the answer without it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.stated_confidence import (
    INSTRUCTION,
    read_confidence,
    split_confidence,
)
from tests.benchmarks.medcalc_bench.official_csv import v1_cells
from tests.support import needs_shared

FORMS = {
    # in the form that the prompt asks for
    "24.7\nConfidence: 95%": ("24.7", 0.95),
    '{"answer": "24.7"}\n\nConfidence: 95%\n': ('{"answer": "24.7"}', 0.95),
    # decorated, or in other words
    "24.7\n**Confidence:** 95 %": ("24.7", 0.95),
    "24.7\n- My confidence level is 95 percent.": ("24.7", 0.95),
    "24.7\n| Confidence | 95% |": ("24.7", 0.95),
    "24.7\nConfidence (0-100): 95": ("24.7", 0.95),
    "24.7\nConfidence: 95% (very sure)": ("24.7", 0.95),
    "24.7\nConfidence:\n95%": ("24.7", 0.95),
    "24.7\nConfidence: 0.95": ("24.7", 0.95),
    "24.7\nConfidence: 95,5 %": ("24.7", 0.955),
    "24.7\nConfidence: 9/10": ("24.7", 0.9),
    "24.7\nConfidence: 95 out of 100": ("24.7", 0.95),
    # behind the answer, or within an object
    "It is 24.7. Confidence: 95%": ("It is 24.7.", 0.95),
    "24.7 Confidence: 95%": ("24.7", 0.95),
    "24.7 (Confidence: 95%)": ("24.7", 0.95),
    '{"answer": "24.7", "confidence": "95%"}': ('{"answer": "24.7"}', 0.95),
    '{"confidence": 95, "answer": "24.7"}': ('{ "answer": "24.7"}', 0.95),
    # the last of several, and none of those in reasoning
    "Confidence: 60%\n24.7\nConfidence: 95%": ("\n24.7", 0.95),
    "<think>\nConfidence: 20%</think>24.7": (
        "<think>\nConfidence: 20%</think>24.7",
        None,
    ),
    "<think>So 25?</think>24.7\nConfidence: 95%": ("<think>So 25?</think>24.7", 0.95),
    # no number, or more than one: removed all the same
    "24.7\nConfidence: high": ("24.7", None),
    "24.7\nConfidence: 90-95%": ("24.7", None),
    "24.7\nConfidence: > 90%": ("24.7", None),
    "24.7\nConfidence: 120%": ("24.7", None),
    "24.7\nConfidence: -5%": ("24.7", None),
    "24.7\nConfidence: 1": ("24.7", None),
    "24.7\nConfidence: N%": ("24.7", None),
    "Confidence: 60%\n24.7\nConfidence: low": ("\n24.7", None),
    # no confidence at all
    "24.7": ("24.7", None),
    "The 95% confidence interval is 20 to 30.": (
        "The 95% confidence interval is 20 to 30.",
        None,
    ),
    "": ("", None),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms_of_a_statement(text: str) -> None:
    stated = split_confidence(text)
    assert (stated.answer.rstrip(), stated.confidence) == FORMS[text]


@pytest.mark.parametrize(
    ("text", "share"),
    [("0", 0.0), ("100", 1.0), ("1.0", 1.0), ("1%", 0.01), ("", None)],
)
def test_ends_of_the_scale(text: str, share: float | None) -> None:
    assert read_confidence(text) == share


@given(st.text(max_size=200), st.integers(0, 100))
def test_a_statement_after_any_answer_is_removed(text: str, number: int) -> None:
    if "confidence" in text.lower():
        return
    assert split_confidence(text).answer == text
    stated = split_confidence(f"{text}\n\nConfidence: {number}%")
    assert stated.answer == text.rstrip()
    assert stated.confidence == pytest.approx(number / 100)


def test_the_line_of_the_instruction_is_no_confidence() -> None:
    assert split_confidence(INSTRUCTION).confidence is None


STYLES = (
    '{{"answer": "{}"}}',
    "{}",
    "**Answer:** {} mg/dL.",
    "First 120 - 95 = 25.\nThe final answer is {}.",
    '```json\n{{"step_by_step_thinking": "95 %", "answer": {}}}\n```',
)
ENDINGS = (
    "\nConfidence: 95%",
    "\n\n**Confidence:** 95 %",
    " Confidence: 95%",
    "\n\nConfidence: 0.95\n",
)


@pytest.mark.upstream
@needs_shared
def test_answers_of_medcalc_are_the_same_without_their_confidence() -> None:
    for row in v1_cells():
        for style in STYLES:
            text = style.format(row["Ground Truth Answer"])
            for ending in ENDINGS:
                stated = split_confidence(text + ending)
                assert (stated.answer, stated.confidence) == (text, 0.95)
