"""ArchEHR-QA in inspect: the tasks are registered, and each is refused with what to run instead.

Its data is credentialed, and inspect's logs hold questions and answers as text (`harness.inspect_adapter`).
"""

from __future__ import annotations

from inspect_ai import Task, task

from medical_tasks.benchmarks.archehr_qa.spec import DATASET, TASKS
from medical_tasks.harness.inspect_adapter import load

__all__ = [
    "archehr_alignment",
    "archehr_answer",
    "archehr_answer_first",
    "archehr_evidence",
    "archehr_evidence_first",
    "archehr_heuristic",
    "archehr_question",
    "archehr_together",
]

_TASKS = {each.name: each for each in TASKS}


@task
def archehr_together(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The answer with its citations in one reply."""
    return load(_TASKS["archehr_together"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_answer_first(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The answer, then its citations."""
    return load(_TASKS["archehr_answer_first"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_evidence_first(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The answer from sentences chosen by similarity."""
    return load(_TASKS["archehr_evidence_first"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_heuristic(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Sentences of the note that are most like the questions; no model is asked."""
    return load(_TASKS["archehr_heuristic"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_question(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The question a clinician takes from a patient's message."""
    return load(_TASKS["archehr_question"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_evidence(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The sentences a question needs."""
    return load(_TASKS["archehr_evidence"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_answer(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The answer without citations."""
    return load(_TASKS["archehr_answer"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def archehr_alignment(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The sentences that each sentence of a given answer rests on."""
    return load(_TASKS["archehr_alignment"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)
