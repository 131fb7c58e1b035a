"""How well a judge's labels agree with people's: the figures of `medical-tasks judge-check`, and the page that it prints.

A pair without a verdict counts in no share; one without a majority of people is in the
figures of each rater alone.
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
    """A pair with the label of people."""

    id: str
    gold: str | None  # the label it should get; None where people are evenly divided
    cluster: str  # what it shares with others (the answer, the premise, the patient)
    # the label of each person where several labelled it, always in the same order; None
    # from those who did not
    ratings: tuple[str | None, ...] = ()
    group: str = ""  # part of the set that is reported on its own; "" for none
    model: str = ""  # whose answer it is about; "" where nobody says
    words: int = 0  # how long that answer is
    # of its question, by the task's names
    groups: Mapping[str, str] = field(default_factory=dict)


def subset(pairs: Sequence[CheckPair], most: int | None) -> list[CheckPair]:
    """Takes the pairs whose hashed ids are smallest.

    The same ones whatever the order, and nested for growing numbers.
    """
    if most is None or most >= len(pairs):
        return list(pairs)

    ranked = sorted(
        pairs,
        key=lambda pair: hashlib.sha256(
            pair.id.encode("utf-8", "surrogatepass")
        ).digest(),
    )
    kept = {pair.id for pair in ranked[:most]}
    return [pair for pair in pairs if pair.id in kept]


def labels_of(
    answers: Sequence[str | Unscored],
) -> tuple[list[str | None], dict[str, int]]:
    """Separates labels (None where there is none) from the reasons for missing ones, which are counted."""
    reasons = Counter(
        answer.reason for answer in answers if isinstance(answer, Unscored)
    )
    return [
        None if isinstance(answer, Unscored) else answer for answer in answers
    ], dict(reasons.most_common())


def pair_labels(
    pairs: Sequence[CheckPair], given: Sequence[str | None]
) -> dict[str, Sequence[object]]:
    """What each pair is by people and by the judge, a number for its cluster, which may be a text or a patient, and its answer.

    Of the answer there are its length, the model it is by, and the groups of its
    question.
    """
    numbers = {
        name: number
        for number, name in enumerate(dict.fromkeys(pair.cluster for pair in pairs))
    }
    clusters = [numbers[pair.cluster] for pair in pairs]

    return {
        "gold": [pair.gold for pair in pairs],
        "judge": list(given),
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
    given: Sequence[str | None],
    *,
    ways: int = 3,
    views: Sequence[View] = NLI,
    names: Sequence[str] = (),
    averages: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Computes everything that is reported of a judge's labels, as JSON values.

    Each view has its figures (None for classes that the judge does not know); `people`
    is None unless the same two or more people labelled every pair.
    """
    known = [view for view in views if len(view.classes) <= ways and view.holds(given)]
    figures: dict[str, Any] = {
        view.key: _compared(pairs, given, view) if view in known else None
        for view in views
    }
    figures["people"] = (
        {view.key: _people(pairs, view) for view in views} if _rated(pairs) else None
    )
    if known and pairs and pairs[0].groups:
        figures["within"] = {
            by: _within(pairs, given, known[0], by) for by in pairs[0].groups
        }

    if names:
        figures["raters"] = _raters(pairs, given, views[-1], names)

    groups = sorted({pair.group for pair in pairs})
    if len(groups) > 1:
        most = max((len(view.classes) for view in known), default=0)
        figures["groups"] = {
            group: check_figures(
                *_of_group(pairs, given, group), ways=most, views=views, names=names
            )
            for group in groups
        }

    if averages:
        figures["averages"] = {
            view.key: {
                name: _average(pairs, given, view, groups)
                for name, groups in averages.items()
            }
            for view in known
        }

    return figures


def _of_group(
    pairs: Sequence[CheckPair], given: Sequence[str | None], group: str
) -> tuple[list[CheckPair], list[str | None]]:
    """The pairs of a part of the set, and the judge's labels of them."""
    inside = [pair.group == group for pair in pairs]
    return list(compress(pairs, inside)), list(compress(given, inside))


