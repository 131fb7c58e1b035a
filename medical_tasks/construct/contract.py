"""What each benchmark declares for `construct` and `decompose`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from medical_tasks.construct.options import Decompose
from medical_tasks.spec import DatasetSpec


@dataclass(frozen=True, kw_only=True)
class Construction:
    """How `medical-tasks construct` makes a benchmark like another from one's own notes.

    Attributes:
        dataset: The dataset that is constructed.
        steps: Name of a step to its function, which takes the options of that step (see
            `CONSTRUCT`).
    """

    dataset: DatasetSpec
    steps: Mapping[str, Callable[..., int]]


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """How `medical-tasks decompose` decomposes a benchmark's texts.

    `options` are those that no other benchmark has.
    """

    options: tuple[str, ...]
    run: Callable[[Decompose], int]
