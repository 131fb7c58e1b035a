"""Every text in a file.

What `leakcheck` looks through in a run's folder, by content (`leak_views`), not by
name.
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
    Closed,
    Contained,
    Values,
    contained,
    decoded,
    encoded,
    readings,
    rearranged,
    sniffed,
)
from medical_tasks.io.files import open_file

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

_CHUNK = 2**20
_FIRST_OF_JSON = 7 * 2**20  # bytes that the first piece of a JSON file has besides
_OVERLAP = 2**16  # bytes seen twice, so that no run of words is cut
_WHOLE_LIMIT = 64 * 2**20  # of encoded bytes that go on over the end of a chunk
_DEEPEST = 8  # encodings and archives in one another
_UNPACKED_LIMIT = 8 * 2**30
_UNPACKED_LEAST = 2**27  # which a file may unpack to, however small it is
_UNPACKED_TIMES = 100  # of its own size
_IN_MEMORY = 8 * 2**20
_HASH_BYTES = 64
# bytes inside a text or table that may be a hash, a key or a signature
_KEY_BYTES = 256
_ENCODED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-\\\r\n"
_LISTED = b"0123456789abcdefABCDEFxX \t\r\n,;:'\"\\%[]"
# Parts of a PNG picture that hold its points, colours or camera's data; any other may
# hold a text.
_PNG_FACTS = (
    *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT"),
    *(b"sRGB", b"bKGD", b"hIST", b"pHYs", b"sPLT", b"tIME", b"eXIf", b"acTL", b"fcTL"),
    *(b"fdAT", b"cICP", b"mDCv", b"cLLi"),
)  # fmt: skip


class Looking:
    """Looks through one file, unpacking into the empty folder `scratch`.

    Of `pictures` and fonts only the bytes are looked at.
    """

    def __init__(self, scratch: Path) -> None:
        self.reasons: dict[str, None] = {}
        self.pictures = 0
        self._scratch = scratch
        self._unpacked = 0
        self._most = 0  # bytes that the file may unpack to
        self._seen: set[int] = set()

    def file(self, path: Path, keep: Callable[[str], object]) -> None:
        """Gives `keep` the texts in a file, in every reading; some more than once."""
        with self._noted("file"), open_file(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            self._most = min(
                _UNPACKED_LIMIT, max(_UNPACKED_LEAST, _UNPACKED_TIMES * size)
            )
            for text in self._stream(stream, 0, path):
                keep(text)

    @contextmanager
    def _noted(self, what: str) -> Iterator[None]:
        """Notes that `what` cannot be read, whatever is raised.

        Parsers raise errors of any kind.
        """
        try:
            yield
        except (
            Exception
        ) as error:  # readers of archives, pictures and tables raise errors of any kind
            self._closed(f"{what} cannot be read to its end ({failure_kind(error)})")

    def _closed(self, reason: str) -> None:
        self.reasons[reason] = None

    def _new(self, part: str | bytes) -> bool:
        # texts that are stored in the same bytes have one hash
        seen = hash((type(part), len(part), part))
        if not part or seen in self._seen:
            return False
        self._seen.add(seen)
        return True

    def _stream(
        self, stream: IO[bytes], depth: int, path: Path | None = None
    ) -> Iterator[str]:
        """All texts that can be read in a stream of bytes, whatever its form.

        The form is told by its first bytes, never by the file's name. A known form is
        opened, and what it holds is read as streams of their own, one deeper. Its bytes
        are read as text as well: a text may stand before, behind or between what the
        form has.
        """
        head = stream.read(512)
        stream.seek(0)
        form = sniffed(head)
        if not form and zipfile.is_zipfile(stream):  # a program may stand before it
            form = "zip"

        if form == "log" and not (
            path and path.with_name(path.name.rpartition("-")[0]).is_file()
        ):
            form = ""  # what belongs to no database here

        if form in _OPENERS:
            with self._noted(form):
                stream.seek(0)
                yield from _OPENERS[form](
                    self, io.BufferedReader(_Lent(stream)), depth, path
                )
        elif " " in form:
            self._closed(f"{form} cannot be looked into")

        stream.seek(0)
        for block in self._blocks(stream):
            texts, whole = decoded(block)
            if not form and not whole:
                self._closed("bytes of an unknown form")

            # Packed bytes look encoded here and there by chance; what they hold was
            # opened.
            # which has bytes of deleted rows
            opened = form in _OPENERS and form != "sqlite"
            yield from readings(texts[0]) if opened else self._text(texts[0], depth)
            for text in texts[1:]:
                yield from readings(text) if form else self._text(text, depth)

    def _blocks(self, stream: IO[bytes]) -> Iterator[bytes]:
        """The bytes of a stream in pieces of about a megabyte.

        Each begins with the last 64 KiB of the one before, so that no run of words is
        cut. Encoded bytes that go on past the end are kept whole, up to 64 MiB. The
        first piece of a JSON file has up to eight megabytes: of a document that is cut,
        each bracket that is still open is tried in vain.
        """
        kept = b""
        while part := stream.read(_CHUNK):
            if not kept and part.lstrip()[:1] in (b"{", b"["):
                part += stream.read(_FIRST_OF_JSON)

            block = kept + part
            while _running(block) > _OVERLAP and (part := stream.read(_CHUNK)):
                if len(block) > _WHOLE_LIMIT:
                    self._closed(
                        f"encoded bytes of more than {_WHOLE_LIMIT // 2**20} MiB in a row"
                    )
                    break

                block += part

            yield block
            kept = (
                block[-max(_OVERLAP, min(_running(block), _WHOLE_LIMIT)) :]
                if len(block) >= _CHUNK
                else b""
            )

    def _text(self, text: str, depth: int) -> Iterator[str]:
        """A text in every reading, and the texts that are stored in it."""
        if not self._new(text):
            return

        views = list(dict.fromkeys(readings(text)))
        yield from views
        for view in dict.fromkeys((text, *views[-2:])):
            for other in rearranged(view):
                yield other
                yield from self._found(encoded(other), depth)

        for view in {text: None, views[-1]: None}:
            yield from self._found(contained(view), depth)

    def _found(self, parts: Iterable[Contained], depth: int) -> Iterator[str]:
        """Looks into what was in a text, one deeper, down to `_DEEPEST`."""
        for part in parts:
            if isinstance(part, Closed):
                self._closed(part.reason)
            elif depth >= _DEEPEST:
                self._closed(
                    f"more than {_DEEPEST} encodings and archives in one another"
                )
            elif isinstance(part, str):
                yield from self._text(part, depth + 1)
            elif self._new(part):
                yield from self._embedded(part, depth + 1)

    def _embedded(self, raw: bytes, depth: int) -> Iterator[str]:
        """Bytes from inside a text or a table. A few that nobody knows are a hash; many are not."""
        form, (texts, whole) = sniffed(raw), decoded(raw)
        if form or whole:
            before = dict(self.reasons)
            yield from self._stream(io.BytesIO(raw), depth)
            # A hash may begin like anything; bytes that were lost in a text are the
            # file around it, which was opened.
            if form and (
                len(raw) <= _HASH_BYTES or raw.count(b"\xef\xbf\xbd") > len(raw) / 50
            ):
                self.reasons = before

            return

        if len(raw) > _HASH_BYTES:
            yield from texts
        if len(raw) > _KEY_BYTES and len(set(raw)) > 100:
            self._closed("encoded bytes of an unknown form")

    def _members(
        self, parts: Iterable[tuple[str, Callable[[], IO[bytes]]]], depth: int
    ) -> Iterator[str]:
        for name, opened in parts:
            yield from self._text(name, depth)
            with self._noted("member of an archive"), opened() as member:
                yield from self._unpack(_parts(member), depth)

    def _unpack(self, blocks: Iterable[bytes], depth: int) -> Iterator[str]:
        """Looks through what is packed, once it lies unpacked in the scratch folder.

        A bomb ends at `_most` bytes over all of the file; what came before is looked
        at.
        """
        if depth >= _DEEPEST:
            self._closed(f"more than {_DEEPEST} encodings and archives in one another")
            return

        with tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=str(self._scratch)) as place:
            with self._noted(
                "packed content"
            ):  # what came before the damage is looked through
                for block in blocks:
                    self._unpacked += len(block)
                    if self._unpacked > self._most:
                        self._closed(
                            f"unpacks to more than {self._most // 2**20:,} MiB"
                        )
                        break

                    place.write(block)

            place.seek(0)
            yield from self._stream(place, depth + 1)

    def _zlib(self, stream: IO[bytes], depth: int, path: Path | None) -> Iterator[str]:
        """Content packed by zlib, and what stands behind it."""
        unpack = zlib.decompressobj()

        def blocks() -> Iterator[bytes]:
            while part := stream.read(_OVERLAP):
                while part and not unpack.eof:
                    yield unpack.decompress(part, _CHUNK)
                    part = unpack.unconsumed_tail

            if not unpack.eof:
                raise EOFError

        yield from self._unpack(blocks(), depth)
        yield from self._found([unpack.unused_data + stream.read()], depth)

    def _zip(self, stream: IO[bytes], depth: int, path: Path | None) -> Iterator[str]:
        """Names and content of an archive's files, and what stands before them."""
        with zipfile.ZipFile(stream) as archive:
            files = archive.infolist()
            before = min(
                (file.header_offset for file in files), default=archive.start_dir
            )
            stream.seek(0)
            if before and not decoded(stream.read(min(before, _CHUNK)))[1]:
                self._closed("bytes of an unknown form before an archive")

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
        said: Mapping[bytes, bytes] | None,
        batches: Iterable[RecordBatch],
        depth: int,
    ) -> Iterator[str]:
        """The cells of a table, its columns' names, and its schema's metadata."""
        yield str(schema)
        yield from self._found(
            [part for pair in (said or {}).items() for part in pair], depth
        )
        yield from self._rows(
            (row for batch in batches for row in batch.to_pylist()), depth
        )

    def _rows(self, rows: Iterable[object], depth: int) -> Iterator[str]:
        values = Values(whole=True)
        for row in rows:
            yield from self._found(values.add(row), depth)
        yield from self._found(values.rest(), depth)

    def _numpy(self, stream: Any, depth: int, path: Path | None) -> Iterator[str]:
        """Texts and whole numbers of arrays; numbers with a fraction hold no text."""
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
        """A pickle's constants; it is never loaded. What they make together is not known."""
        parts = [
            part
            for _, part, _ in pickletools.genops(stream)
            if isinstance(part, str | bytes | int)
        ]
        yield from self._rows(
            [[part for part in parts if not isinstance(part, int)]], depth
        )
        self._closed("a pickle, of which only the texts were read")

    def _picture(
        self, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        """Texts in a PNG picture, outside of its points; of other forms nothing.

        A picture is `IHDR ... IDAT ... IEND`; what stands in a part of another name,
        such as `tEXt`, or behind the end is looked through.
        """
        self.pictures += 1
        if stream.read(8)[1:4] != b"PNG":
            return

        kind = b""
        while kind != b"IEND":
            head = stream.read(8)
            kind = head[4:]
            part = stream.read(int.from_bytes(head[:4], "big"))
            if stream.read(4) != zlib.crc32(kind + part).to_bytes(4, "big"):
                raise ValueError

            if kind not in _PNG_FACTS:
                packed = re.search(rb"\x78[\x01\x5e\x9c\xda]", part)
                yield from self._found(
                    [part, part[packed.start() :] if packed else b""], depth
                )

        yield from self._found([stream.read()], depth)

    def _sqlite(
        self, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        """All values of all tables, of a copy: opening the file itself would change it.

        What was written last may be in its log.
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


class _Lent(io.RawIOBase):
    """A stream whose reader may close it: it stays open."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._stream.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


_Opener = Callable[[Looking, IO[bytes], int, Path | None], Iterator[str]]


def _running(block: bytes) -> int:
    return len(block) - min(len(block.rstrip(_ENCODED)), len(block.rstrip(_LISTED)))


def _parts(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(partial(stream.read, _CHUNK), b"")


def _member(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    # A link holds nothing but its name and its target's, which need not be in the
    # archive.
    holds = not (entry.issym() or entry.islnk())
    return (archive.extractfile(entry) if holds else None) or io.BytesIO()


def _packed(open_it: Callable[[IO[bytes]], Any]) -> _Opener:
    def opened(
        looking: Looking, stream: IO[bytes], depth: int, path: Path | None
    ) -> Iterator[str]:
        with open_it(stream) as plain:
            yield from looking._unpack(_parts(plain), depth)

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
    "zlib": Looking._zlib,
    "zip": Looking._zip,
    "tar": Looking._tar,
    "parquet": Looking._parquet,
    "arrow": Looking._arrow,
    "sqlite": Looking._sqlite,
    "numpy": Looking._numpy,
    "pickle": Looking._pickle,
    "picture": Looking._picture,
}
