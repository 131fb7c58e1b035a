from __future__ import annotations

import shutil
import stat
from collections import Counter
from pathlib import Path

import pytest

from medical_tasks.benchmarks.archehr_qa.data import read_case_rows
from medical_tasks.benchmarks.archehr_qa.release import (
    AnswerSentence,
    without_citations,
)
from medical_tasks.cli.entry import main
from medical_tasks.construct.archehr.align import chosen_cases
from medical_tasks.construct.archehr.forms import RoundReview
from medical_tasks.construct.archehr.release_files import answer_text
from medical_tasks.construct.archehr.review import (
    ReviewOptions,
    import_sheets,
    split_cases,
)
from medical_tasks.construct.archehr.rounds import OwnCase
from medical_tasks.construct.archehr.sheets import COLUMNS, export_sheets
from medical_tasks.data.dataset_store import source_files
from medical_tasks.errors import MedicalTasksError, UsageError
from medical_tasks.guard.leakcheck import check_leaks
from medical_tasks.spec import Row
from tests.case_tables import json_of, tables
from tests.construct.archehr.own_files import (
    FOCUS,
    SECRET,
    aligned,
    choose,
    construct,
    first_round,
    write_sources,
)
from tests.construct.sheet_files import edit_sheet, read_cells, read_lines

