"""Plots of values with their intervals, as inline SVG that follows the page's colours and never shrinks its text.

Positions across are in percent of the room there is, so that one drawing serves a phone and a wide screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.plots_scale import SHARES, Scale, finite, scale_of
from medical_tasks.runs.numbers import number

__all__ = ["IntervalPoint", "axis_ticks", "interval_mark", "interval_words", "intervals_svg"]

_ROW, _TOP, _BOTTOM = 44, 6, 26
_LONGEST_LABEL = 44


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalPoint:
    """A row of the plot.

    Attributes:
        label: what it stands for.
        value: in the metric's own unit; None where nobody can compute it.
        low: lower end of its interval, None without one.
        high: upper end.
        n: how many it is of; None when that is not known.
        published: whether it is a paper's, which gets a mark of its own.
        detail: more about it, shown when it is pointed at and said in the description.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    published: bool = False
    detail: str = ""


def intervals_svg(
    points: Sequence[IntervalPoint],
    *,
    id: str,  # noqa: A002 - what an element calls it
    title: str,
    unit: str = "",
    note: str = "",
    x_label: str = "",
) -> Markup:
    """Draws a row a point: its label, and below it a dot with a bar for its interval; published results are open diamonds.

    Args:
        points: in their order.
        id: unique in the page.
        title: heading of the figure, and accessible name of the plot.
        unit: the metric's unit, as `numbers.number` takes it.
        note: a sentence below.
        x_label: below the axis.

    Returns:
        A `<figure>`; the plot's description says every number in words. What it shows stands in a table too: that is the
        caller's part.
    """
    scale = scale_of([end for point in points for end in (point.value, point.low, point.high)], unit)
    bottom = _TOP + _ROW * max(1, len(points))
    said = "; ".join(f"{point.label}: {interval_words(point, unit)}" for point in points) or "nothing to show"
    parts = [
        f'<figure class="mt-figure"><figcaption class="mt-figure-title">{escaped(title)}</figcaption>',
        f'<div class="mt-plot"><svg class="mt-svg" width="100%" height="{bottom + _BOTTOM}" role="img" '
        f'aria-labelledby="{escaped(id)}-title {escaped(id)}-desc">',
        f'<title id="{escaped(id)}-title">{escaped(title)}</title><desc id="{escaped(id)}-desc">{escaped(said)}.</desc>',
    ]
    for tick, label in scale.ticks:
        at = scale.percent(tick)
        parts.append(f'<line class="mt-grid" x1="{at:g}%" x2="{at:g}%" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(
            f'<text class="mt-tick" x="{at:g}%" y="{bottom + 18}" text-anchor="middle">{escaped(label)}</text>'
        )
    for place, point in enumerate(points):
        y = _TOP + place * _ROW
        kind = " mt-published" if point.published else ""
        words = interval_words(point, unit)
        # Where a paper's figure stands has no room beside it; a warning that goes with a run's number always has.
        short = interval_words(replace(point, detail=""), unit) if point.published else words
        parts += [
            f'<g class="mt-point{kind}"><title>{escaped(f"{point.label}: {words}")}</title>',
            f'<text class="mt-point-label" x="0" y="{y + 15}">{escaped(shortened(point.label, _LONGEST_LABEL))}</text>',
            f'<text class="mt-point-value mt-wide" x="100%" y="{y + 15}" text-anchor="end">{escaped(short)}</text>',
            _drawn(point.value, point.low, point.high, scale=scale, y=y + 29, published=point.published),
            "</g>",
        ]
    if not points:
        parts.append(f'<text class="mt-tick" x="50%" y="{_TOP + 24}" text-anchor="middle">nothing to show</text>')
    parts.append("</svg></div>")
    below = " ".join(part for part in (x_label, note) if part)
    if below:
        parts.append(f'<p class="mt-figure-note">{escaped(below)}</p>')
    return markup(*parts, "</figure>")


def interval_mark(
    value: float | None, low: float | None, high: float | None, *, scale: Scale = SHARES, published: bool = False
) -> Markup:
    """Draws one value with its interval for a cell of a table; the cells beside it say the same in numbers.

    Args:
        value: None draws the empty axis.
        low: lower end of the interval, None without one.
        high: upper end.
        scale: the axis that all rows share.
        published: whether it is a paper's.
    """
    kind = " mt-published" if published else ""
    drawn = _drawn(value, low, high, scale=scale, y=10, published=published)
    return markup(f'<svg class="mt-mark mt-steps-{len(scale.ticks) - 1}{kind}" aria-hidden="true">{drawn}</svg>')


def axis_ticks(scale: Scale = SHARES) -> Markup:
    """Writes the ends and the middle of an axis, for the heading of a column of `interval_mark`."""
    ticks = scale.ticks[:: max(1, (len(scale.ticks) - 1) // 2)]
    texts = "".join(
        f'<text class="mt-tick" x="{scale.percent(tick):g}%" y="11" text-anchor="{_anchor(scale.percent(tick))}">'
        f"{escaped(label)}</text>"
        for tick, label in ticks
    )
    return markup(f'<svg class="mt-mark" width="100%" height="14" aria-hidden="true">{texts}</svg>')


def _anchor(percent: float) -> str:
    return "start" if percent <= 0 else "end" if percent >= 100 else "middle"


def _drawn(value: float | None, low: float | None, high: float | None, *, scale: Scale, y: int, published: bool) -> str:
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
    return "".join(parts)


def interval_words(point: IntervalPoint, unit: str = "") -> str:
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
