"""EHRNoteQA in lighteval.

medical-tasks lighteval accelerate "model_name=MODEL" "medical|ehrnoteqa_open_level1"

The data is credentialed, so lighteval runs it under the data guard only, which is what this command is for.
"""

from __future__ import annotations

from medical_tasks.benchmarks.ehrnoteqa.spec import BENCHMARK
from medical_tasks.harness.lighteval_adapter import task_configs

__all__ = ["TASKS"]

TASKS = task_configs(BENCHMARK.tasks, BENCHMARK.datasets)
