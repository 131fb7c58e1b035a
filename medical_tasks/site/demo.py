"""`site new --demo`: invented notes, answers of two invented models, and invented raters' labels.

They are written to the folder's `demo/`. The models' answers are written when the items
are built (`answer`), and the raters' labels when there is a sheet for them (`rate`), as
input of `site review --import` instead of the desk. Another seed is another hospital,
with other patients, another case mix, and models that use more or fewer words that a
judge by words does not know.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medical_tasks.io.files import WholeFile, read_text
from medical_tasks.runs.results import JsonDict
from medical_tasks.site.demo_notes import (
    OTHER_WORDS,
    Invented,
    asked_by,
    facts_of,
    invented,
    note_of,
    question_of,
)
from medical_tasks.site.desk.sheets import Sheet
from medical_tasks.site.desk.work import COLUMNS
from medical_tasks.site.folder import Site
from medical_tasks.site.sampling import pseudonym, pseudonym_key
from medical_tasks.site.uses import question_item

FOLDER: Final = "demo"
TRUTH: Final = "truth.json"
PATIENTS: Final = 130
STRATA: Final = ("sex", "age_group")
RIGHT: Final[Mapping[str, float]] = {"candidate": 0.82, "baseline": 0.74}
"""The shares of answers in which the invented models are right."""
SLIPS: Final = 0.05
"""The share of labels in which an invented rater is wrong."""
_AT: Final = "2026-01-01T09:00:00Z"


@dataclass(frozen=True, kw_only=True)
class _Model:
    """An invented model.

    Attributes:
        right: the share of right answers.
        other: the share of these in other words.
        clumsy: the share of wrong answers that also name the right one.
    """

    role: str
    right: float
    other: float
    clumsy: float
    draw: random.Random

    def says(self) -> bool:
        """Whether it is right this time."""
        return self.draw.random() < self.right

    def worded(self, text: str) -> str:
        """The text, now and then in other words."""
        if self.draw.random() >= self.other:
            return text
        for name, words in OTHER_WORDS.items():
            text = text.replace(name, words)
        return text


def _models(site: Site) -> list[_Model]:
    seed = site.settings.seed
    mix = random.Random(f"site demo hospital {seed}")  # noqa: S311 - no secret
    other, clumsy = mix.uniform(0.05, 0.25), mix.uniform(0.0, 0.25)

    return [
        _Model(
            role=role,
            right=right,
            other=other,
            clumsy=clumsy,
            draw=random.Random(f"site demo {role} {seed}"),  # noqa: S311
        )
        for role, right in RIGHT.items()
    ]


def demo_written(folder: Path) -> bool:
    """Whether a folder has a complete demo."""
    return (folder / FOLDER / TRUTH).is_file()


def write_demo(site: Site, count: int) -> None:
    """Writes the notes of invented patients, and the questions that a person wrote on them."""
    seed, use = site.settings.seed, site.settings.use
    # The patients are invented, and the same seed must give the same ids.
    pseudonym_key(site, hashlib.sha256(f"site demo {seed}".encode()).digest())
    mix = random.Random(f"site demo mix {seed}")  # noqa: S311 - no secret
    patients = invented(count, seed, old=mix.uniform(0.3, 0.7))
    folder = site.path / FOLDER
    columns, rows = _NOTES.get(use, _notes)(patients)
    strata = {patient.id: (patient.sex, patient.age_group) for patient in patients}
    _table(
        folder / "notes.csv",
        ("patient_id", *columns, *STRATA),
        ((row[0], *row[1:], *strata[row[0]]) for row in rows),
    )
    if use == "chart-qa":
        _table(
            folder / "items.csv",
            ("patient_id", "question", *(f"choice_{x}" for x in "abcde"), "answer"),
            (
                (patient.id, question, *choices, letter)
                for patient in patients
                for question, choices, letter in [question_of(patient, mix)]
            ),
        )

    _write_truth(site, {})


_Table = tuple[tuple[str, ...], Sequence[tuple[str, ...]]]


def _notes(patients: Sequence[Invented]) -> _Table:
    return ("note",), [(patient.id, note_of(patient)) for patient in patients]


def _summaries(patients: Sequence[Invented]) -> _Table:
    rows = [
        (patient.id, note_of(patient), " ".join(facts_of(patient)))
        for patient in patients
    ]
    return ("note", "summary"), rows


def _questions(patients: Sequence[Invented]) -> _Table:
    rows = []
    for patient in patients:
        question, statements = asked_by(patient)
        rows.append((patient.id, question, " ".join(statements)))
    return ("question", "answer"), rows


_NOTES: Final[Mapping[str, Callable[[Sequence[Invented]], _Table]]] = {
    "discharge-summary": _summaries,
    "patient-questions": _questions,
}


def answer(site: Site, source: Path) -> None:
    """Writes the invented models' answers to the items of a dataset.

    Does nothing if the folder is not a demo.
    """
    if not demo_written(site.path):
        return

    truth = _truth(site)
    for model in _models(site):
        rows, labels = _ANSWERS[site.settings.use](site, source, model)
        path = site.path / FOLDER / f"answers_{model.role}.csv"
        _table(path, ("id", "response"), rows)
        truth |= labels

    _write_truth(site, truth)


_Said = tuple[list[tuple[str, str]], dict[str, str]]
"""Rows of item and answer, and the true label of each answer."""


def _chart_qa(site: Site, source: Path, model: _Model) -> _Said:
    rows, labels = [], {}
    for row in _lines(source):
        position = "ABCDE".index(row["answer"])
        right, others = row["choices"][position], [*row["choices"]]
        others.pop(position)
        if correct := model.says():
            wording = model.worded(right)
        else:
            wrong = model.draw.choice(others)
            clumsy = model.draw.random() < model.clumsy
            wording = f"{wrong} and not {right}" if clumsy else wrong

        rows.append((row["id"], f"According to the notes, it is {wording}."))
        labels[_label(site, row["id"], model)] = "correct" if correct else "incorrect"

    return rows, labels


def _calculator(site: Site, source: Path, model: _Model) -> _Said:
    rows = []
    for row in _lines(source):
        gold = str(row["Ground Truth Answer"])
        wording = gold if model.says() else f"{float(gold) * 1.37:.4g}"
        rows.append((str(row["Row Number"]), f"The answer is {wording}."))
    return rows, {}


def _discharge_summary(site: Site, source: Path, model: _Model) -> _Said:
    claims = json.loads(read_text(source.with_name("claims.json")))
    rows, labels = [], {}
    for row in claims:
        own = row["subclaims_reference"]
        is_stated = [model.says() for _ in own]
        stated_claims = [
            model.worded(text)
            for text, says in zip(own, is_stated, strict=True)
            if says
        ]
        rows.append((row["example_id"], " ".join(stated_claims) or "Nothing of note."))
        label = _label(site, row["example_id"], model)
        if own:
            stated = is_stated[int(label[1:], 16) % len(own)]
            labels[label] = "stated" if stated else "missing"

    return rows, labels


def _patient_questions(site: Site, source: Path, model: _Model) -> _Said:
    rows, labels = [], {}
    for row in _lines(source):
        item = question_item(row["Question"])
        own = [*row["Must_have"], *row["Nice_to_have"]]
        is_stated = [model.says() for _ in own]
        stated_statements = [
            model.worded(text)
            for text, says in zip(own, is_stated, strict=True)
            if says
        ]
        rows.append(
            (item, " ".join(stated_statements) or "Please ask your doctor about that.")
        )
        label = _label(site, item, model)
        stated = is_stated[int(label[1:], 16) % len(own)]
        labels[label] = "entailed" if stated else "neutral"

    return rows, labels


_ANSWERS: Final[Mapping[str, Callable[[Site, Path, _Model], _Said]]] = {
    "chart-qa": _chart_qa,
    "calculator": _calculator,
    "discharge-summary": _discharge_summary,
    "patient-questions": _patient_questions,
}


def _label(site: Site, item: str, model: _Model) -> str:
    """The id of an answer on the sheet of labels."""
    return pseudonym(pseudonym_key(site), f"{item}\0{model.role}")


def _lines(path: Path) -> list[JsonDict]:
    return [json.loads(line) for line in read_text(path).splitlines()]


def _truth(site: Site) -> dict[str, str]:
    truth: dict[str, str] = json.loads(read_text(site.path / FOLDER / TRUTH))
    return truth


def _write_truth(site: Site, truth: Mapping[str, str]) -> None:
    with WholeFile(site.path / FOLDER / TRUTH) as stream:
        stream.write(json.dumps(truth, indent=1) + "\n")


def _table(path: Path, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with WholeFile(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def rate(site: Site, sheet: Sheet) -> Path | None:
    """Writes the invented raters' labels of a sheet; None if the folder is not a demo.

    Each rater is wrong now and then, by a hash of item and rater; if they differ, the
    adjudicator gives the true label. All drafts are to be kept.
    """
    if not demo_written(site.path):
        return None

    truth = _truth(site)
    values = [choice.value for choice in sheet.choices]
    rows = []
    for item in sheet.items:
        true = truth.get(item.id, values[0])
        values_of = {
            rater: _slipped(true, values, f"{site.settings.seed}:{item.id}:{rater}")
            for rater in sheet.raters
        }
        if len(set(values_of.values())) > 1:
            values_of[sheet.adjudicator] = true

        rows += [
            (item.id, item.stratum, rater, value, _AT, "", "")
            for rater, value in values_of.items()
        ]

    path = site.path / FOLDER / f"labels_{sheet.name}.csv"
    _table(path, COLUMNS, rows)
    return path


def _slipped(true: str, values: Sequence[str], key: str) -> str:
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]) / 2**64
    others = [value for value in values if value != true]
    return others[int(number / SLIPS * len(others))] if number < SLIPS else true
