from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from medical_tasks.report.html_parts import assets_text
from medical_tasks.report.plots import (
    SHARES,
    axis_ticks,
    curve_svg,
    interval_mark,
    interval_words,
    intervals_svg,
    scale_of,
)
from medical_tasks.spec import Plot, PlotPoint
from tests.report.page_reading import PageReader

RUN = PlotPoint(label="ours <1>", value=0.5, low=0.25, high=0.75, n=1200)
PAPER = PlotPoint(label="theirs", value=0.4, published=True, detail="a paper, table 2")


def test_intervals_are_drawn_where_they_are_and_said_in_words() -> None:
    text = intervals_svg([RUN, PAPER], id="f", title="Accuracy & more", note="A note.")
    read = PageReader(text)
    assert read.faults == []
    assert 'x1="25%" x2="75%"' in text
    assert 'cx="50%"' in text
    assert '<svg x="40%"' in text
    assert "ours <1>: 50.0 % (25.0 to 75.0), n = 1,200; theirs: 40.0 %, reported, a paper, table 2." in read.text
    assert 'role="img" aria-labelledby="f-title f-desc"' in text
    # A paper's mark is of another shape, not only of another colour.
    assert text.count("<circle") == text.count("<path") == 1
    # Colours are the page's, and units keep their own numbers.
    assert re.findall(r"#[0-9a-f]{3,6}\b|fill=|stroke=", text) == []
    assert interval_words(replace(RUN, value=3.2, low=1.0, high=4.0), "number") == "3.2 (1.0 to 4.0), n = 1,200"
    assert interval_words(RUN, "cosine") == "0.500 (0.250 to 0.750), n = 1,200"


def test_what_cannot_be_computed_is_said_and_not_drawn() -> None:
    for value in (None, math.nan, math.inf):
        point = PlotPoint(label="x", value=value, low=None, high=math.nan, n=0)
        assert interval_words(point) == "n/a"
        assert "<circle" not in intervals_svg([point], id="f", title="t")
    assert "nothing to show" in intervals_svg([], id="f", title="t")


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


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(-1e6, 1e6), max_size=6), st.sampled_from(["", "number", "cosine"]))
@example([5e-324, -6.0], "")
@example([-5e-324], "number")
def test_an_axis_holds_its_values_in_few_steps(values: list[float], unit: str) -> None:
    scale = scale_of(values, unit)
    assert all(0 <= scale.percent(value) <= 100 for value in values)
    assert scale.low < scale.high
    assert 2 <= len(scale.ticks) <= 8
    low, high = min([0.0, *values]), max([0.0, *values])
    unseen = (scale.high - scale.low) * 1e-9
    assert scale.low <= low + unseen
    assert scale.high >= high - unseen


def test_a_mark_of_a_cell_is_decoration() -> None:
    text = interval_mark(0.5, 0.25, 0.75)
    assert 'aria-hidden="true"' in text
    assert "<title" not in text
    assert 'class="mt-mark mt-steps-4"' in text
    assert "<circle" not in interval_mark(None, None, None)
    assert axis_ticks(SHARES).count("<text") == 3
    # A report has thousands of them: what they share is said by the style.
    assert len(text) < 240
    styles = assets_text("plots.css")
    assert ".mt .mt-mark line" in styles
    for top in (1.0, 2.0, 3.0, 7.0, 9.0, 11.0, 24.0, 30.0, 99.0):  # every axis has its lines in the style
        assert f".mt-steps-{len(scale_of([top], 'number').ticks) - 1} " in styles, top


def test_a_curve_draws_every_point_and_labels_what_has_room() -> None:
    points = tuple(
        PlotPoint(label=f"group {number}", value=number / 40, low=max(0.0, number / 40 - 0.1), high=1.0, n=number)
        for number in range(40)
    )
    plot = Plot(title="T", x_label="x", y_label="y", points=points)
    text = curve_svg(plot, id="c")
    assert PageReader(text).faults == []
    assert text.count("<circle") == 40
    assert 10 < text.count('text-anchor="middle"') < 20
    assert "group 39: 97.5 % (87.5 to 100.0), n = 39" in PageReader(text).text
    assert "no points" in curve_svg(replace(plot, points=()), id="c")
