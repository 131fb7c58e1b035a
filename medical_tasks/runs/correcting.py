"""Corrects a run's scores by a check's labels, and widens the corrected intervals.

A correction assumes that the judge errs on a run's answers as on the labelled ones. Its
errors may depend on three factors: the group of the question, the length of the answer, and
whether the answer is by a model of the judge's own family. If the run and the labels differ
in the mix of a factor's kinds, and each kind has enough labels, each kind is corrected by its
own labels. The remaining effect of length and family widens the interval, by the product of
two numbers: how much further off the judge is on long answers (or on its family's), with both
ends of that figure's 95 % interval; and how far the run's answers lie from the labelled ones,
on a scale where the distance from short to long is 1.

Example:
    On labelled answers with 50 words the judge is right; on those with 200 words it calls 10
    percentage points too many entailed. A run whose answers have about 200 words is on the
    upper side. If there are too few labels of long answers to correct it by those alone, its
    interval becomes wider by about 10 points below.

Where the run's answers differ from the labelled ones, `calibration` in `results.json`
says what was done:

- `adjusted_for`: if over 10 % belong to another kind (K-QA's `question_form`,
  EHRNoteQA's `num_notes`; short or long; the judge's family or not), each kind is
  corrected by its own labels, given 20 of each class.
- `widened_by`: `distance` (of the run's answers from the labelled ones, in length or
  family; log words, 1 is from the mean of the short half to that of the long) × `drift`
  (the 95 % interval of how much more the judge errs there, within a gold class).
- `refused`: the judge errs otherwise on long answers, and over 10 % of the run's are
  longer or shorter than any labelled one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from medical_tasks.judges.check_figures import same_family
from medical_tasks.judges.checks import GENERAL, THREE_WAY
from medical_tasks.runs.calibrating import (
    Answers,
    Calibration,
    Corrections,
    column_names,
)
from medical_tasks.runs.estimation import Estimator, Limits
from medical_tasks.runs.results import Figure, Json, JsonDict
from medical_tasks.scoring.correction import (
    FEWEST,
    Form,
    JudgeError,
    NotCorrectableError,
    Rescoring,
    Verdicts,
    corrected,
    drift,
    judge_error,
    labels_needed,
    rescoring,
    widening,
)
from medical_tasks.scoring.estimates import Estimate, Floats
from medical_tasks.spec import Item, ItemScore, MetricSpec, TaskSpec

Texts = npt.NDArray[np.str_]

LEAST_SHIFT: Final = 0.1
"""The smallest shift of a mix: the share of verdicts to move for the run to match the labels."""
MOST_BEYOND: Final = 0.1
"""The share of answers that may be longer or shorter than any labelled one."""
LEAST_SAID: Final = 0.001
"""The smallest widening that is reported."""
_NOWHERE: Final = 1e-9
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "length": ("short", "long"),
    "family": ("other", "own"),
}
_SIDES: Final[Mapping[str, tuple[str, str]]] = {
    "length": ("shorter", "longer"),
    "family": ("less often by its family", "more often by its family"),
}
_ELSEWHERE: Final = ". They are of another task: how the judge errs on them need not be how it errs here"
HALF_WIDTH: Final = 0.05
"""The half-width, as a share of verdicts, for which the number of labels needed is reported."""


def correct(
    calibration: Calibration,
    task: TaskSpec,
    items: Sequence[Item],
    scores: Mapping[str, ItemScore],
    limits: Limits | None,
    answers: Answers | None = None,
) -> Corrections:
    """Corrects metrics that are means or ratios of verdicts; other metrics get a reason.

    Args:
        calibration: the check whose labels correct.
        task: the task with the metrics that are reported.
        items: all items that were asked.
        scores: the scores by item id.
        limits: the metrics' limits on an item without an answer.
        answers: the judged answers; None if they are unknown.
    """
    estimator = Estimator(task, scores, items=len(items), unanswered_limits=limits)
    run = _Run(task, items, scores, estimator, answers or Answers())
    corrections = Corrections()
    for metric in (metric for metric in task.metrics if metric.verdict):
        try:
            _correct(calibration, metric, run, corrections)
        except NotCorrectableError as error:
            corrections.figures[metric.name] = {
                "value": None,
                "ci_low": None,
                "ci_high": None,
                "n": 0,
                "reason": str(error),
                "calibration": {"refused": str(error)},
            }

    return corrections


@dataclass(frozen=True, eq=False)
class _Factor:
    """A factor on which a judge's errors may depend.

    Attributes:
        name: the factor's name.
        labels: the kind of each label.
        items: the kind of each item.
        labels_at: each label's position on the factor's scale, if it has one: 0 is the
            mean of the lower side, 1 that of the upper.
        items_at: each item's position.
        refused: why the labels do not cover the items' range; "" if they do.
    """

    name: str
    labels: Texts
    items: Texts
    labels_at: Floats | None = None
    items_at: Floats | None = None
    refused: str = ""


@dataclass(frozen=True, eq=False)
class _Run:
    """A task's scores, whose verdicts are corrected.

    Attributes:
        items: all items of the task, also those without a score.
        scores: the uncorrected scores, by item id.
        estimator: estimates values as the raw figures do, from the same scores.
        answers: the answers and the name of the model, for factors such as their length.
    """

    task: TaskSpec
    items: Sequence[Item]
    scores: Mapping[str, ItemScore]
    estimator: Estimator
    answers: Answers

    def verdicts(
        self, metric: MetricSpec, labels: Sequence[Sequence[str]]
    ) -> tuple[list[str], tuple[str, ...], Verdicts]:
        """Counts the verdicts of items with a value; returns the ids, the classes and the counts.

        Known verdicts estimate missing ones of the same item, as in the raw value. All
        classes are counted if the labels (gold, judged) have enough of each; otherwise the
        one that scores, and the rest.
        """
        ids, rows, class_counts, clusters = [], [], [], []
        for item in self.items:
            score = self.scores.get(item.id)
            row = None if score is None else self._row(metric, score)
            if score is not None and row is not None:
                counts = score.counts.get(metric.name)
                verdicts = counts.verdicts if counts is not None else ()
                ids.append(item.id)
                rows.append(row)
                class_counts.append(
                    sum((Counter(judged.classes) for judged in verdicts), Counter())
                )
                clusters.append(item.cluster)

        table = np.array(rows).reshape(-1, 5)
        classes, by_class = _by_class(
            metric.verdict, class_counts, table[:, :2], labels
        )
        unit, fixed, of = table[:, 2:].T
        apart = clusters if self.task.cluster is not None else None

        return ids, classes, Verdicts(by_class, unit, fixed, of, apart)

    def has_points(self, metric: MetricSpec) -> bool:
        """Whether verdicts count with points of their own."""
        counts = (score.counts.get(metric.name) for score in self.scores.values())
        return any(
            metric_counts is not None and metric_counts.how == "points"
            for metric_counts in counts
        )

    def _row(self, metric: MetricSpec, score: ItemScore) -> tuple[float, ...] | None:
        """Returns an item's hits, other verdicts, unit, fixed part and denominator.

        The unit is what one verdict adds; the fixed part needs no judge. None for an item
        without a value, or whose value is only estimated from other items.

        Example: an answer has four statements, of which three have verdicts and two hold. Its
            value in a mean is 2/3, and each of the three known verdicts adds 1/3: 2 hits, 1 other
            verdict, a unit of 1/3, no fixed part, and the denominator 1. In a pooled metric the
            denominator is 4 and a verdict adds 4/3.
        Example: an answer whose value needed no verdict, such as 0 for an empty one, has no
            hits and no unit, and its whole value is the fixed part.
        """
        value, of = self.estimator.item_value(metric, score)
        if not of or math.isnan(value):
            return None

        counts = score.counts.get(metric.name)
        unasked = (
            sum(verdicts.unasked for verdicts in counts.verdicts)
            if counts is not None
            else 0
        )
        if counts is not None and counts.how == "points" and counts.known:
            # If all verdicts were hits, they would be worth `most`, minus points included.
            weighted = [
                (verdicts.weight, verdicts.known + verdicts.missing)
                for verdicts in counts.verdicts
            ]
            most = math.fsum(weight * number for weight, number in weighted) / counts.of
            return (
                value * counts.known,
                (most - value) * counts.known,
                1.0 / counts.known,
                0.0,
                of,
            )

        if counts is not None and counts.known:
            total = of if metric.kind == "ratio" else counts.of
            of_all = of / total if counts.is_share else 1.0
            unit = of_all * (total - unasked) / counts.known
            hits = value * of / unit
            return hits, counts.known - hits, unit, 0.0, of

        if counts is not None and counts.of > unasked:
            return None

        return 0.0, 0.0, 0.0, value * of, of


def _correct(
    calibration: Calibration, metric: MetricSpec, run: _Run, corrections: Corrections
) -> None:
    """Adds a metric's corrected figure, and its items' values.

    The steps: keep the labels whose class is decided, count the run's verdicts in the same
    classes, find the factors in which labels and run differ, learn the judge's errors within
    the strata of these factors, and compute the value from the verdicts with those errors.

    Raises:
        NotCorrectableError: the labels do not suffice, or do not apply to the metric.
    """
    labels = _decided_labels(calibration.check["labels"])
    gold, judged, clusters = (labels[name] for name in ("gold", "judge", "cluster"))
    _check_verdicts(metric, judged)
    ids, classes, verdicts = run.verdicts(metric, (gold, judged))
    gold, judged = _merge_rest(gold, classes), _merge_rest(judged, classes)
    form = _form(calibration, metric, run, verdicts)
    factors = _factors(calibration, labels, run, ids)
    mass = verdicts.unit * verdicts.counts.sum(axis=1)
    if ids and mass.sum() <= 0.0 and run.has_points(metric):
        raise NotCorrectableError(
            "minus points outweigh the others, so that verdicts all of one kind count for nothing",
            labels=False,
        )

    shifted = [factor for factor in factors if _is_shifted(factor, mass)]
    note = f"{len(gold):,} pairs of {calibration.check['set']}, {len({*clusters}):,} clusters"
    needed, half = 0, math.nan
    share = float(
        (verdicts.unit @ verdicts.counts).sum() / (verdicts.denominators.sum() or 1.0)
    )
    try:
        # Even a few labels roughly tell how many would suffice.
        pooled = rescoring(
            gold, judged, classes, clusters=clusters, form=form, fewest=1
        )
        _, error = judge_error(pooled, verdicts)
        needed = labels_needed(pooled, error, HALF_WIDTH * share)
        half = math.sqrt(error.variance) / share
        columns = [np.array(column) for column in (gold, judged, clusters)]
        used, learnt, spread = _stratified(shifted, columns, classes, form, verdicts)
        value, own_error = corrected(learnt, spread, limits=metric.limits)
    except NotCorrectableError as reason:
        advice = (
            _advice(needed, judged, verdicts, classes, form) if reason.labels else ""
        )
        raise NotCorrectableError(f"{reason} ({note}){advice}") from None

    widened = _widened(factors, used, mass, pooled, error, clusters)
    if 2.0 * half > HALF_WIDTH:
        note += f": they alone leave ±{2.0 * half:.1%} of verdicts"
        note += _advice(needed, judged, verdicts, classes, form)

    assumes = _assumption(calibration, len(gold), used)
    note += f"; assumes {assumes}{_mix_note(widened, shifted, used)}"
    figure = _figure(value, widened, metric)
    figure["calibration"] = {
        **_error_json(own_error),
        "classes": list(learnt.classes),
        "scores": learnt.scores.tolist(),
        "set": calibration.check["set"],
        "sha256": calibration.sha256,
        "form": form,
        "said": f"corrected by {note}{_ELSEWHERE * _is_elsewhere(calibration)}",
        "assumes": assumes,
        "adjusted_for": [factor.name for factor in used],
        "widened_by": widened,
        "refused": None,
    }
    if metric.kind == "ratio":
        figure["of"] = float(verdicts.denominators.sum())

    corrections.figures[metric.name] = figure
    rescored = verdicts.fixed + verdicts.unit * (spread.counts @ learnt.scores)
    corrections.columns.update(
        _item_columns(
            metric, ids, rescored / verdicts.denominators, verdicts.denominators
        )
    )


def _merge_rest(labels: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Replaces labels of other classes by the last class, which stands for the rest.

    Example:
        >>> _merge_rest(["entailment", "neutral"], ("entailment", "not entailment"))
        ['entailment', 'not entailment']
    """
    return [label if label in classes else classes[-1] for label in labels]


