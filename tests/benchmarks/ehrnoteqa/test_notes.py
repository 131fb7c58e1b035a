"""White space and header: the cases of the paper's appendix C.1, and what holds for any text."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.notes import prepared_text, reduced_space
from tests.case_tables import tabled


@tabled("text", "reduced")
def test_cases(text: str, reduced: str) -> None:
    assert reduced_space(text) == reduced


@settings(deadline=None, max_examples=150)
@given(st.text(st.sampled_from(list("ab \n\t\r\xa0\x1f")), max_size=40))
def test_laws(text: str) -> None:
    reduced = reduced_space(text)
    assert reduced.split() == text.split()
    assert reduced_space(reduced) == reduced
    assert len(reduced) <= len(text)
    assert reduced == reduced.strip()


def test_a_megabyte_of_spaces_is_no_trap() -> None:
    # Looking for a line end behind each of them would take hours: the suite's time limit ends it.
    assert reduced_space("a" + " " * 1_000_000 + "b") == "a b"


def test_header() -> None:
    text = prepared_text(" x  y ", patient_id="1", hadm_id="2", charttime="2150-01-02 03:04:05")
    assert text == "Patient ID : 1\nAdmission ID : 2\nChartdate : 2150-01-02\nx y"
