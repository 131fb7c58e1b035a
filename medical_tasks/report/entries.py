"""Names of the JSON that runs write, where it is read from files.

What a form of `report.forms` has not checked may be anything: the names say what a
mapping is of. `runs.results` has the types of what is made here.
"""

from typing import TypeAlias

from medical_tasks.runs.results import Json

Entry: TypeAlias = Json
"""A task's entry of `results.json`: metrics, coverage, breakdown, recipe."""

Metric: TypeAlias = Json
"""A metric of an entry: value, interval, bounds, n."""

Recipe: TypeAlias = Json
"""What a task's numbers depend on."""
