"""A judge that reads prompts and answers by a rule, and what it said as a file of verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from medical_tasks.benchmarks.catalog import dataset_spec, task_spec
from medical_tasks.benchmarks.kqa.judge_prompts import load_judge_prompts
from medical_tasks.data.task_data import load_task_data
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import asked_sha256
from medical_tasks.runs.baselines import run_baseline
from medical_tasks.runs.finishing import score_responses

__all__ = ["recorded_verdicts"]


class _Scripted:
    name = "scripted"
    comparable = True
    reads: Literal["prompt", "pair"] = "prompt"

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def ask(self, questions: Sequence[Question]) -> list[Verdict | Unscored]:
        made: list[Verdict | Unscored] = []
        for question in questions:
            text = next(text for text in _REPLIES if isinstance(question.read(text), str | bool))
            value, sha256 = question.read(text), asked_sha256(question.messages)
            made.append(Verdict(id=question.id, value=value, votes=(value,), text=text, sha256=sha256))
            self.rows.append({"id": question.id, "value": value, "text": text, "sha256": sha256})
        return made


_REPLIES = (
    json.dumps({"reason": "It is said.", "verdict": "entailed"}),
    json.dumps({"reason": "It is one.", "answered": True}),
    "It is so. True",
)


def recorded_verdicts(name: str) -> list[dict[str, Any]]:
    """What the scripted judge says of the reference answers to a task's demo records."""
    task = task_spec(name)
    data = load_task_data(task, dataset_spec(task.dataset), config="demo")
    answered = run_baseline("reference", task, data, max_samples=None)
    judge = _Scripted()
    score_responses(answered, Judging(judge=judge, prompts=load_judge_prompts(task, "own", None)))
    return judge.rows
