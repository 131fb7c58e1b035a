"""Every text in any file: what `leakcheck` looks through in a run's folder.

By content, not by name: parquet and Arrow (all strings), SQLite (tables, then the bytes with whatever was deleted), JSON
(decoded), gzip, bzip2, xz, zip and tar archives (opened), and the bytes of everything.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import shutil
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from medical_tasks.csv_table import FIELD_LIMIT_BYTES
from medical_tasks.leak_views import bytes_views, strings_by_place, text_views
from medical_tasks.whole_file import open_file, open_text, read_bytes

__all__ = ["UnreadableError", "file_texts"]

_CHUNK = 4 * 2**20
_OVERLAP = 2**16  # bytes seen twice, so that no run of words is cut
_DEEPEST = 4  # archives in archives
_UNPACKED_LIMIT = 8 * 2**30
_JSON_LIMIT = 256 * 2**20
_KEPT_STRINGS = 200_000
_SHARED_STRINGS = 64  # strings of a place that are seen twice, when there are too many to hold
_PACKED: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_SEALED = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!": "rar",
    b"%PDF": "PDF",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress",
    b"\x78\x01": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
    b"\x89HDF\r\n": "HDF5",
    b"Obj\x01": "Avro",
}
_ARROW = (b"ARROW1", b"\xff\xff\xff\xff")
_TABLES = {".csv": ",", ".tsv": "\t"}
_SQLITE = b"SQLite format 3\0"
_BROKEN = (OSError, EOFError, ValueError, RecursionError, RuntimeError, NotImplementedError, zlib.error, lzma.LZMAError)


class UnreadableError(Exception):
    """A file of a form that cannot be looked into; the message is the reason."""


def file_texts(path: Path, scratch: Path, *, depth: int = 0) -> Iterator[str]:
    """Yields the texts in a file, in every reading; some more than once.

    Args:
        path: the file.
        scratch: empty folder of the user's own for what is unpacked; emptied as it goes.
        depth: how many archives it lies in.

    Raises:
        UnreadableError: It cannot be opened, is damaged, or of a closed form.
    """
    try:
        with open_file(path) as stream:
            head = stream.read(512)
        yield from _texts(path, head, scratch, depth)
    except (*_BROKEN, sqlite3.Error, zipfile.BadZipFile, tarfile.TarError) as error:
        # The reason's class alone: a parser's words may quote the file.
        raise UnreadableError(f"{type(error).__name__} while reading it") from error


def _texts(path: Path, head: bytes, scratch: Path, depth: int) -> Iterator[str]:
    for start, name in _SEALED.items():
        if head.startswith(start):
            raise UnreadableError(f"{name} files cannot be looked into")
    if head.startswith(b"ORC") and b"\0" in head:  # a text may begin so
        raise UnreadableError("ORC files cannot be looked into")
    for start, opener in _PACKED.items():
        if head.startswith(start):
            yield from bytes_views(head)  # which may hold the file's name
            with opener(path, "rb") as stream:
                yield from _unpacked(stream, scratch, depth, path.stem)
            return
    if head.startswith(b"PK\x03\x04") or zipfile.is_zipfile(path):  # a program may stand before it
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                yield member.filename
                if not member.is_dir():
                    with archive.open(member) as stream:
                        yield from _unpacked(stream, scratch, depth, member.filename)
    elif head[257:262] == b"ustar":
        with tarfile.open(path) as tar:
            for entry in tar:
                yield entry.name
                inner = tar.extractfile(entry) if entry.isfile() else None
                if inner is not None:
                    yield from _unpacked(inner, scratch, depth, entry.name)
    elif head.startswith(b"PAR1"):
        yield from _parquet(path)
    elif head.startswith(_ARROW):
        yield from _arrow(path)
    elif head.startswith(_SQLITE):
        yield from _sqlite(path, scratch)
    elif path.suffix.lower() in _TABLES:
        yield from _table(path)
    elif path.suffix.lower() == ".jsonl" or head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        yield from _json(path)
    yield from _raw(path)


def _unpacked(stream: IO[bytes], scratch: Path, depth: int, name: str) -> Iterator[str]:
    if depth >= _DEEPEST:
        raise UnreadableError(f"more than {_DEEPEST} archives in one another")
    ending = Path(name).suffix.lower()
    place = scratch / f"unpacked-{depth}{ending if ending in _TABLES else ''}"
    written = 0
    try:
        with place.open("xb") as out:
            while block := stream.read(_CHUNK):
                written += len(block)
                if written > _UNPACKED_LIMIT:
                    raise UnreadableError(f"unpacks to more than {_UNPACKED_LIMIT // 2**30} GiB")
                out.write(block)
        yield from file_texts(place, scratch, depth=depth + 1)
    finally:
        place.unlink(missing_ok=True)


def _raw(path: Path) -> Iterator[str]:
    with open_file(path) as stream:
        kept = b""
        while block := stream.read(_CHUNK):
            yield from bytes_views(kept + block)
            kept = block[-_OVERLAP:]


class _Places:
    """Strings by place, given out joined; of too many to hold, the last ones of a place are given out again with the next."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, ...], list[str]] = {}

    def add(self, value: Any) -> Iterator[str]:
        strings_by_place(value, self._found)
        if sum(map(len, self._found.values())) > _KEPT_STRINGS:
            yield from self.rest()
            self._found = {place: strings[-_SHARED_STRINGS:] for place, strings in self._found.items()}

    def rest(self) -> Iterator[str]:
        for strings in self._found.values():
            yield from text_views(" ".join(strings))