def _item_columns(
    metric: MetricSpec, ids: Sequence[str], values: Floats, denominators: Floats
) -> dict[str, dict[str, float]]:
    """Returns a metric's corrected values by item id, with the denominators if it is pooled."""
    names = column_names(metric)
    columns = (values, denominators)[: len(names)]
    return {
        name: dict(zip(ids, map(float, numbers), strict=True))
        for name, numbers in zip(names, columns, strict=True)
    }


def _form(
    calibration: Calibration, metric: MetricSpec, run: _Run, verdicts: Verdicts
) -> Form:
    """Returns the form of the correction.

    Labels drawn verdict by verdict represent only a metric in which all verdicts weigh the
    same.
    """
    weights = set(verdicts.unit[verdicts.unit > 0].tolist())
    if len(weights) > 1 or run.has_points(metric):
        return "confusion"
    return calibration.form


def _is_elsewhere(calibration: Calibration) -> bool:
    """Whether the labels come from another kind of text than the task's answers.

    Then no factors, such as the answers' length, are compared.
    """
    in_general = calibration.check["set"] in GENERAL
    return in_general or bool(calibration.check.get("elsewhere"))


def _factors(
    calibration: Calibration,
    labels: Mapping[str, Sequence[Any]],
    run: _Run,
    ids: Sequence[str],
) -> list[_Factor]:
    """Collects the factors of the judge's errors that both the labels and the run have."""
    if calibration.form == "prediction" or _is_elsewhere(calibration):
        return []

    items = {item.id: item for item in run.items}
    factors = _group_factors(labels, [items[name] for name in ids])
    texts = [run.answers.texts.get(name) for name in ids]
    if "words" in labels and None not in texts:
        factors += _length_factor(np.array(labels["words"]), list(map(str, texts)))

    models = labels.get("model", ())
    if models and all(models) and run.answers.model:
        judge = str(calibration.check["judge"]["name"])
        of_labels = np.array([same_family(judge, model) for model in models])
        of_items = np.full(len(ids), same_family(judge, run.answers.model))
        scale = (of_labels * 1.0, of_items * 1.0)
        factors.append(_scaled("family", (of_labels, of_items), scale))

    return factors


