"""Draws values with their intervals as inline SVG in the page's colours.

Horizontal positions are in percent of the available width, so one drawing suits a phone and a
wide screen, and its text is never shrunk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medical_tasks.report.entries import Metric
from medical_tasks.report.html_parts import Markup, markup, rendered
from medical_tasks.runs.numbers import FEWEST, number
from medical_tasks.spec import Plot, PlotPoint

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LEAST = 1e-9  # smaller values are drawn as 0


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis."""

    low: float  # in the metric's own unit
    high: float
    # Values with a line, and their labels.
    ticks: tuple[tuple[float, str], ...]

    def percent(self, value: float) -> float:
        """Returns a value's position in percent of the axis, clipped to its ends."""
        return round(
            100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 2
        )


# Shares are always drawn from 0 to 100 %: a cut axis makes a small difference look large.
SHARES = Scale(
    0.0, 1.0, ((0.0, "0"), (0.25, "25"), (0.5, "50"), (0.75, "75"), (1.0, "100 %"))
)


def scale_of(values: Iterable[float | None], unit: str = "") -> Scale:
    """Chooses an axis that covers all values; the unit of a share is "".

    Example:
        Shares from 0 to 1 have the fixed axis of 0 to 100 %; a difference of shares gets
        round steps:

        >>> scale = scale_of([-0.1, 0.3])
        >>> [text for _, text in scale.ticks]
        ['-10', '0', '10', '20', '30 %']
    """
    numbers = [
        value if abs(value) > _LEAST else 0.0
        for value in map(finite, values)
        if value is not None
    ]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    if not unit and low >= 0 and high <= 1:
        return SHARES

    if unit in ("cosine", "kappa") and low >= -1 and high <= 1:
        ends = (-1.0, -0.5, 0.0, 0.5, 1.0) if low < 0 else (0.0, 0.25, 0.5, 0.75, 1.0)
        return Scale(ends[0], 1.0, tuple((end, f"{end:g}") for end in ends))

    factor = 1.0 if unit else 100.0  # shares are labelled in percent
    step = _step((max(high, 0.0) - min(low, 0.0)) * factor or 1.0) / factor
    first, last = math.floor(min(low, 0.0) / step), math.ceil(max(high, 0.0) / step)
    ticks = tuple(
        (number * step, f"{number * step * factor:g}")
        for number in range(first, max(last, first + 1) + 1)
    )
    if not unit:
        ticks = (*ticks[:-1], (ticks[-1][0], f"{ticks[-1][1]} %"))

    return Scale(ticks[0][0], ticks[-1][0], ticks)


def _step(span: float) -> float:
    """Returns a round step that gives four or five intervals."""
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(step * power for step in _STEPS if step * power * 5 >= span)


def finite(value: object) -> float | None:
    """Returns a number that can be drawn; None for any other value (`nan`, infinite, absent)."""
    return (
        float(value)
        if isinstance(value, int | float) and math.isfinite(value)
        else None
    )


