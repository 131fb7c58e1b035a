"""The table of one task: entries of one group, ranked by one metric, and below it what papers report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medical_tasks.leaderboard.app.cells import coverage_cell, day, metric_cell, metric_heading, state_cell, yes_no
from medical_tasks.leaderboard.app.group_words import Group, groups_of, measures_of
from medical_tasks.leaderboard.app.known import metrics_of, ranked_metrics, task_title
from medical_tasks.leaderboard.app.links import Address, in_app_link
from medical_tasks.leaderboard.app.reported import reported_section
from medical_tasks.leaderboard.app.snapshot import Snapshot
from medical_tasks.leaderboard.groups import group_label
from medical_tasks.leaderboard.ranking import RankRange, rank_ranges
from medical_tasks.leaderboard.records import Entry
from medical_tasks.report.html_table import Cell, Column, Row, Toggle, html_table
from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.plots import axis_ticks, interval_mark
from medical_tasks.report.plots_scale import Scale, scale_of
from medical_tasks.spec import MetricSpec

__all__ = ["ALL_GROUPS", "chosen_group", "chosen_metric", "task_page"]

ALL_GROUPS: Final = "all"
_MORE_METRICS: Final = 3
_MANY: Final = 200


def chosen_metric(metrics: Sequence[MetricSpec], name: str) -> MetricSpec | None:
    """The metric of that name, or else the headline; None where there is none at all."""
    return next((metric for metric in metrics if metric.name == name), metrics[0] if metrics else None)


def chosen_group(groups: Sequence[Group], name: str) -> list[Group]:
    """The group of that name, all of them for `ALL_GROUPS`, or else the largest; none where there is none at all."""
    if name == ALL_GROUPS:
        return list(groups)
    return [group for group in groups if group.name == name] or list(groups[:1])


def task_page(snapshot: Snapshot, task: str, *, metric: str = "", group: str = "") -> Markup:
    """Writes a task's tables.

    Args:
        snapshot: the board.
        task: name of the task.
        metric: the metric that ranks; the headline by default.
        group: the group that is shown; the largest by default.

    Returns:
        HTML: the task's title, a table a group, the other groups named, and a table of published results.
    """
    entries = [entry for entry in snapshot.entries if entry.task == task]
    metrics = ranked_metrics(task, entries)
    by = chosen_metric(metrics, metric)
    parts = [f'<h2 class="mtl-title">{escaped(task_title(task))}</h2>']
    if by is None:
        return markup(*parts, '<p class="mtl-empty">No results of this task yet.</p>')
    groups = groups_of(entries)
    shown = chosen_group(groups, group)
    parts.append(_about(by, groups, shown))
    scale = _scale(entries, by)
    ranked = [measure for each in shown for measure in measures_of(each, by)]
    for place, each in enumerate(ranked):
        parts.append(_group_section(snapshot, each, metrics, by, scale=scale, name=f"board-{place}"))
    if not shown:
        parts.append('<p class="mtl-empty">No submission of this task was accepted yet.</p>')
    papers = [entry for entry in entries if entry.state == "reported"]
    return markup(*parts, reported_section(papers, metrics_of(task, papers), by))


def _about(by: MetricSpec, groups: Sequence[Group], shown: Sequence[Group]) -> Markup:
    better = "Higher" if by.higher_is_better else "Lower"
    said = [
        f"<p class='mtl-lead'><strong>{escaped(by.name)}</strong>: {escaped(by.description)} {better} is better. ",
        "A rank is a range where 95 % intervals overlap. ",
    ]
    if len(groups) > 1:
        others = sum(len(group.entries) for group in groups) - sum(len(group.entries) for group in shown)
        said.append(
            f"Entries are in {len(groups)} groups, each of one data set, prompt set and judge: "
            "numbers of different groups are never ranked together"
            + (f"; {others:,} entries are in groups not shown here. " if others else ". ")
        )
    return markup(*said, "</p>")


def _scale(entries: Sequence[Entry], by: MetricSpec) -> Scale:
    told = [entry.metrics[by.name] for entry in entries if by.name in entry.metrics]
    ends = [metric.get(end) for metric in told for end in ("value", "ci_low", "ci_high")]
    return scale_of(ends, by.unit)


def _group_section(
    snapshot: Snapshot, group: Group, metrics: Sequence[MetricSpec], by: MetricSpec, *, scale: Scale, name: str
) -> Markup:
    ranks = rank_ranges(list(group.entries), by)
    more = [metric for metric in metrics if metric is not by][:_MORE_METRICS]
    left_out = len(metrics) - 1 - len(more)
    placed = sorted(
        zip(group.entries, ranks, strict=True),
        key=lambda pair: _order(pair[0], pair[1], by),
    )
    # With columns of set widths a browser need not measure every cell of very many rows.
    many = len(placed) > _MANY
    rows = [_row(snapshot, entry, rank, by, more, scale) for entry, rank in placed]
    table = html_table(
        _columns(by, more, group.entries, scale),
        rows,
        id=name,
        caption=f"Group {group.name}: {group.words}",
        filter_label="Filter by model, organisation or setting",
        toggles=(Toggle("Open weights only", "open"),),
        show_caption=True,
    )
    parts: list[str] = []
    if group.warning:
        parts.append(f'<p class="mtl-warning"><strong>{escaped(group.warning)}</strong></p>')
    parts.append(table)
    if left_out:
        parts.append(
            f'<p class="mtl-small">{left_out} further metrics are not columns here: choose one above, or open a model.</p>'
        )
    return markup(f'<section class="mtl-group{" mtl-many" if many else ""}">', *parts, "</section>")


def _order(entry: Entry, rank: RankRange | None, by: MetricSpec) -> tuple[bool, int, int, float]:
    """Ranked ones first, of the same places the better value first."""
    value = entry.metrics.get(by.name, {}).get("value") or 0.0
    places = (rank.first, rank.last) if rank else (0, 0)
    return rank is None, *places, -value if by.higher_is_better else value


def _columns(by: MetricSpec, more: Sequence[MetricSpec], entries: Sequence[Entry], scale: Scale) -> list[Column]:
    def metric_column(metric: MetricSpec) -> Column:
        sample = next((entry.metrics[metric.name] for entry in entries if metric.name in entry.metrics), {})
        label = metric_heading(metric, comparable=bool(sample.get("comparable", True)))
        return Column(name=metric.name, label=label, kind="number", help=metric.description)

    return [
        Column(
            name="rank", label="Rank", kind="range", rising=True, help="From the best to the worst place it can have"
        ),
        Column(name="model", label="Model", header=True),
        metric_column(by),
        Column(name="interval", label="95 % interval", kind="plot", axis=axis_ticks(scale)),
        Column(name="coverage", label="Scored", kind="number", help="Items scored, of those asked"),
        Column(name="state", label="State", facet=True),
        Column(name="organisation", label="Organisation"),
        Column(name="weights", label="Open weights", help="As the submitter says"),
        *map(metric_column, more),
        Column(name="setting", label="Setting"),
        Column(name="date", label="Date"),
    ]


def _row(
    snapshot: Snapshot,
    entry: Entry,
    rank: RankRange | None,
    by: MetricSpec,
    more: Sequence[MetricSpec],
    scale: Scale,
) -> Row:
    submission = snapshot.submission_of(entry)
    weights = submission.submitter.open_weights if submission else None
    told = entry.metrics.get(by.name)
    drawn = told or {}
    cells = [
        Cell(
            str(rank) if rank else "n/a",
            sort=rank.first if rank else None,
            title="" if rank else " ".join(entry.differences),
        ),
        Cell(in_app_link(entry.model, Address(view="model", model=entry.model)), sort=entry.model.casefold()),
        metric_cell(told, state=entry.state, strong=True),
        Cell(svg=interval_mark(drawn.get("value"), drawn.get("ci_low"), drawn.get("ci_high"), scale=scale)),
        coverage_cell(entry),
        state_cell(entry.state),
        Cell(entry.organisation or "not named"),
        Cell(yes_no(weights)),
        *(metric_cell(entry.metrics.get(metric.name), state=entry.state) for metric in more),
        _setting(entry),
        Cell(day(entry.at), sort=entry.at),
    ]
    return Row(cells, tags=("open",) if weights else ())


def _setting(entry: Entry) -> Cell:
    """What tells an entry from others of its group, and why it has no rank."""
    own = entry.setting.removeprefix(group_label(entry.recipe)).lstrip(", ")
    why = " ".join(entry.differences)
    return Cell(own, note=f"Not ranked: {why}" if why else "")
