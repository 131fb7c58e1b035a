"""How well a judge's labels fit labels of people: the figures of `medical-tasks judge-check`.

Classes are data (`judges.check_views`). Pairs of texts are labelled entailment, neutral or contradiction; beside the three
classes stand the figures for two, entailed or not, which is all that some judges know. Answers are correct or incorrect. A
pair without a verdict counts in no share: it is in the coverage, in a column of its own in the confusion matrix, and in the
bounds of the accuracy. A pair on which people have no majority has no truth to be compared with; it is in the figures of each
rater alone.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from medical_tasks.judges.base import Unscored
from medical_tasks.judges.check_views import NLI, THREE_WAY, TWO_WAY, View
from medical_tasks.scoring import agreement, raters
from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.intervals import bounds

__all__ = ["CheckPair", "check_figures", "labels_of", "same_labels", "subset"]


@dataclass(frozen=True, kw_only=True)
class CheckPair:
    """A pair with the label of people.

    Attributes:
        id: of the pair.
        gold: the label it should get; None where people are evenly divided.
        cluster: what it shares with others (the answer, the premise, the patient).
        ratings: the label of each person where several labelled it, always in the same order; None from those who did not.
        group: part of the set that is reported on its own; "" for none.
    """

    id: str
    gold: str | None
    cluster: str
    ratings: tuple[str | None, ...] = ()
    group: str = ""


def subset(pairs: Sequence[CheckPair], most: int | None) -> list[CheckPair]:
    """Takes the pairs whose hashed ids are smallest: the same ones whatever the order, and nested for growing numbers."""
    if most is None or most >= len(pairs):
        return list(pairs)
    ranked = sorted(pairs, key=lambda pair: hashlib.sha256(pair.id.encode("utf-8", "surrogatepass")).digest())
    kept = {pair.id for pair in ranked[:most]}
    return [pair for pair in pairs if pair.id in kept]


def labels_of(answers: Sequence[str | Unscored]) -> tuple[list[str | None], dict[str, int]]:
    """Tells labels from what is none.

    Returns:
        The label of each pair, None for those without; and how many there are without, by reason.
    """
    reasons = Counter(answer.reason for answer in answers if isinstance(answer, Unscored))
    return [None if isinstance(answer, Unscored) else answer for answer in answers], dict(reasons.most_common())


def check_figures(
    pairs: Sequence[CheckPair],
    given: Sequence[str | None],
    *,
    ways: int = 3,
    views: Sequence[View] = NLI,
    names: Sequence[str] = (),
    averages: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Computes everything that is reported of a judge's labels.

    Args:
        pairs: what was asked.
        given: the judge's label of each pair, None where it gave none.
        ways: how many classes the judge was asked for: 3, or 2 when only whether the premise entails the hypothesis.
        views: the classes in which judge and people are compared.
        names: of the raters, where each of them is compared with the judge.
        averages: name of a mean of several groups' accuracies to the groups.

    Returns:
        JSON values: for each view its figures (None for classes that the judge does not know), `people` (None where not every
        pair was labelled by the same two or more), with names `raters`, with several groups `groups`, and `averages` if asked for.
    """
    known = [view for view in views if len(view.classes) <= ways and view.holds(given)]
    figures: dict[str, Any] = {view.key: _compared(pairs, given, view) if view in known else None for view in views}
    figures["people"] = {view.key: _people(pairs, view) for view in views} if _rated(pairs) else None
    if names:
        figures["raters"] = _raters(pairs, given, views[-1], names)
    groups = sorted({pair.group for pair in pairs})
    if len(groups) > 1:
        most = max((len(view.classes) for view in known), default=0)
        figures["groups"] = {
            group: check_figures(
                [pair for pair in pairs if pair.group == group],
                [label for pair, label in zip(pairs, given, strict=True) if pair.group == group],
                ways=most,
                views=views,
                names=names,
            )
            for group in groups
        }
    if averages:
        figures["averages"] = {
            view.key: {name: _average(pairs, given, view, groups) for name, groups in averages.items()}
            for view in known
        }
    return figures


