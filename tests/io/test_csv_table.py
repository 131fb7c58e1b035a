from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.io.csv_files import read_csv

COLUMNS = ("a", "b", "c")


def rows_of(path: Path) -> list[tuple[int, dict[str, str]]]:
    return [(row.line, row.cells) for row in read_csv(path, COLUMNS, release="test file")]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_rows_and_the_lines_they_end_on(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'b,a,c\n1,"two\nlines",3\n\n4,"a ""quoted"" word, comma",\n')
    assert rows_of(path) == [
        (3, {"b": "1", "a": "two\nlines", "c": "3"}),
        (5, {"b": "4", "a": 'a "quoted" word, comma', "c": ""}),
    ]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    assert rows_of(write(tmp_path / "x.csv", b"\xef\xbb\xbfa,b,c\r\n1,2,3\r\n")) == [
        (2, {"a": "1", "b": "2", "c": "3"})
    ]


def test_a_field_longer_than_the_default_limit(tmp_path: Path) -> None:
    long = "x" * 300_000
    assert rows_of(write(tmp_path / "x.csv", f"a,b,c\n{long},2,3\n"))[0][1]["a"] == long


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "x.csv: is empty. Download the test file again"),
        ("a,b,c\n", "x.csv: has a header and no rows"),
        ("a,b,c\n\n\n", "x.csv: has a header and no rows"),
        ("a,b," + 40 * "note " + "\n", r"unexpected: a text of 200 characters\. Expected"),
        ("a,b\n1,2\n", r"wrong columns for the test file. missing: 'c'. Expected: 'a', 'b', 'c'."),
        ("a,b,c,d,e\n1,2,3,4,5\n", r"unexpected: 'd', 'e'. Expected"),
        ("a,B,c\n1,2,3\n", r"missing: 'b'; unexpected: 'B'"),
        ("a,b,c,a\n1,2,3,4\n", r"twice: 'a'"),
        ("1,2,3\n", r"missing: 'a', 'b', 'c'; unexpected: '1', '2', '3'"),
        (
            "a,b,c\n1,2,3\n4,5\n",
            "the row that ends on line 3 has 2 fields, the header has 3; the file is cut off or damaged",
        ),
        ("a,b,c\n1,2,3,4\n", "the row that ends on line 2 has 4 fields, the header has 3"),
        ('a,b,c\n1,2,"cut o', r"not a whole CSV file \(unexpected end of data, line 2\); a quoted field is left open"),
        ('a,b,c\n1,"2"x,3\n', r"not a whole CSV file \(.*line 2\)"),
        (b"a,b,c\n1,2,caf\xe9\n", r"not UTF-8 after line 0 \(byte 0xe9\)"),
        (b"\xff\xfea\x00,\x00b\x00", r"not UTF-8 after line 0 \(byte 0xff\)"),
    ],
)
def test_bad_files(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rows_of(write(tmp_path / "x.csv", content))


def test_other_columns_where_they_are_allowed(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", ",c,note,b,note,a\n0,3,x,2,y,1\n")
    (row,) = read_csv(path, COLUMNS, release="test file", others=True)
    assert {name: row.cells[name] for name in COLUMNS} == {"a": "1", "b": "2", "c": "3"}
    write(path, "a,b,b\n1,2,3\n")
    with pytest.raises(UsageError, match=r"missing: 'c'; twice: 'b'\. Expected: 'a', 'b', 'c'\."):
        list(read_csv(path, COLUMNS, release="test file", others=True))


def test_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        rows_of(tmp_path)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
def test_what_a_csv_writer_wrote_comes_back_cell_by_cell(tmp_path: Path, table: list[tuple[str, str, str]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(table)
    assert [tuple(cells.values()) for _, cells in rows_of(write(tmp_path / "x.csv", stream.getvalue()))] == table


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_cut_anywhere_never_yields_a_changed_row(tmp_path: Path, data: st.DataObject) -> None:
    whole = 'a,b,c\n1,"x\ny",3\n4,"5, 6",7\n8,9,"z"\n'
    cut = data.draw(st.integers(0, len(whole)))
    true_rows = rows_of(write(tmp_path / "x.csv", whole))
    path = write(tmp_path / "y.csv", whole[:cut])
    seen = []
    try:
        for row in read_csv(path, COLUMNS, release="test file"):
            seen.append(row.cells)
    except UsageError:
        pass
    # A cut inside the last unquoted field of a line cannot be seen; every other row is whole.
    for position, cells_read in enumerate(seen):
        true = true_rows[position][1]
        assert (cells_read["a"], cells_read["b"]) == (true["a"], true["b"])
        assert true["c"].startswith(cells_read["c"])
