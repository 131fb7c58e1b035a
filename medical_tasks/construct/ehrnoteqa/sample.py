"""Samples patients by level and number of notes (paper, section 3.1 and table 2).

A patient's level is the total length of the notes: up to 3,000 tokens is level 1, up to
7,000 is level 2. Patients with longer notes are not drawn. Without a tokenizer tokens
are estimated: one per six letters of a word, three digits, four underscores, other sign
and line end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.notes import (
    COLUMNS,
    NoteRow,
    prepared_text,
    read_notes,
)
from medical_tasks.benchmarks.ehrnoteqa.questions import OWN_FIELDS
from medical_tasks.construct.ehrnoteqa import files
from medical_tasks.construct.ehrnoteqa.forms import Sample, SampleCounts, SampleRecipe
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.csv_files import stream_rows
from medical_tasks.io.files import make_folder, read_text
from medical_tasks.io.progress import reading
from medical_tasks.models.checkpoint import check_config

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Cell = tuple[int, int]
"""Level and number of notes."""

CELLS: Mapping[Cell, int] = {
    (1, 1): 275,
    (1, 2): 275,
    (2, 1): 150,
    (2, 2): 150,
    (2, 3): 150,
}
"""The paper's sample: 1,000 patients."""

BOUNDS = (3000, 7000)
"""Most tokens of level 1 and of level 2; the paper's models take 4,000 and 8,000."""

_CELL = re.compile(r"([12]):([1-9][0-9]?)=([0-9]{1,6})")


@dataclass(frozen=True, kw_only=True)
class SampleSpec:
    """How patients are drawn.

    Attributes:
        cells: Level and number of notes to the number of patients.
    """

    cells: Mapping[Cell, int]
    bounds: tuple[int, int] = BOUNDS
    seed: int = 0
    allow_fewer: bool = False


def parse_cells(text: str) -> dict[Cell, int]:
    """Reads `LEVEL:NOTES=PATIENTS,...`.

    Example:
        >>> parse_cells("2:1=265,1:2=275")
        {(1, 2): 275, (2, 1): 265}
    """
    cells: dict[Cell, int] = {}
    for assignment in text.split(","):
        match = _CELL.fullmatch(assignment.strip())
        if match is None:
            raise UsageError(
                f"--cells {text!r}: {assignment!r} is not LEVEL:NOTES=PATIENTS, such as 1:2=275; levels "
                "are 1, 2."
            )

        cell = int(match[1]), int(match[2])
        if cell in cells:
            raise UsageError(f"--cells {text!r}: {match[1]}:{match[2]} appears twice.")

        cells[cell] = int(match[3])

    if not any(cells.values()):
        raise UsageError(f"--cells {text!r}: asks for no patient.")

    return dict(sorted(cells.items()))


def parse_bounds(text: str) -> tuple[int, int]:
    """Reads `LEVEL1,LEVEL2`, the most tokens of each."""
    match = re.fullmatch(r"([0-9]{1,9}),([0-9]{1,9})", text.replace(" ", ""))
    bounds = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 0 < bounds[0] < bounds[1]:
        raise UsageError(
            f"--bounds must be two growing numbers of tokens, such as 3000,7000, got {text!r}."
        )
    return bounds


def level_of(tokens: int, bounds: tuple[int, int]) -> int | None:
    """Returns the level of a length; None if it exceeds both bounds."""
    return next(
        (level for level, most in enumerate(bounds, start=1) if tokens <= most), None
    )


def draw(
    lengths: Mapping[str, PatientLength], spec: SampleSpec
) -> dict[Cell, list[str]]:
    """Draws the patient ids of each cell, in an order that depends on seed and ids alone."""
    members = _members(lengths, spec)
    short = [
        f"level {level} with {notes} notes has {len(members[level, notes]):,}, asked for {requested:,}"
        for (level, notes), requested in spec.cells.items()
        if len(members[level, notes]) < requested
    ]
    if short and not spec.allow_fewer:
        raise UsageError(
            f"too few patients: {'; '.join(short)}. Ask for fewer with --cells, or accept fewer "
            "with --allow-fewer."
        )

    return {
        cell: construction.ranked(members[cell], spec.seed, str)[:requested]
        for cell, requested in spec.cells.items()
    }


def _members(
    lengths: Mapping[str, PatientLength], spec: SampleSpec
) -> dict[Cell, list[str]]:
    members: dict[Cell, list[str]] = {cell: [] for cell in spec.cells}
    for patient, length in lengths.items():
        level = level_of(length.tokens, spec.bounds)
        if level is not None and (level, length.num_notes) in members:
            members[level, length.num_notes].append(patient)
    return members


