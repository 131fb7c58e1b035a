from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medical_tasks.report.html_parts import assets_text
from medical_tasks.report.plots import (
    SHARES,
    Line,
    axis_ticks,
    curve_svg,
    interval_mark,
    interval_words,
    intervals_chart,
    plane_svg,
    scale_of,
)
from medical_tasks.spec import Plot, PlotPoint
from tests.report.page_reading import PageReader

RUN = PlotPoint(label="ours <1>", value=0.5, low=0.25, high=0.75, n=1200)
PAPER = PlotPoint(label="theirs", value=0.4, published=True, detail="a paper, table 2")


def chart(*points: PlotPoint, **more: Any) -> str:
    return intervals_chart(
        [Line(point.label, [point]) for point in points],
        id="f",
        title="Accuracy & more",
        **more,
    )


def test_intervals_are_drawn_at_their_values_and_described_in_words() -> None:
    text = chart(RUN, PAPER, note="A note.")
    read = PageReader(text)
    assert read.faults == []
    assert 'x1="25%" x2="75%"' in text
    assert 'cx="50%"' in text
    assert '<svg x="40%"' in text
    assert "ours <1>50.0 % (25.0 to 75.0), n = 1,200: 50.0 %" in read.text
    assert ": 40.0 %, reported, a paper, table 2." in read.text
    # A paper's mark is of another shape, not only of another colour.
    assert text.count("<circle") == text.count("<path") == 1
    # Colours are the page's, and units keep their own numbers.
    assert re.findall(r"#[0-9a-f]{3,6}\b|fill=|stroke=", text) == []
    assert (
        interval_words(replace(RUN, value=3.2, low=1.0, high=4.0), "number")
        == "3.2 (1.0 to 4.0), n = 1,200"
    )
    assert interval_words(RUN, "cosine") == "0.500 (0.250 to 0.750), n = 1,200"


def test_runs_of_a_row_keep_their_shape_and_few_items_are_marked() -> None:
    few, other = replace(RUN, n=9), replace(RUN, label="other", value=0.2)
    text = intervals_chart(
        [Line("a", [few, other, PAPER]), Line("b", [other])],
        id="f",
        title="t",
        series=[RUN.label, "other"],
    )
    assert PageReader(text).faults == []
    assert text.count('class="mt-point mt-s0 mt-few"') == 1
    assert text.count('class="mt-point mt-s1"') == 2 + 1  # and in the legend
    assert (
        "ours <1> 50.0 % (25.0 to 75.0), n = 9, too few to tell; other 20.0 %"
        in PageReader(text).text
    )
    assert "mt-few" in chart(replace(RUN, few=True))
    assert "mt-few" not in chart(replace(PAPER, n=5))


def test_missing_values_are_noted_and_not_drawn() -> None:
    for value in (None, math.nan, math.inf):
        point = PlotPoint(label="x", value=value, low=None, high=math.nan, n=20)
        assert interval_words(point) == "n/a"
        assert "<circle" not in chart(point)
        assert "<circle" not in plane_svg(
            [(point, RUN)], id="p", title="t", labels=("x", "y"), unit=""
        )
    assert "nothing to show" in chart()


def test_a_plane_has_both_intervals_and_numbers_for_papers() -> None:
    wrong = replace(RUN, value=2.0, low=1.0, high=3.0)
    text = plane_svg(
        [(wrong, RUN), (PAPER, PAPER)],
        id="p",
        title="t",
        labels=("wrong", "said"),
        unit="per answer",
    )
    read = PageReader(text)
    assert read.faults == []
    assert 'cx="66.67%"' in text
    assert (
        "ours <1>: wrong 2.00 (1.00 to 3.00), n = 1,200; said 50.0 % (25.0 to 75.0), n = 1,200."
        in read.text
    )
    assert "Papers: 1 theirs." in read.text


def test_a_curve_describes_each_point_and_leaves_out_missing_values() -> None:
    points = (
        replace(RUN, across=0.6),
        replace(RUN, across=0.9, value=0.7),
        replace(RUN, across=0.95, value=None),
    )
    plot = Plot(
        title="t", x_label="said", y_label="right", points=points, diagonal=True
    )
    text = curve_svg(plot, id="p", title="t")
    read = PageReader(text)
    assert read.faults == []
    assert text.count("<circle") == 2
    assert text.count("mt-curve") == 1
    assert 'class="mt-diagonal"' in text
    assert 'cx="60%" cy="132"' in text
    assert "said 60.0 %: right 50.0 % (25.0 to 75.0), n = 1,200." in read.text
    assert "1,200" in read.text


@pytest.mark.parametrize(
    ("values", "unit", "ends"),
    [
        ([0.2, None], "", (0, 1)),
        ([], "", (0, 1)),
        ([-0.2, 0.5], "cosine", (-1, 1)),
        ([0.0], "cosine", (0, 1)),
        ([3.0, 41.0], "number", (0, 50)),
        ([1.2], "", (0, 1.25)),
        ([-0.3, 0.4], "", (-0.4, 0.4)),
        ([math.nan, 7.0], "number", (0, 8)),
    ],
)
def test_axes_begin_at_zero_and_end_at_a_round_number(
    values: list[float | None], unit: str, ends: tuple[float, float]
) -> None:
    scale = scale_of(values, unit)
    assert (round(scale.low, 6), round(scale.high, 6)) == ends


@given(
    st.lists(st.floats(-1e6, 1e6), max_size=6),
    st.sampled_from(["", "number", "cosine"]),
)
@example([5e-324, -6.0], "")
@example([2.7e-16, -1.2e-07], "")
def test_an_axis_holds_its_values_in_few_steps(values: list[float], unit: str) -> None:
    scale = scale_of(values, unit)
    assert all(0 <= scale.percent(value) <= 100 for value in values)
    assert scale.low < scale.high
    assert 2 <= len(scale.ticks) <= 8
    low, high = min([0.0, *values]), max([0.0, *values])
    unseen = max(1e-9, (scale.high - scale.low) * 1e-9)
    assert scale.low <= low + unseen
    assert scale.high >= high - unseen


def test_a_mark_of_a_cell_is_decoration() -> None:
    text = interval_mark(0.5, 0.25, 0.75)
    assert 'aria-hidden="true"' in text
    assert "<title" not in text
    assert 'class="mt-mark mt-steps-4"' in text
    assert "<circle" not in interval_mark(None, None, None)
    assert axis_ticks(SHARES).count("<text") == 3
    # A report has thousands of them: the style holds what they share.
    assert len(text) < 240
    styles = assets_text("plots.css")
    assert ".mt .mt-mark line" in styles
    # The style has the lines of every axis.
    for top in (1.0, 2.0, 3.0, 7.0, 9.0, 11.0, 24.0, 30.0, 99.0):
        assert f".mt-steps-{len(scale_of([top], 'number').ticks) - 1} " in styles, top
