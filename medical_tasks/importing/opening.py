"""Opening files that strangers wrote: JSON, JSON Lines, gzip, and zip archives, within limits.

Example:
    >>> files = Files(again="Give the folder of a HELM run, whole.")
    >>> stats = files.json(folder / "stats.json")
    >>> files.sha256
    {"stats.json": "3f2a..."}
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.io.files import open_file, read_chunks, readable
from medical_tasks.io.untrusted import shown

if TYPE_CHECKING:
    from medical_tasks.io.forms import OpenForm

    _Form = TypeVar("_Form", bound=OpenForm)

LARGEST: Final = 1_000_000_000
"""Most bytes of a file, unpacked; a log of 1,047 long answers has about 50,000,000."""
MOST_RECORDS: Final = 1_000_000

_ZSTD: Final = 93
_PACKED: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
_HEADER: Final = 30
_DAMAGED: Final = (
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)


class Files:
    """What is read of a source.

    Attributes:
        again: what to do about a file that cannot be used, for messages.
        sha256: of each file, by name, as far as they were read.
    """

    def __init__(self, *, again: str) -> None:
        self.again = again
        self.sha256: dict[str, str] = {}

    def read(self, path: Path) -> bytes:
        """Reads a file, unpacked where it is gzip."""
        content = bytearray()
        with readable(path, missing=self.again, again=self.again):
            for chunk in read_chunks(path, again=self.again):
                content += chunk
                self.check_size(path, len(content))
            self.sha256[path.name] = file_sha256(path)
        return bytes(content)

    def json(self, path: Path) -> Any:
        """Reads a file of one JSON value."""
        return self.parsed(path, self.read(path))

    def lines(self, path: Path) -> Iterator[tuple[str, object]]:
        """Reads JSON Lines, each with its place; blank lines are skipped."""
        number = 0
        for number, line in enumerate(self.read(path).split(b"\n"), start=1):
            if number > MOST_RECORDS:
                raise UsageError(
                    f"{path}: more than {MOST_RECORDS:,} lines. {self.again}"
                )
            if line.strip():
                yield f"line {number}", self.parsed(path, line, at=f", line {number}")

    def parsed(self, path: Path, content: bytes, *, at: str = "") -> Any:
        """Reads JSON; NaN is taken, as Python's harnesses write it."""
        try:
            return json.loads(content)
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{path}{at}: not UTF-8 text (byte {error.start}). {self.again}"
            ) from None
        except (ValueError, RecursionError) as error:
            reason = (
                "nested too deeply"
                if isinstance(error, RecursionError)
                else _told(error)
            )
            raise UsageError(
                f"{path}{at}: not whole JSON ({reason}), as if the file was cut off. {self.again}"
            ) from None

    def check(
        self, form: type[_Form], value: object, path: Path, at: str = ""
    ) -> _Form:
        """Reads a value by its form; `at` is where it stands in the file."""
        from medical_tasks.io.forms import complaint

        if problem := complaint(form, value):
            if policy.protecting():  # the value may be a text of the source
                problem = problem.partition(", got ")[0]
            where = f", {at}" if at else ""
            raise UsageError(f"{path}{where}: {problem}. {self.again}")
        return form.model_validate(value)

    def check_size(self, path: Path, size: int) -> None:
        """Refuses what is larger than anything that should be read."""
        if size > LARGEST:
            raise UsageError(
                f"{path}: has more than {LARGEST:,} bytes, which is the most that is read."
            )


class Archive:
    """A zip file whose members are JSON, also where they are packed by zstd."""

    def __init__(self, files: Files, path: Path) -> None:
        """Reads the list of an archive's files; refuses one too large unpacked."""
        self._files, self.path = files, path
        with readable(path, missing=files.again, again=files.again):
            files.sha256[path.name] = file_sha256(path)

        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {each.filename: each for each in archive.infolist()}
        except _DAMAGED as error:
            raise self._damaged(error) from None

        size = sum(each.file_size for each in self._members.values())
        files.check_size(path, size)

    def names(self, folder: str) -> Sequence[str]:
        """The JSON files in a folder of it."""
        return [
            name
            for name in self._members
            if name.startswith(folder) and name.endswith(".json")
        ]

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def json(self, name: str) -> Any:
        """Reads a member."""
        member = self._members.get(name)
        if member is None:
            raise UsageError(
                f"{self.path}: has no {name}, as if it was not written whole. {self._files.again}"
            )

        if member.flag_bits & 1 or member.compress_type not in _PACKED:
            raise UsageError(
                f"{self.path}: {name} is encrypted, or packed in another way than deflate and "
                f"zstd. {self._files.again}"
            )

        try:
            content = self._content(member)
        except _DAMAGED as error:
            raise self._damaged(error) from None

        return self._files.parsed(self.path, content, at=f", {name}")

    def _content(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type != _ZSTD:
            with zipfile.ZipFile(self.path) as archive, archive.open(member) as stream:
                return self._limited(stream.read(member.file_size + 1), member)
        return self._limited(self._zstd(member), member)

    def _zstd(self, member: zipfile.ZipInfo) -> bytes:
        """Python's own zipfile learns of zstd in 3.14; pyarrow knows it."""
        import pyarrow as pa

        with open_file(self.path) as file:
            file.seek(member.header_offset)
            header = file.read(_HEADER)
            # Of the name and the extra field, which stand before the content.
            before = int.from_bytes(header[26:28], "little") + int.from_bytes(
                header[28:30], "little"
            )
            file.seek(before, 1)
            packed = file.read(member.compress_size)

        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            return bytes(stream.read(member.file_size + 1))

    def _limited(self, content: bytes, member: zipfile.ZipInfo) -> bytes:
        if len(content) != member.file_size:
            raise ValueError(f"{member.filename} is not as long as the archive says")
        return content

    def _damaged(self, error: Exception) -> UsageError:
        return UsageError(
            f"{self.path}: a damaged zip file ({type(error).__name__}: {_told(error)}). "
            f"{self._files.again}"
        )


def only_file(folder: Path, found: Sequence[Path], *, wanted: str, again: str) -> Path:
    """The one file that is meant in a folder."""
    if not found:
        raise MissingError(f"{folder}: has no {wanted}. {again}")
    if len(found) > 1:
        names = ", ".join(sorted(path.name for path in found)[:5])
        raise UsageError(
            f"{folder}: has {len(found)} of {wanted} ({names}{', ...' * (len(found) > 5)}). Name "
            "the one that is meant."
        )
    return found[0]


def _told(error: Exception) -> str:
    """What an error says, in one short line that holds nothing of the file."""
    text = (
        str(error).partition(": ")[0]
        if isinstance(error, json.JSONDecodeError)
        else str(error)
    )
    line = getattr(error, "lineno", None)
    where = (
        f" at line {line}, column {getattr(error, 'colno', 0)}"
        if line is not None
        else ""
    )

    return f"{shown(text)[1:-1]}{where}"
