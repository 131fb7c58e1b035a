"""The stock lighteval command with only this suite's tasks registered.

    medical-tasks lighteval accelerate "model_name=MODEL" "medical|medcalc" --max-samples 10
    medical-tasks lighteval accelerate "model_name=MODEL" --tasks medical

The stock command scans all of lighteval's own tasks when it starts, one of which wants
the internet. This one registers ours alone, takes every spelling of their names, and
switches lighteval's cache of answers off (it would go on giving old answers after a
prompt has changed).

Tasks on credentialed data: what would publish or write texts, and models that are not
on this machine or cannot be seen, are refused. A server on another machine (`endpoint
tgi`) needs --allow-remote HOST and --attest-zero-retention.
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


@dataclass(frozen=True, kw_only=True)
class _Request:
    """What the arguments ask for."""

    arguments: list[str]  # lighteval's arguments
    # those of them that are neither options nor values of options, the command first
    positional: list[str]
    tasks: list[TaskSpec]  # this suite's tasks that are named
    ours: bool  # whether the tasks come from this suite's table, not from one that the user named
    asks_help: bool  # whether lighteval will only explain itself


def _read(words: Sequence[str]) -> _Request:
    """Rewrites our spellings into lighteval's: `--tasks X` is a positional argument of its; adds our tasks."""
    found: list[str] = []
    positional: list[str] = []
    named: list[str] = []
    wanted: list[TaskSpec] = []

    def spelled(text: str) -> str:
        offered = [task for part in text.split(",") for task in _offered(part)]
        wanted.extend(offered)
        return ",".join(f"{task.harness_name}|0" for task in offered)

    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--tasks" or word.startswith("--tasks="):
            if word == "--tasks" and not rest:
                raise UsageError("--tasks needs a value, for example --tasks medcalc.")

            named.append(
                spelled(word.partition("=")[2] if "=" in word else rest.pop(0))
            )
        elif (
            word.startswith("--")
            and "=" not in word
            and rest
            and not word.startswith("--no-")
            and word not in _FLAGS
        ):
            found += [word, rest.pop(0)]
        else:
            if _names_tasks(word, behind=len(positional)):
                word = spelled(word)

            found.append(word)
            if not word.startswith("-"):
                positional.append(word)

    # Options and positional arguments may mix; the tasks are the last positional one.
    found += named
    own_table = any(word.partition("=")[0] == "--custom-tasks" for word in found)
    asks_help = "--help" in found
    if found and found[0] in _BACKENDS_WITH_TASKS and not asks_help and not own_table:
        found += ["--custom-tasks", CUSTOM_TASKS]

    return _Request(
        arguments=found,
        positional=positional + named,
        tasks=wanted,
        ours=not own_table,
        asks_help=asks_help,
    )


def _names_tasks(word: str, *, behind: int) -> bool:
    """Whether a word is for us to spell; bare names only behind the command and the model, which may be called the same."""
    if word == SUITE or word.startswith((f"{SUITE}|", f"{SUITE}:")):
        return True
    return behind >= 2 and all(
        part.partition("|")[0] in tasks() for part in word.split(",")
    )


def _offered(name: str) -> list[TaskSpec]:
    """The tasks of a name that lighteval can ask."""
    found = parse_task_names(name)
    fitting = [task for task in found if not task.outside_lighteval]
    if not fitting:
        # inspect's logs hold texts, so it refuses credentialed data.
        closed = dataset_spec(found[0].dataset).access == "credentialed"
        others = (
            ""
            if closed or found[0].baseline
            else f", or `inspect eval medical_tasks/{found[0].name}`"
        )
        raise UsageError(
            f"{name}: {found[0].outside_lighteval}. Use `medical-tasks run --tasks {found[0].name}`{others}."
        )

    return fitting


def run(words: Sequence[str]) -> int:
    """Runs lighteval's command line; its exit code."""
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
    """Takes the guard's two options out of the words."""
    parser = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False
    )
    declare(parser, parameters(WithAttestation))
    try:
        known, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as error:
        raise UsageError(f"{error}. See: medical-tasks lighteval --help") from error

    hosts = tuple(known.allow_remote or ())
    attested = WithAttestation(
        allow_remote=hosts, attest_zero_retention=known.attest_zero_retention
    )
    return policy.attestation_from(attested), rest
