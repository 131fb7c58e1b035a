"""What `construct` and `decompose` know of each way to make a benchmark's like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from medical_tasks.construct.options import Decompose
from medical_tasks.spec import DatasetSpec


@dataclass(frozen=True, kw_only=True)
class Construction:
    """How `medical-tasks construct` makes a benchmark's like on notes of one's own.

    Attributes:
        dataset: what is constructed.
        steps: name of a step to its function, which takes the options of that step (see
            `CONSTRUCT`).
    """

    dataset: DatasetSpec
    steps: Mapping[str, Callable[..., int]]


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """How `medical-tasks decompose` takes a benchmark's texts apart.

    `options` are those that no other benchmark has.
    """

    options: tuple[str, ...]
    run: Callable[[Decompose], int]