def _assumption(calibration: Calibration, labels: int, used: Sequence[_Factor]) -> str:
    """Words the assumption behind a correction."""
    if calibration.form == "prediction":
        return f"that the {labels:,} labels were drawn from this run's verdicts"
    names = " and ".join(factor.name for factor in used)
    same = f" of the same {names}" if used else ""
    return (
        f"that the judge errs on these answers as on the {labels:,} labelled ones{same}"
    )


def _check_verdicts(metric: MetricSpec, judged: Sequence[str]) -> None:
    """Refuses metrics whose verdicts' errors the labels do not show."""
    if metric.verdict == "several":
        raise NotCorrectableError(
            "more than one verdict goes into each count, so that errors do not average out"
        )
    if metric.verdict == "contradiction" and "not_entailment" in judged:
        raise NotCorrectableError(
            "the judge tells entailed from not entailed and no more"
        )


def _by_class(
    hit: str,
    class_counts: Sequence[Counter[str]],
    sides: Floats,
    labels: Sequence[Sequence[str]],
) -> tuple[tuple[str, ...], Floats]:
    """Returns the classes of verdicts, and how many of each an item has.

    All classes are used if the items name the class of every verdict and each class has
    enough labels; otherwise the one that scores (`hit`) and the rest, as counted in `sides`.

    Args:
        hit: the class that scores, such as `entailment`.
        class_counts: each item's known verdicts by class.
        sides: each item's hits and other known verdicts, of shape (items, 2).
        labels: the people's labels and the judge's, of the labelled pairs.
    """
    classes = (hit, *(name for name in THREE_WAY.classes if name != hit))
    counts = np.array(
        [[item_counts[name] for name in classes] for item_counts in class_counts],
        dtype=float,
    )
    counts = counts.reshape(-1, len(classes))
    whole = (counts.sum(axis=1) == np.rint(sides.sum(axis=1))).all()
    fewest = min(side.count(name) for side in labels for name in classes)
    if (
        whole
        and len(classes) == len(THREE_WAY.classes)
        and fewest >= FEWEST["confusion"]
    ):
        return classes, counts

    return (hit, f"not {hit}"), sides


