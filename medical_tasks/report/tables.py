"""Makes the tables of results once; the page, Markdown and the terminal each write the same ones.

    table = metrics_table(tasks, id="task-kqa-metrics")
    html_table(table)        # `html_parts`: sorted, filtered, with drawings
    markdown_table(table)    # `markdown`: without drawings
    text_table(table)        # `terminal`: aligned columns

A cell holds its text and its sort key; a drawing is made only by a writer that needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from medical_tasks.io.untrusted import is_number
from medical_tasks.report.entries import Entry, Metric
from medical_tasks.report.plots import (
    SHARES,
    Scale,
    axis_ticks,
    finite,
    interval_mark,
    scale_of,
)
from medical_tasks.report.report_task import ReportTask
from medical_tasks.report.table import Cell, Cells, Column, Row, Table
from medical_tasks.runs.numbers import (
    bounds,
    coverage,
    interval,
    metric_label,
    number,
    scored,
    unclear_counts,
    valued,
)
from medical_tasks.runs.recipes import one_line
from medical_tasks.runs.results import JsonDict
from medical_tasks.spec import Plot
from medical_tasks.spec import Table as OwnTable

if TYPE_CHECKING:
    from medical_tasks.report.published.figures import PublishedResult

_RUN: Final = Column(name="run", label="Run", facet=True)
_METRIC: Final = Column(name="metric", label="Metric")
_VALUE: Final = Column(
    name="value",
    label="Value",
    kind="number",
    help="In percent, or in the unit that the metric names.",
)
_INTERVAL: Final = Column(name="interval", label="95 % interval", kind="range")
_N: Final = Column(
    name="n",
    label="n",
    kind="number",
    help="Over how many items or pairs the value is taken.",
)
_SCORED: Final = Column(
    name="scored",
    label="Scored",
    kind="range",
    help="Items that were scored, of those asked.",
)
_BOUNDS: Final = Column(
    name="bounds",
    label="Bounds",
    kind="range",
    help="What the value could be, however the missing had been decided.",
)
_BETTER: Final = Column(name="better", label="Better")
_NUMBERS: Final = ("value", "ci_low", "ci_high", "bound_low", "bound_high")
BY_SOURCE: Final = "(reported by the source)"
_FILTER_FROM: Final = 9
"""The number of rows from which on a table offers a filter."""


def _plot(scale: Scale) -> Column:
    return Column(
        name="plot", label="Interval", kind="plot", axis=partial(axis_ticks, scale)
    )


def clean(metric: Metric) -> JsonDict:
    """Copies a metric with None for every number that is `nan`, infinite or absent."""
    numbers = {name: finite(metric.get(name)) for name in _NUMBERS}
    return {**metric, **numbers, "n": metric.get("n", 0)}


def sort_value(value: float | None, unit: str = "") -> float | None:
    """Returns a metric's sort key: the number shown (percent for a share), with more digits."""
    return None if value is None else round(value if unit else 100 * value, 4)


def metric_cells(
    metric: Metric, *, strong: bool = False, scale: Scale = SHARES
) -> list[Cell]:
    """Makes a metric's cells: value, drawing, interval and n.

    A metric with a unit of its own has no drawing on an axis of shares.
    """
    cleaned = clean(metric)
    value, low, high = cleaned["value"], cleaned["ci_low"], cleaned["ci_high"]
    unit = cleaned.get("unit", "")
    few = bool(cleaned.get("too_few"))
    draw = partial(interval_mark, value, low, high, scale=scale, few=few)
    ends = interval({**cleaned, "too_few": False})

    return [
        Cell(
            valued(cleaned),
            sort_value(value, unit),
            title=str(metric.get("reason", "")),
            strong=strong,
        ),
        Cell(draw=draw if not unit or scale is not SHARES else None),
        Cell(ends, sort_value(low, unit), note="too few to tell" if few else ""),
        Cell(f"{cleaned['n']:,}", cleaned["n"]),
    ]


