"""A judge asked about answers that people scored, by the same code and the same questions that score EHRNoteQA's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medical_tasks.benchmarks.ehrnoteqa.human_scores import HumanScores
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Unscored
from medical_tasks.judges.check_views import CORRECTNESS
from medical_tasks.judges.judge_check import CheckPair
from medical_tasks.scoring.agreement import majority
from medical_tasks.spec import Item, TaskSpec

__all__ = ["CORRECT", "INCORRECT", "check_pairs", "judge_scored", "scored_items"]

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
