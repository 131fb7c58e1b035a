"""The numbers of EHRNoteQA for answers at hand: what `metrics/ehrnoteqa` computes, without any framework.

Judges that read prompts need the notes, and with them the guard of `medical-tasks run` and `score`; none is offered here.
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
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import Decided, decide
from medical_tasks.judges.lexical import GIVEN, LEXICAL
from medical_tasks.judges.session import open_offline
from medical_tasks.runs.results import flat
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Item, TaskSpec

FORMATS: Final = ("open", "mc", "prob_index", "prob_value")
MISSING: Final = "judge: no verdict given"

Vote = bool | int | None
Reference = str | Mapping[str, Any]
"""The right answer's text; or `choices` (five texts) with `answer`, the letter of the right one."""


def score_answers(
    answers: Sequence[str],
    references: Sequence[Reference],
    *,
    format: str = "open",  # noqa: A002 - what the formats are called
    verdicts: Sequence[Vote | Sequence[Vote]] | None = None,
    judge: str = "lexical",
    arguments: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Scores answers; the figures are those of `runs.results.flat`, with `judge` and `coverage`.

    `references`: the right answer of each, with its choices in all formats but `open`. `verdicts`: right or not, None, or votes.
    """
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    if len(answers) != len(references):
        raise ValueError(
            f"references must be as many as predictions, {len(answers)}; got {len(references)}"
        )
    task = _task(format, arguments or {})
    if verdicts is not None and not task.judge:
        raise ValueError(f"verdicts are for the formats open and mc; got some for {format}")
    if arguments and format != "open":
        raise ValueError(
            f"checkpoints of embeddings are for the format open; got some for {format}"
        )
    items = [_item(row, reference, format) for row, reference in enumerate(references)]
    with _judging(task, verdicts, judge, len(items)) as judging:
        scores = score_items(task, items, answers, judging=judging, arguments=arguments)
    summary = summarise(task, items, {score.id: score for score in scores}, {}, recipe={})
    named = (
        "none"
        if judging is None
        else LEXICAL
        if judging.judge.name == "lexical"
        else judging.judge.name
    )
    result: dict[str, Any] = {"judge": named, **flat(summary["metrics"])}
    result["coverage"] = {
        "answers": len(items),
        "missing": sum(score.unscored is not None for score in scores),
    }
    return result


def _task(form: str, arguments: Mapping[str, str]) -> TaskSpec:
    """A task of the format; answers at hand have no level and no groups."""
    long = form if form in ("open", "mc") else f"mc_{form}"
    task = next(task for task in TASKS if task.options["format"] == long)
    metrics = tuple(
        metric for metric in task.metrics if not metric.needs or metric.needs in arguments
    )
    return replace(task, name=f"ehrnoteqa_{long}", metrics=metrics, groups=())


def _item(row: int, reference: Reference, form: str) -> Item:
    fields: dict[str, Any] = {
        "question": "",
        "notes": [],
        "choices": [],
        "evidence": [],
        "answer": "",
    }
    if isinstance(reference, str):
        if form != "open":
            raise ValueError(
                f"reference {row} must have choices and answer in the format {form}; got a text"
            )
        # The only choice there is, as far as the scorer knows.
        fields |= {"choices": [reference], "answer": LETTERS[0]}
    else:
        choices, letter = list(reference.get("choices") or ()), str(reference.get("answer") or "")
        if len(choices) != len(LETTERS) or len(letter) != 1 or letter not in LETTERS:
            raise ValueError(
                f"reference {row} must have {len(LETTERS)} choices and as answer one of the letters {LETTERS}; got "
                f"{len(choices)} choices and a letter of {len(letter)} characters"
            )
        fields |= {"choices": choices, "answer": letter}
    return Item(id=str(row), fields=fields, groups={}, cluster=str(row))


class _Given:
    """Says what the caller said. Implements `judges.base.Judge`."""

    name = GIVEN
    comparable = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self, votes: Sequence[Sequence[Vote]]) -> None:
        self._votes = votes

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        outcomes: list[Verdict | Unscored] = []
        for question in questions:
            votes = [
                None if vote is None else bool(vote)
                for vote in self._votes[int(question.id.partition("/")[0])]
            ]
            # In tuples, as a vote of False is not the same as none.
            decision = decide([None if vote is None else (vote,) for vote in votes], len(votes))
            if isinstance(decision, Decided):
                known = tuple(vote for vote in votes if vote is not None)
                outcomes.append(Verdict(id=question.id, value=decision.value[0], votes=known))
            else:
                outcomes.append(Unscored(id=question.id, reason=MISSING))
        return outcomes


@contextlib.contextmanager
def _judging(
    task: TaskSpec, verdicts: Sequence[Vote | Sequence[Vote]] | None, name: str, rows: int
) -> Iterator[Judging | None]:
    if not task.judge:
        yield None
        return
    prompts = load_judge_prompts(task)
    if verdicts is not None:
        yield Judging(judge=_Given(_votes(verdicts, rows)), prompts=prompts)
        return
    with open_offline(name, unread="notes") as session:
        yield Judging(judge=session, prompts=prompts)


def _votes(verdicts: Sequence[Vote | Sequence[Vote]], rows: int) -> list[list[Vote]]:
    if len(verdicts) != rows:
        raise ValueError(f"verdicts must be as many as predictions, {rows}; got {len(verdicts)}")
    votes = [list(each) if isinstance(each, Sequence) else [each] for each in verdicts]
    for row, each in enumerate(votes):
        strange = [vote for vote in each if vote not in (None, 0, 1)]
        if strange or not each:
            raise ValueError(
                f"the verdict on prediction {row} must be 1, 0, None, or a list of at least one of these; got {strange[:1] or each}"
            )
    return votes
