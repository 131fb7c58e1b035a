"""Worked examples, drawn from a split that is not evaluated (paper, appendix on the evaluated methods).

Which ones depends on ids and on `SEED` alone, not on the order of the rows, and fewer are the first of more. Radiology reports
are drawn by their kind: as many of each of the six kinds (modality and anatomy) that have most rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.doclens.data import load_items
from medical_tasks.benchmarks.doclens.sections import SECTIONS
from medical_tasks.errors import MissingError
from medical_tasks.spec import Item, TaskSpec

__all__ = ["KINDS", "SEED", "draw_exemplars"]

SEED: Final = 17

KINDS: Final = 6
"""Kinds of radiology reports that have a train split in MIMIC-III, by the paper."""


def draw_exemplars(task: TaskSpec, rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Item, ...]]:
    """Draws the worked examples of a task.

    Args:
        task: `options["shots"]` says how many there are.
        rows: of the split `TaskSpec.exemplars`, in any order.

    Returns:
        Section to its examples, which are of the same visits for all four; for other forms all of them under "".

    Raises:
        MissingError: There are not enough rows to draw from.
    """
    form, shots = task.options["form"], int(task.options["shots"])
    items = [item for item in load_items(task, rows) if item.fields["reference"].strip() and item.fields["sentences"]]
    if form == "section":
        return _of_sections(task, items, shots)
    if form == "impression":
        return {"": _of_kinds(task, items, shots)}
    return {"": tuple(_first(task, items, shots, needs="with source and reference"))}


def _of_sections(task: TaskSpec, items: Sequence[Item], shots: int) -> dict[str, tuple[Item, ...]]:
    """Only visits whose note has all four: an example shows how a section is written, not that there is none."""
    of_visit: dict[str, dict[str, Item]] = defaultdict(dict)
    for item in items:
        of_visit[item.cluster][str(item.groups["section"])] = item
    whole = [visit[SECTIONS[0]] for visit in of_visit.values() if len(visit) == len(SECTIONS)]
    drawn = [item.cluster for item in _first(task, whole, shots, needs="whose note has all four sections")]
    return {section: tuple(of_visit[name][section] for name in drawn) for section in SECTIONS}


def _of_kinds(task: TaskSpec, items: Sequence[Item], shots: int) -> tuple[Item, ...]:
    each, rest = divmod(shots, KINDS)
    if rest or not each:
        raise ValueError(f"{task.name}: shots must be a multiple of {KINDS}, got {shots}")
    counts = Counter((item.groups["modality"], item.groups["anatomy"]) for item in items)
    kinds = sorted(counts, key=lambda kind: (-counts[kind], kind))[:KINDS]
    if len(kinds) < KINDS:
        raise MissingError(
            f"{task.name}: worked examples are of {KINDS} kinds of reports (modality and anatomy), split {task.exemplars} of "
            f"{task.dataset} has {len(kinds)}. {_next_step(task)}"
        )
    drawn = [
        _first(
            task,
            [item for item in items if (item.groups["modality"], item.groups["anatomy"]) == kind],
            each,
            needs=f"of kind {' '.join(map(str, kind))}",
        )
        for kind in kinds
    ]
    # One of each kind, then the second of each.
    return tuple(of_kind[place] for place in range(each) for of_kind in drawn)


def _first(task: TaskSpec, items: Sequence[Item], count: int, *, needs: str) -> list[Item]:
    if len(items) < count:
        raise MissingError(
            f"{task.name}: {count} worked examples {needs} are needed, split {task.exemplars} of {task.dataset} has "
            f"{len(items)}. {_next_step(task)}"
        )
    return sorted(items, key=_rank)[:count]


def _rank(item: Item) -> tuple[bytes, str]:
    """The visit's place, for a section: its cluster is its own id in the other forms, but for reports that share a patient."""
    name = item.cluster if item.fields["form"] == "section" else item.id
    return hashlib.sha256(f"{SEED}:{name}".encode()).digest(), name


def _next_step(task: TaskSpec) -> str:
    return (
        f"Build {task.dataset} again with a larger {task.exemplars} split (medical-tasks build {task.dataset}), or use "
        f"{task.options['family']}, which shows no examples."
    )
