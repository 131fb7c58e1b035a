"""The pairs that somebody chose on the sheet of candidates become cases (section Alignment).

A message may be changed a little so that it fits the note ("mother" to "father"); what it asks stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files
from medical_tasks.benchmarks.archehr_qa.construction.align import COLUMNS, load_candidates
from medical_tasks.benchmarks.archehr_qa.construction.cases import OwnCase, split_note
from medical_tasks.benchmarks.archehr_qa.construction.posts import load_posts
from medical_tasks.benchmarks.archehr_qa.construction.texts import one_line
from medical_tasks.data.construction_cells import SheetRow, file_name, read_sheet
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.files import open_text

__all__ = ["YES_NO", "chosen_cases", "refuse"]

YES_NO: Final = {"yes": True, "y": True, "no": False, "n": False, "": False}
_LISTED: Final = 20


def chosen_cases(folder: Path, sheets: Sequence[Path] = ()) -> list[OwnCase]:
    """Reads the edited sheet of candidates and makes a case of every pair that is chosen.

    Args:
        folder: where the construction lies.
        sheets: the edited files; by default the one in the folder. A row may be in one of them alone, and need be in none.

    Returns:
        The cases, numbered from 1 in the order of candidates, with whole notes.

    Raises:
        MissingError: Something that an earlier step writes, or a sheet, is not there.
        UsageError: A row is not as it must be, or none is chosen; lists everything, by file, row and column.
    """
    candidates = {(each.values["post_id"], each.values["note_id"]): each.values for each in load_candidates(folder)}
    narratives = {post.id: post.text for post in load_posts(folder)}
    chosen: dict[tuple[str, str], str] = {}
    seen: dict[tuple[str, str], SheetRow] = {}
    problems: list[str] = []
    for path in sheets or (folder / files.CANDIDATES_SHEET,):
        for row in read_sheet(path, COLUMNS):
            pair = row.cells["post_id"].strip(), row.cells["note_id"].strip()
            found = list(_problems(row, pair, candidates, seen))
            problems += found
            if found:
                continue
            seen[pair] = row
            if YES_NO[row.cells["chosen"].strip().lower()]:
                chosen[pair] = one_line(row.cells["narrative"]) or narratives[pair[0]]
    refuse(problems)
    if not chosen:
        raise UsageError(
            f"{folder / files.CANDIDATES_SHEET}: no row is chosen. Write yes in the column chosen where the note "
            "answers the message."
        )
    pairs = [pair for pair in candidates if pair in chosen]
    return [
        OwnCase(
            id=str(number),
            post_id=pair[0],
            document_id=candidates[pair]["document_id"],
            narrative=chosen[pair],
            sentences=split_note(_note(folder, pair[1])),
        )
        for number, pair in enumerate(pairs, start=1)
    ]


def _problems(
    row: SheetRow,
    pair: tuple[str, str],
    candidates: Mapping[tuple[str, str], Any],
    seen: Mapping[tuple[str, str], SheetRow],
) -> Iterator[str]:
    if pair not in candidates:
        yield f"{row.place('note_id')}: message and note are no pair of the candidates; leave the first columns as they were"
    elif pair in seen:
        before = seen[pair]
        yield f"{row.place('note_id')}: the pair stands in {before.path}, row {before.number}, already"
    mark = row.cells["chosen"].strip().lower()
    if mark not in YES_NO:
        yield f"{row.place('chosen')}: must be yes, no or empty, got a text of {len(mark)} characters"


def refuse(problems: Sequence[str]) -> None:
    """Tells everything that is wrong with sheets.

    Raises:
        UsageError: There is something.
    """
    if problems:
        more = f"\n  and {len(problems) - _LISTED} more" if len(problems) > _LISTED else ""
        listed = "".join(f"\n  {problem}" for problem in problems[:_LISTED])
        raise UsageError(f"the sheets cannot be taken in, nothing is written:{listed}{more}")


def _note(folder: Path, name: str) -> str:
    place = folder / files.NOTES / file_name(name)
    try:
        with open_text(place, newline="") as stream:
            text = stream.read()
    except FileNotFoundError as error:
        raise MissingError(f"{place}: not there. Align again, in another --folder: construct archehr align.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = system_reason(error) if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{place}: cannot be read ({reason}).") from error
    if not text.strip():
        raise UsageError(f"{place}: the note is empty, so it cannot be chosen.")
    return text
