"""ACI-BENCH from its official CSV files: dialogues in turns, notes whole and in four sections.

DocLens generates and evaluates notes for the visits of `test1` (Xie et al. 2024, appendix on the experiments).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.doclens.datasets import ACI_BENCH
from medical_tasks.benchmarks.doclens.demo_test_visits import TEST_VISITS
from medical_tasks.benchmarks.doclens.demo_visits import EXAMPLE_VISITS, DemoVisit
from medical_tasks.benchmarks.doclens.sections import divide_note
from medical_tasks.benchmarks.doclens.turns import begins_turn, split_turns
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.csv_files import CsvRow, read_csv

__all__ = ["ACI_COLUMNS", "ACI_SOURCE", "OFFICIAL_COLUMNS", "demo_visits", "read_aci_rows", "visit_row"]

OFFICIAL_COLUMNS = ("dataset", "encounter_id", "dialogue", "note")

ACI_COLUMNS = (
    Column(name="id", description="Id of the encounter, as released"),
    Column(name="dataset", description="How the dialogue came about: `aci`, `virtassist` or `virtscribe`"),
    Column(
        name="turns",
        repeated=True,
        description="Turns of the dialogue, each with its speaker; a turn's number is its place, from 0",
    ),
    Column(name="note", description="The whole clinical note, as released"),
    Column(name="subjective", description="Its lines of history: complaint, history, review of systems; or empty"),
    Column(name="objective_exam", description="Its lines of the physical examination; or empty"),
    Column(name="objective_results", description="Its lines of results; or empty"),
    Column(name="assessment_and_plan", description="Its lines of assessment and plan; or empty"),
)

_FILES = {"train": "train", "validation": "valid", "test1": "clinicalnlp_taskB_test1"}
_MORE_FILES = {"test2": "clinicalnlp_taskC_test2", "test3": "clef_taskC_test3"}
_ROWS = {"train": 67, "validation": 20, "test1": 40}


def read_aci_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a split.

    Args:
        config: `doclens`, `full` or `demo`.
        split: one of the configuration's.
        files: the file of each split; empty for `demo`.

    Yields:
        One mapping a visit, with the names and types of `ACI_COLUMNS`, in the file's order.

    Raises:
        UsageError: The file is not of the official form; the message names line, column and rule.
    """
    if config == "demo":
        for visit in demo_visits(split):
            yield visit_row(id=visit.id, dataset=visit.dataset, dialogue=visit.dialogue, note=visit.note)
        return
    path = files[split]
    silent = []
    for row in read_csv(path, OFFICIAL_COLUMNS, release="ACI-BENCH challenge data"):
        # A checkout on Windows has its line ends; the release has line feeds alone.
        cells = {name: text.replace("\r\n", "\n") for name, text in row.cells.items()}
        made = visit_row(
            id=cells["encounter_id"], dataset=cells["dataset"], dialogue=cells["dialogue"], note=cells["note"]
        )
        _check(path, row, made["turns"])
        if not begins_turn(made["turns"][0]):
            silent.append(made["id"])
        yield made
    if silent:
        print(
            f"note: {path.name}: {', '.join(silent)}: the dialogue begins before anybody is named; what stands there is turn 0, "
            "without a speaker, and kept as released",
            file=sys.stderr,
        )


def demo_visits(split: str) -> list[DemoVisit]:
    """The synthetic visits of a split, in order."""
    return [visit for visit in (*EXAMPLE_VISITS, *TEST_VISITS) if visit.split == split]


def visit_row(
    *,
    id: str,  # noqa: A002 - the column's name
    dataset: str,
    dialogue: str,
    note: str,
) -> dict[str, Any]:
    """Puts a row together, with the columns in their order.

    Args:
        id: of the encounter.
        dataset: which part of ACI-BENCH it is of.
        dialogue: the whole dialogue, a turn a line.
        note: the whole note.

    Returns:
        Column name to value.
    """
    return {"id": id, "dataset": dataset, "turns": split_turns(dialogue), "note": note, **divide_note(note)}


def _check(path: Path, row: CsvRow, turns: Sequence[str]) -> None:
    for name in OFFICIAL_COLUMNS:
        if not row.cells[name].strip():
            raise UsageError(
                f"{path}: line {row.line}, column {name!r}: must be a text that is not empty. Download the file again."
            )
    if not any(map(begins_turn, turns)):
        raise UsageError(
            f"{path}: line {row.line}, column 'dialogue': no line of it begins with a speaker such as '[doctor]', so that "
            "it has no turns to cite. Download the file again."
        )


def _official(names: Mapping[str, str]) -> dict[str, OfficialFile]:
    return {
        split: OfficialFile(places=(f"aci-bench/data/challenge_data/{name}.csv",), description=f"{split}, a CSV file")
        for split, name in names.items()
    }


ACI_SOURCE = DatasetSource(
    spec=ACI_BENCH,
    summary=(
        "ACI-BENCH pairs dialogues of doctor and patient with the clinical notes that were written of them. Each dialogue is "
        "here a list of its turns, each note whole and in four sections: subjective, objective exam, objective results, "
        "assessment and plan. A generated note is compared with the reference, and its citations with the turns they name."
    ),
    changes=(
        "`encounter_id` is `id`. The dialogue is a list of turns: a line that names no speaker belongs to the turn before it, "
        "so joined by line feeds the turns are the dialogue as released. One dialogue of `test2` begins without a speaker; that "
        "line is its turn 0. Notes are as released.",
        "The four sections are new: a rule of this package divides the note at its headings. Every line is in one section. It "
        "gives the official division of the validation notes.",
        "`doclens` has the splits that DocLens uses, `full` all five; the validation file's split is called `validation`.",
        "`demo` is not from the release: it was written for this package and is under the package's licence, Apache-2.0.",
    ),
    columns=ACI_COLUMNS,
    key="id",
    splits={
        "doclens": tuple(_FILES),
        "full": (*_FILES, *_MORE_FILES),
        "demo": tuple(_FILES),
    },
    # README of wyim/aci-bench.
    published_rows={
        "doclens": _ROWS,
        "full": {**_ROWS, "test2": 40, "test3": 40},
        "demo": {split: len(demo_visits(split)) for split in _FILES},
    },
    files={"doclens": _official(_FILES), "full": _official({**_FILES, **_MORE_FILES}), "demo": {}},
    read=read_aci_rows,
    published="2023-06-03",
    creators=("Wen-wai Yim", "Yujuan Fu", "Asma Ben Abacha", "Neal Snider", "Thomas Lin", "Meliha Yetisgen"),
    task_categories=("summarization", "text-generation"),
    tags=("medical", "clinical notes", "dialogue", "benchmark"),
)
