"""A plot of proportions over ordered groups (`accuracy by number of attributes`), as inline SVG."""

from __future__ import annotations

from medical_tasks.report.html_text import Markup, escaped, markup
from medical_tasks.report.plots import IntervalPoint, interval_words, shortened
from medical_tasks.report.plots_scale import SHARES, finite
from medical_tasks.spec import Plot, PlotPoint

__all__ = ["curve_svg"]

_TOP, _HEIGHT, _BELOW = 12, 240, 30
_MOST_LABELS, _MOST_LABELS_NARROW = 16, 6


def curve_svg(plot: Plot, *, id: str) -> Markup:  # noqa: A002 - what an element calls it
    """Draws the points from left to right with bars for their intervals, on an axis from 0 to 100 %.

    Args:
        plot: what is drawn; its points in their order.
        id: unique in the page.

    Returns:
        A `<figure>`; the plot's description says every number in words. A table of the points is the caller's part.
    """
    points = plot.points
    said = "; ".join(f"{point.label}: {_words(point)}" for point in points) or "no points"
    bottom = _TOP + _HEIGHT
    parts = [
        f'<figure class="mt-figure"><figcaption class="mt-figure-title">{escaped(plot.title)}</figcaption>',
        f'<p class="mt-axis-label">{escaped(plot.y_label)}</p>',
        f'<div class="mt-plot mt-curve"><svg class="mt-svg" width="100%" height="{bottom + _BELOW}" role="img" '
        f'aria-labelledby="{escaped(id)}-title {escaped(id)}-desc">',
        f'<title id="{escaped(id)}-title">{escaped(plot.title)}</title>',
        f'<desc id="{escaped(id)}-desc">{escaped(f"{plot.y_label} by {plot.x_label}. {said}.")}</desc>',
    ]
    for tick, label in SHARES.ticks:
        y = _y(tick)
        parts.append(f'<line class="mt-grid" x1="0" x2="100%" y1="{y:g}" y2="{y:g}"/>')
        parts.append(f'<text class="mt-tick" x="-8" y="{y + 4:g}" text-anchor="end">{escaped(label)}</text>')
    parts.append(f'<line class="mt-axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>')
    every, narrow = _every(len(points), _MOST_LABELS), _every(len(points), _MOST_LABELS_NARROW)
    room = max(4, 110 // max(1, min(len(points), _MOST_LABELS)))
    for place, point in enumerate(points):
        x = f"{100 * (place + 0.5) / len(points):.2f}%"
        parts.append(f'<g class="mt-point"><title>{escaped(f"{point.label}: {_words(point)}")}</title>')
        value, low, high = finite(point.value), finite(point.low), finite(point.high)
        if low is not None and high is not None:
            parts.append(f'<line class="mt-bar" x1="{x}" x2="{x}" y1="{_y(high):g}" y2="{_y(low):g}"/>')
            caps = f'<path class="mt-bar" d="M-5 {_y(high):g}h10M-5 {_y(low):g}h10"/>'
            parts.append(f'<svg x="{x}" y="0" width="1" height="1" overflow="visible">{caps}</svg>')
        if value is not None:
            parts.append(f'<circle class="mt-dot" cx="{x}" cy="{_y(value):g}" r="4.5"/>')
        if place % every == 0:
            kind = "mt-tick" if place % narrow == 0 else "mt-tick mt-wide"
            label = escaped(shortened(point.label, room))
            parts.append(f'<text class="{kind}" x="{x}" y="{bottom + 20}" text-anchor="middle">{label}</text>')
        parts.append("</g>")
    if not points:
        parts.append(f'<text class="mt-tick" x="50%" y="{_y(0.5):g}" text-anchor="middle">no points</text>')
    parts.append(f'</svg></div><p class="mt-axis-label mt-below">{escaped(plot.x_label)}</p>')
    if plot.note:
        parts.append(f'<p class="mt-figure-note">{escaped(plot.note)}</p>')
    return markup(*parts, "</figure>")


def _every(count: int, most: int) -> int:
    return max(1, -(-count // most))


def _y(value: float) -> float:
    return round(_TOP + _HEIGHT * (1 - SHARES.percent(value) / 100), 2)


def _words(point: PlotPoint) -> str:
    return interval_words(
        IntervalPoint(label=point.label, value=point.value, low=point.low, high=point.high, n=point.n)
    )
