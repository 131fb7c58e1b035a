"""Every task of the suite for lighteval: `--custom-tasks medical_tasks.lighteval_tasks`.

Reads the datasets that `medical-tasks build` made; the environment variable MEDICAL_TASKS_CONFIG picks a configuration
(`demo`, for example) instead of the default one.
"""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.lighteval_task import TASKS as ARCHEHR_QA
from medical_tasks.benchmarks.doclens.lighteval_task import TASKS as DOCLENS
from medical_tasks.benchmarks.ehrnoteqa.lighteval_task import TASKS as EHRNOTEQA
from medical_tasks.benchmarks.kqa.lighteval_task import TASKS as KQA
from medical_tasks.benchmarks.medcalc_bench.lighteval_task import TASKS as MEDCALC_BENCH

__all__ = ["TASKS_TABLE"]

TASKS_TABLE = [*MEDCALC_BENCH, *KQA, *EHRNOTEQA, *DOCLENS, *ARCHEHR_QA]
