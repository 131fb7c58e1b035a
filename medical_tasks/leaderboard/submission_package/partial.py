"""Whether a result is over the whole official split: what a leaderboard asks first, told from the recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medical_tasks.benchmarks.catalog import dataset_spec, tasks

__all__ = ["partial_facts"]


def partial_facts(results: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Says of which tasks a result is not over the whole official split, and why.

    Args:
        results: content of `results.json`, of known tasks.

    Returns:
        Task to reasons, each a sentence; tasks without any are not in it.
    """
    found = {name: tuple(_facts(name, entry["recipe"])) for name, entry in results["tasks"].items()}
    return {name: reasons for name, reasons in found.items() if reasons}


def _facts(name: str, recipe: Mapping[str, Any]) -> list[str]:
    task = tasks()[name]
    data = recipe["data"]
    said: list[str] = []
    if data["config"] == "demo":
        said.append("It ran on the synthetic demo records.")
    elif data["config"] != dataset_spec(task.dataset).default_config:
        said.append(f"It ran on configuration {data['config']}, not {dataset_spec(task.dataset).default_config}.")
    if data["split"] != task.split:
        said.append(f"It ran on split {data['split']}, not {task.split}.")
    if recipe["max_samples"] is not None:
        said.append(f"It ran on at most {recipe['max_samples']} items (--max-samples).")
    return said
