"""Words and plots a model's confidence for a report: a sentence and two curves."""

from __future__ import annotations

from typing import Final

from medical_tasks.report.entries import Entry
from medical_tasks.runs.numbers import interval, percent
from medical_tasks.runs.recipes import mapping
from medical_tasks.runs.results import Json
from medical_tasks.spec import Plot, PlotPoint

_SOURCES: Final = {
    "probabilities": "the probabilities of its choices",
    "asked": "a line that it was asked for",
}


def confidence_notes(entry: Entry) -> list[str]:
    """Words the model's confidence and its calibration; empty if the confidence is unknown.

    Example:
        confidence (a line that it was asked for), of 38 of 40 answers (left out: 2 x no
        confidence): mean 91.2 %, accuracy 31.6 % on them; ECE 59.6 % (44.1 to 74.0); ...
    """
    figures = mapping(entry.get("confidence"))
    if not figures:
        return []

    source = _SOURCES.get(str(figures.get("source")), "unknown")
    left_out = ", ".join(
        f"{count:,} x {why}" for why, count in mapping(figures.get("left_out")).items()
    )
    intro = (
        f"confidence ({source}), of {figures['n']:,} of {figures['answers']:,} answers"
        + (f" (left out: {left_out})" if left_out else "")
    )
    parts = []
    if "mean_confidence" in figures:
        mean, accuracy = figures["mean_confidence"], figures["accuracy"]
        parts.append(
            f"mean {percent(mean['value'])} %, {figures['metric']} {percent(accuracy['value'])} % "
            "on them"
        )

    parts += _calibration_texts(figures)
    if "aurc" in figures:
        reference = percent(figures["aurc"]["reference"])
        parts.append(
            f"AURC {_percent_with_interval(figures['aurc'])}, {reference} % in any order"
        )

    if figures.get("reason"):
        parts.append(str(figures["reason"]))

    return [f"{intro}: {'; '.join(parts)}." if parts else f"{intro}."]


def _calibration_texts(figures: Json) -> list[str]:
    """Words the figures of answers that are right or wrong; empty for other answers."""
    if "ece" not in figures:
        return []

    error, brier = figures["ece"], figures["brier"]
    bins = len(figures["bins"])
    sentences = [
        f"ECE {_percent_with_interval(error)}, plug-in {percent(error['plug_in'])} % in {bins} "
        f"bin{'s' * (bins != 1)}",
        f"Brier {brier['value']:.3f} ({brier['ci_low']:.3f} to {brier['ci_high']:.3f}), "
        f"{brier['reference']:.3f} by the base rate",
    ]
    if figures["auroc"]["value"] is None:
        return [*sentences, "no AUROC, since all answers are right or all wrong"]

    return [*sentences, f"AUROC {_percent_with_interval(figures['auroc'])}"]


def _percent_with_interval(figure: Json) -> str:
    return f"{percent(figure['value'])} % ({interval(figure)})"


def confidence_plots(entry: Entry) -> list[Plot]:
    """Plots the reliability curve and the risk-coverage curve, if the entry has their figures."""
    figures = mapping(entry.get("confidence"))
    plots = [_reliability(figures)] if figures.get("bins") else []
    return [*plots, _risk_coverage(figures)] if figures.get("curve") else plots


def _reliability(figures: Json) -> Plot:
    points = tuple(
        PlotPoint(
            label=f"{percent(bin_figures['low'])} to {percent(bin_figures['high'])} %",
            value=bin_figures["accuracy"],
            low=bin_figures["ci_low"],
            high=bin_figures["ci_high"],
            n=bin_figures["n"],
            across=bin_figures["confidence"],
        )
        for bin_figures in figures["bins"]
    )
    return Plot(
        title="Reliability: is it right as often as it says?",
        x_label="Mean confidence",
        y_label=str(figures["metric"]),
        points=points,
        diagonal=True,
        note="Each point is of about equally many answers, whose number stands beside it. Below "
        "the diagonal the model is surer than it should be.",
    )


def _risk_coverage(figures: Json) -> Plot:
    points = tuple(
        PlotPoint(
            label=f"surest {percent(curve_point['share'])} %",
            value=curve_point["value"],
            low=curve_point["ci_low"],
            high=curve_point["ci_high"],
            n=max(1, round(curve_point["share"] * figures["n"])),
            across=curve_point["share"],
        )
        for curve_point in reversed(figures["curve"])
    )
    return Plot(
        title="Risk and coverage: only the surest answers counted",
        x_label="Share of answers that are kept, the surest first",
        y_label=str(figures["metric"]),
        points=points,
        note="A curve that falls to the right: leaving out what the model is least sure of helps. "
        "Answers of one confidence stand in no order.",
    )
