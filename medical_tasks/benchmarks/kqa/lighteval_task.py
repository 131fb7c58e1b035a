"""K-QA in lighteval.

MEDICAL_TASKS_DOCUMENTS=FOLDER lighteval accelerate "model_name=MODEL" "medical:kqa_rag|0" \
    --custom-tasks medical_tasks.lighteval_tasks
medical-tasks lighteval accelerate "model_name=MODEL" "medical|kqa"      (works without the internet)
"""

from __future__ import annotations

from medical_tasks.benchmarks.kqa.spec import BENCHMARK
from medical_tasks.harness.lighteval_adapter import task_configs

__all__ = ["TASKS"]

TASKS = task_configs(BENCHMARK.tasks, BENCHMARK.datasets)
