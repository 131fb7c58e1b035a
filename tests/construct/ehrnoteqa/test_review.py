"""Sheets for clinicians, exported and imported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.questions import read_own_rows
from medical_tasks.construct.ehrnoteqa.forms import Review
from medical_tasks.construct.ehrnoteqa.review import (
    COLUMNS,
    Content,
    Reviewed,
    agreement,
    changed_fields,
    export_sheets,
    import_sheets,
    revision_counts,
)
from medical_tasks.errors import MedicalTasksError, UsageError
from tests.benchmarks.ehrnoteqa.twin_files import SECRET
from tests.case_tables import cases, tabled
from tests.construct.ehrnoteqa.construction_files import by_hand
from tests.construct.sheet_files import edit_sheet, read_lines, read_rows, write_rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four questions, two reviewers, one question for both; all rows are marked o."""
    construction = by_hand(tmp_path / "own", 4)
    export_sheets(construction, ("ann", "ben"), overlap=1)
    for name in ("ann", "ben"):
        edit_sheet(
            construction / "sheets" / f"{name}.csv",
            lambda row: row | {"inclusion": "o"},
        )
    return construction


def sheets(folder: Path) -> list[Path]:
    return [folder / "sheets" / f"{name}.csv" for name in ("ann", "ben")]


def edit_row(folder: Path, name: str, number: int, **cells: str) -> str:
    """Edits the numbered row of a sheet; returns its question's id."""
    ids: list[str] = []

    def change(row: dict[str, str]) -> dict[str, str]:
        if row["index"] == str(number):
            ids.append(row["id"])
            return row | cells
        return row

    edit_sheet(folder / "sheets" / f"{name}.csv", change)
    return ids[0]


def import_all(folder: Path, **options: bool) -> Review:
    return import_sheets(folder, sheets(folder), **options)


