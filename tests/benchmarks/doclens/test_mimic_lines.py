"""Wrapped lines joined, and sentences of findings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.mimic_report import joined_lines
from medical_tasks.benchmarks.doclens.mimic_sample import report_sentences


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("", ""),
        (" \n\n ", ""),
        ("  There is a\n hematoma.\n", "There is a hematoma."),
        ("One.\n\n\n Two.", "One.\n\nTwo."),
        (" 1. Bleed of the\n    left side.\n 2. No fracture.", "1. Bleed of the left side.\n2. No fracture."),
        ("1. Bleed.\n\n2. No fracture.", "1. Bleed.\n\n2. No fracture."),
        ("- a bleed\n- no fracture", "- a bleed\n- no fracture"),
        ("measures up to\n 3. It is new.", "measures up to 3. It is new."),
        ("measures 3.5 x\n 2.1 cm.", "measures 3.5 x 2.1 cm."),
        ("CT CHEST:\n\n Clear lungs.", "CT CHEST: Clear lungs."),
        ("Findings:\n\n 1. A bleed.", "Findings:\n\n1. A bleed."),
        # The end of a page amid a sentence, and behind one.
        ("The left\n\n kidney is small.", "The left kidney is small."),
        ("The left\n\n Kidney is small.", "The left\n\nKidney is small."),
        ("It is small.\n\n left as it was.", "It is small.\n\nleft as it was."),
    ],
)
def test_cases(text: str, joined: str) -> None:
    assert joined_lines(text) == joined


@pytest.mark.parametrize(
    ("findings", "sentences"),
    [
        ("", []),
        ("Clear lungs", ["Clear lungs"]),
        ("It is approx. 3.5 cm. Dr. [**Name (un) 1**] knows.", ["It is approx. 3.5 cm.", "Dr. [**Name (un) 1**] knows."]),
        ("Seen on [**2151-3-2**]. No change vs. before.", ["Seen on [**2151-3-2**].", "No change vs. before."]),
        ("CHEST: Clear.\n\nNo fracture", ["CHEST: Clear.", "No fracture"]),
        ("1. A bleed.\n2. No fracture.", ["1. A bleed.", "2. No fracture."]),
    ],
)  # fmt: skip
def test_sentences(findings: str, sentences: list[str]) -> None:
    assert report_sentences(findings) == sentences


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from(list("ab1. \n-:A)")), max_size=60))
def test_laws(text: str) -> None:
    joined = joined_lines(text)
    assert joined.split() == text.split()
    assert joined_lines(joined).split() == joined.split()
    sentences = report_sentences(joined)
    assert " ".join(sentences).split() == text.split()
    assert all(each == " ".join(each.split()) and each for each in sentences)
