"""Sheets of extracted values for reviewers, and the marks read back.

Sheets have a row for each attribute, and a row for the patient's eligibility.
"""

from __future__ import annotations

from collections import ChainMap, Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import eq
from pathlib import Path
from typing import Final

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
from medical_tasks.calculators.inputs import Flag, Input, fold, is_missing
from medical_tasks.construct.medcalc import extraction, files
from medical_tasks.construct.medcalc.files import Pairs, load_pairs, tell_access
from medical_tasks.construct.medcalc.forms import (
    Pair,
    PairLine,
    PairShares,
    ReviewerAgreement,
)
from medical_tasks.construct.options import MedcalcImport, MedcalcSheet
from medical_tasks.construct.shared import checked_seed
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io.files import WholeFile, make_folder
from medical_tasks.io.output import tell
from medical_tasks.io.tables import TableRow, read_sheet, refuse, write_sheet
from medical_tasks.scoring.agreement import cohen_interval
from medical_tasks.scoring.estimates import as_json

COLUMNS: Final = (
    "index", "id", "reviewer", "note", "calculator", "attribute",
    "accepts", "value", "unit", "verdict", "correction", "comment",
)  # fmt: skip
ELIGIBLE: Final = "the calculator is meant for this patient"
ADJUDICATOR: Final = "adjudicator"
_NOTHING: Final = "not mentioned"
_TRUTHS: Final = {"yes": True, "no": False}

Cell = tuple[str, str]
"""Pair and attribute."""
Marks = dict[str, dict[Cell, tuple[str, object]]]
"""Reviewer and cell to the mark and the reviewer's value."""


def export_sheets(arguments: MedcalcSheet) -> int:
    """Writes sheets for reviewers, and the notes beside them."""
    folder, seed = arguments.folder, checked_seed(arguments.seed)
    pairs, names = load_pairs(folder), annotation.parse_names(arguments.reviewers)
    if ADJUDICATOR in names:
        raise UsageError(
            f"--reviewers: {ADJUDICATOR} is the name of the person who decides if reviewers "
            "disagree. Give another name."
        )

    shares = annotation.shared_sheets(
        list(pairs), names, overlap=arguments.overlap or 0, seed=seed
    )
    kept_shares: PairShares = {
        "pairs_sha256": file_sha256(folder / files.PAIRS),
        **shares,
    }
    refusal = (
        f"{folder}: sheets were exported with other settings. Repeat that command, or move them "
        "away."
    )
    annotation.keep_once(
        folder / files.SHARES, kept_shares, step="medcalc sheet", refusal=refusal
    )
    sheets = make_folder(folder / "sheets")
    make_folder(sheets / "notes")
    for pair in pairs.values():
        with WholeFile(
            sheets / "notes" / construction.file_name(pair.note_id), private=True
        ) as stream:
            stream.write(pair.note + "\n")

    cells = {
        name: [
            ((key, attribute), "") for key in keys for attribute in _cells(pairs[key])
        ]
        for name, keys in shares["sheets"].items()
    }
    annotation.write_sheets(
        sheets,
        COLUMNS,
        {
            name: _rows(pairs, cell_comments, name)
            for name, cell_comments in cells.items()
        },
    )
    for name, cell_comments in cells.items():
        tell(
            f"{sheets / name}.csv: {len(shares['sheets'][name]):,} pairs, {len(cell_comments):,} rows"
        )

    tell(
        "Mark each row o (right) or x (wrong), and write the right value with its unit into "
        f"correction, or {_NOTHING}."
    )
    return tell_access(folder)


def _cells(pair: Pair) -> dict[str, tuple[Input | None, object]]:
    items = {
        item.name: (item, pair.entities.get(item.name))
        for item in pair.calculator.inputs
    }
    return {ELIGIBLE: (None, True), **items}


def _rows(
    pairs: Pairs, cells: Iterable[tuple[Cell, str]], reviewer: str
) -> Iterator[dict[str, object]]:
    """Yields the rows of a reviewer's sheet, one for each attribute of a pair."""
    for number, ((key, attribute), comment) in enumerate(cells, start=1):
        pair = pairs[key]
        item, value = _cells(pair)[attribute]
        value, unit = (
            value if isinstance(value, list) and len(value) == 2 else (value, "")
        )
        yield {
            "index": number,
            "id": key,
            "reviewer": reviewer,
            "note": f"notes/{construction.file_name(pair.note_id)}",
            "calculator": pair.calculator.name,
            "attribute": attribute,
            "accepts": item.expects if item else "yes or no",
            "value": value if type(value) is float else _cell_text(value),
            "unit": unit,
            "verdict": "",
            "correction": "",
            "comment": comment,
        }


