"""Reads published CSV files strictly: a whole table (`read_csv`), or a few rows of gigabytes.

Messages about large files give positions, never text: these files are credentialed, and
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

# A missing quote turns the rest of a file into one field; the limit must not cause another
# message.
FIELD_LIMIT_BYTES = 256 * 1024 * 1024


def _download_advice(release: str) -> str:
    return f"Download the {release} again; do not open and save it with a spreadsheet program."


def read_csv(
    path: Path, columns: Sequence[str], *, release: str, others: bool = False
) -> Generator[StreamedRow, None, None]:
    """Reads every row of a file with these columns (and `others` if allowed), in any order.

    `release` names the expected file in messages.
    """
    return stream_rows(
        path, columns, selected={}, release=release, others=others, private=False
    )


class StreamedRow(NamedTuple):
    """A row."""

    number: int  # in the file; the header is row 1, empty lines do not count
    cells: dict[str, str]  # column name to text, exactly as in the file


def stream_rows(
    path: Path,
    columns: Sequence[str],
    *,
    selected: Mapping[str, Collection[str]],
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
    others: bool = False,
    private: bool = True,
) -> Generator[StreamedRow, None, None]:
    """Yields selected rows of a file, plain or gzip.

    Args:
        path: the file.
        columns: the columns of the header.
        selected: column name to the texts that a selected row may have there.
        release: the expected file, for messages.
        on_read: called with the number of bytes read so far.
        others: whether the header may have other columns.
        private: whether messages hide the names of columns, which could be a row's text.
    """
    import pyarrow
    from pyarrow import compute

    advice = _download_advice(release)
    blocks = _blocks(path, advice, on_read)
    head = next(blocks)
    names = _header(path, head, release)
    check_columns(path, names, columns, release=release, others=others, private=private)
    texts = {
        name: pyarrow.array(list(values), pyarrow.string())
        for name, values in selected.items()
    }
    count = 0  # rows before a block, the header among them
    for block in chain((head,), blocks):
        table = _table(path, block, names, count, advice)
        if not table.num_rows:  # pyarrow 18 to 24 crash on a mask without chunks
            continue

        masks = [
            compute.is_in(table.column(name), value_set=values)
            for name, values in texts.items()
        ]
        mask = (
            reduce(compute.and_, masks)
            if masks
            else pyarrow.array([True] * table.num_rows, pyarrow.bool_())
        )
        indexes = compute.indices_nonzero(mask).to_pylist()
        for index, cells in zip(indexes, table.filter(mask).to_pylist(), strict=True):
            if count or index:
                yield StreamedRow(number=count + index + 1, cells=cells)

        count += table.num_rows

    if count == 1:
        raise UsageError(f"{path}: has a header and no rows. {advice}")


def read_header(path: Path, *, release: str) -> list[str]:
    """Reads the names of the columns of a file that `stream_rows` can read."""
    return _header(path, next(_blocks(path, _download_advice(release))), release)


_LARGEST_HEADER = 64 * 1024


def _header(path: Path, block: memoryview, release: str) -> list[str]:
    """Reads the names of the columns from the first row that is not empty."""
    first_line = str(block, "utf-8", "replace").partition("\n")[0]
    next(csv_lines(path, io.StringIO(first_line)), None)  # refuses what is no table
    text = str(block[:_LARGEST_HEADER], "utf-8", "replace")
    names = next(filter(None, csv.reader(io.StringIO(text, newline=""))), None)
    if names is None:
        raise UsageError(
            f"{path}: is empty, expected the {release}. {_download_advice(release)}"
        )
    if "\ufffd" in "".join(names):
        raise UsageError(f"{path}: row 1 is not UTF-8. {_download_advice(release)}")

    return names


_PROBLEM = re.compile(
    r"Row #(\d+): (?:Expected (\d+) columns, got (\d+)|.*invalid UTF8)"
)


def _table(
    path: Path, block: memoryview, names: Sequence[str], count: int, advice: str
) -> pyarrow.Table:
    """Makes a table of rows, all columns as strings, none of them null."""
    import pyarrow
    from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, read_csv

    try:
        # Block by block: open_csv reads ahead in a thread, which a damaged file can deadlock.
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
        # Only digits are kept, since the message quotes the row.
        match = _PROBLEM.search(str(error))

    # Raised outside the handler, so that pyarrow's error is not attached.
    if match is None:
        raise UsageError(f"{path}: not a whole CSV file after row {count:,}. {advice}")

    row, header, fields = match.groups()
    problem = f"has {fields} fields, the header has {header}; the file is cut off or damaged there"
    raise UsageError(
        f"{path}: row {count + int(row):,} {problem if fields else 'is not UTF-8'}. {advice}"
    )


# The longest notes have about 100 KB; a longer row is the rest of a file after a missing quote.
ROW_LIMIT_BYTES = 16 * 1024 * 1024


def _blocks(
    path: Path, advice: str, on_read: Callable[[int], None] = lambda _: None
) -> Generator[memoryview, None, None]:
    """Cuts a file into blocks of whole rows, and refuses quotes that pyarrow would take for text.

    These are missing or open quotes, and quotes inside a field. A quote that opens a field must
    follow a comma or line end; one that closes it must precede one, or be doubled.
    """
    import numpy as np

    may_adjoin = np.zeros(256, dtype=bool)
    may_adjoin[list(b',\r\n"')] = True
    rest, line = b"", 1  # the incomplete row, and the line on which it begins
    chunks = read_chunks(path, again=advice, on_read=on_read)
    for chunk in chain(chunks, (b"\n",)):  # an empty line is not a row
        data = rest + chunk if rest or line > 1 else chunk.removeprefix(b"\xef\xbb\xbf")
        codes = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(codes == ord('"'))
        end = _last_end(data, quotes)
        rest = data[end:]
        opening, closing = (
            positions[positions < end] for positions in (quotes[::2], quotes[1::2])
        )
        inside_fields = (
            opening[~may_adjoin[codes[opening - 1]] & (opening > 0)],
            closing[~may_adjoin[codes[closing + 1]]],
        )
        nul = data.find(b"\0", 0, end)
        wrong = [*np.concatenate(inside_fields).tolist(), *([nul] if nul >= 0 else [])]
        if wrong:
            where = line + data.count(b"\n", 0, min(wrong))
            raise UsageError(
                f"{path}: line {where:,} is damaged: a quote is missing or is inside a field, or a "
                f"byte is NUL. {advice}"
            )

        if len(rest) > ROW_LIMIT_BYTES:
            break

        line += int(np.count_nonzero(codes[:end] == ord("\n")))
        if end:
            # A view: copying millions of bytes takes as long as parsing them.
            yield memoryview(data)[:end]

    if rest:
        raise UsageError(
            f"{path}: the row that begins on line {line:,} has a quoted field that is left open, "
            f"or more than {ROW_LIMIT_BYTES:,} bytes; the file is cut off or damaged. {advice}"
        )


def _last_end(data: bytes, quotes: npt.NDArray[np.intp]) -> int:
    """Returns the end of the last row: after the last line feed outside quotes, or 0."""
    end, inside = len(data), bool(len(quotes) % 2)
    for quote in chain(map(int, quotes[::-1]), (-1,)):
        if not inside and (line_feed := data.rfind(b"\n", quote + 1, end)) >= 0:
            return line_feed + 1
        end, inside = quote, not inside
    return 0
