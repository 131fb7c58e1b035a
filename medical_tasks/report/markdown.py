"""Reports as Markdown: `report.md` of one run, and a report of several runs without items, which only the page shows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medical_tasks.io.files import WholeFile
from medical_tasks.report.entry_notes import entry_notes, warning
from medical_tasks.report.page_data import ReportData, ReportTask
from medical_tasks.report.published.figures import PublishedResult
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, number, valued
from medical_tasks.spec import Plot

REPORT_FILE = "report.md"


def render_markdown(results: Mapping[str, Any]) -> str:
    """Makes one run's report from the content of `results.json`."""
    parts = ["# Results", ""]
    for name, entry in results["tasks"].items():
        parts += [f"## {name}", "", f"Model: {code(entry['recipe']['model']['name'])}. Intervals are 95 %.", ""]
        parts += warning_lines(entry)
        rows = [metric_cells(each, metric, entry) for each, metric in entry["metrics"].items()]
        parts += [*table(METRIC_HEADER, rows), *entry_lines(entry)]
        for by in entry["breakdown"]:
            parts += ["", f"### By {by}", "", *breakdown_lines(by, [("", entry)])]
        parts += ["", "### Recipe", "", *recipe_lines(entry), ""]
    return "\n".join(parts)


def write_markdown(results: Mapping[str, Any], folder: Path) -> Path:
    """Writes the report into the run's folder and returns its path; a folder that cannot be written is an `IncompleteError`."""
    path = folder / REPORT_FILE
    with WholeFile(path) as file:
        file.write(render_markdown(results))
    return path


def render_report(data: ReportData) -> str:
    """Makes the report of one or more runs."""
    parts = [f"# {cell(data.title)}", "", f"Made by {cell(data.suite)}. Intervals are 95 %.", ""]
    if data.notes:
        parts += ["## What to know first", "", *(f"- {cell(note)}" for note in data.notes), ""]
    parts += ["## Headlines", "", *_headlines(data.tasks), ""]
    by_name: dict[str, list[ReportTask]] = {}
    for each in data.tasks:
        by_name.setdefault(each.name, []).append(each)
    for runs in by_name.values():
        parts += _task(runs)
    return "\n".join(parts)


def _headlines(tasks: Sequence[ReportTask]) -> list[str]:
    rows = []
    for each in tasks:
        name, metric = next(iter(_metrics(each).items()), ("", None))
        if metric is None:
            continue
        said = metric_cells(name, metric, each.entry)
        rows.append((each.name, each.run, Ready(code(_model(each))), *said))
    return table(("task", "run", "model", *METRIC_HEADER), rows)


def _metrics(task: ReportTask) -> dict[str, Mapping[str, Any]]:
    """The reported metrics, the headline first."""
    reported = task.entry["metrics"]
    first = [spec.name for spec in task.metrics if spec.name in reported]
    return {name: reported[name] for name in dict.fromkeys([*first, *reported])}


def _model(task: ReportTask) -> str:
    return str(task.entry["recipe"]["model"]["name"])


def _task(runs: Sequence[ReportTask]) -> list[str]:
    """One task, in all its runs."""
    first = runs[0]
    several = len(runs) > 1
    of_benchmark = f" ({cell(first.benchmark)})" if first.benchmark else ""
    parts = [f"## {cell(first.name)}", "", f"{cell(first.title)}{of_benchmark}.", ""]
    for each in runs:
        parts += warning_lines(each.entry)
    rows = [
        (*((each.run,) if several else ()), *metric_cells(name, metric, each.entry))
        for each in runs
        for name, metric in _metrics(each).items()
    ]
    parts += table((*(("run",) if several else ()), *METRIC_HEADER), rows)
    for each in runs:
        said = entry_lines(each.entry)
        parts += ["", f"{cell(each.run)}:", *said] if several and said else said
    for by in dict.fromkeys(by for each in runs for by in each.entry["breakdown"]):
        told = [(each.run, each.entry) for each in runs if by in each.entry["breakdown"]]
        parts += ["", f"### By {cell(by)}", "", *breakdown_lines(by, told, named=several)]
    for each in runs:
        for plot in each.plots:
            parts += _plot(plot, f", {each.run}" if several else "")
    parts += _published(first)
    for each in runs:
        title = f"### Recipe of {cell(each.run)}" if several else "### Recipe"
        parts += [
            "",
            title,
            "",
            f"Run: {code(each.folder)}, model: {code(_model(each))}",
            "",
            *recipe_lines(each.entry),
        ]
    return [*parts, ""]


def _plot(plot: Plot, run: str) -> list[str]:
    """What a plot shows, as a table."""
    rows = []
    for point in plot.points:
        shown = {"value": point.value, "ci_low": point.low, "ci_high": point.high}
        rows.append((point.label, number(point.value, ""), interval(shown), str(point.n)))
    parts = [
        "",
        f"### {cell(plot.title + run)}",
        "",
        *table((plot.x_label, f"{plot.y_label} %", "interval", "n"), rows),
    ]
    return [*parts, "", cell(plot.note)] if plot.note else parts


