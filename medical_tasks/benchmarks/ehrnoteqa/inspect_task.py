"""EHRNoteQA in inspect: the tasks are registered, and each is refused with what to run instead.

Its data is credentialed, and inspect's logs hold questions and answers as text (`harness.inspect_adapter`); the probability
tasks ask for something that inspect cannot ask for.
"""

from __future__ import annotations

from inspect_ai import Task, task

from medical_tasks.benchmarks.ehrnoteqa.spec import DATASET, TASKS
from medical_tasks.harness.inspect_adapter import load

__all__ = [
    "ehrnoteqa_mc_level1",
    "ehrnoteqa_mc_level2",
    "ehrnoteqa_mc_prob_index_level1",
    "ehrnoteqa_mc_prob_index_level2",
    "ehrnoteqa_mc_prob_value_level1",
    "ehrnoteqa_mc_prob_value_level2",
    "ehrnoteqa_open_level1",
    "ehrnoteqa_open_level2",
]

_TASKS = {each.name: each for each in TASKS}


@task
def ehrnoteqa_open_level1(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Open-ended, level 1."""
    return load(_TASKS["ehrnoteqa_open_level1"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def ehrnoteqa_open_level2(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Open-ended, level 2."""
    return load(_TASKS["ehrnoteqa_open_level2"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def ehrnoteqa_mc_level1(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Five choices, answered in words, level 1."""
    return load(_TASKS["ehrnoteqa_mc_level1"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def ehrnoteqa_mc_level2(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Five choices, answered in words, level 2."""
    return load(_TASKS["ehrnoteqa_mc_level2"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def ehrnoteqa_mc_prob_index_level1(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Five choices, by the probability of the letter, level 1."""
    return load(
        _TASKS["ehrnoteqa_mc_prob_index_level1"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream
    )


@task
def ehrnoteqa_mc_prob_index_level2(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Five choices, by the probability of the letter, level 2."""
    return load(
        _TASKS["ehrnoteqa_mc_prob_index_level2"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream
    )


@task
def ehrnoteqa_mc_prob_value_level1(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Five choices, by the probability of the choice's text, level 1."""
    return load(
        _TASKS["ehrnoteqa_mc_prob_value_level1"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream
    )


@task
def ehrnoteqa_mc_prob_value_level2(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Five choices, by the probability of the choice's text, level 2."""
    return load(
        _TASKS["ehrnoteqa_mc_prob_value_level2"], DATASET, config=config, data=data, prompts=prompts, upstream=upstream
    )