def coverage_cell(entry: Entry, metric: Metric | None = None) -> Cell:
    """Makes the cell with the number of items scored on a metric, and why others were not."""
    counts = entry["coverage"]
    total, decided = counts["asked"], scored(entry, metric)
    reasons = "; ".join(
        f"{count} x {reason}" for reason, count in counts["unscored"].items()
    )
    title = f"not scored: {reasons}" if reasons and decided < total else ""
    return Cell(
        coverage(entry, metric), decided / total if total else None, title=title
    )


def _metric_row(task: ReportTask, name: str) -> list[Cell | str]:
    """Makes the cells of `_METRIC`, `_RUN`, `_VALUE`, a plot, `_INTERVAL` and the columns after them."""
    metric, spec = clean(task.entry["metrics"][name]), task.spec(name)
    strong = name == task.headline
    between = Cell(
        bounds(metric), sort_value(metric["bound_low"], metric.get("unit", ""))
    )
    better = "" if spec is None else "higher" if spec.higher_is_better else "lower"

    return [
        Cell(metric_label(name, metric), strong=strong),
        task.run,
        *metric_cells(metric, strong=strong),
        coverage_cell(task.entry, metric),
        between,
        better,
    ]


def overview_table(tasks: Sequence[ReportTask], *, headlines: bool = False) -> Table:
    """Makes a row for each run, task and metric; `headlines` keeps only the headline metrics."""
    rows = []
    for task in tasks:
        for name in task.entry["metrics"]:
            tags = ("headline",) if name == task.headline else ()
            if tags or not headlines:
                rows.append(Row([task.name, *_metric_row(task, name)], tags=tags))

    task_column = Column(name="task", label="Task", header=True, facet=True)
    scores = (_VALUE, _plot(SHARES), _INTERVAL, _N, _SCORED, _BOUNDS, _BETTER)
    return Table(
        id="all-metrics",
        columns=[task_column, _METRIC, _RUN, *scores],
        rows=rows,
        caption="Every metric of every run, with its 95 % interval. A value that nobody can compute "
        "is n/a.",
        filter_label="Filter rows by words",
        toggles=[("Headline metrics only", "headline", False)],
        empty="Nothing was scored.",
    )


def metrics_table(tasks: Sequence[ReportTask], *, id: str) -> Table:  # noqa: A002 - an element's
    """Makes the table of a task's metrics in all its runs."""
    names = dict.fromkeys(name for task in tasks for name in task.entry["metrics"])
    rows = [
        _metric_row(task, name)
        for name in names
        for task in tasks
        if name in task.entry["metrics"]
    ]
    rows += [
        [label, task.run, value, *[""] * 6]
        for task in tasks
        for label, value in reported_figures(task.entry)
    ]
    metric = replace(_METRIC, header=True)
    run = replace(_RUN, facet=False)
    table = Table(
        id=id,
        columns=[metric, run, _VALUE, _INTERVAL, _N, _SCORED, _BOUNDS, _BETTER],
        rows=[Row([*cells[:3], *cells[4:]]) for cells in rows],  # without drawings
        caption="Metrics, with 95 % intervals. Bounds: what the value could be, however the missing "
        "had been decided.",
        empty="Nothing was scored.",
    )
    table = table if len(tasks) > 1 else table.without("run")
    declared = any(task.metrics for task in tasks)

    return table if declared else table.without("better")


