"""Scores corrected for the judge's errors (`--calibration`): which check fits, what is reported.

A check fits that asked the same judge in the same way about the task's own set of
pairs. A general set (ANLI, MedNLI) says how the judge errs elsewhere: that is stated
beside the numbers. How labels correct scores: `correcting`.
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
"""What a corrected figure has of the raw one."""


@dataclass(frozen=True)
class Corrections:
    """Corrected metrics.

    Attributes:
        figures: by the raw metrics' names.
        columns: the items' corrected values, as columns of `items.parquet`, by item id.
    """

    figures: Figures = field(default_factory=dict)
    columns: dict[str, dict[str, float]] = field(default_factory=dict)

    def beside(self, summary: Summary) -> Summary:
        """The summary with each corrected figure behind the raw one."""
        metrics: Figures = {}
        for name, raw in summary.metrics.items():
            metrics[name] = raw
            if name in self.figures:
                figure = self.figures[name].copy()
                whole = None if "scored" in raw else figure["value"]
                figure["bound_low"] = figure["bound_high"] = whole
                for key in _SHARED:
                    if key in raw:
                        figure[key] = raw[key]

                metrics[name + SUFFIX] = figure

        return replace(summary, metrics=metrics)

    def added_to(self, rows: Sequence[Row]) -> list[JsonDict]:
        """The items' rows with their corrected values."""
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
    """The metric that a name in `results.json` is of.

    A corrected metric is of its raw one. A metric that is declared under such a name is
    none, as MedCalc-Bench's `accuracy_corrected`, by corrected labels.
    """
    return name if name in declared else name.removesuffix(SUFFIX)


@dataclass(frozen=True)
class Answers:
    """The judged answers, by item, and the name of the model that gave them.

    "" where nobody says.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A check whose labels correct scores.

    Attributes:
        path: of the check.
        sha256: of its file.
        check: content of `check.json`.
        form: how labels correct scores, see `scoring.correction`.
    """

    path: Path
    sha256: str
    check: Json
    form: Form

    def check_judge(self, recipe: Json, identity: Json) -> None:
        """Refuses a judge, or a way of asking it, other than the checked one."""
        from medical_tasks.judges.checks import GENERAL, check_command

        keys = (
            ("votes",) if self.check["set"] in GENERAL else ("votes", "mode", "prompts")
        )
        checked = {"judge": dict(self.check["judge"]["identity"])}
        checked |= {key: self.check[key] for key in keys}
        here = {"judge": dict(identity), **{key: recipe[key] for key in keys}}
        if checked != here:
            how = {"votes": recipe["votes"], "mode": recipe["mode"]}
            how["prompts"] = recipe["prompts"]["set"]
            command = check_command(self.check["set"], judge=recipe["name"], **how)
            raise UsageError(
                f"{self.path}: is a check of another judge, or one asked otherwise: "
                f"{differing(checked, here)} (the check and this run). Check this one: {command}"
            )

    def columns(self, task: TaskSpec) -> list[str]:
        """Columns of `items.parquet` with the items' corrected values."""
        own = [
            metric for metric in task.metrics if metric.verdict not in ("", "several")
        ]
        return [name for metric in own for name in column_names(metric)]


def column_names(metric: MetricSpec) -> list[str]:
    """The columns of `items.parquet` with a metric's corrected values, and their denominators."""
    name = metric.name + SUFFIX
    return [name, weight_column(name)] if metric.kind == "ratio" else [name]


def read_calibration(
    path: Path, tasks: Sequence[TaskSpec], *, sampled: bool, **asked: Any
) -> Calibration:
    """Reads a check and refuses one that is not of the tasks' set of pairs.

    Args:
        path: of its folder, or its file.
        tasks: what is scored.
        sampled: whether its labels are of this run's verdicts.
        asked: the judge, and how it is asked.
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
        own = check_set_of(task)
        entails = any(metric.verdict == "entailment" for metric in task.metrics)
        if name != own and not (entails and name in GENERAL):
            fitting = [own] * bool(task.benchmark.check_sets()) + [*GENERAL] * entails
            raise UsageError(
                f"{path}: is a check on {name}, and {task.name} takes one on "
                f"{' or '.join(fitting) or 'no set'}. Make it: {check_command(own, **asked)}"
            )

    return Calibration(
        path,
        hashlib.sha256(raw).hexdigest(),
        check,
        "prediction" if sampled else "confusion",
    )


def same_calibration(entries: Sequence[Json]) -> bool:
    """Whether corrected metrics were corrected alike."""
    facts = [mapping(entry.get("calibration")) for entry in entries]
    first, *others = (
        [each.get(key) for key in ("sha256", "form", "classes")] for each in facts
    )
    return bool(first[0]) and all(each == first for each in others)
