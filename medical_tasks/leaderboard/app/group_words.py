"""Groups of entries whose numbers can be set beside each other, and how each is told from the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medical_tasks.leaderboard.groups import group_label, measure_of
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.entry_notes import warning
from medical_tasks.spec import MetricSpec

__all__ = ["Group", "groups_of", "measures_of"]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Entries of one task that are of the same task version, data, prompts, judge and scoring.

    Attributes:
        name: the hash in short.
        entries: at least one.
    """

    name: str
    entries: Sequence[Entry]

    @property
    def words(self) -> str:
        """What is common to its entries, in a line."""
        recipe = self.entries[0].recipe
        return f"task version {recipe.get('task_version', 'not known')}, {group_label(recipe)}"

    @property
    def warning(self) -> str:
        """What must be said in bold with its numbers, "" for nothing."""
        judge = self.entries[0].recipe.get("judge")
        return warning({"judge": judge}) or "" if judge else ""


def groups_of(entries: Sequence[Entry]) -> list[Group]:
    """Sorts entries of one task into their groups.

    Args:
        entries: of one task; a paper's results are in no group and are left out.

    Returns:
        The groups, those with more entries first.
    """
    members: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.state != "reported":
            members.setdefault(entry.group, []).append(entry)
    made = [Group(name=name, entries=of) for name, of in members.items()]
    return sorted(made, key=lambda group: (-len(group.entries), group.name))


def measures_of(group: Group, by: MetricSpec) -> list[Group]:
    """Splits a group by what else one metric's numbers depend on, such as the settings that this metric alone needs.

    Args:
        group: the group.
        by: the metric.

    Returns:
        Groups of the same name, the largest first; for most metrics it is the group alone.
    """
    members: dict[str, list[Entry]] = {}
    for entry in group.entries:
        members.setdefault(measure_of(by, entry.metrics.get(by.name, {}), entry.recipe), []).append(entry)
    return [Group(name=group.name, entries=of) for of in sorted(members.values(), key=len, reverse=True)]
