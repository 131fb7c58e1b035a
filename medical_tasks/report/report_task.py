"""A task of a run as a report shows it; `page_data` has its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from medical_tasks.report.entries import Entry
from medical_tasks.spec import MetricSpec, Plot, Table, View

if TYPE_CHECKING:
    from medical_tasks.report.page_data import ReportItem
    from medical_tasks.report.published.figures import PublishedResult


@dataclass(frozen=True, kw_only=True)
class ReportTask:
    """One task of one run.

    Attributes:
        run: the run's name for readers, unique in the report.
        folder: the run's folder, as the user gave it.
        name: the task's name.
        title: the task's title, for headings.
        benchmark: the title of its benchmark.
        access: `open` or `credentialed`.
        entry: the task's entry of `results.json`.
        metrics: the metrics that `entry` reports, the headline first.
        items: the items in the dataset's order.
        texts: why items have no texts, for the reader; "" if they have.
        published: the results that papers report on the task.
        plots: plots of the run's items, or of its judge.
        tables: the benchmark's own tables.
        views: the drawings that the benchmark requests.
    """

    run: str
    folder: str
    name: str
    title: str
    benchmark: str
    access: str
    entry: Entry
    metrics: Sequence[MetricSpec]
    items: Sequence[ReportItem]
    texts: str = ""
    published: Sequence[PublishedResult] = ()
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()
    views: Sequence[View] = ()

    @property
    def headline(self) -> str | None:
        """The name of the reported headline metric; None if no metric is reported."""
        reported = self.entry["metrics"]
        return next(
            (spec.name for spec in self.metrics if spec.name in reported),
            next(iter(reported), None),
        )

    @property
    def model(self) -> str:
        """The name of the model in the recipe."""
        return str(self.entry["recipe"].get("model", {}).get("name", ""))

    def spec(self, name: str) -> MetricSpec | None:
        """Returns the declaration of a metric."""
        return next((spec for spec in self.metrics if spec.name == name), None)
