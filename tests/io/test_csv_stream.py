"""Streamed rows are those of the standard reader; damaged files are refused by line, and no text of theirs is shown."""

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
from medical_tasks.io import csv_files, files
from medical_tasks.io.csv_files import stream_rows

COLUMNS = ("id", "who", "text")
HEAD = b"id,who,text\n"


def rows_of(path: Path, *wanted: str) -> list[tuple[int, dict[str, str]]]:
    return [(row.line(), row.cells) for row in stream_rows(path, COLUMNS, wanted={"who": wanted}, release="test file")]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def refusal(path: Path, *wanted: str) -> str:
    with pytest.raises(UsageError) as caught:
        rows_of(path, *(wanted or ("7",)))
    assert "secret" not in str(caught.value)
    return str(caught.value)


def test_wanted_rows_and_their_lines(tmp_path: Path) -> None:
    content = HEAD + b'1,7,"two\nlines, a ""quote"""\n2,8,"x\ny"\n\n"3","7","""\n"""\n4,77,a\n5,7,plain'
    found = [
        (2, {"id": "1", "who": "7", "text": 'two\nlines, a "quote"'}),
        (7, {"id": "3", "who": "7", "text": '"\n"'}),
        (10, {"id": "5", "who": "7", "text": "plain"}),
    ]
    assert rows_of(write(tmp_path / "x.csv", content), "7") == found
    assert rows_of(write(tmp_path / "x.csv", b"\xef\xbb\xbf" + content), "7") == found
    packed = gzip.compress(content[:40]) + gzip.compress(content[40:]) + b"\0\0\0"
    assert rows_of(write(tmp_path / "several.gz", packed), "7") == found
    assert rows_of(write(tmp_path / "x.csv", content)) == []


FIELD = st.text(st.sampled_from(list('ab7,"\n\r \x1c\u2028é')), max_size=8)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(FIELD, st.sampled_from(["7", "8", "77"]), FIELD), min_size=1, max_size=8),
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
    if (
        quoting == csv.QUOTE_MINIMAL
    ):  # the standard writer leaves such a field without quotes, and no reader reads it back
        rows = [(first.replace("\r", ""), who, last.replace("\r", "")) for first, who, last in rows]
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator=line_end, quoting=quoting).writerows([COLUMNS, *rows])  # type: ignore[arg-type]
    content = stream.getvalue().encode()
    monkeypatch.setattr(files, "_CHUNK_BYTES", chunk)
    path = write(tmp_path / "x", gzip.compress(content) if packed else content)
    expected = [dict(zip(COLUMNS, row, strict=True)) for row in rows if row[1] == "7"]
    assert [cells for _, cells in rows_of(path, "7")] == expected


def fields_of(line: bytes) -> list[bytes]:
    """Cuts where commas stand outside quotes."""
    fields = [b""]
    for place in range(len(line)):
        at = line[place : place + 1]
        if at == b"," and fields[-1].count(b'"') % 2 == 0:
            fields.append(b"")
        else:
            fields[-1] += at
    return fields


def plainly(content: bytes, wanted: dict[str, list[str]]) -> list[dict[str, str]] | str:
    """The same decisions byte by byte: the rows, or what is wrong with the first row that is."""
    pieces, count, found = content.split(b"\n"), 0, []
    begin = 1
    while pieces:
        lines = [pieces.pop(0)]
        while b"\n".join(lines).count(b'"') % 2 and pieces:
            lines.append(pieces.pop(0))
        row, line, begin = b"\n".join(lines), begin, begin + len(lines)
        where = f"the row that begins on line {line} "
        if row.count(b'"') % 2:
            return where + "has a quoted field that is left open"
        fields = fields_of(row.removesuffix(b"\r"))
        if not row.strip():
            continue
        if len(fields) != len(COLUMNS):
            return where + f"has {len(fields)} fields"
        count += 1
        start = fields[: max(map(COLUMNS.index, wanted)) + 1]
        if all(re.fullmatch(rb'[^"]*|"([^"]|"")*"', field) for field in start):
            texts = [field[1:-1] if field.startswith(b'"') else field for field in start]
            if any(texts[COLUMNS.index(name)].decode("latin-1") not in each for name, each in wanted.items()):
                continue
        try:
            cells = next(csv.reader([row.removesuffix(b"\r").decode()], strict=True))
        except UnicodeDecodeError:
            return where + "is not UTF-8"
        except csv.Error:
            return where + "is not whole"
        if len(cells) != len(COLUMNS):
            return where + "is not whole (a quote amid a field)"
        values = dict(zip(COLUMNS, cells, strict=True))
        if all(values[name] in each for name, each in wanted.items()):
            found.append(values)
    return found if count else "has a header and no rows"


