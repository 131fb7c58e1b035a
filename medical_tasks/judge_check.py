"""How well a judge's labels fit labels of people: the figures of `medical-tasks judge-check`.

Pairs are labelled entailment, neutral or contradiction; beside the three classes stand the figures for two, entailed or not,
which is all that some judges know. A pair without a verdict counts in no share: it is in the coverage, in a column of its own
in the confusion matrix, and in the bounds of the accuracy.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from medical_tasks.judges.base import Label, Unscored
from medical_tasks.scoring import agreement
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.intervals import bounds

__all__ = ["THREE", "TWO", "CheckPair", "check_figures", "labels_of", "same_labels", "subset"]

THREE: Final[tuple[Label, ...]] = ("entailment", "neutral", "contradiction")
TWO: Final[tuple[Label, ...]] = ("entailment", "not_entailment")


@dataclass(frozen=True, kw_only=True)
class CheckPair:
    """A pair with the label of people.

    Attributes:
        id: of the pair.
        gold: entailment, neutral or contradiction.
        cluster: what it shares with others (the answer, the premise).
        ratings: the label of each person where several labelled it, always in the same order.
        group: part of the set that is reported on its own; "" for none.
    """

    id: str
    gold: Label
    cluster: str
    ratings: tuple[Label, ...] = ()
    group: str = ""


def subset(pairs: Sequence[CheckPair], most: int | None) -> list[CheckPair]:
    """Takes the pairs whose hashed ids are smallest: the same ones whatever the order, and nested for growing numbers."""
    if most is None or most >= len(pairs):
        return list(pairs)
    ranked = sorted(pairs, key=lambda pair: hashlib.sha256(pair.id.encode("utf-8", "surrogatepass")).digest())
    kept = {pair.id for pair in ranked[:most]}
    return [pair for pair in pairs if pair.id in kept]


def labels_of(answers: Sequence[Label | Unscored]) -> tuple[list[Label | None], dict[str, int]]:
    """Tells labels from what is none.

    Returns:
        The label of each pair, None for those without; and how many there are without, by reason.
    """
    reasons = Counter(answer.reason for answer in answers if isinstance(answer, Unscored))
    return [None if isinstance(answer, Unscored) else answer for answer in answers], dict(reasons.most_common())


def check_figures(pairs: Sequence[CheckPair], given: Sequence[Label | None], *, ways: int = 3) -> dict[str, Any]:
    """Computes everything that is reported of a judge's labels.

    Args:
        pairs: what was asked.
        given: the judge's label of each pair, None where it gave none.
        ways: 3 when the judge was asked for three classes, 2 when only whether the premise entails the hypothesis.

    Returns:
        JSON values: `three_way` (None for a judge of two classes), `two_way`, `people` (None where nobody labelled a pair
        twice) and, with several groups, `groups`.
    """
    knows_two = ways == 2 or any(label == "not_entailment" for label in given)
    figures: dict[str, Any] = {
        "three_way": None if knows_two else _compared(pairs, given, THREE),
        "two_way": _compared(pairs, given, TWO),
        "people": None,
    }
    if pairs and all(pair.ratings for pair in pairs):
        figures["people"] = {"three_way": _people(pairs, THREE), "two_way": _people(pairs, TWO)}
    groups = sorted({pair.group for pair in pairs})
    if len(groups) > 1:
        figures["groups"] = {
            group: check_figures(
                [pair for pair in pairs if pair.group == group],
                [label for pair, label in zip(pairs, given, strict=True) if pair.group == group],
                ways=2 if knows_two else 3,
            )
            for group in groups
        }
    return figures


def same_labels(
    pairs: Sequence[CheckPair], one: Sequence[Label | None], other: Sequence[Label | None]
) -> dict[str, Any]:
    """Compares two ways of asking the same judge, over the pairs that both have a label for.

    Returns:
        `agreement` and `kappa` with intervals, the table of labels, and the number of pairs in it.
    """
    both = [
        (pair.cluster, a, b) for pair, a, b in zip(pairs, one, other, strict=True) if a is not None and b is not None
    ]
    classes = TWO if any("not_entailment" in labels for labels in both) else THREE
    first, second = _merged([a for _, a, _ in both], classes), _merged([b for _, _, b in both], classes)
    clusters = [cluster for cluster, _, _ in both]
    reference = [label for label in first if label is not None]
    table = agreement.confusion_matrix(reference, second, classes=classes)
    return {
        "pairs": len(both),
        "agreement": as_json(agreement.accuracy_interval(reference, second, clusters=clusters)),
        "kappa": as_json(agreement.cohen_interval(reference, second, classes=classes, clusters=clusters)),
        "classes": list(classes),
        "table": table[:, : len(classes)].tolist(),
    }


def _compared(pairs: Sequence[CheckPair], labels: Sequence[Label | None], classes: tuple[Label, ...]) -> dict[str, Any]:
    """The judge against the label of people."""
    gold, given = _gold(pairs, classes), _merged(labels, classes)
    clusters = [pair.cluster for pair in pairs]
    table = agreement.confusion_matrix(gold, given, classes=classes)
    right = [float(a == b) for a, b in zip(gold, given, strict=True) if b is not None]
    low, high = bounds(right, len(gold))
    compared: dict[str, Any] = {
        "accuracy": as_json(agreement.accuracy_interval(gold, given, clusters=clusters)),
        "bounds": [_json(low), _json(high)],
        "kappa": as_json(agreement.cohen_interval(gold, given, classes=classes, clusters=clusters)),
        "classes": {
            name: {key: _json(value) for key, value in asdict(figures).items()}
            | {
                "recall_interval": _hits(gold, given, clusters, among=gold, name=name),
                "precision_interval": _hits(gold, given, clusters, among=given, name=name),
            }
            for name, figures in agreement.class_figures(table, classes).items()
        },
        "confusion": {"rows": list(classes), "columns": [*classes, "unscored"], "counts": table.tolist()},
    }
    if pairs and all(pair.ratings for pair in pairs):
        compared["with_people"] = _with_people(pairs, given, classes)
    return compared


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


def _with_people(pairs: Sequence[CheckPair], given: Sequence[str | None], classes: tuple[Label, ...]) -> dict[str, Any]:
    """The judge in a person's place: beside each of them, and against the others when one is left out."""
    ratings = _ratings(pairs, classes)
    left_out = agreement.leave_one_out(ratings)
    each = [_share(given, [labels[rater] for labels in ratings]) for rater in range(len(ratings[0]))]
    against = [_share(given, references) for references in left_out.references]
    return {
        "mean_agreement": _json(math.fsum(each) / len(each)),
        "agreement": [_json(value) for value in each],
        "leave_one_out_mean": _json(math.fsum(against) / len(against)),
        "leave_one_out": [_json(value) for value in against],
    }


