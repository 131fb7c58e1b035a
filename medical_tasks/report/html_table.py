"""A table of a page: whole without scripts; `table.js` adds sorting, filtering and a line that says how much is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from medical_tasks.report.html_text import Markup, attributes, escaped, link, markup

__all__ = ["Cell", "Column", "Row", "Toggle", "html_table"]


NOTHING = Markup("")
_LARGE = 100  # as in table.js and table.css
_NUMBER = re.compile(r"-?[0-9,]*[0-9](\.[0-9]+)?")  # as in table.js


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: short name, unique in the table: `data-name` of its header.
        label: heading.
        kind: `text` to the left, `number` and `range` to the right in digits of one width and sorted by `Cell.sort`; `plot`
            holds drawings and is not sorted.
        help: a sentence about it, shown when the heading is pointed at and read with it.
        header: its cells name the row.
        facet: offers a list of its values to choose from, above the table.
        axis: shown below the heading, such as the ticks of a plot.
        rising: a first look at it is at the smallest, as with ranks; else numbers begin with the largest.
    """

    name: str
    label: str
    kind: Literal["text", "number", "range", "plot"] = "text"
    help: str = ""
    header: bool = False
    facet: bool = False
    axis: Markup = NOTHING
    rising: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        text: what is shown; escaped, unless it is `Markup`.
        sort: what it is sorted by: a number, or a text; None takes the text in a text column and "last" in others.
        title: more, when pointed at.
        href: address on the web, or `#...`; any other is left out.
        svg: a drawing after the text, of `plots`.
        note: smaller text below.
        strong: stands out.
    """

    text: str = ""
    sort: float | str | None = None
    title: str = ""
    href: str = ""
    svg: Markup = NOTHING
    note: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row.

    Attributes:
        cells: one a column.
        tags: words that a `Toggle` asks for.
        attributes: of the row element (`id`, `data-...`, `class`), escaped.
    """

    cells: Sequence[Cell]
    tags: Sequence[str] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Toggle:
    """A box to tick above the table: only rows with the tag are shown.

    Attributes:
        label: what it says.
        tag: the tag.
        on: whether it is ticked at first.
    """

    label: str
    tag: str
    on: bool = False


def html_table(
    columns: Sequence[Column],
    rows: Sequence[Row | Sequence[Cell]],
    *,
    id: str,  # noqa: A002 - what an element calls it
    caption: str,
    filter_label: str = "",
    toggles: Sequence[Toggle] = (),
    sortable: bool = True,
    show_caption: bool = True,
    empty: str = "Nothing to show.",
) -> Markup:
    """Makes a table in a region of its own that scrolls sideways where the page is narrow.

    Args:
        columns: at least one.
        rows: a cell a column.
        id: of the table; what belongs to it has ids that begin with it.
        caption: says what is in it.
        filter_label: label of the field that filters rows; "" for no filter, facets and toggles.
        toggles: boxes beside the filter.
        sortable: whether headings sort.
        show_caption: False keeps the caption for readers of the table alone (a heading says the same).
        empty: what stands there without any row.

    Returns:
        HTML: `<div class="mt-table-block">` with controls (hidden until `table.js` runs), the table, and a live line.

    Raises:
        ValueError: A row has not as many cells as there are columns.
    """
    whole = [row if isinstance(row, Row) else Row(row) for row in rows]
    for row in whole:
        if len(row.cells) != len(columns):
            raise ValueError(f"table {id}: a row has {len(row.cells)} cells, there are {len(columns)} columns")
    head = "".join(_heading(column, sortable=sortable) for column in columns)
    body = "".join(_row(row, columns) for row in whole)
    if not whole:
        body = f'<tr class="mt-empty"><td class="mt-text" colspan="{len(columns)}">{escaped(empty)}</td></tr>'
    named = attributes(
        {"id": id, "class": "mt-table", "data-sortable": sortable and len(whole) > 1, "data-large": len(whole) > _LARGE}
    )
    hidden = "" if show_caption else ' class="mt-hidden-text"'
    region = attributes({"class": "mt-scroll", "role": "region", "tabindex": "0", "aria-labelledby": f"{id}-caption"})
    controls = (
        _controls(columns, base=id, label=filter_label, toggles=toggles) if filter_label and len(whole) > 1 else ""
    )
    # With more than a few rows it is worth saying how many of them are seen.
    status = f'<p class="mt-status" id="{escaped(id)}-status" role="status" hidden></p>' if controls else ""
    return markup(
        '<div class="mt-table-block">',
        controls,
        f"<div{region}><table{named}>",
        f'<caption id="{escaped(id)}-caption"><span{hidden}>{escaped(caption)}</span></caption>',
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>",
        status,
        "</div>",
    )


