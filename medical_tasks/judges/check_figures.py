"""How well a judge's labels agree with people's: the figures of `medical-tasks judge-check`, and the page that it prints.

A pair without a verdict counts in no share; one without a majority of people is in the figures of each rater alone.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from medical_tasks.io.table import align, decimals, figure
from medical_tasks.judges.base import Unscored
from medical_tasks.judges.checks import NLI, THREE_WAY, TWO_WAY, VIEWS, View
from medical_tasks.models.usage import usage_said
from medical_tasks.scoring import agreement
from medical_tasks.scoring.bootstrap import bootstrap_statistic
from medical_tasks.scoring.estimates import as_json
from medical_tasks.scoring.intervals import bounds


@dataclass(frozen=True, kw_only=True)
class CheckPair:
    """A pair with the label of people."""

    id: str
    gold: str | None  # the label it should get; None where people are evenly divided
    cluster: str  # what it shares with others (the answer, the premise, the patient)
    # the label of each person where several labelled it, always in the same order; None from those who did not
    ratings: tuple[str | None, ...] = ()
    group: str = ""  # part of the set that is reported on its own; "" for none


def subset(pairs: Sequence[CheckPair], most: int | None) -> list[CheckPair]:
    """Takes the pairs whose hashed ids are smallest: the same ones whatever the order, and nested for growing numbers."""
    if most is None or most >= len(pairs):
        return list(pairs)
    ranked = sorted(pairs, key=lambda pair: hashlib.sha256(pair.id.encode("utf-8", "surrogatepass")).digest())
    kept = {pair.id for pair in ranked[:most]}
    return [pair for pair in pairs if pair.id in kept]


def labels_of(answers: Sequence[str | Unscored]) -> tuple[list[str | None], dict[str, int]]:
    """Separates labels (None where there is none) from the reasons for missing ones, which are counted."""
    reasons = Counter(answer.reason for answer in answers if isinstance(answer, Unscored))
    return [None if isinstance(answer, Unscored) else answer for answer in answers], dict(reasons.most_common())


def pair_labels(pairs: Sequence[CheckPair], given: Sequence[str | None]) -> dict[str, list[Any]]:
    """What each pair is by people and by the judge, and a number for its cluster, which may be a text or a patient."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(pair.cluster for pair in pairs))}
    clusters = [numbers[pair.cluster] for pair in pairs]
    return {"gold": [pair.gold for pair in pairs], "judge": list(given), "cluster": clusters}


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

    Each view has its figures (None for classes that the judge does not know); `people` is None unless the same two or more
    people labelled every pair.
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
    """Compares two ways of asking the same judge, over the pairs that have a label from both."""
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
            name: {key: _json(value) for key, value in found.items()}
            | {
                "recall_interval": _hits(gold, given, clusters, among=gold, name=name),
                "precision_interval": _hits(gold, given, clusters, among=given, name=name),
            }
            for name, found in agreement.class_figures(table, view.classes).items()
        },
        "confusion": {"rows": list(view.classes), "columns": [*view.classes, "unscored"], "counts": table.tolist()},
    }
    if _rated(pairs):
        ratings, mine = _ratings(pairs, view), _merged(labels, view)
        each = [_share(mine, theirs) for theirs in zip(*ratings, strict=True)]
        against = [_share(mine, references) for references in agreement.leave_one_out(ratings).references]
        compared["with_people"] = {
            "mean_agreement": _json(math.fsum(each) / len(each)),
            "agreement": [_json(value) for value in each],
            "leave_one_out_mean": _json(math.fsum(against) / len(against)),
            "leave_one_out": [_json(value) for value in against],
        }
    return compared


def _average(
    pairs: Sequence[CheckPair], given: Sequence[str | None], view: View, groups: Sequence[str]
) -> dict[str, Any]:
    """Mean of groups' accuracies, each group weighing the same; not defined where one has no pair with a verdict."""
    right = [  # None where it does not count
        None if pair.gold is None or label is None else view.of(pair.gold) == view.of(label)
        for pair, label in zip(pairs, given, strict=True)
    ]
    columns: list[list[float]] = []
    for group in groups:
        inside = [hit if pair.group == group else None for pair, hit in zip(pairs, right, strict=True)]
        columns += [[float(hit or 0) for hit in inside], [float(hit is not None) for hit in inside]]
    found = bootstrap_statistic(columns, _mean_share, clusters=[pair.cluster for pair in pairs])
    return {"groups": list(groups), **as_json(found)}


def _mean_share(*sums: npt.ArrayLike) -> npt.ArrayLike:
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


