"""ArchEHR-QA in lighteval: the subtasks of 2026, which are one question each.

medical-tasks lighteval accelerate "model_name=MODEL" "medical|archehr_evidence"

The data is credentialed, so lighteval runs it under the data guard only, which is what this command is for. Answers that cite
are asked for in several tries, or written without a model: they are for `medical-tasks run`.
"""

from __future__ import annotations

from medical_tasks.benchmarks.archehr_qa.spec import DATASET, SUBTASKS
from medical_tasks.harness.lighteval_adapter import task_configs

__all__ = ["TASKS"]

TASKS = task_configs(SUBTASKS, (DATASET,))
