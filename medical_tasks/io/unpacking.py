"""The bytes of a very large file, plain or gzip, in chunks of bounded size that are read and unpacked ahead of their use.

Unpacking is most of the work of reading a gzip file. It runs in a thread beside whoever uses the chunks, with zlib-ng where
that is installed (two to three times as fast as the zlib of Python, same interface, same results).
"""

from __future__ import annotations

import contextlib
import importlib
import threading
import zlib
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any, BinaryIO

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.whole_file import open_file

__all__ = ["read_chunks"]

_CHUNK_BYTES = 4 * 1024 * 1024  # unpacked
_PACKED_BYTES = 384 * 1024
_AHEAD = 4
_KEPT_BYTES = 16 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib: a gzip header and trailer, the checksum compared

_Chunk = tuple[bytes, int]  # and how far the file was read for it


def read_chunks(
    path: Path, *, again: str, on_read: Callable[[int], None] = lambda _: None
) -> Generator[bytes, None, None]:
    """Reads a file whose kind is told by its content.

    Args:
        path: the file; gzip may have one member or several, and zeros behind each.
        again: the next step, for messages about a damaged file.
        on_read: called, in the caller's thread, with the number of bytes of the file that were read so far.

    Yields:
        The unpacked bytes in order, in pieces that are not empty.

    Raises:
        UsageError: The file cannot be read, or its gzip data are cut off, damaged or followed by something else.
    """
    # glibc keeps freed memory for its next use up to the largest size that was ever freed; else each chunk is handed back to
    # the system and fetched again page by page, which takes a quarter of the whole time. Never touched, it costs nothing.
    bytearray(_KEPT_BYTES)
    allowed: SimpleQueue[bool] = SimpleQueue()  # True: read one more chunk; False: nobody wants any more
    ready: SimpleQueue[_Chunk | BaseException | None] = SimpleQueue()  # None is the end
    for _ in range(_AHEAD):
        allowed.put(True)
    source = _chunks(path, again)
    threading.Thread(target=_read_ahead, args=(source, allowed, ready), name=f"reading {path}", daemon=True).start()
    told = 0
    try:
        while isinstance(item := ready.get(), tuple):
            allowed.put(True)
            chunk, read = item
            if read != told:
                told = read
                on_read(told)
            if chunk:
                yield chunk
    finally:
        # Nothing else: when the garbage collector closes this generator, in whichever thread, waiting could be for ever.
        allowed.put(False)
    if item is not None:
        raise item


def _read_ahead(
    source: Generator[_Chunk, None, None], allowed: SimpleQueue[bool], ready: SimpleQueue[_Chunk | BaseException | None]
) -> None:
    """Runs in the thread."""
    end: BaseException | None = None
    try:
        with contextlib.closing(source):
            while allowed.get() and (item := next(source, None)):
                ready.put(item)
    except BaseException as error:  # raised again where the chunks are used
        end = error
    ready.put(end)


def _chunks(path: Path, again: str) -> Generator[_Chunk, None, None]:
    try:
        with open_file(path) as stream:
            magic = stream.read(len(_GZIP_MAGIC))
            stream.seek(0)
            if magic == _GZIP_MAGIC:
                yield from _unpacked(path, stream, again)
                return
            while chunk := stream.read(_CHUNK_BYTES):
                yield chunk, stream.tell()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error


def _unpacked(path: Path, stream: BinaryIO, again: str) -> Generator[_Chunk, None, None]:
    """Unpacks members, whose lengths and checksums zlib compares; what is unpacked at a time is bounded."""
    library = _zlib()
    new_unpacker = getattr(library, "_ZlibDecompressor", None) or partial(_Unpacker, library)
    member: Any = None  # the one that is open
    read = 0  # counted: asking the stream is a system call, each of which may wait for the interpreter's lock
    try:
        while packed := stream.read(_PACKED_BYTES):
            read += len(packed)
            while packed:
                if member is None:
                    packed = packed.lstrip(b"\0")  # padding between members is allowed
                    if not packed:
                        break
                    member = new_unpacker(_GZIP_WINDOW)
                yield member.decompress(packed, _CHUNK_BYTES), read
                while not (member.eof or member.needs_input):
                    yield member.decompress(b"", _CHUNK_BYTES), read
                packed = b""
                if member.eof:
                    member, packed = None, member.unused_data
        while member is not None:
            chunk = member.decompress(b"", _CHUNK_BYTES)
            if member.eof:
                member = None
            elif not chunk:
                break
            yield chunk, read
    except library.error as error:
        raise UsageError(f"{path}: damaged, cannot be unpacked near byte {read:,} ({error}). {again}") from error
    if member is not None:
        raise UsageError(f"{path}: cut off, the gzip data end amid ({read:,} bytes are there). {again}")


class _Unpacker:
    """Unpacks a member with the interface that zlib-ng has and Python's zlib lacks: input left over is kept here.

    Both check the same and say the same. But zlib-ng's own makes room for a whole chunk at once and unpacks it without the
    interpreter's lock, where a `decompressobj` begins with 16 KiB and takes the lock again at each doubling.
    """

    def __init__(self, library: ModuleType, window: int) -> None:
        self._object = library.decompressobj(window)

    @property
    def eof(self) -> bool:
        return bool(self._object.eof)

    @property
    def needs_input(self) -> bool:
        return not self._object.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return bytes(self._object.unused_data)

    def decompress(self, packed: bytes, most: int) -> bytes:
        return bytes(self._object.decompress(self._object.unconsumed_tail + packed, most))


def _zlib() -> ModuleType:
    try:
        return importlib.import_module("zlib_ng.zlib_ng")
    except ImportError:  # a platform it has no wheel for: slower, nothing else
        return zlib
