"""Opens untrusted files within limits: JSON, JSON Lines, gzip, and zip archives.

Example:
    files = Files(again="Give the complete folder of a HELM run.")
    stats = files.json(folder / "stats.json")
    files.sha256    # {"stats.json": "3f2a..."}
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard import policy
from medical_tasks.io.files import open_file, read_chunks, readable
from medical_tasks.io.untrusted import shown
from medical_tasks.runs.results import Json

if TYPE_CHECKING:
    from medical_tasks.io.forms import OpenForm

    _Form = TypeVar("_Form", bound=OpenForm)

LARGEST: Final = 1_000_000_000
"""The largest unpacked size of a file, in bytes; a log of 1,047 long answers has about 50,000,000."""
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
    """The files of a source.

    Attributes:
        again: The advice for a file that cannot be used, for messages.
        sha256: File name to SHA-256 of the files read so far.
    """

    def __init__(self, *, again: str) -> None:
        self.again = again
        self.sha256: dict[str, str] = {}

    def read(self, path: Path) -> bytes:
        """Reads a file, and unpacks gzip."""
        content = bytearray()
        with readable(path, missing=self.again, again=self.again):
            for chunk in read_chunks(path, again=self.again):
                content += chunk
                self.check_size(path, len(content))
            self.sha256[path.name] = file_sha256(path)
        return bytes(content)

    def json(self, path: Path) -> Any:
        """Reads a file with one JSON value."""
        return self.parsed(path, self.read(path))

    def lines(self, path: Path) -> Iterator[tuple[str, object]]:
        """Reads JSON Lines, each with its position; blank lines are skipped."""
        number = 0
        for number, line in enumerate(self.read(path).split(b"\n"), start=1):
            if number > MOST_RECORDS:
                raise UsageError(
                    f"{path}: more than {MOST_RECORDS:,} lines. {self.again}"
                )
            if line.strip():
                yield f"line {number}", self.parsed(path, line, at=f", line {number}")

    def parsed(self, path: Path, content: bytes, *, at: str = "") -> Any:
        """Parses JSON; NaN is accepted, since Python's harnesses write it."""
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
                else _short_reason(error)
            )
            raise UsageError(
                f"{path}{at}: not whole JSON ({reason}), as if the file was cut off. {self.again}"
            ) from None

    def check(
        self, form: type[_Form], value: object, path: Path, at: str = ""
    ) -> _Form:
        """Validates a value by its form; `at` is its position in the file."""
        from medical_tasks.io.forms import complaint

        if problem := complaint(form, value):
            if policy.protecting():  # the value may be a text of the source
                problem = problem.partition(", got ")[0]
            where = f", {at}" if at else ""
            raise UsageError(f"{path}{where}: {problem}. {self.again}")
        return form.model_validate(value)

    def check_size(self, path: Path, size: int) -> None:
        """Refuses files above the size limit."""
        if size > LARGEST:
            raise UsageError(
                f"{path}: has more than {LARGEST:,} bytes, the largest size that is read."
            )


class Archive:
    """A zip file of JSON members, which may be packed with zstd."""

    def __init__(self, files: Files, path: Path) -> None:
        """Reads the list of an archive's members; refuses one too large when unpacked."""
        self._files, self.path = files, path
        with readable(path, missing=files.again, again=files.again):
            files.sha256[path.name] = file_sha256(path)

        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {
                    member.filename: member for member in archive.infolist()
                }
        except _DAMAGED as error:
            raise self._damaged(error) from None

        size = sum(member.file_size for member in self._members.values())
        files.check_size(path, size)

    def names(self, folder: str) -> Sequence[str]:
        """Returns the JSON members in a folder of the archive."""
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
                f"{self.path}: has no {name}, as if it was not written completely. "
                f"{self._files.again}"
            )

        if member.flag_bits & 1 or member.compress_type not in _PACKED:
            raise UsageError(
                f"{self.path}: {name} is encrypted, or packed with a method other than deflate and "
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
        """Unpacks zstd with pyarrow; Python's zipfile supports it from 3.14.

        A member begins with a local header, whose name and extra field may be longer than in
        the list of members; so their lengths are read there.
        """
        import pyarrow as pa

        with open_file(self.path) as file:
            file.seek(member.header_offset)
            header = file.read(_HEADER)
            # The lengths of the name and the extra field, which precede the content.
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
            f"{self.path}: a damaged zip file ({type(error).__name__}: {_short_reason(error)}). "
            f"{self._files.again}"
        )


def only_file(
    folder: Path, matches: Sequence[Path], *, description: str, again: str
) -> Path:
    """Returns the only matching file of a folder."""
    if not matches:
        raise MissingError(f"{folder}: has no {description}. {again}")
    if len(matches) > 1:
        names = ", ".join(sorted(path.name for path in matches)[:5])
        raise UsageError(
            f"{folder}: has {len(matches)} {description} ({names}{', ...' * (len(matches) > 5)}). "
            "Give the path of one."
        )
    return matches[0]


def mappings_in(value: object) -> list[Json]:
    """Returns the mappings in a list; none for any other value."""
    values = value if isinstance(value, list) else []
    return [element for element in values if isinstance(element, Mapping)]


def _short_reason(error: Exception) -> str:
    """Returns an error's message in one short line without content of the file."""
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