def same_labels(
    pairs: Sequence[CheckPair],
    one: Sequence[str | None],
    other: Sequence[str | None],
    views: Sequence[View] = NLI,
) -> dict[str, Any]:
    """Compares two ways of asking the same judge, over the pairs that have a label from both."""
    view = next(view for view in views if view.holds([*one, *other]))
    columns, clusters = (
        [_merged(labels, view) for labels in (one, other)],
        [pair.cluster for pair in pairs],
    )
    found = agreement.agreement_of(*columns, classes=view.classes, clusters=clusters)
    both = Counter(zip(*columns, strict=True))

    return {
        "pairs": found.agreement.n,
        **_agreed(found),
        "classes": list(view.classes),
        "table": [[both[a, b] for b in view.classes] for a in view.classes],
    }


def choice_figures(
    pairs: Sequence[CheckPair],
    given: Sequence[str | None],
    view: View,
    *,
    judge: str,
    answers: int,
    whole: bool,
) -> dict[str, Any]:
    """What a judge is chosen by beside its agreement, by verdicts of the view's first class.

    `lean`: how far it is ahead of people in such verdicts on longer answers, or on
    those by models of its family, less how far it is ahead on the others. `apart`: what
    true difference of two models it detects by so many `answers` of each, and what
    people's own labels would; `whole`: the pairs of a cluster are about one such
    answer.
    """
    kept = [
        (pair, pair.gold, label)
        for pair, label in zip(pairs, given, strict=True)
        if pair.gold and label
    ]
    true, said = (
        np.array([view.of(str(row[k])) == view.classes[0] for row in kept], dtype=float)
        for k in (1, 2)
    )
    labelled = [pair for pair, *_ in kept]
    clusters = [pair.cluster for pair in labelled]
    names = clusters if whole else [pair.id for pair in labelled]
    youden, difference = tells_apart(true, said, names, answers, clusters=clusters)
    people = tells_apart(true, true, names, answers, clusters=clusters)[1].value

    return {
        "length": _by_length(labelled, true, said),
        "own_model": _by_family(labelled, true, said, judge),
        "apart": {
            "answers": answers,
            "youden": as_json(youden),
            "difference": as_json(difference),
            "people": _json(people),
        },
    }


def _by_length(
    pairs: Sequence[CheckPair], true: Floats, said: Floats
) -> dict[str, object]:
    """How the judge fares on answers that are longer than most, and on the others."""
    words = [pair.words for pair in pairs]
    middle = np.median(words or [0])
    longer = np.array(words) > middle
    shares = {"accuracy": true == said, "judge": said, "people": true}

    def means(chosen: npt.NDArray[np.bool_]) -> dict[str, float] | None:
        if not chosen.any():
            return None

        return {name: float(values[chosen].mean()) for name, values in shares.items()}

    return {
        "median_words": float(middle),
        "short": means(~longer),
        "long": means(longer),
        **_lean(pairs, true, said, longer, "the answers are all of one length"),
    }


def _by_family(
    pairs: Sequence[CheckPair], true: Floats, said: Floats, judge: str
) -> dict[str, object]:
    """How the judge fares on answers by models of its own family, and on those by others."""
    family = np.array(
        [same_family(judge, pair.model) if pair.model else math.nan for pair in pairs]
    )
    models = {pair.model for pair in pairs if same_family(judge, pair.model)}
    otherwise = "the set does not name both models of its family and others"
    return {
        "models": sorted(models),
        **_lean(pairs, true, said, family, otherwise),
    }


