"""Every task of the suite for lighteval: `--custom-tasks medical_tasks.lighteval_tasks`.

    lighteval accelerate "model_name=MODEL" "medical:medcalc|0" --custom-tasks
    medical_tasks.lighteval_tasks medical-tasks lighteval accelerate "model_name=MODEL"
    "medical|medcalc"      (works without the internet; credentialed data too)

Reads the datasets that `medical-tasks build` made; the environment variable
MEDICAL_TASKS_CONFIG picks a configuration (`demo`, for example) instead of the default
one. Tasks that lighteval cannot run are in `NOT_HERE`, each with the reason.
"""

from __future__ import annotations

import logging
from typing import Final

from medical_tasks.catalog import tasks
from medical_tasks.harness.lighteval_adapter import task_configs
from medical_tasks.harness.lighteval_launcher import command_line

__all__ = ["NOT_HERE", "TASKS_TABLE", "linked"]

TASKS_TABLE = task_configs(
    [task for task in tasks().values() if not task.outside_lighteval]
)

NOT_HERE: Final = {
    task.harness_name: task.outside_lighteval
    for task in tasks().values()
    if task.outside_lighteval
}
"""Tasks that lighteval cannot run, with the reason; `medical-tasks run` takes them."""

if NOT_HERE:
    logging.getLogger(__name__).info(
        "not in the table, since lighteval asks one question an item: %s",
        ", ".join(NOT_HERE),
    )


def linked() -> list[object]:
    """The table for a lighteval that `medical-tasks doctor --link-lighteval` linked.

    It refuses one that --custom-tasks repeats.
    """
    return (
        []
        if "lighteval_tasks" in str(command_line().get("custom_tasks"))
        else TASKS_TABLE
    )