PIECE = st.one_of(
    st.sampled_from(
        [b"7", b"8", b",", b'"', b'""', b"\n", b"\r", b"\r\n", b'","', b'"\n"', b"\xff", "é".encode(), b" "]
    ),
    st.sampled_from([b"1,7,x\n", b'"1","7","x"\n', b'2,8,"a ""b"""\n', b'3,"7",\r\n', b',"",""\n']),
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(PIECE, max_size=14),
    wanted=st.sampled_from([{"who": ["7"]}, {"id": ["1", "3"], "who": ["7", ""]}, {"text": ["x", ""]}]),
    chunk=st.integers(1, 60),
)
def test_the_same_rows_or_the_same_refusal_as_byte_by_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: list[bytes], wanted: dict[str, list[str]], chunk: int
) -> None:
    monkeypatch.setattr(files, "_CHUNK_BYTES", chunk)
    content = b"".join(pieces)
    path = write(tmp_path / "x", HEAD + content)
    expected = plainly(b"\n" + content, wanted)
    rows = stream_rows(path, COLUMNS, wanted=wanted, release="test file")
    if isinstance(expected, str):
        with pytest.raises(UsageError, match=re.escape(expected)):
            list(rows)
    else:
        assert [row.cells for row in rows] == expected


GOOD = HEAD + b'1,7,"the secret"\n' * 2000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty, expected the test file"),
        (b"\n", "wrong columns"),
        (HEAD, "has a header and no rows"),
        (b"id,text\n1,secret\n", "wrong columns for the test file. missing: 'who'. Expected: 'id', 'who', 'text'"),
        (b"id,who,text,more secret\n", "wrong columns for the test file. 1 unexpected. Expected"),
        (b"id,who,text,who\n", "twice: 'who'"),
        (b"1,7,secret\n", "missing: 'id', 'who', 'text'; 3 unexpected"),
        (HEAD + b"1,8,x\n2,8,a secret,b\n", "the row that begins on line 3 has 4 fields, the header has 3"),
        (HEAD + b"1,8\n", "the row that begins on line 2 has 2 fields"),
        (HEAD + b'1,8,"x\ny"\n2,7,"a secret\n', "the row that begins on line 4 has a quoted field that is left open"),
        (HEAD + b'1,7,"a secret"x\n', "the row that begins on line 2 is not whole"),
        (HEAD + b'a"x,7,y"b,secret,u\n', "the row that begins on line 2 is not whole (a quote amid a field)"),
        (HEAD + b"1,7,a sec\rret\n", "the row that begins on line 2 is not whole"),
        (HEAD + b"1,8,x\n1,8,sec\0ret\n", "line 3 holds a NUL byte"),
        (HEAD + b"1,8,x\n1,7,secret \xff\n", "the row that begins on line 3 is not UTF-8 (byte 0xff)"),
        (GOOD.replace(b"\n", b"\r"), "wrong columns|not whole"),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes, message: str, packed: bool) -> None:
    told = refusal(write(tmp_path / "x", gzip.compress(content) if packed else content))
    assert any(part in told for part in message.split("|"))


def test_a_row_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_files, "ROW_LIMIT_BYTES", 100_000)
    monkeypatch.setattr(files, "_CHUNK_BYTES", 10_000)
    whole = HEAD + b'1,8,x\n1,7,"' + b"a" * 90_000 + b'"\n'
    assert len(rows_of(write(tmp_path / "x", whole), "7")[0][1]["text"]) == 90_000
    endless = HEAD + b'1,8,x\n1,7,"' + b"secret " * 100_000
    told = refusal(write(tmp_path / "x", gzip.compress(endless)))
    assert "the row that begins on line 3 has more than 100,000 bytes; a quoted field is left open" in told


def test_a_field_larger_than_the_csv_modules_own_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "x", HEAD + b'1,7,"' + b"a" * 300_000 + b'"\n')
    assert len(rows_of(path, "7")[0][1]["text"]) == 300_000


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    assert "cannot be read (Is a directory)" in refusal(tmp_path)
