"""MedCalc-Bench in inspect.

inspect eval medical_tasks/medcalc --model openai-api/local/my-model -T config=v1.0
"""

from __future__ import annotations

from inspect_ai import Task, task

from medical_tasks.benchmarks.medcalc_bench.spec import (
    DATASET,
    MEDCALC,
    MEDCALC_CODE,
    MEDCALC_DIRECT,
    MEDCALC_ONE_SHOT,
    MEDCALC_OPEN_BOOK,
)
from medical_tasks.harness.inspect_adapter import load

__all__ = ["medcalc", "medcalc_code", "medcalc_direct", "medcalc_one_shot", "medcalc_open_book"]


@task
def medcalc(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Zero-shot chain of thought."""
    return load(MEDCALC, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def medcalc_direct(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The answer without reasoning."""
    return load(MEDCALC_DIRECT, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def medcalc_one_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Chain of thought after one worked example of the same calculator."""
    return load(MEDCALC_ONE_SHOT, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def medcalc_open_book(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """Chain of thought with the calculator's specification given."""
    return load(MEDCALC_OPEN_BOOK, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def medcalc_code(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A program that is run in this package's sandbox, up to 20 tries; what it prints is the answer."""
    return load(MEDCALC_CODE, DATASET, config=config, data=data, prompts=prompts, upstream=upstream)
