"""What HTML pages are made of: escaped text, tables, and the shell of a page with its styles and scripts.

A page is one file that requests nothing and forbids the browser to. Tables are whole without scripts; `table.js` adds sorting,
filtering and a line that says how much is shown.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup as Markup  # re-exported

if TYPE_CHECKING:
    from jinja2 import Environment

# A lone surrogate cannot be stored as UTF-8; control characters are not allowed in HTML (tab and line ends are).
_UNSTORABLE = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WEB = re.compile(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)
_FRAGMENT = re.compile(r"#[A-Za-z0-9._~%/:+@=,;!-]*")


def markup(*parts: str) -> Markup:
    """Joins parts that are HTML already."""
    return Markup("".join(parts))


@cache
def _environment() -> Environment:
    """The templates: every text put into one is escaped; a line break in one, with the blanks after it, is left out."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: re.sub(r"\n\s*", "", assets_text(name, ""))),
        autoescape=True,
        finalize=lambda value: escaped(value if isinstance(value, str) else str(value)),
        undefined=StrictUndefined,
    )
    environment.globals |= {"attributes": attributes, "link": link}
    environment.filters["g"] = lambda value: f"{value:g}"
    return environment


def rendered(template: str, *, room: str = "report", **values: Any) -> Markup:
    """Fills a template of a room's `templates/`."""
    return Markup(_environment().get_template(f"{room}/templates/{template}").render(values))


def escaped(text: str) -> Markup:
    r"""Makes text safe for HTML, inside an element and inside a quoted attribute; `Markup` stays as it is.

    Lone surrogates and control characters become `\\ud800`, `\\x00`, since neither can stand in a page.
    """
    if isinstance(text, Markup):
        return text
    text = str(text).replace("\r\n", "\n").replace("\r", "\n")
    text = _UNSTORABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    text = _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    # Both end a line for some readers of HTML and for none of ours.
    return Markup(html.escape(text).replace("\u2028", "&#x2028;").replace("\u2029", "&#x2029;"))


def escaped_content(text: str) -> Markup:
    """Escapes text that stands in an element and never in an attribute: quotes stay as they are, in JSON a third of the text."""
    return Markup(str(escaped(text)).replace("&quot;", '"').replace("&#x27;", "'"))


def attributes(values: Mapping[str, str | bool | None]) -> Markup:
    """Writes attributes, each with a blank before it; True gives the bare name, None and False leave it out."""
    parts = []
    for name, value in values.items():
        if value is True:
            parts.append(f" {name}")
        elif value is not None and value is not False:
            parts.append(f' {name}="{escaped(value)}"')
    return markup(*parts)


def link(text: str, address: str) -> Markup:
    """Makes a link of an address on the web or within the page; of any other address (`javascript:`) only the text."""
    if _FRAGMENT.fullmatch(address):
        return markup(f'<a href="{escaped(address)}">', escaped(text), "</a>")
    if _WEB.fullmatch(address):
        return markup(
            f'<a href="{escaped(address)}" rel="noreferrer noopener">', escaped(text), "</a>"
        )
    return escaped(text)