def _published(task: ReportTask) -> list[str]:
    """What papers report on the task, and in what their settings differ."""
    found = task.published
    if not found:
        return []
    units = {name: str(metric.get("unit", "")) for name, metric in task.entry["metrics"].items()}
    names = list(dict.fromkeys(name for result in found for name in result.metrics))
    notes = list(dict.fromkeys(result.differences for result in found if result.differences))
    rows = [_published_row(result, names, units, notes) for result in found]
    labels = (f"{name} ({units[name]})" if units.get(name) else f"{name} %" for name in names)
    parts = ["", "### Published results", "", "As their papers report them; not verified here.", ""]
    parts += table(("model", "setting", *labels, "n", "judge", "source", "differences"), rows)
    if notes:
        parts += ["", "How their settings differ from this one:", ""]
        parts += [f"{place}. {cell(' '.join(said))}" for place, said in enumerate(notes, start=1)]
    return parts


def _published_row(
    result: PublishedResult, names: Sequence[str], units: Mapping[str, str], notes: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    values = (
        number(result.metrics[name], units.get(name, "")) if name in result.metrics else "not stated" for name in names
    )
    return (
        result.model,
        result.setting,
        *values,
        "not stated" if result.n_items is None else str(result.n_items),
        result.judge,
        Ready(f"[{cell(result.source)}]({result.link})") if result.link.startswith("https://") else result.source,
        f"note {notes.index(result.differences) + 1}" if result.differences else "none named",
    )


_INERT = (
    ("\\", "&#92;"),  # first, since it takes the meaning from what follows, also from our own escapes
    ("|", "\\|"),
    ("<", "&lt;"),
    ("`", "&#96;"),
    ("![", "!&#91;"),
    ("](", "]&#40;"),
    ("][", "]&#91;"),
)
"""Signs that a Markdown program acts on, and how they are written so that it shows them."""
METRIC_HEADER = ("metric", "value", "interval", "n", "scored", "bounds")


class Ready(str):
    """Markdown that is put into a table as it is; any other text is made a cell first."""

    __slots__ = ()


def cell(text: str) -> str:
    """Writes a text on one line, in which no bar is a border, nothing is HTML, and nothing is a link or a picture."""
    line = " ".join(text.split())
    for sign, written in _INERT:
        line = line.replace(sign, written)
    return line


def code(text: str) -> str:
    """Writes a text as code, on one line."""
    return "`" + " ".join(text.replace("`", "'").split()).replace("|", "\\|") + "`"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Writes a table."""
    lines = ["| " + " | ".join(map(cell, header)) + " |", "|" + "---|" * len(header)]
    return lines + [
        "| " + " | ".join(each if isinstance(each, Ready) else cell(each) for each in row) + " |" for row in rows
    ]


def metric_cells(name: str, metric: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Writes a metric under `METRIC_HEADER`: never a number without its interval and coverage."""
    return (
        metric_label(name, metric),
        valued(metric),
        interval(metric),
        str(metric["n"]),
        coverage(entry, metric),
        bounds(metric),
    )


def entry_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes what stands below a task's numbers: the judge, what has no score, what was cut. Each is a paragraph."""
    parts: list[str] = []
    for note in entry_notes(entry):
        parts += ["", cell(note)]
    if entry["coverage"]["unscored"]:
        parts += ["", "Not scored, and not counted as wrong:", ""]
        parts += [f"- {count} x {cell(reason)}" for reason, count in entry["coverage"]["unscored"].items()]
    return parts


def warning_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes the warning that goes, in bold, above numbers of a judge that compares words."""
    said = warning(entry)
    return [] if said is None else [f"**{cell(said)}**", ""]


def breakdown_lines(by: str, entries: Sequence[tuple[str, Mapping[str, Any]]], *, named: bool = False) -> list[str]:
    """A breakdown's table; `named` adds a column with the run."""
    told = [(run, group, metrics) for run, entry in entries for group, metrics in entry["breakdown"][by].items()]
    whole = {name: metric for _, entry in entries for name, metric in entry["metrics"].items()}
    # Of the parts of an item only some metrics are told.
    names = [name for name in whole if all(name in metrics for _, _, metrics in told)]
    if not names:
        return []
    if named:
        order = list(dict.fromkeys(group for _, group, _ in told))
        told.sort(key=lambda row: order.index(row[1]))
    header = (
        by,
        *(("run",) if named else ()),
        "n",
        *(f"{metric_label(each, whole[each])} (interval)" for each in names),
    )
    rows = [
        (
            group,
            *((run,) if named else ()),
            str(metrics[names[0]]["n"]),
            *(f"{_value(metrics[each])} ({interval(metrics[each])})" for each in names),
        )
        for run, group, metrics in told
    ]
    return table(header, rows)


def recipe_lines(entry: Mapping[str, Any]) -> list[str]:
    """Writes a recipe as a block of JSON, which no text in it can end."""
    return ["```json", json.dumps(entry["recipe"], indent=2, ensure_ascii=False), "```"]


def _value(metric: Mapping[str, Any]) -> str:
    return number(metric["value"], metric.get("unit", ""))
