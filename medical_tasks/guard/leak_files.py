"""Finds every text in a file of a run's folder, for `leakcheck`.

Formats are detected by content (`leak_views`), not by name.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pickletools
import re
import shutil
import sqlite3
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from medical_tasks.errors import failure_kind
from medical_tasks.guard.leak_views import (
    Content,
    Unreadable,
    Values,
    decoded,
    detect_format,
    encoded,
    readings,
    rearranged,
    stored_contents,
)
from medical_tasks.io.files import open_file

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

_CHUNK = 2**20
_FIRST_OF_JSON = 7 * 2**20  # further bytes in the first block of a JSON file
_OVERLAP = 2**16  # bytes read twice, so that no run of words is cut
_WHOLE_LIMIT = 64 * 2**20  # of encoded bytes that continue after the end of a chunk
_DEEPEST = 8  # nested encodings and archives
_UNPACKED_LIMIT = 8 * 2**30
_UNPACKED_LEAST = 2**27  # to which even a small file may unpack
_UNPACKED_TIMES = 100  # its own size, to which a file may unpack
_IN_MEMORY = 8 * 2**20
_HASH_BYTES = 64
# bytes inside a text or table that may be a hash, a key or a signature
_KEY_BYTES = 256
_ENCODED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-\\\r\n"
_LISTED = b"0123456789abcdefABCDEFxX \t\r\n,;:'\"\\%[]"
# Chunks of a PNG picture that hold its pixels, colours or camera data; any other chunk
# may hold text.
_PNG_FACTS = (
    *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT"),
    *(b"sRGB", b"bKGD", b"hIST", b"pHYs", b"sPLT", b"tIME", b"eXIf", b"acTL", b"fcTL"),
    *(b"fdAT", b"cICP", b"mDCv", b"cLLi"),
)  # fmt: skip


class FileScan:
    """Searches one file for texts, unpacking into the empty folder `scratch`.

    Attributes:
        reasons: why the file, or a part of it, could not be read.
        pictures: how many pictures and fonts it holds, of which only the bytes are read.
    """

    def __init__(self, scratch: Path) -> None:
        self.reasons: dict[str, None] = {}
        self.pictures = 0
        self._scratch = scratch
        self._unpacked = 0
        self._most = 0  # bytes that the file may unpack to
        self._seen: set[int] = set()

    def file(self, path: Path, keep: Callable[[str], object]) -> None:
        """Calls `keep` with the texts in a file, in every reading; some more than once."""
        with self._noting_errors("file"), open_file(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            self._most = min(
                _UNPACKED_LIMIT, max(_UNPACKED_LEAST, _UNPACKED_TIMES * size)
            )
            for text in self._stream(stream, 0, path):
                keep(text)

    @contextmanager
    def _noting_errors(self, what: str) -> Iterator[None]:
        """Records that `what` cannot be read, whatever is raised."""
        try:
            yield
        # Parsers of archives, pictures and tables raise errors of any kind.
        except Exception as error:
            self._add_reason(
                f"{what} cannot be read to its end ({failure_kind(error)})"
            )

    def _add_reason(self, reason: str) -> None:
        self.reasons[reason] = None

    def _new(self, content: str | bytes) -> bool:
        # equal texts have equal hashes
        seen = hash((type(content), len(content), content))
        if not content or seen in self._seen:
            return False
        self._seen.add(seen)
        return True

    def _stream(
        self, stream: IO[bytes], depth: int, path: Path | None = None
    ) -> Iterator[str]:
        """Yields all texts in a stream of bytes, whatever its form.

        The form is detected by the first bytes, never by the file's name. A known form
        is opened, and its contents are read as further streams, one level deeper. Its
        bytes are read as text as well: there may be text before, after or between the
        contents.
        """
        head = stream.read(512)
        stream.seek(0)
        form = detect_format(head)
        if not form and zipfile.is_zipfile(stream):  # a program may stand before it
            form = "zip"

        if form == "log" and not (
            path and path.with_name(path.name.rpartition("-")[0]).is_file()
        ):
            form = ""  # without its database

        if form in _OPENERS:
            with self._noting_errors(form):
                stream.seek(0)
                yield from _OPENERS[form](
                    self, io.BufferedReader(_Unclosed(stream)), depth, path
                )
        elif " " in form:
            self._add_reason(f"{form} cannot be looked into")

        stream.seek(0)
        for block in self._blocks(stream):
            texts, whole = decoded(block)
            if not form and not whole:
                self._add_reason("bytes of an unknown form")

            # Packed bytes may look encoded by chance; their content was opened. SQLite's
            # bytes are searched too, since they may hold deleted rows.
            opened = form in _OPENERS and form != "sqlite"
            yield from readings(texts[0]) if opened else self._text(texts[0], depth)
            for text in texts[1:]:
                yield from readings(text) if form else self._text(text, depth)

    def _blocks(self, stream: IO[bytes]) -> Iterator[bytes]:
        """Yields the bytes of a stream in blocks of about a megabyte.

        Each begins with the last 64 KiB of the one before, so that no run of words is
        cut. Encoded bytes that continue past the end are kept whole, up to 64 MiB. The
        first block of a JSON file has up to eight megabytes: in a document that is cut,
        each open bracket would be tried without success.
        """
        kept = b""
        while chunk := stream.read(_CHUNK):
            if not kept and chunk.lstrip()[:1] in (b"{", b"["):
                chunk += stream.read(_FIRST_OF_JSON)

            block = kept + chunk
            while _running(block) > _OVERLAP and (chunk := stream.read(_CHUNK)):
                if len(block) > _WHOLE_LIMIT:
                    self._add_reason(
                        f"encoded bytes of more than {_WHOLE_LIMIT // 2**20} MiB in a row"
                    )
                    break

                block += chunk

            yield block
            kept = (
                block[-max(_OVERLAP, min(_running(block), _WHOLE_LIMIT)) :]
                if len(block) >= _CHUNK
                else b""
            )

    def _text(self, text: str, depth: int) -> Iterator[str]:
        """Yields a text in every reading, and the texts that are stored in it."""
        if not self._new(text):
            return

        views = list(dict.fromkeys(readings(text)))
        yield from views
        for view in dict.fromkeys((text, *views[-2:])):
            for other in rearranged(view):
                yield other
                yield from self._stored(encoded(other), depth)

        for view in {text: None, views[-1]: None}:
            yield from self._stored(stored_contents(view), depth)

    def _stored(self, contents: Iterable[Content], depth: int) -> Iterator[str]:
        """Searches what is stored in a text, one level deeper, down to `_DEEPEST`."""
        for content in contents:
            if isinstance(content, Unreadable):
                self._add_reason(content.reason)
            elif depth >= _DEEPEST:
                self._add_reason(
                    f"more than {_DEEPEST} encodings and archives in one another"
                )
            elif isinstance(content, str):
                yield from self._text(content, depth + 1)
            elif self._new(content):
                yield from self._embedded(content, depth + 1)

    def _embedded(self, raw: bytes, depth: int) -> Iterator[str]:
        """Searches bytes from inside a text or a table.

        A few bytes of an unknown form are taken for a hash; many are not.
        """
        form, (texts, whole) = detect_format(raw), decoded(raw)
        if form or whole:
            before = dict(self.reasons)
            yield from self._stream(io.BytesIO(raw), depth)
            # A hash may begin like any format; bytes that were damaged in a text belong
            # to the file around it, which was opened.
            if form and (
                len(raw) <= _HASH_BYTES or raw.count(b"\xef\xbf\xbd") > len(raw) / 50
            ):
                self.reasons = before

            return

        if len(raw) > _HASH_BYTES:
            yield from texts
        if len(raw) > _KEY_BYTES and len(set(raw)) > 100:
            self._add_reason("encoded bytes of an unknown form")

    def _members(
        self, members: Iterable[tuple[str, Callable[[], IO[bytes]]]], depth: int
    ) -> Iterator[str]:
        for name, opened in members:
            yield from self._text(name, depth)
            with self._noting_errors("member of an archive"), opened() as member:
                yield from self._unpack(_chunks(member), depth)

    def _unpack(self, blocks: Iterable[bytes], depth: int) -> Iterator[str]:
        """Unpacks content into the scratch folder, and searches it.

        A decompression bomb ends at `_most` bytes for the whole file; what came before
        is searched.
        """
        if depth >= _DEEPEST:
            self._add_reason(
                f"more than {_DEEPEST} encodings and archives in one another"
            )
            return

        with tempfile.SpooledTemporaryFile(
            _IN_MEMORY, dir=str(self._scratch)
        ) as unpacked:
            # What came before the damage is searched.
            with self._noting_errors("packed content"):
                for block in blocks:
                    self._unpacked += len(block)
                    if self._unpacked > self._most:
                        self._add_reason(
                            f"unpacks to more than {self._most // 2**20:,} MiB"
                        )
                        break

                    unpacked.write(block)

            unpacked.seek(0)
            yield from self._stream(unpacked, depth + 1)

    def _zlib(self, stream: IO[bytes], depth: int, path: Path | None) -> Iterator[str]:
        """Yields the texts of content packed by zlib, and of what follows it."""
        unpack = zlib.decompressobj()

        def blocks() -> Iterator[bytes]:
            while packed := stream.read(_OVERLAP):
                while packed and not unpack.eof:
                    yield unpack.decompress(packed, _CHUNK)
                    packed = unpack.unconsumed_tail

            if not unpack.eof:
                raise EOFError

        yield from self._unpack(blocks(), depth)
        yield from self._stored([unpack.unused_data + stream.read()], depth)

    def _zip(self, stream: IO[bytes], depth: int, path: Path | None) -> Iterator[str]:
        """Yields the names and texts of an archive's files; checks what precedes them."""
        with zipfile.ZipFile(stream) as archive:
            files = archive.infolist()
            before = min(
                (file.header_offset for file in files), default=archive.start_dir
            )
            stream.seek(0)
            if before and not decoded(stream.read(min(before, _CHUNK)))[1]:
                self._add_reason("bytes of an unknown form before an archive")

            yield from self._members(
                ((file.filename, partial(archive.open, file)) for file in files), depth
            )

    def _tar(self, stream: IO[bytes], depth: int, path: Path | None) -> Iterator[str]:
        with tarfile.open(fileobj=stream) as archive:
            entries = (
                (f"{entry.name}\n{entry.linkname}", partial(_member, archive, entry))
                for entry in archive
            )
            yield from self._members(entries, depth)

    def _parquet(
        self, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(stream) as file:
            batches = file.iter_batches(batch_size=2048)
            yield from self._table(
                file.schema_arrow, file.metadata.metadata, batches, depth
            )

    def _arrow(self, stream: IO[bytes], depth: int, path: Path | None) -> Iterator[str]:
        import pyarrow as pa

        try:
            reader = pa.ipc.open_file(stream)
            batches: Iterable[RecordBatch] = (
                reader.get_batch(number) for number in range(reader.num_record_batches)
            )
        except pa.ArrowInvalid:
            stream.seek(0)
            batches = reader = pa.ipc.open_stream(stream)

        yield from self._table(reader.schema, reader.schema.metadata, batches, depth)

    def _table(
        self,
        schema: Schema,
        metadata: Mapping[bytes, bytes] | None,
        batches: Iterable[RecordBatch],
        depth: int,
    ) -> Iterator[str]:
        """Yields the texts of a table's cells, columns and schema."""
        yield str(schema)
        yield from self._stored(
            [text for pair in (metadata or {}).items() for text in pair], depth
        )
        yield from self._rows(
            (row for batch in batches for row in batch.to_pylist()), depth
        )

    def _rows(self, rows: Iterable[object], depth: int) -> Iterator[str]:
        values = Values(whole=True)
        for row in rows:
            yield from self._stored(values.add(row), depth)
        yield from self._stored(values.rest(), depth)

    def _numpy(self, stream: Any, depth: int, path: Path | None) -> Iterator[str]:
        """Yields texts in arrays of strings and whole numbers; floating-point numbers hold none."""
        import numpy as np

        while stream.peek(1):  # arrays may be stored one after another
            array = np.load(stream, allow_pickle=False)
            if array.dtype.kind in "OVM" or array.size > 10**8:
                raise ValueError
            if array.dtype.kind != "f":
                yield from self._rows([array.ravel().tolist()], depth)

    def _pickle(
        self, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        """Yields the texts among a pickle's constants, without loading it."""
        constants = [
            constant
            for _, constant, _ in pickletools.genops(stream)
            if isinstance(constant, str | bytes | int)
        ]
        yield from self._rows(
            [[constant for constant in constants if not isinstance(constant, int)]],
            depth,
        )
        self._add_reason("a pickle, of which only the texts were read")

    def _picture(
        self, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        """Yields the texts in a PNG picture apart from its pixels; none for other formats.

        A picture is `IHDR ... IDAT ... IEND`; chunks of other names, such as `tEXt`, and
        bytes after the end are searched.
        """
        self.pictures += 1
        if stream.read(8)[1:4] != b"PNG":
            return

        kind = b""
        while kind != b"IEND":
            head = stream.read(8)
            kind = head[4:]
            content = stream.read(int.from_bytes(head[:4], "big"))
            if stream.read(4) != zlib.crc32(kind + content).to_bytes(4, "big"):
                raise ValueError

            if kind not in _PNG_FACTS:
                packed = re.search(rb"\x78[\x01\x5e\x9c\xda]", content)
                yield from self._stored(
                    [content, content[packed.start() :] if packed else b""], depth
                )

        yield from self._stored([stream.read()], depth)

    def _sqlite(
        self, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        """Yields the texts of all tables in a copy: opening the file itself would change it.

        The latest rows may be in its log.
        """
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            copy = Path(folder) / "database"
            with copy.open("wb") as out:
                shutil.copyfileobj(stream, out)

            for end in ("-wal", "-journal"):
                beside = path.with_name(path.name + end) if path else None
                if beside and beside.is_file():
                    shutil.copyfile(beside, copy.with_name(copy.name + end))

            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
                tables = connection.execute(
                    "SELECT name, sql, type FROM sqlite_master"
                ).fetchall()
                for name, sql, kind in tables:
                    yield f"{name} {sql}"
                    if kind == "table":
                        quoted = '"' + name.replace('"', '""') + '"'
                        rows = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608 - a quoted name of its own
                        names = [column[0] for column in rows.description]
                        yield from self._rows(
                            (dict(zip(names, row, strict=True)) for row in rows), depth
                        )


class _Unclosed(io.RawIOBase):
    """A view of a stream that leaves it open when the view is closed."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._stream.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


_Opener = Callable[[FileScan, IO[bytes], int, Path | None], Iterator[str]]


def _running(block: bytes) -> int:
    return len(block) - min(len(block.rstrip(_ENCODED)), len(block.rstrip(_LISTED)))


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(stream.read, _CHUNK), b"")


def _member(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    # A link holds only its name and its target's, which need not be in the archive.
    holds = not (entry.issym() or entry.islnk())
    return (archive.extractfile(entry) if holds else None) or io.BytesIO()


def _packed(open_stream: Callable[[IO[bytes]], Any]) -> _Opener:
    def opened(
        scan: FileScan, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        with open_stream(stream) as plain:
            yield from scan._unpack(_chunks(plain), depth)

    return opened


def _by_arrow(stream: IO[bytes], codec: str) -> object:
    import pyarrow as pa

    return pa.input_stream(pa.PythonFile(stream, mode="r"), compression=codec)


_OPENERS: dict[str, _Opener] = {
    "gzip": _packed(gzip.open),
    "bzip2": _packed(bz2.open),
    "xz": _packed(lzma.open),
    "zstd": _packed(partial(_by_arrow, codec="zstd")),
    "lz4": _packed(partial(_by_arrow, codec="lz4")),
    "zlib": FileScan._zlib,
    "zip": FileScan._zip,
    "tar": FileScan._tar,
    "parquet": FileScan._parquet,
    "arrow": FileScan._arrow,
    "sqlite": FileScan._sqlite,
    "numpy": FileScan._numpy,
    "pickle": FileScan._pickle,
    "picture": FileScan._picture,
}
