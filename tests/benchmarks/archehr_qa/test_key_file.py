"""Keys of early and of later releases, the mapping, and each rule by its message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medical_tasks.benchmarks.archehr_qa.release import (
    AnswerSentence,
    Case,
    CaseKey,
    Document,
    read_cases,
    read_key,
    read_mapping,
    without_citations,
)
from medical_tasks.errors import UsageError
from tests.benchmarks.archehr_qa.release_files import SECRET, case, key, labels, write_cases, write_json
from tests.support import SHARED, needs_shared


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    return read_cases(write_cases(tmp_path, case("1"), case("2")))


def refusal(path: Path, cases: list[Case], read: Any = read_key) -> str:
    with pytest.raises(UsageError) as caught:
        read(path, cases)
    told = str(caught.value)
    assert "marble" not in told
    assert told.startswith(str(path))
    return told


def test_an_early_key(tmp_path: Path, cases: list[Case]) -> None:
    path = write_json(tmp_path, "key", [key("2"), key("1", answers=list(reversed(labels(*["essential"] * 3))))])
    read = read_key(path, cases)
    assert list(read) == ["1", "2"]
    assert read["2"] == CaseKey(relevance={"1": "not-relevant", "2": "essential", "3": "supplementary"})
    assert list(read["1"].relevance) == ["1", "2", "3"]


def test_a_later_key(tmp_path: Path, cases: list[Case]) -> None:
    answers = {
        "clinician_answer": f"He {SECRET} [2]. It was removed [1, 3]. Well.",
        "clinician_answer_without_citations": f"He {SECRET}. It was removed. Well.\n",
        "clinician_answer_sentences": [
            {"id": "1", "text": f"He {SECRET}.", "citations": "2"},
            {"sentence_id": 2, "sentence": "It was removed. ", "citations": ["1", 3]},
            {"text": "Well.", "citations": None},
        ],
    }
    others = {
        "clinician_answer": f"He {SECRET} [2]. It was removed [1,3].",
        "clinician_answer_sentences": [{"id": "a", "text": "All.", "citations": "1 - 3, 2,"}],
    }
    read = read_key(write_json(tmp_path, "key", [key("1", **answers), key("2", **others)]), cases)
    assert read["1"].clinician_answer == f"He {SECRET}. It was removed. Well."
    assert read["1"].answer_sentences == (
        AnswerSentence(id="1", text=f"He {SECRET}.", citations=("2",)),
        AnswerSentence(id="2", text="It was removed.", citations=("1", "3")),
        AnswerSentence(id="3", text="Well.", citations=()),
    )
    assert read["1"].cited
    assert read["2"].clinician_answer == f"He {SECRET}. It was removed."
    assert read["2"].answer_sentences == (AnswerSentence(id="a", text="All.", citations=("1", "2", "3")),)


def test_a_key_that_keeps_gold_back(tmp_path: Path, cases: list[Case]) -> None:
    given = [{"id": "1", "text": "All."}, {"id": "2", "text": "Well.", "citations": ""}]
    path = write_json(tmp_path, "key", [key("1", answers=None, clinician_answer_sentences=given), {"case_id": 2}])
    read = read_key(path, cases)
    assert read["2"] == CaseKey()
    assert (read["1"].relevance, read["1"].clinician_answer, read["1"].cited) == ({}, "", False)
    assert [each.text for each in read["1"].answer_sentences] == ["All.", "Well."]


@pytest.mark.parametrize(
    ("answer", "bare"),
    [
        ("A [1]. B [2, 3].", "A. B."),
        ("A. [1] B. [2][3]", "A. B."),
        ("A [1-3].", "A."),
        ("A [x] is [not] [1.5] one.", "A [x] is [not] [1.5] one."),
        ("", ""),
    ],
)
def test_citations_are_taken_out(answer: str, bare: str) -> None:
    assert without_citations(answer) == bare


def sentences(*given: Any) -> dict[str, Any]:
    return {"clinician_answer_sentences": list(given)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answers": f"He {SECRET}"}, "answers must be a list of objects, got a text of"),
        ({"answers": [SECRET]}, "answers must be a list of objects, got a list of 1"),
        (
            {"answers": labels("essential", "vital", "essential")},
            "sentence '2': relevance must be one of essential, supple",
        ),
        ({"answers": [{"sentence_id": "1"}]}, "sentence '1': relevance must be one of essential, .*, got null"),
        ({"answers": [{"relevance": "essential"}]}, "answers, number 1: sentence_id must be"),
        ({"answers": labels(*["essential"] * 4)}, "labels sentences that the case does not have: '4'"),
        ({"answers": labels(*["essential"] * 2)}, "has no label for the sentences '3'"),
        ({"answers": labels("essential") * 2}, "sentence '1' has two labels"),
        ({"clinician_answer": 1}, "clinician_answer must be a text, got a number"),
        ({"clinician_answer_without_citations": [SECRET]}, "without_citations must be a text, got a list of 1"),
        ({"clinician_answer": "\ud800"}, "clinician_answer must be a text"),
        (sentences(SECRET), "clinician_answer_sentences must be a list of objects"),
        (sentences({"id": "1"}), "number 1: text must be a text that is not blank"),
        (sentences({"id": "1", "text": " "}), "number 1: text must be a text that is not blank"),
        (sentences({"id": "1", "text": "a"}, {"id": "1", "text": "b"}), "ids must be unique"),
        (sentences({"id": "1", "text": "a", "citations": "1,4"}), "cites sentences that the case does not have: '4'"),
        (sentences({"id": "1", "text": "a", "citations": "0-2"}), "cites sentences that the case does not have: '0'"),
        (sentences({"id": "1", "text": "a", "citations": "3-1"}), "cites sentences that the case does not have: '3-1'"),
        (sentences({"id": "1", "text": "a", "citations": f"He {SECRET}"}), "does not have: a text of 21 characters"),
        (sentences({"id": "1", "text": "a", "citations": 1}), "citations must be a list of ids, or a text with commas"),
        (sentences({"id": "1", "text": "a", "citations": [[1]]}), "citations must be a whole number or a text"),
    ],
)
def test_a_wrong_record(tmp_path: Path, cases: list[Case], changes: dict[str, Any], message: str) -> None:
    told = refusal(write_json(tmp_path, "key", [key("1"), key("2", **changes)]), cases)
    assert "case '2'" in told
    with pytest.raises(UsageError, match=message):
        raise UsageError(told)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([key("1")], "has no record of the cases '2'"),
        ([key("1"), key("2"), key("3")], "has cases that the file of cases does not have: '3'"),
        ([key("1"), key("1")], "case '1' stands twice"),
        ([key("1"), {}], "record 2: case_id must be"),
        ({"1": SECRET}, "a list of records is needed"),
    ],
)
def test_other_cases(tmp_path: Path, cases: list[Case], records: Any, message: str) -> None:
    path = write_json(tmp_path, "key", records)
    assert message in refusal(path, cases)
    assert message in refusal(path, cases, read_mapping)


def test_a_file_that_cannot_be_read(tmp_path: Path, cases: list[Case]) -> None:
    assert "No such file" in refusal(tmp_path / "none.json", cases)
    path = tmp_path / "key.json"
    path.write_text(f'[{{"case_id": "{SECRET}', encoding="utf-8")
    assert "not JSON" in refusal(path, cases)


def test_a_mapping(tmp_path: Path, cases: list[Case]) -> None:
    records: list[dict[str, Any]] = [
        {"case_id": "2", "document_id": 77, "document_source": "mimic-iv"},
        {"case_id": "1", "document_id": "5_6", "document_source": "mimic-iii"},
    ]
    path = write_json(tmp_path, "mapping", records)
    assert read_mapping(path, cases) == {
        "1": Document(id="5_6", source="mimic-iii"),
        "2": Document(id="77", source="mimic-iv"),
    }
    records[0] = {"case_id": "2", "document_id": 77, "document_source": SECRET}
    told = refusal(write_json(tmp_path, "mapping", records), cases, read_mapping)
    assert "case '2': document_source must be one of mimic-iii, mimic-iv, got a text of 18 characters" in told
    records[0] = {"case_id": "2", "document_source": "mimic-iv"}
    assert "document_id must be" in refusal(write_json(tmp_path, "mapping", records), cases, read_mapping)


@needs_shared
@pytest.mark.upstream
def test_the_fixture() -> None:
    folder = SHARED / "fixtures" / "archehr"
    cases = read_cases(folder / "archehr-qa.xml")
    read = read_key(folder / "archehr-qa_key.json", cases)
    assert list(read) == [each.id for each in cases]
    assert list(read["1"].relevance.values()).count("essential") == 3
    assert all(each.clinician_answer == "" for each in read.values())
