r"""Every task of the suite for lighteval: `--custom-tasks medical_tasks.lighteval_tasks`.

    lighteval accelerate "model_name=MODEL" "medical:medcalc|0" \
        --custom-tasks medical_tasks.lighteval_tasks
    medical-tasks lighteval accelerate "model_name=MODEL" "medical|medcalc"

The second command also works without the internet and for credentialed data.

The tasks use the datasets built by `medical-tasks build`; the environment variable
MEDICAL_TASKS_CONFIG selects a configuration (for example `demo`) instead of the default
one. Tasks that lighteval cannot run are in `NOT_HERE` with the reason.
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
"""Tasks that lighteval cannot run, with the reason; use `medical-tasks run`."""

if NOT_HERE:
    logging.getLogger(__name__).info(
        "not in the table, since lighteval asks one question an item: %s",
        ", ".join(NOT_HERE),
    )


def linked() -> list[object]:
    """Returns the table for a lighteval linked by `medical-tasks doctor --link-lighteval`.

    It is empty if --custom-tasks adds the same tasks, which lighteval would refuse.
    """
    return (
        []
        if "lighteval_tasks" in str(command_line().get("custom_tasks"))
        else TASKS_TABLE
    )
