"""Strict reading of published CSV files.

Every row of a table (`read_csv`), or a few rows out of gigabytes (`stream_rows`).

Messages about large files give places, never text: these files are credentialed, and
pyarrow's own messages quote rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from medical_tasks.errors import UsageError
from medical_tasks.io.files import check_columns, csv_lines, read_chunks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

# A lost quote makes the rest of a file one field; the limit must not hide that behind
# another message.
FIELD_LIMIT_BYTES = 256 * 1024 * 1024


def _again(release: str) -> str:
    return f"Download the {release} again; do not open and save it with a spreadsheet program."


def read_csv(
    path: Path, columns: Sequence[str], *, release: str, others: bool = False
) -> Generator[StreamedRow, None, None]:
    """Reads every row of a file of these columns (or `others` too), in any order.

    `release`: what it should be, for messages.
    """
    return stream_rows(
        path, columns, wanted={}, release=release, others=others, private=False
    )


class StreamedRow(NamedTuple):
    """A row."""

    number: int  # of the row in the file; the header is row 1, empty lines do not count
    cells: dict[str, str]  # column name to text, exactly as in the file


def stream_rows(
    path: Path,
    columns: Sequence[str],
    *,
    wanted: Mapping[str, Collection[str]],
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
    others: bool = False,
    private: bool = True,
) -> Generator[StreamedRow, None, None]:
    """Yields the rows of a file, plain or gzip, that are wanted.

    `columns` are all that the header has, or some with `others`.

    `wanted`: column name to the texts of which a wanted row has one there. `on_read`:
    called with the bytes read so far. Of a `private` file no message shows a name: it
    could be a row's text.
    """
    import pyarrow
    from pyarrow import compute

    again = _again(release)
    blocks = _blocks(path, again, on_read)
    head = next(blocks)
    names = _header(path, head, release)
    check_columns(path, names, columns, release=release, others=others, private=private)
    texts = {
        name: pyarrow.array(list(each), pyarrow.string())
        for name, each in wanted.items()
    }
    count = 0  # rows before a block, the header among them
    for block in chain((head,), blocks):
        table = _table(path, block, names, count, again)
        if not table.num_rows:  # pyarrow 18 to 24 crash at a mask without chunks
            continue

        masks = [
            compute.is_in(table.column(name), value_set=each)
            for name, each in texts.items()
        ]
        mask = (
            reduce(compute.and_, masks)
            if masks
            else pyarrow.array([True] * table.num_rows, pyarrow.bool_())
        )
        found = compute.indices_nonzero(mask).to_pylist()
        for place, cells in zip(found, table.filter(mask).to_pylist(), strict=True):
            if count or place:
                yield StreamedRow(number=count + place + 1, cells=cells)

        count += table.num_rows

    if count == 1:
        raise UsageError(f"{path}: has a header and no rows. {again}")


def read_header(path: Path, *, release: str) -> list[str]:
    """Reads the names of the columns of a file that `stream_rows` can read."""
    return _header(path, next(_blocks(path, _again(release))), release)


_LARGEST_HEADER = 64 * 1024


def _header(path: Path, block: memoryview, release: str) -> list[str]:
    """The names of the columns, in the first row that is not empty."""
    next(
        csv_lines(path, io.StringIO(str(block, "utf-8", "replace").partition("\n")[0])),
        None,
    )  # is it a table at all
    text = str(block[:_LARGEST_HEADER], "utf-8", "replace")
    names = next(filter(None, csv.reader(io.StringIO(text, newline=""))), None)
    if names is None:
        raise UsageError(f"{path}: is empty, expected the {release}. {_again(release)}")
    if "\ufffd" in "".join(names):
        raise UsageError(f"{path}: row 1 is not UTF-8. {_again(release)}")

    return names


_PROBLEM = re.compile(
    r"Row #(\d+): (?:Expected (\d+) columns, got (\d+)|.*invalid UTF8)"
)


def _table(
    path: Path, block: memoryview, names: Sequence[str], count: int, again: str
) -> pyarrow.Table:
    """Makes a table of rows, all columns as strings, none of them null."""
    import pyarrow
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    try:
        # Block by block, for open_csv reads ahead in a thread that, when a file is
        # damaged, may wait for itself for ever.
        return read_csv(
            pyarrow.BufferReader(block),
            read_options=ReadOptions(
                column_names=names, block_size=len(block) + 1, use_threads=False
            ),
            parse_options=ParseOptions(newlines_in_values=True),
            convert_options=ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string())
            ),
        )
    except pyarrow.ArrowInvalid as error:
        # of which digits alone are kept: the message quotes the row
        found = _PROBLEM.search(str(error))

    # Raised out here, the error does not carry pyarrow's along.
    if found is None:
        raise UsageError(f"{path}: not a whole CSV file after row {count:,}. {again}")

    row, header, fields = found.groups()
    problem = f"has {fields} fields, the header has {header}; the file is cut off or damaged there"
    raise UsageError(
        f"{path}: row {count + int(row):,} {problem if fields else 'is not UTF-8'}. {again}"
    )


# The longest notes have about 100 KB; a row beyond this is the rest of a file behind a
# lost quote.
ROW_LIMIT_BYTES = 16 * 1024 * 1024


def _blocks(
    path: Path, again: str, on_read: Callable[[int], None] = lambda _: None
) -> Generator[memoryview, None, None]:
    """Cuts a file into blocks of whole rows, and refuses quotes that pyarrow takes for text.

    Lost, open or amid a field.

    A quote that opens a field follows a comma or line end, one that closes it comes
    before one, or is one of two.
    """
    import numpy as np

    beside = np.zeros(256, dtype=bool)
    beside[list(b',\r\n"')] = True
    rest, line = b"", 1  # the row that is not whole, and the line on which it begins
    for chunk in chain(
        read_chunks(path, again=again, on_read=on_read), (b"\n",)
    ):  # an empty line is no row
        data = rest + chunk if rest or line > 1 else chunk.removeprefix(b"\xef\xbb\xbf")
        codes = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(codes == ord('"'))
        end = _last_end(data, quotes)
        rest = data[end:]
        opening, closing = (each[each < end] for each in (quotes[::2], quotes[1::2]))
        amid = (
            opening[~beside[codes[opening - 1]] & (opening > 0)],
            closing[~beside[codes[closing + 1]]],
        )
        nul = data.find(b"\0", 0, end)
        wrong = [*np.concatenate(amid).tolist(), *([nul] if nul >= 0 else [])]
        if wrong:
            where = line + data.count(b"\n", 0, min(wrong))
            raise UsageError(
                f"{path}: line {where:,} is damaged: a quote is missing or is inside a field, or a "
                f"byte is NUL. {again}"
            )

        if len(rest) > ROW_LIMIT_BYTES:
            break

        line += int(np.count_nonzero(codes[:end] == ord("\n")))
        if end:
            # copying millions of bytes takes as long as parsing them
            yield memoryview(data)[:end]

    if rest:
        raise UsageError(
            f"{path}: the row that begins on line {line:,} has a quoted field that is left open, "
            f"or more than {ROW_LIMIT_BYTES:,} bytes; the file is cut off or damaged. {again}"
        )


def _last_end(data: bytes, quotes: npt.NDArray[np.intp]) -> int:
    """Where the last row ends: behind the last line feed outside quotes, or 0."""
    end, inside = len(data), bool(len(quotes) % 2)
    for quote in chain(map(int, quotes[::-1]), (-1,)):
        if not inside and (found := data.rfind(b"\n", quote + 1, end)) >= 0:
            return found + 1
        end, inside = quote, not inside
    return 0