def make_sample(
    source: Path, folder: Path, counter: TokenCounter, spec: SampleSpec
) -> Sample:
    """Measures all patients, draws some and writes them with their notes.

    An existing sample is left unchanged.
    """
    if not source.is_file():
        raise MissingError(
            f"{source}: no such file. Give --source the file of discharge summaries, "
            "discharge.csv.gz."
        )

    make_folder(folder)
    recipe: SampleRecipe = {
        "source": {"name": source.name, "sha256": file_sha256(source)},
        "tokenizer": dict(counter.identity),
        "seed": spec.seed,
        "bounds": list(spec.bounds),
        "cells": {
            f"{level}:{notes}": requested
            for (level, notes), requested in spec.cells.items()
        },
        "allow_fewer": spec.allow_fewer,
    }
    path = folder / files.SAMPLE
    advice = (
        "Work in another --folder; a larger sample with the same seed holds the smaller "
        "one."
    )
    previous: Sample | None = construction.kept_step(
        path, recipe, step="ehrnoteqa sample", outcome="sample", advice=advice
    )
    if previous is not None:
        return previous

    lengths = _lengths(source, folder, counter, recipe)
    drawn = draw(lengths, spec)
    level = {
        patient: cell[0] for cell, patients in drawn.items() for patient in patients
    }
    if not level:
        raise UsageError(
            f"{source}: no patient is in any of the cells {', '.join(recipe['cells'])}. Ask for "
            "others with --cells."
        )

    notes = _notes(source, {patient: lengths[patient].num_notes for patient in level})
    digests = {
        files.NOTES: construction.write_lines(
            folder / files.NOTES,
            ({"patient_id": patient, "notes": notes[patient]} for patient in level),
        ),
        files.PATIENTS: construction.write_lines(
            folder / files.PATIENTS,
            (
                {
                    "patient_id": patient,
                    "level": level[patient],
                    **asdict(lengths[patient]),
                }
                for patient in level
            ),
        ),
    }
    sample: Sample = {
        "schema_version": 1,
        "recipe": recipe,
        **_counts(lengths, drawn, spec),
        "sha256": digests,
    }
    construction.write_json(path, sample)

    return sample


def _notes(source: Path, expected: Mapping[str, int]) -> dict[str, list[NoteRow]]:
    """Reads the notes of the drawn patients with the strict reader of the dataset."""
    rows: dict[str, list[NoteRow]] = {}
    for patient, notes in read_notes(source, expected).items():
        rows[patient] = [note.row for note in notes]
        if not OWN_FIELDS["notes"].holds(rows[patient]):
            raise UsageError(
                f"{source}: the notes of patient {patient} cannot be used: "
                f"{OWN_FIELDS['notes'].rule}. Correct them in the file."
            )
    return rows


def _lengths(
    source: Path, folder: Path, counter: TokenCounter, recipe: SampleRecipe
) -> dict[str, PatientLength]:
    """Measures all patients, or returns what an earlier command measured.

    Measuring takes most of the time and depends on the file and the tokenizer alone, so
    that another seed or other cells can reuse the lengths.
    """
    path = folder / files.LENGTHS
    about = {"source": recipe["source"]["sha256"], "tokenizer": recipe["tokenizer"]}
    if path.exists():
        kept = construction.read_json(path, step="ehrnoteqa sample")
        if kept.get("about") == about:
            return {
                patient: PatientLength(*numbers)
                for patient, numbers in kept["patients"].items()
            }

    lengths = measure_patients(source, counter)
    patients = {
        patient: [length.num_notes, length.tokens]
        for patient, length in lengths.items()
    }
    construction.write_json(path, {"about": about, "patients": patients}, indent=None)

    return lengths


def _counts(
    lengths: Mapping[str, PatientLength],
    drawn: Mapping[Cell, Sequence[str]],
    spec: SampleSpec,
) -> SampleCounts:
    """Counts for the paper's table 2, and the patients in none of its rows."""
    every = {
        cell: [lengths[patient].tokens for patient in ids]
        for cell, ids in _members(lengths, spec).items()
    }
    beyond = sum(
        level_of(length.tokens, spec.bounds) is None for length in lengths.values()
    )

    return {
        "patients": len(lengths),
        "notes": sum(length.num_notes for length in lengths.values()),
        "beyond_bounds": beyond,
        "in_no_cell": len(lengths) - beyond - sum(map(len, every.values())),
        "table": [
            {
                "level": level,
                "num_notes": notes,
                "patients": len(every[level, notes]),
                "mean_tokens": _mean(every[level, notes]),
                "asked_for": requested,
                "sampled": len(drawn[level, notes]),
                "sampled_mean_tokens": _mean(
                    [lengths[patient].tokens for patient in drawn[level, notes]]
                ),
            }
            for (level, notes), requested in spec.cells.items()
        ],
        "sampled": sum(map(len, drawn.values())),
    }


