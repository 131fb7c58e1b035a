"""DocLens in inspect.

inspect eval medical_tasks/aci_bench --model openai-api/local/my-model
inspect eval medical_tasks/meqsum_two_shot --model openai-api/local/my-model -T prompts=official -T upstream=DocLens

Answers are always asked to cite here: whoever wants none says so to `medical-tasks run`, whose scoring is told as well. Tasks on
credentialed data (`mimic_rrs`, `doclens_own`) are registered, and each is refused with what to run instead, since inspect's logs
hold questions and answers as text (`harness.inspect_adapter`).
"""

from __future__ import annotations

from inspect_ai import Task, task

from medical_tasks.benchmarks.doclens.datasets import ACI_BENCH, MEQSUM, MIMIC_RRS, OWN
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.harness.inspect_adapter import load

__all__ = [
    "aci_bench",
    "aci_bench_one_shot",
    "aci_bench_section",
    "aci_bench_section_one_shot",
    "aci_bench_section_two_shot",
    "aci_bench_two_shot",
    "doclens_own",
    "meqsum",
    "meqsum_one_shot",
    "meqsum_two_shot",
    "mimic_rrs",
    "mimic_rrs_six_shot",
    "mimic_rrs_twelve_shot",
]

_TASKS = {each.name: each for each in TASKS}


@task
def aci_bench(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A whole note."""
    return load(_TASKS["aci_bench"], ACI_BENCH, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def aci_bench_one_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A whole note, one worked example."""
    return load(_TASKS["aci_bench_one_shot"], ACI_BENCH, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def aci_bench_two_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A whole note, two worked examples."""
    return load(_TASKS["aci_bench_two_shot"], ACI_BENCH, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def aci_bench_section(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A note, one section a question."""
    return load(_TASKS["aci_bench_section"], ACI_BENCH, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def aci_bench_section_one_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A note, one section a question, one worked example."""
    return load(
        _TASKS["aci_bench_section_one_shot"], ACI_BENCH, config=config, data=data, prompts=prompts, upstream=upstream
    )


@task
def aci_bench_section_two_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A note, one section a question, two worked examples."""
    return load(
        _TASKS["aci_bench_section_two_shot"], ACI_BENCH, config=config, data=data, prompts=prompts, upstream=upstream
    )


@task
def meqsum(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A patient's question in one sentence."""
    return load(_TASKS["meqsum"], MEQSUM, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def meqsum_one_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A patient's question in one sentence, one worked example."""
    return load(_TASKS["meqsum_one_shot"], MEQSUM, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def meqsum_two_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A patient's question in one sentence, two worked examples."""
    return load(_TASKS["meqsum_two_shot"], MEQSUM, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def mimic_rrs(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The impression of a radiology report."""
    return load(_TASKS["mimic_rrs"], MIMIC_RRS, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def mimic_rrs_six_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The impression of a radiology report, six worked examples."""
    return load(_TASKS["mimic_rrs_six_shot"], MIMIC_RRS, config=config, data=data, prompts=prompts, upstream=upstream)


@task
def mimic_rrs_twelve_shot(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """The impression of a radiology report, twelve worked examples."""
    return load(
        _TASKS["mimic_rrs_twelve_shot"], MIMIC_RRS, config=config, data=data, prompts=prompts, upstream=upstream
    )


@task
def doclens_own(
    config: str | None = None, data: str | None = None, prompts: str = "own", upstream: str | None = None
) -> Task:
    """A summary of a text of your own."""
    return load(_TASKS["doclens_own"], OWN, config=config, data=data, prompts=prompts, upstream=upstream)
