"""Sheets on which clinicians mark models' answers, and the marks read back (appendix F.2).

The sheets do not name the models; only `key.json` says which model wrote an answer. The
marks become a table of scores (tables 13 to 15) and ratings for `judge-check ehrnoteqa`.
"""

from __future__ import annotations

import csv
import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, cast

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.declarations import DATASET
from medical_tasks.benchmarks.ehrnoteqa.judge_check import KINDS, LONGEST_MODEL, RATER
from medical_tasks.benchmarks.ehrnoteqa.prompts import gold_response
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.construct.ehrnoteqa import files
from medical_tasks.construct.ehrnoteqa.forms import AnswerKey, AnswerRecord
from medical_tasks.construct.ehrnoteqa.review import NOTES_FOLDER, write_notes
from medical_tasks.construct.options import EhrnoteqaAnswerSheet
from medical_tasks.construct.shared import file_name
from medical_tasks.data.task_data import run_data, subset
from medical_tasks.errors import UsageError, check_least
from medical_tasks.io.cells import escaped
from medical_tasks.io.files import WholeFile, make_folder
from medical_tasks.io.json_records import Field, is_text
from medical_tasks.io.tables import TableRow, read_sheet, refuse, write_table
from medical_tasks.spec import Item

KEY: Final = "key.json"
ANSWERS: Final = "answers.jsonl"
COLUMNS: Final = (
    "index", "id", "reviewer", "notes", "answer_number",
    "question", "right_answer", "response", "verdict", "comment",
)  # fmt: skip

_OPEN: Final = {task.name: task for task in TASKS if task.options["format"] == "open"}


def export_answers(arguments: EhrnoteqaAnswerSheet) -> AnswerKey:
    """Writes sheets, notes, answers and key.

    Existing sheets are left unchanged, so that an interrupted export can be resumed.
    """
    check_least({"--max-samples": arguments.max_samples})
    folder, reviewers = arguments.out, annotation.parse_names(arguments.reviewers)
    overlap, seed = arguments.overlap or 0, construction.checked_seed(arguments.seed)
    items, gold, responses = _collected(arguments)
    models = sorted(responses)
    complete = [
        item
        for name, item in items.items()
        if all(name in responses[model] for model in models)
    ]
    if not complete:
        raise UsageError(
            f"no question was answered by every model ({', '.join(models)}). Give runs of the "
            "same tasks on the same questions."
        )

    chosen = {item.id: item for item in subset(complete, arguments.max_samples)}
    answers: list[AnswerRecord] = [
        {
            "id": name,
            "answer_number": number,
            "model": model,
            "response": responses[model][name],
        }
        for name in chosen
        for number, model in enumerate(_shuffled(models, f"{seed}:{name}"), start=1)
    ]
    key: AnswerKey = {
        "schema_version": 1,
        "models": models,
        "seed": seed,
        "overlap": overlap,
        "answers_sha256": construction.lines_sha256(answers),
        "left_out": len(items) - len(complete),
        **annotation.shared_sheets(list(chosen), reviewers, overlap=overlap, seed=seed),
    }
    make_folder(folder)
    refusal = f"{folder}: holds sheets of other answers or with other settings. Give another --out."
    annotation.keep_once(
        folder / KEY, key, step="ehrnoteqa answer-sheet", refusal=refusal
    )
    construction.write_lines(folder / ANSWERS, answers)
    sheets = make_folder(folder / files.SHEETS)
    write_notes(
        sheets / NOTES_FOLDER,
        {item.id: item.fields["notes"] for item in chosen.values()},
    )
    of_question = {
        name: list(group)
        for name, group in groupby(answers, key=lambda answer: answer["id"])
    }
    rows = {
        reviewer: [
            _row(number, chosen[name], gold[name], answer, reviewer)
            for number, name in enumerate(ids, start=1)
            for answer in of_question[name]
            # An empty response is wrong; no clinician has to mark it.
            if answer["response"].strip()
        ]
        for reviewer, ids in key["sheets"].items()
    }
    annotation.write_sheets(sheets, COLUMNS, rows)

    return key


def _shuffled(models: Sequence[str], seed: str) -> list[str]:
    """Shuffles the models, so that raters cannot tell which model wrote an answer."""
    return random.Random(seed).sample(list(models), len(models))  # noqa: S311


