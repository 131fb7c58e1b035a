"""Writes sheets of a task's questions for people to fill in, which `score` reads back.

Each row has a question: its id, its text, what is needed to answer it, and an empty `answer`.
A sheet of credentialed data holds its text: only the owner may read it, and a place that
would share it is refused.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

from medical_tasks.catalog import dataset_spec, parse_task_names
from medical_tasks.data.task_data import (
    TaskData,
    load_task_data,
    read_drawn,
    with_source,
)
from medical_tasks.errors import UsageError, doing
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import check_place
from medical_tasks.io.blank_sheets import blank_workbook, in_cells
from medical_tasks.io.files import WholeFile
from medical_tasks.io.tables import has_columns, read_table, write_sheet
from medical_tasks.options import Sheet, words_of
from medical_tasks.spec import Asking, PersonQuestion, TaskSpec

ID: Final = "id"
QUESTION: Final = "question"
TO_READ: Final = "to_read"
"""What is needed to answer; text beyond a cell's limit continues in `to_read_2`."""
ANSWER: Final = "answer"
_SUFFIXES: Final = (".xlsx", ".csv")
_ASKS_CHOICES: Final = "choices"


@dataclass(frozen=True, kw_only=True)
class MadeSheet:
    """A sheet to fill in.

    Attributes:
        path: the file.
        questions: how many rows it has.
        private: whether it holds text of credentialed data.
        score: the words of the command that scores it, filled in.
    """

    path: Path
    questions: int
    private: bool
    score: tuple[str, ...]

    @property
    def command(self) -> str:
        """The command that scores the sheet."""
        return shlex.join(["medical-tasks", *self.score])


def write_blank_sheet(arguments: Sheet) -> MadeSheet:
    """Writes a sheet of a task's questions.

    Raises:
        UsageError: The task is not answered in words, or the file exists and was filled in.
        RefusedError: The sheet would hold credentialed text in a place that shares it.
    """
    task, *others = parse_task_names(arguments.task)
    if others:
        names = ", ".join(chosen.name for chosen in (task, *others))
        raise UsageError(f"sheet takes one task, got {arguments.task!r} ({names}).")

    _check_task(task)
    spec = dataset_spec(task.dataset)
    out = arguments.out.expanduser()
    if out.suffix.lower() not in _SUFFIXES:
        raise UsageError(
            f"--out {out}: a sheet is XLSX or CSV, by the ending of its name. Give a name that ends "
            f"in {' or '.join(_SUFFIXES)}."
        )

    private = not policy.text_allowed(spec)
    subject = policy.Subject.of(spec, task=task.name)
    with policy.protect([subject], policy.Attestation()), doing(f"write {out}"):
        if private:
            check_place(out)

        _check_unfilled(out)
        with with_source(
            task,
            source=arguments.source,
            data=arguments.data,
            config=arguments.config,
        ) as (folder, config):
            data = load_task_data(
                task,
                spec,
                data=folder,
                config=config,
                split=arguments.split,
                max_samples=arguments.max_samples,
                drawn=read_drawn(arguments, max_samples=arguments.max_samples),
            )

        _write(out, task, data, private=private)

    words = words_of(arguments, without=("out", "max_samples"))
    return MadeSheet(
        path=out,
        questions=len(data.items),
        private=private,
        score=("score", *words, "--responses", str(out)),
    )


def _check_task(task: TaskSpec) -> None:
    """Refuses a task whose answers people cannot write."""
    siblings = [
        sibling.name
        for sibling in task.benchmark.tasks
        if sibling.dataset == task.dataset
        and sibling.asks != _ASKS_CHOICES
        and not sibling.baseline
    ]
    other = f" Choose another task, such as {siblings[0]}." if siblings else ""
    if task.asks == _ASKS_CHOICES:
        raise UsageError(
            f"{task.name}: its answers are the probabilities of all choices, which only a model "
            f"can give.{other}"
        )

    if task.baseline:
        raise UsageError(
            f"{task.name}: is answered by a program of the suite (baseline/{task.baseline}), not "
            f"by people.{other}"
        )


def _check_unfilled(out: Path) -> None:
    """Refuses to overwrite anything but a sheet that is not filled in."""
    if not out.exists():
        return

    name = "Choose another name for the sheet, or move that file away."
    try:
        table = read_table(out, knows=has_columns(ID, ANSWER))
        filled = [row for row in table.rows if row.cells[ANSWER]]
    except (UsageError, KeyError) as error:
        raise UsageError(
            f"{out}: exists and is not a sheet to fill in. {name}"
        ) from error

    if filled:
        raise UsageError(
            f"{out}: exists, and {filled[0].at} of it has an answer that would be overwritten. "
            f"{name}"
        )


def _write(out: Path, task: TaskSpec, data: TaskData, *, private: bool) -> None:
    """Writes the sheet as CSV or, with any other suffix, as a workbook."""
    asking = Asking(
        exemplars=data.exemplars,
        config=data.config if data.config in task.benchmark.asked_otherwise else "",
    )
    questions = task.benchmark.person_questions(task, data.items, asking)
    columns, rows = _table([item.id for item in data.items], questions)
    if out.suffix.lower() == ".csv":
        records = (dict(zip(columns, row, strict=True)) for row in rows)
        write_sheet(out, columns, records, private=private)
        return

    choices = [question.choices for question in questions]
    content = blank_workbook(columns, rows, fill=ANSWER, choices=choices)
    with WholeFile(out, private=private) as file:
        file.write_bytes(content)


def _table(
    ids: Sequence[str], questions_for_people: Sequence[PersonQuestion]
) -> tuple[list[str], list[list[str]]]:
    """Makes the header and the rows; an empty column is left out."""
    questions = [question.question for question in questions_for_people]
    texts = [in_cells(question.to_read) for question in questions_for_people]
    text_columns = list(map(list, zip_longest(*texts, fillvalue="")))
    table = {ID: list(ids), QUESTION: questions}
    for number, text_column in enumerate(text_columns, start=1):
        table[TO_READ if number == 1 else f"{TO_READ}_{number}"] = text_column
    table = {name: column for name, column in table.items() if any(column)}
    table[ANSWER] = [""] * len(ids)
    return list(table), list(map(list, zip(*table.values(), strict=True)))
