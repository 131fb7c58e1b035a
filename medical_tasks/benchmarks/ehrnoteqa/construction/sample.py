"""Patients of each level and number of notes, drawn by a seed (paper, section 3.1 and table 2), and their notes.

Who is drawn depends on the seed, the patients' ids and their lengths alone: not on the order of rows, and a larger sample
holds the smaller one. `sample.json` is written last; where it is, the other files are whole.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.construction import files
from medical_tasks.benchmarks.ehrnoteqa.construction.lengths import PatientLength, as_json, from_json, measure_patients
from medical_tasks.benchmarks.ehrnoteqa.construction.tokens import TokenCounter
from medical_tasks.benchmarks.ehrnoteqa.notes import read_notes
from medical_tasks.benchmarks.ehrnoteqa.own_questions import OWN_FIELDS
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError

__all__ = ["BOUNDS", "CELLS", "SampleSpec", "draw", "level_of", "make_sample", "parse_bounds", "parse_cells"]

Cell = tuple[int, int]
"""Level and number of notes."""

CELLS: Mapping[Cell, int] = {(1, 1): 275, (1, 2): 275, (2, 1): 150, (2, 2): 150, (2, 3): 150}
"""The paper's sample: 1,000 patients."""

BOUNDS = (3000, 7000)
"""Most tokens of level 1 and of level 2; the paper's models take 4,000 and 8,000."""

_CELL = re.compile(r"([12]):([1-9][0-9]?)=([0-9]{1,6})")


@dataclass(frozen=True, kw_only=True)
class SampleSpec:
    """What is drawn.

    Attributes:
        cells: level and number of notes to the number of patients.
        bounds: most tokens of level 1 and of level 2.
        seed: decides who.
        allow_fewer: whether a cell may have fewer patients than asked for.
    """

    cells: Mapping[Cell, int]
    bounds: tuple[int, int] = BOUNDS
    seed: int = 0
    allow_fewer: bool = False


def parse_cells(text: str) -> dict[Cell, int]:
    """Reads `LEVEL:NOTES=PATIENTS,...`.

    Raises:
        UsageError: It is not of the form, names a cell twice, or asks for nobody.
    """
    cells: dict[Cell, int] = {}
    for part in text.split(","):
        found = _CELL.fullmatch(part.strip())
        if found is None:
            raise UsageError(
                f"--cells {text!r}: {part!r} is not LEVEL:NOTES=PATIENTS, such as 1:2=275; levels are 1, 2."
            )
        cell = int(found[1]), int(found[2])
        if cell in cells:
            raise UsageError(f"--cells {text!r}: {found[1]}:{found[2]} stands twice.")
        cells[cell] = int(found[3])
    if not any(cells.values()):
        raise UsageError(f"--cells {text!r}: asks for no patient.")
    return dict(sorted(cells.items()))


def parse_bounds(text: str) -> tuple[int, int]:
    """Reads `LEVEL1,LEVEL2`, the most tokens of each.

    Raises:
        UsageError: It is not two growing whole numbers.
    """
    found = re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text.replace(" ", ""))
    bounds = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 0 < bounds[0] < bounds[1]:
        raise UsageError(f"--bounds must be two growing numbers of tokens, such as 3000,7000, got {text!r}.")
    return bounds


def level_of(tokens: int, bounds: tuple[int, int]) -> int | None:
    """Says the level of a length; None when it is beyond both."""
    return next((level for level, most in enumerate(bounds, start=1) if tokens <= most), None)


def draw(lengths: Mapping[str, PatientLength], spec: SampleSpec) -> dict[Cell, list[str]]:
    """Draws patients.

    Args:
        lengths: patient id to lengths, in any order.
        spec: what is drawn.

    Returns:
        Cell to patient ids, in an order that depends on seed and ids alone.

    Raises:
        UsageError: A cell has fewer patients than asked for and that is not allowed.
    """
    members: dict[Cell, list[str]] = {cell: [] for cell in spec.cells}
    for patient, each in lengths.items():
        level = level_of(each.tokens, spec.bounds)
        if level is not None and (level, each.num_notes) in members:
            members[level, each.num_notes].append(patient)
    short = [
        f"level {level} with {notes} notes has {len(members[level, notes]):,}, asked for {wanted:,}"
        for (level, notes), wanted in spec.cells.items()
        if len(members[level, notes]) < wanted
    ]
    if short and not spec.allow_fewer:
        raise UsageError(
            f"too few patients: {'; '.join(short)}. Ask for fewer with --cells, or take what there is with --allow-fewer."
        )
    drawn = {cell: sorted(found, key=lambda each: _rank(spec.seed, each)) for cell, found in members.items()}
    return {cell: drawn[cell][:wanted] for cell, wanted in spec.cells.items()}


def _rank(seed: int, patient: str) -> bytes:
    return hashlib.sha256(f"{seed}:{patient}".encode("utf-8", "surrogatepass")).digest()