def breakdown_table(
    tasks: Sequence[ReportTask],
    by: str,
    *,
    id: str,  # noqa: A002 - what an element calls it
) -> Table | None:
    """Makes the table of a task's breakdown in all its runs; None if no metric has every group.

    Only some metrics have values for parts of items.
    """
    parts = [(task.run, task.entry["breakdown"].get(by, {})) for task in tasks]
    groups = list(dict.fromkeys(group for _, of_run in parts for group in of_run))
    entries = [metrics for _, of_run in parts for metrics in of_run.values()]
    names = _in_all(entries, list(tasks[0].entry["metrics"]))
    if not names:
        return None

    headline = tasks[0].headline
    first = headline if headline in names else names[0]
    others = [name for name in names if name != first]
    scale = _common_scale([metrics[first] for metrics in entries])
    rows = _breakdown_rows(groups, parts, first, others, scale)
    columns = [
        Column(name="group", label=by, header=True),
        _RUN,
        replace(_VALUE, label=_label(tasks, first)),
        _plot(scale),
        _INTERVAL,
        _N,
        *_numbers(_label(tasks, name) for name in others),
    ]
    further = "; further metrics with theirs in brackets." if others else "."
    table = Table(
        id=id,
        columns=columns,
        rows=rows,
        caption=f"{_label(tasks, first)} by {by}, with 95 % intervals{further}",
        filter_label=f"Filter rows of this table ({by})"
        if len(rows) >= _FILTER_FROM
        else "",
    )

    return table if len(tasks) > 1 else table.without("run")


def _common_scale(metrics: Sequence[Metric]) -> Scale:
    """Returns the axis that covers a metric's values and intervals in all groups and runs."""
    values = map(clean, metrics)
    ends = (value[end] for value in values for end in ("value", "ci_low", "ci_high"))
    return scale_of(ends, str(metrics[0].get("unit", "")))


def _breakdown_rows(
    groups: Sequence[str],
    parts: Sequence[tuple[str, Mapping[str, Mapping[str, Metric]]]],
    first: str,
    others: Sequence[str],
    scale: Scale,
) -> list[Row]:
    """Makes a row for each group and run, with the first metric drawn and the others as numbers."""
    rows = []
    for group in groups:
        for run, of_run in parts:
            if group in of_run:
                metrics = of_run[group]
                further = [_further_cell(metrics[name]) for name in others]
                cells = metric_cells(metrics[first], scale=scale)
                rows.append(Row([group, run, *cells, *further]))

    return rows


def evaluations_table(
    entries: Sequence[tuple[str, Entry]],
    *,
    id: str,  # noqa: A002 - what an element calls it
) -> Table | None:
    """Makes the table of how far a judge's evaluations of a task agree; None if no run has several.

    Args:
        entries: the runs' names, and their entries of the task.
        id: the table's id on a page.
    """
    evaluated = [(run, entry) for run, entry in entries if entry.get("evaluations")]
    if not evaluated:
        return None

    rows = []
    for run, entry in evaluated:
        evaluations = entry["evaluations"]
        metrics, verdicts = evaluations["metrics"], evaluations["verdicts"]
        rows += [
            _evaluation_row(name, run, entry["metrics"][name], metrics[name])
            for name in entry["metrics"]
            if name in metrics
        ]
        agreed = [
            _agreement_cell(verdicts[name]) for name in ("alpha", "exact_agreement")
        ]
        questions = Cell(f"{verdicts['questions']:,}", verdicts["questions"])
        rows.append(Row(["verdicts", run, *[""] * 5, *agreed, questions]))

    times = dict.fromkeys(str(entry["evaluations"]["n"]) for _, entry in evaluated)
    table = Table(
        id=id,
        columns=[
            replace(_METRIC, header=True),
            replace(_RUN, facet=False),
            *_AGREEMENT,
        ],
        rows=rows,
        caption=f"The same answers judged {' or '.join(times)} times. Sd: of the score "
        "from evaluation to evaluation. Within: mean sd of an item's values. ICC: ICC(2,1), "
        "absolute agreement of items' values. Alpha: Krippendorff's, of items' values, and of "
        "verdicts as classes. Identical: items, or verdicts, alike in all. 95 % intervals.",
    )
    return table if len(entries) > 1 else table.without("run")


