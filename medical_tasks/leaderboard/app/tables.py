"""The leaderboard's tables: a task's entries ranked by one metric, what papers report of it, and the overall mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from medical_tasks.benchmarks.catalog import tasks
from medical_tasks.leaderboard.app import parts as shared
from medical_tasks.leaderboard.board import Snapshot
from medical_tasks.leaderboard.ranking import OverallEntry, RankRange, group_label, overall_entries, rank_ranges
from medical_tasks.leaderboard.records import Entry
from medical_tasks.models.usage import an_answer
from medical_tasks.report.html_parts import Cell, Column, Markup, Row, escaped
from medical_tasks.report.plots import Scale, axis_ticks, interval_mark, scale_of
from medical_tasks.runs.numbers import coverage, interval, metric_label, percent
from medical_tasks.spec import MetricSpec

ALL_GROUPS: Final = "all"
_MORE_METRICS: Final = 3
_MANY: Final = 200


def task_page(snapshot: Snapshot, task: str, *, metric: str = "", group: str = "") -> Markup:
    """Renders a task's tables: a table a group, the other groups named, and the published results."""
    entries = [entry for entry in snapshot.entries if entry.task == task]
    metrics = shared.ranked_metrics(entries)
    by = next((each for each in metrics if each.name == metric), metrics[0] if metrics else None)
    title = tasks()[task].title
    if by is None:
        return shared.filled("task.html", title=title, by=None)
    groups = shared.groups_of(entries)
    shown = groups if group == ALL_GROUPS else [each for each in groups if each.name == group] or groups[:1]
    told = [entry.metrics[by.name] for entry in entries if by.name in entry.metrics]
    scale = scale_of([metric.get(end) for metric in told for end in ("value", "ci_low", "ci_high")], by.unit)
    ranked = [measure for each in shown for measure in shared.measures_of(each, by)]
    papers = [entry for entry in entries if entry.state == "reported"]
    return shared.filled(
        "task.html",
        title=title,
        by=by,
        groups=len(groups),
        others=sum(len(each.entries) for each in groups if each not in shown),
        sections=[
            _group_section(snapshot, each, metrics, by, scale=scale, name=f"board-{place}")
            for place, each in enumerate(ranked)
        ],
        papers=_papers_table(papers, shared.metrics_of(papers), by),
    )


def _group_section(
    snapshot: Snapshot, group: shared.Group, metrics: Sequence[MetricSpec], by: MetricSpec, *, scale: Scale, name: str
) -> Markup:
    def metric_column(metric: MetricSpec) -> Column:
        sample = next((entry.metrics[metric.name] for entry in group.entries if metric.name in entry.metrics), {})
        return _metric_column(metric, comparable=bool(sample.get("comparable", True)))

    def further(entry: Entry) -> list[Cell]:
        cells = [shared.metric_cell(entry.metrics.get(metric.name), state=entry.state) for metric in more]
        return [*cells, _took(entry)] if took else cells

    ranks = rank_ranges(list(group.entries), by)
    took = any(_took(entry).sort is not None for entry in group.entries)
    more = [metric for metric in metrics if metric is not by][:_MORE_METRICS]
    placed = sorted(zip(group.entries, ranks, strict=True), key=lambda pair: _order(pair[0], pair[1], by))
    made = shared.page_table(
        "board",
        [_entry_row(snapshot, entry, rank, by, further(entry), scale) for entry, rank in placed],
        id=name,
        caption=f"Group {group.name}: {group.words}",
        axis=axis_ticks(scale),
        by=[metric_column(by)],
        more=list(map(metric_column, more)),
        **({} if took else {"took": []}),
    )
    warnings = shared.judge_warning(group.entries[0].recipe)
    left_out = len(metrics) - 1 - len(more)
    return shared.filled("group.html", warnings=warnings, table=made, left_out=left_out, many=len(placed) > _MANY)


def _order(entry: Entry, rank: RankRange | None, by: MetricSpec) -> tuple[Any, ...]:
    """Ranked ones by their places, then by value, those without one last."""
    value = entry.metrics.get(by.name, {}).get("value")
    known = 0.0 if value is None else -value if by.higher_is_better else value
    return rank is None, *((rank.first, rank.last) if rank else ()), value is None, known, entry.model


def _took(entry: Entry) -> Cell:
    found = an_answer({"usage": entry.usage, "coverage": entry.coverage})
    return Cell(f"{found[0]:,.1f}", sort=found[0], note=found[1]) if found else Cell("not stated")


def _entry_row(
    snapshot: Snapshot, entry: Entry, rank: RankRange | None, by: MetricSpec, more: Sequence[Cell], scale: Scale
) -> Row:
    submission = snapshot.submissions.get(entry.submission)
    weights = submission.submitter.open_weights if submission else None
    told = entry.metrics.get(by.name)
    drawn = ((told or {}).get(end) for end in ("value", "ci_low", "ci_high"))
    why = " ".join(entry.differences)
    cells = [
        Cell(str(rank), sort=rank.first) if rank else Cell("n/a", title=why),
        shared.model_cell(entry.model),
        shared.metric_cell(told, state=entry.state, strong=True),
        Cell(svg=interval_mark(*drawn, scale=scale)),
        shared.coverage_cell(entry),
        shared.state_cell(entry.state),
        Cell(entry.organisation or "not named"),
        Cell(shared.yes_no(weights)),
        *more,
        # What tells it from others of its group, and why it has no rank.
        Cell(
            entry.setting.removeprefix(group_label(entry.recipe)).lstrip(", "), note=f"Not ranked: {why}" if why else ""
        ),
        Cell(shared.day(entry.at), sort=entry.at),
    ]
    return Row(cells, tags=("open",) if weights else ())


