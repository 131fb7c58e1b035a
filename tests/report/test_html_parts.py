from __future__ import annotations

import re
from typing import Any

import pytest

from medical_tasks.report.html_parts import (
    COMPONENT_STYLES,
    PAGE_SCRIPTS,
    PAGE_STYLES,
    assets_text,
    component_styles,
    html_table,
)
from medical_tasks.report.table import Cell, Column, Row, Table
from tests.report.page_reading import PageReader

COLUMNS = (
    Column(name="model", label="Model", header=True, facet=True),
    Column(name="value", label="Value, %", kind="number", help="In percent."),
)
ROWS = [
    Row([Cell("a <b>"), Cell("12.0", 12.0)], tags=("verified",)),
    Row([Cell("c"), Cell("n/a")]),
]


def table(rows: list[Row] = ROWS, **more: Any) -> str:
    return html_table(
        Table(id="t", columns=COLUMNS, rows=rows, caption="A & B", **more)
    )


def test_a_table_is_whole_without_scripts() -> None:
    read = PageReader(
        table(filter_label="Filter", toggles=(("Verified", "verified", True),))
    )
    assert read.faults == []
    assert read.elements["th"] == 4
    assert read.elements["td"] == 2
    for words in ("A & B", "a <b>", "12.0", "n/a", "Verified"):
        assert words in read.text
    assert read.elements["button"] == 0, "what only a script can do is added by it"
    text = table(filter_label="Filter")
    assert text.count('scope="col"') == text.count('scope="row"') == 2
    assert 'data-tags="verified"' in text
    assert 'role="region" tabindex="0" aria-labelledby="t-caption"' in text
    # Controls are hidden until a script serves them.
    assert 'class="mt-controls" data-for="t" hidden' in text
    assert 'id="t-facet-model"' in text
    assert "t-facet-value" not in text


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (Cell("1,200", 1200), "<td>1,200</td>"),
        (Cell("66.7", 66.6667), '<td data-sort="66.6667">66.7</td>'),
        (Cell("n/a"), "<td>n/a</td>"),
        (Cell("12.0"), '<td data-sort="">12.0</td>'),
        (Cell("7/8", 0.875), '<td data-sort="0.875">7/8</td>'),
    ],
)
def test_a_number_has_a_sort_key_where_its_text_differs(
    cell: Cell, written: str
) -> None:
    """A report has thousands of cells: values that the script can read from the text are not repeated."""
    assert written in table([Row([Cell("a"), cell])])
    assert r"/^-?[0-9,]*[0-9](\.[0-9]+)?$/" in assets_text("table.js")


def test_an_empty_table_shows_a_message_and_rows_have_a_cell_per_column() -> None:
    text = table([], filter_label="Filter", empty="Nobody <yet>.")
    assert '<td class="mt-text" colspan="2">Nobody &lt;yet&gt;.</td>' in text
    assert "mt-controls" not in text
    with pytest.raises(
        ValueError, match="table t: a row has 1 cells, there are 2 columns"
    ):
        table([Row([Cell("a")])])


def test_assets_are_found_and_cannot_end_their_element() -> None:
    names = (*PAGE_STYLES, *PAGE_SCRIPTS)
    assert len(names) == 12
    for name in names:
        text = assets_text(name)
        assert len(text) > 200
        assert "</" not in text, name
        assert "\r" not in text
        assert "url(" not in text
        assert "http" not in text.replace('href^="http"', ""), name


def test_styles_of_components_are_scoped_and_cover_large_tables() -> None:
    rows = [Row([str(number), Cell("1", 1.0)]) for number in range(101)]
    assert "data-large" in table(rows)
    assert "data-large" not in table(rows[:100])
    assert "const MOST = 100;" in assets_text("table.js")
    assert "nth-child(n + 101)" in assets_text("table.css")
    text = component_styles()
    assert all(assets_text(name) in text for name in COMPONENT_STYLES)
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    selectors = [
        selector.strip()
        for rule in re.findall(r"([^{};]+)\{", bare)
        for selector in re.split(r",(?![^(]*\))", rule)
    ]
    inside = [selector for selector in selectors if not selector.startswith("@")]
    assert len(inside) > 60
    assert [
        selector
        for selector in inside
        if not re.match(r"(:root\[[^]]+\] |\.dark |\.light )?\.mt\b", selector)
    ] == []
