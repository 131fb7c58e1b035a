"""Run the original lighteval command with only the tasks of this suite.

    medical-tasks lighteval accelerate "model_name=MODEL" "medical|medcalc" --max-samples 10
    medical-tasks lighteval accelerate "model_name=MODEL" --tasks medical

The original command scans all of lighteval's own tasks at startup, one of which needs the
internet. This command registers only the tasks of this suite, accepts every spelling of
their names, and disables lighteval's cache of answers, which would return old answers
after a prompt has changed.

For tasks on credentialed data, options that publish or write texts are refused, and so
are models on other machines or of unknown location. A server on another machine
(`endpoint tgi`) needs --allow-remote HOST and --attest-zero-retention.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.catalog import SUITE, dataset_spec, parse_task_names, tasks
from medical_tasks.cli.parser import declare
from medical_tasks.errors import UsageError
from medical_tasks.guard import policy
from medical_tasks.options import WithAttestation, parameters
from medical_tasks.spec import TaskSpec

CUSTOM_TASKS = "medical_tasks.lighteval_tasks"
_BACKENDS_WITH_TASKS = (
    "accelerate",
    "vllm",
    "nanotron",
    "sglang",
    "custom",
    "baseline",
    "endpoint",
    "tasks",
)

# Options of lighteval without a value.
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


@dataclass(frozen=True, kw_only=True)
class _Request:
    """A parsed command of lighteval.

    Attributes:
        arguments: The arguments for lighteval.
        positional: Those that are neither options nor their values, the command first.
        tasks: The named tasks of this suite.
        ours: Whether the tasks are from this suite's table, not from one of the user.
        asks_help: Whether lighteval only prints its help.
    """

    arguments: list[str]
    positional: list[str]
    tasks: list[TaskSpec]
    ours: bool
    asks_help: bool


def _read(words: Sequence[str]) -> _Request:
    """Rewrites our spellings for lighteval, where `--tasks X` is positional, and adds our tasks."""
    arguments: list[str] = []
    positional: list[str] = []
    task_arguments: list[str] = []
    requested: list[TaskSpec] = []

    def respell(text: str) -> str:
        task_specs = [task for name in text.split(",") for task in _tasks_named(name)]
        requested.extend(task_specs)
        return ",".join(f"{task.harness_name}|0" for task in task_specs)

    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--tasks" or word.startswith("--tasks="):
            if word == "--tasks" and not rest:
                raise UsageError("--tasks needs a value, for example --tasks medcalc.")

            task_arguments.append(
                respell(word.partition("=")[2] if "=" in word else rest.pop(0))
            )
        elif (
            word.startswith("--")
            and "=" not in word
            and rest
            and not word.startswith("--no-")
            and word not in _FLAGS
        ):
            arguments += [word, rest.pop(0)]
        else:
            if _names_tasks(word, position=len(positional)):
                word = respell(word)

            arguments.append(word)
            if not word.startswith("-"):
                positional.append(word)

    # Options and positional arguments may mix; the tasks are the last positional one.
    arguments += task_arguments
    own_table = any(word.partition("=")[0] == "--custom-tasks" for word in arguments)
    asks_help = "--help" in arguments
    if (
        arguments
        and arguments[0] in _BACKENDS_WITH_TASKS
        and not asks_help
        and not own_table
    ):
        arguments += ["--custom-tasks", CUSTOM_TASKS]

    return _Request(
        arguments=arguments,
        positional=positional + task_arguments,
        tasks=requested,
        ours=not own_table,
        asks_help=asks_help,
    )


def _names_tasks(word: str, *, position: int) -> bool:
    """Whether a word names tasks; bare names count only after the command and the model."""
    if word == SUITE or word.startswith((f"{SUITE}|", f"{SUITE}:")):
        return True
    return position >= 2 and all(
        name.partition("|")[0] in tasks() for name in word.split(",")
    )


def _tasks_named(name: str) -> list[TaskSpec]:
    """Returns the tasks of a name that lighteval can run."""
    task_specs = parse_task_names(name)
    fitting = [task for task in task_specs if not task.outside_lighteval]
    if not fitting:
        # inspect's logs contain texts, so it refuses credentialed data.
        closed = dataset_spec(task_specs[0].dataset).access == "credentialed"
        others = (
            ""
            if closed or task_specs[0].baseline
            else f", or `inspect eval medical_tasks/{task_specs[0].name}`"
        )
        raise UsageError(
            f"{name}: {task_specs[0].outside_lighteval}. Use `medical-tasks run --tasks {task_specs[0].name}`{others}."
        )

    return fitting


def run(words: Sequence[str]) -> int:
    """Runs lighteval's command line and returns its exit code."""
    from medical_tasks.harness.lighteval_launcher import (
        check_arguments,
        check_model,
        launch,
        private_dataset_cache,
        task_items,
    )

    attestation, own = _attestation(words)
    request = _read(own)
    specs = {task.name: dataset_spec(task.dataset) for task in request.tasks}
    subjects = [policy.Subject.of(spec, task=name) for name, spec in specs.items()]
    with policy.protect(subjects, attestation), private_dataset_cache():
        if not request.asks_help:
            if request.ours:
                for task in request.tasks:
                    task_items(task)

            check_model(request.positional)
            check_arguments(request.arguments, request.positional)

        return launch(request.arguments, custom_tasks=CUSTOM_TASKS)


def _attestation(words: Sequence[str]) -> tuple[policy.Attestation, list[str]]:
    """Extracts the two options of the data guard from the words."""
    parser = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False
    )
    declare(parser, parameters(WithAttestation))
    try:
        options, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise UsageError(f"{error}. See: medical-tasks lighteval --help") from error

    hosts = tuple(options.allow_remote or ())
    attestation_options = WithAttestation(
        allow_remote=hosts, attest_zero_retention=options.attest_zero_retention
    )
    return policy.attestation_from(attestation_options), rest
