"""Baselines of ArchEHR-QA's own, beside those that every benchmark has: `--model baseline/heuristic`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.heuristic import heuristic_identity, heuristic_responses
from medical_tasks.spec import Item, TaskSpec

__all__ = ["BASELINES", "IDENTITIES"]

BASELINES: Final[Mapping[str, Callable[[TaskSpec, Sequence[Item], Mapping[str, str]], list[str]]]] = {
    "heuristic": heuristic_responses,
}
"""Name to what answers a task's items with the arguments given."""

IDENTITIES: Final[Mapping[str, Callable[[TaskSpec, Mapping[str, str]], Mapping[str, Any]]]] = {
    "heuristic": heuristic_identity,
}
"""Name to what decides its answers, for the recipe; JSON values."""
