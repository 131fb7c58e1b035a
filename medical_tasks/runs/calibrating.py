"""Corrects scores for the judge's errors (`--calibration`): reads the check, adds the figures.

The check must have asked the same judge in the same way, about the task's own set of pairs.
A general set (ANLI, MedNLI) shows how the judge errs elsewhere; the report says so. How
labels correct scores is in `correcting`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from medical_tasks.errors import UsageError
from medical_tasks.runs.recipes import differing, mapping
from medical_tasks.runs.results import Figures, Json, JsonDict, Row, weight_column
from medical_tasks.spec import MetricSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.runs.summary import Summary
    from medical_tasks.scoring.correction import Form

SUFFIX: Final = "_corrected"
_SHARED: Final[tuple[Literal["unit", "comparable", "scored"], ...]] = (
    "unit",
    "comparable",
    "scored",
)
"""The fields that a corrected figure copies from the raw one."""


@dataclass(frozen=True)
class Corrections:
    """Corrected metrics.

    Attributes:
        figures: the corrected figures by the raw metrics' names.
        columns: the items' corrected values by item id, by column of `items.parquet`.
    """

    figures: Figures = field(default_factory=dict)
    columns: dict[str, dict[str, float]] = field(default_factory=dict)

    def beside(self, summary: Summary) -> Summary:
        """Adds each corrected figure to a summary, after the raw one."""
        metrics: Figures = {}
        for name, raw in summary.metrics.items():
            metrics[name] = raw
            if name in self.figures:
                figure = self.figures[name].copy()
                bound = None if "scored" in raw else figure["value"]
                figure["bound_low"] = figure["bound_high"] = bound
                for key in _SHARED:
                    if key in raw:
                        figure[key] = raw[key]

                metrics[name + SUFFIX] = figure

        return replace(summary, metrics=metrics)

    def added_to(self, rows: Sequence[Row]) -> list[JsonDict]:
        """Adds their corrected values to the items' rows."""
        return [
            {
                **row,
                **{
                    name: values.get(row["id"]) for name, values in self.columns.items()
                },
            }
            for row in rows
        ]


def raw_name(name: str, declared: Container[str]) -> str:
    """Returns the declared metric that a name in `results.json` belongs to.

    A corrected metric belongs to its raw one. A metric that is itself declared under such a
    name is not corrected, such as MedCalc-Bench's `accuracy_corrected`, which uses corrected
    labels.
    """
    return name if name in declared else name.removesuffix(SUFFIX)


@dataclass(frozen=True)
class Answers:
    """The judged answers by item id, and the name of the model that gave them, "" if unknown."""

    texts: Mapping[str, str] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A check whose labels correct scores.

    Attributes:
        path: the check's path.
        sha256: the hash of its file.
        check: the content of `check.json`.
        form: how labels correct scores, see `scoring.correction`.
    """

    path: Path
    sha256: str
    check: Json
    form: Form

    def check_judge(self, recipe: Json, identity: Json) -> None:
        """Refuses a judge, or a way of asking it, that differs from the checked one."""
        from medical_tasks.judges.checks import GENERAL, check_command

        keys = (
            ("votes",) if self.check["set"] in GENERAL else ("votes", "mode", "prompts")
        )
        checked = {"judge": dict(self.check["judge"]["identity"])}
        checked |= {key: self.check[key] for key in keys}
        current = {"judge": dict(identity), **{key: recipe[key] for key in keys}}
        if checked != current:
            options = {"votes": recipe["votes"], "mode": recipe["mode"]}
            options["prompts"] = recipe["prompts"]["set"]
            command = check_command(self.check["set"], judge=recipe["name"], **options)
            raise UsageError(
                f"{self.path}: checks another judge, or the same judge with other settings: "
                f"{differing(checked, current)} (the check and this run). Check this one: {command}"
            )

    def columns(self, task: TaskSpec) -> list[str]:
        """Names the columns of `items.parquet` with the items' corrected values."""
        corrected = [
            metric for metric in task.metrics if metric.verdict not in ("", "several")
        ]
        return [name for metric in corrected for name in column_names(metric)]


def column_names(metric: MetricSpec) -> list[str]:
    """Names a metric's columns of `items.parquet`: corrected values, and denominators if pooled."""
    name = metric.name + SUFFIX
    return [name, weight_column(name)] if metric.kind == "ratio" else [name]


def read_calibration(
    path: Path, tasks: Sequence[TaskSpec], *, sampled: bool, **settings: Any
) -> Calibration:
    """Reads a check, and refuses one on another set of pairs than the tasks'.

    Args:
        path: the check's folder, or its file.
        tasks: the tasks that are scored.
        sampled: whether its labels were drawn from this run's verdicts.
        **settings: the judge, and how it is asked.
    """
    from medical_tasks.judges.checks import (
        GENERAL,
        check_command,
        check_set_of,
        read_check,
    )

    path, raw, check = read_check(path)
    name = str(check["set"])
    if sampled and name in GENERAL:
        raise UsageError(
            f"{path}: a check on {name} has no labels of this run's answers. Leave out "
            "--calibration-from run."
        )

    for task in (task for task in tasks if task.judge):
        task_set = check_set_of(task)
        judges_entailment = any(
            metric.verdict == "entailment" for metric in task.metrics
        )
        if name != task_set and not (judges_entailment and name in GENERAL):
            fitting = [task_set] * bool(task.benchmark.check_sets()) + [
                *GENERAL
            ] * judges_entailment
            raise UsageError(
                f"{path}: is a check on {name}, but {task.name} needs one on "
                f"{' or '.join(fitting) or 'no set'}. Make it: {check_command(task_set, **settings)}"
            )

    return Calibration(
        path,
        hashlib.sha256(raw).hexdigest(),
        check,
        "prediction" if sampled else "confusion",
    )


def same_calibration(entries: Sequence[Json]) -> bool:
    """Whether corrected metrics were corrected by the same check in the same way."""
    calibrations = [mapping(entry.get("calibration")) for entry in entries]
    first, *others = (
        [calibration.get(key) for key in ("sha256", "form", "classes")]
        for calibration in calibrations
    )
    return bool(first[0]) and all(other == first for other in others)
