"""More than two runs: every pair is compared, and the tests of one metric over the pairs are adjusted together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from medical_tasks.comparison.comparing import Compared, Selection, compare_tasks, refusals
from medical_tasks.errors import UsageError
from medical_tasks.spec import TaskSpec

__all__ = ["Pair", "compare_pairs", "letter"]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two of the runs.

    Attributes:
        first: place of A among the runs.
        second: place of B; differences are B minus A.
        tasks: as `comparison.compare_tasks` returns it.
    """

    first: int
    second: int
    tasks: dict[str, Any]

    @property
    def name(self) -> str:
        """The difference that is shown, such as `B - A`."""
        return f"{letter(self.second)} - {letter(self.first)}"


def letter(place: int) -> str:
    """Names the runs A, B, ... Z, AA, AB, ..."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(ord("A") + rest) + name
    return name


def compare_pairs(
    runs: Sequence[Compared],
    tasks: Mapping[str, TaskSpec],
    *,
    all_pairs: bool = False,
    selection: Selection | None = None,
) -> list[Pair]:
    """Compares each run with the first, or each with each.

    Args:
        runs: two or more.
        tasks: all tasks by name.
        all_pairs: every two runs; else every other one with the first.
        selection: which tasks, metrics and breakdowns.

    Returns:
        The pairs. `p_holm` is adjusted over the pairs, for each task and metric; in breakdowns over groups and pairs.

    Raises:
        UsageError: Fewer than two runs, or no task of any pair can be compared; says why for each.
    """
    from medical_tasks.comparison.breakdown import adjust_breakdowns
    from medical_tasks.comparison.statistics import adjust

    if len(runs) < 2:
        raise UsageError(f"a comparison takes two or more runs, got {len(runs)}.")
    places = [pair for pair in combinations(range(len(runs)), 2) if all_pairs or pair[0] == 0]
    pairs = [
        Pair(first=a, second=b, tasks=compare_tasks(runs[a], runs[b], tasks, selection=selection)) for a, b in places
    ]
    if all(entry["refused"] for pair in pairs for entry in pair.tasks.values()):
        said = [(pair, refusals(runs[pair.first], runs[pair.second], pair.tasks, tasks)) for pair in pairs]
        raise UsageError("\n".join(told if len(pairs) == 1 else f"{pair.name}: {told}" for pair, told in said))
    if len(pairs) > 1:
        for name in dict.fromkeys(name for pair in pairs for name in pair.tasks):
            entries = [pair.tasks[name] for pair in pairs if name in pair.tasks]
            for metric in dict.fromkeys(metric for entry in entries for metric in entry["metrics"]):
                adjust([entry["metrics"][metric] for entry in entries if metric in entry["metrics"]])
            adjust_breakdowns([entry["breakdown"] for entry in entries])
    return pairs