def _cell_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell_text, value))
    if value is None or isinstance(value, bool):
        return _NOTHING if value is None else "yes" if value else "no"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def import_sheets(arguments: MedcalcImport) -> int:
    """Reads marked sheets, and writes the pairs that are kept.

    If reviewers disagree about a value, an adjudicator must decide. Until then no pair is
    written, and the step ends with exit code 5.
    """
    folder = arguments.folder
    # Otherwise `release` would use an earlier review after an unfinished one.
    (folder / files.ENTITIES).unlink(missing_ok=True)
    pairs = load_pairs(folder)
    shares: PairShares = construction.read_json(
        folder / files.SHARES, step="medcalc sheet"
    )
    rows = [
        row
        for path in arguments.paths
        for row in read_sheet(path, COLUMNS, numbers="correction")
    ]
    adjudication = folder / "adjudication.csv"
    if adjudication.exists() and ADJUDICATOR not in {_reviewed(row)[0] for row in rows}:
        rows += read_sheet(adjudication, COLUMNS)

    marks, absent = _read_marks(arguments, rows, pairs, shares["sheets"])
    decided = marks.pop(ADJUDICATOR, {})
    agreement = [*_agreement(marks, pairs)]
    _adjudicated(adjudication, rows, pairs, marks, decided)
    lines: list[PairLine] = []
    dropped, changed = Counter[str](), 0
    # The reviewers agree on all cells that the adjudicator did not decide.
    final = ChainMap(decided, *marks.values())
    for key, pair in pairs.items():
        values = {
            attribute: final[key, attribute][1]
            for attribute in _cells(pair)
            if (key, attribute) in final
        }
        eligible = values.pop(ELIGIBLE, None)
        entities = {name: value for name, value in values.items() if value is not None}
        if eligible:
            reason = extraction.lacking(pair.calculator, entities)
        else:
            reason = "not reviewed" if eligible is None else "not eligible"

        if reason:
            dropped[reason] += 1
        else:
            changed += entities != pair.entities
            lines.append(pair.line(entities))

    construction.write_lines(folder / files.ENTITIES, lines)
    counts = {"kept": len(lines), "changed": changed, "dropped": dict(dropped)}
    construction.write_json(
        folder / "review.json", {"agreement": agreement, "without": absent, **counts}
    )
    why = "".join(f", {count:,} {reason}" for reason, count in dropped.items())
    tell(
        f"{len(lines):,} of {len(pairs):,} pairs are kept, {changed:,} of them corrected{why}.",
        **counts,
    )

    return tell_access(folder)


def _reviewed(row: TableRow) -> tuple[str, Cell]:
    name, key, attribute = (
        row.cells[column].strip() for column in ("reviewer", "id", "attribute")
    )
    return name, (key, attribute)


def _read_marks(
    arguments: MedcalcImport,
    rows: Iterable[TableRow],
    pairs: Pairs,
    sheets: Mapping[str, Sequence[str]],
) -> tuple[Marks, list[str]]:
    """Reads the marks of all sheets, and lists the people whose sheets are missing.

    The adjudicator may decide any cell. All problems are reported at once.
    """
    expected = {
        name: {(key, attribute) for key in keys for attribute in _cells(pairs[key])}
        for name, keys in sheets.items()
    }
    expected[ADJUDICATOR] = set().union(*expected.values())
    marks: Marks = {}
    problems: list[str] = []
    for row in rows:
        name, cell = _reviewed(row)
        if cell not in expected.get(name, ()) or cell in marks.get(name, ()):
            is_repeated = cell in marks.get(name, ())
            fault = "appears twice" if is_repeated else "is no row of these sheets"
            problems.append(f"{row.location('attribute')}: {fault}")
        elif name != ADJUDICATOR or row.cells["verdict"].strip():
            problem, opinion = _opinion(
                row, arguments.blank_keeps, *_cells(pairs[cell[0]])[cell[1]]
            )
            marks.setdefault(name, {})[cell] = opinion
            problems += [problem] if problem else []

    absent, absence_problems = annotation.missing_sheets(
        sheets, marks, partial=arguments.partial
    )
    lost = {
        name: len(expected[name] - own_marks.keys())
        for name, own_marks in marks.items()
        if name != ADJUDICATOR
    }
    lost_problems = [
        f"the sheet of {name}: {count} rows are lost"
        for name, count in lost.items()
        if count
    ]
    refuse([*problems, *absence_problems, *lost_problems])

    return marks, absent


