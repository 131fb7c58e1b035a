"""Writes reports as Markdown: `report.md` of one run, and a report of several runs.

Only the HTML page shows items.

`report.md` of one run, which every command writes, is built here without templates: importing
the template library takes longer than writing the report. Other documents are templates. Every
inserted text is made inert, unless it is `Markup`, which is already Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks.io.files import WholeFile
from medical_tasks.report.entries import Entry
from medical_tasks.report.html_parts import Markup, assets_text
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.table import Cell, Table
from medical_tasks.report.tables import (
    breakdown_table,
    evaluations_table,
    metrics_table,
    overview_table,
    own_table,
    pairs_table,
    points_table,
    published_table,
)
from medical_tasks.report.terminal import entry_notes
from medical_tasks.runs.comparability import paper_lines
from medical_tasks.runs.results import Json
from medical_tasks.spec import Plot
from medical_tasks.spec import Table as OwnTable

if TYPE_CHECKING:
    from jinja2 import Environment

    from medical_tasks.report.page_data import ReportData

REPORT_FILE = "report.md"
_INERT = (
    # First, since a backslash escapes what follows, also in the other inert forms.
    ("\\", "&#92;"),
    ("|", "\\|"),
    ("<", "&lt;"),
    ("`", "&#96;"),
    ("![", "!&#91;"),
    ("](", "]&#40;"),
    ("][", "]&#91;"),
)
"""The characters with a meaning in Markdown, and their inert forms."""


def render_markdown(results: Json) -> str:
    """Makes one run's report from the content of `results.json`."""
    tasks = [
        ReportTask(
            run="",
            folder="",
            name=name,
            title="",
            benchmark="",
            access="",
            entry=entry,
            metrics=(),
            items=(),
        )
        for name, entry in results["tasks"].items()
    ]
    parts = ["# Results"]
    for task in tasks:
        parts += _sections(task)

    return _tidy("\n\n".join(parts))


def _sections(task: ReportTask) -> list[str]:
    """Makes the sections about a task in one run's report."""
    model = code(task.entry["recipe"]["model"]["name"])
    parts = [
        f"## {cell(task.name)}",
        f"Model: {model}. Intervals are 95 %.",
        metrics([task]),
        paper(task.entry),
        notes(task.entry),
    ]
    if evaluation := evaluations([task]):
        parts += ["### Evaluations by the judge", cell(evaluation[0]), evaluation[1]]
    if pairs_text := pairs(task.entry):
        parts += ["### Pairs", pairs_text]

    for by, caption, table in breakdowns([task]):
        parts += [f"### By {cell(by)}", cell(caption), table]

    return [*parts, "### Recipe", recipe(task.entry)]


def paper(entry: Entry) -> Markup:
    """Says whether a task's numbers are comparable with the paper's."""
    return Markup("\n\n".join(f"**{cell(line)}**" for line in paper_lines(entry)))


def notes(entry: Entry) -> Markup:
    """Writes the notes below a task's numbers: the judge, what was cut, what has no score."""
    parts: list[str] = [cell(note) for note in entry_notes(entry)]
    unscored = entry["coverage"]["unscored"]
    if unscored:
        parts += [
            "Not scored, and not counted as wrong:",
            "\n".join(
                f"- {count} x {cell(reason)}" for reason, count in unscored.items()
            ),
        ]

    return Markup("\n\n".join(parts))


def recipe(entry: Entry) -> Markup:
    """Writes a task's recipe as a block of JSON, which no text in it can end."""
    content = json.dumps(entry["recipe"], indent=2, ensure_ascii=False)
    return Markup(f"```json\n{content}\n```")


def write_markdown(results: Json, folder: Path) -> Path:
    """Writes the report into the run's folder and returns its path.

    Raises:
        IncompleteError: the folder cannot be written.
    """
    path = folder / REPORT_FILE
    with WholeFile(path) as file:
        file.write(render_markdown(results))
    return path