def _lean(
    pairs: Sequence[CheckPair],
    true: Floats,
    said: Floats,
    inside: npt.ArrayLike,
    otherwise: str,
) -> dict[str, object]:
    """How far the judge is ahead of people inside of a part, less how far it is outside.

    Args:
        pairs: with their clusters.
        true: 1 where people say the view's first class, else 0.
        said: the same of the judge.
        inside: 1 for pairs of the part, 0 for others, `nan` for those of neither.
        otherwise: the reason where one of them is empty.
    """
    here = np.asarray(inside, dtype=float)
    sums = [(said - true) * here, here, (said - true) * (1.0 - here), 1.0 - here]
    gap = bootstrap_statistic(
        sums,
        lambda a, n, b, m: a / n - b / m,
        clusters=[pair.cluster for pair in pairs],
        limits=(-2.0, 2.0),
    )
    found = as_json(gap)
    if found["value"] is None:
        return {"lean": found, "reason": otherwise}

    return {"lean": found}


def same_family(one: str, other: str) -> bool:
    """Whether the first word in the name of one model, host and folders apart, stands in the other's: `gpt-4o` and `gpt35`."""
    found = (
        re.findall("[a-z]{3,}", name.rpartition("/")[2].lower())
        for name in (one, other)
    )
    first, second = (
        [word for word in words if word not in ("model", "judge", "llm")]
        for words in found
    )
    return bool(first and second) and (first[0] in second or second[0] in first)


