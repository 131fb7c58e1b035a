"""Plots of values with their intervals, as inline SVG that follows the page's colours and never shrinks its text.

Horizontal positions are in percent of the available width, so that one drawing serves a phone and a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from medical_tasks.report.html_parts import Markup, markup, rendered
from medical_tasks.runs.numbers import number
from medical_tasks.spec import Plot, PlotPoint

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_LEAST = 1e-9  # what is smaller is drawn as 0


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis."""

    low: float  # in the metric's own unit
    high: float
    ticks: tuple[tuple[float, str], ...]  # values with a line, and what is written at each

    def percent(self, value: float) -> float:
        """Where a value stands, in percent of the axis; what is beyond an end stands at it."""
        return round(100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 2)


# Shares are drawn from 0 to 100 %, always: a cut axis makes a small difference look large.
SHARES = Scale(0.0, 1.0, ((0.0, "0"), (0.25, "25"), (0.5, "50"), (0.75, "75"), (1.0, "100 %")))


def scale_of(values: Iterable[float | None], unit: str = "") -> Scale:
    """Chooses the axis on which all values can stand; the unit of a share is ""."""
    known = [value if abs(value) > _LEAST else 0.0 for value in map(finite, values) if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if not unit and low >= 0 and high <= 1:
        return SHARES
    if unit in ("cosine", "kappa") and low >= -1 and high <= 1:
        ends = (-1.0, -0.5, 0.0, 0.5, 1.0) if low < 0 else (0.0, 0.25, 0.5, 0.75, 1.0)
        return Scale(ends[0], 1.0, tuple((end, f"{end:g}") for end in ends))
    shown = 1.0 if unit else 100.0  # what is no count is told in percent
    step = _step((max(high, 0.0) - min(low, 0.0)) * shown or 1.0) / shown
    first, last = math.floor(min(low, 0.0) / step), math.ceil(max(high, 0.0) / step)
    ticks = tuple((number * step, f"{number * step * shown:g}") for number in range(first, max(last, first + 1) + 1))
    if not unit:
        ticks = (*ticks[:-1], (ticks[-1][0], f"{ticks[-1][1]} %"))
    return Scale(ticks[0][0], ticks[-1][0], ticks)


def _step(span: float) -> float:
    """A round step that leaves four or five intervals."""
    power = 10.0 ** math.floor(math.log10(span / 4))
    return next(step * power for step in _STEPS if step * power * 5 >= span)


def finite(value: Any) -> float | None:
    """A number that can be drawn; None for any other value (`nan`, infinite, absent)."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


_ROW, _TOP = 44, 6
_LONGEST_LABEL = 44


def point_of(label: str, metric: Mapping[str, Any], **more: Any) -> PlotPoint:
    """A metric's estimate as a point."""
    value, low, high, n = (metric.get(name) for name in ("value", "ci_low", "ci_high", "n"))
    return PlotPoint(label=label, value=value, low=low, high=high, n=n, **more)


def intervals_svg(
    points: Sequence[PlotPoint],
    *,
    id: str,  # noqa: A002 - what an element calls it
    title: str,
    unit: str = "",
    note: str = "",
) -> Markup:
    """Draws a row a point: its label, and below it a dot with a bar for its interval; published results are open diamonds.

    The `<desc>` says every number in words. The caller puts the same numbers into a table.
    """
    scale = scale_of([end for point in points for end in (point.value, point.low, point.high)], unit)
    said = "; ".join(f"{point.label}: {interval_words(point, unit)}" for point in points) or "nothing to show"
    rows = []
    for place, point in enumerate(points):
        y = _TOP + place * _ROW
        words = interval_words(point, unit)
        # Where a paper's figure stands has no room beside it; a warning that goes with a run's number always has.
        short = interval_words(replace(point, detail=""), unit) if point.published else words
        mark = _drawn(point.value, point.low, point.high, scale=scale, y=y + 29, published=point.published)
        row = {"y": y, "label": point.label, "words": words, "short": short, "published": point.published, "mark": mark}
        rows.append({**row, "short_label": shortened(point.label, _LONGEST_LABEL)})
    return rendered(
        "intervals.html",
        id=id,
        title=title,
        said=said,
        ticks=[(scale.percent(tick), label) for tick, label in scale.ticks],
        points=rows,
        top=_TOP,
        bottom=_TOP + _ROW * max(1, len(points)),
        note=note,
    )


def interval_mark(
    value: float | None, low: float | None, high: float | None, *, scale: Scale = SHARES, published: bool = False
) -> Markup:
    """Draws one value with its interval for a cell of a table; the cells beside it say the same in numbers."""
    kind = " mt-published" if published else ""
    drawn = _drawn(value, low, high, scale=scale, y=10, published=published)
    return markup(f'<svg class="mt-mark mt-steps-{len(scale.ticks) - 1}{kind}" aria-hidden="true">{drawn}</svg>')


def axis_ticks(scale: Scale = SHARES) -> Markup:
    """Writes the ends and the middle of an axis, for the heading of a column of `interval_mark`."""
    ticks = scale.ticks[:: max(1, (len(scale.ticks) - 1) // 2)]
    return rendered("axis.html", ticks=[(scale.percent(tick), label) for tick, label in ticks])


def _drawn(
    value: float | None, low: float | None, high: float | None, *, scale: Scale, y: int, published: bool
) -> Markup:
    value, low, high = finite(value), finite(low), finite(high)
    parts = []
    if low is not None and high is not None:
        left, right = scale.percent(low), scale.percent(high)
        parts.append(f'<line x1="{left:g}%" x2="{right:g}%" y1="{y}" y2="{y}"/>')
        parts += [f'<line x1="{x:g}%" x2="{x:g}%" y1="{y - 4}" y2="{y + 4}"/>' for x in (left, right)]
    if value is not None and published:
        diamond = '<path d="M0-6 6 0 0 6-6 0Z"/>'
        parts.append(
            f'<svg x="{scale.percent(value):g}%" y="{y}" overflow="visible" width="1" height="1">{diamond}</svg>'
        )
    elif value is not None:
        parts.append(f'<circle cx="{scale.percent(value):g}%" cy="{y}" r="4.5"/>')
    return markup(*parts)


def interval_words(point: PlotPoint, unit: str = "") -> str:
    """Says a point's numbers: value, interval, of how many, whose."""
    value = finite(point.value)
    if value is None:
        return "n/a"
    sign = "" if unit else " %"
    said = f"{number(value, unit)}{sign}"
    low, high = finite(point.low), finite(point.high)
    if low is not None and high is not None:
        said += f" ({number(low, unit)} to {number(high, unit)})"
    if point.n is not None:
        said += f", n = {point.n:,}"
    if point.published:
        said += ", reported"
    return f"{said}, {point.detail}" if point.detail else said


def shortened(text: str, most: int) -> str:
    """Cuts a label that has no room; its whole stands in what is shown when it is pointed at."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


_CURVE_TOP, _CURVE_HEIGHT = 12, 240
_MOST_LABELS, _MOST_LABELS_NARROW = 16, 6


def curve_svg(plot: Plot, *, id: str) -> Markup:  # noqa: A002 - what an element calls it
    """Draws the points from left to right with bars for their intervals, on an axis from 0 to 100 %."""
    points = plot.points
    said = "; ".join(f"{point.label}: {interval_words(point)}" for point in points) or "no points"
    every, narrow = _every(len(points), _MOST_LABELS), _every(len(points), _MOST_LABELS_NARROW)
    room = max(4, 110 // max(1, min(len(points), _MOST_LABELS)))
    rows = []
    for place, point in enumerate(points):
        value, low, high = (
            None if end is None else _y(end) for end in map(finite, (point.value, point.low, point.high))
        )
        row = {"x": f"{100 * (place + 0.5) / len(points):.2f}%", "value": value, "low": low, "high": high}
        tick = "" if place % every else "mt-tick" if place % narrow == 0 else "mt-tick mt-wide"
        names = {"label": point.label, "short_label": shortened(point.label, room), "words": interval_words(point)}
        rows.append({**row, **names, "tick": tick})
    return rendered(
        "curve.html",
        id=id,
        plot=plot,
        said=said,
        ticks=[(_y(tick), label) for tick, label in SHARES.ticks],
        points=rows,
        middle=_y(0.5),
        bottom=_CURVE_TOP + _CURVE_HEIGHT,
    )


def _every(count: int, most: int) -> int:
    return max(1, -(-count // most))


def _y(value: float) -> float:
    return round(_CURVE_TOP + _CURVE_HEIGHT * (1 - SHARES.percent(value) / 100), 2)
