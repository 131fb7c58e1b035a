"""The open tasks of medical-tasks, each as a `@task` of its own, which the register of inspect_evals wants to point at.

    inspect eval tasks.py@medcalc --model openai/gpt-4o

Data are fetched when they are not there, from pinned files that are checked by SHA-256 (ASSETS.yaml), and built on this machine.
"""

from inspect_ai import Task, task

import medical_tasks
from medical_tasks import _registry


@task
def medcalc(config: str = "v1.0") -> Task:
    """MedCalc-Bench, zero-shot chain of thought: https://arxiv.org/abs/2406.12036."""
    medical_tasks.load("medcalc_bench", config=config)
    return _registry.medcalc(config=config)


@task
def kqa(config: str = "answered") -> Task:
    """K-QA, judged statement by statement: https://arxiv.org/abs/2401.14493. The judge is MEDICAL_TASKS_JUDGE."""
    medical_tasks.load("kqa", config=config)
    return _registry.kqa(config=config)


@task
def aci_bench(config: str = "doclens") -> Task:
    """DocLens on ACI-BENCH, judged claim by claim: https://arxiv.org/abs/2311.09581. The judge is MEDICAL_TASKS_JUDGE."""
    medical_tasks.load("aci_bench", config=config)
    return _registry.aci_bench(config=config)


@task
def meqsum(config: str = "full") -> Task:
    """DocLens on MeQSum, judged claim by claim: https://arxiv.org/abs/2311.09581. The judge is MEDICAL_TASKS_JUDGE."""
    medical_tasks.load("meqsum", config=config)
    return _registry.meqsum(config=config)