def _collected(
    arguments: EhrnoteqaAnswerSheet,
) -> tuple[dict[str, Item], dict[str, str], dict[str, dict[str, str]]]:
    """Returns items and gold by question, and answers by model and question.

    Runs of one model may cover different tasks, but two runs must not answer the same
    question differently, since a clinician marks only one answer of a model.
    """
    from medical_tasks.runs.replaying import check_recipe, run_responses
    from medical_tasks.runs.results import read_results

    items: dict[str, Item] = {}
    gold: dict[str, str] = {}
    answers: dict[str, dict[str, str]] = {}
    rows: dict[str, str] = {}
    for run in arguments.paths:
        results = read_results(run)
        names = [name for name in results["tasks"] if name in _OPEN]
        if not names:
            raise UsageError(
                f"{run}: has no open-ended task of EHRNoteQA ({', '.join(results['tasks'])}); "
                f"clinicians mark answers to {', '.join(_OPEN)}."
            )

        for name in names:
            task, recipe = _OPEN[name], results["tasks"][name]["recipe"]
            check_recipe(run, recipe)
            with run_data(
                task, DATASET, recipe, data=arguments.data, source=None
            ) as data:
                answered = run_responses(
                    task, data, recipe, run, upstream=arguments.upstream
                )

            if (
                rows.setdefault(name, data.revision["rows_sha256"])
                != data.revision["rows_sha256"]
            ):
                raise UsageError(
                    f"{run}: {name} ran on other rows than in the preceding runs. Give runs on "
                    "the same data."
                )

            model = str(recipe["model"]["name"])
            model_answers = answers.setdefault(model, {})
            for item in data.items:
                items.setdefault(item.id, item)
                gold.setdefault(item.id, gold_response(task, item))

            for question_id, text in answered.items():
                if model_answers.setdefault(question_id, text) != text:
                    raise UsageError(
                        f"{run}: {model} answered question {question_id} differently in a "
                        "preceding run. Give one run for each model."
                    )

    return items, gold, answers


def _row(
    number: int, item: Item, gold: str, answer: AnswerRecord, reviewer: str
) -> dict[str, object]:
    return {
        **dict.fromkeys(COLUMNS, ""),
        "index": number,
        "id": item.id,
        "reviewer": reviewer,
        "notes": f"{NOTES_FOLDER}/{file_name(item.id)}",
        "answer_number": answer["answer_number"],
        "question": item.fields["question"],
        "right_answer": gold,
        "response": answer["response"],
    }


RATINGS: Final = "ratings.csv"

_KINDS: Final = {name: KINDS[name] for name in ("1 and 0", "o and x")}
_NUMBER: Final = re.compile(r"[0-9]{1,6}")
_HASH_DIGITS: Final = 8
_FIELDS: Final = {
    "id": is_text(),
    "answer_number": Field(
        holds=lambda value: type(value) is int and value >= 1,
        rule="a whole number from 1",
    ),
    "model": is_text(),
    "response": construction.private_field(is_text(blank=True)),
}

Answer = tuple[str, int]
"""The question's id and the answer's number."""


@dataclass(kw_only=True)
class _Marks:
    """A clinician's marks, from the rows read so far.

    Attributes:
        reviewer: The clinician.
        expected: The answers that the sheet must hold.
        index: Question id to its position in the sheet.
        marks: Whether each answer is right.
        seen: The answers that had a row.
        open_rows: Numbers of the rows without a mark.
        problems: A message for each faulty row.
        kind: The kind of marks used; a sheet must not mix kinds.
    """

    reviewer: str
    expected: frozenset[Answer]
    index: Mapping[str, int]
    marks: dict[Answer, bool] = field(default_factory=dict)
    seen: set[Answer] = field(default_factory=set)
    open_rows: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    kind: str = ""

    def read(self, row: TableRow) -> None:
        """Reads a row, which must name an answer of this sheet once, at its position.

        A wrong position reveals rows that were sorted or pasted, whose marks would belong
        to another answer.
        """
        number = row.cells["answer_number"].strip()
        answer = (
            row.cells["id"].strip(),
            int(number) if _NUMBER.fullmatch(number) else 0,
        )
        if row.cells["reviewer"].strip() != self.reviewer:
            self._wrong(row, "reviewer", f"must be {self.reviewer}; {annotation.LEAVE}")
        elif answer not in self.expected:
            self._wrong(
                row,
                "answer_number",
                "no such answer in this sheet; leave id and number as they were",
            )
        elif answer in self.seen:
            self._wrong(
                row,
                "answer_number",
                f"answer {answer[1]} to question {answer[0]} appears twice",
            )
        elif row.cells["index"].strip() != str(self.index[answer[0]]):
            self._wrong(
                row, "index", f"must be {self.index[answer[0]]}; {annotation.LEAVE}"
            )
        else:
            self.seen.add(answer)
            self._mark(row, answer, row.cells["verdict"].strip().lower())

    def _mark(self, row: TableRow, answer: Answer, mark: str) -> None:
        if not mark:
            self.open_rows.append(row.number)
            return

        kind = next((kind for kind, marks in _KINDS.items() if mark in marks), None)
        self.kind = self.kind or kind or ""
        if kind is None:
            self.problems.append(
                annotation.unknown_mark(row, "verdict", "o or x (or 1 or 0)", mark)
            )
        elif kind != self.kind:
            self._wrong(
                row,
                "verdict",
                f"is of {kind}, the marks above are of {self.kind}; 0 and o mean the opposite",
            )
        else:
            self.marks[answer] = _KINDS[kind][mark]

    def _wrong(self, row: TableRow, column: str, rule: str) -> None:
        self.problems.append(f"{row.location(column)}: {rule}")


