"""Files are written whole; chunks hold a file's bytes, and damage is refused."""

from __future__ import annotations

import errno
import gzip
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io import files
from medical_tasks.io.files import (
    WholeFile,
    checked_file,
    open_file,
    open_text,
    read_bytes,
    read_chunks,
    read_text,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.txt"
    with WholeFile(path) as file:
        assert file.write("a\r\nµ\n") == 5
        assert not path.exists()
    assert path.read_bytes() == "a\r\nµ\n".encode()
    assert names(path.parent) == ["out.txt"]
    # A link is followed.
    (tmp_path / "link.txt").symlink_to("new/out.txt")
    with WholeFile(tmp_path / "link.txt") as file:
        file.write("newer")
    assert (tmp_path / "link.txt").is_symlink()
    assert path.read_text() == "newer"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_older_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("older")

    def interrupted() -> None:
        with WholeFile(path) as file:
            file.write("newer")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "older"
    assert names(tmp_path) == ["out.txt"]


def test_a_full_disk_is_reported_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(
            IncompleteError,
            match=r"out.txt: cannot be written \(No space left on device\). Free some space",
        ),
        WholeFile(tmp_path / "out.txt") as file,
    ):
        file.write("text")
    assert names(tmp_path) == []


def test_a_private_file_is_closed_from_its_first_byte_on(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        (tmp_path / f".x.txt.{os.getpid()}.part").write_text("left over, open to all")
        with WholeFile(tmp_path / "x.txt", private=True) as file:
            file.write("text")
            (hidden,) = tmp_path.iterdir()
            assert hidden.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "x.txt").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
    assert (tmp_path / "x.txt").read_text() == "text"


def test_only_a_file_is_read_or_written(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/null")):
        with pytest.raises(
            UsageError,
            match="is a folder or a device. Name a file to write",
        ):
            WholeFile(path)
    with pytest.raises(ValueError, match="not open; use it in a with block"):
        WholeFile(tmp_path / "out.txt").write("text")
    pipe, line = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(line))
        for path, kind in (
            (pipe, "a pipe"),
            (line, "a socket"),
            (Path("/dev/zero"), "a device"),
        ):
            for read in (checked_file, open_file, open_text, read_bytes, read_text):
                with pytest.raises(UsageError, match=f"{path}: is {kind}"):
                    read(path)
    (tmp_path / "file").write_text("a\r\nb")
    assert (read_bytes(tmp_path / "file"), read_text(tmp_path / "file")) == (
        b"a\r\nb",
        "a\nb",
    )
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)


TEXT = b"".join(
    b"line %d, some words that repeat\n" % number for number in range(20_000)
)
PACKED = gzip.compress(TEXT, mtime=0)


def outcome(path: Path) -> bytes | str:
    try:
        return b"".join(read_chunks(path, again="Again."))
    except UsageError as error:
        return str(error)


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        PACKED,
        gzip.compress(TEXT[:9], mtime=0) + b"\0" + gzip.compress(TEXT[9:], mtime=0),
    ],
)
@pytest.mark.parametrize("chunk", [1000, 1_000_000])
def test_all_bytes_in_bounded_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, chunk: int
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
    path = tmp_path / "x"
    path.write_bytes(content)
    positions: list[int] = []
    chunks = list(read_chunks(path, again="", on_read=positions.append))
    assert b"".join(chunks) == TEXT
    assert 0 < min(map(len, chunks)) <= max(map(len, chunks)) <= chunk
    assert positions == sorted(positions)
    assert positions[-1] == len(content)


def test_damaged_gzip_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    cases = {
        PACKED[:kept]: "cut off"
        for kept in (2, 9, 10, 500, len(PACKED) - 8, len(PACKED) - 1)
    }
    cases |= dict.fromkeys(
        (PACKED + b"something else", PACKED[:-8] + b"12345678", PACKED[:-4] + b"1234"),
        "damaged",
    )
    for position in range(2, len(PACKED), len(PACKED) // 40):
        cases[
            PACKED[:position]
            + bytes([PACKED[position] ^ 0xFF])
            + PACKED[position + 1 :]
        ] = "damaged|cut off"
    wholes = 0
    for content, expected in cases.items():
        path.write_bytes(content)
        result = outcome(path)
        wholes += result == TEXT
        assert result == TEXT or (
            isinstance(result, str) and re.search(f"{path}: ({expected})", result)
        )
    assert wholes <= 2  # a changed byte of an unused header field: time, system
    assert (
        outcome(tmp_path / "absent")
        == f"{tmp_path / 'absent'}: cannot be read (No such file or directory)."
    )