def _mean(numbers: Sequence[int]) -> float | None:
    return round(sum(numbers) / len(numbers), 1) if numbers else None


_BATCH = 64
_ID = OWN_FIELDS["patient_id"]
_RELEASE = "file of discharge summaries"


@dataclass(frozen=True, slots=True)
class PatientLength:
    """The length of a patient's discharge summaries.

    `tokens` counts all of them as models receive them, headers included.
    """

    num_notes: int
    tokens: int


def measure_patients(path: Path, counter: TokenCounter) -> dict[str, PatientLength]:
    """Measures all patients of a file."""
    notes: dict[str, int] = {}
    tokens: dict[str, int] = {}
    with reading(path, "MB measured") as on_read:
        rows = _prepared(path, on_read)
        while batch := list(islice(rows, _BATCH)):
            for (patient, _), length in zip(
                batch, counter.count([text for _, text in batch]), strict=True
            ):
                notes[patient] = notes.get(patient, 0) + 1
                tokens[patient] = tokens.get(patient, 0) + length

    return {
        patient: PatientLength(count, tokens[patient])
        for patient, count in notes.items()
    }


def _prepared(path: Path, on_read: Callable[[int], None]) -> Iterator[tuple[str, str]]:
    rows = stream_rows(path, COLUMNS, selected={}, release=_RELEASE, on_read=on_read)
    for row in rows:
        cells, patient = row.cells, row.cells["subject_id"]
        if not _ID.holds(patient):
            raise UsageError(
                f"{path}: row {row.number:,}, field 'subject_id': must be {_ID.rule}, got a text "
                f"of {len(patient)} characters. Are the columns in the order of the header?"
            )

        yield (
            patient,
            prepared_text(
                cells["text"],
                patient_id=patient,
                hadm_id=cells["hadm_id"],
                charttime=cells["charttime"],
            ),
        )


ESTIMATE = "estimate"

_PIECE = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|_{1,4}|\n|[^\w\s]")
_TOKENIZER_FILES = (
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt", "tekken.json", "*.model",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TokenCounter:
    """Counts the tokens of texts, without special tokens.

    Attributes:
        identity: Goes into the recipe; counters with the same identity count alike.
    """

    identity: Mapping[str, str]
    count: Callable[[Sequence[str]], list[int]]


def estimate_tokens(text: str) -> int:
    """Estimates the number of tokens without a tokenizer.

    The estimate is close to byte-pair tokenizers on English clinical text.
    """
    return len(_PIECE.findall(text))


_RULE = "1 for each 6 letters of a word, 3 digits, 4 underscores, other sign, line end"


def open_counter(name: str) -> TokenCounter:
    """Opens a token counter: a tokenizer's folder, or the estimate.

    The paper's levels count the tokens of one model. Without that tokenizer, an estimate
    from the characters is used, and the recipe records it.
    """
    if name == ESTIMATE:
        return TokenCounter(
            identity={"tokenizer": ESTIMATE, "rule": _RULE},
            count=lambda texts: [estimate_tokens(text) for text in texts],
        )

    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise MissingError(
            f"--tokenizer {name}: no such folder. Give the folder of a model or tokenizer on this "
            f"machine, or {ESTIMATE}."
        )

    files = sorted(
        {
            path
            for pattern in _TOKENIZER_FILES
            for path in folder.glob(pattern)
            if path.is_file()
        }
    )
    if not files:
        raise MissingError(
            f"--tokenizer {name}: holds no tokenizer (tokenizer.json, *.model, ...). Give the "
            f"whole folder that save_pretrained wrote, or {ESTIMATE}."
        )

    check_config(folder)
    try:
        tokenizer = _loaded(folder)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UsageError(
            f"--tokenizer {name}: cannot be read ({type(error).__name__}: {error}). Give another "
            f"folder, or {ESTIMATE}."
        ) from error

    digests = {path.name: file_sha256(path) for path in files}

    def count(texts: Sequence[str]) -> list[int]:
        # Not verbose: notes may be longer than the model's context here.
        return [
            len(ids)
            for ids in tokenizer(list(texts), add_special_tokens=False, verbose=False)[
                "input_ids"
            ]
        ]

    return TokenCounter(
        identity={"tokenizer": folder.resolve().name, **digests}, count=count
    )


def _loaded(folder: Path) -> PreTrainedTokenizerBase:
    file = folder / "tokenizer.json"
    if not file.is_file():
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder, local_files_only=True)

    json.loads(read_text(file))
    from transformers import PreTrainedTokenizerFast  # which needs no torch

    try:
        return PreTrainedTokenizerFast(tokenizer_file=str(file))
    except Exception as error:
        if type(error) is not Exception:
            raise

        # The library raises a bare Exception for JSON that is no tokenizer.
        raise ValueError(str(error)) from error
