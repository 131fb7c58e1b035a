"""MedCalc-Bench in lighteval.

lighteval accelerate "model_name=MODEL" "medical:medcalc|0" --custom-tasks medical_tasks.lighteval_tasks
medical-tasks lighteval accelerate "model_name=MODEL" "medical|medcalc"      (works without the internet)
"""

from __future__ import annotations

from medical_tasks.benchmarks.medcalc_bench.spec import BENCHMARK
from medical_tasks.harness.lighteval_adapter import task_configs

__all__ = ["TASKS"]

# lighteval asks one question an item: tasks with a protocol are for `medical-tasks run` and inspect.
TASKS = task_configs(tuple(task for task in BENCHMARK.tasks if not task.protocol), BENCHMARK.datasets)
