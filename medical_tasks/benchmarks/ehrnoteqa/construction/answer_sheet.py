"""Models' answers for clinicians to mark, without a name on them (paper, appendix F.2).

Answers come from finished runs of the open-ended tasks. Of each question the answers of all models stand one below the other, in an
order of its own; whose they are is in `key.json` alone, which is not handed out.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa.construction import files
from medical_tasks.benchmarks.ehrnoteqa.construction.patients import Patient
from medical_tasks.benchmarks.ehrnoteqa.construction.sheet import NOTES_FOLDER, write_notes
from medical_tasks.benchmarks.ehrnoteqa.prompts import gold_response
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET, TASKS
from medical_tasks.data.construction_cells import file_name, write_sheet
from medical_tasks.data.construction_shares import share_out, sheet_order
from medical_tasks.data.task_data import load_task_data, subset
from medical_tasks.errors import UsageError
from medical_tasks.spec import Item

__all__ = ["ANSWERS", "COLUMNS", "KEY", "AnswerSheetOptions", "export_answers"]

KEY: Final = "key.json"
ANSWERS: Final = "answers.jsonl"
COLUMNS: Final = (
    "index", "id", "reviewer", "notes", "answer_number", "question", "right_answer", "response", "verdict", "comment",
)  # fmt: skip

_OPEN: Final = {task.name: task for task in TASKS if task.options["format"] == "open"}


@dataclass(frozen=True, kw_only=True)
class AnswerSheetOptions:
    """How answers are put onto sheets.

    Attributes:
        reviewers: who marks.
        overlap: how many questions everybody gets.
        seed: decides who gets what, and the models' order.
        most: how many questions at most, None for all.
        data: the built dataset, or None for the user's data home.
        upstream: the authors' checkout, for runs that asked with their prompts.
    """

    reviewers: Sequence[str]
    overlap: int = 0
    seed: int = 0
    most: int | None = None
    data: Path | None = None
    upstream: Path | None = None


@dataclass(kw_only=True)
class _Found:
    """What the runs hold."""

    items: dict[str, Item] = field(default_factory=dict)
    gold: dict[str, str] = field(default_factory=dict)
    answers: dict[str, dict[str, str]] = field(default_factory=dict)  # model to question id to text


def export_answers(runs: Sequence[Path], folder: Path, options: AnswerSheetOptions) -> dict[str, Any]:
    """Writes a sheet a reviewer, the patients' notes, the answers, and the key.

    Sheets that are there stay as they are, so a stopped export goes on.

    Args:
        runs: folders of finished runs, of several models and levels.
        folder: where to.
        options: how.

    Returns:
        Content of `key.json`.

    Raises:
        MissingError: A folder holds no finished run, or its answers are gone.
        UsageError: A run has no open-ended task, a model answered a question twice, no question has an answer of every
            model, or the folder holds sheets of something else.
    """
    if options.most is not None and options.most < 1:
        raise UsageError(f"--max-samples must be 1 or more, got {options.most}.")
    found = _collected(runs, options)
    models = sorted(found.answers)
    complete = [item for name, item in found.items.items() if all(name in found.answers[model] for model in models)]
    if not complete:
        raise UsageError(
            f"no question has an answer of every model ({', '.join(models)}). Give runs of the same tasks on the same questions."
        )
    chosen = {item.id: item for item in subset(complete, options.most)}
    shares = share_out(list(chosen), options.reviewers, overlap=options.overlap, seed=options.seed)
    answers = [
        {"id": name, "answer_number": number, "model": model, "response": found.answers[model][name]}
        for name in chosen
        for number, model in enumerate(_order(models, f"{options.seed}:{name}"), start=1)
    ]
    made: dict[str, Any] = {
        "schema_version": 1,
        "models": models,
        "seed": options.seed,
        "overlap": options.overlap,
        "answers_sha256": files.lines_sha256(answers),
        "left_out": len(found.items) - len(complete),
        "sheets": {name: sheet_order(shares, name, seed=options.seed) for name in options.reviewers},
        "first": {name: names[0] for name, names in shares.items()},
    }
    files.make_folder(folder)
    if (folder / KEY).exists() and files.read_json(folder / KEY, step="answer-sheet") != made:
        raise UsageError(f"{folder}: holds sheets of other answers or with other settings. Give another --out.")
    files.write_lines(folder / ANSWERS, answers)
    files.write_json(folder / KEY, made)
    sheets = files.make_folder(folder / files.SHEETS)
    write_notes(sheets / NOTES_FOLDER, [_patient(item) for item in chosen.values()])
    of_question: dict[str, list[Mapping[str, Any]]] = {}
    for each in answers:
        of_question.setdefault(str(each["id"]), []).append(each)
    for reviewer in options.reviewers:
        path = sheets / f"{reviewer}.csv"
        if not path.exists():
            own = made["sheets"][reviewer]
            rows = [
                _row(number, chosen[name], found.gold[name], answer, reviewer)
                for number, name in enumerate(own, start=1)
                for answer in of_question[name]
                if str(answer["response"]).strip()  # what says nothing is wrong, without a clinician
            ]
            write_sheet(path, COLUMNS, rows)
    return made


def _collected(runs: Sequence[Path], options: AnswerSheetOptions) -> _Found:
    from medical_tasks.runs.results import read_results
    from medical_tasks.runs.run_responses import check_recipe, run_responses

    found = _Found()
    rows: dict[str, str] = {}
    for run in runs:
        results = read_results(run)
        names = [name for name in results["tasks"] if name in _OPEN]
        if not names:
            raise UsageError(
                f"{run}: no open-ended task of EHRNoteQA in it ({', '.join(results['tasks'])}); clinicians mark answers to "
                f"{', '.join(_OPEN)}."
            )
        for name in names:
            task, recipe = _OPEN[name], results["tasks"][name]["recipe"]
            check_recipe(run, recipe)
            data = load_task_data(
                task,
                DATASET,
                data=options.data,
                config=recipe["data"]["config"],
                split=recipe["data"]["split"],
                max_samples=recipe["max_samples"],
            )
            if rows.setdefault(name, data.revision["rows_sha256"]) != data.revision["rows_sha256"]:
                raise UsageError(
                    f"{run}: {name} ran on other rows than in the runs before. Give runs on the same data."
                )
            model = str(recipe["model"]["name"])
            own = found.answers.setdefault(model, {})
            for item in data.items:
                found.items.setdefault(item.id, item)
                found.gold.setdefault(item.id, gold_response(task, item))
            for name_of_item, text in run_responses(task, data, recipe, run, upstream=options.upstream).items():
                if own.setdefault(name_of_item, text) != text:
                    raise UsageError(
                        f"{run}: {model} answered question {name_of_item} in a run before, and differently. Give one run a model."
                    )
    return found


def _order(models: Sequence[str], key: str) -> list[str]:
    return random.Random(key).sample(list(models), len(models))  # noqa: S311  # an order, not a secret


def _patient(item: Item) -> Patient:
    notes = tuple(item.fields["notes"])
    return Patient(id=item.id, level=0, num_notes=len(notes), tokens=0, notes=notes)


def _row(number: int, item: Item, gold: str, answer: Mapping[str, Any], reviewer: str) -> dict[str, object]:
    return {
        "index": number,
        "id": item.id,
        "reviewer": reviewer,
        "notes": f"{NOTES_FOLDER}/{file_name(item.id)}",
        "answer_number": answer["answer_number"],
        "question": item.fields["question"],
        "right_answer": gold,
        "response": answer["response"],
        "verdict": "",
        "comment": "",
    }
