"""Rows of CSV files are those of the standard reader; damaged files are refused by line."""

from __future__ import annotations

import csv
import gzip
import io
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.errors import UsageError
from medical_tasks.io import files
from medical_tasks.io.csv_files import read_csv, stream_rows
from tests.case_tables import json_of

COLUMNS = ("a", "b", "c")
CASES = json_of(Path(__file__).with_name("cases.json"))
"""Rows of parametrised tests, by the test's name; bytes as Latin-1."""


def rows_of(path: Path) -> list[tuple[int, dict[str, str]]]:
    return [
        (row.number, row.cells) for row in read_csv(path, COLUMNS, release="test file")
    ]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_rows_and_their_numbers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.csv", 'b,a,c\n1,"two\nlines",3\n\n4,"a ""quoted"" word, comma",\n'
    )
    assert rows_of(path) == [
        (2, {"b": "1", "a": "two\nlines", "c": "3"}),
        (3, {"b": "4", "a": 'a "quoted" word, comma', "c": ""}),
    ]
    # A byte order mark, Windows line ends, and a field longer than the standard
    # reader's limit.
    long = "x" * 300_000
    rows = rows_of(write(tmp_path / "x.csv", f"\ufeffa,b,c\r\n{long},2,3\r\n"))
    assert rows == [(2, {"a": long, "b": "2", "c": "3"})]


@pytest.mark.parametrize(("content", "message"), CASES["bad_files"])
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rows_of(write(tmp_path / "x.csv", content.encode("latin-1")))


def test_other_columns_where_they_are_allowed(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", ",c,note,b,note,a\n0,3,x,2,y,1\n")
    (row,) = read_csv(path, COLUMNS, release="test file", others=True)
    assert {name: row.cells[name] for name in COLUMNS} == {"a": "1", "b": "2", "c": "3"}
    write(path, "a,b,b\n1,2,3\n")
    with pytest.raises(
        UsageError, match=r"missing: 'c'; twice: 'b'\. Expected: 'a', 'b', 'c'\."
    ):
        list(read_csv(path, COLUMNS, release="test file", others=True))
    with pytest.raises(UsageError, match="cannot be read"):
        rows_of(tmp_path)


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
def test_written_tables_are_read_back_cell_by_cell(
    tmp_path: Path, table: list[tuple[str, str, str]]
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(table)
    assert [
        tuple(cells.values())
        for _, cells in rows_of(write(tmp_path / "x.csv", stream.getvalue()))
    ] == table


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_cut_anywhere_never_yields_a_changed_row(
    tmp_path: Path, data: st.DataObject
) -> None:
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
    # A cut inside the last unquoted field of a line cannot be seen; every other row is
    # whole.
    for position, cells_read in enumerate(seen):
        true = true_rows[position][1]
        assert (cells_read["a"], cells_read["b"]) == (true["a"], true["b"])
        assert true["c"].startswith(cells_read["c"])


FIELDS = ("id", "who", "text")
HEAD = b"id,who,text\n"


def streamed(path: Path, *selected: str) -> list[tuple[int, dict[str, str]]]:
    return [
        (row.number, row.cells)
        for row in stream_rows(
            path, FIELDS, selected={"who": selected}, release="test file"
        )
    ]


def refusal(path: Path, *selected: str) -> str:
    with pytest.raises(UsageError) as caught:
        streamed(path, *(selected or ("7",)))
    # pyarrow's own messages quote rows: none is shown, nor carried along to a log.
    assert (
        "secret"
        not in f"{caught.value} {caught.value.__context__!r} {caught.value.__cause__!r}"
    )
    return str(caught.value)


def test_selected_rows_and_their_numbers(tmp_path: Path) -> None:
    content = (
        HEAD
        + b'1,7,"two\nlines, a ""quote"""\n2,8,"x\ny"\n\n"3","7","""\n"""\n4,77,a\n5,7,plain'
    )
    expected = [
        (2, {"id": "1", "who": "7", "text": 'two\nlines, a "quote"'}),
        (4, {"id": "3", "who": "7", "text": '"\n"'}),
        (6, {"id": "5", "who": "7", "text": "plain"}),
    ]
    assert streamed(write(tmp_path / "x.csv", content), "7") == expected
    assert (
        streamed(write(tmp_path / "x.csv", b"\xef\xbb\xbf" + content), "7") == expected
    )
    packed = gzip.compress(content[:40]) + gzip.compress(content[40:]) + b"\0\0\0"
    assert streamed(write(tmp_path / "several.gz", packed), "7") == expected
    assert streamed(write(tmp_path / "x.csv", content)) == []
    # Values that other readers convert to missing values or numbers stay text; reading
    # stops at the last requested row.
    write(tmp_path / "x.csv", HEAD + b"007,NULL, nan \n" * 500_000)
    rows = stream_rows(tmp_path / "x.csv", FIELDS, selected={}, release="test file")
    assert next(rows).cells == {"id": "007", "who": "NULL", "text": " nan "}
    rows.close()


FIELD = st.text(st.sampled_from(list('ab7,"\n\r \x1c\u2028é')), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(FIELD, st.sampled_from(["7", "8", "77"]), FIELD),
        min_size=1,
        max_size=8,
    ),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    chunk=st.integers(1, 30),
    packed=st.booleans(),
)
def test_the_same_rows_as_the_standard_reader_whatever_the_chunks(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[str, str, str]],
    line_end: str,
    quoting: int,
    chunk: int,
    packed: bool,
) -> None:
    # The standard writer does not quote a field for its \r, and no reader reads it back.
    if quoting == csv.QUOTE_MINIMAL:
        rows = [
            (first.replace("\r", ""), who, last.replace("\r", ""))
            for first, who, last in rows
        ]
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=line_end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerows([FIELDS, *rows])
    content = stream.getvalue().encode()
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    path = write(tmp_path / "x", gzip.compress(content) if packed else content)
    expected = [dict(zip(FIELDS, row, strict=True)) for row in rows if row[1] == "7"]
    assert [cells for _, cells in streamed(path, "7")] == expected


