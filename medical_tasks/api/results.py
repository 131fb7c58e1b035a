"""The types that functions of the Python API return, besides those of the packages that do the work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks.errors import did_you_mean

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """The value of a metric over `n` items, with its 95 % interval; None is n/a.

    The bounds are its extremes over all possible values of missing items.
    """

    value: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    bound_low: float | None
    bound_high: float | None


class TaskResults:
    """The results of one task of a run."""

    def __init__(self, name: str, entry: Mapping[str, Any], folder: Path) -> None:
        self.name, self.entry, self.folder = name, entry, folder
        self.coverage: Mapping[str, Any] = entry["coverage"]
        self.breakdown: Mapping[str, Any] = entry["breakdown"]
        self.recipe: Mapping[str, Any] = entry["recipe"]
        self.metrics = {
            metric: estimate_of(figure) for metric, figure in entry["metrics"].items()
        }

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per item, as in `items.parquet`."""
        import pandas as pd

        from medical_tasks.runs.results import read_items

        return pd.DataFrame(
            [row for row in read_items(self.folder) if row["task"] == self.name]
        ).dropna(axis=1, how="all")

    def __repr__(self) -> str:
        from medical_tasks.report.terminal import render_table

        return render_table({"tasks": {self.name: self.entry}})


class Results(Mapping[str, TaskResults]):
    """The results in a run's folder by task, with any spelling of a task's name.

    It prints as the table of the command line.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from medical_tasks.runs.results import read_results

        self.folder = Path(folder)
        self.content: Mapping[str, Any] = read_results(self.folder)

    def __getitem__(self, name: str) -> TaskResults:
        tasks: Mapping[str, Any] = self.content["tasks"]
        bare = name.replace("|", ":").removeprefix("medical:").partition(":")[0]
        if bare not in tasks:
            raise KeyError(
                f"{name}: the run has {', '.join(tasks)}.{did_you_mean(bare, tasks)}"
            )
        return TaskResults(bare, tasks[bare], self.folder)

    def __iter__(self) -> Iterator[str]:
        return iter(self.content["tasks"])

    def __len__(self) -> int:
        return len(self.content["tasks"])

    @property
    def table(self) -> pd.DataFrame:
        """One row per task and metric: value, interval, n, bounds."""
        import pandas as pd

        rows = [
            {"task": task, "metric": name, **vars(estimate)}
            for task in self
            for name, estimate in self[task].metrics.items()
        ]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        from medical_tasks.report.terminal import render_table

        return render_table(self.content)

    def _repr_html_(self) -> str:
        return html_of(self.table)


class Report(Mapping[str, Any]):
    """The output of a command: by name as in its `--json`, and as text."""

    def __init__(self, content: Mapping[str, Any], text: str) -> None:
        self.content, self._text = content, text

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    def __repr__(self) -> str:
        return self._text


class Comparison(Report):
    """A comparison of runs in the form of `compare --json`; it prints as tables."""


class GateReport(Report):
    """The findings by each rule of a policy; `verdict` is GO, NO-GO or INCONCLUSIVE."""

    def __init__(self, content: Mapping[str, Any], text: str, verdict: str) -> None:
        super().__init__(content, text)
        self.verdict = verdict


class TextScores(Report):
    """The scores of texts, in the form of `score-text --json`.

    `metrics` has them by name, `table` as a DataFrame, and `["rows"]` those of each row.
    """

    @property
    def metrics(self) -> dict[str, Estimate]:
        """The metrics by name."""
        return {name: estimate_of(entry) for name, entry in self["metrics"].items()}

    @property
    def table(self) -> pd.DataFrame:
        """One row per metric: value, interval, n."""
        import pandas as pd

        return pd.DataFrame(
            [{"metric": name, **entry} for name, entry in self["metrics"].items()]
        )

    def _repr_html_(self) -> str:
        return html_of(self.table)


def html_of(table: pd.DataFrame) -> str:
    """Shows a table in a notebook."""
    return str(table.to_html(index=False, na_rep="n/a", float_format="{:.4g}".format))


def estimate_of(entry: Mapping[str, Any]) -> Estimate:
    """Reads a metric of `results.json`."""
    values: dict[str, Any] = {
        name: entry.get(name) for name in Estimate.__dataclass_fields__
    }
    return Estimate(**values)


StrPath = str | os.PathLike[str]
"""A path, as text or as a `Path`."""

RunPath = Results | str | os.PathLike[str]
"""A run: its folder, or its results."""
