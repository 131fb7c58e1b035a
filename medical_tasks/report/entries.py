"""Names of the JSON that runs write, as reports and leaderboards read it.

They are read from files, so that what they hold is known only once a form has been checked
(`report.forms`): the names say what a mapping is of, not what is in it.
"""

from collections.abc import Mapping
from typing import Any

Entry = Mapping[str, Any]
"""A task's entry of `results.json`: metrics, coverage, breakdown, recipe."""

Metric = Mapping[str, Any]
"""A metric of an entry: value, interval, bounds, n."""

Recipe = Mapping[str, Any]
"""What a task's numbers depend on."""

Row = Mapping[str, Any]
"""A row of `items.parquet` or a line of `verdicts.jsonl`."""

JsonObject = dict[str, Any]
"""JSON that is being made."""
