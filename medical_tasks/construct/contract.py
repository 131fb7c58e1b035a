"""What `construct` and `decompose` know of each way to make a benchmark's like."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from medical_tasks.spec import DatasetSpec


@dataclass(frozen=True, kw_only=True)
class Construction:
    """How `medical-tasks construct` makes a benchmark's like on notes of one's own.

    Attributes:
        dataset: what is constructed.
        steps: name of a step to its function, the options it needs and those it takes.
        add_arguments: declares options that no other benchmark has.
    """

    dataset: DatasetSpec
    steps: Mapping[str, tuple[Callable[[Namespace], int], tuple[str, ...], tuple[str, ...]]]
    add_arguments: Callable[[ArgumentParser], None] = lambda parser: None


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """How `medical-tasks decompose` takes a benchmark's texts apart.

    `options` are those that no other benchmark has.
    """

    options: tuple[str, ...]
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
