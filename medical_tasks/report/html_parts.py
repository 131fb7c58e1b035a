"""The parts of HTML pages: escaped text, tables, and a page with its styles and scripts.

A page is one file that requests nothing, and forbids the browser to. Tables are complete without
scripts; `table.js` adds sorting, filtering and a line that says how much is shown.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup as Markup  # re-exported

from medical_tasks.io.patterns import Pattern
from medical_tasks.report.table import Cell, Column, Table

if TYPE_CHECKING:
    from jinja2 import Environment

# A lone surrogate cannot be stored as UTF-8; control characters are not allowed in HTML
# (tab and line ends are).
_UNSTORABLE = Pattern("[\ud800-\udfff]")
_CONTROLS = Pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_WEB = Pattern(r"https?://[^\s\"'<>\\]+", re.IGNORECASE)
_FRAGMENT = Pattern(r"#[A-Za-z0-9._~%/:+@=,;!-]*")


def markup(*parts: str) -> Markup:
    """Joins parts that are already HTML."""
    return Markup("".join(parts))


@cache
def _environment() -> Environment:
    """Makes the environment of the templates, which escapes every inserted text.

    Line breaks in templates are removed, with the blanks after them.
    """
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


def rendered(template: str, *, room: str = "report", **values: object) -> Markup:
    """Fills a template of a room's `templates/`."""
    return Markup(
        _environment().get_template(f"{room}/templates/{template}").render(values)
    )


def escaped(text: str) -> Markup:
    r"""Makes text safe for HTML, inside an element and inside a quoted attribute.

    `Markup` is returned unchanged. Lone surrogates and control characters become `\\ud800`,
    `\\x00`, since a page may have neither.
    """
    import html

    if isinstance(text, Markup):
        return text

    text = str(text).replace("\r\n", "\n").replace("\r", "\n")
    text = _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    text = _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)

    # Some HTML parsers treat both as line ends.
    return Markup(
        html.escape(text).replace("\u2028", "&#x2028;").replace("\u2029", "&#x2029;")
    )


def escaped_content(text: str) -> Markup:
    """Escapes text for an element, never for an attribute.

    Quotes, a third of the characters in JSON, stay unescaped.
    """
    return Markup(str(escaped(text)).replace("&quot;", '"').replace("&#x27;", "'"))


def attributes(values: Mapping[str, str | bool | None]) -> Markup:
    """Writes attributes, each with a blank before it.

    True gives the bare name, None and False leave it out.
    """
    parts = []
    for name, value in values.items():
        if value is True:
            parts.append(f" {name}")
        elif value is not None and value is not False:
            parts.append(f' {name}="{escaped(value)}"')

    return markup(*parts)


def link(text: str, address: str) -> Markup:
    """Makes a link to an address on the web or within the page.

    For any other address (`javascript:`) only the text is returned.
    """
    if _FRAGMENT.fullmatch(address):
        return markup(f'<a href="{escaped(address)}">', escaped(text), "</a>")

    if _WEB.fullmatch(address):
        return markup(
            f'<a href="{escaped(address)}" rel="noreferrer noopener">',
            escaped(text),
            "</a>",
        )

    return escaped(text)


_LARGE = 100  # as in table.js and table.css
_NUMBER = Pattern(r"-?[0-9,]*[0-9](\.[0-9]+)?")  # as in table.js


def html_table(table: Table) -> Markup:
    """Writes a table that scrolls sideways on a narrow page.

    It is complete without scripts; its controls stay hidden until `table.js` runs.
    """
    count = len(table.rows)
    return rendered(
        "table.html",
        table=table,
        row_cells=lambda row: list(map(_cell_element, row.cells, table.columns)),
        sortable=count > 1,
        controls=bool(table.filter_label) and count > 1,
        large=count > _LARGE,
    )


def _cell_element(
    content: Cell | str, column: Column
) -> tuple[Cell, str, dict[str, str | None]]:
    """Returns a cell, its element, and that element's attributes."""
    cell = Cell(content) if isinstance(content, str) else content
    # A page has thousands of cells, most of them numbers: they have no class, to save space.
    is_number = column.kind in ("number", "range") and not column.header
    cell_attributes = {
        "scope": "row" if column.header else None,
        "class": None if is_number else f"mt-{column.kind}",
        "data-sort": _sort_key(cell, column),
        "title": cell.title or None,
    }

    return cell, "th" if column.header else "td", cell_attributes


def _sort_key(cell: Cell, column: Column) -> str | None:
    """Returns the key by which `table.js` sorts a cell; None if it is the cell's text."""
    if column.kind == "text":
        return None if cell.sort is None else str(cell.sort)
    number = float(cell.text.replace(",", "")) if _NUMBER.fullmatch(cell.text) else None
    if cell.sort == number:
        return None
    return "" if cell.sort is None else str(cell.sort)


def document(title: str, body: Markup) -> str:
    """Assembles a page.

    Its policy allows only these styles and scripts (by their hashes), images only as part of
    the page, and no request, form or frame at all. A script or style inside a text would not
    run.
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


# The styles of tables and plots on any page: every rule is below a `.mt` element, every
# variable is `--mt-...`.
COMPONENT_STYLES = ("tokens.css", "table.css", "plots.css")
PAGE_STYLES = (*COMPONENT_STYLES, "page.css", "items.css", "print.css")
# The first one runs before anything is shown.
PAGE_SCRIPTS = (
    "theme.js",
    "page.js",
    "table.js",
    "item_store.js",
    "item_detail.js",
    "items.js",
)


@cache
def assets_text(name: str, folder: str = "report/assets") -> str:
    r"""Reads an asset with `\\n` line ends, since the page has a hash of it."""
    return (
        files("medical_tasks")
        .joinpath(folder, name)
        .read_text(encoding="utf-8")
        .replace("\r\n", "\n")
    )


def component_styles() -> str:
    """Joins the style sheets of tables and plots, for pages other than the report.

    They style the contents of `<div class="mt">`. The colours follow `prefers-color-scheme`;
    `data-theme="light|dark"` on the root element, or a `.dark` or `.light` class around the
    `.mt` element, overrides it.
    """
    return "\n".join(assets_text(name) for name in COMPONENT_STYLES)