def _people(pairs: Sequence[CheckPair], view: View) -> dict[str, Any]:
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
    ratings = [pair.ratings for pair in pairs]
    clusters = [pair.cluster for pair in pairs]
    beside = agreement.with_raters(_merged(given, view), ratings, classes=view.classes, clusters=clusters)
    among = agreement.among_raters(ratings, classes=view.classes, clusters=clusters)
    return {
        "names": list(names),
        "labelled": [sum(labels[rater] is not None for labels in ratings) for rater in range(len(names))],
        "no_majority": sum(pair.gold is None for pair in pairs),
        "judge": [{"rater": name, **_agreed(found)} for name, found in zip(names, beside, strict=True)],
        "among": [{"raters": [names[one], names[other]], **_agreed(found)} for (one, other), found in among.items()],
    }


def _agreed(found: agreement.Agreement) -> dict[str, Any]:
    return {"agreement": as_json(found.agreement), "kappa": as_json(found.kappa)}


def _rated(pairs: Sequence[CheckPair]) -> bool:
    """Whether the same people, two or more, labelled every pair."""
    return bool(pairs) and all(len(pair.ratings) > 1 and None not in pair.ratings for pair in pairs)


def _share(given: Sequence[str | None], wanted: Iterable[str | None]) -> float:
    equal = [a == b for a, b in zip(given, wanted, strict=True) if a is not None and b is not None]
    return sum(equal) / len(equal) if equal else math.nan


def _ratings(pairs: Sequence[CheckPair], view: View) -> list[tuple[str, ...]]:
    return [tuple(view.of(label) for label in pair.ratings if label is not None) for pair in pairs]


def _merged(labels: Sequence[str | None], view: View) -> list[str | None]:
    return [None if label is None else view.of(label) for label in labels]


def _json(value: float) -> float | None:
    return None if math.isnan(value) else value


_WAYS = {view.key: view.title for view in VIEWS}


def render_check(check: Mapping[str, Any]) -> str:
    """Formats the content of `check.json` as text."""
    figures, judge = check["figures"], check["judge"]
    known = [way for way in _WAYS if figures.get(way) is not None]
    title = f"{judge['name']} on {check['set']}: {check['pairs']:,} pairs in {check['clusters']:,} clusters"
    if not judge["comparable"]:
        title += ". It compares words and understands nothing; scores made with it are not comparable"
    parts = [[f"{title}."], _summary(figures, known), _warnings(figures, known)]
    if "raters" in figures:
        parts.append(_rater_lines(figures["raters"]))
    if "groups" in figures:
        parts.append(_group_lines(figures["groups"], known))
    if "averages" in figures:
        parts.append(_average_lines(figures["averages"]))
    parts += [_classes(figures[way], _WAYS[way]) for way in known]
    if figures.get("three_way", {}) is None:
        parts.append(
            ["This judge tells entailed from not entailed and no more, so there are no figures for three classes."]
        )
    if figures["people"] is not None:
        parts.append(_left_out(figures, known[0]))
    if (same := check.get("single_vs_batched")) is not None:
        value, interval, kappa, kappa_interval, pairs = _both(same)
        parts.append(
            [
                "Asked for all statements of an answer at once, and singly: the same label on "
                f"{value} ({interval}) of {pairs} pairs, "
                f"kappa {kappa} ({kappa_interval})."
            ]
        )
    parts.append(_coverage(check, known[0]))
    return "\n\n".join("\n".join(part) for part in parts if part)


