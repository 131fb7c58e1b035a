"""The files of a release: reading and checks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.data import FOLDERS, find_splits, split_of
from medical_tasks.benchmarks.archehr_qa.release import (
    SIZE_LIMIT_BYTES,
    AnswerSentence,
    Case,
    CaseKey,
    Document,
    Sentence,
    read_cases,
    read_key,
    read_mapping,
    without_citations,
)
from medical_tasks.errors import UsageError
from tests.benchmarks.archehr_qa.release_files import (
    EXCERPT,
    NARRATIVE,
    SECRET,
    case,
    key,
    labels,
    sentence,
    write_cases,
    write_json,
)
from tests.benchmarks.common import refusal_message
from tests.case_tables import tables
from tests.support import SHARED, needs_shared

CASES = tables(__file__, "release")

NAME = "archehr-qa.xml"


def touch_cases(root: Path, *folders: str) -> Path:
    for folder in folders:
        assert not folder.startswith("/")
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / NAME).touch()
    return root


@pytest.mark.parametrize(
    "above",
    ["", "1.3", "archehr-qa-bionlp-task-2025/1.3", "archehr-qa-a-long-title-1.3"],
)
@pytest.mark.parametrize(
    "splits",
    [
        ("dev",),
        ("test",),
        ("dev", "test"),
        ("test_2026",),
        ("dev", "test", "test_2026"),
    ],
)
def test_folders_of_splits(tmp_path: Path, above: str, splits: tuple[str, ...]) -> None:
    touch_cases(tmp_path / above, *(FOLDERS[split] for split in splits))
    splits_found = find_splits(tmp_path)
    assert splits_found == {
        split: tmp_path / above / FOLDERS[split] / NAME for split in splits
    }
    assert tuple(splits_found) == splits


@pytest.mark.parametrize(("folder", "split"), CASES["test_the_split_of_one_folder"])
def test_the_split_of_one_folder(
    tmp_path: Path, folder: str, split: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch_cases(tmp_path, folder)
    assert split_of(tmp_path / folder) == split
    assert find_splits(tmp_path / folder) == {split: tmp_path / folder / NAME}
    monkeypatch.chdir(tmp_path / folder)
    assert find_splits(Path()) == {split: Path(NAME)}


def test_ambiguous_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"has several releases: 1.2, 1.3. Give --source the folder of one",
    ):
        find_splits(touch_cases(tmp_path / "a", "1.2/dev", "1.3/dev", "1.3/test"))
    with pytest.raises(UsageError, match=r"has archehr-qa.xml in itself and in dev"):
        find_splits(touch_cases(tmp_path / "b", "", "dev"))
    with pytest.raises(
        UsageError,
        match=r"is a file. Give --source its folder, since it also needs the key and the mapping",
    ):
        find_splits(tmp_path / "b" / NAME)
    for folder in (
        tmp_path,
        tmp_path / "none",
        touch_cases(tmp_path / "c", "other/dev"),
    ):
        assert find_splits(folder) == {}


def refusal(path: Path, *cases: list[Case], read: Any = read_cases) -> str:
    message = refusal_message(lambda: read(path, *cases))
    assert message.startswith(f"{path}")
    return message


def test_a_case_is_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (read,) = read_cases(write_cases(tmp_path, case("x7")))
    assert read == Case(
        id="x7",
        narrative=NARRATIVE,
        phrases=("Is that bad?",),
        clinician_question=f"Is it bad that he {SECRET}?",
        sentences=(
            Sentence(id="1", paragraph_id="0", text="Course:"),
            Sentence(id="2", paragraph_id="1", text=f"He {SECRET}."),
            Sentence(id="3", paragraph_id="1", text="It was\nremoved."),
        ),
    )
    assert capfd.readouterr().err == ""
    # Elements that later releases may leave out or add.
    numbered = (
        f'<sentence id="0">Course:</sentence><sentence id="1">He {SECRET}.</sentence>'
    )
    whole = f"<note_excerpt_sentences>{numbered}</note_excerpt_sentences>"
    (read,) = read_cases(
        write_cases(tmp_path, case(question="<more>1</more>", numbered=whole, note=""))
    )
    assert read.phrases == ()
    assert [(item.id, item.paragraph_id) for item in read.sentences] == [
        ("0", ""),
        ("1", ""),
    ]


def numbered(*sentences: tuple[str, str, int | str | None, str]) -> dict[str, str]:
    return {"sentences": "".join(sentence(*fields) for fields in sentences)}


@pytest.mark.parametrize(("changes", "message"), CASES["test_a_wrong_case_is_named"])
def test_a_wrong_case_is_named(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    error = refusal(write_cases(tmp_path, case("1"), case("2", **changes)))
    assert "case '2'" in error
    assert message in error
    assert error.endswith("Download the file again.")


def test_wrong_files_of_cases_are_refused(tmp_path: Path) -> None:
    assert "case '1': appears twice" in refusal(
        write_cases(tmp_path, case("1"), case("1"))
    )
    assert "case number 1: id must be" in refusal(write_cases(tmp_path, case("")))
    assert "has no <case> in <annotations>" in refusal(write_cases(tmp_path))
    assert "none of its 1 cases has a note excerpt" in refusal(
        write_cases(tmp_path, case(note="", numbered=""))
    )
    path = tmp_path / "archehr-qa.xml"
    path.write_text("<cases/>", encoding="utf-8")
    assert "outermost element is not <annotations>" in refusal(path)
    path.write_text(
        f'<!DOCTYPE a [<!ENTITY b "{SECRET}">]><annotations>&b;</annotations>',
        encoding="utf-8",
    )
    assert "declares entities" in refusal(path)
    path.write_bytes(b" " * (SIZE_LIMIT_BYTES + 1))
    assert "more than 16,777,216" in refusal(path)
    assert "No such file" in refusal(tmp_path / "none.xml")


def test_offsets_that_are_all_zero_are_ignored(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flat = numbered(
        ("1", "0", 0, "Course:"),
        ("2", "0", 0, f"He {SECRET}."),
        ("3", "0", 0, "It was removed."),
    )
    (read,) = read_cases(write_cases(tmp_path, case(**flat)))
    assert [item.text for item in read.sentences] == [
        "Course:",
        f"He {SECRET}.",
        "It was removed.",
    ]
    # Other offsets in order are reported and otherwise ignored.
    apart = numbered(("1", "1", 0, f"He {SECRET}."), ("2", "1", 40, "It was removed."))
    cases = read_cases(
        write_cases(tmp_path, *(case(str(number), **apart) for number in range(12)))
    )
    assert len(cases) == 12
    stderr = capfd.readouterr().err
    assert (
        "in 12 cases ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9' and 2 more); it is not used"
        in stderr
    )
    assert "marble" not in stderr
    # The excerpt may have other line breaks.
    (read,) = read_cases(
        write_cases(tmp_path, case(excerpt=EXCERPT.replace(" ", "\n ")))
    )
    assert len(read.sentences) == 3


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    position=st.floats(0, 1), length=st.integers(0, 40), inserted=st.binary(max_size=4)
)
def test_a_damaged_file_is_read_or_refused_without_a_quotation(
    tmp_path: Path, position: float, length: int, inserted: bytes
) -> None:
    path = write_cases(tmp_path, case("1"), case("2"))
    data = path.read_bytes()
    start = int(position * len(data))
    path.write_bytes(data[:start] + inserted + data[start + length :])
    try:
        read = read_cases(path)
    except UsageError as error:
        assert "marble" not in str(error)  # noqa: PT017 - the message, if the file is refused
    else:
        assert read


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    return read_cases(write_cases(tmp_path, case("1"), case("2")))


def test_keys_are_read(tmp_path: Path, cases: list[Case]) -> None:
    path = write_json(
        tmp_path,
        "key",
        [key("2"), key("1", answers=list(reversed(labels(*["essential"] * 3))))],
    )
    read = read_key(path, cases)
    assert list(read) == ["1", "2"]
    assert read["2"] == CaseKey(
        relevance={"1": "not-relevant", "2": "essential", "3": "supplementary"}
    )
    assert list(read["1"].relevance) == ["1", "2", "3"]
    answer_sentences = [
        {"id": "1", "text": "All."},
        {"id": "2", "text": "Well.", "citations": ""},
    ]
    path = write_json(
        tmp_path,
        "key",
        [
            key("1", answers=None, clinician_answer_sentences=answer_sentences),
            {"case_id": 2},
        ],
    )
    read = read_key(path, cases)  # gold is not released
    assert read["2"] == CaseKey()
    assert (read["1"].relevance, read["1"].clinician_answer, read["1"].cited) == (
        {},
        "",
        False,
    )
    assert [answer_sentence.text for answer_sentence in read["1"].answer_sentences] == [
        "All.",
        "Well.",
    ]
    # A key of a later release.
    answers, others = CASES["later_key"]
    read = read_key(
        write_json(tmp_path, "key", [key("1", **answers), key("2", **others)]), cases
    )
    assert read["1"].clinician_answer == f"He {SECRET}. It was removed. Well."
    assert read["1"].answer_sentences == (
        AnswerSentence(id="1", text=f"He {SECRET}.", citations=("2",)),
        AnswerSentence(id="2", text="It was removed.", citations=("1", "3")),
        AnswerSentence(id="3", text="Well.", citations=()),
    )
    assert read["1"].cited
    assert read["2"].clinician_answer == f"He {SECRET}. It was removed."
    assert read["2"].answer_sentences == (
        AnswerSentence(id="a", text="All.", citations=("1", "2", "3")),
    )
    for answer, bare in CASES["citations"]:
        assert without_citations(answer) == bare


@pytest.mark.parametrize(("changes", "message"), CASES["test_a_wrong_record_is_named"])
def test_a_wrong_record_is_named(
    tmp_path: Path, cases: list[Case], changes: dict[str, Any], message: str
) -> None:
    error = refusal(
        write_json(tmp_path, "key", [key("1"), key("2", **changes)]),
        cases,
        read=read_key,
    )
    assert "case '2'" in error
    assert re.search(message, error)


@pytest.mark.parametrize(
    ("records", "message"), CASES["test_records_of_other_cases_are_refused"]
)
def test_records_of_other_cases_are_refused(
    tmp_path: Path, cases: list[Case], records: Any, message: str
) -> None:
    path = write_json(tmp_path, "key", records)
    assert message in refusal(path, cases, read=read_key)
    assert message in refusal(path, cases, read=read_mapping)


def test_a_mapping_is_read(tmp_path: Path, cases: list[Case]) -> None:
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
    error = refusal(write_json(tmp_path, "mapping", records), cases, read=read_mapping)
    assert (
        "case '2': document_source must be one of mimic-iii, mimic-iv, got a text of 18 characters"
        in error
    )
    records[0] = {"case_id": "2", "document_source": "mimic-iv"}
    assert "document_id must be" in refusal(
        write_json(tmp_path, "mapping", records), cases, read=read_mapping
    )
    # Unreadable files.
    assert "No such file" in refusal(tmp_path / "none.json", cases, read=read_key)
    path.write_text(f'[{{"case_id": "{SECRET}', encoding="utf-8")
    assert "not JSON" in refusal(path, cases, read=read_key)


@needs_shared
@pytest.mark.upstream
def test_the_open_questions_and_the_reference_s_cases() -> None:
    path = SHARED / "data" / "archehr" / "archehr-qa.xml"
    with pytest.raises(
        UsageError,
        match=r"none of its 20 cases has a note excerpt.*build these as --config questions",
    ):
        read_cases(path)
    questions = read_cases(path, notes=False)
    assert (len(questions), sum(len(parsed.phrases) for parsed in questions)) == (
        20,
        28,
    )
    assert all(
        parsed.clinician_question and not parsed.sentences for parsed in questions
    )
    folder = SHARED / "fixtures" / "archehr"
    cases = read_cases(folder / "archehr-qa.xml")
    assert [parsed.id for parsed in cases] == [str(number) for number in range(1, 13)]
    assert [len(parsed.sentences) for parsed in cases][:3] == [7, 5, 5]
    assert [parsed.phrases for parsed in cases] == [
        (parsed.narrative,) for parsed in cases
    ]
    read = read_key(folder / "archehr-qa_key.json", cases)
    assert list(read) == [parsed.id for parsed in cases]
    assert list(read["1"].relevance.values()).count("essential") == 3
    assert all(parsed.clinician_answer == "" for parsed in read.values())
