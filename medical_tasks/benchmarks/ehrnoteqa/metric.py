"""Computes EHRNoteQA's metrics for a caller's answers: the core of `metrics/ehrnoteqa`, without any framework.

Judges that read prompts are not available here: they need the notes, and so the guard
of `medical-tasks run` and `score`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import load_judge_prompts
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.benchmarks.ehrnoteqa.scoring import score_items
from medical_tasks.benchmarks.ehrnoteqa.spec import TASKS
from medical_tasks.benchmarks.evaluate_metrics import (
    check_counts,
    figures_of_scores,
    item_of_row,
    judge_label,
    reduced_task,
)
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import Decided, decide
from medical_tasks.judges.lexical import GIVEN
from medical_tasks.judges.session import open_offline
from medical_tasks.runs.results import flat
from medical_tasks.spec import Item, Row, TaskSpec

FORMATS: Final = ("open", "mc", "prob_index", "prob_value")
MISSING: Final = "judge: no verdict given"

Vote = bool | int | None
Reference = str | Row
"""The right answer's text, or `choices` (five texts) with `answer`, the letter of the right one."""


def score_answers(
    answers: Sequence[str],
    references: Sequence[Reference],
    *,
    format: str = "open",  # noqa: A002 - what the formats are called
    verdicts: Sequence[Vote | Sequence[Vote]] | None = None,
    judge: str = "lexical",
    arguments: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Scores answers; returns the figures of `runs.results.flat`, with `judge` and `coverage`.

    Args:
        answers: the answers; in the probability formats `ChoiceScores` as text.
        references: the right answer of each, with its choices in all formats but
            `open`.
        format: one of `FORMATS`.
        verdicts: whether each answer is right, None if unknown, or a list of such
            votes.
        judge: the judge used without verdicts: `lexical`, or `nli/FOLDER`.
        arguments: checkpoints of embeddings, for the format `open`.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")

    check_counts(answers, references=references)
    name = format if format in ("open", "mc") else f"mc_{format}"
    task = next(task for task in TASKS if task.options["format"] == name)
    arguments = arguments or {}
    if verdicts is not None and not task.judge:
        raise ValueError(
            f"verdicts are for the formats open and mc; got some for {format}"
        )

    if arguments and format != "open":
        raise ValueError(
            f"checkpoints of embeddings are for the format open; got some for {format}"
        )

    items = [_item(row, reference, format) for row, reference in enumerate(references)]
    with _judging(task, verdicts, judge, answers) as judging:
        scores = score_items(task, items, answers, judging=judging, arguments=arguments)

    # A caller's answers have no level.
    task = replace(task, name=f"ehrnoteqa_{name}")
    task = reduced_task(
        task, lambda metric: not metric.needs or metric.needs in arguments
    )
    missing = sum(score.unscored is not None for score in scores)

    return {
        "judge": judge_label(judge, verdicts) if task.judge else "none",
        **flat(figures_of_scores(task, items, scores)),
        "coverage": {"answers": len(items), "missing": missing},
    }


def _item(row: int, reference: Reference, form: str) -> Item:
    """Checks a caller's reference, and turns it into an item for the scorer.

    The reference of an open answer may be a text alone; others need five choices and a
    letter.
    """
    if isinstance(reference, str):
        if form != "open":
            raise ValueError(
                f"reference {row} must have choices and answer in the format {form}; got a text"
            )

        choices, letter = [reference], LETTERS[0]
    else:
        choices = list(reference.get("choices") or ())
        letter = str(reference.get("answer") or "")
        if len(choices) != len(LETTERS) or letter not in tuple(LETTERS):
            raise ValueError(
                f"reference {row} must have {len(LETTERS)} choices and as answer one of the "
                f"letters {LETTERS}; got {len(choices)} choices and a letter of {len(letter)} "
                "characters"
            )

    fields = {
        "question": "",
        "notes": [],
        "choices": choices,
        "evidence": [],
        "answer": letter,
    }
    return item_of_row(row, fields)


class _CallersVerdicts:
    """A judge that returns the caller's verdicts. Implements `judges.base.Judge`."""

    name = GIVEN
    comparable = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self, votes: Sequence[Sequence[Vote]]) -> None:
        self._votes = votes

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        return [
            self._decided(question.id, self._votes[int(question.id.partition("/")[0])])
            for question in questions
        ]

    @staticmethod
    def _decided(name: str, votes: Sequence[Vote]) -> Verdict | Unscored:
        present = tuple(bool(vote) for vote in votes if vote is not None)
        # In tuples, to tell a vote of False from a missing one.
        decision = decide(
            [None if vote is None else (bool(vote),) for vote in votes], len(votes)
        )
        if isinstance(decision, Decided):
            return Verdict(id=name, value=decision.value[0], votes=present)
        return Unscored(id=name, reason=MISSING)


@contextlib.contextmanager
def _judging(
    task: TaskSpec,
    verdicts: Sequence[Vote | Sequence[Vote]] | None,
    judge: str,
    answers: Sequence[str],
) -> Iterator[Judging | None]:
    """Opens the judge; the probability formats need none."""
    if not task.judge:
        yield None
    elif verdicts is not None:
        check_counts(answers, verdicts=verdicts)
        yield Judging(
            judge=_CallersVerdicts(_votes(verdicts)), prompts=load_judge_prompts(task)
        )
    else:
        with open_offline(judge, unread="notes") as session:
            yield Judging(judge=session, prompts=load_judge_prompts(task))


def _votes(verdicts: Sequence[Vote | Sequence[Vote]]) -> list[list[Vote]]:
    votes = [
        list(verdict) if isinstance(verdict, Sequence) else [verdict]
        for verdict in verdicts
    ]
    for row, own_votes in enumerate(votes):
        unknown = [vote for vote in own_votes if vote not in (None, 0, 1)]
        if unknown or not own_votes:
            raise ValueError(
                f"the verdict on prediction {row} must be 1, 0, None, or a list of at least one of "
                f"these; got {unknown[:1] or own_votes}"
            )
    return votes