def _people(pairs: Sequence[CheckPair], classes: tuple[Label, ...]) -> dict[str, Any]:
    """How people agree among themselves: the ceiling."""
    ratings = _ratings(pairs, classes)
    counts = agreement.rating_counts(ratings, classes=classes)
    clusters = [pair.cluster for pair in pairs]
    left_out = agreement.leave_one_out(ratings)
    return {
        "raters": len(ratings[0]),
        "unanimous": sum(len(set(labels)) == 1 for labels in ratings),
        "majority": dict(Counter(_gold(pairs, classes))),
        "pairwise_agreement": as_json(agreement.pairwise_interval(counts, clusters=clusters)),
        "fleiss_kappa": as_json(agreement.fleiss_interval(counts, clusters=clusters)),
        "leave_one_out": {
            "mean": _json(left_out.mean),
            "accuracy": [_json(value) for value in left_out.accuracy],
            "pairs": list(left_out.counted),
            "no_majority": [len(ratings) - counted for counted in left_out.counted],
        },
    }


def _share(given: Sequence[str | None], wanted: Iterable[str | None]) -> float:
    """Share of equal labels where both sides have one."""
    equal = [a == b for a, b in zip(given, wanted, strict=True) if a is not None and b is not None]
    return sum(equal) / len(equal) if equal else math.nan


def _gold(pairs: Sequence[CheckPair], classes: tuple[Label, ...]) -> list[str]:
    return [_as(pair.gold, classes) for pair in pairs]


def _ratings(pairs: Sequence[CheckPair], classes: tuple[Label, ...]) -> list[tuple[str, ...]]:
    return [tuple(_as(label, classes) for label in pair.ratings) for pair in pairs]


def _merged(labels: Sequence[Label | None], classes: tuple[Label, ...]) -> list[str | None]:
    return [None if label is None else _as(label, classes) for label in labels]


def _as(label: Label, classes: tuple[Label, ...]) -> str:
    return label if label in classes else "not_entailment"


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value
