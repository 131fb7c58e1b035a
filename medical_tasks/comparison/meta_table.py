"""What `medical-tasks meta` prints of its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medical_tasks.io.table import align
from medical_tasks.scoring.correlation import FEWEST_ROWS

__all__ = ["render_meta"]

_NONE = "n/a"
_MOST_COLUMNS = 9
_INTERVAL = "95 % interval"


def render_meta(meta: Mapping[str, Any]) -> str:
    """Writes the figures for a person to read.

    Args:
        meta: what `--json` prints.

    Returns:
        Tables: tau-b of every two metrics; pairs of outputs on which two metrics agree; what people prefer, and how they score,
        where two metrics disagree; each metric against people; the annotators among themselves.
    """
    lines = [_title(meta)]
    if meta["kendall"]:
        lines += ["", *_kendall(meta)]
        lines += ["", "Two metrics on the pairs of outputs of one item:", *_pairs(meta["comparisons"])]
    if meta.get("preferences") is not None:
        if meta["comparisons"]:
            lines += ["", "Where two metrics disagree, the one that people side with (majority of the annotators):"]
            lines += _sides(meta["comparisons"])
        lines += ["", "Each metric and people's preference, on all pairs that were annotated:", *_alone(meta["alone"])]
    if meta["human"]:
        if meta["comparisons"]:
            lines += ["", "Mean human score of the outputs in pairs on which two metrics disagree, with:"]
            lines += _scores(meta["comparisons"])
        lines += ["", "Mean human score of all outputs that were scored, with:", *_all_scores(meta)]
    return "\n".join([*lines, "", *_notes(meta)])


def _title(meta: Mapping[str, Any]) -> str:
    said = f"{meta['outputs']:,} outputs of {meta['systems']:,} systems for {meta['items']:,} items"
    if meta["clusters"] != meta["items"]:
        said += f" in {meta['clusters']:,} clusters"
    return f"{said}: {meta['pairs']:,} pairs of outputs of one item."


def _kendall(meta: Mapping[str, Any]) -> list[str]:
    over = "over all outputs" if meta["settings"]["kendall"] == "pooled" else "among each item's outputs, averaged"
    lines = [f"Kendall's tau-b between metrics, {over}:"]
    names = meta["metrics"]
    found = {frozenset((each["one"], each["other"])): each["value"] for each in meta["kendall"]}
    if 2 < len(names) <= _MOST_COLUMNS:
        rows = [
            (one, "", "", *("1" if one == other else _number(found[frozenset((one, other))]) for other in names))
            for one in names
        ]
        lines += [*align(("", "", "", *names), rows), ""]
    n = "outputs" if meta["settings"]["kendall"] == "pooled" else "items"
    return lines + align(
        ("metric", "with", "", "tau-b", _INTERVAL, n),
        [(each["one"], each["other"], "", *_figure(each)) for each in meta["kendall"]],
    )


def _pairs(comparisons: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for each in comparisons:
        pairs = each["pairs"]
        counts = [str(pairs[name]) for name in ("same", "opposite", "tied", "missing")]
        same, opposite = _share(pairs["share_same"]), _share(pairs["share_opposite"])
        rows.append((each["one"], each["other"], "", *counts, *same[:2], *opposite))
    header = (
        "metric",
        "with",
        "",
        "same",
        "opposite",
        "tied",
        "missing",
        "same %",
        _INTERVAL,
        "opposite %",
        _INTERVAL,
        "pairs",
    )
    return align(header, rows)


def _sides(comparisons: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for each in comparisons:
        for one, other in (("one", "other"), ("other", "one")):
            found = each["preferences"][one]
            rows.append((each[one], f"not {each[other]}", "", *_share(found["share"]), *_undecided(found)))
    header = ("people side with", "", "", "%", _INTERVAL, "pairs", "no preference", "no majority", "not annotated")
    return align(header, rows)


def _alone(each_metric: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for each in each_metric:
        found = each["preferences"]
        rows.append(
            (each["metric"], "", "", *_share(found["share"]), str(found["metric_tied"]), *_undecided(found)[:2])
        )
    header = ("metric", "", "", "same %", _INTERVAL, "pairs", "metric tied", "no preference", "no majority")
    return align(header, rows)


def _undecided(found: Mapping[str, Any]) -> list[str]:
    return [str(found[name]) for name in ("human_tied", "no_majority", "not_annotated")]


def _scores(comparisons: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = []
    for each in comparisons:
        for one, other in (("one", "other"), ("other", "one")):
            rows.append((each[one], f"where {each[other]} disagrees", "", *_coefficients(each["scores"][one])))
        rows.append(
            ("one annotator with the others", "on the same outputs", "", *_coefficients(each["scores"]["annotators"]))
        )
    return align(("", "", "", "rho", _INTERVAL, "tau-b", _INTERVAL, "outputs"), rows)


def _all_scores(meta: Mapping[str, Any]) -> list[str]:
    rows = [(each["metric"], "", "", *_coefficients(each["scores"])) for each in meta["alone"]]
    rows.append(("one annotator with the others", "", "", *_coefficients(meta["annotators"])))
    return align(("", "", "", "rho", _INTERVAL, "tau-b", _INTERVAL, "outputs"), rows)


def _coefficients(found: Mapping[str, Any]) -> list[str]:
    return [*_figure(found["spearman"])[:2], *_figure(found["kendall"])]


def _notes(meta: Mapping[str, Any]) -> list[str]:
    settings = meta["settings"]
    whole = "items" if meta["clusters"] == meta["items"] else "clusters"
    lines = [
        "same, opposite: both metrics prefer the same output, or different ones; tied: in one or both, values within "
        f"{settings['epsilon']:g} of each other; missing: no value.",
        f"Intervals (95 %): {whole} are taken whole. Shares: Wilson's at the effective size; coefficients: bootstrap, "
        f"{settings['resamples']:,} draws, seed {settings['seed']}.",
    ]
    if meta["less_is_better"]:
        lines.append(f"Less is better, so turned round: {', '.join(meta['less_is_better'])}.")
    if meta["human"]:
        lines.append(f"Human scores: {', '.join(meta['human'])}.")
    if _too_few(meta):
        lines.append(
            f"n/a: no correlation is computed of fewer than {FEWEST_ROWS} outputs; two are always in the "
            "same order or the opposite one."
        )
    found = meta.get("preferences")
    if found is not None:
        said = (
            f"Preferences: {found['answers']:,} answers of {found['annotators']} annotators on {found['pairs']:,} pairs"
        )
        for key, told in (("blank", "blank"), ("elsewhere", "about outputs that are not compared")):
            said += f", {found[key]:,} {told}" if found[key] else ""
        lines.append(f"{said}.")
    return lines


def _too_few(figures: Any) -> bool:
    """Whether any coefficient is missing because of how few outputs it would be of."""
    if isinstance(figures, Mapping):
        if {"value", "ci_low", "n"} <= set(figures):
            return figures["value"] is None and 0 < figures["n"] < FEWEST_ROWS
        return any(map(_too_few, figures.values()))
    return isinstance(figures, list) and any(map(_too_few, figures))


def _figure(estimate: Mapping[str, Any]) -> tuple[str, str, str]:
    low, high = estimate["ci_low"], estimate["ci_high"]
    interval = _NONE if low is None or high is None else f"{low:z.3f} to {high:z.3f}"
    return _number(estimate["value"]), interval, str(estimate["n"])


def _share(estimate: Mapping[str, Any]) -> tuple[str, str, str]:
    value, low, high = (estimate[key] for key in ("value", "ci_low", "ci_high"))
    interval = _NONE if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"
    return (_NONE if value is None else f"{100 * value:.1f}"), interval, str(estimate["n"])


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:z.3f}"
