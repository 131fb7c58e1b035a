"""Chunks hold the file's bytes with each library, damage gives the same message, and the thread never outlives its use for long."""

from __future__ import annotations

import gzip
import sys
import threading
import time
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.io import files
from medical_tasks.io.files import read_chunks

TEXT = b"".join(b"line %d, some words that repeat\n" % number for number in range(20_000))
PACKED = gzip.compress(TEXT, mtime=0)
needs_zlib_ng = pytest.mark.skipif(find_spec("zlib_ng") is None, reason="zlib-ng is not installed")


@pytest.fixture(params=["zlib", pytest.param("zlib_ng", marks=needs_zlib_ng)], autouse=True)
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "zlib_ng.zlib_ng", None)
        assert files._zlib() is zlib
    else:
        assert files._zlib().__name__ == "zlib_ng.zlib_ng"


def by_zlib(content: bytes) -> str:
    """What Python's own zlib says about a member."""
    try:
        zlib.decompressobj(31).decompress(content)
    except zlib.error as error:
        return str(error)
    return ""


def outcome(path: Path) -> bytes | str:
    try:
        return b"".join(read_chunks(path, again="Again."))
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize(
    "content", [TEXT, PACKED, gzip.compress(TEXT[:9], mtime=0) + b"\0" + gzip.compress(TEXT[9:], mtime=0)]
)
@pytest.mark.parametrize("chunk", [1000, 1_000_000])
def test_all_bytes_in_bounded_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, chunk: int
) -> None:
    monkeypatch.setattr(files, "_CHUNK_BYTES", chunk)
    path = tmp_path / "x"
    path.write_bytes(content)
    told: list[int] = []
    chunks = list(read_chunks(path, again="", on_read=told.append))
    assert b"".join(chunks) == TEXT
    assert 0 < min(map(len, chunks)) <= max(map(len, chunks)) <= chunk
    assert told == sorted(set(told))
    assert told[-1] == len(content)


def test_damage_is_told_as_zlib_tells_it(tmp_path: Path) -> None:
    path = tmp_path / "x"
    cases = {PACKED[:kept]: "cut off" for kept in (2, 9, 10, 500, len(PACKED) - 8, len(PACKED) - 1)}
    for place in range(2, len(PACKED), len(PACKED) // 40):
        cases[PACKED[:place] + bytes([PACKED[place] ^ 0xFF]) + PACKED[place + 1 :]] = ""
    cases[PACKED + b"something else"] = "incorrect header check"
    cases[PACKED[:-8] + b"12345678"] = "incorrect data check"
    cases[PACKED[:-4] + b"1234"] = "incorrect length check"
    damaged = 0
    for content, expected in cases.items():
        path.write_bytes(content)
        told = outcome(path)
        if told == TEXT:  # a byte of the header that nobody reads: time, system
            assert not expected
            continue
        assert isinstance(told, str)
        assert expected in told
        problem = by_zlib(content)
        if problem:
            assert told == f"{path}: damaged, cannot be unpacked near byte {len(content):,} ({problem}). Again."
            damaged += 1
    assert damaged > 20


@pytest.mark.parametrize("collected", [False, True])
def test_a_reader_that_stops_early_leaves_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collected: bool
) -> None:
    monkeypatch.setattr(files, "_CHUNK_BYTES", 1000)  # far more of them than are read ahead
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(TEXT * 10))

    def reading() -> int:
        """How many threads read the file; others come and go (a library's, an earlier test's)."""
        return sum(thread.name == f"reading {path}" for thread in threading.enumerate())

    chunks = read_chunks(path, again="")
    next(chunks)
    assert reading() == 1
    if collected:
        del chunks
    else:
        chunks.close()
    until = time.monotonic() + 20
    while reading() and time.monotonic() < until:
        time.sleep(0.01)
    assert reading() == 0


def test_an_error_that_is_not_the_files_reaches_the_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(PACKED)
    monkeypatch.setattr(files, "_GZIP_WINDOW", "wrong")
    with pytest.raises(TypeError):
        list(read_chunks(path, again=""))


def test_what_is_no_file(tmp_path: Path) -> None:
    assert outcome(tmp_path / "absent") == f"{tmp_path / 'absent'}: cannot be read (No such file or directory)."
