"""Synthetic twins of the two official files, any size: the same shape, invented people, a question with a true answer each.

    python -m medical_tasks.benchmarks.ehrnoteqa.twin --out FOLDER --questions 961 --notes 331794

The same seed and numbers give the same bytes. Files are written row by row, so that size costs time and no memory.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from medical_tasks.benchmarks.ehrnoteqa.notes import COLUMNS
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS, Question
from medical_tasks.benchmarks.ehrnoteqa.twin_notes import TwinStay, Writer, draw_stays
from medical_tasks.benchmarks.ehrnoteqa.twin_questions import KINDS, ask_across, ask_one
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.published_sums import SUMS_FILE
from medical_tasks.errors import MedicalTasksError, UsageError

__all__ = ["NOTES_FILE", "QUESTIONS_FILE", "TwinNote", "TwinPatient", "main", "twin_patients", "write_twin"]

QUESTIONS_FILE = "EHRNoteQA.jsonl"
NOTES_FILE = "discharge.csv.gz"

# Level and number of notes of the questions' patients, near the shares of the paper's table 2.
_SHAPES = ((1, 1), (2, 2), (1, 2), (2, 3), (1, 1), (2, 1), (1, 2))
_SEVERAL_A_ROUND = sum(count > 1 for _, count in _SHAPES)
_TOKENS = {1: (1200, 2900), 2: (3100, 6900)}  # of all notes together (section 3.1)
_CHARS_A_TOKEN = 4
# Of other patients' notes; with what a note has without filling, the mean is about 10,000.
_OTHER_CHARS = (2_000, 18_000)
_WRITE_CHARS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class TwinNote:
    """A row of the notes' file: its columns by their names there."""

    note_id: str
    subject_id: str
    hadm_id: str
    note_seq: int
    charttime: str
    storetime: str
    text: str


@dataclass(frozen=True, kw_only=True)
class TwinPatient:
    """An invented patient.

    Attributes:
        question: what is asked; None of most patients of a large file.
        notes: in the order of the file, which is not that of time.
    """

    question: Question | None
    notes: tuple[TwinNote, ...]


def twin_patients(*, seed: int, questions: int, notes: int | None = None, scale: float = 1.0) -> Iterator[TwinPatient]:
    """Generates patients, by growing id.

    Args:
        seed: decides all.
        questions: how many of them have a question.
        notes: how many notes there are in all; only those of the questions' patients by default.
        scale: of the notes' lengths; 1 is as in MIMIC-IV.

    Yields:
        The patients, those with a question spread evenly among the others.

    Raises:
        UsageError: A number is not positive, or there are fewer notes than the questions' patients have.
    """
    if questions < 1 or scale <= 0:
        raise UsageError(f"a twin needs at least 1 question and a scale above 0, got {questions} and {scale}.")
    needed = sum(_SHAPES[number % len(_SHAPES)][1] for number in range(questions))
    others = 0 if notes is None else notes - needed
    if others < 0:
        raise UsageError(
            f"{questions:,} questions have {needed:,} notes in all; --notes must not be less, got {notes:,}."
        )
    writer = Writer(seed)
    draw = random.Random(f"{seed}-patients")  # noqa: S311  # invented notes, not secrets
    asker = _Asker(draw)
    subject, hadm, written = 10_000_000, 20_000_000, 0
    for number in range(questions + 1):
        # Up to here so many notes of other patients, of one to six each.
        while written < others * (number + 1) // (questions + 1):
            subject += draw.randrange(1, 60)
            count = min(draw.choice((1, 1, 1, 2, 2, 3, 6)), others - written)
            lengths = [int(draw.uniform(*_OTHER_CHARS) * scale) for _ in range(count)]
            yield TwinPatient(
                question=None, notes=_notes(draw, writer, subject, hadm, draw_stays(draw, count), lengths)
            )
            written, hadm = written + count, hadm + count
        if number == questions:
            return
        subject += draw.randrange(1, 60)
        level, count = _SHAPES[number % len(_SHAPES)]
        stays = draw_stays(draw, count)
        length = int(draw.uniform(*_TOKENS[level]) * _CHARS_A_TOKEN * scale / count)
        yield TwinPatient(
            question=asker.question(subject, level, stays),
            notes=_notes(draw, writer, subject, hadm, stays, [length] * count),
        )
        hadm += count


