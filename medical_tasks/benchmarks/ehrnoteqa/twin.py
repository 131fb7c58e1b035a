"""Generates invented patients, notes and questions in the form of EHRNoteQA's files.

The same seed and numbers give the same files.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS, Question
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged

_PARAGRAPHS = 600
_LAB_LINES = 400
_WIDTH = 68
_BLANK = " \n"  # blank lines of the official files hold a space


twin_words = partial(packaged, __file__, "twin_words.json")
"""The words of the notes. The texts of a stay contain none of `past`, `activities` or `advice`,
and none of these contains another."""


# Creatinine at discharge and blood pressure on admission, as the notes write them;
# distinct, so that each can be a wrong choice.
VALUES = tuple(f"{tenths / 10:.1f} mg/dL" for tenths in range(5, 24))
PRESSURES = tuple(f"{high}/{60 + high % 7 * 4}" for high in range(102, 176, 3))


Stay = dict[str, str]
"""One admission of an invented patient: an entry of `stays` in `twin_words`, and further details."""


def draw_stays(draw: random.Random, count: int) -> list[Stay]:
    """Draws admissions of one patient, oldest first; all differ in kind and creatinine, if there are enough kinds."""
    words = twin_words()
    stays = words["stays"]
    distinct = count <= len(stays)
    kinds = draw.sample(stays, count) if distinct else draw.choices(stays, k=count)
    values = draw.sample(VALUES, count) if distinct else draw.choices(VALUES, k=count)
    past = draw.choice(words["past"])
    year, month = draw.randrange(2110, 2190), draw.randrange(12)
    drawn = []
    for kind, creatinine in zip(kinds, values, strict=True):
        date = (
            f"{year + month // 12:04d}-{month % 12 + 1:02d}-{draw.randrange(1, 29):02d}"
        )
        details = {
            "creatinine": creatinine,
            "pressure": draw.choice(PRESSURES),
            "past": past,
            "date": date,
        }
        details |= {
            "activity": draw.choice(words["activities"]),
            "advice": draw.choice(words["advice"]),
        }
        drawn.append({**kind, **details})
        month += draw.randrange(1, 20)

    return drawn


class Writer:
    """Writes notes; their filler text depends on the seed alone.

    A note is a head, laboratory lines, the course of the stay, paragraphs of filler, and a
    tail; what happened to the patient is in head, course and tail.
    """

    def __init__(self, seed: int) -> None:
        draw = random.Random(f"{seed}-filling")  # noqa: S311  # invented notes, not secrets
        self._paragraphs = [_paragraph(draw) for _ in range(_PARAGRAPHS)]
        self._labs = [_lab_line(draw) for _ in range(_LAB_LINES)]

    def note(self, draw: random.Random, stay: Stay, *, sex: str, length: int) -> str:
        """Writes a note of about `length` characters; without filler it has about 1,500."""
        days, temperature, heart = (
            draw.randrange(1, 9),
            draw.randrange(970, 1020) / 10,
            draw.randrange(55, 120),
        )
        values = {
            **stay,
            "sex": sex,
            "days": days,
            "temperature": temperature,
            "heart": heart,
        }
        values |= {
            "complains": stay["complaint"].lower(),
            "ward": stay["service"].lower(),
        }
        values["problem"] = stay["diagnosis"][0].upper() + stay["diagnosis"][1:]
        head, course, tail = (
            "".join(lines).format(**values) for lines in twin_words()["note"].values()
        )
        left = length - len(head) - len(course) - len(tail)
        labs = self._filling(draw, self._labs, left // 4)

        return (
            head
            + labs
            + course
            + self._filling(draw, self._paragraphs, left - len(labs))
            + tail
        )

    @staticmethod
    def _filling(draw: random.Random, texts: list[str], length: int) -> str:
        chosen: list[str] = []
        while length > 0:
            chosen.append(texts[int(draw.random() * len(texts))])
            length -= len(chosen[-1])
        return "".join(chosen)


def _paragraph(draw: random.Random) -> str:
    sentences = draw.sample(twin_words()["sentences"], draw.randrange(2, 5))
    text = "  ".join(
        sentence.format(
            a=draw.randrange(2, 10), b=draw.randrange(50, 120), c=draw.randrange(2, 9)
        )
        for sentence in sentences
    )
    return _BLANK + textwrap.fill(f"- {text}", _WIDTH) + "\n"


def _lab_line(draw: random.Random) -> str:
    values = " ".join(
        f"{name}-{draw.randrange(10, 1500) / 10}"
        for name in draw.sample(twin_words()["labs"], draw.randrange(4, 8))
    )
    return f"___ {draw.randrange(1, 13):02d}:{draw.randrange(60):02d}{draw.choice(('AM', 'PM'))} BLOOD {values}\n"


# question, choices, letter of the right one
_ChoiceQuestion = tuple[str, tuple[str, ...], str]


# Questions about one note, with a slot for its name, and the field of a stay that
# answers each.
_KINDS = (
    ("What was the primary diagnosis in {note}?", "diagnosis"),
    ("Which procedure did the patient undergo according to {note}?", "procedure"),
    ("Which medication was newly prescribed at discharge in {note}?", "drug"),
    ("Where was the patient to be seen next according to {note}?", "clinic"),
    ("What was the creatinine at discharge in {note}?", "creatinine"),
    (
        "With which symptoms did the patient come to the hospital according to {note}?",
        "complaint",
    ),
    (
        "What did the work-up show to be the reason for the patient's coming to the hospital in "
        "{note}?",
        "diagnosis",
    ),
    ("What was the blood pressure on admission in {note}?", "pressure"),
    ("What was the patient's activity status at discharge in {note}?", "activity"),
    ("Which operation stands in the past medical history in {note}?", "past"),
    ("What was the patient instructed to do at home according to {note}?", "advice"),
)
KINDS = len(_KINDS)


def possible_answers(field: str) -> Sequence[str]:
    """All values of a field of a stay, from which the wrong choices are drawn."""
    if field in ("creatinine", "pressure"):
        return VALUES if field == "creatinine" else PRESSURES
    words = twin_words()
    lists = {
        "past": words["past"],
        "activity": words["activities"],
        "advice": words["advice"],
    }
    return lists[field] if field in lists else [stay[field] for stay in words["stays"]]


def ask_one(draw: random.Random, stay: Stay, *, kind: int) -> _ChoiceQuestion:
    """Asks about one note, by its date."""
    form, field = _KINDS[kind]
    text = form.format(note=f"the discharge summary charted on {stay['date']}")
    wrong = [answer for answer in possible_answers(field) if answer != stay[field]]

    return _with_choices(draw, text, stay[field], wrong)


def ask_across(
    draw: random.Random, stays: Sequence[Stay], *, kind: int
) -> _ChoiceQuestion:
    """Asks a question that needs the first and the last note.

    An even `kind` is about the diagnoses, an odd one about the creatinine.
    """
    if kind % 2 == 0:
        text = "Which primary diagnoses did the patient have in the first and in the last of the discharge summaries?"
        field, form = "diagnosis", "first {}, last {}"
    else:
        text = "How did the creatinine at discharge change between the first and the last of the discharge summaries?"
        field, form = "creatinine", "from {} to {}"

    first, last = stays[0][field], stays[-1][field]
    pool = [answer for answer in possible_answers(field) if answer not in (first, last)]
    other = draw.sample(pool, 3)
    wrong = [(last, first), (first, other[0]), (first, other[1]), (other[2], last)]
    return _with_choices(
        draw, text, form.format(first, last), [form.format(*pair) for pair in wrong]
    )


def _with_choices(
    draw: random.Random, text: str, right: str, wrong: Sequence[str]
) -> _ChoiceQuestion:
    chosen = draw.sample(wrong, len(LETTERS) - 1)
    index = draw.randrange(len(LETTERS))
    return text, (*chosen[:index], right, *chosen[index:]), LETTERS[index]


# Level and number of notes of the questions' patients, close to the shares in the
# paper's table 2.
_SHAPES = ((1, 1), (2, 2), (1, 2), (2, 3), (1, 1), (2, 1), (1, 2))
_SEVERAL_A_ROUND = sum(count > 1 for _, count in _SHAPES)
_TOKENS = {1: (1200, 2900), 2: (3100, 6900)}  # of all notes together (section 3.1)
_CHARS_A_TOKEN = 4
# Lengths of other patients' notes; with the text of a note without filler, the mean is
# about 10,000.
_OTHER_CHARS = (2_000, 18_000)


@dataclass(frozen=True, kw_only=True)
class TwinNote:
    """A row of the notes' file, with its columns."""

    note_id: str
    subject_id: str
    hadm_id: str
    note_seq: int
    charttime: str
    storetime: str
    text: str