def same_labels(pairs: Sequence[CheckPair], one: Sequence[str | None], other: Sequence[str | None]) -> dict[str, Any]:
    """Compares two ways of asking the same judge, over the pairs that both have a label for.

    Returns:
        `agreement` and `kappa` with intervals, the table of labels, and the number of pairs in it.
    """
    both = [
        (pair.cluster, a, b) for pair, a, b in zip(pairs, one, other, strict=True) if a is not None and b is not None
    ]
    view = THREE_WAY if THREE_WAY.holds(label for labels in both for label in labels[1:]) else TWO_WAY
    classes = view.classes
    reference, second = [view.of(a) for _, a, _ in both], [view.of(b) for _, _, b in both]
    clusters = [cluster for cluster, _, _ in both]
    table = agreement.confusion_matrix(reference, second, classes=classes)
    return {
        "pairs": len(both),
        "agreement": as_json(agreement.accuracy_interval(reference, second, clusters=clusters)),
        "kappa": as_json(agreement.cohen_interval(reference, second, classes=classes, clusters=clusters)),
        "classes": list(classes),
        "table": table[:, : len(classes)].tolist(),
    }


def _compared(pairs: Sequence[CheckPair], labels: Sequence[str | None], view: View) -> dict[str, Any]:
    """The judge against the label of people."""
    decided = [(pair, label) for pair, label in zip(pairs, labels, strict=True) if pair.gold is not None]
    gold = [view.of(pair.gold) for pair, _ in decided if pair.gold is not None]
    given = _merged([label for _, label in decided], view)
    clusters = [pair.cluster for pair, _ in decided]
    table = agreement.confusion_matrix(gold, given, classes=view.classes)
    right = [float(a == b) for a, b in zip(gold, given, strict=True) if b is not None]
    low, high = bounds(right, len(gold))
    compared: dict[str, Any] = {
        "accuracy": as_json(agreement.accuracy_interval(gold, given, clusters=clusters)),
        "bounds": [_json(low), _json(high)],
        "kappa": as_json(agreement.cohen_interval(gold, given, classes=view.classes, clusters=clusters)),
        "classes": {
            name: {key: _json(value) for key, value in asdict(figures).items()}
            | {
                "recall_interval": _hits(gold, given, clusters, among=gold, name=name),
                "precision_interval": _hits(gold, given, clusters, among=given, name=name),
            }
            for name, figures in agreement.class_figures(table, view.classes).items()
        },
        "confusion": {"rows": list(view.classes), "columns": [*view.classes, "unscored"], "counts": table.tolist()},
    }
    if _rated(pairs):
        compared["with_people"] = _with_people(pairs, _merged(labels, view), view)
    return compared


def _average(
    pairs: Sequence[CheckPair], given: Sequence[str | None], view: View, groups: Sequence[str]
) -> dict[str, Any]:
    """Mean of groups' accuracies, each group weighing the same; not defined where one has no pair with a verdict."""
    columns: list[list[float]] = []
    for group in groups:
        counted = [
            pair.group == group and pair.gold is not None and label is not None
            for pair, label in zip(pairs, given, strict=True)
        ]
        right = [
            is_in and pair.gold is not None and label is not None and view.of(pair.gold) == view.of(label)
            for is_in, pair, label in zip(counted, pairs, given, strict=True)
        ]
        columns += [list(map(float, right)), list(map(float, counted))]
    found = bootstrap_statistic(columns, _mean_share, clusters=[pair.cluster for pair in pairs])
    return {"groups": list(groups), **as_json(found)}


def _mean_share(*sums: npt.ArrayLike) -> npt.ArrayLike:
    """Mean over groups of right over counted."""
    table = np.asarray(sums, dtype=np.float64)
    return np.asarray((table[0::2] / table[1::2]).mean(axis=0))


