"""A plot of proportions with their intervals, as the text of a self-contained SVG file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["IntervalPoint", "interval_plot"]

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 56, 64
_TICKS = (0, 20, 40, 60, 80, 100)
_MOST_LABELS = 20


@dataclass(frozen=True, slots=True)
class IntervalPoint:
    """A proportion in 0-1 with its interval."""

    x: int
    value: float
    low: float
    high: float
    n: int


def interval_plot(points: Sequence[IntervalPoint], *, title: str, x_label: str, y_label: str) -> str:
    """Draws points with bars for their intervals as an SVG document, whose description lists every point in words."""
    for point in points:
        if not 0 <= point.low <= point.value <= point.high <= 1:
            raise ValueError(f"a proportion lies in its interval and both in 0 to 1; got {point}")
    ordered = sorted(points, key=lambda point: point.x)
    said = "; ".join(f"{point.x}: {_words(point)}" for point in ordered) or "no points"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(f"{y_label} by {x_label}. {said}.")}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{WIDTH / 2:g}" y="28" text-anchor="middle" font-size="16">{escape(title)}</text>',
    ]
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in _TICKS:
        y = _y(tick / 100)
        parts.append(f'<line x1="{LEFT}" y1="{y:g}" x2="{right}" y2="{y:g}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:g}" text-anchor="end">{tick}%</text>')
    parts.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" fill="none" stroke="#333333"/>')
    low, high = (ordered[0].x, ordered[-1].x) if ordered else (0, 1)
    step = max(1, -(-(high - low + 1) // _MOST_LABELS))
    for number in range(low, high + 1, step):
        x = _x(number, low, high)
        parts.append(f'<line x1="{x:g}" y1="{bottom}" x2="{x:g}" y2="{bottom + 5}" stroke="#333333"/>')
        parts.append(f'<text x="{x:g}" y="{bottom + 20}" text-anchor="middle">{number}</text>')
    for point in ordered:
        x = _x(point.x, low, high)
        top_y, low_y = _y(point.high), _y(point.low)
        parts.append(
            f'<g stroke="#1f5a96"><title>{point.x}: {_words(point)}</title>'
            f'<path d="M{x:g} {top_y:g}V{low_y:g}M{x - 5:g} {top_y:g}h10M{x - 5:g} {low_y:g}h10" fill="none"/>'
            f'<circle cx="{x:g}" cy="{_y(point.value):g}" r="4.5" fill="#1f5a96"/></g>'
        )
    if not ordered:
        parts.append(f'<text x="{WIDTH / 2:g}" y="{HEIGHT / 2:g}" text-anchor="middle">no points</text>')
    middle = (TOP + bottom) / 2
    parts.append(f'<text x="{(LEFT + right) / 2:g}" y="{HEIGHT - 18}" text-anchor="middle">{escape(x_label)}</text>')
    parts.append(
        f'<text x="20" y="{middle:g}" text-anchor="middle" transform="rotate(-90 20 {middle:g})">{escape(y_label)}</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _words(point: IntervalPoint) -> str:
    return f"{100 * point.value:.1f}% ({100 * point.low:.1f} to {100 * point.high:.1f}), n = {point.n}"


def _x(number: int, low: int, high: int) -> float:
    inner = WIDTH - LEFT - RIGHT - 60
    return LEFT + 30 + (inner / 2 if high == low else inner * (number - low) / (high - low))


def _y(value: float) -> float:
    return round(TOP + (HEIGHT - BOTTOM - TOP) * (1 - value), 2)
