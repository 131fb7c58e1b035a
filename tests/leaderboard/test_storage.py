from __future__ import annotations

import errno
import itertools
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.storage import AlreadyStoredError, LocalStorage
from tests.support import ROOT


def stored_files(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    )


def test_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        LocalStorage(tmp_path / "board").create("a/b/c", b"x")
    finally:
        os.umask(before)
    modes = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "board", *(tmp_path / "board").rglob("*"))
    }
    assert len(modes) == 5
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/a",
        "a/",
        "a//b",
        "../a",
        "a/../b",
        ".a",
        "a/.b",
        "A",
        "a b",
        "a\n",
        "ä",
        "a\x00",
        "-a",
        "a\\b",
        "x" * 201,
    ],
)
def test_invalid_names(tmp_path: Path, name: str) -> None:
    store = LocalStorage(tmp_path / "board")
    with pytest.raises(
        UsageError,
        match="no name of a stored file. Its parts, joined by `/`, begin with a lower-case",
    ):
        store.create(name, b"x")
    with pytest.raises(UsageError, match="no name of a stored file"):
        store.read(name)
    assert not (tmp_path / "board").exists()


def test_missing_files_and_wrong_folders(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    store.create("a/b", b"x")
    for name in ("c", "a", "a/b/c"):
        with pytest.raises(
            MissingError,
            match=f"{name}: cannot be read from the store .* `medical-tasks leaderboard check`",
        ):
            store.read(name)
    with pytest.raises(
        MissingError,
        match=r"a/b/c: cannot be written .*\(Not a directory\); nothing was changed",
    ):
        store.create("a/b/c", b"x")
    with pytest.raises(AlreadyStoredError):
        store.create("a", b"x")  # the name of a folder
    with pytest.raises(UsageError, match="is no folder; a leaderboard's store is one"):
        LocalStorage(tmp_path / "a" / "b")
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / ".parts").write_text("no folder")
    with pytest.raises(
        MissingError, match=r"a: cannot be written .*\(Not a directory\)"
    ):
        LocalStorage(tmp_path / "board").create("a", b"x")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    store = LocalStorage(tmp_path / "board")
    store.create("a/b", b"x")
    (store.folder / "link").symlink_to(tmp_path / "secret")
    (store.folder / "folder").symlink_to(tmp_path)
    assert store.names() == ["a/b"]
    with pytest.raises(MissingError, match="link: cannot be read"):
        store.read("link")
    with pytest.raises(AlreadyStoredError):
        store.create("link", b"x")
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize(
    ("call", "broken_at", "number", "step"),
    [
        *(
            (call, 1, number, "Free some")
            for call in ("fsync", "write", "link")
            for number in (errno.ENOSPC, errno.EIO)
        ),
        *(
            ("fsync", at, errno.EIO, "Free some") for at in (2, 3)
        ),  # after the new folder: the file, its place
        (
            "link",
            1,
            errno.EPERM,
            "Its file system makes no hard links, or its rights forbid it: choose another --store",
        ),
    ],
)
def test_disk_errors_are_reported_and_leave_no_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    broken_at: int,
    number: int,
    step: str,
) -> None:
    store = LocalStorage(tmp_path)
    store.create("a", b"x")
    name = {"write": "fdopen"}.get(call, call)
    real, calls = getattr(os, name), itertools.count(1)

    def broken(*arguments: Any, **named: Any) -> Any:
        if next(calls) == broken_at:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, name, broken)
        with pytest.raises(
            MissingError,
            match=rf"b/c: cannot be written .*\({os.strerror(number)}\); nothing was changed. {step}",
        ):
            store.create("b/c", b"y")
    assert stored_files(tmp_path) == ["a"]
    store.create("b/c", b"y")
    assert store.read("b/c") == b"y"


def test_old_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    store = LocalStorage(tmp_path)
    store.create("a", b"x")
    old, new = tmp_path / ".parts" / "old", tmp_path / ".parts" / "new"
    for left in (old, new):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    (tmp_path / ".parts" / "folder").mkdir()
    os.utime(tmp_path / ".parts" / "folder", (0, 0))
    assert store.names() == ["a"]
    store.create("b", b"y")
    assert stored_files(tmp_path) == [".parts/new", "a", "b"]


@settings(max_examples=12, derandomize=True)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c/d", "c/e", "c/f/g"]), st.binary(max_size=9)
        ),
        max_size=12,
    )
)
def test_a_store_is_a_dict_that_keeps_the_first(
    writes: list[tuple[str, bytes]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store, model = LocalStorage(Path(folder)), dict[str, bytes]()
        for name, content in writes:
            if name in model:
                with pytest.raises(
                    AlreadyStoredError,
                    match=f"{name}: is in the store already; nothing was changed",
                ):
                    store.create(name, content)
            else:
                store.create(name, content)
                model[name] = content
        assert store.names() == sorted(model)
        assert {name: store.read(name) for name in store.names()} == model
        assert stored_files(store.folder) == sorted(
            model
        )  # nothing is left beside them
        for prefix in ("", "c", "c/", "c/d", "c/f/", "x", "../", "c/../", "/"):
            assert store.names(prefix) == sorted(
                name for name in model if name.startswith(prefix)
            )


def test_one_of_many_writers_wins_a_name(tmp_path: Path) -> None:
    store, barrier = LocalStorage(tmp_path), threading.Barrier(8)

    def write(number: int) -> bool:
        barrier.wait()
        try:
            store.create("deep/er/name", b"%d" % number)
        except AlreadyStoredError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        won = [
            number for number, first in enumerate(threads.map(write, range(8))) if first
        ]
    assert len(won) == 1
    assert store.read("deep/er/name") == b"%d" % won[0]


WRITER = """
import sys
from pathlib import Path
from medical_tasks.leaderboard.storage import LocalStorage
store = LocalStorage(Path(sys.argv[1]))
for number in range(1_000_000):
    store.create(f"files/{number}", b"%d" % number * 4000)
    print(number, flush=True)
"""


def test_a_killed_writer_leaves_complete_files(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(20)]
        writer.send_signal(signal.SIGKILL)
    store = LocalStorage(tmp_path)
    names = store.names("files/")
    # every file that was reported as stored is stored
    assert {f"files/{line.strip()}" for line in lines} <= set(names)
    for name in names:
        number = name.removeprefix("files/").encode()
        assert store.read(name) == number * 4000
