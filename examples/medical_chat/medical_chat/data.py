"""The dataset, from the two released tables: a row for each patient, with notes and turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from medical_chat.declarations import DATASET, LETTERS, Turn
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.csv_files import stream_rows
from medical_tasks.io.files import packaged
from medical_tasks.spec import Row

Cells = Mapping[str, str]
OPTIONS: Final = [f"option_{letter.lower()}" for letter in LETTERS]
ABOUT_TURNS: Final = "qa_category turn_order turn_index turn_type question correct_answer".split()
COLUMNS: Final = {"notes": ["note_num", "text"], "questions": [*ABOUT_TURNS, *OPTIONS]}
TURN_TYPES: Final = {"content": "", "source": "-1"}


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    rows = packaged(__file__, "demo.json") if config == "demo" else _released(files)
    for row in rows:
        yield {**row, "num_notes": str(len(row["notes"]))}


def _released(files: Mapping[str, Path]) -> Iterator[Row]:
    notes = _Table("notes", files, order="note_num")
    questions = _Table("questions", files, order="turn_order")
    for patient, cells in questions.by_patient.items():
        turns = [_turn(questions, patient, row) for row in cells]
        keys = [turn["key"] for turn in turns]
        paired = [key + end for key in dict.fromkeys(keys[::2]) for end in TURN_TYPES.values()]
        rule = "needs each content turn once, with one source turn right behind it"
        questions.check(keys == paired, patient, rule)
        rows = notes.by_patient.get(patient, [])
        in_order = [int(row["note_num"]) for row in rows] == [*range(1, len(rows) + 1)]
        notes.check(bool(rows) and in_order, patient, "needs notes numbered 1, 2 and so on")
        texts = [row["text"] for row in rows]
        category = cells[0]["qa_category"]
        yield {"id": patient, "category": category, "notes": texts, "turns": turns}


class _Table:
    """A released table: the rows of each patient, sorted."""

    def __init__(self, name: str, files: Mapping[str, Path], *, order: str) -> None:
        self.path = files[name]
        self.by_patient: dict[str, list[Cells]] = defaultdict(list)
        columns = ["subject_id", *COLUMNS[name]]
        release = f"file {name}"
        for row in stream_rows(self.path, columns, selected={}, release=release, others=True):
            patient, number = (row.cells[column].strip() for column in (columns[0], order))
            whole = patient.isdecimal() and number.isdecimal()
            self.check(whole, f"of row {row.number:,}", f"subject_id and {order} must be numbers")
            self.by_patient[patient].append(row.cells)
        for rows in self.by_patient.values():
            rows.sort(key=lambda cells: int(cells[order]))

    def check(self, holds: bool, patient: str, rule: str) -> None:
        """Raises an error if the rows of a patient break a rule."""
        if not holds:
            raise UsageError(f"{self.path}: patient {patient}: {rule}. Download the table again.")


def _turn(table: _Table, patient: str, cells: Cells) -> Turn:
    kind, answer = cells["turn_type"].strip(), cells["correct_answer"].strip().upper()
    valid = kind in TURN_TYPES and answer in tuple(LETTERS)
    table.check(valid, patient, "needs turns content or source, answers A to E")
    key = cells["turn_index"].strip() + TURN_TYPES[kind]
    choices = [cells[name] for name in OPTIONS]
    return Turn(key=key, question=cells["question"], choices=choices, answer=answer)


TURN: Final = (
    Column(name="key", description="its number; -1 behind it if it asks for the source"),
    Column(name="question", description="what is asked"),
    Column(name="choices", description="the choices, A to E in order", repeated=True),
    Column(name="answer", description="letter of the right choice"),
)
TURNS: Final = Column(name="turns", description="turns", dtype="struct", repeated=True, fields=TURN)
FILES: Final = {name: OfficialFile(places=(f"{name}.csv",), description=name) for name in COLUMNS}
SOURCES: Final = (
    DatasetSource(
        spec=DATASET,
        summary="Questions about a patient's discharge notes, each followed by one for its source.",
        changes=("The tables are joined by patient. `demo` is invented, and under Apache-2.0.",),
        columns=(
            Column(name="id", description="number of the patient"),
            Column(name="category", description="clinical domain of the conversation"),
            Column(name="num_notes", description="how many notes there are"),
            Column(name="notes", description="notes, the oldest first", repeated=True),
            TURNS,
        ),
        key="id",
        id_names=("subject_id",),
        splits=dict.fromkeys(DATASET.configs, ("test",)),
        files={"full": FILES, "demo": {}},
        read=_read,
        published="2026-06-14",
        creators=("Jiyoun Kim", "Edward Choi"),
    ),
)
