"""Rounds of annotation: whoever comes later sees what was said before, and every round is kept.

In the paper, authors annotate first, clinicians review that and write answers, and a reviewer goes over labels and answers: three
rounds. Round 0 is what is chosen, with nothing annotated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files
from medical_tasks.benchmarks.archehr_qa.construction.cases import OwnCase, load_cases
from medical_tasks.errors import MissingError, UsageError

__all__ = [
    "CASES",
    "HISTORY",
    "MARKS",
    "REVIEW",
    "SHARES",
    "SHEETS",
    "cases_of",
    "latest_exported",
    "latest_imported",
    "load_shares",
    "round_folder",
]

CASES: Final = "cases.jsonl"
SHARES: Final = "shares.json"
SHEETS: Final = "sheets"
MARKS: Final = "marks.jsonl"
HISTORY: Final = "history.jsonl"
REVIEW: Final = "review.json"


def round_folder(folder: Path, number: int) -> Path:
    """Where a round lies."""
    return folder / f"round_{number}"


def latest_exported(folder: Path) -> int:
    """Number of the last round whose sheets were written; 0 where there is none."""
    return _latest(folder, SHARES)


def latest_imported(folder: Path) -> int:
    """Number of the last round whose sheets were read back; 0 where there is none."""
    return _latest(folder, REVIEW)


def _latest(folder: Path, name: str) -> int:
    number = 0
    while (round_folder(folder, number + 1) / name).exists():
        number += 1
    return number


def cases_of(folder: Path, number: int) -> dict[str, OwnCase]:
    """Reads the cases as a round left them.

    Raises:
        MissingError: There is no such round.
        UsageError: The file is not as it was written.
    """
    place = round_folder(folder, number)
    if number:
        made = files.read_json(place / REVIEW, step="import")
        files.checked_step(place / CASES, made, step="import")
    return load_cases(place / CASES, step="import" if number else "sheet")


def load_shares(folder: Path, number: int) -> dict[str, Any]:
    """Reads who has which cases of a round.

    Raises:
        MissingError: Sheets of the round were not written.
        UsageError: The cases that they show are other ones by now.
    """
    if number < 1:
        raise MissingError(f"{folder}: no sheets were written yet. Do it first: medical-tasks construct archehr sheet.")
    shares = files.read_json(round_folder(folder, number) / SHARES, step="sheet")
    before = round_folder(folder, number - 1) / CASES
    if not before.exists() or shares.get("cases_sha256") != files.text_sha256(before):
        raise UsageError(
            f"{before}: was changed since the sheets of round {number} were written of it. Import the round before again as it "
            "was, or begin the rounds anew in another --folder."
        )
    return shares
