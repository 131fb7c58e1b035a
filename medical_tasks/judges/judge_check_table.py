"""What `medical-tasks judge-check` prints of its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.io.table import align
from medical_tasks.judges.check_views import VIEWS

__all__ = ["render_check"]

_WAYS = {view.key: view.title for view in VIEWS}
_NONE = "n/a"


def render_check(check: Mapping[str, Any]) -> str:
    """Writes a check for a person to read.

    Args:
        check: content of `check.json`.

    Returns:
        Lines: accuracy and kappa beside what people reach, then classes and the confusion matrix, then coverage and cost.
    """
    figures = check["figures"]
    known = _known(figures)
    lines = [_title(check), "", *_summary(figures, known)]
    lines += _warnings(figures, known)
    if "raters" in figures:
        lines += ["", *_raters(figures["raters"])]
    if "groups" in figures:
        lines += ["", *_groups(figures["groups"], known)]
    if "averages" in figures:
        lines += ["", *_averages(figures["averages"])]
    for way in known:
        lines += ["", *_classes(figures[way], _WAYS[way])]
    if figures.get("three_way", {}) is None:
        lines += [
            "",
            "This judge tells entailed from not entailed and no more, so there are no figures for three classes.",
        ]
    if figures["people"] is not None:
        lines += ["", *_left_out(figures, known)]
    if check.get("single_vs_batched") is not None:
        lines += ["", _both_ways(check["single_vs_batched"])]
    return "\n".join([*lines, "", *_coverage(check)])


def _known(figures: Mapping[str, Any]) -> list[str]:
    return [way for way in _WAYS if figures.get(way) is not None]


def _title(check: Mapping[str, Any]) -> str:
    judge = check["judge"]
    said = f"{judge['name']} on {check['set']}: {check['pairs']:,} pairs in {check['clusters']:,} clusters"
    if not judge["comparable"]:
        said += ". It compares words and understands nothing; scores made with it are not comparable"
    return said + "."


def _summary(figures: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    rows: list[tuple[str, ...]] = []
    for way in known:
        part, people = figures[way], figures["people"]
        rows.append(("judge, accuracy", _WAYS[way], "", *_figure(part["accuracy"])))
        rows.append(("judge, kappa", _WAYS[way], "", *_figure(part["kappa"])))
        if people is not None:
            rows.append(("judge with each person, agreement", _WAYS[way], "", _number(_mean_with(part)), "", ""))
            rows.append(("people, pairwise agreement", _WAYS[way], "", *_figure(people[way]["pairwise_agreement"])))
            rows.append(("people, Fleiss' kappa", _WAYS[way], "", *_figure(people[way]["fleiss_kappa"])))
    return align(("figure", "classes", "", "value", "95 % interval", "pairs"), rows)


def _warnings(figures: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    """A line for each way to count in which the judge cannot be told from one that guesses."""
    lines = []
    for way in known:
        value, low, high = (figures[way]["kappa"][name] for name in ("value", "ci_low", "ci_high"))
        if value is None or (low is not None and low > 0):
            continue
        if low is None or high is None:
            shown = "no interval is known"
        else:
            shown = f"the interval, {low:z.3f} to {high:z.3f}, " + ("is below 0" if high < 0 else "includes 0")
        said = (
            "worse than chance" if high is not None and high < 0 else "no better than chance as far as these pairs show"
        )
        lines.append(
            f"warning: {said} ({_WAYS[way]}): kappa is {value:z.3f} and {shown}. Report no scores of this judge; "
            "choose another, or check it on more pairs."
        )
    return ["", *lines] if lines else []


def _raters(figures: Mapping[str, Any]) -> list[str]:
    rows = [(f"judge with {each['rater']}", "", "", *_both(each)) for each in figures["judge"]]
    rows += [(" with ".join(each["raters"]), "", "", *_both(each)) for each in figures["among"]]
    header = ("agreement of", "", "", "agreement", "95 % interval", "kappa", "95 % interval", "pairs")
    return align(header, rows)


def _both(each: Mapping[str, Any]) -> tuple[str, ...]:
    value, interval, _ = _figure(each["agreement"])
    kappa, kappa_interval, _ = _figure(each["kappa"])
    return value, interval, kappa, kappa_interval, str(each["agreement"]["n"])


def _mean_with(part: Mapping[str, Any]) -> float | None:
    value: float | None = part["with_people"]["mean_agreement"]
    return value


def _groups(groups: Mapping[str, Mapping[str, Any]], known: Sequence[str]) -> list[str]:
    rows = [
        (name, _WAYS[way], key, *_figure(figures[way][key]))
        for name, figures in groups.items()
        for way in known
        for key in ("accuracy", "kappa")
    ]
    return align(("part", "classes", "figure", "value", "95 % interval", "pairs"), rows)


def _averages(averages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    rows = [
        (name, _WAYS[way], " + ".join(found["groups"]), *_figure(found))
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
            low, high = map(_number, figures[f"{key}_interval"])
            shares += [_number(figures[key]), low if low == high else f"{low} to {high}"]
        rows.append((name, "", "", *map(str, counts), *shares, _number(figures["f1"])))
    said = (f"judge: {name}" for name in columns)
    header = (f"people said ({way})", "", "", *said, "recall", "95 % interval", "precision", "95 % interval", "F1")
    return align(header, rows)


def _left_out(figures: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    way = known[0]
    people, judge = figures["people"][way]["leave_one_out"], figures[way]["with_people"]
    rows = [
        (f"without person {number}", "", "", _number(own), _number(other), str(pairs), str(ties))
        for number, (own, other, pairs, ties) in enumerate(
            zip(people["accuracy"], judge["leave_one_out"], people["pairs"], people["no_majority"], strict=True),
            start=1,
        )
    ]
    rows.append(("mean", "", "", _number(people["mean"]), _number(judge["leave_one_out_mean"]), "", ""))
    header = (
        f"against the majority of the others ({_WAYS[way]})", "", "", "person", "judge", "pairs", "left out: others differ",
    )  # fmt: skip
    return align(header, rows)


def _both_ways(part: Mapping[str, Any]) -> str:
    value, interval, pairs = _figure(part["agreement"])
    kappa, kappa_interval, _ = _figure(part["kappa"])
    return (
        f"Asked for all statements of an answer at once, and singly: the same label on {value} ({interval}) of {pairs} pairs, "
        f"kappa {kappa} ({kappa_interval})."
    )


def _coverage(check: Mapping[str, Any]) -> list[str]:
    cost = check["cost"]
    said = f"{check['scored']:,} of {check['pairs']:,} pairs have a verdict"
    if check["unscored"]:
        reasons = ", ".join(f"{count} x {reason}" for reason, count in check["unscored"].items())
        way = _known(check["figures"])[0]
        low, high = check["figures"][way]["bounds"]
        said += f" (without: {reasons}; with them accuracy would be {low:.3f} to {high:.3f})"
    undecided = check["figures"].get("raters", {}).get("no_majority", 0)
    if undecided:
        said += f"; {undecided:,} have no majority of people, and count with each rater alone"
    left_out = check.get("rows_nobody_scored", 0)
    if left_out:
        said += f"; {left_out:,} more that nobody scored are left out"
    parts = [f"{cost['calls']:,} calls", f"{cost['from_store']:,} replies from the store"]
    tokens = cost["prompt_tokens"] + cost["output_tokens"]
    if tokens:
        parts.append(f"{tokens:,} tokens" + (" (partly estimated)" if cost["tokens_estimated"] else ""))
    if check["votes"] > 1:
        parts.append(f"{cost['votes_saved']:,} votes saved of {check['votes']} each")
    return [said + ".", "; ".join([*parts, f"{cost['seconds']:.1f} s"]) + "."]


def _figure(estimate: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = estimate["ci_low"], estimate["ci_high"]
    interval = _NONE if low is None or high is None else f"{low:.3f} to {high:.3f}"
    return _number(estimate["value"]), interval, str(estimate["n"])


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3f}"
