"""The generators of `build medcalc_bench`, registered as entry points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from medical_tasks.construct.fresh.fair import fair_rows
from medical_tasks.construct.fresh.rows import fresh_rows
from medical_tasks.construct.fresh.twins import twin_rows
from medical_tasks.spec import Row


def fresh(split: str, options: Mapping[str, int]) -> Iterator[Row]:
    """Makes the rows of configuration `fresh`."""
    return fresh_rows(options["seed"], options["n"], options["level"])


def twins(split: str, options: Mapping[str, int]) -> Iterator[Row]:
    """Makes the rows of configuration `twins`: families of notes that differ in one thing."""
    return twin_rows(options["seed"], options["n"])


def fair(split: str, options: Mapping[str, int]) -> Iterator[Row]:
    """Makes the rows of configuration `fair`: families that differ in an attribute of the patient."""
    return fair_rows(options["seed"], options["n"])
