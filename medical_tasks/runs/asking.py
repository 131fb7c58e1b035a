"""Asking a model about each item of a construction, under the data guard like any run; the same command resumes."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.data.construction import make_folder
from medical_tasks.data.task_data import TaskData
from medical_tasks.guard import policy
from medical_tasks.guard.private_store import redact_reason
from medical_tasks.runs.runner import AnsweredTask
from medical_tasks.spec import Benchmark, DatasetSpec, Item, MultiStep, PromptSet, TaskSpec

GENERATION: Final = "generation"
"""Folder of what the model is asked and says, in that of the construction."""


class Construction(Benchmark):
    """A step of a construction, to the runner: prompts and a protocol. Nothing is loaded by it, and nothing of it is scored."""

    name = "construction"
    title = "A construction"
    paper = ""
    datasets = ()
    tasks = ()

    def __init__(self, prompts: PromptSet, protocol: MultiStep) -> None:
        self._prompts, self._protocol = prompts, protocol

    def load_prompts(self, task: TaskSpec, *given: Any, **settings: Any) -> PromptSet:
        """Those of the step."""
        return self._prompts

    def open_protocol(self, task: TaskSpec, **settings: Any) -> MultiStep:
        """The step's."""
        return self._protocol


@dataclass(frozen=True, kw_only=True)
class AskingOptions:
    """Which model is asked, and how."""

    model: str  # as `run --model` names it
    model_args: Mapping[str, str]
    max_new_tokens: int  # longest reply


def read_options(arguments: Namespace, *, max_new_tokens: int, tries: int) -> tuple[AskingOptions, int]:
    """Reads the options of a step that asks a model, and how many times it asks at most; given numbers are the usual ones."""
    from medical_tasks.models.opener import parse_model_args

    given = arguments.max_new_tokens
    options = AskingOptions(
        model=arguments.model,
        model_args=parse_model_args(arguments.model_args or ""),
        max_new_tokens=max_new_tokens if given is None else given,
    )
    return options, tries if arguments.tries is None else arguments.tries


def ask_model(
    folder: Path,
    step: str,
    dataset: DatasetSpec,
    items: Sequence[Item],
    options: AskingOptions,
    *,
    prompts: PromptSet,
    protocol: MultiStep,
    source: Mapping[str, str],
    settings: Mapping[str, Any],
    finished: str,
    what: str,
) -> AnsweredTask | None:
    """Asks a model about every item; None in all but the main process.

    `source`: hashes of what the items were made of. `finished`: the file that is there once an outcome was written.
    """
    from medical_tasks.models.opener import deciding_args, full_name, open_model
    from medical_tasks.runs.folder import locked, open_run_folder
    from medical_tasks.runs.runner import RunOptions, run_model

    place, name = folder / GENERATION, full_name(options.model)
    settings = {
        "construct": dataset.name,
        "prompts": prompts.sha256,
        **settings,
        "model": name,
        "model_args": deciding_args(name, options.model_args),
        "max_new_tokens": options.max_new_tokens,
    }
    # It is in no catalogue, since nothing of it is scored.
    task = TaskSpec(
        name=f"construct_{step.partition(' ')[0]}",
        title=f"construct {step}",
        benchmark=Construction(prompts, protocol),
        dataset=dataset.name,
        split="test",
        metrics=(),
        version="1-A",
        generation_size=options.max_new_tokens,
        protocol=str(protocol.identity["name"]),
    )
    revision = {"name": dataset.name, "config": "own", **source}
    data = TaskData(items=list(items), config="own", folder=folder, revision=revision)
    make_folder(place)
    refusal = f"{what} were begun with other settings ({{}}). Repeat that command to go on, or move this folder away to begin anew."
    run = open_run_folder(place, settings, private=True, begun=(folder / finished).exists(), refusal=refusal)
    with locked(run):
        policy.require_processes()
        model = open_model(name, options.model_args, log_dir=run.logs)
        try:
            policy.require_endpoint(model.endpoint, "model")
            asking = RunOptions(max_new_tokens=options.max_new_tokens, model_args=options.model_args)
            answered = run_model([task], {task.name: data}, model, run, asking)
        finally:
            model.close()
    return None if answered is None else answered[0]


def outcomes_of(answered: AnsweredTask, names: Iterable[str]) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Reads final answers, JSON objects: item id to the object, and to the reason where there is none or it has `failed`."""
    found: dict[str, dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for name in names:
        if name not in answered.responses:
            failed[name] = redact_reason(f"no answer: {answered.unanswered.get(name)}")
        elif "failed" in (outcome := json.loads(answered.responses[name])):
            failed[name] = outcome["failed"]
        else:
            found[name] = outcome
    return found, failed


def asked_recipe(answered: AnsweredTask) -> dict[str, Any]:
    """What of a recipe a construction's step keeps."""
    kept = ("suite", "prompts", "model", "generation", "protocol", "packages")
    return {name: answered.recipe[name] for name in kept}