class TwinPatient(NamedTuple):
    """An invented patient.

    Attributes:
        notes: in the order of the file, which is not that of time.
    """

    question: Question | None
    notes: tuple[TwinNote, ...]


def twin_patients(
    *, seed: int, questions: int, notes: int | None = None, scale: float = 1.0
) -> Iterator[TwinPatient]:
    """Generates patients with increasing ids, among which those with a question are spread evenly.

    With `scale` 1 the notes have the length of MIMIC-IV's.
    """
    if questions < 1 or scale <= 0:
        raise UsageError(
            f"a twin needs at least 1 question and a scale above 0, got {questions} and {scale}."
        )

    needed = sum(_SHAPES[number % len(_SHAPES)][1] for number in range(questions))
    others = 0 if notes is None else notes - needed
    if others < 0:
        raise UsageError(
            f"{questions:,} questions have {needed:,} notes in all; --notes must not be less, "
            f"got {notes:,}."
        )

    writer = Writer(seed)
    draw = random.Random(f"{seed}-patients")  # noqa: S311  # invented notes, not secrets
    maker = _QuestionMaker(draw)
    subject, hadm, written = 10_000_000, 20_000_000, 0
    for number in range(questions + 1):
        # Notes of other patients, one to six each, up to the share due before this question.
        while written < others * (number + 1) // (questions + 1):
            subject += draw.randrange(1, 60)
            count = min(draw.choice((1, 1, 1, 2, 2, 3, 6)), others - written)
            lengths = [int(draw.uniform(*_OTHER_CHARS) * scale) for _ in range(count)]
            yield TwinPatient(
                question=None,
                notes=_notes(
                    draw, writer, subject, hadm, draw_stays(draw, count), lengths
                ),
            )
            written, hadm = written + count, hadm + count

        if number == questions:
            return

        subject += draw.randrange(1, 60)
        level, count = _SHAPES[number % len(_SHAPES)]
        stays = draw_stays(draw, count)
        length = int(draw.uniform(*_TOKENS[level]) * _CHARS_A_TOKEN * scale / count)
        yield TwinPatient(
            question=maker.question(subject, level, stays),
            notes=_notes(draw, writer, subject, hadm, stays, [length] * count),
        )
        hadm += count