def _summary(figures: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for way in known:
        part, people, said = figures[way], figures["people"], _WAYS[way]
        rows += [(f"judge, {key}", said, "", *figure(part[key])) for key in ("accuracy", "kappa")]
        if people is not None:
            mean = decimals(part["with_people"]["mean_agreement"])
            rows.append(("judge with each person, agreement", said, "", mean, "", ""))
            rows.append(("people, pairwise agreement", said, "", *figure(people[way]["pairwise_agreement"])))
            rows.append(("people, Fleiss' kappa", said, "", *figure(people[way]["fleiss_kappa"])))
    return align(("figure", "classes", "", "value", "95 % interval", "pairs"), rows)


def _warnings(figures: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    """A line for each way to count in which the judge cannot be told from one that guesses."""
    lines = []
    for way in known:
        value, low, high = (figures[way]["kappa"][name] for name in ("value", "ci_low", "ci_high"))
        if value is None or (low is not None and low > 0):
            continue
        said, shown = "no better than chance as far as these pairs show", "no interval is known"
        if low is not None and high is not None:
            shown = f"the interval, {low:z.3f} to {high:z.3f}, " + ("is below 0" if high < 0 else "includes 0")
        if high is not None and high < 0:
            said = "worse than chance"
        lines.append(
            f"warning: {said} ({_WAYS[way]}): kappa is {value:z.3f} and {shown}. Report no scores of this judge; "
            "choose another, or check it on more pairs."
        )
    return lines


def _rater_lines(figures: Mapping[str, Any]) -> list[str]:
    rows = [(f"judge with {each['rater']}", "", "", *_both(each)) for each in figures["judge"]]
    rows += [(" with ".join(each["raters"]), "", "", *_both(each)) for each in figures["among"]]
    header = ("agreement of", "", "", "agreement", "95 % interval", "kappa", "95 % interval", "pairs")
    return align(header, rows)


def _both(each: Mapping[str, Any]) -> tuple[str, ...]:
    value, interval, _ = figure(each["agreement"])
    kappa, kappa_interval, _ = figure(each["kappa"])
    return value, interval, kappa, kappa_interval, str(each["agreement"]["n"])


def _group_lines(groups: Mapping[str, Mapping[str, Any]], known: Sequence[str]) -> list[str]:
    rows = [
        (name, _WAYS[way], key, *figure(figures[way][key]))
        for name, figures in groups.items()
        for way in known
        for key in ("accuracy", "kappa")
    ]
    return align(("part", "classes", "figure", "value", "95 % interval", "pairs"), rows)


def _average_lines(averages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    rows = [
        (name, _WAYS[way], " + ".join(found["groups"]), *figure(found))
        for way, by_name in averages.items()
        for name, found in by_name.items()
    ]
    return align(("accuracy, each part weighing the same", "classes", "parts", "value", "95 % interval", "pairs"), rows)


def _classes(part: Mapping[str, Any], way: str) -> list[str]:
    confusion = part["confusion"]
    columns = confusion["columns"]
    rows = []
    for name, counts in zip(confusion["rows"], confusion["counts"], strict=True):
        figures = part["classes"][name]
        shares = []
        for key in ("recall", "precision"):
            low, high = map(decimals, figures[f"{key}_interval"])
            shares += [decimals(figures[key]), low if low == high else f"{low} to {high}"]
        rows.append((name, "", "", *map(str, counts), *shares, decimals(figures["f1"])))
    said = (f"judge: {name}" for name in columns)
    header = (f"people said ({way})", "", "", *said, "recall", "95 % interval", "precision", "95 % interval", "F1")
    return align(header, rows)


def _left_out(figures: Mapping[str, Any], way: str) -> list[str]:
    people, judge = figures["people"][way]["leave_one_out"], figures[way]["with_people"]
    columns = zip(people["accuracy"], judge["leave_one_out"], people["pairs"], people["no_majority"], strict=True)
    rows = [
        (f"without person {number}", "", "", decimals(own), decimals(other), str(pairs), str(ties))
        for number, (own, other, pairs, ties) in enumerate(columns, start=1)
    ]
    rows.append(("mean", "", "", decimals(people["mean"]), decimals(judge["leave_one_out_mean"]), "", ""))
    header = (
        f"against the majority of the others ({_WAYS[way]})", "", "", "person", "judge", "pairs", "left out: others differ",
    )  # fmt: skip
    return align(header, rows)


def _coverage(check: Mapping[str, Any], way: str) -> list[str]:
    cost = check["cost"]
    said = f"{check['scored']:,} of {check['pairs']:,} pairs have a verdict"
    if check["unscored"]:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in check["unscored"].items())
        low, high = check["figures"][way]["bounds"]
        said += f" (without: {reasons}; with them accuracy would be {low:.3f} to {high:.3f})"
    undecided = check["figures"].get("raters", {}).get("no_majority", 0)
    if undecided:
        said += f"; {undecided:,} have no majority of people, and count with each rater alone"
    left_out = check.get("rows_nobody_scored", 0)
    if left_out:
        said += f"; {left_out:,} more that nobody scored are left out"
    parts = [f"{cost['calls']:,} calls", f"{cost['from_store']:,} replies from the store"]
    if check["votes"] > 1:
        parts.append(f"{cost['votes_saved']:,} votes saved of {check['votes']} each")
    took = [f"judge: {usage_said(check['usage'])}."] if check["usage"]["requests"] else []
    return [said + ".", "; ".join([*parts, f"{cost['seconds']:.1f} s"]) + ".", *took]
