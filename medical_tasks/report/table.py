"""The content of a table, for any of three writers: columns, rows of cells, caption and filters.

`html_parts.html_table` writes it for a page, `markdown.markdown_table` for Markdown and
`terminal.text_table` for the terminal. A cell holds its text and its sort key; a drawing is
made only by a writer that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from markupsafe import Markup

Drawing = Callable[[], "Markup"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: its name, unique in the table.
        label: its heading.
        kind: a `number` or `range` is right-aligned and sorted by `Cell.sort`; a `plot`
            holds drawings and is not sorted.
        help: a tooltip for the heading, also for screen readers.
        header: whether its cells name the row.
        facet: whether its values can be chosen from a list above the table.
        axis: makes a drawing below the heading, such as the ticks of a plot.
    """

    name: str
    label: str
    kind: Literal["text", "number", "range", "plot"] = "text"
    help: str = ""
    header: bool = False
    facet: bool = False
    axis: Drawing | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell.

    Attributes:
        text: the text.
        sort: the sort key; None sorts by the text in a text column, and last in others.
        title: a tooltip.
        href: an address on the web, or `#...`; any other is left out.
        draw: makes a drawing after the text.
        note: smaller text below.
        strong: whether it is emphasised.
    """

    text: str = ""
    sort: float | str | None = None
    title: str = ""
    href: str = ""
    draw: Drawing | None = None
    note: str = ""
    strong: bool = False


Cells = Sequence[Cell | str]


@dataclass(frozen=True, slots=True)
class Row:
    """A row; its `tags` are the words that a toggle filters by."""

    cells: Cells
    tags: Sequence[str] = ()


_Cell = TypeVar("_Cell")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        id: the table's id on a page; ids of its parts begin with it.
        columns: its columns.
        rows: its rows.
        caption: its caption.
        filter_label: the label of the field that filters rows; "" for no filter, facets and
            toggles.
        toggles: checkboxes, each with its label, the tag of the rows to show, and whether
            it is checked at first.
        show_caption: False shows the caption only to screen readers, if a heading already
            says it.
        empty: the text in its place if there are no rows.
    """

    id: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    filter_label: str = ""
    toggles: Sequence[tuple[str, str, bool]] = ()
    show_caption: bool = True
    empty: str = "Nothing to show."

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(
                    f"table {self.id}: a row has {len(row.cells)} cells, there are "
                    f"{len(self.columns)} columns"
                )

    def without(self, name: str) -> Table:
        """Returns the table without a column."""
        index = next(n for n, column in enumerate(self.columns) if column.name == name)

        def rest(cells: Sequence[_Cell]) -> list[_Cell]:
            return [*cells[:index], *cells[index + 1 :]]

        rows = [replace(row, cells=rest(row.cells)) for row in self.rows]
        return replace(self, columns=rest(self.columns), rows=rows)
