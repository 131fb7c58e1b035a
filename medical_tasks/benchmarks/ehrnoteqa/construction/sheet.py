"""Review sheets: a row a question, to be marked and edited by clinicians in any spreadsheet program (appendix C.3, figure 6).

What is there is never written over: somebody may have edited it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa.construction import files
from medical_tasks.benchmarks.ehrnoteqa.construction.patients import Patient, load_patients
from medical_tasks.benchmarks.ehrnoteqa.own_questions import OWN_FIELDS
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.data.construction_cells import file_name, write_sheet
from medical_tasks.data.construction_shares import share_out, sheet_order
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.io.json_records import Field, is_text

__all__ = ["CHOICE_COLUMNS", "COLUMNS", "NOTES_FOLDER", "export_sheets", "load_drafts", "write_notes"]

CHOICE_COLUMNS: Final = tuple(f"choice_{letter.lower()}" for letter in LETTERS)
COLUMNS: Final = ("index", "id", "reviewer", "notes", "inclusion", "question", "answer", *CHOICE_COLUMNS, "comment")
NOTES_FOLDER: Final = "notes"

_DRAFT_FIELDS: Final = {
    "id": OWN_FIELDS["id"],
    "question": OWN_FIELDS["question"],
    "choices": OWN_FIELDS["choices"],
    "answer": OWN_FIELDS["answer"],
    "drafted_answer": files.private_field(is_text()),
    "question_reason": files.private_field(is_text()),
    "choices_reason": files.private_field(is_text()),
    "written_order": files.private_field(is_text()),
    "tries": files.private_field(Field(holds=lambda value: isinstance(value, list), rule="a list")),
}


def load_drafts(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Reads the drafts of a construction.

    Returns:
        Id to draft, in the order of the sample.

    Raises:
        MissingError: There are none.
        UsageError: The file is not as it was written.
    """
    made = files.read_json(folder / files.DRAFTS_RECIPE, step="generate")
    place = folder / files.DRAFTS
    if place.exists() and made.get("sha256") != files.text_sha256(place):
        raise UsageError(
            f"{place}: was changed since it was written. Edit the sheets instead; to write it anew, move it away and do this step "
            "again: construct ehrnoteqa generate."
        )
    return {record.values["id"]: record.values for record in files.read_lines(place, _DRAFT_FIELDS, step="generate")}


def export_sheets(folder: Path, reviewers: Sequence[str], *, overlap: int = 0, seed: int = 0) -> dict[str, Any]:
    """Writes a sheet a reviewer, and each patient's notes as one text.

    `shares.json` comes first and sheets that are there stay as they are, so a stopped export goes on.

    Args:
        folder: of the construction.
        reviewers: their names.
        overlap: how many questions everybody gets.
        seed: decides who gets what.

    Returns:
        Content of `shares.json`: ids and names, no text.

    Raises:
        MissingError: There are no drafts.
        UsageError: Sheets of other drafts or with other settings were exported before.
    """
    drafts = load_drafts(folder)
    shares = share_out(list(drafts), reviewers, overlap=overlap, seed=seed)
    made: dict[str, Any] = {
        "schema_version": 1,
        "drafts_sha256": files.text_sha256(folder / files.DRAFTS),
        "reviewers": list(reviewers),
        "overlap": overlap,
        "seed": seed,
        "sheets": {name: sheet_order(shares, name, seed=seed) for name in reviewers},
        "first": {identifier: names[0] for identifier, names in shares.items()},
    }
    place = folder / files.SHARES
    if place.exists() and files.read_json(place, step="sheet") != made:
        raise UsageError(
            f"{folder}: sheets were exported from here with other settings or of other drafts. Repeat that command, or move "
            f"{files.SHARES} and {files.SHEETS} away first."
        )
    files.write_json(place, made)
    sheets = files.make_folder(folder / files.SHEETS)
    write_notes(sheets / NOTES_FOLDER, [each for each in load_patients(folder) if each.id in drafts])
    for name in reviewers:
        path = sheets / f"{name}.csv"
        if not path.exists():
            rows = [_row(number, drafts[each], name) for number, each in enumerate(made["sheets"][name], start=1)]
            write_sheet(path, COLUMNS, rows)
    return made


def write_notes(folder: Path, patients: Sequence[Patient]) -> None:
    """Writes the notes of each patient as one text, for its owner alone."""
    files.make_folder(folder)
    for patient in patients:
        with WholeFile(folder / file_name(patient.id), private=True) as part:
            for number, note in enumerate(patient.notes, start=1):
                part.write(f"===== note {number} of {patient.num_notes} =====\n{note['text']}\n\n")


def _row(number: int, draft: Mapping[str, Any], reviewer: str) -> dict[str, object]:
    return {
        "index": number,
        "id": draft["id"],
        "reviewer": reviewer,
        "notes": f"{NOTES_FOLDER}/{file_name(draft['id'])}",
        "inclusion": "",
        "question": draft["question"],
        "answer": draft["answer"],
        **dict(zip(CHOICE_COLUMNS, draft["choices"], strict=True)),
        "comment": "",
    }
