"""What the papers report, read from `figures.json`.

The figures are their authors' (`source` and `link`); nobody here has verified them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from medical_tasks.io.files import packaged
from medical_tasks.runs.results import Json, Row


@functools.cache
def all_published() -> tuple[PublishedResult, ...]:
    """Returns every row of every table, in the order of the file."""
    return read_figures(packaged(__file__, "figures.json"))


def published_results(task: str) -> tuple[PublishedResult, ...]:
    """What is published on a task, by its bare name, in the order of the tables."""
    return tuple(result for result in all_published() if result.task == task)


@dataclass(frozen=True, kw_only=True)
class PublishedResult:
    """One model's row of one table of a paper.

    Attributes:
        model: as the paper writes it.
        task: the task of ours that asks the same.
        metrics: our metric's name to the value, 0-1, or a count or cosine in its own
            unit.
        source: where it stands: the paper in short and the table, such as `K-QA, table
            4`.
        link: to the paper; "" for none.
        setting: what else tells it from the table's other rows, such as `1-shot, full
            note`.
        breakdown: values by our breakdown and group.
        n_items: over how many items; None where the paper does not say.
        configs: configurations of the dataset that have the paper's items; () for any.
        judge: as the paper names it; "" for none.
        differences: between the paper's setting and this suite's, a sentence each.
        beside: for a metric by the authors' script (`accuracy_official`), ours that
            asks the same and counts otherwise (`accuracy`): where a reader looks for
            the figure in a table of headline metrics.
    """

    model: str
    task: str
    metrics: Mapping[str, float]
    source: str
    link: str
    setting: str = ""
    breakdown: Mapping[str, Mapping[str, Mapping[str, float]]] = field(
        default_factory=dict
    )
    n_items: int | None = None
    configs: tuple[str, ...] = ()
    judge: str = ""
    differences: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> dict[str, float]:
        """All that the row has: by metric, and by metric and group."""
        groups = [group for by in self.breakdown.values() for group in by.items()]
        return {
            **self.metrics,
            **{
                f"{name}, {group}": values[name]
                for group, values in groups
                for name in values
            },
        }


_DIGITS: Final = 10  # more than any paper prints; takes back what dividing by 100 adds to the last one


def read_figures(content: Json) -> tuple[PublishedResult, ...]:
    """Reads the content of the data file; a result a row."""
    return tuple(
        _result(table, row, content)
        for table in content["tables"]
        for row in table["rows"]
    )


def _result(table: Json, row: Row, content: Json) -> PublishedResult:
    """A row of a paper's table as a result.

    Papers print percentages: a printed value is divided by 100, or by the `scale` of
    its column. A column with `by` and `group` is a breakdown, others are metrics.
    """
    beside = {**content["beside"], **table.get("beside", {})}
    metrics: dict[str, float] = {}
    breakdown: dict[str, dict[str, dict[str, float]]] = {}
    for column, printed in zip(table["columns"], row["values"], strict=True):
        if printed is not None:
            target = metrics
            if "by" in column:
                target = breakdown.setdefault(column["by"], {}).setdefault(
                    column["group"], {}
                )

            target[column["metric"]] = round(
                printed / column.get("scale", 100), _DIGITS
            )

    keys = (*table.get("differences", ()), *row.get("differences", ()))
    return PublishedResult(
        model=row["model"],
        task=row["task"],
        metrics=metrics,
        source=table["source"],
        link=row.get("link", table.get("link", "")),
        setting=row.get("setting", ""),
        breakdown=breakdown,
        n_items=row.get("n_items", table["n_items"]),
        configs=tuple(table.get("configs", ())),
        judge=table.get("judge", ""),
        differences=tuple(content["differences"][key] for key in keys),
        beside={name: beside[name] for name in metrics if name in beside},
    )
