"""The overall table: the mean over the benchmarks, and what is missing for it."""

from __future__ import annotations

from typing import Final

from medical_tasks.leaderboard.app.known import metrics_of
from medical_tasks.leaderboard.app.links import Address, in_app_link
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.overall import OverallEntry, overall_entries
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.html_table import Cell, Column, Row, Toggle, html_table
from medical_tasks.report.html_text import Markup, markup
from medical_tasks.report.plots import axis_ticks, interval_mark
from medical_tasks.runs.numbers import coverage, interval, percent

__all__ = ["OVERALL", "overall_page"]

OVERALL: Final = "overall"


def overall_page(snapshot: Snapshot) -> Markup:
    """Writes the overall table.

    Args:
        snapshot: the board.

    Returns:
        HTML: models with all benchmarks ranked first, then the others with what they lack.
    """
    rows = overall_entries([entry for entry in snapshot.entries if entry.state != "reported"])
    titles = list(dict.fromkeys(title for row in rows for title in (*row.parts, *row.missing)))
    groups = list(dict.fromkeys(row.group for row in rows if row.group))
    letters = {group: place for place, group in enumerate(groups, start=1)}
    columns = [
        Column(
            name="rank", label="Rank", kind="range", rising=True, help="From the best to the worst place it can have"
        ),
        Column(name="model", label="Model", header=True),
        Column(name="mean", label="Mean %", kind="number", help="Of the headline metrics of all benchmarks"),
        Column(name="interval", label="95 % interval", kind="plot", axis=axis_ticks()),
        *(Column(name=f"part-{place}", label=_unbroken(title), kind="number") for place, title in enumerate(titles)),
        Column(name="missing", label="Missing"),
        Column(name="organisation", label="Organisation"),
    ]
    if len(groups) > 1:
        columns.append(Column(name="group", label="Group", help="Ranks count inside one group alone", facet=True))
    made = []
    for row in rows:
        cells = _cells(row, titles)
        if len(groups) > 1:
            cells.append(Cell(str(letters[row.group]) if row.group else "none"))
        made.append(Row(cells, tags=() if row.partial else ("complete",)))
    table = html_table(
        columns,
        made,
        id="board-overall",
        caption="All benchmarks",
        filter_label="Filter by model or organisation",
        toggles=(Toggle("Complete models only", "complete"),),
        show_caption=False,
        empty="No submission was accepted yet.",
    )
    several = (
        f" The ranked models are in {len(groups)} groups of the same data, prompts and judges: a rank counts inside its group."
        if len(groups) > 1
        else ""
    )
    return markup(
        '<h2 class="mtl-title">All benchmarks</h2>',
        '<p class="mtl-lead">The mean of the benchmarks\' headline metrics, each counted once, with its 95 % interval. A model '
        "that lacks a benchmark has no mean to be ranked by: what it lacks is named. Figures from papers are not part of it."
        f"{several}</p>",
        table,
    )


def _cells(row: OverallEntry, titles: list[str]) -> list[Cell]:
    value = {"ci_low": row.ci_low, "ci_high": row.ci_high}
    note = interval(value) if row.ci_low is not None else ""
    mean = Cell("n/a", title="a benchmark is missing") if row.partial else Cell(
        percent(row.value), sort=row.value, note=note, strong=True
    )  # fmt: skip
    drawn = (None, None, None) if row.partial else (row.value, row.ci_low, row.ci_high)
    return [
        Cell(str(row.rank) if row.rank else "n/a", sort=row.rank.first if row.rank else None),
        Cell(in_app_link(row.model, Address(view="model", model=row.model)), sort=row.model.casefold()),
        mean,
        Cell(svg=interval_mark(*drawn)),
        *(_part(row.parts.get(title)) for title in titles),
        Cell(", ".join(row.missing)),
        Cell(row.organisation or "not named"),
    ]


def _part(entry: Entry | None) -> Cell:
    """A benchmark's headline metric, with its task, interval and coverage when pointed at."""
    metrics = metrics_of(entry.task, [entry]) if entry is not None else []
    if entry is None or not metrics:
        return Cell("n/a", title="nothing comparable of this benchmark")
    told = entry.metrics[metrics[0].name]
    words = f"{entry.task}, {metrics[0].name}"
    if entry.coverage:
        words += f", scored {coverage({'coverage': entry.coverage})}"
    if told.get("ci_low") is None or told.get("ci_high") is None:
        return Cell(percent(told.get("value")), sort=told.get("value"), note="no interval", title=words)
    return Cell(percent(told["value"]), sort=told["value"], note=interval(told), title=words)


def _unbroken(title: str) -> str:
    """A benchmark's name as a heading that stays on one line."""
    return f"{title} %".replace("-", "\N{NON-BREAKING HYPHEN}").replace(" ", "\N{NO-BREAK SPACE}")
