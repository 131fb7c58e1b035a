"""The twin and the demo: official shape, the same bytes each time, and what the paper says of a case."""

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
DEMO = [each for cases in demo_cases().values() for each in cases]


@pytest.mark.parametrize("made", [TWIN, DEMO], ids=["twin", "demo"])
def test_written_and_read_back(
    tmp_path: Path, made: list[FullCase], capfd: pytest.CaptureFixture[str]
) -> None:
    write_split(tmp_path, made)
    cases = read_cases(tmp_path / "archehr-qa.xml")
    assert cases == [each.case for each in made]
    assert read_key(tmp_path / "archehr-qa_key.json", cases) == {
        each.case.id: each.key for each in made
    }
    assert capfd.readouterr().err == ""  # the offsets are the places
    write_split(tmp_path, made, answers=False)
    early = read_key(tmp_path / "archehr-qa_key.json", cases)
    assert early == {
        each.case.id: CaseKey(relevance=each.key.relevance) for each in made
    }
    # Each case is as the paper says.
    for each in made:
        key = each.key
        words = len(key.clinician_answer.split())
        assert 60 <= words <= 75, each.case.id
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
        assert essential <= cited, each.case.id
        assert all(key.relevance[name] != "not-relevant" for name in cited), (
            each.case.id
        )
        assert all(phrase in each.case.narrative for phrase in each.case.phrases)
        assert len({sentence.text for sentence in each.case.sentences}) == len(
            each.case.sentences
        )