def _compared(
    pairs: Sequence[CheckPair], labels: Sequence[str | None], view: View
) -> dict[str, object]:
    """A judge's labels beside people's in the classes of one view.

    A pair without a verdict counts in no share: it widens `bounds`, the accuracy that
    the judge would have if all its missing verdicts were wrong, or right.
    """
    decided = [
        (pair, label)
        for pair, label in zip(pairs, labels, strict=True)
        if pair.gold is not None
    ]
    gold = [view.of(pair.gold) for pair, _ in decided if pair.gold is not None]
    given = _merged([label for _, label in decided], view)
    clusters = [pair.cluster for pair, _ in decided]
    table = agreement.confusion_matrix(gold, given, classes=view.classes)
    right = [float(a == b) for a, b in zip(gold, given, strict=True) if b is not None]
    low, high = bounds(right, len(gold))
    compared: dict[str, object] = {
        "accuracy": as_json(
            agreement.accuracy_interval(gold, given, clusters=clusters)
        ),
        "bounds": [_json(low), _json(high)],
        "kappa": as_json(
            agreement.cohen_interval(
                gold, given, classes=view.classes, clusters=clusters
            )
        ),
        "classes": {
            name: {key: _json(value) for key, value in found.items()}
            | {
                "recall_interval": _hits(gold, given, clusters, among=gold, name=name),
                "precision_interval": _hits(
                    gold, given, clusters, among=given, name=name
                ),
            }
            for name, found in agreement.class_figures(table, view.classes).items()
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
    """How often the judge says what each person says, and what the majority of the others says.

    The second is what a person can be compared by too: with two of three people, the
    judge and the third one have the same task. So a judge that reaches people's
    `leave_one_out` is as good as one of them.
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
    pairs: Sequence[CheckPair], given: Sequence[str | None], view: View, by: str
) -> dict[str, object]:
    """The accuracy within each group of questions or labels.

    Example: of claims that are not entailed some are denied and some are not mentioned;
    within either, accuracy is how often the judge says so.
    """
    decided = [
        (pair, label)
        for pair, label in zip(pairs, given, strict=True)
        if pair.gold is not None
    ]
    found: dict[str, object] = {}
    for group in sorted({pair.groups[by] for pair, _ in decided}):
        inside = [each for each in decided if each[0].groups[by] == group]
        gold = [view.of(str(pair.gold)) for pair, _ in inside]
        labels = _merged([label for _, label in inside], view)
        clusters = [pair.cluster for pair, _ in inside]
        found[group] = as_json(
            agreement.accuracy_interval(gold, labels, clusters=clusters)
        )

    return found


def _average(
    pairs: Sequence[CheckPair],
    given: Sequence[str | None],
    view: View,
    groups: Sequence[str],
) -> dict[str, object]:
    """Mean of groups' accuracies, each group weighing the same.

    Not defined where one has no pair with a verdict.
    """
    right = [  # None where it does not count
        None
        if pair.gold is None or label is None
        else view.of(pair.gold) == view.of(label)
        for pair, label in zip(pairs, given, strict=True)
    ]
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

    found = bootstrap_statistic(
        columns, _mean_share, clusters=[pair.cluster for pair in pairs]
    )
    return {"groups": list(groups), **as_json(found)}


def _mean_share(*sums: npt.ArrayLike) -> npt.ArrayLike:
    table = np.asarray(sums, dtype=np.float64)
    return np.asarray((table[0::2] / table[1::2]).mean(axis=0))


def _hits(
    gold: Sequence[str],
    given: Sequence[str | None],
    clusters: Sequence[str],
    *,
    among: Sequence[str | None],
    name: str,
) -> list[float | None]:
    """The interval of how often both say the same, among the pairs that one of them gives a class."""
    chosen = [number for number, label in enumerate(among) if label == name]
    estimate = agreement.accuracy_interval(
        [gold[number] for number in chosen],
        [given[number] for number in chosen],
        clusters=[clusters[number] for number in chosen],
    )
    return [_json(estimate.ci_low), _json(estimate.ci_high)]


def _people(pairs: Sequence[CheckPair], view: View) -> dict[str, object]:
    """How well people agree with one another: the standard a judge is held to.

    `leave_one_out` compares each rater with the majority of the others; where they have
    none, the pair does not count, and `no_majority` says how often.
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
    given: Sequence[str | None],
    view: View,
    names: Sequence[str],
) -> dict[str, object]:
    """How well the judge agrees with each rater, and raters with one another."""
    ratings = [pair.ratings for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    beside = agreement.with_raters(
        _merged(given, view), ratings, classes=view.classes, clusters=clusters
    )
    among = agreement.among_raters(ratings, classes=view.classes, clusters=clusters)

    return {
        "names": list(names),
        "labelled": [
            sum(labels[rater] is not None for labels in ratings)
            for rater in range(len(names))
        ],
        "no_majority": sum(pair.gold is None for pair in pairs),
        "judge": [
            {"rater": name, **_agreed(found)}
            for name, found in zip(names, beside, strict=True)
        ],
        "among": [
            {"raters": [names[one], names[other]], **_agreed(found)}
            for (one, other), found in among.items()
        ],
    }


def _agreed(found: agreement.Agreement) -> dict[str, object]:
    return {"agreement": as_json(found.agreement), "kappa": as_json(found.kappa)}


def _rated(pairs: Sequence[CheckPair]) -> bool:
    """Whether the same people, two or more, labelled every pair."""
    return bool(pairs) and all(
        len(pair.ratings) > 1 and None not in pair.ratings for pair in pairs
    )


def _share(given: Sequence[str | None], wanted: Iterable[str | None]) -> float:
    equal = [
        a == b
        for a, b in zip(given, wanted, strict=True)
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
    known = {
        view.key: view.title for view in VIEWS if figures.get(view.key) is not None
    }
    said = {
        "known": known,
        "bounds": figures[next(iter(known))]["bounds"],
        "single_vs_batched": None,
        "orders": None,
    }
    said |= {
        "undecided": (figures["raters"] or {}).get("no_majority"),
        "left_out": check.get("rows_nobody_scored"),
    }

    return rendered("check.jinja", **{**said, **check, "figures": figures})


_BAR = "\x1f"  # stands for a bar in a name, which parts no cells


class _Cells(str):
    """Several cells with bars between them."""


def rendered(template: str, **values: object) -> str:
    """Fills a template of text.

    In `{% filter table %}` a line is a row, and `|` parts its cells.
    """
    text = _environment().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").replace(_BAR, "|")


@cache
def _environment() -> Environment:
    """What renders a check as Markdown; a bar in a value cannot end a cell."""
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
        "both": lambda each: _Cells("|".join(_both(each))),
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


def _both(each: Mapping[str, Mapping[str, float | None]]) -> tuple[str, ...]:
    value, interval, n = figure(each["agreement"])
    return value, interval, *figure(each["kappa"])[:2], n
