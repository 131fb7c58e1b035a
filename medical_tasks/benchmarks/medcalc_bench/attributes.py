"""Accuracy against the number of attributes (Khandekar et al. 2024, appendix E.1, figures 2 and 3).

An attribute is an entity that the row gives for its calculator. Equation-based and rule-based calculators are told apart by
category, as in the paper's table 1. The paper fits a parabola; here each number of attributes has its accuracy with an
interval, and nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.recomputed import entities_of
from medical_tasks.calculators import CalculatorInputError
from medical_tasks.spec import Item, Plot, PlotPoint

__all__ = [
    "KINDS",
    "AttributePoint",
    "Kind",
    "accuracy_by_attributes",
    "attribute_plots",
    "count_attributes",
    "kind_of",
    "points_as_rows",
]

Kind: TypeAlias = Literal["equation", "rule"]

KINDS: Mapping[Kind, frozenset[str]] = {
    "equation": frozenset({"lab", "physical", "date", "dosage"}),
    "rule": frozenset({"risk", "severity", "diagnosis"}),
}
"""Kind of calculator to its categories (paper, table 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributePoint:
    """The answers to questions of one kind with the same number of attributes.

    Attributes:
        kind: `equation` or `rule`.
        attributes: number of attributes.
        n: answers that are scored.
        correct: those that are right.
        accuracy: their share.
        ci_low: lower end of its 95 % interval.
        ci_high: upper end.
    """

    kind: Kind
    attributes: int
    n: int
    correct: int
    accuracy: float
    ci_low: float
    ci_high: float


def kind_of(row: Mapping[str, Any]) -> Kind:
    """The kind of a row's calculator.

    Raises:
        ValueError: The category is none of the seven; rows as built have no other.
    """
    for kind, categories in KINDS.items():
        if row["category"] in categories:
            return kind
    raise ValueError(f"category {row['category']!r} is none of the seven of MedCalc-Bench")


def count_attributes(row: Mapping[str, Any]) -> int | None:
    """Counts the attributes of a row: the entities it gives, as the paper's table 1 counts them.

    Over v1.0 this gives that table's minima, maxima and means for all seven categories. An entity that the published rule
    does not use (the cycle length, for a date of conception) counts too.

    Returns:
        The number; None when the entities cannot be read.
    """
    try:
        return len(entities_of(row))
    except CalculatorInputError:
        return None


def accuracy_by_attributes(scored: Iterable[tuple[Mapping[str, Any], bool, str]]) -> tuple[list[AttributePoint], int]:
    """Groups scored answers by kind and number of attributes.

    Args:
        scored: row, whether its answer is right, and the cluster (note) it belongs to.

    Returns:
        The points by kind and number, and how many answers could not be counted. Intervals are Wilson's, at the effective
        sample size where answers share a note.
    """
    from medical_tasks.scoring.intervals import proportion_interval

    groups: dict[tuple[Kind, int], list[tuple[bool, str]]] = {}
    left_out = 0
    for row, right, cluster in scored:
        count = count_attributes(row)
        if count is None:
            left_out += 1
        else:
            groups.setdefault((kind_of(row), count), []).append((right, cluster))
    points = []
    for (kind, count), members in sorted(groups.items()):
        rights = [float(right) for right, _ in members]
        found = proportion_interval(rights, clusters=[cluster for _, cluster in members])
        points.append(
            AttributePoint(
                kind=kind,
                attributes=count,
                n=len(members),
                correct=int(sum(rights)),
                accuracy=found.value,
                ci_low=found.ci_low,
                ci_high=found.ci_high,
            )
        )
    return points, left_out


def points_as_rows(points: Iterable[AttributePoint]) -> list[dict[str, Any]]:
    """The points as JSON values."""
    return [asdict(point) for point in points]


_PLOT_TITLES: Final = {
    "equation": "Accuracy by number of attributes, equations",
    "rule": "Accuracy by number of attributes, scores",
}


def attribute_plots(rows: Sequence[Mapping[str, Any]], items: Mapping[str, Item]) -> list[Plot]:
    """Accuracy by kind of calculator and number of attributes, as `medical-tasks errors` counts them.

    Args:
        rows: of `items.parquet`.
        items: the run's items; none where its data are not here, which makes no plot.
    """
    scored = [
        (items[row["id"]].fields, row["accuracy"] == 1.0, row["cluster"])
        for row in rows
        if row.get("accuracy") is not None and row["id"] in items
    ]
    points, left_out = accuracy_by_attributes(scored)
    note = f"{left_out} answers are left out: the attributes of their questions cannot be read." if left_out else ""
    made = []
    for kind, title in _PLOT_TITLES.items():
        shown = tuple(
            PlotPoint(label=str(each.attributes), value=each.accuracy, low=each.ci_low, high=each.ci_high, n=each.n)
            for each in points
            if each.kind == kind
        )
        if shown:
            made.append(Plot(title=title, x_label="Number of attributes", y_label="Accuracy", points=shown, note=note))
    return made