def make_sample(source: Path, folder: Path, counter: TokenCounter, spec: SampleSpec) -> dict[str, Any]:
    """Measures all patients, draws some and writes them with their notes.

    A folder whose sample is made already is left as it is; measured lengths are kept for the next draw.

    Args:
        source: `discharge.csv.gz`, or a file of the same columns.
        folder: of the construction.
        counter: counts tokens.
        spec: what is drawn.

    Returns:
        Content of `sample.json`: the recipe and the counts, no text and no ids.

    Raises:
        MissingError: There is no such file.
        UsageError: It is not of the form, a cell has too few patients, or the folder holds another sample.
    """
    if not source.is_file():
        raise MissingError(f"{source}: no such file. Give --source the file of discharge summaries, discharge.csv.gz.")
    files.make_folder(folder)
    recipe: dict[str, Any] = {
        "source": {"name": source.name, "sha256": file_sha256(source)},
        "tokenizer": dict(counter.identity),
        "seed": spec.seed,
        "bounds": list(spec.bounds),
        "cells": {f"{level}:{notes}": wanted for (level, notes), wanted in spec.cells.items()},
        "allow_fewer": spec.allow_fewer,
    }
    place = folder / files.SAMPLE
    if place.exists():
        made = files.read_json(place, step="sample")
        differing = [name for name, value in recipe.items() if made.get("recipe", {}).get(name) != value]
        if differing:
            raise UsageError(
                f"{folder}: holds another sample (other {', '.join(differing)}). Give another --folder; a larger sample with the "
                "same seed holds the smaller one."
            )
        return made
    lengths = _lengths(source, folder, counter, recipe)
    drawn = draw(lengths, spec)
    level = {patient: cell[0] for cell, patients in drawn.items() for patient in patients}
    if not level:
        raise UsageError(
            f"{source}: no patient is in any of the cells {', '.join(recipe['cells'])}. Ask for others with --cells."
        )
    notes = _notes(source, {patient: lengths[patient].num_notes for patient in level})
    digests = {
        files.NOTES: files.write_lines(
            folder / files.NOTES,
            ({"patient_id": patient, "notes": notes[patient]} for patient in level),
        ),
        files.PATIENTS: files.write_lines(
            folder / files.PATIENTS,
            (
                {
                    "patient_id": patient,
                    "level": level[patient],
                    "num_notes": lengths[patient].num_notes,
                    "tokens": lengths[patient].tokens,
                }
                for patient in level
            ),
        ),
    }
    made = {"schema_version": 1, "recipe": recipe, **_counts(lengths, drawn, spec), "sha256": digests}
    files.write_json(place, made)
    return made


def _notes(source: Path, expected: Mapping[str, int]) -> dict[str, list[dict[str, str]]]:
    """The drawn patients' notes as rows of the dataset have them, by the strict reader and its checks."""
    found: dict[str, list[dict[str, str]]] = {}
    for patient, notes in read_notes(source, expected).items():
        found[patient] = [
            {"note_id": note.note_id, "hadm_id": note.hadm_id, "charttime": note.charttime, "text": note.text}
            for note in notes
        ]
        if not OWN_FIELDS["notes"].holds(found[patient]):
            raise UsageError(
                f"{source}: the notes of patient {patient} cannot be used: {OWN_FIELDS['notes'].rule}. Correct them in the file."
            )
    return found


def _lengths(source: Path, folder: Path, counter: TokenCounter, recipe: Mapping[str, Any]) -> dict[str, PatientLength]:
    """Measures, or takes what an earlier command measured of the same file with the same tokenizer."""
    place = folder / files.LENGTHS
    about = {"source": recipe["source"]["sha256"], "tokenizer": recipe["tokenizer"]}
    if place.exists():
        kept = files.read_json(place, step="sample")
        if kept.get("about") == about:
            return from_json(kept["patients"])
    lengths = measure_patients(source, counter)
    files.write_json(place, {"about": about, "patients": as_json(lengths)}, indent=None)
    return lengths


def _counts(
    lengths: Mapping[str, PatientLength], drawn: Mapping[Cell, Sequence[str]], spec: SampleSpec
) -> dict[str, Any]:
    """The paper's table 2, and what is in none of its rows."""
    every: dict[Cell, list[int]] = {cell: [] for cell in spec.cells}
    beyond = elsewhere = 0
    for each in lengths.values():
        level = level_of(each.tokens, spec.bounds)
        if level is None:
            beyond += 1
        elif (level, each.num_notes) in every:
            every[level, each.num_notes].append(each.tokens)
        else:
            elsewhere += 1
    return {
        "patients": len(lengths),
        "notes": sum(each.num_notes for each in lengths.values()),
        "beyond_bounds": beyond,
        "in_no_cell": elsewhere,
        "table": [
            {
                "level": level,
                "num_notes": notes,
                "patients": len(every[level, notes]),
                "mean_tokens": _mean(every[level, notes]),
                "asked_for": wanted,
                "sampled": len(drawn[level, notes]),
                "sampled_mean_tokens": _mean([lengths[patient].tokens for patient in drawn[level, notes]]),
            }
            for (level, notes), wanted in spec.cells.items()
        ],
        "sampled": sum(map(len, drawn.values())),
    }


def _mean(numbers: Sequence[int]) -> float | None:
    return round(sum(numbers) / len(numbers), 1) if numbers else None
