"""Chunks hold the file's bytes, and damage gives the message of Python's own zlib."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import pytest

from medical_tasks.errors import UsageError
from medical_tasks.io import files
from medical_tasks.io.files import read_chunks

TEXT = b"".join(b"line %d, some words that repeat\n" % number for number in range(20_000))
PACKED = gzip.compress(TEXT, mtime=0)


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


def test_what_is_no_file(tmp_path: Path) -> None:
    assert outcome(tmp_path / "absent") == f"{tmp_path / 'absent'}: cannot be read (No such file or directory)."
