"""The file of cases: what is read, and each rule by the message that names case and rule and quotes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.release import SIZE_LIMIT_BYTES, Case, Sentence, read_cases
from medical_tasks.errors import UsageError
from tests.benchmarks.archehr_qa.release_files import EXCERPT, NARRATIVE, SECRET, case, sentence, write_cases
from tests.support import SHARED, needs_shared


def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_cases(path)
    told = str(caught.value)
    assert "marble" not in told
    assert told.startswith(f"{path}")
    return told


def test_a_case(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
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


def test_what_later_releases_may_leave_out_or_add(tmp_path: Path) -> None:
    numbered = "".join(
        f'<sentence id="{number}">{text}</sentence>' for number, text in enumerate(("Course:", f"He {SECRET}."))
    )
    bare = case(
        question="<more>1</more>", numbered=f"<note_excerpt_sentences>{numbered}</note_excerpt_sentences>", note=""
    )
    (read,) = read_cases(write_cases(tmp_path, bare))
    assert read.phrases == ()
    assert [(each.id, each.paragraph_id) for each in read.sentences] == [("0", ""), ("1", "")]


def phrase(attributes: str, text: str) -> dict[str, str]:
    return {"question": f"<patient_question><phrase {attributes}>{text}</phrase></patient_question>"}


def numbered(*given: tuple[str, str, int | str | None, str]) -> dict[str, str]:
    return {"sentences": "".join(sentence(*each) for each in given)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"narrative": ""}, "has no <patient_narrative>"),
        ({"narrative": "<patient_narrative> \n </patient_narrative>"}, "<patient_narrative>: has no text"),
        (
            {"narrative": f"<patient_narrative>a <b>{SECRET}</b></patient_narrative>"},
            "<patient_narrative>: holds other elements",
        ),
        ({"more": "<clinician_question>Why?</clinician_question>"}, "has <clinician_question> 2 times"),
        ({"clinician": ""}, "has no <clinician_question>"),
        (
            phrase('start_char_index="3"', "Is that bad?"),
            "phrase number 1: start_char_index is 3, and the narrative of 39 ",
        ),
        (
            phrase('start_char_index="999"', "Is that bad?"),
            "phrase number 1: start_char_index is 999, and the narrative",
        ),
        (phrase('start_char_index="-1"', "Is that bad?"), "phrase number 1: start_char_index must be a whole number"),
        (phrase("", " "), "phrase number 1: has no text"),
        (numbered(), "has no sentences of a note excerpt, others of the file have"),
        (numbered(("", "0", 0, "Course:")), "sentence number 1: its id must be a whole number"),
        (numbered(("01", "0", 0, "Course:")), "sentence number 1: its id must be a whole number, got '01'"),
        (numbered(("2", "0", 0, "Course:")), "its first sentence must have the id 0 or 1, got 2"),
        (
            numbered(("1", "0", 0, "Course:"), ("1", "1", 0, f"He {SECRET}.")),
            "sentence ids must be unique and consecutive, but behind 1 comes 1",
        ),
        (numbered(("1", "0", 0, "Course:"), ("3", "1", 0, f"He {SECRET}.")), "but behind 1 comes 3"),
        (numbered(("1", "0", 0, " ")), "sentence 1: has no text"),
        (numbered(("1", "0", "x", "Course:")), "sentence 1: start_char_index must be a whole number, got 'x'"),
        (
            numbered(("1", "0", 0, "Course:"), ("2", "1", 0, f"She {SECRET}.")),
            "sentence 2 does not stand in <note_excerpt> behind sentence 1",
        ),
        (
            numbered(("1", "0", 0, f"He {SECRET}."), ("2", "1", 0, "Course:")),
            "sentence 2 does not stand in <note_excerpt>",
        ),
        (
            numbered(("1", "1", 0, f"He {SECRET}."), ("2", "1", 5, "It was removed.")),
            "sentence 2 has the start_char_index 5, where sentence 1 of the same paragraph, which begins at 0, has not ended",
        ),
    ],
)
def test_a_wrong_case(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    told = refusal(write_cases(tmp_path, case("1"), case("2", **changes)))
    assert "case '2'" in told
    assert message in told
    assert told.endswith("Download the file again.")


def test_other_files(tmp_path: Path) -> None:
    assert "case '1': stands twice" in refusal(write_cases(tmp_path, case("1"), case("1")))
    assert "case number 1: id must be" in refusal(write_cases(tmp_path, case("")))
    assert "has no <case> in <annotations>" in refusal(write_cases(tmp_path))
    assert "none of its 1 cases has a note excerpt" in refusal(write_cases(tmp_path, case(note="", numbered="")))
    path = tmp_path / "archehr-qa.xml"
    path.write_text("<cases/>", encoding="utf-8")
    assert "outermost element is not <annotations>" in refusal(path)
    path.write_text(f'<!DOCTYPE a [<!ENTITY b "{SECRET}">]><annotations>&b;</annotations>', encoding="utf-8")
    assert "declares entities" in refusal(path)
    path.write_bytes(b" " * (SIZE_LIMIT_BYTES + 1))
    assert "more than 16,777,216" in refusal(path)
    assert "No such file" in refusal(tmp_path / "none.xml")


def test_offsets_that_are_all_zero_are_none(tmp_path: Path) -> None:
    flat = numbered(("1", "0", 0, "Course:"), ("2", "0", 0, f"He {SECRET}."), ("3", "0", 0, "It was removed."))
    (read,) = read_cases(write_cases(tmp_path, case(**flat)))
    assert [each.text for each in read.sentences] == ["Course:", f"He {SECRET}.", "It was removed."]


def test_offsets_in_order_that_differ_are_told_and_no_more(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    apart = numbered(("1", "1", 0, f"He {SECRET}."), ("2", "1", 40, "It was removed."))
    read = read_cases(write_cases(tmp_path, *(case(str(number), **apart) for number in range(12))))
    assert len(read) == 12
    told = capfd.readouterr().err
    assert "in 12 cases ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9' and 2 more); it is not used" in told
    assert "marble" not in told


def test_lines_may_be_wrapped_otherwise_in_the_excerpt(tmp_path: Path) -> None:
    (read,) = read_cases(write_cases(tmp_path, case(excerpt=EXCERPT.replace(" ", "\n "))))
    assert len(read.sentences) == 3


@needs_shared
@pytest.mark.upstream
def test_the_fixture() -> None:
    read = read_cases(SHARED / "fixtures" / "archehr" / "archehr-qa.xml")
    assert [each.id for each in read] == [str(number) for number in range(1, 13)]
    assert [len(each.sentences) for each in read][:3] == [7, 5, 5]
    assert [each.phrases for each in read] == [(each.narrative,) for each in read]


@needs_shared
@pytest.mark.upstream
def test_the_open_copy_has_no_note_excerpts() -> None:
    path = SHARED / "data" / "archehr" / "archehr-qa.xml"
    with pytest.raises(UsageError, match=r"none of its 20 cases has a note excerpt.*build these as --config questions"):
        read_cases(path)
    read = read_cases(path, notes=False)
    assert (len(read), sum(len(each.phrases) for each in read)) == (20, 28)
    assert all(each.clinician_question and not each.sentences for each in read)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), length=st.integers(0, 40), put=st.binary(max_size=4))
def test_a_damaged_file_is_cases_or_an_error(tmp_path: Path, place: float, length: int, put: bytes) -> None:
    path = write_cases(tmp_path, case("1"), case("2"))
    data = path.read_bytes()
    start = int(place * len(data))
    path.write_bytes(data[:start] + put + data[start + length :])
    try:
        read = read_cases(path)
    except UsageError as error:
        assert "marble" not in str(error)  # noqa: PT017 - what is said of it, if it is refused
    else:
        assert read