def _hits(
    gold: Sequence[str], given: Sequence[str | None], clusters: Sequence[str], *, among: Sequence[str | None], name: str
) -> list[float | None]:
    """The interval of how often both say the same, among the pairs that one of them gives a class."""
    chosen = [number for number, label in enumerate(among) if label == name]
    estimate = agreement.accuracy_interval(
        [gold[number] for number in chosen],
        [given[number] for number in chosen],
        clusters=[clusters[number] for number in chosen],
    )
    return [_json(estimate.ci_low), _json(estimate.ci_high)]


def _with_people(pairs: Sequence[CheckPair], given: Sequence[str | None], view: View) -> dict[str, Any]:
    """The judge in a person's place: beside each of them, and against the others when one is left out."""
    ratings = _ratings(pairs, view)
    left_out = agreement.leave_one_out(ratings)
    each = [_share(given, [labels[rater] for labels in ratings]) for rater in range(len(ratings[0]))]
    against = [_share(given, references) for references in left_out.references]
    return {
        "mean_agreement": _json(math.fsum(each) / len(each)),
        "agreement": [_json(value) for value in each],
        "leave_one_out_mean": _json(math.fsum(against) / len(against)),
        "leave_one_out": [_json(value) for value in against],
    }


def _people(pairs: Sequence[CheckPair], view: View) -> dict[str, Any]:
    """How people agree among themselves: the ceiling."""
    ratings = _ratings(pairs, view)
    counts = agreement.rating_counts(ratings, classes=view.classes)
    clusters = [pair.cluster for pair in pairs]
    left_out = agreement.leave_one_out(ratings)
    return {
        "raters": len(ratings[0]),
        "unanimous": sum(len(set(labels)) == 1 for labels in ratings),
        "majority": dict(Counter(view.of(pair.gold) for pair in pairs if pair.gold is not None)),
        "pairwise_agreement": as_json(agreement.pairwise_interval(counts, clusters=clusters)),
        "fleiss_kappa": as_json(agreement.fleiss_interval(counts, clusters=clusters)),
        "leave_one_out": {
            "mean": _json(left_out.mean),
            "accuracy": [_json(value) for value in left_out.accuracy],
            "pairs": list(left_out.counted),
            "no_majority": [len(ratings) - counted for counted in left_out.counted],
        },
    }


def _raters(
    pairs: Sequence[CheckPair], given: Sequence[str | None], view: View, names: Sequence[str]
) -> dict[str, Any]:
    """Each rater beside the judge and beside each other, over the pairs that both sides labelled."""
    ratings = [pair.ratings for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    beside = raters.with_raters(_merged(given, view), ratings, classes=view.classes, clusters=clusters)
    among = raters.among_raters(ratings, classes=view.classes, clusters=clusters)
    return {
        "names": list(names),
        "labelled": [sum(labels[rater] is not None for labels in ratings) for rater in range(len(names))],
        "no_majority": sum(pair.gold is None for pair in pairs),
        "judge": [{"rater": name, **_agreed(found)} for name, found in zip(names, beside, strict=True)],
        "among": [{"raters": [names[one], names[other]], **_agreed(found)} for (one, other), found in among.items()],
    }


def _agreed(found: raters.Agreement) -> dict[str, Any]:
    return {"agreement": as_json(found.agreement), "kappa": as_json(found.kappa)}


def _rated(pairs: Sequence[CheckPair]) -> bool:
    """Whether the same people, two or more, labelled every pair."""
    return bool(pairs) and all(len(pair.ratings) > 1 and None not in pair.ratings for pair in pairs)


def _share(given: Sequence[str | None], wanted: Iterable[str | None]) -> float:
    """Share of equal labels where both sides have one."""
    equal = [a == b for a, b in zip(given, wanted, strict=True) if a is not None and b is not None]
    return sum(equal) / len(equal) if equal else math.nan


def _ratings(pairs: Sequence[CheckPair], view: View) -> list[tuple[str, ...]]:
    return [tuple(view.of(label) for label in pair.ratings if label is not None) for pair in pairs]


def _merged(labels: Sequence[str | None], view: View) -> list[str | None]:
    return [None if label is None else view.of(label) for label in labels]


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value