def render_report(data: ReportData) -> str:
    """Makes the report of one or more runs."""
    by_name: dict[str, list[ReportTask]] = {}
    for task in data.tasks:
        by_name.setdefault(task.name, []).append(task)
    return fill_template(
        "report.md",
        data=data,
        tasks=by_name.values(),
        headlines=markdown_table(overview_table(data.tasks, headlines=True)),
    )


def fill_template(
    template: str, *, finalize: Callable[[str], str] | None = None, **values: object
) -> str:
    """Fills a template; `finalize` makes inserted texts inert unless they are Markdown."""
    return _tidy(_environment(finalize or cell).get_template(template).render(values))


def _tidy(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


@cache
def _environment(finalize: Callable[[object], object]) -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: assets_text(name, "report/templates")),
        autoescape=True,  # macros then return `Markup`
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = (
        code,
        metrics,
        paper,
        notes,
        breakdowns,
        evaluations,
        pairs,
        published,
        recipe,
    )
    environment.globals |= {function.__name__: function for function in functions}
    environment.globals |= {"own": _own, "points": _points}

    return environment


def cell(text: object) -> Markup:
    """Writes a text on one line without active Markdown: no table border, HTML, link or image."""
    if isinstance(text, Markup):
        return text
    line = " ".join(str(text).split())
    for sign, written in _INERT:
        line = line.replace(sign, written)
    return Markup(line)


def code(text: str) -> Markup:
    """Writes a text as code, on one line."""
    return Markup(
        "`" + " ".join(text.replace("`", "'").split()).replace("|", "\\|") + "`"
    )


def markdown_table(table: Table) -> Markup:
    """Writes a table without its drawings."""
    indexes = [
        index for index, column in enumerate(table.columns) if column.kind != "plot"
    ]
    header = [cell(table.columns[index].label) for index in indexes]
    rows = [[_cell_text(row.cells[index]) for index in indexes] for row in table.rows]
    first, *others = (f"| {' | '.join(cells)} |" for cells in (header, *rows))
    return Markup("\n".join([first, "|" + "---|" * len(header), *others]))


def _cell_text(content: Cell | str) -> Markup:
    if isinstance(content, str):
        return cell(content)
    text = cell(" ".join(filter(None, (content.text, content.note))))
    return (
        Markup(f"[{text}]({content.href})")
        if content.href.startswith("https://")
        else text
    )


def metrics(tasks: Sequence[ReportTask]) -> Markup:
    """Writes a task's numbers, each with its interval and coverage."""
    return markdown_table(metrics_table(tasks, id=""))


def breakdowns(tasks: Sequence[ReportTask]) -> Iterator[tuple[str, str, Markup]]:
    """Yields each breakdown of a task with its caption and its table."""
    for by in dict.fromkeys(by for task in tasks for by in task.entry["breakdown"]):
        if (table := breakdown_table(tasks, by, id="")) is not None:
            yield by, table.caption, markdown_table(table)


def evaluations(tasks: Sequence[ReportTask]) -> tuple[str, Markup] | None:
    """Returns the caption and the table of how far a judge's evaluations agree."""
    table = evaluations_table([(task.run, task.entry) for task in tasks], id="")
    return None if table is None else (table.caption, markdown_table(table))


def pairs(entry: Json) -> Markup:
    """Writes the differences within pairs of items with their caption; empty without pairs."""
    table = pairs_table(entry, id="")
    if table is None:
        return Markup("")
    return Markup(f"{cell(table.caption)}\n\n{markdown_table(table)}")


def published(tasks: Sequence[ReportTask]) -> tuple[Markup, list[tuple[str, ...]]]:
    """Writes the results that papers report on a task, and the notes on their settings."""
    table, notes = published_table(tasks, id="")
    return markdown_table(table), notes


def _own(table: OwnTable) -> Markup:
    return markdown_table(own_table(table, id="", caption=""))


def _points(plot: Plot) -> Markup:
    return markdown_table(points_table(plot))