def _json(path: Path) -> Iterator[str]:
    """The decoded strings of a JSON or JSON Lines file; a file that only begins like one has its bytes looked through alone."""
    places = _Places()
    if path.stat().st_size <= _JSON_LIMIT:
        try:
            value = json.loads(read_bytes(path))
        except (ValueError, RecursionError):
            pass
        else:
            yield from places.add(value)
            yield from places.rest()
            return
    with open_file(path) as stream:
        for line in stream:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            yield from places.add(value)
    yield from places.rest()


def _table(path: Path) -> Iterator[str]:
    """The columns of a table, each as one text: it may hold a word a row."""
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_BYTES))
    places = _Places()
    with open_text(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
        try:
            for row in csv.reader(stream, delimiter=_TABLES[path.suffix.lower()]):
                yield from places.add({str(number): cell for number, cell in enumerate(row)})
        except csv.Error:  # no table after all: its bytes are looked through
            pass
    yield from places.rest()


def _parquet(path: Path) -> Iterator[str]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield str(file.schema_arrow)
        for pair in (file.metadata.metadata or {}).items():
            for part in pair:
                yield from bytes_views(part)
        yield from _batches(file.iter_batches(batch_size=2048))


def _arrow(path: Path) -> Iterator[str]:
    import pyarrow as pa

    with pa.OSFile(str(path), "rb") as source:
        try:
            reader = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            yield from _batches(pa.ipc.open_stream(source))
            return
        yield from _batches(reader.get_batch(number) for number in range(reader.num_record_batches))


def _batches(batches: Any) -> Iterator[str]:
    places = _Places()
    for batch in batches:
        for row in batch.to_pylist():
            yield from places.add(row)
    yield from places.rest()


def _sqlite(path: Path, scratch: Path) -> Iterator[str]:
    """All values of all tables, of a copy: opening the file itself would change it. What was written last may be in its log."""
    copy = scratch / "database"
    beside = {scratch / f"database{end}": path.with_name(path.name + end) for end in ("-wal", "-journal")}
    try:
        shutil.copyfile(path, copy)
        for place, source in beside.items():
            if source.is_file():
                shutil.copyfile(source, place)
        with closing(sqlite3.connect(copy)) as connection:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            tables = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
            for name, sql in tables:
                yield f"{name} {sql}"
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                quoted = '"' + name.replace('"', '""') + '"'
                places = _Places()
                for row in connection.execute(f"SELECT * FROM {quoted}"):  # noqa: S608 - a quoted name of its own
                    cells = {str(number): value for number, value in enumerate(row) if isinstance(value, str | bytes)}
                    yield from places.add({number: value for number, value in cells.items() if isinstance(value, str)})
                    for value in cells.values():
                        if isinstance(value, bytes):
                            yield from bytes_views(value)
                yield from places.rest()
    finally:
        for place in (copy, *beside, scratch / "database-shm"):
            place.unlink(missing_ok=True)