def write_twin(
    folder: Path,
    *,
    seed: int,
    questions: int,
    notes: int | None = None,
    scale: float = 1.0,
    compresslevel: int = 6,
    sums: bool = True,
) -> Path:
    """Writes a twin of the two official files.

    Args:
        folder: where to; made when absent.
        seed: as `twin_patients`, as the next three.
        questions: see there.
        notes: see there.
        scale: see there.
        compresslevel: of gzip, 1 to 9.
        sums: whether to write the list of checksums too.

    Returns:
        The folder, for `--source`.

    Raises:
        UsageError: As `twin_patients`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / QUESTIONS_FILE).open("w", encoding="utf-8", newline="") as question_file,
        (folder / NOTES_FILE).open("wb") as raw,
        # Neither a name nor a time in the gzip header: the same bytes each time.
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=compresslevel) as note_file,
    ):
        waiting, chars = [",".join(COLUMNS) + "\n"], 0
        for patient in twin_patients(seed=seed, questions=questions, notes=notes, scale=scale):
            if patient.question is not None:
                question_file.write(json.dumps(_question_fields(patient.question)) + "\n")
            for note in patient.notes:
                waiting.append(_csv_row(note))
                chars += len(waiting[-1])
            if chars > _WRITE_CHARS:
                note_file.write("".join(waiting).encode())
                waiting, chars = [], 0
        note_file.write("".join(waiting).encode())
    if sums:
        names = (QUESTIONS_FILE, NOTES_FILE)
        lines = [f"{file_sha256(folder / name)} {name}\n" for name in names]
        (folder / SUMS_FILE).write_text("".join(lines), encoding="utf-8")
    return folder


def _notes(
    draw: random.Random, writer: Writer, subject: int, hadm: int, stays: Sequence[TwinStay], lengths: Sequence[int]
) -> tuple[TwinNote, ...]:
    sex = draw.choice("FM")
    order = draw.sample(range(len(stays)), len(stays))
    return tuple(
        TwinNote(
            note_id=f"{subject}-DS-{seq}",
            subject_id=str(subject),
            hadm_id=str(hadm + place),
            note_seq=seq,
            charttime=f"{stays[place].date} 00:00:00",
            storetime=f"{stays[place].date} {draw.randrange(8, 23):02d}:{draw.randrange(60):02d}:00",
            text=writer.note(draw, stays[place], sex=sex, length=lengths[place]),
        )
        for seq, place in enumerate(order, start=2)
    )


def _csv_row(note: TwinNote) -> str:
    text = note.text.replace('"', '""')
    return f'{note.note_id},{note.subject_id},{note.hadm_id},DS,{note.note_seq},{note.charttime},{note.storetime},"{text}"\n'


class _Asker:
    """Asks patients in turn.

    Half of the patients with several notes are asked what takes more than one of them; the others are asked about one
    note, each kind of question once before any comes again.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._order = draw.sample(range(KINDS), KINDS)
        self._one = self._across = self._several = 0

    def question(self, subject: int, level: int, stays: Sequence[TwinStay]) -> Question:
        # Every second one, and in every other round of the shapes those that were passed over: no shape is left out.
        turn = self._several + self._several // _SEVERAL_A_ROUND
        self._several += len(stays) > 1
        if len(stays) > 1 and turn % 2 == 1:
            asked = ask_across(self._draw, stays, kind=self._across)
            self._across += 1
        else:
            asked = ask_one(self._draw, self._draw.choice(stays), kind=self._order[self._one % KINDS])
            self._one += 1
        return Question(
            patient_id=str(subject),
            level=level,
            num_notes=len(stays),
            clinician=self._draw.choice("123"),
            question=asked.text,
            choices=asked.choices,
            answer=asked.answer,
        )


def _question_fields(question: Question) -> dict[str, str | int]:
    return {
        "category": f"Level{question.level}",
        "num_notes": question.num_notes,
        "patient_id": int(question.patient_id),
        "clinician": question.clinician,
        "question": question.question,
        **{f"choice_{letter}": text for letter, text in zip(LETTERS, question.choices, strict=True)},
        "answer": question.answer,
    }


def main(words: Sequence[str] | None = None) -> int:
    """Writes a twin; returns the exit code.

    Args:
        words: of the command line; those of the process by default.
    """
    parser = argparse.ArgumentParser(
        prog="python -m medical_tasks.benchmarks.ehrnoteqa.twin",
        description="Write synthetic files in the shape of the official ones.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same bytes (default 0)")
    parser.add_argument("--questions", type=int, default=14, metavar="N", help="questions, one a patient (default 14)")
    parser.add_argument("--notes", type=int, metavar="N", help="notes in all (default: those of the questions alone)")
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="of the notes' lengths (default 1)")
    given = parser.parse_args(words)
    folder = write_twin(given.out, seed=given.seed, questions=given.questions, notes=given.notes, scale=given.scale)
    print(f"wrote {QUESTIONS_FILE}, {NOTES_FILE} and {SUMS_FILE} in {folder}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MedicalTasksError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
