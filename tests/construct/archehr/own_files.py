"""A small construction for tests: invented messages, notes and tables of codes, and annotators who fill in sheets."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from medical_tasks.cli.entry import main
from tests.case_tables import tables
from tests.construct.sheet_files import edit_sheet

OWN = tables(__file__, "own_files")
SECRET: str = OWN["secret"]
POSTS, NOTES, CODES, TITLES = (
    [tuple(row) for row in OWN[name]] for name in ("posts", "notes", "codes", "titles")
)
FOCUS: dict[str, str] = OWN["focus"]
"""By case."""


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([header, *rows])
    data = stream.getvalue().encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


def write_sources(folder: Path) -> Path:
    """Writes the user's files: posts.csv, notes.csv.gz, codes.csv.gz, titles.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(
        folder / "posts.csv", ("id", "text", "forum"), [(*post, "x") for post in POSTS]
    )
    write_csv(folder / "notes.csv.gz", ("note_id", "hadm_id", "text"), NOTES)
    write_csv(folder / "codes.csv.gz", ("hadm_id", "icd_code", "icd_version"), CODES)
    write_csv(folder / "titles.csv", ("icd_code", "icd_version", "long_title"), TITLES)
    return folder


def construct(*words: object) -> int:
    return main(["construct", "archehr", *map(str, words)])


def aligned(source: Path, folder: Path) -> Path:
    """Takes the steps up to the sheet of candidates."""
    assert (
        construct("filter", "--folder", folder, "--source", source / "posts.csv") == 0
    )
    tables = ("--codes", source / "codes.csv.gz", "--dictionary", source / "titles.csv")
    assert construct("expand", "--folder", folder, *tables) == 0
    assert (
        construct(
            "align", "--folder", folder, "--source", source / "notes.csv.gz", "--top", 2
        )
        == 0
    )
    return folder


def choose(folder: Path, **narratives: str) -> None:
    """Chooses the best note of each message; `narratives` are new texts of messages by id."""

    def change(row: dict[str, str]) -> dict[str, str]:
        mark = {"chosen": "Yes", "narrative": narratives.get(row["post_id"], "")}
        return row | (mark if row["rank"] == "1" else {"chosen": "n"})

    edit_sheet(folder / "candidates.csv", change)


ESSENTIAL = {"1": {"3"}, "2": {"2"}, "3": {"2"}}


def annotate(row: dict[str, str]) -> dict[str, str]:
    """Fills in a row of the first round."""
    case, kind, number = row["case_id"], row["kind"], row["number"]
    if kind == "focus" and number == "1":
        return row | {"text": FOCUS[case]}
    if kind == "question":
        return row | {"text": f"What about case {case}, who {SECRET}?"}
    if kind == "sentence":
        mark = (
            "E"
            if number in ESSENTIAL[case]
            else "context"
            if row["text"] == "Follow up:"
            else "n"
        )
        return row | {"relevance": mark}
    if kind == "answer" and number == "1":
        return row | {
            "text": f"It was needed, as she {SECRET}.",
            "citations": f"|{next(iter(ESSENTIAL[case]))}|",
        }
    return row


def first_round(
    source: Path, folder: Path, reviewers: str = "ann", overlap: int = 0
) -> list[Path]:
    """Takes all steps up to filled sheets of the first round."""
    aligned(source, folder)
    choose(folder)
    assert (
        construct(
            "sheet", "--folder", folder, "--reviewers", reviewers, "--overlap", overlap
        )
        == 0
    )
    sheets = [
        folder / "round_1" / "sheets" / f"{name}.csv" for name in reviewers.split(",")
    ]
    for path in sheets:
        edit_sheet(path, annotate)
    return sheets
