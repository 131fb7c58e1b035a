from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.errors import IncompleteError, UsageError
from medical_tasks.io import store as stores
from medical_tasks.io.store import Store, Texts, content_key
from tests.case_tables import json_of
from tests.support import counts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_records_are_read_back_and_a_second_put_replaces_and_is_counted(
    tmp_path: Path,
) -> None:
    text = "a\ud800b\x00c\U0001f600"  # no UTF-8 can carry it
    with Store(tmp_path / "s.sqlite") as store:
        assert stat.S_IMODE((tmp_path / "s.sqlite").stat().st_mode) == 0o600
        assert counts(store, "answer") == (0, 0)
        store.put("answer", "k", {"text": "a"})
        store.put("answer", "k", {"text": "25.2", "n": None})
        store.put("answer", content_key({"q": text}), {"text": text})
        assert counts(store, "answer") == (2, 3)
        assert store.get_many("verdict", ["k"]) == store.get_many("answer", []) == {}
    with Store(tmp_path / "s.sqlite") as store:
        records = store.get_many("answer", ["k", "absent", content_key({"q": text})])
        keys = [f"k{number}" for number in range(1203)]  # more than one query takes
        for key in keys:
            store.put("verdict", key, {"text": key})
        assert store.get_many("verdict", keys) == {key: {"text": key} for key in keys}
    assert records == {
        "k": {"text": "25.2", "n": None},
        content_key({"q": text}): {"text": text},
    }


def test_a_file_of_something_else_or_a_newer_format_or_a_damaged_one_is_refused(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s.sqlite"
    path.write_bytes(b"not a database " * 100)
    with pytest.raises(
        UsageError,
        match=r"s\.sqlite: not a store of medical-tasks.* choose another --out",
    ):
        Store(path)
    connection = sqlite3.connect(tmp_path / "newer")
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(UsageError, match="store format 99, this one reads 1"):
        Store(tmp_path / "newer")
    # Damage behind the header.
    path.unlink()
    with Store(path) as store:
        for number in range(200):
            store.put("answer", str(number), {"text": "x" * 500})
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with Store(path) as store, pytest.raises(UsageError, match="damaged one"):
        store.get_many("answer", [str(number) for number in range(200)])


@given(parts=st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_the_key_depends_on_content_not_on_order(parts: dict[str, object]) -> None:
    reordered = dict(reversed(list(parts.items())))
    assert content_key(parts) == content_key(reordered)
    assert content_key(parts) != content_key({**parts, "one more": 1})


def test_the_key_is_the_same_in_every_process_and_version() -> None:
    # SHA-256 of {"a":[1,"x"],"b":null} by hand: printf '{"a":[1,"x"],"b":null}' |
    # sha256sum
    assert (
        content_key({"b": None, "a": [1, "x"]})
        == hashlib.sha256(b'{"a":[1,"x"],"b":null}').hexdigest()
    )
    with pytest.raises(ValueError, match="Out of range float"):
        content_key({"a": float("nan")})


def _write_many(path: Path, name: str, count: int) -> None:
    with Store(path) as store:
        for number in range(count):
            store.put("answer", f"{name}-{number}", {"text": name})


def test_several_processes_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    writers = [
        context.Process(target=_write_many, args=(path, f"w{number}", 100))
        for number in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    with Store(path) as store:
        assert counts(store, "answer") == (400, 400)


_ENDLESS = """
import sys
from pathlib import Path
from medical_tasks.io.store import Store
store, number = Store(Path(sys.argv[1])), 0
while True:
    store.put("answer", str(number), {"text": "x" * 2000})
    number += 1
    print(number, flush=True)
"""


def test_committed_records_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    for _ in range(5):
        path.unlink(missing_ok=True)
        writer = subprocess.Popen(
            [sys.executable, "-c", _ENDLESS, str(path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        for _ in range(20):
            writer.stdout.readline()
        time.sleep(0.02)
        os.kill(writer.pid, signal.SIGKILL)
        printed = writer.stdout.read().split()
        writer.stdout.close()
        writer.wait()
        committed = int(printed[-1]) if printed else 20
        with Store(path) as store:
            records, _times = counts(store, "answer")
            assert committed <= records <= committed + 1
            assert (
                len(
                    store.get_many(
                        "answer", [str(number) for number in range(committed)]
                    )
                )
                == committed
            )


def _fill(path: Path, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Store(path) as store:
        try:
            for number in range(10_000):
                store.put("answer", str(number), {"text": "x" * 1000})
        except IncompleteError as error:
            Path(f"{path}.message").write_text(json.dumps([number, str(error)]))


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of file size")
def test_a_full_disk_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    process = multiprocessing.get_context("fork").Process(
        target=_fill, args=(path, 300_000)
    )
    process.start()
    process.join(60)
    number, message = json_of(Path(f"{path}.message"))
    assert "cannot write" in message
    assert "give the same command again" in message
    assert number > 10
    with Store(path) as store:
        assert counts(store, "answer")[0] == number


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.text(st.characters()))),
    st.sampled_from([1, 2**24]),
)
def test_texts_are_read_back_from_memory_and_from_the_file(
    put: list[tuple[str, str]], in_memory: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "_IN_MEMORY", in_memory)
        texts = Texts([*put, ("half a pair", "\ud800")])
        assert texts == {**dict(put), "half a pair": "\ud800"}
        assert ("d" in texts, texts.get("d")) == (False, None)
