"""Every task of the suite for lighteval: `--custom-tasks medical_tasks.lighteval_tasks`.

    lighteval accelerate "model_name=MODEL" "medical:medcalc|0" --custom-tasks medical_tasks.lighteval_tasks
    medical-tasks lighteval accelerate "model_name=MODEL" "medical|medcalc"      (works without the internet; credentialed data too)

Reads the datasets that `medical-tasks build` made; the environment variable MEDICAL_TASKS_CONFIG picks a configuration
(`demo`, for example) instead of the default one.
"""

from __future__ import annotations

from typing import Any

from medical_tasks.catalog import tasks
from medical_tasks.harness.lighteval_adapter import task_configs
from medical_tasks.harness.lighteval_launcher import command_line

__all__ = ["TASKS_TABLE", "linked"]

# lighteval asks one question an item.
TASKS_TABLE = task_configs(
    [task for task in tasks().values() if not task.protocol and not task.baseline]
)


def linked() -> list[Any]:
    """The table for a lighteval that `medical-tasks doctor --link-lighteval` linked; it refuses one that --custom-tasks repeats."""
    return [] if "lighteval_tasks" in str(command_line().get("custom_tasks")) else TASKS_TABLE