def _figure(value: Estimate, widened: Mapping[str, Json], metric: MetricSpec) -> Figure:
    """Makes the corrected figure, with the interval widened for length and family."""
    reaches = [widening(**reach) for reach in widened.values()]
    down, up = (math.fsum(reach[end] for reach in reaches) for end in (0, 1))
    low, high = metric.total or metric.limits
    return {
        "value": min(max(value.value, low), high),
        "ci_low": min(max(value.ci_low - down, low), high),
        "ci_high": min(max(value.ci_high + up, low), high),
        "n": value.n,
    }


def _error_json(error: JudgeError) -> JsonDict:
    """Returns the labels' error in the form that `comparison.statistics.with_judge_error` reads."""
    arrays = {
        "weights": error.weights,
        "slope": error.slope,
        "covariance": error.covariance,
    }
    return {
        **{name: array.tolist() for name, array in arrays.items()},
        "freedom": error.freedom,
    }


def _decided_labels(labels: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Selects the labels of pairs on which people agree and the judge gave a verdict."""
    pairs = zip(labels["gold"], labels["judge"], labels["cluster"], strict=True)
    decided = [index for index, label in enumerate(pairs) if None not in label]
    return {
        name: [column[index] for index in decided] for name, column in labels.items()
    }


def _group_factors(
    labels: Mapping[str, Sequence[Any]], items: Sequence[Item]
) -> list[_Factor]:
    """Collects the groups of questions that both the labels and the items have."""
    factors = []
    for name, of_labels in labels.items():
        group_name = name.removeprefix("group_")
        own = [item.groups.get(group_name) for item in items]
        if group_name != name and all(isinstance(group, str) for group in own):
            factors.append(_Factor(group_name, np.array(of_labels), np.array(own)))
    return factors


def _length_factor(words: npt.NDArray[np.int_], texts: Sequence[str]) -> list[_Factor]:
    """Makes the factor of the answers' length, on a scale of log words.

    Returns no factor if no label is longer than the median.
    """
    own = np.array([len(text.split()) for text in texts])
    longer = [lengths > np.median(words) for lengths in (words, own)]
    if not longer[0].any():
        return []

    low, high = (np.log1p(words)[side].mean() for side in (~longer[0], longer[0]))
    scale = [(np.log1p(lengths) - low) / (high - low) for lengths in (words, own)]
    beyond = float(np.mean((own < words.min()) | (own > words.max())))
    refused = f"{beyond:.0%} of these have not {words.min()} to {words.max()} words, as the labelled ones"

    return [_scaled("length", longer, scale, refused if beyond > MOST_BEYOND else "")]


def _scaled(
    name: str,
    upper: Sequence[npt.NDArray[np.bool_]],
    scale: Sequence[Floats],
    refused: str = "",
) -> _Factor:
    """Makes a factor that puts labels and items on a lower or an upper side."""
    kinds = [np.where(is_upper, _KINDS[name][1], _KINDS[name][0]) for is_upper in upper]
    return _Factor(name, kinds[0], kinds[1], scale[0], scale[1], refused)


def _is_shifted(factor: _Factor, mass: Floats) -> bool:
    """Whether the run's mix of a factor's kinds differs from the labels'."""
    kinds_of_all = np.concatenate([factor.labels, factor.items])
    kinds, codes = np.unique(kinds_of_all, return_inverse=True)
    labels = len(factor.labels)
    of_labels = np.bincount(codes[:labels], minlength=len(kinds)) / labels
    of_run = np.bincount(codes[labels:], mass, len(kinds)) / (mass.sum() or 1.0)
    return float(abs(of_labels - of_run).sum()) / 2.0 > LEAST_SHIFT


def _join_kinds(columns: Sequence[Texts], length: int) -> Texts:
    """Joins the kinds that several factors give each label or item; "" without factors."""
    joined = np.full(length, "")
    for column in columns:
        joined = np.char.add(np.char.add(joined, column), " ")
    return joined


def _stratified(
    factors: Sequence[_Factor],
    labels: Sequence[npt.NDArray[Any]],
    classes: Sequence[str],
    form: Form,
    run: Verdicts,
) -> tuple[Sequence[_Factor], Rescoring, Verdicts]:
    """Learns the correction from the labels, stratified by as many factors as they suffice for.

    The verdicts are counted by the same strata.
    """
    items = len(run.denominators)
    for used in chain.from_iterable(
        combinations(factors, size) for size in range(len(factors), -1, -1)
    ):
        of_labels = _join_kinds([factor.labels for factor in used], len(labels[0]))
        of_items = _join_kinds([factor.items for factor in used], items)
        strata = np.unique(of_items[run.counts.sum(axis=1) > 0.0])
        if not np.isin(strata, of_labels).all():
            continue

        kept = np.isin(of_labels, strata)
        gold, judged, clusters = (column[kept].tolist() for column in labels)
        numbers = np.searchsorted(strata, of_labels[kept]).tolist()
        try:
            learnt = rescoring(
                gold, judged, classes, clusters=clusters, form=form, strata=numbers
            )
        except NotCorrectableError:
            if used:
                continue

            raise

        # Items outside the strata have no verdicts.
        index = np.searchsorted(strata, of_items).clip(max=len(strata) - 1)
        counts = np.zeros((items, len(strata), len(classes)))
        counts[np.arange(items), index] = run.counts
        names = tuple(f"{kind}{name}" for kind in strata for name in classes)
        return (
            used,
            replace(learnt, classes=names),
            replace(run, counts=counts.reshape(items, -1)),
        )

    raise AssertionError("the last attempt has no factors and cannot be skipped")


def _distance(factor: _Factor, used: Sequence[_Factor], mass: Floats) -> float:
    """Measures how far the run's answers lie from the labelled ones, on a factor's scale."""
    of_labels = _join_kinds([factor.labels for factor in used], len(factor.labels))
    of_items = _join_kinds([factor.items for factor in used], len(mass))
    strata, codes = np.unique(of_labels, return_inverse=True)
    means = np.bincount(codes, factor.labels_at) / np.bincount(codes)
    near = means[np.searchsorted(strata, of_items).clip(max=len(strata) - 1)]
    return float((factor.items_at - near) @ mass / mass.sum())


def _widened(
    factors: Sequence[_Factor],
    used: Sequence[_Factor],
    mass: Floats,
    pooled: Rescoring,
    error: JudgeError,
    clusters: Sequence[Any],
) -> dict[str, JsonDict]:
    """Returns, for each factor with a scale, the arguments of `widening`.

    Raises:
        NotCorrectableError: the judge's errors depend on the factor, and the labels do not
            cover the run's range.
    """
    widened: dict[str, JsonDict] = {}
    for factor in factors:
        distance = 0.0 if factor.labels_at is None else _distance(factor, used, mass)
        if abs(distance) < _NOWHERE:
            continue

        upper = factor.labels == _KINDS[factor.name][1]
        further = drift(pooled, error, upper, clusters=clusters)
        if math.isnan(further.ci_low):
            continue

        if factor.refused and not further.ci_low <= 0.0 <= further.ci_high:
            raise NotCorrectableError(
                "the judge errs otherwise on long answers than on short ones, and "
                f"{factor.refused}. Label some of this run's own",
                labels=False,
            )

        widened[factor.name] = {
            "distance": distance,
            "drift": [further.ci_low, further.ci_high],
        }

    return widened


def _mix_note(
    widened: Mapping[str, Json], shifted: Sequence[_Factor], used: Sequence[_Factor]
) -> str:
    """Says what widened the interval, and what could not be adjusted for."""
    text = ""
    for name, arguments in widened.items():
        down, up = widening(**arguments)
        if max(down, up) >= LEAST_SAID:
            side = _SIDES[name][arguments["distance"] > 0.0]
            text += f"; wider by {down:.1%} below and {up:.1%} above, as these answers are {side}"

    unadjusted = [
        factor.name
        for factor in shifted
        if factor not in used and factor.name not in widened
    ]
    if unadjusted:
        text += f"; {' and '.join(unadjusted)}: mixed otherwise here, and too few labels of each kind to tell what that changes"

    return text


def _advice(
    needed: int,
    judged: Sequence[str],
    run: Verdicts,
    classes: Sequence[str],
    form: Form,
) -> str:
    """Advises how many labels would suffice, and which verdicts need labels most."""
    counts = dict(zip(classes, run.counts.sum(axis=0), strict=True))
    name = max(
        classes,
        key=lambda class_name: counts[class_name] / max(1, judged.count(class_name)),
    )
    more = (
        f"; about {needed:,} such pairs would leave ±{HALF_WIDTH:.0%} of verdicts"
        if needed
        else ""
    )
    if form == "confusion":
        return f"{more}; label further answers, chosen without a look at the judge's verdicts"

    return f"{more}; label next what the judge calls {name} ({counts[name]:,.0f} verdicts here, {judged.count(name):,} labelled)"