CASES = tables(__file__, "rounds")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cases, annotated by ann and ben, one of them by both; nothing is imported yet."""
    folder = tmp_path_factory.mktemp("filled")
    first_round(write_sources(folder / "src"), folder / "own", "ann,ben", 1)
    return folder / "own"


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "own"))


def sheets(folder: Path, number: int = 1, names: str = "ann,ben") -> list[Path]:
    return [
        folder / f"round_{number}" / "sheets" / f"{name}.csv"
        for name in names.split(",")
    ]


def import_all(folder: Path, **options: object) -> RoundReview:
    return import_sheets(folder, sheets(folder), ReviewOptions(**options))  # type: ignore[arg-type]


def import_error(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        import_all(folder)
    assert SECRET not in str(caught.value)
    assert not (folder / "release").exists()
    return str(caught.value)


def edit_row(folder: Path, kind: str, number: str, cells: dict[str, str]) -> None:
    """Edits a row of the first case in every sheet it is in."""
    for path in sheets(folder):
        edit_sheet(
            path,
            lambda row: (
                row | cells
                if (row["case_id"], row["kind"], row["number"]) == ("1", kind, number)
                else row
            ),
        )


def released(folder: Path, split: str = "test") -> dict[str, Row]:
    return {
        row["id"]: row
        for row in read_case_rows(folder / "release" / split / "archehr-qa.xml")
    }


def test_a_release_that_the_builder_reads(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    assert (
        construct(
            "import", "--folder", folder, *sheets(folder), "--note-source", "mimic-iv"
        )
        == 0
    )
    rows = released(folder)
    assert "is not used" not in capsys.readouterr().err  # offsets are places
    monkeypatch.setenv("MEDICAL_TASKS_HOME", str(tmp_path / "home"))
    out = tmp_path / "built"
    assert (
        main(
            [
                "build",
                "archehr_qa",
                "--source",
                str(folder / "release"),
                "--partial",
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert list(out.rglob("*.parquet"))
    assert list(rows) == ["1", "2", "3"]
    assert rows["1"] == CASES["first_row"]
    # The second note loses its first paragraph, so its second sentence becomes the
    # first, also in the answer's citations.
    assert (rows["2"]["sentence_ids"], rows["2"]["answer_citations"]) == (["1"], ["1"])


def test_rounds_follow_each_other(folder: Path) -> None:
    import_all(folder, note_source="mimic-iii", dev=1)
    splits = {split: set(released(folder, split)) for split in ("dev", "test")}
    assert (len(splits["dev"]), len(splits["test"])) == (1, 2)
    export_sheets(folder, ("eve",))
    rows = read_cells(sheets(folder, 2, "eve")[0])
    first_case = {
        (row["kind"], row["number"]): row for row in rows if row["case_id"] == "1"
    }
    assert first_case["sentence", "3"]["relevance"] == "essential"
    assert first_case["focus", "1"]["text"] == FOCUS["1"]
    assert first_case["answer", "1"]["citations"] == "|3|"
    assert {row["round"] for row in rows} == {"2"}

    def review(row: dict[str, str]) -> dict[str, str] | None:
        key = row["case_id"], row["kind"], row["number"]
        if key == ("1", "answer", "1"):
            return row | {"text": "", "citations": ""}
        changed = {
            ("1", "sentence", "3"): {"relevance": "S", "comment": "less so"},
            ("1", "answer", "3"): {"text": "They  had to.", "citations": "| 4 , 3 |"},
            ("2", "question", "1"): {"text": "=How long?"},
            ("2", "answer", "1"): {"citations": ""},
        }
        return row | changed.get(key, {})

    edit_sheet(sheets(folder, 2, "eve")[0], review)
    imported = import_sheets(folder, sheets(folder, 2, "eve"), ReviewOptions())
    assert imported["labels"] == {"essential": 2, "supplementary": 1, "not-relevant": 6}
    assert (imported["without_essential"], imported["without_answer"]) == (1, 0)
    assert imported["answers_missing_essential"] == 1
    # Splits and mapping stay as they are unless they are changed.
    assert {split: set(released(folder, split)) for split in ("dev", "test")} == splits
    row = (released(folder) | released(folder, "dev"))["1"]
    assert (row["source"], row["answer_citations"], row["clinician_answer"]) == (
        "mimic-iii",
        ["3,4"],
        "They had to.",
    )
    history = read_lines(folder / "round_2" / "history.jsonl")
    third = next(
        row
        for row in rows
        if (row["case_id"], row["kind"], row["number"]) == ("1", "answer", "3")
    )
    fields = ("case_id", "kind", "field", "before", "after")
    assert (
        sorted([entry[name] for name in fields] for entry in history)
        == CASES["history"]
    )
    answer = next(
        entry
        for entry in history
        if (entry["kind"], entry["field"]) == ("answer", "text")
    )
    assert (answer["reviewer"], answer["sheet"], answer["row"]) == (
        "eve",
        "eve.csv",
        rows.index(third) + 2,
    )
    # A sheet of another round is refused, and so are too many cases in the split dev.
    export_sheets(folder, ("eve",))
    with pytest.raises(
        MedicalTasksError,
        match="column 'round': must be 3, the round that is imported",
    ):
        import_sheets(folder, sheets(folder, 2, "eve"), ReviewOptions())
    with pytest.raises(
        MedicalTasksError,
        match="--dev 3: leaves none of the 3 cases for the split test",
    ):
        import_sheets(folder, sheets(folder, 3, "eve"), ReviewOptions(dev=3))
    take_back = import_sheets(
        folder, sheets(folder, 3, "eve"), ReviewOptions(dev=0, note_source="")
    )
    assert take_back["splits"] == {"dev": 0, "test": 3}
    assert {
        path.name for path in (folder / "release").rglob("*") if path.is_file()
    } == {
        "archehr-qa.xml",
        "archehr-qa_key.json",
    }


def test_sheets_as_spreadsheets_save_them(folder: Path) -> None:
    import_all(folder)
    before = {
        path: path.read_bytes() for path in (folder / "release" / "test").iterdir()
    }
    for path in sheets(folder):
        rows = read_cells(path)[::-1]
        lines = [
            COLUMNS,
            *([row[name].replace(", ", ",\n ") for name in COLUMNS] for row in rows),
        ]
        text = "\r\n".join(
            ";".join('"' + cell.replace('"', '""') + '"' for cell in line[::-1])
            for line in lines
        )
        path.write_bytes(("\ufeff" + text).encode())
    import_all(folder)
    assert {
        path: path.read_bytes() for path in (folder / "release" / "test").iterdir()
    } == before


@pytest.mark.parametrize(
    ("kind", "number", "cells", "message"), CASES["test_wrong_rows"]
)
def test_wrong_rows(
    folder: Path, kind: str, number: str, cells: dict[str, str], message: str
) -> None:
    edit_row(folder, kind, number, cells)
    assert message in import_error(folder)


def test_a_note_without_relevant_sentences_and_blank_relevance(
    folder: Path,
) -> None:
    before = {path: path.read_bytes() for path in sheets(folder)}
    for number in ("3", "7"):
        edit_row(folder, "sentence", number, {"relevance": "not relevant"})
    assert "every sentence is not-relevant in the sheet of" in import_error(folder)
    for path, content in before.items():
        path.write_bytes(content)
    for path in sheets(folder):
        edit_sheet(
            path,
            lambda row: row | ({"relevance": ""} if row["relevance"] == "n" else {}),
        )
    assert "is empty" in import_error(folder)
    review = import_all(folder, blank_not_relevant=True)
    assert review["labels"] == {"essential": 3, "supplementary": 0, "not-relevant": 6}


def test_a_missing_sheet(folder: Path) -> None:
    shares = json_of(folder / "round_1" / "shares.json")
    with pytest.raises(
        MedicalTasksError, match="no sheet of ben is among the files; .* --partial"
    ):
        import_sheets(folder, sheets(folder)[:1], ReviewOptions())
    review = import_sheets(folder, sheets(folder)[:1], ReviewOptions(partial=True))
    own = [name for name, first in shares["first"].items() if first == "ann"]
    assert sorted(released(folder)) == sorted(own)
    assert (review["cases"], review["without_sheets_of"]) == (len(own), ["ben"])


def test_the_first_annotator_of_a_case_decides(folder: Path) -> None:
    shares = json_of(folder / "round_1" / "shares.json")
    both = next(
        name
        for name in shares["first"]
        if all(name in ids for ids in shares["sheets"].values())
    )
    for path in sheets(folder):
        edit_sheet(
            path,
            lambda row: (
                row
                | (
                    {"text": f"By {row['reviewer']}?"}
                    if row["kind"] == "question"
                    else {}
                )
            ),
        )
    import_all(folder)
    assert (
        released(folder)[both]["clinician_question"] == f"By {shares['first'][both]}?"
    )
    marks = Counter(
        mark["case_id"] for mark in read_lines(folder / "round_1" / "marks.jsonl")
    )
    assert marks[both] == 2


def test_edited_sheets_are_never_overwritten(folder: Path) -> None:
    before = {path: path.read_bytes() for path in sheets(folder)}
    export_sheets(folder, ("ann", "ben"), overlap=1)
    assert {path: path.read_bytes() for path in sheets(folder)} == before
    with pytest.raises(
        MedicalTasksError, match="exported from other cases or with other settings"
    ):
        export_sheets(folder, ("ann", "ben"))
    choose(folder, m1=f"Another message, {SECRET}.")
    with pytest.raises(
        MedicalTasksError, match="sheets of other cases were exported"
    ) as caught:
        export_sheets(folder, ("ann", "ben"), overlap=1)
    assert SECRET not in str(caught.value)
    (folder / "round_0" / "cases.jsonl").write_text("{}\n")
    assert (
        "was changed after the sheets of round 1 were written from it"
        in import_error(folder)
    )


def test_chosen_cases(tmp_path: Path) -> None:
    folder = aligned(write_sources(tmp_path / "src"), tmp_path / "own")
    with pytest.raises(MedicalTasksError, match="no row is chosen"):
        chosen_cases(folder)
    choose(folder, m2="My father  got a stent.")
    cases = chosen_cases(folder)
    actual = [(case.id, case.post_id, case.document_id) for case in cases]
    assert actual == [("1", "m1", "h1"), ("2", "m2", "h2"), ("3", "m4", "h3")]
    assert cases[1].narrative == "My father got a stent."
    (folder / "notes" / "n1.txt").rename(folder / "moved")
    with pytest.raises(MedicalTasksError, match=r"n1.txt: no such file. Align again"):
        chosen_cases(folder)
    edit_sheet(
        folder / "candidates.csv",
        lambda row: (
            row | ({"chosen": SECRET} if row["index"] == "1" else {"note_id": "n9"})
        ),
    )
    with pytest.raises(
        MedicalTasksError,
        match="column 'chosen': must be yes, no or empty, got a text of 18",
    ) as caught:
        chosen_cases(folder)
    assert str(caught.value).count("are not a pair of the candidates") == 2
    assert SECRET not in str(caught.value)


def test_only_the_owner_can_read_files_with_text(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for path in sheets(folder):
        path.chmod(0o600)  # as the editing program should
    (folder / "candidates.csv").chmod(0o600)
    assert construct("import", "--folder", folder, *sheets(folder)) == 0
    assert construct("agreement", "--folder", folder) == 0
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 20
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert {
        stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_dir()
    } == {0o700}
    printed = tmp_path / "printed"
    printed.mkdir()
    captured = capsys.readouterr()
    (printed / "output.txt").write_text(captured.out + captured.err)
    recipes = [
        "filter",
        "expand",
        "align",
        "agreement",
        "round_1/shares",
        "round_1/review",
    ]
    for name in recipes:
        (printed / f"{name.replace('/', '_')}.json").write_bytes(
            (folder / f"{name}.json").read_bytes()
        )
    assert all(SECRET not in path.read_text() for path in printed.iterdir())
    for source in ("posts.jsonl", "candidates.csv"):
        assert (
            check_leaks(printed, source_files(str(folder / source)), words=6).found
            == {}
        )
        assert check_leaks(
            folder / "round_0" / "cases.jsonl",
            source_files(str(folder / source)),
            words=6,
        ).found  # the check can find some


def test_dev_cases_are_drawn_by_message() -> None:
    cases = [
        OwnCase(
            id=str(number),
            post_id=f"p{number // 2}",
            document_id="d",
            narrative="x",
            sentences=(),
        )
        for number in range(10)
    ]
    for seed in range(5):
        splits = split_cases(cases, dev=5, seed=seed)
        assert len(splits["dev"]) == 4
        assert not {case.post_id for case in splits["dev"]} & {
            case.post_id for case in splits["test"]
        }
        assert split_cases(cases[::-1], dev=5, seed=seed)["dev"] == splits["dev"][::-1]


def test_citations_are_added_and_removed() -> None:
    sentences = (("Why not?!", ("1", "3")), ("No end", ("2",)), ("No source.", ()))
    answer = [
        AnswerSentence(id="", text=text, citations=cited) for text, cited in sentences
    ]
    assert answer_text(answer, cited=True) == "Why not [1,3]?! No end [2] No source."
    assert without_citations(answer_text(answer, cited=True)) == answer_text(answer)


def test_wrong_options(folder: Path) -> None:
    for options, message in (
        (
            {"note_source": "own"},
            "--note-source must be one of mimic-iii, mimic-iv, got 'own'",
        ),
        ({"dev": -1}, "--dev must be 0 or more, got -1"),
        ({"seed": -1}, "--seed must be 0 or more, got -1"),
    ):
        with pytest.raises(MedicalTasksError, match=message):
            import_all(folder, **options)
    with pytest.raises(MedicalTasksError, match="no sheets were written yet"):
        import_sheets(folder / "none", sheets(folder), ReviewOptions())
