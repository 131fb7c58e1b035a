"""What a report says and draws of a model's confidence: a sentence, and two curves."""

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


def confidence_said(entry: Entry) -> list[str]:
    """Says how sure the model was, and whether it should have been; nothing where nobody knows.

    Example:
        confidence (a line that it was asked for), of 38 of 40 answers (left out: 2 x no
        confidence): mean 91.2 %, accuracy 31.6 % on them; ECE 59.6 % (44.1 to 74.0); ...
    """
    figures = mapping(entry.get("confidence"))
    if not figures:
        return []

    source = _SOURCES.get(str(figures.get("source")), "unknown")
    lacking = ", ".join(
        f"{count:,} x {why}" for why, count in mapping(figures.get("left_out")).items()
    )
    said = (
        f"confidence ({source}), of {figures['n']:,} of {figures['answers']:,} answers"
        + (f" (left out: {lacking})" if lacking else "")
    )
    parts = []
    if "mean_confidence" in figures:
        mean, accuracy = figures["mean_confidence"], figures["accuracy"]
        parts.append(
            f"mean {percent(mean['value'])} %, {figures['metric']} {percent(accuracy['value'])} % "
            "on them"
        )

    parts += _calibration_said(figures)
    if "aurc" in figures:
        reference = percent(figures["aurc"]["reference"])
        parts.append(f"AURC {_said(figures['aurc'])}, {reference} % in any order")

    if figures.get("reason"):
        parts.append(str(figures["reason"]))

    return [f"{said}: {'; '.join(parts)}." if parts else f"{said}."]


def _calibration_said(figures: Json) -> list[str]:
    """The figures of answers that are right or wrong; none of others."""
    if "ece" not in figures:
        return []

    error, brier = figures["ece"], figures["brier"]
    bins = len(figures["bins"])
    said = [
        f"ECE {_said(error)}, plug-in {percent(error['plug_in'])} % in {bins} "
        f"bin{'s' * (bins != 1)}",
        f"Brier {brier['value']:.3f} ({brier['ci_low']:.3f} to {brier['ci_high']:.3f}), "
        f"{brier['reference']:.3f} by the base rate",
    ]
    if figures["auroc"]["value"] is None:
        return [*said, "no AUROC, since all answers are right or all wrong"]

    return [*said, f"AUROC {_said(figures['auroc'])}"]


def _said(figure: Json) -> str:
    return f"{percent(figure['value'])} % ({interval(figure)})"


def confidence_plots(entry: Entry) -> list[Plot]:
    """The reliability curve, and the risk-coverage curve, of an entry that has figures for them."""
    figures = mapping(entry.get("confidence"))
    plots = [_reliability(figures)] if figures.get("bins") else []
    return [*plots, _risk_coverage(figures)] if figures.get("curve") else plots


def _reliability(figures: Json) -> Plot:
    points = tuple(
        PlotPoint(
            label=f"{percent(each['low'])} to {percent(each['high'])} %",
            value=each["accuracy"],
            low=each["ci_low"],
            high=each["ci_high"],
            n=each["n"],
            across=each["confidence"],
        )
        for each in figures["bins"]
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
            label=f"surest {percent(each['share'])} %",
            value=each["value"],
            low=each["ci_low"],
            high=each["ci_high"],
            n=max(1, round(each["share"] * figures["n"])),
            across=each["share"],
        )
        for each in reversed(figures["curve"])
    )
    return Plot(
        title="Risk and coverage: only the surest answers counted",
        x_label="Share of answers that are kept, the surest first",
        y_label=str(figures["metric"]),
        points=points,
        note="A curve that falls to the right: leaving out what the model is least sure of helps. "
        "Answers of one confidence stand in no order.",
    )
