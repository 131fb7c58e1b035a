"""Agreement of a judge's labels with people's: the figures of `medical-tasks judge-check`, and its printed page.

A pair without a verdict counts in no share. A pair without a majority of people counts
only in the figures of each rater.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from medical_tasks.io.files import read_text
from medical_tasks.io.table import align, decimals, figure
from medical_tasks.judges.base import Unscored
from medical_tasks.judges.checks import NLI, VIEWS, View
from medical_tasks.models.usage import usage_said
from medical_tasks.scoring import agreement
from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.correction import tells_apart
from medical_tasks.scoring.estimates import Floats, as_json
from medical_tasks.scoring.intervals import bounds

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True, kw_only=True)
class CheckPair:
    """A pair labelled by people."""

    id: str
    gold: str | None  # people's label; None where they are evenly divided
    cluster: str  # what it shares with others (the answer, the premise, the patient)
    # each person's label if several labelled the set, always in the same order; None
    # from those who did not label this pair
    ratings: tuple[str | None, ...] = ()
    group: str = ""  # part of the set with figures of its own; "" for none
    model: str = ""  # the model that wrote the answer; "" if unknown
    words: int = 0  # length of that answer
    # the groups of its question, by the task's names
    groups: Mapping[str, str] = field(default_factory=dict)


def subset(pairs: Sequence[CheckPair], most: int | None) -> list[CheckPair]:
    """Takes the pairs with the smallest hashed ids.

    The choice does not depend on the order of the pairs, and a larger subset contains
    every smaller one.
    """
    if most is None or most >= len(pairs):
        return list(pairs)

    ranked = sorted(
        pairs,
        key=lambda pair: hashlib.sha256(
            pair.id.encode("utf-8", "surrogatepass")
        ).digest(),
    )
    chosen = {pair.id for pair in ranked[:most]}
    return [pair for pair in pairs if pair.id in chosen]


def labels_of(
    outcomes: Sequence[str | Unscored],
) -> tuple[list[str | None], dict[str, int]]:
    """Separates the labels, None where one is missing, from the reasons, counted."""
    reasons = Counter(
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    )
    labels = [
        None if isinstance(outcome, Unscored) else outcome for outcome in outcomes
    ]
    return labels, dict(reasons.most_common())


def pair_labels(
    pairs: Sequence[CheckPair], labels: Sequence[str | None]
) -> dict[str, Sequence[object]]:
    """The columns of `check.json`: people's and the judge's labels, clusters, and the answers' properties.

    A cluster may be a text or a patient, so that a number stands for it. An answer's
    properties are its length, its model and the groups of its question.
    """
    numbers = {
        name: number
        for number, name in enumerate(dict.fromkeys(pair.cluster for pair in pairs))
    }
    clusters = [numbers[pair.cluster] for pair in pairs]

    return {
        "gold": [pair.gold for pair in pairs],
        "judge": list(labels),
        "cluster": clusters,
        "words": [pair.words for pair in pairs],
        "model": [pair.model for pair in pairs],
        **{
            f"group_{by}": [pair.groups[by] for pair in pairs]
            for by in (pairs[0].groups if pairs else ())
        },
    }


def check_figures(
    pairs: Sequence[CheckPair],
    labels: Sequence[str | None],
    *,
    ways: int = 3,
    views: Sequence[View] = NLI,
    names: Sequence[str] = (),
    averages: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Computes every reported figure of a judge's labels, as JSON values.

    Args:
        pairs: the labelled pairs.
        labels: the judge's label of each pair, None where it gave no verdict.
        ways: the largest number of classes that the judge was asked to distinguish.
        views: the classes to report. A view has no figures (None) if the judge did not
            use its classes.
        names: names of the raters, if the judge is compared with each.
        averages: names of means over groups, with their groups.

    Returns:
        The figures by view and kind; `people` is None unless the same two or more
        people labelled every pair.
    """
    usable = [
        view for view in views if len(view.classes) <= ways and view.holds(labels)
    ]
    figures: dict[str, Any] = dict.fromkeys(view.key for view in views)
    figures |= {view.key: _compared(pairs, labels, view) for view in usable}
    figures["people"] = _people(pairs, views)
    if usable and pairs and pairs[0].groups:
        figures["within"] = _within(pairs, labels, usable[0])

    if names:
        figures["raters"] = _raters(pairs, labels, views[-1], names)

    groups = sorted({pair.group for pair in pairs})
    if len(groups) > 1:
        most = max((len(view.classes) for view in usable), default=0)
        figures["groups"] = {}
        for group in groups:
            own_pairs, own_labels = _of_group(pairs, labels, group)
            figures["groups"][group] = check_figures(
                own_pairs, own_labels, ways=most, views=views, names=names
            )

    if averages:
        figures["averages"] = {
            view.key: _averages(pairs, labels, view, averages) for view in usable
        }

    return figures