_AGREEMENT: Final = (
    Column(name="mean", label="Mean", kind="number"),
    Column(name="sd", label="Sd", kind="number"),
    Column(name="ends", label="Min to max", kind="range"),
    Column(name="within", label="Within", kind="number"),
    Column(name="icc", label="ICC", kind="number"),
    Column(name="alpha", label="Alpha", kind="number"),
    Column(name="identical", label="Identical", kind="number"),
    Column(name="n", label="n", kind="number"),
)
"""The columns of the agreement of evaluations."""


def _evaluation_row(name: str, run: str, metric: Metric, agreement: Metric) -> Row:
    """Makes a metric's row in the table of evaluations."""
    unit = str(metric.get("unit", ""))
    mean, spread, low, high, within = (
        finite(agreement.get(key))
        for key in ("mean", "sd", "min", "max", "within_item_sd")
    )
    ends = f"{number(low, unit)} to {number(high, unit)}"
    agreed = [
        _agreement_cell(agreement.get(key))
        for key in ("icc", "alpha", "exact_agreement")
    ]
    items = agreement.get("items")

    return Row(
        [
            metric_label(name, metric),
            run,
            Cell(number(mean, unit), sort_value(mean, unit)),
            Cell(number(spread, unit), sort_value(spread, unit)),
            Cell(ends, sort_value(low, unit)),
            Cell(number(within, unit), sort_value(within, unit)),
            *agreed,
            "" if items is None else Cell(f"{items:,}", items),
        ]
    )


def _agreement_cell(estimate: Metric | None) -> Cell:
    """Makes the cell of an agreement with its interval, on its own scale from -1 to 1."""
    if estimate is None:
        return Cell("")

    value, low, high = (
        finite(estimate.get(end)) for end in ("value", "ci_low", "ci_high")
    )
    if value is None:
        return Cell(
            "n/a",
            title="nothing varies between items, so that there is nothing to agree on",
        )

    ends = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    return Cell(f"{value:.2f}{ends}", value)


def _numbers(labels: Iterable[str]) -> list[Column]:
    """Makes the columns of further metrics."""
    return [
        Column(name=f"m{index}", label=label, kind="number")
        for index, label in enumerate(labels)
    ]


def _in_all(entries: Sequence[Mapping[str, Metric]], order: Sequence[str]) -> list[str]:
    """Names the metrics that all entries have, in the order of the whole result."""
    reported = dict.fromkeys(name for metrics in entries for name in metrics)
    names = [name for name in reported if all(name in metrics for metrics in entries)]
    return sorted(
        names, key=lambda name: order.index(name) if name in order else len(order)
    )


def _label(tasks: Sequence[ReportTask], name: str) -> str:
    """Returns a metric's heading; one run whose average lacks a metric is enough to mark it."""
    metrics = (task.entry["metrics"].get(name) for task in tasks)
    labels = {metric_label(name, metric) for metric in metrics if metric}
    return max(labels, default=name, key=len)


def _further_cell(metric: Metric) -> Cell:
    cleaned = clean(metric)
    unit = cleaned.get("unit", "")
    ends = interval({**cleaned, "too_few": False})
    return Cell(
        number(cleaned["value"], unit),
        sort_value(cleaned["value"], unit),
        note=f"({ends})",
    )


NOT_STATED: Final = "–"
"""The cell for a number that a paper does not state."""


def published_label(result: PublishedResult) -> str:
    """Names a published result in plots and tables: model and setting."""
    return f"{result.model}, {result.setting}" if result.setting else result.model


