"""Stores finished work in one SQLite file (WAL) of content-addressed records `(kind, key, payload)`.

The key hashes everything that decides the payload, so a record is never stale. Each `put` is its
own transaction; several processes may use one file at once. `Texts` holds texts that only the
running command needs again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.errors import IncompleteError, UsageError

SCHEMA_VERSION = 1
BUSY_TIMEOUT_S = 60.0
_IN_MEMORY = 2**24  # bytes of texts held in memory before a file is used
_LENGTH_BITS = 31
_CHUNK = 500  # keys per query; SQLite's default limit of variables is far higher

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    payload TEXT NOT NULL,
    times INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID
"""

_PUT_FIRST = "INSERT INTO records (kind, key, payload) VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET times = times + 1"
_PUT = f"{_PUT_FIRST}, payload = excluded.payload"


def content_key(parts: Mapping[str, object]) -> str:
    """Hashes everything that decides a record (SHA-256 of the canonical JSON); refuses `nan`.

    Example: the order of names does not matter, and every value does.
        >>> one = content_key({"model": "m", "vote": 0})
        >>> one == content_key({"vote": 0, "model": "m"})
        True
        >>> one == content_key({"model": "m", "vote": 1})
        False
    """
    text = json.dumps(
        parts,
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )
    # Model text can hold lone surrogates; they must hash, not crash.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """A file of finished records, readable only by its owner; a context manager."""

    def __init__(self, path: Path) -> None:
        """Opens the file, or creates it.

        Raises:
            UsageError: it is not a store, or was written by a newer version.
            IncompleteError: the disk cannot be written.
        """
        self.path = path
        if not path.exists():
            # Created before SQLite opens it, so that others can never read it.
            path.touch(mode=0o600)

        self._connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None
        )
        try:
            with self._disk():
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=NORMAL")
                version = self._connection.execute("PRAGMA user_version").fetchone()[0]
                if version > SCHEMA_VERSION:
                    raise UsageError(
                        f"{path}: written by a newer version (store format {version}, this one "
                        f"reads {SCHEMA_VERSION}). Upgrade medical-tasks, or choose another --out."
                    )

                if version < SCHEMA_VERSION:
                    self._connection.execute(_SCHEMA)
                    self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; safe to call twice."""
        self._connection.close()

    @contextlib.contextmanager
    def _disk(self) -> Iterator[None]:
        """Turns a full or failing disk into a message; committed records stay intact."""
        try:
            yield
        except sqlite3.OperationalError as error:
            text = str(error)
            if (
                "full" in text
                or "disk I/O" in text
                or "readonly" in text
                or "unable to open" in text
            ):
                raise IncompleteError(
                    f"{self.path}: cannot write ({text}). What was finished before is kept. Free "
                    "some space, or make the folder writable, and give the same command again: it "
                    "continues where it stopped."
                ) from error

            raise
        except sqlite3.DatabaseError as error:
            raise UsageError(
                f"{self.path}: not a store of medical-tasks, or a damaged one ({error}). Move it "
                "away, or choose another --out; its answers are then asked again."
            ) from error

    def put(
        self, kind: str, key: str, payload: Mapping[str, Any], *, first: bool = False
    ) -> None:
        """Commits one record.

        A second one with the same key replaces it and is counted; with `first` it is only
        counted, so that processes agree.

        Example: two processes judge the same question at once. Both put with `first`; the
        second record is only counted, and both then read the same verdict.
        """
        # ASCII JSON escapes lone surrogates, which UTF-8 text cannot hold.
        text = json.dumps(payload, ensure_ascii=True, separators=(",", ":"))
        with self._disk():
            self._connection.execute(_PUT_FIRST if first else _PUT, (kind, key, text))

    def holds(self, kind: str) -> bool:
        """Whether there is any record of a kind."""
        with self._disk():
            row = self._connection.execute(
                "SELECT 1 FROM records WHERE kind = ? LIMIT 1", (kind,)
            ).fetchone()
        return row is not None

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Reads the existing records among these keys, by key."""
        key_list = list(keys)
        records: dict[str, dict[str, Any]] = {}
        for start in range(0, len(key_list), _CHUNK):
            chunk = key_list[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            query = (
                f"SELECT key, payload FROM records WHERE kind = ? AND key IN ({marks})"  # noqa: S608 - only marks
            )
            with self._disk():
                rows = self._connection.execute(query, (kind, *chunk)).fetchall()

            records.update((key, json.loads(text)) for key, text in rows)

        return records

    def records(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Reads all records, with kind and key."""
        with self._disk():
            for kind, key, text in self._connection.execute(
                "SELECT kind, key, payload FROM records"
            ):
                yield kind, key, json.loads(text)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Commits everything put inside a `with` block at its end.

        Nothing is committed if the block fails or the process is killed.
        """
        with self._disk():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

                raise


class Texts(Mapping[str, str]):
    """Texts by name.

    The first megabytes are held in memory, more in an unnamed temporary file, which nobody else
    can open.
    """

    def __init__(
        self, texts: Iterable[tuple[str, str]] = (), *, folder: Path | None = None
    ) -> None:
        """Stores some texts; a temporary file, if needed, is in `folder`."""
        where = None if folder is None else str(folder)
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=where)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        # A text's offset, and its length in the lower bits.
        self._places: dict[str, int] = {}
        self._end = 0
        for name, text in texts:
            self.put(name, text)

    def put(self, name: str, text: str) -> None:
        """Stores one text; a second one with its name replaces it."""
        content = text.encode("utf-8", "surrogatepass")
        self._file.seek(self._end)
        self._file.write(content)
        self._places[name] = self._end << _LENGTH_BITS | len(content)
        self._end += len(content)

    def __getitem__(self, name: str) -> str:
        offset_and_length = self._places[name]
        self._file.seek(offset_and_length >> _LENGTH_BITS)
        return self._file.read(offset_and_length & (1 << _LENGTH_BITS) - 1).decode(
            "utf-8", "surrogatepass"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