def _of_group(
    pairs: Sequence[CheckPair], labels: Sequence[str | None], group: str
) -> tuple[list[CheckPair], list[str | None]]:
    """The pairs of a group, and the judge's labels of them."""
    inside = [pair.group == group for pair in pairs]
    return list(compress(pairs, inside)), list(compress(labels, inside))


def same_labels(
    pairs: Sequence[CheckPair],
    first: Sequence[str | None],
    second: Sequence[str | None],
    views: Sequence[View] = NLI,
) -> dict[str, Any]:
    """Compares two ways of asking the same judge, over the pairs that have a label from both."""
    view = next(view for view in views if view.holds([*first, *second]))
    columns = [_merged(labels, view) for labels in (first, second)]
    estimates = agreement.agreement_of(
        *columns, classes=view.classes, clusters=[pair.cluster for pair in pairs]
    )
    both = Counter(zip(*columns, strict=True))

    return {
        "pairs": estimates.agreement.n,
        **_agreed(estimates),
        "classes": list(view.classes),
        "table": [[both[a, b] for b in view.classes] for a in view.classes],
    }


def choice_figures(
    pairs: Sequence[CheckPair],
    labels: Sequence[str | None],
    view: View,
    *,
    judge: str,
    answers: int,
    whole: bool,
) -> dict[str, Any]:
    """The figures, beside agreement, by which a judge is chosen; they count verdicts of the view's first class.

    `lean` is how much more often than people the judge gives that verdict on longer
    answers (or on those by models of its family), less the same on the others. `apart`
    is the true difference of two models that it detects with so many `answers` of each,
    and that people's own labels would detect.

    Args:
        pairs: the labelled pairs.
        labels: the judge's labels.
        view: the classes.
        judge: name of the judge.
        answers: number of answers of each model.
        whole: whether the pairs of a cluster are about one answer.
    """
    labelled = [
        (pair, pair.gold, label)
        for pair, label in zip(pairs, labels, strict=True)
        if pair.gold and label
    ]
    kept = [pair for pair, *_ in labelled]
    human, judged = (
        np.array([view.of(label) == view.classes[0] for label in column], dtype=float)
        for column in ([gold for _, gold, _ in labelled], [row[2] for row in labelled])
    )
    clusters = [pair.cluster for pair in kept]
    names = clusters if whole else [pair.id for pair in kept]
    youden, difference = tells_apart(human, judged, names, answers, clusters=clusters)
    people = tells_apart(human, human, names, answers, clusters=clusters)[1].value

    return {
        "length": _by_length(kept, human, judged),
        "own_model": _by_family(kept, human, judged, judge),
        "apart": {
            "answers": answers,
            "youden": as_json(youden),
            "difference": as_json(difference),
            "people": _json(people),
        },
    }


def _by_length(
    pairs: Sequence[CheckPair], human: Floats, judged: Floats
) -> dict[str, object]:
    """The judge's figures on answers longer than the median, and on the others."""
    words = [pair.words for pair in pairs]
    middle = np.median(words or [0])
    longer = np.array(words) > middle
    shares = {"accuracy": human == judged, "judge": judged, "people": human}

    def means(chosen: npt.NDArray[np.bool_]) -> dict[str, float] | None:
        if not chosen.any():
            return None

        return {name: float(values[chosen].mean()) for name, values in shares.items()}

    return {
        "median_words": float(middle),
        "short": means(~longer),
        "long": means(longer),
        **_lean(pairs, human, judged, longer, "the answers are all of one length"),
    }


def _by_family(
    pairs: Sequence[CheckPair], human: Floats, judged: Floats, judge: str
) -> dict[str, object]:
    """The judge's lean towards answers by models of its own family."""
    family = np.array(
        [same_family(judge, pair.model) if pair.model else math.nan for pair in pairs]
    )
    models = {pair.model for pair in pairs if same_family(judge, pair.model)}
    otherwise = "the set does not name both models of its family and others"
    return {
        "models": sorted(models),
        **_lean(pairs, human, judged, family, otherwise),
    }


