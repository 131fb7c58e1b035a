"""Published results beside the runs': reported by their authors, checked by nobody here, and never quite the same setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medical_tasks.report.html_table import Cell, Column, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.page_data import ReportTask
from medical_tasks.report.page_metrics import sort_value
from medical_tasks.report.plots_scale import finite
from medical_tasks.report.published.records import PublishedResult
from medical_tasks.runs.numbers import number

__all__ = ["beside", "published_label", "published_section"]


def published_label(result: PublishedResult) -> str:
    """A published result's name in plots and tables: model and setting."""
    return f"{result.model}, {result.setting}" if result.setting else result.model


def beside(result: PublishedResult, metrics: Mapping[str, float], name: str) -> tuple[float | None, str]:
    """Finds the figure of a paper that stands beside a metric of ours.

    Args:
        result: the published result.
        metrics: its metrics, or those of one of its groups.
        name: our metric.

    Returns:
        The value and the name of the metric it was counted by: ours, or the one that follows the authors' script and asks the
        same. None where the paper has neither.
    """
    theirs = next((other for other, ours in result.beside.items() if ours == name and other in metrics), name)
    counted = name if name in metrics else theirs
    return finite(metrics.get(counted)), counted


def published_section(tasks: Sequence[ReportTask], *, base: str) -> Markup:
    """Makes the table of what papers report on a task, and the list of what is different there.

    Args:
        tasks: the task in every run; what is published is the same in each.
        base: id of the section's parts.

    Returns:
        HTML; nothing where nothing is published.
    """
    results = tuple(dict.fromkeys(_key(result) for task in tasks for result in task.published))
    by_key = {_key(result): result for task in tasks for result in task.published}
    found = [by_key[key] for key in results]
    if not found:
        return Markup("")
    units = {name: str(metric.get("unit", "")) for task in tasks for name, metric in task.entry["metrics"].items()}
    units |= {spec.name: spec.unit for task in tasks for spec in task.metrics}
    names = list(dict.fromkeys(name for result in found for name in result.metrics))
    order = [spec.name for spec in tasks[0].metrics]
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    differences = list(dict.fromkeys(result.differences for result in found if result.differences))
    columns = [
        Column(name="model", label="Model", header=True),
        Column(name="setting", label="Setting"),
        *(Column(name=f"m{place}", label=_metric(name, units), kind="number") for place, name in enumerate(names)),
        Column(name="n", label="n", kind="number", help="Items, where the paper says."),
        Column(name="judge", label="Judge"),
        Column(name="source", label="Source"),
        Column(name="differences", label="Differences"),
    ]
    rows = []
    for result in found:
        place = differences.index(result.differences) + 1 if result.differences else 0
        values = [finite(result.metrics.get(name)) for name in names]
        rows.append(
            [
                Cell(result.model),
                Cell(result.setting),
                # What a paper leaves out is no value of ours to call n/a.
                *(
                    Cell(
                        number(value, units.get(name, "")) if value is not None else "–",
                        sort_value(value, units.get(name, "")),
                    )
                    for name, value in zip(names, values, strict=True)
                ),
                Cell("–" if result.n_items is None else f"{result.n_items:,}", result.n_items),
                Cell(result.judge),
                Cell(result.source, href=result.link),
                Cell(f"note {place}", href=f"#{base}-note-{place}") if place else Cell("none named"),
            ]
        )
    table = html_table(
        columns,
        rows,
        id=f"{base}-table",
        caption="Published results, as their papers report them; not verified here.",
        filter_label="Filter published results by words" if len(rows) > 8 else "",
    )
    notes = "".join(
        f'<li id="{base}-note-{place}">{_sentences(texts)}</li>' for place, texts in enumerate(differences, start=1)
    )
    listed = f'<h4>How their settings differ from this one</h4><ol class="mt-differences">{notes}</ol>' if notes else ""
    return markup("<h3>Published results</h3>", table, listed)


def _key(result: PublishedResult) -> tuple[str, str, str, str, str]:
    return (result.model, result.setting, result.source, result.judge, repr(sorted(result.metrics.items())))


def _metric(name: str, units: dict[str, str]) -> str:
    return f"{name} ({units[name]})" if units.get(name) else f"{name}, %"


def _sentences(texts: Sequence[str]) -> str:
    if len(texts) == 1:
        return escaped(texts[0])
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>"
