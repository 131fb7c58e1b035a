"""The stock lighteval command with only this suite's tasks registered.

    medical-tasks lighteval accelerate "model_name=MODEL" "medical|medcalc" --max-samples 10
    medical-tasks lighteval accelerate "model_name=MODEL" --tasks medical

The stock command scans all of lighteval's own tasks when it starts, one of which wants the internet. This one registers
ours alone, takes every spelling of their names, and switches lighteval's cache of answers off (it would go on giving old
answers after a prompt has changed).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medical_tasks.spec import TaskSpec

__all__ = ["PASSES_ARGUMENTS_ON", "add_arguments", "run_with", "translate"]

PASSES_ARGUMENTS_ON = True
CUSTOM_TASKS = "medical_tasks.lighteval_tasks"
_BACKENDS_WITH_TASKS = ("accelerate", "vllm", "nanotron", "sglang", "custom", "baseline", "endpoint", "tasks")

# lighteval's options that take no value.
_FLAGS = (
    "--help",
    "--load-tasks-multilingual",
    "--public-run",
    "--push-to-hub",
    "--push-to-tensorboard",
    "--remove-reasoning-tags",
    "--save-details",
    "--vision-model",
    "--wandb",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares nothing: all arguments are lighteval's."""


def translate(words: Sequence[str]) -> list[str]:
    """Rewrites our spellings into lighteval's, and adds our tasks.

    Args:
        words: the arguments behind `medical-tasks lighteval`.

    Returns:
        The arguments for lighteval: `--tasks X` becomes the positional argument it expects, each task is named
        `medical:NAME|0`, and `--custom-tasks` is there.

    Raises:
        UsageError: `--tasks` without a value, an unknown task, or one that lighteval cannot ask; `medical` leaves these out.
    """
    from medical_tasks.errors import UsageError
    from medical_tasks.task_names import SUITE, parse_task_names

    def spelled(text: str) -> str:
        return ",".join(f"{task.harness_name}|0" for part in text.split(",") for task in offered(part))

    def offered(name: str) -> list[TaskSpec]:
        found = parse_task_names(name)
        fitting = [task for task in found if not task.protocol]
        if not fitting:
            raise UsageError(
                f"{name}: lighteval asks one question an item, and this task goes on after the first answer. Use "
                f"`medical-tasks run --tasks {found[0].name}`, or `inspect eval medical_tasks/{found[0].name}`."
            )
        return fitting

    found: list[str] = []
    named: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--tasks" or word.startswith("--tasks="):
            if word == "--tasks" and not rest:
                raise UsageError("--tasks needs a value, for example --tasks medcalc.")
            named.append(spelled(word.partition("=")[2] if "=" in word else rest.pop(0)))
        elif word.startswith("--") and "=" not in word and rest and not _is_flag(word):
            found += [word, rest.pop(0)]
        elif word == SUITE or word.startswith((f"{SUITE}|", f"{SUITE}:")):
            found.append(spelled(word))
        else:
            found.append(word)
    # Options and positional arguments may mix; the tasks are the last positional one.
    found += named
    if found and found[0] in _BACKENDS_WITH_TASKS and "--help" not in found and "--custom-tasks" not in found:
        found += ["--custom-tasks", CUSTOM_TASKS]
    return found


def _is_flag(word: str) -> bool:
    return word in _FLAGS or word.startswith("--no-")


def run_with(words: Sequence[str]) -> int:
    """Runs lighteval's command line.

    Args:
        words: the arguments behind `medical-tasks lighteval`.

    Returns:
        lighteval's exit code.

    Raises:
        MissingError: lighteval is not installed.
    """
    from medical_tasks.harness.lighteval_launcher import launch

    return launch(translate(words), custom_tasks=CUSTOM_TASKS)