_PAPER_METRICS = 4


def _papers_table(entries: Sequence[Entry], metrics: Sequence[MetricSpec], by: MetricSpec) -> Markup:
    """The published results of a task, unranked; `by` falls back to the first metric that a paper reports."""
    if not entries or not metrics:
        return Markup("")
    # A paper's figure is the authors' decision, which stands beside the metric of that name.
    beside = [metric for metric in metrics if metric.name in (by.name, f"{by.name}_official")]
    first = (beside or list(metrics))[0]
    shown = [first, *(metric for metric in metrics if metric is not first)][:_PAPER_METRICS]
    scale = scale_of([entry.metrics.get(first.name, {}).get("value") for entry in entries], first.unit)
    return shared.page_table(
        "board-reported",
        [_paper_row(entry, shown, scale) for entry in sorted(entries, key=lambda entry: _order(entry, None, first))],
        axis=axis_ticks(scale),
        by=[_metric_column(first)],
        more=list(map(_metric_column, shown[1:])),
    )


def _metric_column(metric: MetricSpec, *, comparable: bool = True) -> Column:
    said = metric_label(metric.name, {"unit": metric.unit, "comparable": comparable})
    label = escaped(said).replace("_", Markup("_<wbr>"))
    return Column(name=metric.name, label=label, kind="number", help=metric.description)


def _paper_row(entry: Entry, shown: Sequence[MetricSpec], scale: Scale) -> list[Cell | str]:
    told = [shared.metric_cell(entry.metrics.get(metric.name), state="reported") for metric in shown]
    value = entry.metrics.get(shown[0].name, {}).get("value")
    return [
        shared.model_cell(entry.model),
        told[0],
        Cell(svg=interval_mark(value, None, None, scale=scale, published=True)),
        *told[1:],
        shared.state_cell("reported"),
        entry.setting,
        Cell(entry.organisation or "the paper", href=entry.url),
        differences(entry.differences),
    ]


def differences(sentences: Sequence[str]) -> Markup:
    """Writes how a setting differs, folded away below its number of points."""
    return shared.filled("differences.html", sentences=sentences)


OVERALL: Final = "overall"


def overall_page(snapshot: Snapshot) -> Markup:
    """Renders the overall table: models with all benchmarks ranked first, then the others with what they lack."""
    rows = overall_entries([entry for entry in snapshot.entries if entry.state != "reported"])
    titles = list(dict.fromkeys(title for row in rows for title in (*row.parts, *row.missing)))
    groups = list(dict.fromkeys(row.group for row in rows if row.group))
    letters = {group: place for place, group in enumerate(groups, start=1)}
    made = []
    for row in rows:
        cells = _overall_cells(row, titles)
        if len(groups) > 1:
            cells.append(Cell(str(letters[row.group]) if row.group else "none"))
        made.append(Row(cells, tags=() if row.missing else ("complete",)))
    group = Column(name="group", label="Group", help="Ranks count inside one group alone", facet=True)
    # Headings that stay on one line.
    labels = [f"{each} %".replace("-", "\N{NON-BREAKING HYPHEN}").replace(" ", "\N{NO-BREAK SPACE}") for each in titles]
    benchmarks = [Column(name=f"part-{place}", label=label, kind="number") for place, label in enumerate(labels)]
    shown = [group] if len(groups) > 1 else []
    table = shared.page_table("board-overall", made, axis=axis_ticks(), benchmarks=benchmarks, group=shown)
    return shared.filled("overall.html", groups=len(groups), table=table)


def _overall_cells(row: OverallEntry, titles: list[str]) -> list[Cell]:
    value = {"ci_low": row.ci_low, "ci_high": row.ci_high}
    note = interval(value) if row.ci_low is not None else ""
    mean = Cell("n/a", title="a benchmark is missing") if row.missing else Cell(
        percent(row.value), sort=row.value, note=note, strong=True
    )  # fmt: skip
    drawn = (None, None, None) if row.missing else (row.value, row.ci_low, row.ci_high)
    return [
        Cell(str(row.rank) if row.rank else "n/a", sort=row.rank.first if row.rank else None),
        shared.model_cell(row.model),
        mean,
        Cell(svg=interval_mark(*drawn)),
        *(_benchmark_cell(row.parts.get(title)) for title in titles),
        Cell(", ".join(row.missing)),
        Cell(row.organisation or "not named"),
    ]


def _benchmark_cell(entry: Entry | None) -> Cell:
    if entry is None:
        return Cell("n/a", title="nothing comparable of this benchmark")
    # With its interval: what has none is in no overall table.
    headline = tasks()[entry.task].metrics[0].name
    told = entry.metrics[headline]
    words = f"{entry.task}, {headline}"
    if entry.coverage:
        words += f", scored {coverage({'coverage': entry.coverage})}"
    return Cell(percent(told["value"]), sort=told["value"], note=interval(told), title=words)
