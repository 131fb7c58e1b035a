"""Reports as Markdown: `report.md` of one run, and a report of several runs.

Items are on the page alone.

`report.md` of one run, which every command writes, is put together here; other
documents are templates, whose library takes longer to load than a run's report to
write. Every text put into one is made inert, unless it is `Markup`, which is Markdown
already.
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
    """What one run's report says of a task, in its order."""
    model = code(task.entry["recipe"]["model"]["name"])
    parts = [
        f"## {cell(task.name)}",
        f"Model: {model}. Intervals are 95 %.",
        metrics([task]),
        paper(task.entry),
        notes(task.entry),
    ]
    if told := evaluations([task]):
        parts += ["### Evaluations by the judge", cell(told[0]), told[1]]
    if shown := pairs(task.entry):
        parts += ["### Pairs", shown]

    for by, caption, table in breakdowns([task]):
        parts += [f"### By {cell(by)}", cell(caption), table]

    return [*parts, "### Recipe", recipe(task.entry)]


def paper(entry: Entry) -> Markup:
    """Whether a task's numbers are comparable with the paper's."""
    return Markup("\n\n".join(f"**{cell(line)}**" for line in paper_lines(entry)))


def notes(entry: Entry) -> Markup:
    """What stands below a task's numbers: the judge, what was cut, what has no score."""
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
    """What decided a task's numbers, as a block of JSON, which no text in it can end."""
    content = json.dumps(entry["recipe"], indent=2, ensure_ascii=False)
    return Markup(f"```json\n{content}\n```")


def write_markdown(results: Json, folder: Path) -> Path:
    """Writes the report into the run's folder and returns its path.

    A folder that cannot be written is an `IncompleteError`.
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
    return filled(
        "report.md",
        data=data,
        tasks=by_name.values(),
        headlines=markdown_table(overview_table(data.tasks, headlines=True)),
    )


def filled(
    template: str, *, finalize: Callable[[str], str] | None = None, **values: object
) -> str:
    """Makes a document of a template.

    `finalize` makes what is put into one inert, where it is no Markdown.
    """
    return _tidy(_environment(finalize or cell).get_template(template).render(values))


def _tidy(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


@cache
def _environment(finalize: Callable[[object], object]) -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: assets_text(name, "report/templates")),
        autoescape=True,  # what a macro gives is `Markup` then
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
    """Writes a text on one line, inert: no border of a table, no HTML, no link, no picture."""
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
    shown = [
        index for index, column in enumerate(table.columns) if column.kind != "plot"
    ]
    header = [cell(table.columns[index].label) for index in shown]
    rows = [[_written(row.cells[index]) for index in shown] for row in table.rows]
    first, *others = (f"| {' | '.join(cells)} |" for cells in (header, *rows))
    return Markup("\n".join([first, "|" + "---|" * len(header), *others]))


def _written(shown: Cell | str) -> Markup:
    if isinstance(shown, str):
        return cell(shown)
    text = cell(" ".join(filter(None, (shown.text, shown.note))))
    return (
        Markup(f"[{text}]({shown.href})") if shown.href.startswith("https://") else text
    )


def metrics(tasks: Sequence[ReportTask]) -> Markup:
    """A task's numbers; never a number without its interval and coverage."""
    return markdown_table(metrics_table(tasks, id=""))


def breakdowns(tasks: Sequence[ReportTask]) -> Iterator[tuple[str, str, Markup]]:
    """Each breakdown of a task, with what its table shows, and the table."""
    for by in dict.fromkeys(by for task in tasks for by in task.entry["breakdown"]):
        if (table := breakdown_table(tasks, by, id="")) is not None:
            yield by, table.caption, markdown_table(table)


def evaluations(tasks: Sequence[ReportTask]) -> tuple[str, Markup] | None:
    """How far several evaluations by a task's judge agree: what the table shows, and the table."""
    table = evaluations_table([(task.run, task.entry) for task in tasks], id="")
    return None if table is None else (table.caption, markdown_table(table))


def pairs(entry: Json) -> Markup:
    """The differences within pairs of items, with what they are; empty without pairs."""
    table = pairs_table(entry, id="")
    if table is None:
        return Markup("")
    return Markup(f"{cell(table.caption)}\n\n{markdown_table(table)}")


def published(tasks: Sequence[ReportTask]) -> tuple[Markup, list[tuple[str, ...]]]:
    """What papers report on a task, and the notes on in what their settings differ."""
    table, notes = published_table(tasks, id="")
    return markdown_table(table), notes


def _own(shown: OwnTable) -> Markup:
    return markdown_table(own_table(shown, id="", caption=""))


def _points(plot: Plot) -> Markup:
    return markdown_table(points_table(plot))