def import_error(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        import_all(folder)
    assert SECRET not in str(caught.value)
    assert not (folder / "questions.jsonl").exists()
    return str(caught.value)


def shared_question(folder: Path) -> tuple[str, int, int]:
    """Returns the question that both review, and its row in each sheet."""
    places = [
        {row[1]: int(row[0]) for row in read_rows(path)[1:]} for path in sheets(folder)
    ]
    both = next(iter(places[0].keys() & places[1].keys()))
    return both, places[0][both], places[1][both]


def test_unedited_sheets_change_nothing(folder: Path) -> None:
    header, *rows = read_rows(sheets(folder)[0])
    assert tuple(header) == COLUMNS
    assert [row[0] for row in rows] == [
        str(number) for number in range(1, len(rows) + 1)
    ]
    assert rows[0][3] == f"notes/{rows[0][1]}.txt"
    assert SECRET in (folder / "sheets" / rows[0][3]).read_text()
    review = import_all(folder)
    assert (review["kept"], review["unchanged"], review["removed"]) == (4, 4, 0)
    drafts = {draft["id"]: draft for draft in read_lines(folder / "drafts.jsonl")}
    questions = list(read_own_rows(folder / "questions.jsonl"))
    assert [row["id"] for row in questions] == list(drafts)
    for row in questions:
        assert all(
            row[name] == drafts[row["id"]][name]
            for name in ("question", "choices", "answer")
        )
    assert (folder / "history.jsonl").read_text() == ""
    # Semicolons, moved columns, sorted rows and changed white space, as spreadsheets save
    # them, are no edits.
    for path in sheets(folder):
        header, *rows = read_rows(path)
        order = list(range(len(header)))[::-1]
        moved = [
            [cells[column].replace(", ", ",\n ") for column in order]
            for cells in reversed(rows)
        ]
        write_rows(path, [header[column] for column in order], moved, delimiter=";")
    assert import_all(folder)["unchanged"] == 4


def test_edits_and_their_history(folder: Path) -> None:
    identifier = edit_row(
        folder, "ann", 1, answer="c ", choice_d="=new text", inclusion="O"
    )
    review = import_all(folder)
    assert (
        review["answers_revised"],
        review["letters_changed"],
        review["wrong_choices_revised"],
    ) == (
        1,
        1,
        2,
    )
    row = next(
        question
        for question in read_own_rows(folder / "questions.jsonl")
        if question["id"] == identifier
    )
    assert (row["answer"], row["choices"][3], row["clinician"]) == (
        "C",
        "=new text",
        "ann",
    )
    assert [
        (entry["field"], entry["after"], entry["sheet"])
        for entry in read_lines(folder / "history.jsonl")
    ] == [
        ("answer", "C", "ann.csv"),
        ("choice_d", "=new text", "ann.csv"),
    ]
    # What is dropped may hold anything.
    edit_row(folder, "ann", 1, inclusion="x", question="", answer="", choice_a="")
    assert import_all(folder)["removed"] == 1


@tabled("cells", "message")
def test_wrong_rows(folder: Path, cells: dict[str, str], message: str) -> None:
    edit_row(folder, "ann", 1, **cells)
    assert message in import_error(folder)


def test_changed_missing_repeated_and_foreign_ids(folder: Path) -> None:
    header, *rows = read_rows(sheets(folder)[0])
    ids = [row[1] for row in rows]
    write_rows(
        sheets(folder)[0], header, [[rows[0][0], ids[1], *rows[0][2:]], *rows[1:]]
    )
    message = import_error(folder)
    assert f"must be 2 for question {ids[1]}" in message
    assert f"the sheet of ann: 1 rows are lost (questions {ids[0]})" in message
    write_rows(sheets(folder)[0], header, [*rows[1:], rows[-1]])
    message = import_error(folder)
    assert (
        f"question {ids[-1]} is already in {sheets(folder)[0]}, row {len(rows)}"
        in message
    )
    assert f"1 rows are lost (questions {ids[0]})" in message
    foreign = next(row for row in read_rows(sheets(folder)[1])[1:] if row[1] not in ids)
    write_rows(
        sheets(folder)[0], header, [*rows, ["9", foreign[1], "ann", *foreign[3:]]]
    )
    assert f"question {foreign[1]} is not in the sheet of ann" in import_error(folder)


def test_errors_are_listed_together_and_the_rest_is_counted(tmp_path: Path) -> None:
    construction = by_hand(tmp_path / "own", 30)
    export_sheets(construction, ("ann",))
    with pytest.raises(MedicalTasksError) as caught:
        import_sheets(construction, [construction / "sheets" / "ann.csv"])
    assert str(caught.value).count("is not reviewed yet") == 20
    assert "and 10 more" in str(caught.value)


def test_a_missing_sheet(folder: Path) -> None:
    with pytest.raises(
        MedicalTasksError, match="no sheet of ben is among the files; .* --partial"
    ):
        import_sheets(folder, sheets(folder)[:1])
    # The question that both review waits for the reviewer who decides.
    review = import_sheets(folder, sheets(folder)[:1], partial=True)
    assert review["reviewed"] == 2
    assert review["without_sheets_of"] == ["ben"]


def test_two_reviewers_of_one_question(folder: Path) -> None:
    both, ann_row, ben_row = shared_question(folder)
    edit_row(folder, "ann", ann_row, question="Better?")
    assert import_all(folder)["questions_revised"] == 1  # only one edited it
    edit_row(folder, "ben", ben_row, question="Better?")
    assert import_all(folder)["questions_revised"] == 1  # alike
    (folder / "questions.jsonl").unlink()
    edit_row(folder, "ben", ben_row, question="Best?", choice_a="new")
    message = import_error(folder)
    assert (
        f"question {both}: ann ({sheets(folder)[0]}, row {ann_row + 1}) and ben ({sheets(folder)[1]}, "
        f"row {ben_row + 1})" in message
    )
    assert "edited it differently: question, choice_a; make them alike" in message


def test_the_first_reviewer_decides_and_agreement_is_reported(folder: Path) -> None:
    both, ann_row, ben_row = shared_question(folder)
    edit_row(folder, "ben", ben_row, inclusion="x")
    edit_row(folder, "ann", ann_row, inclusion="o", question="Kept and edited?")
    review = import_all(folder)
    pair = review["agreement"][0]
    assert (pair["questions"], pair["agreed"], pair["kappa"]["value"]) == (1, 0, 0.0)
    first = {
        row["id"]: row["clinician"] for row in read_own_rows(folder / "questions.jsonl")
    }
    decides = "ann" if review["kept"] == 4 else "ben"
    assert first.get(both, "ben") == decides


def test_no_kept_question_and_changed_drafts(folder: Path) -> None:
    for path in sheets(folder):
        edit_sheet(path, lambda row: row | {"inclusion": "x"})
    assert "no question is kept" in import_error(folder)
    path = folder / "drafts.jsonl"
    path.write_text(path.read_text().replace("What about", "How about", 1))
    with pytest.raises(
        MedicalTasksError, match=r"drafts.jsonl: was changed since it was written"
    ):
        import_all(folder)


@pytest.mark.parametrize("damaged", ["", "[]", "{", '{"a":' * 100_000])
def test_a_damaged_file_of_an_earlier_step(folder: Path, damaged: str) -> None:
    (folder / "shares.json").write_text(damaged)
    assert (
        "shares.json: not as medical-tasks wrote it. Do this step again"
        in import_error(folder)
    )


DRAFT = Content(question="q", answer="B", choices=("a", "b", "c", "d", "e"))


def counts(*after: Content | None) -> dict[str, int]:
    reviewed = [
        Reviewed(id=str(number), reviewer="r", before=DRAFT, after=content)
        for number, content in enumerate(after)
    ]
    return {
        name: value
        for name, value in revision_counts(reviewed).items()
        if isinstance(value, int)
    }


def test_each_kind_of_revision() -> None:
    actual = counts(
        DRAFT,
        None,
        replace(DRAFT, question="q2"),
        replace(DRAFT, choices=("a", "b2", "c", "d", "e")),  # the right answer
        replace(DRAFT, choices=("a2", "b", "c", "d2", "e")),  # two wrong ones
        replace(
            DRAFT, answer="C"
        ),  # another is right: its text is a new answer, the old one a new wrong choice
        replace(
            DRAFT, choices=("e", "b", "c", "d", "a")
        ),  # places changed, nothing revised
        replace(
            DRAFT, answer="A", choices=("b", "a", "c", "d", "e")
        ),  # likewise, the right one too
    )
    assert actual == cases(__file__, "counts")
    assert counts() == dict.fromkeys(actual, 0)


def test_changed_fields_and_counts_by_reviewer() -> None:
    after = Content(question="q2", answer="C", choices=("a", "b", "c", "d", "e2"))
    assert changed_fields(DRAFT, after) == [
        ("question", "q", "q2"),
        ("answer", "B", "C"),
        ("choice_e", "e", "e2"),
    ]
    assert changed_fields(DRAFT, DRAFT) == []
    reviewed = [
        Reviewed(id=name, reviewer=name, before=DRAFT, after=content)
        for name, content in {"a": None, "b": after}.items()
    ]
    by_reviewer = revision_counts(reviewed)["by_reviewer"]
    assert {
        name: (figures["removed"], figures["questions_revised"])
        for name, figures in by_reviewer.items()
    } == {
        "a": (1, 0),
        "b": (0, 1),
    }


@given(st.permutations("vwxyz"), st.sampled_from("ABCDE"), st.permutations("vwxyz"))
def test_moving_choices_with_their_letter_revises_nothing(
    old: list[str], answer: str, new: list[str]
) -> None:
    before = Content(question="q", answer=answer, choices=tuple(old))
    after = Content(
        question="q", answer="ABCDE"[new.index(before.right)], choices=tuple(new)
    )
    figures = revision_counts(
        [Reviewed(id="1", reviewer="r", before=before, after=after)]
    )
    assert (figures["answers_revised"], figures["wrong_choices_revised"]) == (0, 0)


def test_kappa_by_hand() -> None:
    # 10 questions: both keep 6, both drop 2, one each way. Observed 0.8; expected 0.7 *
    # 0.7 + 0.3 * 0.3 = 0.58; kappa = (0.8 - 0.58) / 0.42 = 0.5238.
    ann = dict.fromkeys(map(str, range(7)), "keep") | dict.fromkeys(
        map(str, range(7, 10)), "drop"
    )
    ben = dict.fromkeys(map(str, [0, 1, 2, 3, 4, 5, 7]), "keep") | dict.fromkeys(
        map(str, [6, 8, 9]), "drop"
    )
    pairs = agreement({"b": ben, "a": ann | {"99": "keep"}, "c": {"98": "keep"}})  # type: ignore[dict-item]
    assert len(pairs) == 1
    assert (pairs[0]["reviewers"], pairs[0]["questions"], pairs[0]["agreed"]) == (
        ["a", "b"],
        10,
        8,
    )
    assert pairs[0]["kappa"]["value"] == pytest.approx(0.22 / 0.42)
