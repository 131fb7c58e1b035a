"""Files of other commands become sheets, and are written back in the form that those commands read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from medical_tasks.catalog import task_spec
from medical_tasks.cli.entry import main
from medical_tasks.construct.ehrnoteqa.answers import write_scores
from medical_tasks.construct.ehrnoteqa.review import export_sheets, import_sheets
from medical_tasks.construct.fresh import fresh_row
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.tables import write_sheet as write_table
from medical_tasks.runs.adjudicating import (
    COLUMNS,
    read_adjudication,
    response_sha256,
)
from medical_tasks.site.desk.forms import People, form_of
from medical_tasks.site.desk.labels import Label, LabelStore
from medical_tasks.site.desk.work import Work
from tests.case_tables import json_of
from tests.construct.ehrnoteqa.construction_files import by_hand
from tests.construct.sheet_files import edit_sheet, read_cells, read_lines

PEOPLE = People(raters=("ann", "ben"), adjudicator="eve")
RESPONSES = {
    "1": "It is 25, or perhaps 26.",
    "2": "=cmd|'/c calc'!A1 <script>alert(1)</script> at least 3",
    "3": "I cannot say. \u202e",
}


def open_work(path: Path) -> Work:
    form = form_of(path)
    folder = form.folder(path)
    (sheet,) = form.make(path, PEOPLE)
    return Work(sheet, LabelStore(folder / "labels.jsonl"))


def write_back(path: Path, work: Work, out: Path) -> list[Path]:
    """Writes the only sheet of a file back."""
    return form_of(path).write(path, {work.sheet.name: work}, out)


def add_label(work: Work, rater: str, item: str, value: str, **edits: str) -> None:
    number = len(work.store.history)
    label = Label(
        id=str(number), item=item, rater=rater, value=value, note="n", edits=edits
    )
    work.store.add(label)


@pytest.fixture
def unclear(tmp_path: Path) -> Path:
    """A sheet of three unclear answers, as `adjudicate` writes it."""
    path = tmp_path / "unclear.csv"
    rows = [
        {
            "task": "medcalc",
            "id": name,
            "question": "How much?",
            "answer": text,
            "unclear": "several answers",
            "what_to_read": "a number",
            "reading": "26" if name == "1" else "",
            "read_by": "judge" if name == "1" else "person",
            "response_sha256": response_sha256(text),
        }
        for name, text in RESPONSES.items()
    ]
    write_table(path, COLUMNS, rows)
    return path


def test_unclear_answers_are_read_by_score_and_differing_readings_adjudicated(
    unclear: Path,
) -> None:
    work = open_work(unclear)
    assert work.sheet.by_id["medcalc/1"].editable[0].text == "26"
    for rater in ("ann", "ben"):
        add_label(work, rater, "medcalc/3", "none")
        add_label(work, rater, "medcalc/2", "reads", reading="3")
    add_label(work, "ann", "medcalc/1", "reads", reading="25")
    add_label(work, "ben", "medcalc/1", "reads")
    assert work.items("eve") == ("medcalc/1",)
    add_label(work, "eve", "medcalc/1", "reads", reading=" 25 ")
    out = unclear.with_name("read.csv")
    assert write_back(unclear, work, out) == [out]
    adjudication = read_adjudication(out, task_spec("medcalc"), RESPONSES)
    readings = {name: reading.text for name, reading in adjudication.readings.items()}
    assert readings == {"1": "25", "2": "3", "3": ""}
    assert {reading.by for reading in adjudication.readings.values()} == {"person"}


def test_undecided_items_stay_open_and_no_mark_is_overwritten(
    unclear: Path,
) -> None:
    work = open_work(unclear)
    write_back(unclear, work, unclear)
    for rater in ("ann", "ben"):
        add_label(work, rater, "medcalc/1", "none")
    with pytest.raises(UsageError, match="a mark that would be overwritten"):
        write_back(unclear, work, unclear)
    assert "needs" in str(work.sheet.choices[0])
    item = work.sheet.by_id["medcalc/2"]
    assert work.sheet.lacking(item, "reads", {}) == "Reading: a number"
    assert work.sheet.lacking(item, "none", {}) == ""


def test_a_construction_of_questions_is_reviewed_and_imported(tmp_path: Path) -> None:
    folder = by_hand(tmp_path / "own", 4)
    export_sheets(folder, ("ann", "ben"), overlap=1)
    edit_sheet(folder / "sheets" / "ben.csv", lambda row: row | {"inclusion": "o"})
    assert {label.rater for label in form_of(folder).before(folder)} == {"ben"}
    edit_sheet(folder / "sheets" / "ben.csv", lambda row: row | {"inclusion": ""})
    work = open_work(folder)
    shared = next(name for name, own in work.sheet.assigned.items() if len(own) == 2)
    for item, names in work.sheet.assigned.items():
        for name in names:
            add_label(work, name, item, "keep")
    add_label(work, "ben", shared, "keep", question="Another question?")
    assert work.items("eve") == (shared,)
    add_label(work, "eve", shared, "keep", question="The one to keep?")
    dropped = next(name for name in work.sheet.by_id if name != shared)
    add_label(work, work.sheet.assigned[dropped][0], dropped, "drop")
    out = tmp_path / "marked"
    files = write_back(folder, work, out)
    assert [path.name for path in files] == ["ann.csv", "ben.csv"]
    summary = import_sheets(folder, files)
    assert (summary["kept"], summary["removed"], summary["questions_revised"]) == (
        3,
        1,
        1,
    )
    questions = {
        question["id"]: question["question"]
        for question in read_lines(folder / "questions.jsonl")
    }
    assert questions[shared] == "The one to keep?"
    assert dropped not in questions


def test_marks_of_answers_become_scores_for_the_judge_check(tmp_path: Path) -> None:
    from tests.construct.ehrnoteqa.test_answers import marked_by_hand

    folder = tmp_path / "marks"
    answers = ["yes", "no", "yes", "no"]
    marked_by_hand(folder, ["m/a", "m/b"], answers, ["", "", "", ""])
    notes = folder / "sheets" / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("He said yes.")
    sheet = folder / "sheets" / "ann.csv"
    filled = [{**row, "notes": "notes/a.txt"} for row in read_cells(sheet)]
    write_table(sheet, list(filled[0]), filled)
    work = open_work(folder)
    for item in work.sheet.items:
        add_label(work, "ann", item.id, "right" if item.answer == "yes" else "wrong")
    write_back(folder, work, folder / "sheets")
    head, table = write_scores(folder, tmp_path / "scores.csv")
    assert head == ("model", "ann")
    assert table == [("m/a", "100.00"), ("m/b", "0.00")]


def test_values_of_calculators_are_checked_and_imported(here: Path) -> None:
    row = fresh_row(7, 1)
    note = {"Note ID": "n1", "text": row["patient_note"]}
    (here / "notes.jsonl").write_text(json.dumps(note) + "\n")
    words = ["construct", "medcalc"]
    extract = ["--source", "notes.jsonl", "--model", "lexical", "--open"]
    folder = ["--folder", "own"]
    assert main([*words, "extract", *extract, *folder]) == 0
    assert main([*words, "sheet", "--reviewers", "ann,ben", *folder]) == 0
    own = Path("own")
    work = open_work(own)
    for item, names in work.sheet.assigned.items():
        for name in names:
            add_label(work, name, item, "right")
    files = write_back(own, work, Path("marked"))
    assert main([*words, "import", *map(str, files), *folder]) == 0
    assert json_of(own / "review.json")["changed"] == 0
    assert json_of(own / "review.json")["kept"] == len(
        read_lines(own / "entities.jsonl")
    )


def test_cases_of_archehr_are_annotated_and_imported(here: Path) -> None:
    from tests.construct.archehr import own_files

    source, folder = own_files.write_sources(here / "source"), here / "own"
    own_files.aligned(source, folder)
    own_files.choose(folder)
    reviewers = ("--reviewers", "ann,ben", "--overlap", 1)
    assert own_files.construct("sheet", "--folder", folder, *reviewers) == 0
    form = form_of(folder)
    sheets = {sheet.name: sheet for sheet in form.make(folder, PEOPLE)}
    works = {
        name: Work(sheet, LabelStore(here / f"{name}.jsonl"))
        for name, sheet in sheets.items()
    }
    for item, names in sheets["relevance"].assigned.items():
        case, _, number = item.partition("/")
        essential = number in own_files.ESSENTIAL[case]
        for name in names:
            value = "essential" if essential else "not-relevant"
            add_label(works["relevance"], name, item, value)
    shown = sheets["relevance"].items[0].passages[0]
    assert shown.sentences[0].startswith("[1] ")
    assert shown.cited == {0}
    for case, names in sheets["texts"].assigned.items():
        (cited,) = own_files.ESSENTIAL[case]
        edits = {
            "focus-1": own_files.FOCUS[case],
            "question-1": f"What about case {case}?",
            "answer-1": "It was needed.",
            "answer-1-citations": f"|{cited}|",
        }
        for name in names:
            add_label(works["texts"], name, case, "done", **edits)
    files = form.write(folder, works, here / "marked")
    assert own_files.construct("import", "--folder", folder, *files) == 0
    review = json_of(folder / "round_1" / "review.json")
    assert review["cases"] == len(sheets["texts"].items) == 3


def test_files_that_the_desk_cannot_open(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file or folder"):
        form_of(tmp_path / "nothing")
    with pytest.raises(UsageError, match="the desk cannot open this"):
        form_of(tmp_path)
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="wrong columns"):
        form_of(path).make(path, PEOPLE)