def published_table(
    tasks: Sequence[ReportTask],
    *,
    id: str,  # noqa: A002 - what an element calls it
) -> tuple[Table, list[tuple[str, ...]]]:
    """Makes the table of results that papers report on a task, and the notes on their settings.

    Args:
        tasks: one task as reported by each run; the first has the papers' results, and any
            may know the unit of a figure.
        id: the id of the element, with which notes are linked as `<id>-note-1`.

    Returns:
        The table, and the notes in the order of their numbers. A note says how the setting
        of a paper differs; papers with the same words share one.
    """
    results = tasks[0].published
    units = {spec.name: spec.unit for task in tasks for spec in task.metrics}
    for task in tasks:
        for name, metric in task.entry["metrics"].items():
            units.setdefault(name, str(metric.get("unit", "")))

    order = {spec.name: index for index, spec in enumerate(tasks[0].metrics)}
    names = list(dict.fromkeys(name for result in results for name in result.figures))
    names.sort(key=lambda name: order.get(name.partition(",")[0], len(order)))
    notes = list(
        dict.fromkeys(filter(None, (result.differences for result in results)))
    )
    rows = []
    for result in results:
        n = result.n_items
        note: Cell | str = "none named"
        if result.differences:
            index = notes.index(result.differences) + 1
            note = Cell(f"note {index}", href=f"#{id}-note-{index}")

        cells: Cells = [
            result.model,
            result.setting,
            *(_figure(result.figures.get(name), units.get(name, "")) for name in names),
            Cell(NOT_STATED if n is None else f"{n:,}", n),
            result.judge,
            Cell(result.source, href=result.link),
            note,
        ]
        rows.append(Row(cells))

    with_units = (
        f"{name} ({units[name]})" if units.get(name) else f"{name}, %" for name in names
    )
    columns = [
        Column(name="model", label="Model", header=True),
        Column(name="setting", label="Setting"),
        *_numbers(with_units),
        replace(_N, help="Items, where the paper says."),
        Column(name="judge", label="Judge"),
        Column(name="source", label="Source"),
        Column(name="differences", label="Differences"),
    ]
    table = Table(
        id=f"{id}-table",
        columns=columns,
        rows=rows,
        caption="Published results, as their papers report them; not verified here.",
        filter_label="Filter published results by words"
        if len(rows) >= _FILTER_FROM
        else "",
    )

    return table, notes


def _figure(value: float | None, unit: str) -> Cell:
    finite_value = finite(value)
    return Cell(
        NOT_STATED if finite_value is None else number(finite_value, unit),
        sort_value(finite_value, unit),
    )


def plain_table(
    id: str,  # noqa: A002 - what an element calls it
    header: Sequence[str],
    rows: Iterable[Cells],
    *,
    caption: str = "",
) -> Table:
    """Makes a table of texts whose first column names the row."""
    columns = [
        Column(name=f"c{index}", label=label, header=index == 0)
        for index, label in enumerate(header)
    ]
    return Table(
        id=id,
        columns=columns,
        rows=list(map(Row, rows)),
        caption=caption,
        show_caption=False,
    )


_SMALL: Final = 0.0005
"""A p-value below this is written as less than a thousandth."""
_PAIRS_HEADER: Final = (
    "by",
    "group",
    "beside",
    "pairs",
    "value",
    "beside it",
    "difference",
    "95 % interval",
    "p (Holm)",
    "flagged",
)


def pairs_table(entry: Entry, *, id: str) -> Table | None:  # noqa: A002 - an element's
    """Makes the table of groups' differences within pairs of items; None for a task without pairs.

    An entry may come from anybody, so malformed figures are left out.
    """
    figures = entry.get("pairs")
    rows = [
        _pair_cells(figure, entry)
        for figure in (figures if isinstance(figures, list) else ())
        if isinstance(figure, Mapping)
    ]
    if not rows:
        return None

    caption = (
        "Differences within pairs of items that are alike but for the group. Flagged: a p value "
        "below 0.05, adjusted by Holm over all groups."
    )
    return plain_table(id, _PAIRS_HEADER, rows, caption=caption)


