"""Models that need no model: they show what the scorer gives to the gold, to silence and to guessing.

`reference` answers with the gold and must score the maximum; `empty` says nothing; `random` gives each question the gold
of another, seeded, question of the same kind (for MedCalc-Bench: the same calculator where it has several), which is what
knowing the form of an answer is worth without reading the note. `copy-example` gives the reply of the worked example that the
question shows, for tasks that show one: what imitation is worth (`baseline_run`, which has the prompts).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from medical_tasks.errors import UsageError
from medical_tasks.spec import Item, TaskSpec

__all__ = ["BASELINES", "COPY_EXAMPLE", "baseline_responses"]

COPY_EXAMPLE = "copy-example"
BASELINES = ("reference", "empty", "random", COPY_EXAMPLE)
_SEED = 20240617

GoldResponse = Callable[[TaskSpec, Item], str]


def baseline_responses(name: str, task: TaskSpec, items: Sequence[Item], gold_response: GoldResponse) -> list[str]:
    """Answers every item without a model.

    Args:
        name: one of `BASELINES` but `copy-example`.
        task: the task.
        items: its items.
        gold_response: the benchmark's own way to write an item's gold as a model would.

    Returns:
        One response an item.

    Raises:
        UsageError: There is no such baseline.
    """
    if name == "reference":
        return [gold_response(task, item) for item in items]
    if name == "empty":
        return ["" for _ in items]
    if name == "random":
        return _random(task, items, gold_response)
    raise UsageError(f"unknown baseline {name!r}. Baselines: {', '.join(f'baseline/{known}' for known in BASELINES)}.")


def _random(task: TaskSpec, items: Sequence[Item], gold_response: GoldResponse) -> list[str]:
    kind = task.groups[-1] if task.groups else None
    families: dict[str | tuple[str, ...], list[int]] = {}
    for position, item in enumerate(items):
        families.setdefault(item.groups[kind] if kind else "", []).append(position)
    responses: list[str] = []
    for position, item in enumerate(items):
        # A generator per item: an answer does not depend on which other items are asked before it.
        chooser = random.Random(f"{_SEED}:{item.id}")  # noqa: S311 - a baseline, not a secret
        family = [other for other in families[item.groups[kind] if kind else ""] if other != position]
        others = family or [other for other in range(len(items)) if other != position] or [position]
        responses.append(gold_response(task, items[chooser.choice(others)]))
    return responses
