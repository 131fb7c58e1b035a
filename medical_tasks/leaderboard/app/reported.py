"""What papers report on a task: figures beside the submissions, never among them."""

from __future__ import annotations

from collections.abc import Sequence

from medical_tasks.leaderboard.app.cells import metric_cell, metric_heading, state_cell
from medical_tasks.leaderboard.app.links import Address, in_app_link
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.html_table import Cell, Column, Row, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.plots import axis_ticks, interval_mark
from medical_tasks.report.plots_scale import Scale, scale_of
from medical_tasks.spec import MetricSpec

__all__ = ["reported_section"]

_METRICS = 4


def reported_section(entries: Sequence[Entry], metrics: Sequence[MetricSpec], by: MetricSpec) -> Markup:
    """Writes the published results of a task.

    Args:
        entries: reported ones of one task.
        metrics: those that they report.
        by: the metric the page is about; where no paper reports it, the first that one does is drawn.

    Returns:
        A section with a table, without ranks, and with how each setting differs; empty HTML where no paper reports any.
    """
    if not entries or not metrics:
        return Markup("")
    # A paper's figure is the authors' decision, which stands beside the metric of that name.
    beside = [metric for metric in metrics if metric.name in (by.name, f"{by.name}_official")]
    first = (beside or list(metrics))[0]
    shown = [first, *(metric for metric in metrics if metric is not first)][:_METRICS]
    scale = scale_of([entry.metrics.get(first.name, {}).get("value") for entry in entries], first.unit)
    columns = [
        Column(name="model", label="Model", header=True),
        _metric_column(first),
        Column(name="mark", label="Value", kind="plot", axis=axis_ticks(scale)),
        *map(_metric_column, shown[1:]),
        Column(name="state", label="State"),
        Column(name="setting", label="Setting"),
        Column(name="source", label="Source"),
        Column(name="differences", label="How it differs"),
    ]
    table = html_table(
        columns,
        [_row(entry, shown, scale) for entry in sorted(entries, key=lambda entry: _key(entry, first))],
        id="board-reported",
        caption="Reported in papers, not verified",
        filter_label="Filter by model, setting or source",
        show_caption=False,
    )
    return markup(
        '<section class="mtl-group mtl-reported"><h3>Reported in papers, not verified</h3>'
        '<p class="mtl-lead">Figures as their authors print them, without a rank: nobody scored these answers here, and the '
        "settings differ from this suite's as the last column says.</p>",
        table,
        "</section>",
    )


def _metric_column(metric: MetricSpec) -> Column:
    return Column(name=metric.name, label=metric_heading(metric), kind="number", help=metric.description)


def _row(entry: Entry, shown: Sequence[MetricSpec], scale: Scale) -> Row:
    told = [metric_cell(entry.metrics.get(metric.name), state="reported") for metric in shown]
    return Row(
        [
            Cell(in_app_link(entry.model, Address(view="model", model=entry.model)), sort=entry.model.casefold()),
            told[0],
            Cell(svg=_mark(entry, shown[0], scale)),
            *told[1:],
            state_cell("reported"),
            Cell(entry.setting),
            Cell(entry.organisation or "the paper", href=entry.url),
            Cell(differences(entry.differences)),
        ]
    )


def differences(sentences: Sequence[str]) -> Markup:
    """Writes how a setting differs, folded away below its number of points."""
    if not sentences:
        return Markup("none known")
    items = "".join(f"<li>{escaped(sentence)}</li>" for sentence in sentences)
    count = f"{len(sentences)} differences" if len(sentences) > 1 else "1 difference"
    return markup(f'<details class="mtl-fold"><summary>{count}</summary><ul>{items}</ul></details>')


def _mark(entry: Entry, by: MetricSpec, scale: Scale) -> Markup:
    value = entry.metrics.get(by.name, {}).get("value")
    return interval_mark(value, None, None, scale=scale, published=True)


def _key(entry: Entry, by: MetricSpec) -> tuple[bool, float, str]:
    value = entry.metrics.get(by.name, {}).get("value")
    if value is None:
        return True, 0.0, entry.model
    return False, -value if by.higher_is_better else value, entry.model
