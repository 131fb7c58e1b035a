"""The numbers that the pages compute in the browser, compared with those of Python."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.io.cells import table_cell
from medical_tasks.leaderboard.ranking import ranges
from medical_tasks.report.html_parts import assets_text
from medical_tasks.runs.numbers import number
from medical_tasks.scoring.intervals import wilson_interval
from medical_tasks.scoring.paired import paired_bootstrap

quickjs = pytest.importorskip(
    "quickjs", reason="quickjs is not installed (pip install .[dev])"
)

Share = tuple[float, float, float]


@pytest.fixture(scope="module")
def figures() -> Any:
    context = quickjs.Context()
    context.eval(assets_text("figures.js", "leaderboard/assets"))
    call = context.eval(
        "(name, text) => { const r = Figures[name](...JSON.parse(text)); return r === undefined ? null : JSON.stringify(r); }"
    )

    def run(name: str, *arguments: Any) -> Any:
        return json.loads(call(name, json.dumps(arguments)))

    return run


# quarters are ties
numbers = st.floats(-1000, 1000) | st.integers(-4000, 4000).map(lambda n: n / 4)


@settings(derandomize=True)
@given(value=numbers, unit=st.sampled_from(["", "number", "per answer", "cosine"]))
def test_numbers_are_formatted_as_in_python(
    figures: Any, value: float, unit: str
) -> None:
    ours, theirs = figures("number", value, unit), number(value, unit)
    assert ours == theirs or (float(ours), float(theirs)) == (0.0, 0.0)


limits = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(
    lambda two: (min(two) / 8, max(two) / 8)
)


@settings(derandomize=True)
@given(st.lists(limits, max_size=9))
def test_ranks_equal_those_of_the_board(
    figures: Any, intervals: list[tuple[float, float]]
) -> None:
    assert figures("ranges", intervals) == [
        [ranks.first, ranks.last] for ranks in ranges(intervals)
    ]


def test_mover_by_hand(figures: Any) -> None:
    # Two: 0.5 (0.4 to 0.7) and 0.9 (0.6 to 0.94). Below: sqrt(0.1^2 + 0.3^2)/2, above:
    # sqrt(0.2^2 + 0.04^2)/2.
    assert figures("mean", [[0.5, 0.4, 0.7], [0.9, 0.6, 0.94]]) == pytest.approx(
        [0.7, 0.7 - 0.158113883, 0.7 + 0.101980390]
    )
    assert figures("mean", [[0.5, 0.4, 0.7]]) == pytest.approx([0.5, 0.4, 0.7])


def test_the_interval_of_a_mean_covers_it(figures: Any) -> None:
    """Five benchmarks of 100 to 1,047 items; at nominal 95 % within 93.5 to 96.5 (2,000 draws: standard error 0.5 points)."""
    draw = np.random.default_rng(11)
    truth, counts = (
        np.array([0.2, 0.9, 0.55, 0.7, 0.4]),
        np.array([1047, 201, 529, 120, 100]),
    )
    covered = 0
    for right in draw.binomial(counts, truth, size=(2000, 5)):
        points = [
            (k / n, *wilson_interval(int(k), int(n)))
            for k, n in zip(right, counts, strict=True)
        ]
        _, low, high = figures("mean", points)
        covered += low <= truth.mean() <= high
    assert 0.935 <= covered / 2000 <= 0.965


@pytest.mark.parametrize("share", [1, 4])
def test_a_paired_difference_equals_that_of_compare(figures: Any, share: int) -> None:
    """Within half a point of the clustered paired bootstrap of `medical-tasks compare`."""
    draw = np.random.default_rng(5)
    skill = draw.random(400 // share).repeat(share)
    a, b = (
        (draw.random(400) < skill).astype(float),
        (draw.random(400) < np.clip(skill + 0.08, 0, 1)).astype(float),
    )
    clusters = np.arange(400) // share
    paired = figures("paired", a.tolist(), b.tolist(), clusters.tolist())
    theirs = paired_bootstrap(a, b, clusters=clusters.tolist(), resamples=5000)
    assert paired["difference"] == pytest.approx(theirs.difference)
    assert paired["n"] == 400
    assert (paired["low"], paired["high"]) == pytest.approx(
        (theirs.ci_low, theirs.ci_high), abs=0.005
    )
    assert (paired["better"], paired["worse"]) == (
        int((b > a).sum()),
        int((b < a).sum()),
    )


def test_a_paired_difference_by_hand(figures: Any) -> None:
    # Gaps 1, 0, 0, -1 and twice more of each: mean 0; 12 clusters of one: half = 1.96
    # sqrt(6 * 12/11) / 12.
    a, b = [0, 1, 0, 1] * 3, [1, 1, 0, 0] * 3
    paired = figures("paired", a, b, list(range(12)))
    assert (
        paired["better"],
        paired["worse"],
        paired["same"],
        paired["difference"],
    ) == (
        3,
        3,
        6,
        0,
    )
    assert paired["high"] == pytest.approx(1.959964 * (6 * 12 / 11) ** 0.5 / 12)
    # An item that one of the two lacks is in no pair; fewer than ten sources have no interval.
    paired = figures("paired", [*a, None], [*b, 1], [1] * 13)
    assert (paired["n"], paired["low"]) == (12, None)
    assert figures("paired", [], [], [])["difference"] is None


@settings(derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12),
    st.booleans(),
)
def test_the_line_joins_the_pareto_front(
    figures: Any, points: list[tuple[int, int]], higher: bool
) -> None:
    kept = {
        points[index]
        for index in figures(
            "pareto", [(x, y if higher else -y) for x, y in points], higher
        )
    }
    best = {
        (x, y)
        for x, y in points
        if not any((c <= x and s > y) or (c < x and s >= y) for c, s in points)
    }
    assert kept == best


@settings(derandomize=True)
@given(st.text(st.sampled_from("=+-@＝＋\t\r\n .1e\u00a0x,\"'"), max_size=6))
def test_cells_are_inert_as_in_python(figures: Any, text: str) -> None:
    # A CSV reader treats a bare line end as the end of a row, unless it is quoted.
    assert list(
        csv.reader(io.StringIO(figures("csv", [[text, "end"]]), newline=""))
    ) == [[table_cell(text), "end"]]


def test_differences_of_counts_may_exceed_one(figures: Any) -> None:
    a, b = [0.0] * 20, [float(index % 7) for index in range(20)]
    (bounded, free) = (
        figures("paired", a, b, list(range(20)), *most) for most in ((), (1e9,))
    )
    assert (bounded["high"], free["difference"]) == (1, pytest.approx(sum(b) / 20))
    assert free["low"] < free["difference"] < free["high"]
