"""Arbitrary patients for the rule-based scores, drawn from the inputs that a score declares."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from hypothesis import strategies as st

from medical_tasks.calculators import AnyCalculator, find
from medical_tasks.calculators.inputs import REQUIRED, Choice, Flag, Input, Quantity
from tests.case_tables import tables


def table(name: str) -> dict[str, Any]:
    """Reads a file of `cases`."""
    content: dict[str, Any] = tables(__file__, name)
    return content


RANGES: dict[str, list[float]] = table("scores")["ranges"]
"""The published range of each score; the pneumonia index adds a year's point to 285 at most."""

SCORES: tuple[AnyCalculator, ...] = tuple(find(slug) for slug in RANGES)

THRESHOLDS: dict[str, list[float]] = table("scores")["thresholds"]
"""Values at which a score changes, by input."""


def entity(item: Input) -> st.SearchStrategy[Any]:
    """Returns a strategy of all values that the input accepts, in the dataset's form."""
    if isinstance(item, Flag):
        return st.booleans()
    if isinstance(item, Choice):
        return st.sampled_from(
            [word for word, value in item.words.items() if value is not None]
        )
    if isinstance(item, Quantity):
        measure = item.measure
        if item.parameter == "glasgow_coma_score":
            return st.integers(3, 15)
        hundredths = st.integers(
            math.ceil(measure.low * 100), math.floor(measure.high * 100)
        )
        numbers: st.SearchStrategy[float] = hundredths.map(lambda number: number / 100)
        if item.parameter in THRESHOLDS:
            numbers |= st.sampled_from(THRESHOLDS[item.parameter])
        return (
            st.tuples(numbers, st.just(measure.unit)).map(list)
            if measure.unit
            else numbers
        )
    assert item.parameter == "urea"
    return st.tuples(st.integers(1, 200), st.sampled_from(["mg/dL", "mmol/L"])).map(
        list
    )


@cache  # building a strategy of thirty inputs costs more than drawing from it
def patients(score: AnyCalculator) -> st.SearchStrategy[dict[str, Any]]:
    """Entities with every required input, and any of the optional ones."""
    required = {
        item.name: entity(item) for item in score.inputs if item.absent is REQUIRED
    }
    optional = {
        item.name: entity(item) for item in score.inputs if item.absent is not REQUIRED
    }
    # APACHE II needs one of the two oxygen values; which one depends on FiO2.
    if score.slug == "apache_ii":
        required |= {name: optional.pop(name) for name in ("A-a gradient", "PaO2")}
    return st.fixed_dictionaries(required, optional=optional)