def point_of(label: str, metric: Metric, **extra: Any) -> PlotPoint:
    """Makes a point of a metric's estimate."""
    value, low, high, n = (
        metric.get(name) for name in ("value", "ci_low", "ci_high", "n")
    )
    return PlotPoint(
        label=label,
        value=value,
        low=low,
        high=high,
        n=n,
        few=bool(metric.get("too_few")),
        **extra,
    )


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a chart, with a lane for each run and a last one that all papers share.

    Attributes:
        label: its label.
        points: the points of runs and papers.
        heading: a heading above this row and the following ones.
    """

    label: str
    points: Sequence[PlotPoint]
    heading: str = ""


def intervals_chart(
    lines: Sequence[Line],
    *,
    id: str,  # noqa: A002 - what an element calls it
    title: str,
    unit: str = "",
    note: str = "",
    series: Sequence[str] = (),
) -> Markup:
    """Draws a row for each line: dots with an interval, open diamonds for papers' results.

    `series` lists the labels of points with their own shape and colour, and makes a legend.
    Every number is also given in words.
    """
    scale = scale_of(
        [end for line in lines for point in line.points for end in _ends(point)], unit
    )
    return rendered(
        "intervals.html",
        id=id,
        title=title,
        lines=lines,
        steps=len(scale.ticks) - 1,
        axis=axis_ticks(scale),
        series=series,
        sample=lambda name: _mark(
            PlotPoint(label=name, value=0.5, low=0.1, high=0.9), SHARES, 0, series
        ),
        mark=lambda point, lane: _mark(point, scale, lane, series),
        words=lambda point: interval_words(point, unit),
        # Leaves out the source of a paper's figure, never a warning about a run's number.
        short=lambda point: interval_words(
            replace(point, few=False, detail="" if point.published else point.detail),
            unit,
        ),
        hollow=any(few(point) for line in lines for point in line.points),
        value=lambda point: (
            "n/a" if finite(point.value) is None else number(point.value, unit)
        ),
        note=note,
    )


def _ends(point: PlotPoint) -> tuple[float | None, float | None, float | None]:
    return point.value, point.low, point.high


def _mark(point: PlotPoint, scale: Scale, lane: int, series: Sequence[str]) -> Markup:
    index = series.index(point.label) if point.label in series else 0
    drawn = _draw(
        *_ends(point),
        scale=scale,
        y=10 + 12 * lane,
        published=point.published,
        series=index,
    )
    kind = (
        "mt-published"
        if point.published
        else f"mt-s{index % _COLOURS}{' mt-few' if few(point) else ''}"
    )

    return markup(f'<g class="mt-point {kind}">', drawn, "</g>")


def few(point: PlotPoint) -> bool:
    """Whether a run's point rests on too few items, by its breakdown's rule or their number."""
    return not point.published and (
        point.few or (point.n is not None and point.n < FEWEST)
    )


def interval_mark(
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    scale: Scale = SHARES,
    published: bool = False,
    few: bool = False,
) -> Markup:
    """Draws one value with its interval for a table; neighbouring cells have the numbers."""
    kind = " mt-published" if published else " mt-few" if few else ""
    drawn = _draw(value, low, high, scale=scale, y=10, published=published)
    return markup(
        f'<svg class="mt-mark mt-steps-{len(scale.ticks) - 1}{kind}" aria-hidden="true">{drawn}</svg>'
    )


def axis_ticks(scale: Scale = SHARES) -> Markup:
    """Writes the ends and the middle of an axis, for the heading of a column of `interval_mark`."""
    ticks = scale.ticks[:: max(1, (len(scale.ticks) - 1) // 2)]
    return rendered(
        "axis.html", ticks=[(scale.percent(tick), label) for tick, label in ticks]
    )


_SHAPES = (
    "",
    "M-4-4H4V4H-4Z",
    "M0-5.5 5 4H-5Z",
    "M-1.6-5h3.2v3.4H5v3.2H1.6V5h-3.2V1.6H-5v-3.2h3.4Z",
)
_DIAMOND, _COLOURS = "M0-6 6 0 0 6-6 0Z", 5


def _draw(
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    scale: Scale,
    y: int,
    published: bool,
    series: int = 0,
) -> Markup:
    """Draws a value with its interval: whiskers, and a mark by the series.

    A published value is a diamond, to distinguish it from our measurements. Parts without a
    finite number are left out.
    """
    value, low, high = finite(value), finite(low), finite(high)
    parts = []
    if low is not None and high is not None:
        left, right = scale.percent(low), scale.percent(high)
        parts.append(f'<line x1="{left:g}%" x2="{right:g}%" y1="{y}" y2="{y}"/>')
        parts += [
            f'<line x1="{x:g}%" x2="{x:g}%" y1="{y - 4}" y2="{y + 4}"/>'
            for x in (left, right)
        ]

    shape = _DIAMOND if published else _SHAPES[series % len(_SHAPES)]
    if value is not None and shape:
        at = f'x="{scale.percent(value):g}%" y="{y}" overflow="visible" width="1" height="1"'
        parts.append(f'<svg {at}><path d="{shape}"/></svg>')
    elif value is not None:
        parts.append(f'<circle cx="{scale.percent(value):g}%" cy="{y}" r="4.5"/>')

    return markup(*parts)


_TOP, _HEIGHT = 12, 240


def plane_svg(
    pairs: Sequence[tuple[PlotPoint, PlotPoint]],
    *,
    id: str,  # noqa: A002 - what an element calls it
    title: str,
    labels: tuple[str, str],
    unit: str,
) -> Markup:
    """Draws points by their first value, in `unit`, across, and their second value, a share, up.

    Papers' points are labelled by numbers.
    """
    drawn = [
        pair for pair in pairs if all(finite(point.value) is not None for point in pair)
    ]
    scale = scale_of([end for across, _ in drawn for end in _ends(across)], unit)

    return rendered(
        "plane.html",
        id=id,
        title=title,
        labels=labels,
        pairs=drawn,
        numbered=[across for across, _ in drawn if across.published],
        x=lambda value: None if finite(value) is None else scale.percent(value),
        y=lambda value: (
            None
            if finite(value) is None
            else _TOP + _HEIGHT * (1 - SHARES.percent(value) / 100)
        ),
        words=lambda across, up: (
            f"{labels[0]} {interval_words(across, unit)}; {labels[1]} {interval_words(up)}"
        ),
        across=scale.ticks,
        up=SHARES.ticks,
        top=_TOP,
        bottom=_TOP + _HEIGHT,
        diamond=_DIAMOND,
        colours=_COLOURS,
    )


def curve_svg(
    plot: Plot,
    *,
    id: str,  # noqa: A002 - what an element calls it
    title: str,
) -> Markup:
    """Draws a curve of shares, each point with its interval and words for screen readers.

    Points without a value are left out.
    """
    points = [
        point
        for point in plot.points
        if finite(point.value) is not None and finite(point.across) is not None
    ]
    labels = (plot.x_label, plot.y_label)

    return rendered(
        "curve.html",
        id=id,
        title=title,
        labels=labels,
        points=points,
        ticks=SHARES.ticks,
        x=SHARES.percent,
        y=lambda value: (
            None
            if finite(value) is None
            else _TOP + _HEIGHT * (1 - SHARES.percent(value) / 100)
        ),
        words=lambda point: (
            f"{labels[0]} {number(point.across, '')} %: {labels[1]} {interval_words(point)}"
        ),
        few=few,
        counts=plot.diagonal,
        diagonal=plot.diagonal,
        note=plot.note,
        top=_TOP,
        bottom=_TOP + _HEIGHT,
    )


def interval_words(point: PlotPoint, unit: str = "") -> str:
    """Words a point's numbers: value, interval, number of items, source."""
    value = finite(point.value)
    if value is None:
        return "n/a"

    sign = "" if unit else " %"
    words = f"{number(value, unit)}{sign}"
    low, high = finite(point.low), finite(point.high)
    if low is not None and high is not None:
        words += f" ({number(low, unit)} to {number(high, unit)})"
    if point.n is not None:
        words += f", n = {point.n:,}"
    if point.published:
        words += ", reported"
    if few(point):
        words += ", too few to tell"

    return f"{words}, {point.detail}" if point.detail else words
