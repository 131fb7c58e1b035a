"""A small construction for tests: synthetic notes, a sample of them, and a model that drafts by a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import medical_tasks.construct.shared as construction
from measurements.ehrnoteqa_twin import NOTES_FILE, write_twin
from medical_tasks.cli.entry import main
from medical_tasks.construct.ehrnoteqa import files
from tests.benchmarks.ehrnoteqa.twin_files import SECRET
from tests.fault_server import Call

BOUNDS = "600,1200"
CELLS = "1:1=3,2:1=1,2:2=2"
SAMPLED = 6


def twin_notes(folder: Path) -> Path:
    """Writes short notes of some patients; returns the file."""
    return (
        write_twin(folder, seed=3, questions=14, notes=60, scale=0.12, sums=False)
        / NOTES_FILE
    )


def take_sample(
    source: Path, *more: str, folder: str = "own", cells: str = CELLS
) -> int:
    words = [
        "construct",
        "ehrnoteqa",
        "sample",
        "--source",
        str(source),
        "--folder",
        folder,
    ]
    return main([*words, "--cells", cells, "--bounds", BOUNDS, *more])


def is_second_step(call: Call) -> bool:
    return "Make five choices" in str(call.body["messages"][0]["content"])


def patient_of(call: Call) -> str:
    return (
        str(call.body["messages"][0]["content"])
        .partition("Patient ID : ")[2]
        .partition("\n")[0]
    )


def draft_reply(call: Call) -> str:
    """Returns a good reply to either step; the right choice is always A, as models often write."""
    patient = patient_of(call)
    if is_second_step(call):
        choices = {letter: f"finding {letter} of {patient}" for letter in "BCDE"}
        return json.dumps(
            {
                "choices": {"A": f"the finding of {patient}", **choices},
                "answer": "A",
                "reason": "so it is",
            }
        )
    question = {
        "question": f"What was found in {patient}?",
        "answer": f"The finding of {patient}",
        "reason": "it says so",
    }
    return json.dumps(question)


def by_hand(
    folder: Path,
    count: int,
    *,
    texts: Callable[[int], dict[str, Any]] = lambda number: {},
) -> Path:
    """Writes a construction as after sampling and drafting; ids are p0, p1, ..."""
    folder.mkdir()
    note = {
        "hadm_id": "2",
        "charttime": "2150-01-02 00:00:00",
        "text": f"Header\n{SECRET}.",
    }
    names = [f"p{number}" for number in range(count)]
    notes = [
        {"patient_id": name, "notes": [{"note_id": f"{name}-DS-1", **note}]}
        for name in names
    ]
    patients = [
        {"patient_id": name, "level": 1, "num_notes": 1, "tokens": 9} for name in names
    ]
    digests = {
        name: construction.write_lines(folder / name, lines)
        for name, lines in ((files.NOTES, notes), (files.PATIENTS, patients))
    }
    construction.write_json(folder / files.SAMPLE, {"sha256": digests})
    drafts = [
        {
            "id": name,
            "question": f"What about {name}, {SECRET}?",
            "choices": [f"{letter} of {name}, {SECRET}" for letter in "ABCDE"],
            "answer": "B",
            "drafted_answer": "a",
            "question_reason": "r",
            "choices_reason": "r",
            "written_order": "ABCDE",
            "tries": [1, 1],
            **texts(number),
        }
        for number, name in enumerate(names)
    ]
    construction.write_json(
        folder / files.DRAFTS_RECIPE,
        {"sha256": construction.write_lines(folder / files.DRAFTS, drafts)},
    )
    return folder