def _adjudicated(
    path: Path,
    rows: Iterable[TableRow],
    pairs: Pairs,
    marks: Marks,
    decided: Collection[Cell],
) -> None:
    """Ends the step if reviewers' values differ and the adjudicator has not decided.

    Then the adjudicator's sheet is written with all such cells, keeping its marks.
    """
    disagreed = _disagreed(marks)
    if not (waiting := disagreed.keys() - set(decided)):
        return

    sheet_cells = {
        cell: row.cells
        for row in rows
        for name, cell in [_reviewed(row)]
        if name == ADJUDICATOR
    }
    comments = {
        cell: sheet_cells[cell]["comment"] if cell in sheet_cells else ""
        for cell in dict.fromkeys((*disagreed, *decided))
    }
    for cell, opinions in disagreed.items():
        comment = "; ".join(f"{name}: {text}" for name, text in opinions.items())
        earlier = comments[cell]
        if comment not in earlier:
            comments[cell] = f"{comment}; before: {earlier}" if earlier else comment

    marked = {
        cell: {name: cells[name] for name in ("verdict", "correction")}
        for cell, cells in sheet_cells.items()
    }
    rows_by_cell = zip(
        comments, _rows(pairs, comments.items(), ADJUDICATOR), strict=True
    )
    filled = (
        {**row, "note": f"sheets/{row['note']}", **marked.get(cell, {})}
        for cell, row in rows_by_cell
    )
    write_sheet(path, COLUMNS, filled)
    raise IncompleteError(
        f"{len(waiting):,} attributes wait for adjudication in {path}, which has the extracted "
        "values and, in comment, each reviewer's value. Have it marked like the other sheets, "
        "and import all of them together."
    )


def _opinion(
    row: TableRow, blank_keeps: bool, item: Input | None, value: object
) -> tuple[str, tuple[str, object]]:
    """Reads the problem of a row, "" if it has none, its mark, and the reviewer's value."""
    mark = row.cells["verdict"].strip().casefold() or ("o" if blank_keeps else "")
    text = " ".join(row.cells["correction"].split())
    if mark not in ("o", "x"):
        return annotation.unknown_mark(
            row, "verdict", "o (right) or x (wrong)", mark
        ), ("", None)

    if mark == "o":
        rule = "empty or what was extracted beside o"
        return _superfluous(row, text, rule, _cell_text(value)), (mark, value)
    if item is None:
        return _superfluous(row, text, "empty or no beside x", "no"), (mark, False)
    if fold(text) and is_missing(text):
        return "", (mark, None)

    correction = _TRUTHS.get(text.casefold(), "?") if isinstance(item, Flag) else text
    usable_value, reason = extraction.usable(item, correction)
    if usable_value is not None:
        return "", (mark, usable_value)

    return (
        f"{row.location('correction')}: is {reason or 'without a value'}; give {item.expects}, or "
        f"{_NOTHING}"
    ), (mark, None)


def _superfluous(row: TableRow, text: str, rule: str, accepted: str) -> str:
    """Refuses a correction that would contradict its mark; "" if it does not."""
    if text.casefold() in ("", accepted.casefold()):
        return ""
    return annotation.unknown_mark(row, "correction", rule, text)


def _disagreed(marks: Marks) -> dict[Cell, dict[str, str]]:
    """Returns each reviewer's value of the cells on which they disagree."""
    opinions: dict[Cell, dict[str, str]] = defaultdict(dict)
    for name, own_marks in marks.items():
        for cell, (_, value) in own_marks.items():
            opinions[cell][name] = _cell_text(value)
    return {
        cell: texts for cell, texts in opinions.items() if len({*texts.values()}) > 1
    }


def _agreement(marks: Marks, pairs: Pairs) -> Iterator[ReviewerAgreement]:
    """Compares each pair of reviewers on the cells that both marked.

    The interval of kappa draws whole notes.
    """
    for names, both, first_opinions, second_opinions in annotation.pairs_of_people(
        marks
    ):
        (first, values), (second, others) = (
            zip(*first_opinions, strict=True),
            zip(*second_opinions, strict=True),
        )
        clusters = [pairs[key].note_id for key, _ in both]
        kappa = cohen_interval(first, second, classes=("o", "x"), clusters=clusters)
        agreed = sum(map(eq, map(_cell_text, values), map(_cell_text, others)))
        tell(
            f"{' and '.join(names)}: the same value on {agreed:,} of {len(both):,} attributes "
            f"({100 * agreed / len(both):.1f} %), Cohen's kappa of their verdicts "
            f"{f'{kappa.value:.3f}' if kappa.value == kappa.value else 'n/a'}"
        )
        yield {
            "reviewers": names,
            "cells": len(both),
            "same": agreed,
            "kappa": as_json(kappa),
        }
