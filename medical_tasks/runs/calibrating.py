"""Scores corrected for the judge's errors (`--calibration`): whether a check of the judge fits a run, and what is reported of it.

A check fits that asked the same judge in the same way about the task's own set of pairs. A general set (ANLI, MedNLI) says how the
judge errs elsewhere: that is stated beside the numbers.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.errors import UsageError
from medical_tasks.judges.checks import GENERAL, THREE_WAY, check_command, check_set_of, read_check
from medical_tasks.runs.estimation import Estimator, Limits
from medical_tasks.runs.recipes import differing, mapping
from medical_tasks.runs.results import weight_column
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.scoring.correction import Form, Verdicts

SUFFIX: Final = "_corrected"
HALF_WIDTH: Final = 0.05
"""The half-width, as a share of verdicts, for which it is said how many labels it takes."""


@dataclass(frozen=True)
class Corrections:
    """The corrected metrics by the raw ones' names, and the items' values of them, as columns of `items.parquet` by item."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    columns: dict[str, dict[str, float]] = field(default_factory=dict)

    def beside(self, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The entries of `results.json`, each corrected one behind the raw one."""
        made: dict[str, Any] = {}
        for name, raw in metrics.items():
            made[name] = raw
            if name in self.entries:
                whole = None if "scored" in raw else self.entries[name]["value"]
                shared = {key: raw[key] for key in ("unit", "comparable", "scored") if key in raw}
                made[name + SUFFIX] = {
                    **self.entries[name],
                    "bound_low": whole,
                    "bound_high": whole,
                    **shared,
                }
        return made


def raw_name(name: str, declared: Container[str]) -> str:
    """The metric that a name in `results.json` is of.

    A corrected metric is of its raw one. A metric that is declared under such a name is none, as
    MedCalc-Bench's `accuracy_corrected`, by corrected labels.
    """
    return name if name in declared else name.removesuffix(SUFFIX)


@dataclass(frozen=True, eq=False)
class Calibration:
    """A check whose labels correct scores."""

    path: Path
    sha256: str
    check: Mapping[str, Any]  # content of `check.json`
    form: Form

    def check_judge(self, recipe: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
        """Refuses a judge, or a way of asking it, other than the checked one."""
        keys = ("votes",) if self.check["set"] in GENERAL else ("votes", "mode", "prompts")
        checked = {
            "judge": dict(self.check["judge"]["identity"]),
            **{key: self.check[key] for key in keys},
        }
        asked = {"judge": dict(identity), **{key: recipe[key] for key in keys}}
        if checked != asked:
            how = {
                "votes": recipe["votes"],
                "mode": recipe["mode"],
                "prompts": recipe["prompts"]["set"],
            }
            raise UsageError(
                f"{self.path}: is a check of another judge, or one asked otherwise: {differing(checked, asked)} (the check and "
                f"this run). Check this one: {check_command(self.check['set'], judge=recipe['name'], **how)}"
            )

    def columns(self, task: TaskSpec) -> list[str]:
        """Columns of `items.parquet` with the items' corrected values."""
        own = [metric for metric in task.metrics if metric.verdict not in ("", "several")]
        return [name for metric in own for name in _column_names(metric)]

    def correct(
        self,
        task: TaskSpec,
        items: Sequence[Item],
        scores: Mapping[str, ItemScore],
        limits: Limits | None,
    ) -> Corrections:
        """Corrects what can be: metrics that are means or ratios of verdicts; the others say why not."""
        from medical_tasks.scoring.correction import NotCorrectableError

        made = Corrections()
        estimator = Estimator(task, scores, items=len(items), unanswered_limits=limits)
        for metric in task.metrics:
            try:
                if metric.verdict == "several":
                    raise NotCorrectableError(
                        "more than one verdict goes into each count, so that errors do not average out"
                    )
                if metric.verdict:
                    self._correct(
                        metric, items, scores, estimator, made, clustered=task.cluster is not None
                    )
            except NotCorrectableError as error:
                none = dict.fromkeys(("value", "ci_low", "ci_high"))
                made.entries[metric.name] = {**none, "n": 0, "reason": str(error)}
        return made

    def _correct(
        self,
        metric: MetricSpec,
        items: Sequence[Item],
        scores: Mapping[str, ItemScore],
        estimator: Estimator,
        made: Corrections,
        *,
        clustered: bool,
    ) -> None:
        from medical_tasks.scoring import correction

        told = (self.check["labels"][name] for name in ("gold", "judge", "cluster"))
        labels = [label for label in zip(*told, strict=True) if None not in label]
        gold, judged, clusters = ([label[place] for label in labels] for place in range(3))
        if metric.verdict == "contradiction" and "not_entailment" in judged:
            raise correction.NotCorrectableError(
                "the judge tells entailed from not entailed and no more"
            )
        ids, classes, run = _verdicts(
            metric, items, scores, estimator, (gold, judged), clustered=clustered
        )
        gold, judged = (
            [name if name in classes else classes[-1] for name in each] for each in (gold, judged)
        )
        said = f"{len(labels):,} pairs of {self.check['set']}, {len({*clusters}):,} clusters"
        # Labels drawn verdict by verdict stand for a metric in which each verdict weighs the same, and for no other.
        form: Form = self.form if len({*run.unit[run.unit > 0].tolist()}) < 2 else "confusion"
        needed, half = 0, math.nan
        share = float((run.unit @ run.counts).sum() / (run.of.sum() or 1.0))
        try:
            # What labels would do is known, roughly, from fewer of them too.
            plan = correction.rescoring(
                gold, judged, classes, clusters=clusters, form=form, fewest=1
            )
            _, error = correction.judge_error(plan, run)
            rarest = plan.table.sum(axis=1 if form == "confusion" else 0).min()
            fewest = math.ceil(len(gold) * correction.FEWEST[form] / rarest)
            needed = max(fewest, correction.labels_needed(plan, error, HALF_WIDTH * share))
            half = math.sqrt(error.variance) / share
            found = correction.rescoring(gold, judged, classes, clusters=clusters, form=form)
            value, error = correction.corrected(found, run, limits=metric.limits)
        except correction.NotCorrectableError as reason:
            advice = _advice(needed, judged, run, classes, form) if reason.labels else ""
            raise correction.NotCorrectableError(f"{reason} ({said}){advice}") from None
        if 2.0 * half > HALF_WIDTH:
            said += f": they alone leave ±{2.0 * half:.1%} of verdicts{_advice(needed, judged, run, classes, form)}"
        if self.check["set"] in GENERAL:
            said += ". They are of another task: how the judge errs on them need not be how it errs here"
        facts = {name: getattr(error, name).tolist() for name in ("weights", "slope", "covariance")}
        facts |= {
            "freedom": error.freedom,
            "classes": list(classes),
            "scores": found.scores.tolist(),
        }
        facts |= {
            "set": self.check["set"],
            "sha256": self.sha256,
            "form": form,
            "said": f"corrected by {said}",
        }
        entry = {name: getattr(value, name) for name in ("value", "ci_low", "ci_high", "n")}
        made.entries[metric.name] = (
            entry
            | {"calibration": facts}
            | ({"of": float(run.of.sum())} if metric.kind == "ratio" else {})
        )
        rescored = (run.fixed + run.unit * (run.counts @ found.scores)) / run.of
        for name, numbers in zip(_column_names(metric), (rescored, run.of), strict=False):
            made.columns[name] = dict(zip(ids, map(float, numbers), strict=True))


def _column_names(metric: MetricSpec) -> list[str]:
    name = metric.name + SUFFIX
    return [name, weight_column(name)] if metric.kind == "ratio" else [name]


def _verdicts(
    metric: MetricSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    estimator: Estimator,
    labels: Sequence[Sequence[str]],
    *,
    clustered: bool,
) -> tuple[list[str], tuple[str, ...], Verdicts]:
    """The verdicts of items with a value; known ones stand for missing ones of the same item, as in the raw value.

    They are of all classes where there are enough of each in the labels, else of the one that counts and the rest.
    """
    import numpy as np

    from medical_tasks.scoring.correction import FEWEST, Verdicts

    ids, rows, classed, clusters = [], [], [], []
    for item in items:
        score = scores.get(item.id)
        value, of = (math.nan, 0.0) if score is None else estimator.item_value(metric, score)
        if score is None or not of or math.isnan(value):
            continue
        one = score.counts.get(metric.name)
        parts = () if one is None else one.verdicts
        known, unasked = sum(each.known for each in parts), sum(each.unasked for each in parts)
        row = (0.0, 0.0, 0.0, value * of, of)
        if one is not None and known:
            total = of if metric.kind == "ratio" else one.of
            unit = (of / total if one.how == "share" else 1.0) * (total - unasked) / known
            row = (value * of / unit, known - value * of / unit, unit, 0.0, of)
        elif one is not None and one.of > unasked:
            continue  # nothing but a guess from other items
        classed.append(sum((Counter(each.classes) for each in parts), Counter()))
        ids.append(item.id)
        rows.append(row)
        clusters.append(item.cluster)
    table = np.array(rows).reshape(-1, 5)
    hit, fewest = metric.verdict, FEWEST["confusion"]
    classes: tuple[str, ...] = (hit, *(name for name in THREE_WAY.classes if name != hit))
    counts = np.array([[each[name] for name in classes] for each in classed], dtype=float).reshape(
        -1, len(classes)
    )
    named = len(classes) == len(THREE_WAY.classes) and bool(
        (counts.sum(axis=1) == np.rint(table[:, :2].sum(axis=1))).all()
    )
    if not named or any(each.count(name) < fewest for each in labels for name in classes):
        classes, counts = (hit, f"not {hit}"), table[:, :2]
    return (
        ids,
        classes,
        Verdicts(counts, table[:, 2], table[:, 3], table[:, 4], clusters if clustered else None),
    )


def _advice(
    needed: int, judged: Sequence[str], run: Verdicts, classes: Sequence[str], form: Form
) -> str:
    """How many labels would do, and the verdicts that the run has most of for each that is labelled."""
    said = dict(zip(classes, run.counts.sum(axis=0), strict=True))
    name = max(classes, key=lambda each: said[each] / max(1, judged.count(each)))
    more = (
        f"; about {needed:,} such pairs would leave ±{HALF_WIDTH:.0%} of verdicts" if needed else ""
    )
    if form == "confusion":
        return f"{more}; label further answers, chosen without a look at the judge's verdicts"
    return f"{more}; label next what the judge calls {name} ({said[name]:,.0f} verdicts here, {judged.count(name):,} labelled)"


def read_calibration(
    path: Path, tasks: Sequence[TaskSpec], *, sampled: bool, **asked: Any
) -> Calibration:
    """Reads a check (its folder, or its file) and refuses one that is not of the tasks' set of pairs; `asked`: judge and how."""
    path, raw, check = read_check(path)
    name = str(check["set"])
    if sampled and name in GENERAL:
        raise UsageError(
            f"{path}: a check on {name} has no labels of this run's answers. Leave out --calibration-from run."
        )
    for task in (task for task in tasks if task.judge):
        own = check_set_of(task)
        entails = any(metric.verdict == "entailment" for metric in task.metrics)
        if name != own and not (entails and name in GENERAL):
            fitting = [own] * bool(task.benchmark.check_sets()) + [*GENERAL] * entails
            raise UsageError(
                f"{path}: is a check on {name}, and {task.name} takes one on {' or '.join(fitting) or 'no set'}. Make it: "
                f"{check_command(own, **asked)}"
            )
    return Calibration(
        path, hashlib.sha256(raw).hexdigest(), check, "prediction" if sampled else "confusion"
    )


def same_calibration(entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether corrected metrics were corrected alike."""
    told = [mapping(entry.get("calibration")) for entry in entries]
    first, *others = ([each.get(key) for key in ("sha256", "form", "classes")] for each in told)
    return bool(first[0]) and all(each == first for each in others)