def _lean(
    pairs: Sequence[CheckPair],
    human: Floats,
    judged: Floats,
    inside: npt.ArrayLike,
    otherwise: str,
) -> dict[str, object]:
    """How far the judge exceeds people inside a part of the pairs, less the same outside.

    Args:
        pairs: the pairs, with their clusters.
        human: 1 where people chose the view's first class, else 0.
        judged: the same for the judge.
        inside: 1 for pairs of the part, 0 for others, `nan` for those of neither.
        otherwise: the reason to report if either side is empty.
    """
    here = np.asarray(inside, dtype=float)
    sums = [(judged - human) * here, here, (judged - human) * (1.0 - here), 1.0 - here]
    gap = bootstrap_statistic(
        sums,
        lambda a, n, b, m: a / n - b / m,
        clusters=[pair.cluster for pair in pairs],
        limits=(-2.0, 2.0),
    )
    estimate = as_json(gap)
    if estimate["value"] is None:
        return {"lean": estimate, "reason": otherwise}

    return {"lean": estimate}


def same_family(model: str, other: str) -> bool:
    """Whether the first word of one model's name is a word of the other's: `gpt-4o` and `gpt35`."""
    first, second = _name_words(model), _name_words(other)
    return bool(first and second) and (first[0] in second or second[0] in first)


def _name_words(model: str) -> list[str]:
    """The words of a model's name, without host and folders."""
    words = re.findall("[a-z]{3,}", model.rpartition("/")[2].lower())
    return [word for word in words if word not in ("model", "judge", "llm")]


def _compared(
    pairs: Sequence[CheckPair], labels: Sequence[str | None], view: View
) -> dict[str, object]:
    """Compares a judge's labels with people's in the classes of one view.

    A pair without a verdict counts in no share, but widens `bounds`: the accuracy if
    all missing verdicts were wrong, and if all were right.
    """
    decided = [
        (pair, label)
        for pair, label in zip(pairs, labels, strict=True)
        if pair.gold is not None
    ]
    gold = [view.of(pair.gold) for pair, _ in decided if pair.gold is not None]
    judged = _merged([label for _, label in decided], view)
    clusters = [pair.cluster for pair, _ in decided]
    table = agreement.confusion_matrix(gold, judged, classes=view.classes)
    right = [float(a == b) for a, b in zip(gold, judged, strict=True) if b is not None]
    low, high = bounds(right, len(gold))
    compared: dict[str, object] = {
        "accuracy": as_json(
            agreement.accuracy_interval(gold, judged, clusters=clusters)
        ),
        "bounds": [_json(low), _json(high)],
        "kappa": as_json(
            agreement.cohen_interval(
                gold, judged, classes=view.classes, clusters=clusters
            )
        ),
        "classes": {
            name: {key: _json(value) for key, value in shares.items()}
            | {
                "recall_interval": _hits(gold, judged, clusters, among=gold, name=name),
                "precision_interval": _hits(
                    gold, judged, clusters, among=judged, name=name
                ),
            }
            for name, shares in agreement.class_figures(table, view.classes).items()
        },
        "confusion": {
            "rows": list(view.classes),
            "columns": [*view.classes, "unscored"],
            "counts": table.tolist(),
        },
    }
    if _rated(pairs):
        compared["with_people"] = _with_people(pairs, labels, view)

    return compared


def _with_people(
    pairs: Sequence[CheckPair], labels: Sequence[str | None], view: View
) -> dict[str, object]:
    """How often the judge agrees with each person, and with the majority of the others.

    The second figure exists for people too: against two of three people, the judge and
    the third one have the same task. So a judge that reaches people's `leave_one_out`
    is as good as one of them.
    """
    ratings, judged = _ratings(pairs, view), _merged(labels, view)
    agreed = [_share(judged, person) for person in zip(*ratings, strict=True)]
    majorities = agreement.leave_one_out(ratings).references
    with_majority = [_share(judged, majority) for majority in majorities]

    return {
        "mean_agreement": _json(math.fsum(agreed) / len(agreed)),
        "agreement": [_json(value) for value in agreed],
        "leave_one_out_mean": _json(math.fsum(with_majority) / len(with_majority)),
        "leave_one_out": [_json(value) for value in with_majority],
    }