def _pair_cells(figure: Mapping[str, object], entry: Entry) -> tuple[str, ...]:
    """Makes a group's cells: names, both values, and the difference with its interval and test."""
    names = [
        one_line(str(figure.get(name, ""))) for name in ("by", "group", "reference")
    ]
    metric = entry["metrics"].get(str(figure.get("metric")), {})
    unit = str(metric.get("unit", ""))
    numbers = {
        name: finite(figure.get(name))
        for name in (
            "n",
            "value",
            "reference_value",
            "difference",
            "ci_low",
            "ci_high",
            "p_holm",
        )
    }
    ends = interval({**numbers, "unit": unit})
    p_holm = numbers["p_holm"]

    return (
        *names,
        f"{int(numbers['n'] or 0):,}",
        *(
            number(numbers[name], unit)
            for name in ("value", "reference_value", "difference")
        ),
        "too few to tell" if figure.get("too_few") else ends,
        NOT_STATED
        if p_holm is None
        else f"{p_holm:.3f}"
        if p_holm >= _SMALL
        else "< 0.001",
        "yes" if figure.get("flagged") is True else "no",
    )


def own_table(own: OwnTable, *, id: str, caption: str) -> Table:  # noqa: A002 - an element's
    """Makes a benchmark's own table."""
    return plain_table(id, own.header, own.rows, caption=caption)


def points_table(plot: Plot) -> Table:
    """Makes the table of a plot's points, for writers that draw nothing."""
    rows = []
    for point in plot.points:
        ends = interval({"ci_low": point.low, "ci_high": point.high})
        across = (number(point.across, ""),) if plot.is_curve else ()
        value = number(point.value, "")
        rows.append((point.label, *across, value, ends, str(point.n)))
    first = ("answers", f"{plot.x_label} %") if plot.is_curve else (plot.x_label,)
    return plain_table("", (*first, f"{plot.y_label} %", "interval", "n"), rows)


def reported_figures(entry: Entry) -> list[tuple[str, str]]:
    """Returns the figures that the source of imported answers reports, with its names and scales."""
    return [(f"{name} {BY_SOURCE}", value) for name, value in _source_figures(entry)]


def reported_text(entry: Entry) -> str:
    """Writes these figures in one line, such as `medcalc_bench_accuracy 0.210`."""
    return ", ".join(f"{name} {value}" for name, value in _source_figures(entry))


def _source_figures(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yields names and formatted values; an entry may come from anybody."""
    figures = entry.get("reported")
    for figure in figures if isinstance(figures, list) else ():
        if isinstance(figure, Mapping) and is_number(figure.get("value")):
            yield one_line(str(figure.get("metric"))), source_figure(figure["value"])


def source_figure(value: float) -> str:
    """Writes a figure of unknown scale: 0.210, 21.04, 1234."""
    return f"{value:.3f}" if abs(value) <= 1 else f"{value:.4g}"


def results_table(entries: Sequence[tuple[str, Entry]]) -> Table:
    """Makes a row for each model, task and metric; each entry comes with its task's name.

    The bounds are shown if a judge decided, something is missing or an answer is unclear.
    """
    with_bounds = any(
        "judge" in entry or entry["coverage"]["unscored"] or unclear_counts(entry)
        for _, entry in entries
    )
    rows = []
    for name, entry in entries:
        model = entry["recipe"]["model"]["name"]
        for key, metric in entry["metrics"].items():
            cells = [
                model,
                name,
                metric_label(key, metric),
                valued(metric),
                interval(metric),
            ]
            cells += [str(metric["n"]), coverage(entry, metric), bounds(metric)]
            rows.append(Row(cells if with_bounds else cells[:-1]))

        for label, value in reported_figures(entry):
            cells = [model, name, label, value, *[""] * 4]
            rows.append(Row(cells if with_bounds else cells[:-1]))

    texts = [
        Column(name="model", label="Model"),
        Column(name="task", label="Task"),
        _METRIC,
    ]
    numbers = [_VALUE, _INTERVAL, _N, _SCORED, _BOUNDS][: 5 if with_bounds else 4]
    return Table(id="results", columns=[*texts, *numbers], rows=rows)
