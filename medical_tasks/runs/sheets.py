"""Sheets of a task's questions for people to fill in, which `score` takes back as they are.

A row a question: its id, the question, what is needed to answer it, and an empty
`answer`. Of credentialed data the sheet holds text: it is for its owner alone, and no
place from which it would be passed on is taken.
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
"""What is needed to answer; more than a cell holds goes on in `to_read_2`."""
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
        """The command that scores it."""
        return shlex.join(["medical-tasks", *self.score])


def write_blank_sheet(arguments: Sheet) -> MadeSheet:
    """Writes a sheet of a task's questions.

    Raises:
        UsageError: The task is answered otherwise than in words, or the file is there
            and was filled in.
        RefusedError: The sheet holds credentialed text, and would be passed on.
    """
    task, *others = parse_task_names(arguments.task)
    if others:
        names = ", ".join(each.name for each in (task, *others))
        raise UsageError(f"sheet takes one task, got {arguments.task!r} ({names}).")

    _check_task(task)
    spec = dataset_spec(task.dataset)
    out = arguments.out.expanduser()
    if out.suffix.lower() not in _SUFFIXES:
        raise UsageError(
            f"--out {out}: a sheet is XLSX or CSV, told by its name. Give one that ends in "
            f"{' or '.join(_SUFFIXES)}."
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

    again = words_of(arguments, without=("out", "max_samples"))
    return MadeSheet(
        path=out,
        questions=len(data.items),
        private=private,
        score=("score", *again, "--responses", str(out)),
    )


def _check_task(task: TaskSpec) -> None:
    """Refuses a task whose answers no person can write."""
    siblings = [
        each.name
        for each in task.benchmark.tasks
        if each.dataset == task.dataset
        and each.asks != _ASKS_CHOICES
        and not each.baseline
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
    """Refuses to write over anything but a sheet in which nobody has written yet."""
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
    """Writes the sheet as CSV or, by any other suffix, as a workbook."""
    asking = Asking(
        exemplars=data.exemplars,
        config=data.config if data.config in task.benchmark.asked_otherwise else "",
    )
    asked = task.benchmark.person_questions(task, data.items, asking)
    columns, rows = _table([item.id for item in data.items], asked)
    if out.suffix.lower() == ".csv":
        named = (dict(zip(columns, row, strict=True)) for row in rows)
        write_sheet(out, columns, named, private=private)
        return

    choices = [each.choices for each in asked]
    content = blank_workbook(columns, rows, fill=ANSWER, choices=choices)
    with WholeFile(out, private=private) as file:
        file.write_bytes(content)


def _table(
    ids: Sequence[str], asked: Sequence[PersonQuestion]
) -> tuple[list[str], list[list[str]]]:
    """The header and the rows; a column that would be empty is left out."""
    questions = [each.question for each in asked]
    texts = [in_cells(each.to_read) for each in asked]
    parts = list(map(list, zip_longest(*texts, fillvalue="")))
    found = {ID: list(ids), QUESTION: questions}
    for number, part in enumerate(parts, start=1):
        found[TO_READ if number == 1 else f"{TO_READ}_{number}"] = part
    found = {name: column for name, column in found.items() if any(column)}
    found[ANSWER] = [""] * len(ids)
    return list(found), list(map(list, zip(*found.values(), strict=True)))