def _within(
    pairs: Sequence[CheckPair], labels: Sequence[str | None], view: View
) -> dict[str, dict[str, object]]:
    """The accuracy within each group of questions or labels.

    Example: of the claims that are not entailed, some are denied and some are not
    mentioned; within either, accuracy is how often the judge finds them not entailed.
    """
    decided = [
        (pair, label)
        for pair, label in zip(pairs, labels, strict=True)
        if pair.gold is not None
    ]
    accuracies: dict[str, dict[str, object]] = {}
    for by in pairs[0].groups:
        accuracies[by] = {}
        for group in sorted({pair.groups[by] for pair, _ in decided}):
            inside = [row for row in decided if row[0].groups[by] == group]
            gold = [view.of(str(pair.gold)) for pair, _ in inside]
            judged = _merged([label for _, label in inside], view)
            clusters = [pair.cluster for pair, _ in inside]
            accuracies[by][group] = as_json(
                agreement.accuracy_interval(gold, judged, clusters=clusters)
            )

    return accuracies


def _averages(
    pairs: Sequence[CheckPair],
    labels: Sequence[str | None],
    view: View,
    averages: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, object]]:
    """Means of groups' accuracies by name, each group weighing the same.

    A mean is not defined if one of its groups has no pair with a verdict.
    """
    right = [  # None where a pair does not count
        None
        if pair.gold is None or label is None
        else view.of(pair.gold) == view.of(label)
        for pair, label in zip(pairs, labels, strict=True)
    ]
    clusters = [pair.cluster for pair in pairs]
    means: dict[str, dict[str, object]] = {}
    for name, groups in averages.items():
        columns: list[list[float]] = []
        for group in groups:
            inside = [
                hit if pair.group == group else None
                for pair, hit in zip(pairs, right, strict=True)
            ]
            columns += [
                [float(hit or 0) for hit in inside],
                [float(hit is not None) for hit in inside],
            ]

        estimate = bootstrap_statistic(columns, _mean_share, clusters=clusters)
        means[name] = {"groups": list(groups), **as_json(estimate)}

    return means


def _mean_share(*sums: npt.ArrayLike) -> npt.ArrayLike:
    table = np.asarray(sums, dtype=np.float64)
    return np.asarray((table[0::2] / table[1::2]).mean(axis=0))


def _hits(
    gold: Sequence[str],
    judged: Sequence[str | None],
    clusters: Sequence[str],
    *,
    among: Sequence[str | None],
    name: str,
) -> list[float | None]:
    """The interval of agreement, among the pairs that one of the two gives a class."""
    chosen = [number for number, label in enumerate(among) if label == name]
    estimate = agreement.accuracy_interval(
        [gold[number] for number in chosen],
        [judged[number] for number in chosen],
        clusters=[clusters[number] for number in chosen],
    )
    return [_json(estimate.ci_low), _json(estimate.ci_high)]


def _people(
    pairs: Sequence[CheckPair], views: Sequence[View]
) -> dict[str, dict[str, object]] | None:
    """How well people agree by view; None unless the same people labelled every pair."""
    if not _rated(pairs):
        return None
    return {view.key: _people_in(view, pairs) for view in views}


def _people_in(view: View, pairs: Sequence[CheckPair]) -> dict[str, object]:
    """How well people agree with one another: the standard for a judge.

    `leave_one_out` compares each rater with the majority of the others. Without such a
    majority a pair does not count, and `no_majority` says how often.
    """
    ratings = _ratings(pairs, view)
    counts = agreement.rating_counts(ratings, classes=view.classes)
    clusters = [pair.cluster for pair in pairs]
    left_out = agreement.leave_one_out(ratings)

    return {
        "raters": len(ratings[0]),
        "unanimous": sum(len(set(labels)) == 1 for labels in ratings),
        "majority": dict(
            Counter(view.of(pair.gold) for pair in pairs if pair.gold is not None)
        ),
        "pairwise_agreement": as_json(
            agreement.pairwise_interval(counts, clusters=clusters)
        ),
        "fleiss_kappa": as_json(agreement.fleiss_interval(counts, clusters=clusters)),
        "leave_one_out": {
            "mean": _json(left_out.mean),
            "accuracy": [_json(value) for value in left_out.accuracy],
            "pairs": list(left_out.counted),
            "no_majority": [len(ratings) - counted for counted in left_out.counted],
        },
    }


