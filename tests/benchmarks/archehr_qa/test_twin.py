"""The twin and the demo: files in the official format, and cases as the paper describes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from measurements.archehr_twin import twin_cases, write_split
from medical_tasks.benchmarks.archehr_qa.data import demo_cases
from medical_tasks.benchmarks.archehr_qa.release import (
    LABELS,
    CaseKey,
    FullCase,
    read_cases,
    read_key,
)

TWIN = twin_cases(seed=6, cases=100)
DEMO = [case for cases in demo_cases().values() for case in cases]


@pytest.mark.parametrize("full_cases", [TWIN, DEMO], ids=["twin", "demo"])
def test_written_cases_are_read_back(
    tmp_path: Path, full_cases: list[FullCase], capfd: pytest.CaptureFixture[str]
) -> None:
    write_split(tmp_path, full_cases)
    cases = read_cases(tmp_path / "archehr-qa.xml")
    assert cases == [full_case.case for full_case in full_cases]
    assert read_key(tmp_path / "archehr-qa_key.json", cases) == {
        full_case.case.id: full_case.key for full_case in full_cases
    }
    assert capfd.readouterr().err == ""  # the offsets are right
    write_split(tmp_path, full_cases, answers=False)
    early = read_key(tmp_path / "archehr-qa_key.json", cases)
    assert early == {
        full_case.case.id: CaseKey(relevance=full_case.key.relevance)
        for full_case in full_cases
    }
    # Each case is as the paper describes it.
    for full_case in full_cases:
        key = full_case.key
        words = len(key.clinician_answer.split())
        assert 60 <= words <= 75, full_case.case.id
        assert key.clinician_answer == " ".join(
            sentence.text for sentence in key.answer_sentences
        )
        assert set(key.relevance.values()) == set(LABELS)
        cited = {
            name for sentence in key.answer_sentences for name in sentence.citations
        }
        essential = {
            name for name, label in key.relevance.items() if label == "essential"
        }
        assert essential <= cited, full_case.case.id
        assert all(key.relevance[name] != "not-relevant" for name in cited), (
            full_case.case.id
        )
        assert all(
            phrase in full_case.case.narrative for phrase in full_case.case.phrases
        )
        assert len({sentence.text for sentence in full_case.case.sentences}) == len(
            full_case.case.sentences
        )