NOTHING = Markup("")
_LARGE = 100  # as in table.js and table.css
_NUMBER = re.compile(r"-?[0-9,]*[0-9](\.[0-9]+)?")  # as in table.js


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column; `number` and `range` stand to the right and are sorted by `Cell.sort`, `plot` holds drawings and is not sorted."""

    name: str  # unique in the table: `data-name` of its header
    label: str
    kind: Literal["text", "number", "range", "plot"] = "text"
    help: str = ""  # shown when the heading is pointed at and read with it
    header: bool = False  # its cells name the row
    facet: bool = False  # offers a list of its values to choose from, above the table
    axis: Markup = NOTHING  # shown below the heading, such as the ticks of a plot


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell."""

    text: str = ""  # what is shown; escaped, unless it is `Markup`
    sort: float | str | None = (
        None  # what it is sorted by; None takes the text in a text column and "last" in others
    )
    title: str = ""
    href: str = ""  # address on the web, or `#...`; any other is left out
    svg: Markup = NOTHING  # a drawing after the text
    note: str = ""  # smaller text below
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row."""

    cells: Cells
    tags: Sequence[str] = ()  # words that a toggle asks for


Cells = Sequence[Cell | str]


def html_table(
    columns: Sequence[Column],
    rows: Iterable[Row | Cells],
    *,
    id: str,  # noqa: A002 - what an element calls it
    caption: str,
    filter_label: str = "",
    toggles: Sequence[tuple[str, str, bool]] = (),
    show_caption: bool = True,
    empty: str = "Nothing to show.",
) -> Markup:
    """Makes a table that scrolls sideways where the page is narrow; its controls stay hidden until `table.js` runs.

    `id`: of the table; what belongs to it has ids that begin with it.
    `filter_label`: label of the field that filters rows; "" for no filter, facets and toggles.
    `toggles`: boxes to tick, each with its label, the tag of the rows that are shown then, and whether it is ticked at first.
    `show_caption`: False keeps the caption for readers of the table alone (a heading says the same).
    """
    whole = [row if isinstance(row, Row) else Row(row) for row in rows]
    for row in whole:
        if len(row.cells) != len(columns):
            raise ValueError(
                f"table {id}: a row has {len(row.cells)} cells, there are {len(columns)} columns"
            )
    return rendered(
        "table.html",
        columns=columns,
        rows=whole,
        row_cells=lambda row: [
            _named(cell, column) for cell, column in zip(row.cells, columns, strict=True)
        ],
        id=id,
        caption=caption,
        filter_label=filter_label,
        toggles=toggles,
        sortable=len(whole) > 1,
        controls=bool(filter_label) and len(whole) > 1,
        large=len(whole) > _LARGE,
        show_caption=show_caption,
        empty=empty,
    )


def report_table(
    name: str, rows: Iterable[Row | Cells], *, axis: Markup = NOTHING, **more: Any
) -> Markup:
    """Makes a table of `tables.json`; `more`: arguments of `html_table`, and columns left open there, by name."""
    known = json.loads(assets_text("tables.json"))
    said = {"id": name, **known["tables"][name], **more}
    columns: list[Column] = []
    for each in said.pop("columns"):
        if isinstance(each, str) and each in more:
            columns += said.pop(each)
        else:
            made = Column(**(known["columns"][each] if isinstance(each, str) else each))
            columns.append(replace(made, axis=axis) if made.kind == "plot" else made)
    return html_table(columns, rows, **said)


def _named(shown: Cell | str, column: Column) -> tuple[Cell, Column, str, dict[str, str | None]]:
    """A cell, its column, its element and that element's attributes."""
    cell = shown if isinstance(shown, Cell) else Cell(shown)
    named = {
        "scope": "row" if column.header else None,
        # A page has thousands of cells, most of them numbers: those need no class, the style knows them by that.
        "class": None
        if column.kind in ("number", "range") and not column.header
        else f"mt-{column.kind}",
        "data-sort": _sort_key(cell, column),
        "title": cell.title or None,
    }
    return cell, column, "th" if column.header else "td", named


def _sort_key(cell: Cell, column: Column) -> str | None:
    """What `table.js` sorts a cell by, where it is not what the cell shows."""
    if column.kind == "text":
        return None if cell.sort is None else str(cell.sort)
    shown = float(cell.text.replace(",", "")) if _NUMBER.fullmatch(cell.text) else None
    if cell.sort == shown:
        return None
    return "" if cell.sort is None else str(cell.sort)


def document(title: str, body: Markup) -> str:
    """Puts a page together.

    Its policy lets only these styles and scripts work (by their hashes), pictures only where they are part of the page, and no
    request, form or frame at all; a script or style that came in with a text would stay dead.
    """
    style = markup("\n", "\n".join(map(assets_text, PAGE_STYLES)))
    early, *scripts = (markup("\n", assets_text(name)) for name in PAGE_SCRIPTS)

    def hashed(text: str) -> Markup:
        return markup(
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        )

    return rendered(
        "document.html",
        title=title,
        body=body,
        style=style,
        early=early,
        scripts=scripts,
        hashed=hashed,
    )


# What tables and plots need, wherever they stand: every rule is below a `.mt` element, every variable is `--mt-...`.
COMPONENT_STYLES = ("tokens.css", "table.css", "plots.css")
PAGE_STYLES = (*COMPONENT_STYLES, "page.css", "items.css", "print.css")
# The first before anything is shown.
PAGE_SCRIPTS = ("theme.js", "page.js", "table.js", "item_store.js", "item_detail.js", "items.js")


@cache
def assets_text(name: str, folder: str = "report/assets") -> str:
    r"""Reads an asset of a folder of this package, with `\\n` line ends, on which the page's hash of it depends."""
    return (
        files("medical_tasks")
        .joinpath(folder, name)
        .read_text(encoding="utf-8")
        .replace("\r\n", "\n")
    )


def component_styles() -> str:
    """Joins the style sheets of tables and plots, for another page than the report's; wrap them in `<div class="mt">`.

    The colours follow `prefers-color-scheme`; `data-theme="light|dark"` on the root element, or a `.dark` or `.light` class
    around the `.mt` element, overrules it.
    """
    return "\n".join(assets_text(name) for name in COMPONENT_STYLES)