def _raters(
    pairs: Sequence[CheckPair],
    labels: Sequence[str | None],
    view: View,
    names: Sequence[str],
) -> dict[str, object]:
    """How well the judge agrees with each rater, and raters with one another."""
    ratings = [pair.ratings for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    beside = agreement.with_raters(
        _merged(labels, view), ratings, classes=view.classes, clusters=clusters
    )
    among = agreement.among_raters(ratings, classes=view.classes, clusters=clusters)

    return {
        "names": list(names),
        "labelled": [
            sum(row[rater] is not None for row in ratings)
            for rater in range(len(names))
        ],
        "no_majority": sum(pair.gold is None for pair in pairs),
        "judge": [
            {"rater": name, **_agreed(estimates)}
            for name, estimates in zip(names, beside, strict=True)
        ],
        "among": [
            {"raters": [names[first], names[second]], **_agreed(estimates)}
            for (first, second), estimates in among.items()
        ],
    }


def _agreed(estimates: agreement.Agreement) -> dict[str, object]:
    return {
        "agreement": as_json(estimates.agreement),
        "kappa": as_json(estimates.kappa),
    }


def _rated(pairs: Sequence[CheckPair]) -> bool:
    """Whether the same people, two or more, labelled every pair."""
    return bool(pairs) and all(
        len(pair.ratings) > 1 and None not in pair.ratings for pair in pairs
    )


def _share(judged: Sequence[str | None], reference: Iterable[str | None]) -> float:
    equal = [
        a == b
        for a, b in zip(judged, reference, strict=True)
        if a is not None and b is not None
    ]
    return sum(equal) / len(equal) if equal else math.nan


def _ratings(pairs: Sequence[CheckPair], view: View) -> list[tuple[str, ...]]:
    return [
        tuple(view.of(label) for label in pair.ratings if label is not None)
        for pair in pairs
    ]


def _merged(labels: Sequence[str | None], view: View) -> list[str | None]:
    return [None if label is None else view.of(label) for label in labels]


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


def render_check(check: Mapping[str, Any]) -> str:
    """Formats the content of `check.json` as text."""
    figures = {
        **dict.fromkeys(("groups", "averages", "raters", "within")),
        **check["figures"],
    }
    titles = {
        view.key: view.title for view in VIEWS if figures.get(view.key) is not None
    }
    values = {
        "titles": titles,
        "bounds": figures[next(iter(titles))]["bounds"],
        "single_vs_batched": None,
        "orders": None,
        "undecided": (figures["raters"] or {}).get("no_majority"),
        "left_out": check.get("rows_nobody_scored"),
    }
    return rendered("check.jinja", **{**values, **check, "figures": figures})


_BAR = "\x1f"  # replaces a bar in a name, which must not separate cells


class _Cells(str):
    """Several cells with bars between them."""


def rendered(template: str, **values: object) -> str:
    """Renders a text template.

    In `{% filter table %}` a line is a row, and `|` separates its cells.
    """
    text = _environment().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").replace(_BAR, "|")


@cache
def _environment() -> Environment:
    """The environment of the text templates; a bar in a value cannot end a cell."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - it makes no HTML
        loader=FunctionLoader(lambda name: read_text(Path(__file__).with_name(name))),
        finalize=lambda value: (
            value if isinstance(value, _Cells) else str(value).replace("|", _BAR)
        ),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "both": lambda estimates: _Cells("|".join(_both(estimates))),
        "count": "{:,}".format,
        "decimals": decimals,
        "ends": lambda ends: " to ".join(dict.fromkeys(map(decimals, ends))),
        "figure": lambda estimate: _Cells("|".join(figure(estimate))),
        "interval": lambda estimate: figure(estimate)[1],
        "points": lambda value, form=".1f": decimals(
            None if value is None else 100 * value, form
        ),
        "table": _table,
        "used": usage_said,
    }

    return environment


def _table(text: str) -> str:
    header, *rows = [line.split("|") for line in text.split("\n") if line]
    return _Cells("\n".join(align(header, rows)) + "\n")


def _both(estimates: Mapping[str, Mapping[str, float | None]]) -> tuple[str, ...]:
    """Cells of an agreement and a kappa on the same pairs."""
    value, interval, n = figure(estimates["agreement"])
    return value, interval, *figure(estimates["kappa"])[:2], n
