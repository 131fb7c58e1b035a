"""Reports as Markdown: `report.md` of one run, and a report of several runs without items, which only the page shows.

The documents are templates; every text put into one is made inert, unless it is `Markup`, which is Markdown already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medical_tasks.io.files import WholeFile
from medical_tasks.report.html_parts import Markup, assets_text
from medical_tasks.report.page_data import ReportData, ReportTask
from medical_tasks.report.terminal import entry_notes
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.numbers import bounds, coverage, interval, metric_label, number, valued
from medical_tasks.spec import Plot, Table

if TYPE_CHECKING:
    from jinja2 import Environment

REPORT_FILE = "report.md"
_INERT = (
    (
        "\\",
        "&#92;",
    ),  # first, since it takes the meaning from what follows, also from our own escapes
    ("|", "\\|"),
    ("<", "&lt;"),
    ("`", "&#96;"),
    ("![", "!&#91;"),
    ("](", "]&#40;"),
    ("][", "]&#91;"),
)
"""Signs that a Markdown program acts on, and how they are written so that it shows them."""
_RUN = ("run",)
_METRIC = ("metric", "value", "interval", "n", "scored", "bounds")
_Told = Sequence[tuple[tuple[str, ...], Mapping[str, Any]]]
"""A task's entries of `results.json`, each with the cell that names its run, or with none where there is one run alone."""


def render_markdown(results: Mapping[str, Any]) -> str:
    """Makes one run's report from the content of `results.json`."""
    return filled("run.md", tasks=results["tasks"])


def write_markdown(results: Mapping[str, Any], folder: Path) -> Path:
    """Writes the report into the run's folder and returns its path; a folder that cannot be written is an `IncompleteError`."""
    path = folder / REPORT_FILE
    with WholeFile(path) as file:
        file.write(render_markdown(results))
    return path


def render_report(data: ReportData) -> str:
    """Makes the report of one or more runs."""
    by_name: dict[str, list[ReportTask]] = {}
    headlines = []
    for each in data.tasks:
        reported = each.entry["metrics"]
        order = dict.fromkeys(
            [*(spec.name for spec in each.metrics if spec.name in reported), *reported]
        )
        entry = {**each.entry, "metrics": {name: reported[name] for name in order}}
        by_name.setdefault(each.name, []).append(replace(each, entry=entry))
        if order:
            cells = _metric_cells(next(iter(order)), entry)
            headlines.append((each.name, each.run, *cells))
    tasks = [
        (runs, [((each.run,) if len(runs) > 1 else (), each.entry) for each in runs])
        for runs in by_name.values()
    ]
    shown = table(("task", "run", *_METRIC), headlines)
    return filled("report.md", data=data, tasks=tasks, headlines=shown)


def filled(template: str, *, finalize: Callable[[Any], Any] | None = None, **values: Any) -> str:
    """Makes a document of a template; `finalize` makes what is put into one inert, where it is no Markdown."""
    text = _environment(finalize or cell).get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


@cache
def _environment(finalize: Callable[[Any], Any]) -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: assets_text(name, "report/templates")),
        autoescape=True,  # what a macro gives is `Markup` then
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known = (code, as_json, metrics, breakdowns, points, published, words, entry_notes, paper_lines)
    environment.globals |= {each.__name__: each for each in known}
    return environment


def cell(text: Any) -> Markup:
    """Writes a text on one line, in which no bar is a border, nothing is HTML, and nothing is a link or a picture."""
    if isinstance(text, Markup):
        return text
    line = " ".join(str(text).split())
    for sign, written in _INERT:
        line = line.replace(sign, written)
    return Markup(line)


def code(text: str) -> Markup:
    """Writes a text as code, on one line."""
    return Markup("`" + " ".join(text.replace("`", "'").split()).replace("|", "\\|") + "`")


def as_json(value: Any) -> Markup:
    """Writes a recipe for a block of JSON, which no text in it can end."""
    return Markup(json.dumps(value, indent=2, ensure_ascii=False))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """Writes a table."""
    first, *others = (f"| {' | '.join(map(cell, row))} |" for row in (header, *rows))
    return Markup("\n".join([first, "|" + "---|" * len(header), *others]))


def metrics(told: _Told) -> Markup:
    """A task's numbers."""
    rows = [(*run, *_metric_cells(name, entry)) for run, entry in told for name in entry["metrics"]]
    return table((*_RUN[: len(told[0][0])], *_METRIC), rows)


def _metric_cells(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Never a number without its interval and coverage."""
    metric = entry["metrics"][name]
    counts = (str(metric["n"]), coverage(entry, metric), bounds(metric))
    return metric_label(name, metric), valued(metric), interval(metric), *counts


def breakdowns(told: _Told) -> Iterator[tuple[str, Markup]]:
    """Each breakdown of a task, with its table."""
    for by in dict.fromkeys(by for _, entry in told for by in entry["breakdown"]):
        entries = [(run, entry) for run, entry in told if by in entry["breakdown"]]
        parts = [
            (group, run, part)
            for run, entry in entries
            for group, part in entry["breakdown"][by].items()
        ]
        whole = {name: metric for _, entry in entries for name, metric in entry["metrics"].items()}
        # Of the parts of an item only some metrics are told.
        names = [name for name in whole if all(name in part for _, _, part in parts)]
        groups = list(dict.fromkeys(group for group, _, _ in parts))
        rows = [
            (group, *run, str(part[names[0]]["n"]), *(_value(part[name]) for name in names))
            for group, run, part in sorted(parts, key=lambda each: groups.index(each[0]))
            if names
        ]
        labels = (f"{metric_label(name, whole[name])} (interval)" for name in names)
        yield by, table((by, *_RUN[: len(told[0][0])], "n", *labels), rows) if names else Markup("")


def _value(metric: Mapping[str, Any]) -> str:
    return f"{number(metric['value'], metric.get('unit', ''))} ({interval(metric)})"


def words(shown: Table) -> Markup:
    """A benchmark's own table."""
    return table(shown.header, shown.rows)


def points(plot: Plot) -> Markup:
    """What a plot shows, as a table."""
    rows = []
    for point in plot.points:
        shown = {"value": point.value, "ci_low": point.low, "ci_high": point.high}
        rows.append((point.label, number(point.value, ""), interval(shown), str(point.n)))
    return table((plot.x_label, f"{plot.y_label} %", "interval", "n"), rows)


def published(task: ReportTask) -> tuple[Markup, list[tuple[str, ...]]]:
    """The table of what papers report on a task, and the notes on in what their settings differ."""
    units = {name: str(metric.get("unit", "")) for name, metric in task.entry["metrics"].items()}
    names = list(dict.fromkeys(name for result in task.published for name in result.metrics))
    notes = list(
        dict.fromkeys(result.differences for result in task.published if result.differences)
    )
    rows = []
    for result in task.published:
        told = result.metrics
        values = (
            number(told[name], units.get(name, "")) if name in told else "not stated"
            for name in names
        )
        items = "not stated" if result.n_items is None else str(result.n_items)
        linked = result.link.startswith("https://")
        source = Markup(f"[{cell(result.source)}]({result.link})") if linked else result.source
        note = f"note {notes.index(result.differences) + 1}" if result.differences else "none named"
        rows.append((result.model, result.setting, *values, items, result.judge, source, note))
    labels = (f"{name} ({units[name]})" if units.get(name) else f"{name} %" for name in names)
    return table(("model", "setting", *labels, "n", "judge", "source", "differences"), rows), notes
