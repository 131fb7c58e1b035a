"""Task names as users and harnesses spell them.

The same task is `medcalc`, `medical:medcalc`, `medical|medcalc`, and with a number of worked examples behind it
`medcalc|0`, `medical:medcalc|0`, `medical|medcalc|0`; `medical` alone is every task; commas make lists. A number other
than 0 names the task that shows that many examples, where the benchmark has one (`medcalc|1` is `medcalc_one_shot`).
"""

from __future__ import annotations

from medical_tasks.benchmarks.catalog import task_spec, tasks
from medical_tasks.errors import UsageError
from medical_tasks.spec import TaskSpec

__all__ = ["SUITE", "parse_task_names"]

SUITE = "medical"


def parse_task_names(text: str) -> list[TaskSpec]:
    """Reads a comma list of task names in any of the spellings.

    Args:
        text: for example `medical|medcalc,medcalc_direct`.

    Returns:
        The tasks in the order given, each once.

    Raises:
        UsageError: A name is empty, unknown, or asks for a number of examples the task does not have.
    """
    found: dict[str, TaskSpec] = {}
    for part in text.split(","):
        for task in _parse_one(part.strip()):
            found.setdefault(task.name, task)
    return list(found.values())


def _parse_one(text: str) -> list[TaskSpec]:
    if not text:
        raise UsageError("empty task name. Give for example --tasks medcalc, or --tasks medical for all.")
    if text == SUITE:
        return list(tasks().values())
    words = text.replace(":", "|").split("|")
    if words[0] == SUITE:
        words = words[1:]
    shots = 0
    if len(words) > 1:
        if len(words) > 2 or not words[1].isascii() or not words[1].isdigit():
            raise UsageError(
                f"task name {text!r} is not of the form [medical|]NAME[|EXAMPLES]. "
                f"Give for example medical|medcalc or medical:medcalc|0. Tasks: {', '.join(tasks())}."
            )
        shots = int(words[1])
    task = task_spec(words[0])
    return [task if shots == _own_shots(task) else _with_shots(task, shots, text)]


def _own_shots(task: TaskSpec) -> int:
    return int(task.options.get("shots", "0"))


def _with_shots(task: TaskSpec, shots: int, text: str) -> TaskSpec:
    """Finds the sibling that shows `shots` examples; a plain `|0` behind a task with examples means the task itself."""
    if shots == 0:
        return task
    family = task.options.get("family", task.name)
    siblings = [other for other in tasks().values() if other.options.get("family") == family]
    for other in siblings:
        if _own_shots(other) == shots:
            return other
    offered = sorted({_own_shots(other) for other in siblings} | {_own_shots(task)})
    raise UsageError(
        f"task {text!r}: {shots} worked examples are not offered; {task.name} has {', '.join(map(str, offered))}."
    )
