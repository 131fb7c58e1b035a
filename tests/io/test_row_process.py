"""A process beside this one finds the same rows and refuses the same files, and never outlives whoever asked for it."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io import csv_files
from medical_tasks.io.csv_files import _ROW, RowProcess, _Outbox, pays, stream_rows
from medical_tasks.io.csv_rows import FoundRow, find_rows

COLUMNS = ("id", "who", "text")
HEAD = b"id,who,text\n"


def started(path: Path, *who: str, on_read: Callable[[int], None] = lambda _: None) -> RowProcess:
    return RowProcess(path, COLUMNS, wanted={"who": who}, release="test file", on_read=on_read)


def here(path: Path, *who: str, on_read: Callable[[int], None] = lambda _: None) -> list[FoundRow]:
    return list(find_rows(path, COLUMNS, wanted={"who": who}, release="test file", on_read=on_read))


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def gone_now(pid: int) -> bool:
    """Says whether a process has ended, that need not be a child of this one; one that nobody has waited for yet has."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def gone(pid: int) -> bool:
    """Waits for that."""
    until = time.monotonic() + 20
    while not gone_now(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return gone_now(pid)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More wanted bytes than pipe and outbox take, so that the process waits for its reader."""
    path = tmp_path_factory.mktemp("large") / "rows.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(HEAD)
        for number in range(400):
            stream.write(b'%d,7,"' % number + b"secret " * 20_000 + b'"\n')
    return path


def test_the_same_rows_and_the_same_progress(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = [
        b'%d,%d,"%s"\n' % (number, draw.randrange(4), b'a ""quoted"", text\n' * draw.randrange(2000))
        for number in range(300)
    ]
    path = write(tmp_path / "x.gz", b"".join(map(gzip.compress, (HEAD, *rows))))
    told: list[int] = []
    expected: list[int] = []
    assert list(started(path, "1", "3", on_read=told.append)) == here(path, "1", "3", on_read=expected.append)
    assert len(here(path, "1", "3")) > 100
    assert told == expected
    assert told[-1] == path.stat().st_size


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(HEAD, mtime=0)[:-4], "cut off, the gzip data end amid"),
        (gzip.compress(HEAD, mtime=0) + b"secret", "damaged, cannot be unpacked"),
        (HEAD + b"1,8,x\n1,8,sec\0ret\n", "line 3 holds a NUL byte"),
        (b"id,text\n1,secret\n", "wrong columns for the test file. missing: 'who'"),
    ],
)
def test_the_same_refusals(tmp_path: Path, content: bytes, message: str) -> None:
    path = write(tmp_path / "x", content)
    with pytest.raises(UsageError) as expected:
        here(path, "7")
    process = started(path, "7")
    with pytest.raises(UsageError, match=message) as caught:
        list(process)
    assert str(caught.value) == str(expected.value)
    assert gone(process._process.pid)


def test_a_file_whose_name_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv"))
    with pytest.raises(UsageError) as caught:
        list(started(path))
    assert str(caught.value) == f"{path}: cannot be read (No such file or directory)."


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that `stream_rows` starts, with files of any size."""
    made: list[int] = []
    begin = RowProcess.__init__

    def remembered(self: RowProcess, *arguments: object, **options: object) -> None:
        begin(self, *arguments, **options)  # type: ignore[arg-type]
        made.append(self._process.pid)

    monkeypatch.setattr(RowProcess, "__init__", remembered)
    monkeypatch.setattr(csv_files, "_WORTH_BYTES", 1)
    monkeypatch.setattr(csv_files, "_cores", lambda: 2)
    return made


def test_streamed_rows_come_through_it(tmp_path: Path, used: list[int]) -> None:
    path = write(tmp_path / "x", HEAD + b'1,7,"two\nlines"\n2,8,x\n3,7,"a ""quote"""\n')
    rows = [(row.line(), row.cells) for row in stream_rows(path, COLUMNS, wanted={"who": ["7"]}, release="f")]
    assert rows == [
        (2, {"id": "1", "who": "7", "text": "two\nlines"}),
        (5, {"id": "3", "who": "7", "text": 'a "quote"'}),
    ]
    path = write(tmp_path / "y", HEAD + b"1,8,x\n1,7,secret \xff\n")
    with pytest.raises(UsageError, match="the row that begins on line 3 is not UTF-8"):
        list(stream_rows(path, COLUMNS, wanted={"who": ["7"]}, release="f"))
    assert len(used) == 2
    assert all(gone(pid) for pid in used)


@pytest.mark.parametrize("read", [0, 1])
@pytest.mark.parametrize("close", [True, False])
def test_rows_that_nobody_wants_any_more_end_it(large: Path, used: list[int], read: int, close: bool) -> None:
    rows = stream_rows(large, COLUMNS, wanted={"who": ["7"]}, release="f")
    pid = used.pop()
    for _ in range(read):
        next(rows)
    assert not gone_now(pid)
    if close:
        rows.close()
    else:
        del rows
    assert gone(pid)


def test_it_ends_when_whoever_started_it_is_killed(large: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from medical_tasks.io.csv_files import RowProcess\n"
        "rows = RowProcess(Path(sys.argv[1]), ('id', 'who', 'text'), wanted={'who': ['7']}, release='f', on_read=print)\n"
        "next(rows); print('pid', rows._process.pid, flush=True); time.sleep(60)\n"
    )
    places = os.pathsep.join(place or os.curdir for place in sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", code, str(large)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
    ) as parent:
        assert parent.stdout is not None
        pid = next(int(line.split()[1]) for line in parent.stdout if line.startswith("pid"))
        assert not gone_now(pid)
        parent.kill()
    assert gone(pid)


def test_ctrl_c_is_for_whoever_started_it(large: Path) -> None:
    rows = started(large, "7")
    assert next(rows).raw == HEAD.strip()
    os.kill(rows._process.pid, signal.SIGINT)
    assert sum(1 for _ in rows) == 400


def test_one_that_is_killed_is_no_end_of_the_file(large: Path) -> None:
    rows = started(large, "7")
    next(rows)
    rows._process.kill()
    with pytest.raises(IncompleteError, match="ended amid the file, with status -9") as caught:
        list(rows)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("raise SystemExit(3)", IncompleteError, "ended amid the file, with status 3"),
        (
            "from medical_tasks.io import csv_files\n"
            "def find_rows(*arguments, **options):\n    raise KeyError('secret')\n"
            "csv_files.find_rows = find_rows\ncsv_files.find_rows_for_parent()",
            RuntimeError,
            "failed: KeyError in <string>, line 3",
        ),
    ],
)
def test_a_fault_is_told_without_any_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: type[Exception], message: str
) -> None:
    monkeypatch.setattr(csv_files, "_CODE", code)
    with pytest.raises(error, match=message) as caught:
        list(started(write(tmp_path / "x", HEAD), *map(str, range(100_000))))
    assert "secret" not in str(caught.value)


def test_the_outbox_takes_frames_while_nobody_reads() -> None:
    reading, writing = os.pipe()
    outbox = _Outbox(writing)
    for number in range(20):
        outbox.put(_ROW, number, b"x" * 1_000_000)
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        outbox.flush()
    os.close(writing)


def test_when_it_pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x", b"")
    os.truncate(path, csv_files._WORTH_BYTES)
    monkeypatch.setattr(csv_files, "_cores", lambda: 2)
    assert pays(path)
    assert not pays(tmp_path)
    assert not pays(tmp_path / "absent")
    monkeypatch.setattr(csv_files, "_cores", lambda: 1)
    assert not pays(path)
    monkeypatch.undo()
    assert csv_files._cores() >= 1
    os.truncate(path, csv_files._WORTH_BYTES - 1)
    assert not pays(path)
