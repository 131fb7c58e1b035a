"""Names for JSON that is read from a run's files.

Such a mapping may hold anything until a form of `report.forms` has checked it; the names only
say what it represents. `runs.results` has the types of the JSON that runs write.
"""

from typing import TypeAlias

from medical_tasks.runs.results import Json

Entry: TypeAlias = Json
"""A task's entry of `results.json`: metrics, coverage, breakdown, recipe."""

Metric: TypeAlias = Json
"""A metric of an entry: value, interval, bounds, n."""

Recipe: TypeAlias = Json
"""The recipe of a task: everything that its numbers depend on."""
