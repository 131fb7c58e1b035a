"""The dataset, from the two released tables: a row for each patient, with notes and turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from medical_chat.declarations import DATASET, LETTERS, Turn
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.csv_files import stream_rows
from medical_tasks.io.files import packaged
from medical_tasks.spec import Row

OPTIONS = [f"option_{letter.lower()}" for letter in LETTERS]
ABOUT_TURNS = "qa_category turn_order turn_index turn_type question correct_answer".split()
COLUMNS = {"notes": ["note_num", "text"], "questions": [*ABOUT_TURNS, *OPTIONS]}
TURN_TYPES = {"content": "", "source": "-1"}


def _read(config: str, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
    if config == "demo":
        yield from packaged(__file__, "demo.json")
        return
    notes = _by_patient(files["notes"], "notes", "note_num")
    for patient, cells in _by_patient(files["questions"], "questions", "turn_order").items():
        turns = [_turn(files["questions"], each) for each in cells]
        keys = [turn["key"] for turn in turns]
        paired = [key + end for key in dict.fromkeys(keys[::2]) for end in TURN_TYPES.values()]
        rule = "needs each content turn once, with one source turn right behind it"
        _check(keys == paired, files["questions"], patient, rule)
        found = notes.get(patient, ())
        numbers = [int(row["note_num"]) for row in found]
        in_order = numbers == [*range(1, 1 + max(1, len(numbers)))]
        _check(in_order, files["notes"], patient, "needs notes numbered 1, 2 and so on")
        texts = [row["text"] for row in found]
        yield {"id": patient, "category": cells[0]["qa_category"], "notes": texts, "turns": turns}


def _by_patient(path: Path, table: str, order: str) -> Mapping[str, Sequence[Mapping[str, str]]]:
    """The rows of each patient by number, sorted."""
    found: dict[str, list[dict[str, str]]] = defaultdict(list)
    columns = ["subject_id", *COLUMNS[table]]
    for row in stream_rows(path, columns, wanted={}, release=f"file {table}", others=True):
        patient = row.cells["subject_id"].strip()
        whole = patient.isdecimal() and row.cells[order].strip().isdecimal()
        _check(whole, path, f"of row {row.number:,}", f"subject_id and {order} must be numbers")
        found[patient].append(row.cells)
    return {name: sorted(rows, key=lambda row: int(row[order])) for name, rows in found.items()}


def _turn(path: Path, cells: Mapping[str, str]) -> Turn:
    kind, answer = cells["turn_type"].strip(), cells["correct_answer"].strip().upper()
    known = kind in TURN_TYPES and answer in tuple(LETTERS)
    _check(known, path, cells["subject_id"], "needs turns content or source, answers A to E")
    key, choices = cells["turn_index"].strip() + TURN_TYPES[kind], [cells[n] for n in OPTIONS]
    return Turn(key=key, question=cells["question"], choices=choices, answer=answer)


def _check(holds: bool, path: Path, patient: str, rule: str) -> None:
    if not holds:
        raise UsageError(f"{path}: patient {patient}: {rule}. Download the table again.")


TURN = (
    Column(name="key", description="its number; with -1 behind it, it asks for the source"),
    Column(name="question", description="what is asked"),
    Column(name="choices", description="what can be answered, A to E in order", repeated=True),
    Column(name="answer", description="letter of the right choice"),
)
FILES = {name: OfficialFile(places=(f"{name}.csv",), description=name) for name in COLUMNS}
SOURCES = (
    DatasetSource(
        spec=DATASET,
        summary="Questions about a patient's discharge notes, each followed by one for its source.",
        changes=("The tables are joined by patient. `demo` is invented, and under Apache-2.0.",),
        columns=(
            Column(name="id", description="number of the patient"),
            Column(name="category", description="clinical domain of the conversation"),
            Column(name="notes", description="discharge notes, the oldest first", repeated=True),
            Column(name="turns", description="turns", dtype="struct", repeated=True, fields=TURN),
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
