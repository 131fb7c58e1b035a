"""The recipe of a number: everything it depends on, written beside it and compared before two numbers are."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Mapping
from typing import Any

from medical_tasks._version import __version__
from medical_tasks.spec import PromptSet, TaskSpec

__all__ = ["make_recipe"]

# Those whose version can change an answer or a score.
_PACKAGES = ("accelerate", "datasets", "lighteval", "numpy", "openai", "tokenizers", "torch", "transformers", "vllm")


def make_recipe(
    task: TaskSpec,
    *,
    data: Mapping[str, Any],
    prompts: PromptSet | None,
    model: Mapping[str, Any],
    max_new_tokens: int | None,
    max_samples: int | None,
) -> dict[str, Any]:
    """Collects a task's recipe.

    Args:
        task: the task.
        data: name, configuration, split, version and hashes of the data.
        prompts: the prompt set, None when answers came from elsewhere.
        model: name and identity of the model, or of the file of answers.
        max_new_tokens: longest answer asked for, None when answers came from elsewhere.
        max_samples: the limit given, None for all.

    Returns:
        JSON values.
    """
    from medical_tasks.runs.estimation import BOOTSTRAP_SEED

    return {
        "suite": f"medical-tasks {__version__}",
        "task": task.name,
        "task_version": task.version,
        "data": dict(data),
        "prompts": None if prompts is None else _prompts(prompts),
        "generation": None if max_new_tokens is None else {"max_new_tokens": max_new_tokens, "stop": list(task.stop)},
        "max_samples": max_samples,
        "metrics": {metric.name: {"kind": metric.kind} for metric in task.metrics},
        "statistics": {"confidence": 0.95, "bootstrap_seed": BOOTSTRAP_SEED, "cluster": task.cluster},
        "model": dict(model),
        "judge": None,
        "python": platform.python_version(),
        "packages": _versions(),
    }


def _prompts(prompts: PromptSet) -> dict[str, Any]:
    settings = {"settings": dict(prompts.settings)} if prompts.settings else {}
    return {"set": prompts.name, "sha256": prompts.sha256, **settings}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
