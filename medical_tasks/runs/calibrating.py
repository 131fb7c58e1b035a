"""Scores corrected for the judge's errors (`--calibration`): whether a check of the judge fits a run, and what is reported of it.

A check fits that asked the same judge in the same way about the task's own set of pairs. A general set (ANLI, MedNLI) says how the
judge errs elsewhere: that is stated beside the numbers.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import readable
from medical_tasks.judges.checks import CHECK_FORMAT, GENERAL, THREE_WAY, check_command, check_set_of
from medical_tasks.runs.estimation import Estimator, Limits
from medical_tasks.runs.recipes import differing, mapping
from medical_tasks.runs.results import weight_column
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec

if TYPE_CHECKING:
    from medical_tasks.scoring.correction import Form, JudgeError, Rescoring, Verdicts

SUFFIX: Final = "_corrected"
HALF_WIDTH: Final = 0.05
"""The half-width, as a share of verdicts, for which it is said how many labels it takes."""
_SEVERAL: Final = "more than one verdict goes into each count, so that the judge's errors do not average out"


@dataclass(frozen=True, eq=False)
class Calibration:
    """A check whose labels correct scores."""

    path: Path
    sha256: str
    check: Mapping[str, Any]  # content of `check.json`
    form: Form

    @property
    def general(self) -> bool:
        """Whether its pairs are no benchmark's own."""
        return self.check["set"] in GENERAL

    def check_judge(self, recipe: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
        """Refuses a judge, or a way of asking it, other than the checked one."""
        keys = ("votes",) if self.general else ("votes", "mode", "prompts")
        checked = {"judge": dict(self.check["judge"]["identity"]), **{key: self.check[key] for key in keys}}
        asked = {"judge": dict(identity), **{key: recipe[key] for key in keys}}
        if checked != asked:
            told = recipe["prompts"]["set"]
            command = check_command(
                self.check["set"], judge=recipe["name"], votes=recipe["votes"], mode=recipe["mode"], prompts=told
            )
            raise UsageError(
                f"{self.path}: is a check of another judge, or one asked otherwise: {differing(checked, asked)} (the check and "
                f"this run). Check this one: {command}"
            )

    def columns(self, task: TaskSpec) -> list[str]:
        """Columns of `items.parquet` with the items' corrected values."""
        own = [metric for metric in task.metrics if metric.verdict not in ("", "several")]
        return [each for metric in own for each in corrected_columns(metric)]

    def correct(
        self, task: TaskSpec, items: Sequence[Item], scores: Mapping[str, ItemScore], limits: Limits | None
    ) -> Corrections:
        """Corrects what can be: metrics that are means or ratios of verdicts; the others say why not."""
        from medical_tasks.scoring.correction import NotCorrectableError

        made = Corrections()
        estimator = Estimator(task, scores, items=len(items), unanswered_limits=limits)
        for metric in task.metrics:
            if not metric.verdict:
                continue
            try:
                if metric.verdict == "several":
                    raise NotCorrectableError(_SEVERAL)
                self._correct(task, metric, _items(metric, items, scores, estimator), made)
            except NotCorrectableError as error:
                made.entries[metric.name] = {
                    "value": None,
                    "ci_low": None,
                    "ci_high": None,
                    "n": 0,
                    "reason": str(error),
                }
        return made

    def _correct(self, task: TaskSpec, metric: MetricSpec, found: Mapping[str, _Verdicts], made: Corrections) -> None:
        from medical_tasks.scoring.correction import NotCorrectableError, corrected, rescoring

        gold, judged, clusters = self._labels(metric.verdict)
        classes = _classes(metric.verdict, gold, judged, found.values())
        gold, judged = ([each if each in classes else classes[-1] for each in labels] for labels in (gold, judged))
        run = _columns(found, classes, clustered=task.cluster is not None)
        counts = _counted(judged, run, classes)
        try:
            learned = rescoring(gold, judged, classes, clusters=clusters, form=self.form)
            value, error = corrected(learned, run, limits=metric.limits)
        except NotCorrectableError as reason:
            needed = _needed((gold, judged), classes, clusters, run, self.form)
            more = f"; about {needed:,} such pairs would leave ±{HALF_WIDTH:.0%} of verdicts" if needed else ""
            raise NotCorrectableError(f"{reason} ({self._said()}){more}; {_next(counts)}") from None
        entry: dict[str, Any] = {"value": value.value, "ci_low": value.ci_low, "ci_high": value.ci_high, "n": value.n}
        entry |= {"of": float(run.of.sum())} if metric.kind == "ratio" else {}
        entry["calibration"] = self._facts(learned, error, float((run.unit @ run.counts).sum() / run.of.sum()), counts)
        made.entries[metric.name] = entry
        rescored = (run.fixed + run.unit * (run.counts @ learned.scores)) / run.of
        for name, numbers in zip(corrected_columns(metric), (rescored, run.of), strict=False):
            made.columns[name] = dict(zip(found, map(float, numbers), strict=True))

    def _labels(self, hit: str) -> tuple[list[str], list[str], list[int]]:
        """Labels of the pairs that both people and the judge decided."""
        from medical_tasks.scoring.correction import NotCorrectableError

        told = self.check["labels"]
        every = zip(told["gold"], told["judge"], told["cluster"], strict=True)
        pairs = [(gold, judged, cluster) for gold, judged, cluster in every if gold is not None and judged is not None]
        if not pairs:
            raise NotCorrectableError(f"no pair of the check has a label of people and of the judge ({self._said()})")
        if hit == "contradiction" and any(judged == "not_entailment" for _, judged, _ in pairs):
            raise NotCorrectableError("the judge tells entailed from not entailed and no more")
        gold, judged, clusters = (list(each) for each in zip(*pairs, strict=True))
        return gold, judged, clusters

    def _said(self) -> str:
        return f"{self.check['pairs']:,} pairs of {self.check['set']}, {self.check['clusters']:,} clusters"

    def _facts(self, learned: Rescoring, error: JudgeError, share: float, counts: Mapping[str, Any]) -> dict[str, Any]:
        from medical_tasks.scoring.correction import labels_needed
        from medical_tasks.scoring.intervals import student_quantile

        half = student_quantile(0.975, error.freedom) * math.sqrt(error.variance)
        said = f"corrected by {self._said()}"
        if half > HALF_WIDTH * share:
            needed = labels_needed(learned, error, HALF_WIDTH * share)
            said += (
                f": their number alone leaves ±{half / share:.1%} of verdicts; about {needed:,} pairs leave ±{HALF_WIDTH:.0%}; "
                f"{_next(counts)}"
            )
        if self.general:
            said += ". They are of another task: how the judge errs on them need not be how it errs here"
        return {
            "set": self.check["set"],
            "sha256": self.sha256,
            "form": self.form,
            "classes": list(learned.classes),
            "scores": learned.scores.tolist(),
            "weights": error.weights.tolist(),
            "slope": error.slope.tolist(),
            "covariance": error.covariance.tolist(),
            "freedom": error.freedom,
            "said": said,
        }


@dataclass(frozen=True)
class Corrections:
    """What the corrected metrics are, and the items' values of them."""

    entries: dict[str, dict[str, Any]] = field(default_factory=dict)  # by the raw metric's name
    columns: dict[str, dict[str, float]] = field(default_factory=dict)  # of `items.parquet`, by item

    def beside(self, metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The entries of `results.json`, each corrected one behind the raw one."""
        made: dict[str, Any] = {}
        for name, raw in metrics.items():
            made[name] = raw
            if name in self.entries:
                entry = self.entries[name]
                whole = None if "scored" in raw else entry["value"]
                shared = {key: raw[key] for key in ("unit", "comparable", "scored") if key in raw}
                made[name + SUFFIX] = {**entry, "bound_low": whole, "bound_high": whole, **shared}
        return made


def corrected_columns(metric: MetricSpec) -> list[str]:
    """The columns with a metric's corrected values, and its denominators where it is a ratio."""
    name = metric.name + SUFFIX
    return [name, weight_column(name)] if metric.kind == "ratio" else [name]


@dataclass(frozen=True, kw_only=True)
class _Verdicts:
    """An item's verdicts on one metric."""

    hits: float
    known: float
    classes: Mapping[str, int]  # none where the judge's verdicts are hits or not
    unit: float
    fixed: float
    of: float
    cluster: str


def _items(
    metric: MetricSpec, items: Sequence[Item], scores: Mapping[str, ItemScore], estimator: Estimator
) -> dict[str, _Verdicts]:
    """Items with a value, by id; known verdicts stand for missing ones of the same item, as in the raw value."""
    found = {}
    for item in items:
        score = scores.get(item.id)
        value, of = (math.nan, 0.0) if score is None else estimator.item_value(metric, score)
        if score is None or not of or math.isnan(value):
            continue
        one = score.counts.get(metric.name)
        known = 0 if one is None else one.known
        if one is None or not known:
            if one is not None and one.of > sum(each.unasked for each in one.verdicts):
                continue  # nothing but a guess from other items
            found[item.id] = _Verdicts(
                hits=0, known=0, classes={}, unit=0.0, fixed=value * of, of=of, cluster=item.cluster
            )
            continue
        total = of if metric.kind == "ratio" else one.of
        judged = total - sum(each.unasked for each in one.verdicts)
        per = of / total if one.how == "share" else 1.0
        told = all(sum(each.classes.values()) == each.known for each in one.verdicts)
        counts: dict[str, int] = {}
        for each in one.verdicts if told else ():
            for name, number in each.classes.items():
                counts[name] = counts.get(name, 0) + number
        found[item.id] = _Verdicts(
            hits=value * of / (per * judged / known),
            known=known,
            classes=counts,
            unit=per * judged / known,
            fixed=0.0,
            of=of,
            cluster=item.cluster,
        )
    return found


def _classes(hit: str, gold: Sequence[str], judged: Sequence[str], run: Any) -> tuple[str, ...]:
    """All classes where labels and verdicts tell enough of each; else the one that counts, and the rest."""
    from medical_tasks.scoring.correction import FEWEST

    every = (hit, *(name for name in THREE_WAY.classes if name != hit))
    named = all(name in THREE_WAY.classes for name in (hit, *judged)) and all(
        one.classes or not one.known for one in run
    )
    fewest = FEWEST["confusion"]
    if named and all(min(gold.count(name), judged.count(name)) >= fewest for name in every):
        return every
    return hit, f"not {hit}"


def _columns(found: Mapping[str, _Verdicts], classes: Sequence[str], *, clustered: bool) -> Verdicts:
    import numpy as np

    from medical_tasks.scoring.correction import Verdicts

    counts = [
        [one.classes.get(name, 0) for name in classes] if len(classes) > 2 else [one.hits, one.known - one.hits]
        for one in found.values()
    ]
    unit, fixed, of = np.array([(one.unit, one.fixed, one.of) for one in found.values()]).reshape(-1, 3).T
    clusters = [one.cluster for one in found.values()] if clustered else None
    return Verdicts(np.array(counts, dtype=float).reshape(-1, len(classes)), unit, fixed, of, clusters)


def _counted(judged: Sequence[str], run: Verdicts, classes: Sequence[str]) -> dict[str, tuple[int, int]]:
    """By class, how many labelled pairs the judge gives it, and how many verdicts of the run."""
    said = run.counts.sum(axis=0)
    return {name: (judged.count(name), round(float(said[place]))) for place, name in enumerate(classes)}


def _next(counts: Mapping[str, tuple[int, int]]) -> str:
    """The class of verdicts that the run has most of for each that is labelled."""
    name = max(counts, key=lambda each: counts[each][1] / max(1, counts[each][0]))
    labelled, said = counts[name]
    return f"label next what the judge calls {name} ({said:,} verdicts here, {labelled:,} labelled)"


def _needed(
    labels: tuple[Sequence[str], Sequence[str]],
    classes: Sequence[str],
    clusters: Sequence[int],
    run: Verdicts,
    form: Form,
) -> int:
    """How many labels like these would do, also where they are too few to correct by; 0 where that is not known."""
    from medical_tasks.scoring.correction import FEWEST, NotCorrectableError, judge_error, labels_needed, rescoring

    try:
        plan = rescoring(labels[0], labels[1], classes, clusters=clusters, form=form, fewest=1)
        _, error = judge_error(plan, run)
    except NotCorrectableError:
        return 0
    share = float((run.unit @ run.counts).sum() / run.of.sum())
    rarest = float(plan.table.sum(axis=1 if form == "confusion" else 0).min())
    fewest = math.ceil(len(labels[0]) * FEWEST[form] / rarest)
    return max(fewest, labels_needed(plan, error, HALF_WIDTH * share))


def read_calibration(path: Path, tasks: Sequence[TaskSpec], *, judge: str, sampled: bool) -> Calibration:
    """Reads a check (its folder, or its file) and refuses one that is not of the tasks' set of pairs."""
    path = path.expanduser()
    path = path / "check.json" if path.is_dir() else path
    if not path.is_file():
        raise MissingError(f"{path}: no such file. Give the folder that judge-check wrote, or its check.json.")
    with readable(path):
        raw = path.read_bytes()
    try:
        check = json.loads(raw)
        name, checked = str(check["set"]), str(check["judge"]["name"])
        how = {"votes": check["votes"], "mode": check["mode"], "prompts": check["prompts"]["set"]}
        dict(check["judge"]["identity"]), int(check["pairs"]), int(check["clusters"])
        if check["schema_version"] == CHECK_FORMAT:
            _check_labels(check["labels"])
    except (ValueError, LookupError, TypeError, RecursionError):
        raise UsageError(f"{path}: not a result of judge-check. Give its folder, or its check.json.") from None
    if check["schema_version"] != CHECK_FORMAT:
        raise UsageError(
            f"{path}: is of format {check['schema_version']!r}, and corrections take {CHECK_FORMAT}, which holds the label of each "
            f"pair. Make it again: {check_command(name, judge=checked, **how)}"
        )
    for task in (task for task in tasks if task.judge):
        own = check_set_of(task)
        entails = any(metric.verdict == "entailment" for metric in task.metrics)
        if name != own and not (entails and name in GENERAL):
            others = f" or one of {', '.join(GENERAL)}" if entails else ""
            raise UsageError(
                f"{path}: is a check on {name}, and {task.name} takes one on {own}{others}. Make it: "
                f"{check_command(own, judge=judge)}"
            )
    form: Form = "prediction" if sampled else "confusion"
    return Calibration(path, hashlib.sha256(raw).hexdigest(), check, form)


def _check_labels(labels: Any) -> None:
    columns = [labels["gold"], labels["judge"], labels["cluster"]]
    sound = all(isinstance(each, list) for each in columns) and len(set(map(len, columns))) == 1
    names_sound = all(isinstance(name, str | None) for each in columns[:2] for name in each)
    if not sound or not names_sound or not all(isinstance(number, int) for number in columns[2]):
        raise TypeError("not columns of labels")


def raw_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a task's own metrics."""
    return {name: entry for name, entry in metrics.items() if not name.endswith(SUFFIX)}


def same_calibration(entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether corrected metrics were corrected alike."""
    told = [mapping(entry.get("calibration")) for entry in entries]
    keys = ("sha256", "form", "classes")
    return (
        all(each.get("sha256") for each in told)
        and len({json.dumps([each[key] for key in keys]) for each in told}) == 1
    )