def _heading(column: Column, *, sortable: bool) -> str:
    named: dict[str, str | bool | None] = {
        "scope": "col",
        "class": f"mt-{column.kind}",
        "data-name": column.name,
        "data-kind": column.kind,
        "data-sorts": sortable and column.kind != "plot",
        "data-facet": column.facet,
        "data-rising": column.rising,
        "title": column.help or None,
    }
    return f'<th{attributes(named)}><span class="mt-label">{escaped(column.label)}</span>{column.axis}</th>'


def _row(row: Row, columns: Sequence[Column]) -> str:
    tags = {"data-tags": " ".join(row.tags)} if row.tags else {}
    cells = "".join(_cell(cell, column) for cell, column in zip(row.cells, columns, strict=True))
    return f"<tr{attributes({**row.attributes, **tags})}>{cells}</tr>"


def _cell(cell: Cell, column: Column) -> str:
    text = link(cell.text, cell.href) if cell.href else escaped(cell.text)
    inner = f"<strong>{text}</strong>" if cell.strong else text
    if cell.note:
        inner += f'<span class="mt-note">{escaped(cell.note)}</span>'
    named: dict[str, str | bool | None] = {
        "scope": "row" if column.header else None,
        # A page has thousands of cells, most of them numbers: those need no class, the style knows them by that.
        "class": None if column.kind in ("number", "range") and not column.header else f"mt-{column.kind}",
        "data-sort": _sort_key(cell, column),
        "title": cell.title or None,
    }
    tag = "th" if column.header else "td"
    return f"<{tag}{attributes(named)}>{inner}{cell.svg}</{tag}>"


def _sort_key(cell: Cell, column: Column) -> str | None:
    """What `table.js` sorts a cell by, where it is not what the cell shows."""
    if column.kind == "text":
        return None if cell.sort is None else str(cell.sort)
    shown = float(cell.text.replace(",", "")) if _NUMBER.fullmatch(cell.text) else None
    if cell.sort == shown:
        return None
    return "" if cell.sort is None else str(cell.sort)


def _controls(columns: Sequence[Column], *, base: str, label: str, toggles: Sequence[Toggle]) -> str:
    parts = [
        f'<div class="mt-controls" data-for="{escaped(base)}" hidden><div class="mt-field mt-grow">',
        f'<label for="{escaped(base)}-filter">{escaped(label)}</label>',
        f'<input id="{escaped(base)}-filter" type="search" autocomplete="off" spellcheck="false" class="mt-filter"></div>',
    ]
    for column in columns:
        if column.facet:
            made = f"{base}-facet-{column.name}"
            parts.append(
                f'<div class="mt-field"><label for="{escaped(made)}">{escaped(column.label)}</label>'
                f'<select id="{escaped(made)}" class="mt-facet" data-name="{escaped(column.name)}">'
                '<option value="">all</option></select></div>'
            )
    for number, toggle in enumerate(toggles):
        named = attributes({"data-tag": toggle.tag, "checked": toggle.on})
        parts.append(
            f'<div class="mt-field mt-check"><input id="{escaped(base)}-toggle-{number}" type="checkbox" class="mt-toggle"{named}>'
            f'<label for="{escaped(base)}-toggle-{number}">{escaped(toggle.label)}</label></div>'
        )
    return "".join([*parts, "</div>"])
