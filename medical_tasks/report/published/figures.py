"""What the papers report, read from our own data file of their figures.

    from medical_tasks.report.published.figures import published_results
    for result in published_results("medcalc"): ...

The figures are their authors' (`source` and `link` say whose); they are reported, and verified by nobody here.
"""

from __future__ import annotations

import functools
from importlib.resources import files

from medical_tasks.report.published.reading import read_figures
from medical_tasks.report.published.records import PublishedResult

__all__ = ["all_published", "published_results"]

_FILE = "figures.json"


@functools.cache
def all_published() -> tuple[PublishedResult, ...]:
    """Returns every row of every table, in the order of the file."""
    return read_figures((files("medical_tasks.report.published") / _FILE).read_text(encoding="utf-8"))


def published_results(task: str) -> tuple[PublishedResult, ...]:
    """Returns what is published on a task.

    Args:
        task: its bare name.

    Returns:
        The rows, in the order of the tables; none for a task that no paper reports.
    """
    return tuple(result for result in all_published() if result.task == task)
