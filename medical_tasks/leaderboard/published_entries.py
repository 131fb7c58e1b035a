"""The papers' results as entries: reported by their authors, verified by nobody here, and without a rank."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.published.figures import all_published
from medical_tasks.spec import TaskSpec

__all__ = ["published_entries"]


def published_entries() -> list[Entry]:
    """Makes an entry of every published result on a task of this version."""
    known = tasks()
    return [
        Entry(
            model=result.model,
            organisation=result.source,
            task=result.task,
            benchmark=known[result.task].benchmark.title,
            metrics=_metrics(known[result.task], result.metrics, result.n_items),
            breakdown={
                by: {group: _metrics(known[result.task], values, None) for group, values in groups.items()}
                for by, groups in result.breakdown.items()
            },
            state="reported",
            setting=", ".join(filter(None, (result.setting, result.judge and f"judge {result.judge}"))),
            # Figures of one table stand side by side there, and beside nothing else.
            group=hashlib.sha256(f"{result.source}\n{result.task}\n{result.judge}".encode()).hexdigest()[:10],
            url=result.link,
            differences=result.differences,
            beside=result.beside,
        )
        for result in all_published()
        if result.task in known
    ]


def _metrics(task: TaskSpec, values: Mapping[str, float], n: int | None) -> dict[str, dict[str, Any]]:
    units = {metric.name: metric.unit for metric in task.metrics if metric.unit}
    return {
        name: {
            "value": value,
            "ci_low": None,
            "ci_high": None,
            "n": n,
            **({"unit": units[name]} if name in units else {}),
        }
        for name, value in values.items()
    }