NEXT_FIELD = re.compile(rb'("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|\r|\n|\Z)')


def selected_by_grammar(
    content: bytes, selected: dict[str, list[str]]
) -> list[dict[str, str]] | None:
    """The selected rows by the grammar of RFC 4180; None for a file that breaks it."""
    rows = split_rows(content)
    if not rows or any(len(row) != len(FIELDS) for row in rows):
        return None
    try:
        texts = [[unquoted(field.decode()) for field in row] for row in rows]
    except UnicodeDecodeError:
        return None
    named = [dict(zip(FIELDS, row, strict=True)) for row in texts]
    return [
        row
        for row in named
        if all(row[name] in values for name, values in selected.items())
    ]


def split_rows(content: bytes) -> list[list[bytes]]:
    """The fields of the rows that are not empty; none where the grammar is broken."""
    rows: list[list[bytes]] = [[]]
    position = 0
    while position < len(content):
        field = NEXT_FIELD.match(content, position)
        if field is None:
            return []
        rows[-1].append(field[1])
        position = field.end()
        if field[2] == b"," and position == len(content):
            rows[-1].append(b"")
        if field[2] != b",":
            rows.append([])
    return [row for row in rows if row not in ([], [b""])]


def unquoted(text: str) -> str:
    return text[1:-1].replace('""', '"') if text[:1] == '"' else text


PIECE = st.one_of(
    st.sampled_from(
        [
            b"7",
            b"8",
            b",",
            b'"',
            b'""',
            b"\n",
            b"\r",
            b"\r\n",
            b'","',
            b'"\n"',
            b"\xff",
            "é".encode(),
            b" ",
        ]
    ),
    st.sampled_from(
        [b"1,7,x\n", b'"1","7","x"\n', b'2,8,"a ""b"""\n', b'3,"7",\r\n', b',"",""\n']
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(PIECE, max_size=14),
    selected=st.sampled_from(
        [{}, {"who": ["7"]}, {"id": ["1", "3"], "who": ["7", ""]}, {"text": ["x", ""]}]
    ),
    before=st.integers(0, 9),
    chunk=st.integers(1, 60),
)
def test_rows_are_those_of_the_grammar_or_the_file_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pieces: list[bytes],
    selected: dict[str, list[str]],
    before: int,
    chunk: int,
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    content = b'9,"9",other\n' * before + b"".join(pieces)
    expected = selected_by_grammar(content, selected)
    rows = stream_rows(
        write(tmp_path / "x", HEAD + content),
        FIELDS,
        selected=selected,
        release="test file",
    )
    if expected is None:
        with pytest.raises(UsageError):
            list(rows)
    else:
        assert [row.cells for row in rows] == expected


@pytest.mark.parametrize(("content", "message"), CASES["a_damaged_file_is_refused"])
@pytest.mark.parametrize("packed", [True, False])
def test_a_damaged_file_is_refused(
    tmp_path: Path, content: str, message: str, packed: bool
) -> None:
    raw = content.encode("latin-1")
    assert message in refusal(
        write(tmp_path / "x", gzip.compress(raw) if packed else raw)
    )


def test_a_row_without_end(tmp_path: Path) -> None:
    # longer than the csv module's own limit
    whole = HEAD + b'1,8,x\n1,7,"' + b"a" * 300_000 + b'"\n'
    assert len(streamed(write(tmp_path / "x", whole), "7")[0][1]["text"]) == 300_000
    endless = HEAD + b'1,8,x\n1,7,"' + b"secret " * 3_000_000
    message = refusal(write(tmp_path / "x", gzip.compress(endless)))
    assert (
        "begins on line 3 has a quoted field that is left open, or more than 16,777,216 bytes"
        in message
    )
    assert "cannot be read (Is a directory)" in refusal(tmp_path)
