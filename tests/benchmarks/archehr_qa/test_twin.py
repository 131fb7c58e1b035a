"""The twin and the demo: official shape, the same bytes each time, and what the paper says of a case."""

from __future__ import annotations

import statistics
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
    assert early == {each.case.id: CaseKey(relevance=each.key.relevance) for each in made}
    # Each case is as the paper says.
    for each in made:
        key = each.key
        words = len(key.clinician_answer.split())
        assert 60 <= words <= 75, each.case.id
        assert key.clinician_answer == " ".join(sentence.text for sentence in key.answer_sentences)
        assert set(key.relevance.values()) == set(LABELS)
        cited = {name for sentence in key.answer_sentences for name in sentence.citations}
        essential = {name for name, label in key.relevance.items() if label == "essential"}
        assert essential <= cited, each.case.id
        assert all(key.relevance[name] != "not-relevant" for name in cited), each.case.id
        assert all(phrase in each.case.narrative for phrase in each.case.phrases)
        assert len({sentence.text for sentence in each.case.sentences}) == len(each.case.sentences)


def test_lengths_of_the_twin_and_of_the_demo() -> None:
    sentences = [len(each.case.sentences) for each in TWIN]
    labels = [label for each in TWIN for label in each.key.relevance.values()]
    assert 24 < statistics.mean(sentences) < 27  # 25.7 in the paper
    assert 0.2 < labels.count("essential") / len(labels) < 0.27  # 0.257
    assert 0.17 < labels.count("supplementary") / len(labels) < 0.23  # 0.201
    assert (
        65 < statistics.mean(len(each.key.clinician_answer.split()) for each in TWIN) < 75
    )  # 72.6
    assert {each.document.source for each in TWIN} == {"mimic-iii", "mimic-iv"}
    # The demo has shorter notes, and a split of 2026.
    assert {split: len(cases) for split, cases in demo_cases().items()} == {
        "dev": 4,
        "test": 6,
        "test_2026": 2,
    }
    assert len({each.case.id for each in DEMO}) == 12
    for each in DEMO:
        assert 8 <= len(each.case.sentences) <= 15
        assert any(sentence.text.endswith(":") for sentence in each.case.sentences)
    assert {each.document.source for each in DEMO} == {"mimic-iii", "mimic-iv"}
    rest = [sentence.citations for each in DEMO for sentence in each.key.answer_sentences]
    assert () in rest
    assert any(len(cited) > 1 for cited in rest)
