"""The pictures of docs/how_sure.md: `python measurements/how_sure.py RECORDED.csv --out docs/pictures`.

RECORDED.csv is the authors' file of one model's answers to the 1,047 rows of
MedCalc-Bench v1.0. What its picture does not show of recorded answers is simulated with
seed 0.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medical_tasks.report.html_parts import escaped
from medical_tasks.scoring.correction import Verdicts, corrected, rescoring
from medical_tasks.scoring.means import proportion_interval
from medical_tasks.scoring.paired import paired_bootstrap

_LEFT, _WIDTH, _ROW = 190, 330, 22


@dataclass(frozen=True)
class Line:
    """A line of a picture: a value with its interval, in percentage points."""

    label: str
    value: float
    low: float
    high: float


def drawn(
    lines: Sequence[Line],
    *,
    title: str,
    truth: float | None = None,
    low: float = 0.0,
    high: float = 100.0,
    tell: bool = True,
) -> str:
    """Draws intervals one below the other as SVG; with `tell`, those that miss the truth (the dashed line) are orange."""

    def x(value: float) -> str:
        return (
            f"{_LEFT + _WIDTH * (min(max(value, low), high) - low) / (high - low):.1f}"
        )

    bottom = 34 + _ROW * len(lines)
    parts = [f'<text x="8" y="18" font-weight="bold">{escaped(title)}</text>']
    if truth is not None:
        parts.append(
            f'<line x1="{x(truth)}" x2="{x(truth)}" y1="28" y2="{bottom}" stroke="#888" stroke-dasharray="4 3"/>'
        )
    for index, line in enumerate(lines):
        y = 42 + _ROW * index
        colour = (
            "#2a6fdb"
            if truth is None or not tell or line.low <= truth <= line.high
            else "#d9660a"
        )
        parts.append(f'<text x="8" y="{y + 4}">{escaped(line.label)}</text>')
        parts.append(
            f'<line x1="{x(line.low)}" x2="{x(line.high)}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="3"/>'
        )
        parts.append(f'<circle cx="{x(line.value)}" cy="{y}" r="5" fill="{colour}"/>')
    for tick in np.linspace(low, high, 5):
        parts.append(
            f'<text x="{x(tick)}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        )
    description = "; ".join(
        f"{line.label}: {line.value:.1f} ({line.low:.1f} to {line.high:.1f})"
        for line in lines
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 30} {bottom + 26}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="#777"><title>{escaped(title)}</title><desc>{escaped(description)}</desc>'
        f"{''.join(parts)}</svg>\n"
    )


def line(label: str, estimate: Any) -> Line:
    """A line of an estimate."""
    return Line(
        label, 100 * estimate.value, 100 * estimate.ci_low, 100 * estimate.ci_high
    )


def pictures(rows: Sequence[dict[str, str]]) -> dict[str, str]:
    """Draws the pictures, by name."""
    random = np.random.default_rng(0)
    right = np.array([row["Result"] == "Correct" for row in rows], dtype=float)
    svgs = {}

    drawings = [random.choice(right, 100, replace=False) for _ in range(12)]
    lines = [
        line(f"100 questions, draw {number}", proportion_interval(some))
        for number, some in enumerate(drawings, 1)
    ]
    svgs["sample"] = drawn(
        lines,
        title="Twelve samples of one model's answers",
        truth=100 * right.mean(),
        high=40,
    )

    first = random.random(400) < 0.50
    second = np.where(random.random(400) < 0.85, first, random.random(400) < 0.72)
    pair = paired_bootstrap(first.astype(float), second.astype(float))
    lines = [
        line(f"model {name}", proportion_interval(answers))
        for name, answers in (("A", first), ("B", second))
    ]
    lines.append(
        Line(
            "B - A, question by question",
            100 * pair.difference,
            100 * pair.ci_low,
            100 * pair.ci_high,
        )
    )
    svgs["pair"] = drawn(
        lines,
        title="Two models, the same 400 questions",
        truth=0,
        low=-25,
        high=75,
        tell=False,
    )

    notes = np.repeat(np.arange(60), 5)
    alike = (random.random(60)[notes] < 0.5) ^ (random.random(300) < 0.15)
    lines = [
        line("as 300 questions", proportion_interval(alike)),
        line("as 60 notes", proportion_interval(alike, clusters=notes.tolist())),
    ]
    svgs["clusters"] = drawn(
        lines, title="Five questions on each of 60 notes", low=20, high=80
    )

    truth = random.random(1000) < 0.6
    gold = random.random(400) < 0.6
    judged, judged_gold = (
        np.where(
            is_true,
            random.random(len(is_true)) < 0.95,
            random.random(len(is_true)) < 0.4,
        )
        for is_true in (truth, gold)
    )
    names = [
        ["yes" if label else "no" for label in labels] for labels in (gold, judged_gold)
    ]
    run = Verdicts(
        np.stack([judged, ~judged], axis=1).astype(float),
        np.ones(1000),
        np.zeros(1000),
        np.ones(1000),
    )
    lines = [
        line("as the judge says", proportion_interval(judged)),
        line(
            "corrected by 400 labels",
            corrected(rescoring(names[0], names[1], ("yes", "no")), run)[0],
        ),
    ]
    svgs["judge"] = drawn(lines, title="A judge that is too kind", truth=60)

    lines = []
    for number in range(1, 6):
        moved = 0.5 + 0.05 * random.standard_normal()
        lines.append(
            line(f"run {number}", proportion_interval(random.random(300) < moved))
        )
    svgs["repeats"] = drawn(
        lines, title="The same model, asked five times", truth=50, low=30, high=70
    )

    groups: dict[str, list[float]] = defaultdict(list)
    for row, value in zip(rows, right, strict=True):
        groups[row["Category"]].append(value)
    sizes = sorted(groups.items(), key=lambda group: -len(group[1]))
    lines = [
        line(f"{name}, {len(values)} questions", proportion_interval(values))
        for name, values in sizes
    ]
    svgs["groups"] = drawn(
        lines, title="The same answers by category", truth=100 * right.mean()
    )
    return svgs


def main(words: Sequence[str] | None = None) -> int:
    """Writes the pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recorded", type=Path, metavar="RECORDED.csv")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/pictures"), metavar="DIR"
    )
    options = parser.parse_args(words)
    with options.recorded.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in pictures(rows).items():
        (options.out / f"how_sure_{name}.svg").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