def write_scores(
    folder: Path, out: Path, *, partial: bool = False
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Writes the tables of scores and ratings from the marked sheets.

    An empty answer counts as wrong for each clinician who marked another answer to the
    same question.
    """
    key: AnswerKey = construction.read_json(folder / KEY, step="ehrnoteqa answer-sheet")
    if (folder / ANSWERS).exists():
        advice = "Give the folder as answer-sheet left it."
        construction.check_unchanged(
            folder / ANSWERS, key.get("answers_sha256"), advice
        )

    records = construction.read_lines(
        folder / ANSWERS, _FIELDS, step="ehrnoteqa answer-sheet"
    )
    lines = (
        cast("AnswerRecord", record.values) for record in records
    )  # as `_FIELDS` checked it
    answers = {(line["id"], line["answer_number"]): line for line in lines}
    sheets = {
        name: _read(folder, name, ids, answers)
        for name, ids in key["sheets"].items()
        if ids
    }
    refuse(
        [
            problem
            for sheet in sheets.values()
            for problem in _problems(sheet, partial=partial)
        ]
    )
    marked = {
        name: _with_empty(sheet, key["sheets"][name], answers)
        for name, sheet in sheets.items()
    }
    if not any(marked.values()):
        raise UsageError(f"{folder / files.SHEETS}: nothing is marked yet.")

    _write_ratings(
        folder / RATINGS, answers, {name: sheet.marks for name, sheet in sheets.items()}
    )
    header = ("model", *marked)
    rows = [
        (model, *(_percent(marks, answers, model) for marks in marked.values()))
        for model in key["models"]
    ]
    write_table(out, (header, *rows))

    return header, rows


def _read(
    folder: Path, name: str, ids: Sequence[str], answers: Mapping[Answer, AnswerRecord]
) -> _Marks:
    """Reads the sheet of one clinician."""
    own_ids = set(ids)
    expected = frozenset(
        answer
        for answer, record in answers.items()
        if answer[0] in own_ids and record["response"].strip()
    )
    sheet = _Marks(
        reviewer=name,
        expected=expected,
        index={question: number for number, question in enumerate(ids, start=1)},
    )
    if expected:
        for row in read_sheet(folder / files.SHEETS / f"{name}.csv", COLUMNS):
            sheet.read(row)

    return sheet


def _problems(sheet: _Marks, *, partial: bool) -> list[str]:
    """Lists the problems of a sheet: of its rows, lost rows, and rows without a verdict."""
    problems = list(sheet.problems)
    lost = len(sheet.expected - sheet.seen)
    if lost and not sheet.problems:
        problems.append(f"the sheet of {sheet.reviewer}: {lost} rows are lost")

    if sheet.open_rows and not partial:
        rows = ", ".join(map(str, sheet.open_rows[:5])) + (
            " ..." if len(sheet.open_rows) > 5 else ""
        )
        problems.append(
            f"the sheet of {sheet.reviewer}: {len(sheet.open_rows)} rows have no verdict (rows "
            f"{rows}); to continue without them, add --partial"
        )

    return problems


def _with_empty(
    sheet: _Marks, ids: Sequence[str], answers: Mapping[Answer, AnswerRecord]
) -> dict[Answer, bool]:
    """Adds the empty answers, which are wrong, to a clinician's marks."""
    # Empty answers to questions that were not marked do not count: otherwise a larger
    # share of a model's empty answers would count than of its other answers.
    unmarked_questions = {question for question, _ in sheet.expected} - {
        question for question, _ in sheet.marks
    }
    marked_ids = set(ids) - unmarked_questions
    empty = {
        answer: False
        for answer, record in answers.items()
        if answer[0] in marked_ids and not record["response"].strip()
    }
    return {**empty, **sheet.marks} if sheet.marks else {}


def _percent(
    marks: Mapping[Answer, bool], answers: Mapping[Answer, AnswerRecord], model: str
) -> str:
    """Formats the share of a model's answers that are right; "" if none was marked."""
    verdicts = [
        right for answer, right in marks.items() if answers[answer]["model"] == model
    ]
    return f"{100 * sum(verdicts) / len(verdicts):.2f}" if verdicts else ""


def _write_ratings(
    path: Path,
    answers: Mapping[Answer, AnswerRecord],
    marks: Mapping[str, Mapping[Answer, bool]],
) -> None:
    """Writes every marked answer. The file quotes answers, so only its owner may read it."""
    names = [name for name, verdicts in marks.items() if verdicts]
    with WholeFile(path, private=True) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(
            ["id", "response", "model", *(f"{RATER}{name}" for name in names)]
        )
        for answer, record in answers.items():
            marks_of_answer = [marks[name].get(answer) for name in names]
            if any(mark is not None for mark in marks_of_answer):
                shown = [
                    "" if mark is None else str(int(mark)) for mark in marks_of_answer
                ]
                writer.writerow(
                    [
                        *map(
                            escaped,
                            (record["id"], record["response"], _short(record["model"])),
                        ),
                        *shown,
                    ]
                )


def _short(model: str) -> str:
    """Shortens a model's name to the length that judge-check accepts, keeping its end."""
    if len(model) <= LONGEST_MODEL:
        return model
    digest = hashlib.sha256(model.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{digest}...{model[-(LONGEST_MODEL - _HASH_DIGITS - 3) :]}"