def _notes(
    draw: random.Random,
    writer: Writer,
    subject: int,
    hadm: int,
    stays: Sequence[Stay],
    lengths: Sequence[int],
) -> tuple[TwinNote, ...]:
    """The notes of one invented patient, one for each stay, in shuffled order.

    The release does not sort notes by time, so that the reader must sort by `charttime`.
    """
    sex = draw.choice("FM")
    order = draw.sample(range(len(stays)), len(stays))

    return tuple(
        TwinNote(
            note_id=f"{subject}-DS-{seq}",
            subject_id=str(subject),
            hadm_id=str(hadm + index),
            note_seq=seq,
            charttime=f"{stays[index]['date']} 00:00:00",
            storetime=f"{stays[index]['date']} "
            f"{draw.randrange(8, 23):02d}:{draw.randrange(60):02d}:00",
            text=writer.note(draw, stays[index], sex=sex, length=lengths[index]),
        )
        for seq, index in enumerate(order, start=2)
    )


class _QuestionMaker:
    """Makes questions: for half of the patients with several notes about more than one note.

    For the others it cycles through the kinds of question.
    """

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._order = draw.sample(range(KINDS), KINDS)
        self._one = self._across = self._several = 0

    def question(self, subject: int, level: int, stays: Sequence[Stay]) -> Question:
        """The next question about a patient; every second time about several stays."""
        # Every other round of the shapes swaps the choice, so that every shape gets such
        # questions.
        turn = self._several + self._several // _SEVERAL_A_ROUND
        self._several += len(stays) > 1
        if len(stays) > 1 and turn % 2 == 1:
            text, choices, answer = ask_across(self._draw, stays, kind=self._across)
            self._across += 1
        else:
            text, choices, answer = ask_one(
                self._draw,
                self._draw.choice(stays),
                kind=self._order[self._one % KINDS],
            )
            self._one += 1

        return Question(
            patient_id=str(subject),
            level=level,
            num_notes=len(stays),
            clinician=self._draw.choice("123"),
            question=text,
            choices=choices,
            answer=answer,
        )
