"""A table as it is: columns, rows of cells, and what goes with them, for any of three writers.

`html_parts.html_table` writes it for a page, `markdown.markdown_table` and
`terminal.text_table` for the others. A cell says what is shown and what it is sorted
by; a drawing is made only where one is written.
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
        name: unique in the table.
        label: its heading.
        kind: a `number` or `range` stands to the right and is sorted by `Cell.sort`; a
            `plot` holds drawings and is not sorted.
        help: shown when the heading is pointed at, and read with it.
        header: its cells name the row.
        facet: offers a list of its values to choose from, above the table.
        axis: drawn below the heading, such as the ticks of a plot.
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
        text: what is shown.
        sort: what it is sorted by; None takes the text in a text column and "last" in
            others.
        title: shown when the cell is pointed at.
        href: an address on the web, or `#...`; any other is left out.
        draw: makes a drawing after the text.
        note: smaller text below.
        strong: whether it stands out.
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
    """A row; `tags` are words that a toggle asks for."""

    cells: Cells
    tags: Sequence[str] = ()


_Cell = TypeVar("_Cell")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        id: of the table on a page; what belongs to it has ids that begin with it.
        caption: what it shows.
        filter_label: label of the field that filters rows; "" for no filter, facets and
            toggles.
        toggles: boxes to tick, each with its label, the tag of the rows that are shown
            then, and whether it is ticked at first.
        show_caption: False keeps the caption for readers of the table alone (a heading
            says it).
        empty: what stands in its place where there are no rows.
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
        """The same table without a column."""
        index = next(n for n, column in enumerate(self.columns) if column.name == name)

        def rest(cells: Sequence[_Cell]) -> list[_Cell]:
            return [*cells[:index], *cells[index + 1 :]]

        rows = [replace(row, cells=rest(row.cells)) for row in self.rows]
        return replace(self, columns=rest(self.columns), rows=rows)
