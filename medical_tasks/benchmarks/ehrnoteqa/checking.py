"""A judge asked about answers that people scored, by the same code and the same questions that score EHRNoteQA's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.benchmarks.ehrnoteqa.data import load_items
from medical_tasks.benchmarks.ehrnoteqa.human_scores import HumanScores, read_human_scores
from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET, TASKS
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.data.dataset_store import read_rows
from medical_tasks.data.task_data import locate, rows_sha256
from medical_tasks.errors import UsageError
from medical_tasks.guard.policy import Subject
from medical_tasks.judges.base import Judge, Judging, Unscored
from medical_tasks.judges.check_sets import CheckRequest, CheckSet, CheckSetSource
from medical_tasks.judges.check_views import CORRECTNESS
from medical_tasks.judges.checks import check_set_of
from medical_tasks.judges.judge_check import CheckPair, subset
from medical_tasks.scoring.agreement import majority
from medical_tasks.spec import Item, TaskSpec

__all__ = [
    "CHECK_SET",
    "CORRECT",
    "INCORRECT",
    "check_pairs",
    "ehrnoteqa_set",
    "ehrnoteqa_task",
    "judge_scored",
    "scored_items",
]

CORRECT, INCORRECT = CORRECTNESS.classes


def scored_items(scores: HumanScores, items: Sequence[Item], *, where: str) -> list[Item]:
    """Finds the question of each scored answer.

    Args:
        scores: from `read_human_scores`.
        items: the benchmark's, of one format and all levels.
        where: what they are, for the message.

    Returns:
        One item a row, in order, named after the row: several models' answers to one question are several items.

    Raises:
        UsageError: Some rows name questions that are not there.
    """
    known = {item.id: item for item in items}
    strange = [row for row in scores.rows if row.item not in known]
    if strange:
        raise UsageError(
            f"{scores.path}, line {strange[0].line}, column 'id': no question of {where} has this id; so on {len(strange)} of "
            f"{len(scores.rows)} rows. Give the ids of the built dataset, and its configuration with --config."
        )
    return [replace(known[row.item], id=row.id) for row in scores.rows]


def check_pairs(scores: HumanScores, items: Sequence[Item]) -> list[CheckPair]:
    """Makes pairs of the raters' scores, in order.

    Args:
        scores: from `read_human_scores`.
        items: from `scored_items`.

    Returns:
        One pair a row; its label is the majority of those who scored it, None where they are evenly divided.
    """
    pairs = []
    for row, item in zip(scores.rows, items, strict=True):
        ratings = tuple(None if mark is None else _label(mark) for mark in row.correct)
        pairs.append(
            CheckPair(
                id=row.id,
                gold=majority([label for label in ratings if label is not None]),
                cluster=item.cluster or item.id,
                ratings=ratings,
                group=row.model,
            )
        )
    return pairs


def judge_scored(task: TaskSpec, answers: Sequence[tuple[Item, str]], judging: Judging) -> list[str | Unscored]:
    """Asks a judge whether answers are correct.

    Args:
        task: a task of their format.
        answers: items from `scored_items`, each with the model's answer.
        judging: whom to ask, with which texts.

    Returns:
        `correct` or `incorrect` each, in order, or why there is no verdict.

    Raises:
        UsageError: As `scoring.score_items`.
    """
    items, responses = [item for item, _ in answers], [response for _, response in answers]
    return [
        _label(score.values["accuracy"] == 1.0)
        if "accuracy" in score.values
        else Unscored(id=score.id, reason=score.unscored or "judge: no verdict")
        for score in score_items(task, items, responses, judging=judging)
    ]


def _label(correct: bool) -> str:
    return CORRECT if correct else INCORRECT


def ehrnoteqa_task(form: str) -> TaskSpec:
    """The task whose answers of a format, `open` or `mc`, a judge is checked on; its level plays no part."""
    return next(task for task in TASKS if task.options["format"] == form)


def ehrnoteqa_set(
    source: Path,
    *,
    form: str = "open",
    raters: Sequence[str] = (),
    data: Path | None = None,
    config: str | None = None,
    prompts: str = "own",
    upstream: Path | None = None,
    most: int | None = None,
) -> CheckSet:
    """Answers to EHRNoteQA's questions that people scored.

    Args:
        source: CSV file of scores (`ehrnoteqa.human_scores`).
        form: `open` or `mc`: what the models were asked.
        raters: the raters' columns; by default all that begin with `rater_`.
        data: folder of the built dataset; the user's data home by default.
        config: its configuration.
        prompts: `own` or `official`.
        upstream: for `official`, the authors' checkout.
        most: how many answers at most.

    Raises:
        MissingError: The file, the dataset or the prompts are not there.
        UsageError: A file is not of its form, or names questions that are not in the dataset.
    """
    task = ehrnoteqa_task(form)
    texts = load_judge_prompts(task, prompts, upstream)
    scores = read_human_scores(source.expanduser(), raters)
    items, revision = _questions(task, data, config)
    found = scored_items(scores, items, where=f"configuration {revision['config']}, format {form},")
    every = check_pairs(scores, found)
    pairs = subset(every, most)
    kept = {pair.id for pair in pairs}
    asked = [(item, row.response) for item, row in zip(found, scores.rows, strict=True) if row.id in kept]

    def ask(judge: Judge, mode: Literal["single", "batched"]) -> Sequence[str | Unscored]:
        judging = Judging(judge=judge, prompts=texts, mode=mode)
        return judge_scored(task, asked, judging)

    return CheckSet(
        name=check_set_of(task),
        pairs=pairs,
        ask=ask,
        ways=len(CORRECTNESS.classes),
        views=(CORRECTNESS,),
        source={scores.path.name: file_sha256(scores.path)},
        prompts={"set": texts.name, "sha256": texts.sha256},
        raters=scores.raters,
        about={"data": revision, "format": form, "rows_nobody_scored": scores.unscored},
    )


def _questions(task: TaskSpec, data: Path | None, config: str | None) -> tuple[list[Item], dict[str, Any]]:
    """The questions of one format and all levels, and what they are."""
    folder, chosen = locate(DATASET, data, config)
    rows = read_rows(folder, chosen, task.split, spec=DATASET)
    levels = [each for each in TASKS if each.options["format"] == task.options["format"]]
    items = {item.id: item for each in levels for item in load_items(each, rows)}
    revision = {
        "name": DATASET.name,
        "config": chosen,
        "version": DATASET.version,
        "rows_sha256": rows_sha256(folder, chosen, task.split, spec=DATASET),
    }
    return list(items.values()), revision


def _read(request: CheckRequest) -> CheckSet:
    return ehrnoteqa_set(
        request.needed("ehrnoteqa", "people's scores, a CSV file"),
        form=request.format or "open",
        raters=request.raters,
        data=request.data,
        config=request.config,
        prompts=request.prompts,
        upstream=request.upstream,
        most=request.max_pairs,
    )


CHECK_SET: Final = CheckSetSource(
    read=_read,
    takes=frozenset({"prompts", "upstream", "format", "raters", "data", "config"}),
    subjects=(Subject.of(DATASET, task="judge-check ehrnoteqa"),),
    task=lambda form: ehrnoteqa_task(form or "open"),
)
