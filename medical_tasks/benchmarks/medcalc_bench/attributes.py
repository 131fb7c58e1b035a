"""Accuracy of MedCalc-Bench by the number of attributes that a calculation takes (paper, figure 3 and table 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from medical_tasks.benchmarks.medcalc_bench.gold import entities_of
from medical_tasks.calculators import CalculatorInputError
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.spec import Item, Plot, PlotPoint, Row

Kind: TypeAlias = Literal["equation", "rule"]
X_LABEL, Y_LABEL = "Number of attributes", "Accuracy"
_PLOT_TITLES: Final = {"equation": "equations", "rule": "scores"}

KINDS: Mapping[Kind, frozenset[str]] = {
    "equation": frozenset({"lab", "physical", "date", "dosage"}),
    "rule": frozenset({"risk", "severity", "diagnosis"}),
}
"""Kind of calculator to its categories (paper, table 1)."""


@dataclass(frozen=True, slots=True)
class AttributePoint:
    """Accuracy on the answers whose questions have one number of attributes."""

    kind: Kind
    attributes: int
    n: int  # answers that are scored
    correct: int  # those that are right
    accuracy: float  # their share
    ci_low: float  # lower end of its 95 % interval
    ci_high: float


def kind_of(row: Row) -> Kind:
    """The kind of a row's calculator; rows as built have no category but the seven."""
    for kind, categories in KINDS.items():
        if row["category"] in categories:
            return kind
    raise ValueError(
        f"category {row['category']!r} is none of the seven of MedCalc-Bench"
    )


def count_attributes(row: Row) -> int | None:
    """Counts the entities a row gives, as the paper's table 1 does, used by the rule or not.

    None when they cannot be read.
    """
    try:
        return len(entities_of(row))
    except CalculatorInputError:
        return None


def accuracy_by_attributes(
    scored: Iterable[tuple[Row, bool, str]],
) -> tuple[list[AttributePoint], int]:
    """The points by kind and number of attributes, and how many answers could not be counted."""
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
        rights, clusters = zip(*members, strict=True)
        interval = proportion_interval(
            [float(right) for right in rights], clusters=clusters
        )
        points.append(
            AttributePoint(
                kind,
                count,
                interval.n,
                sum(rights),
                interval.value,
                interval.ci_low,
                interval.ci_high,
            )
        )

    return points, left_out


def attribute_plots(rows: Sequence[Row], items: Mapping[str, Item]) -> list[Plot]:
    """Accuracy by kind of calculator and number of attributes, as `medical-tasks errors` counts them."""
    scored = [
        (items[row["id"]].fields, row["accuracy"] == 1.0, row["cluster"])
        for row in rows
        if row.get("accuracy") is not None and row["id"] in items
    ]
    points, left_out = accuracy_by_attributes(scored)
    note = (
        f"{left_out} answers are left out: the attributes of their questions cannot be read."
        if left_out
        else ""
    )
    plots = []
    for kind, title in _PLOT_TITLES.items():
        shown = tuple(
            PlotPoint(
                label=str(point.attributes),
                value=point.accuracy,
                low=point.ci_low,
                high=point.ci_high,
                n=point.n,
            )
            for point in points
            if point.kind == kind
        )
        if shown:
            title = f"Accuracy by number of attributes, {title}"
            plots.append(
                Plot(
                    title=title,
                    x_label=X_LABEL,
                    y_label=Y_LABEL,
                    points=shown,
                    note=note,
                )
            )

    return plots
