"""Writing a file that is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from medical_tasks.errors import IncompleteError, UsageError, system_reason

__all__ = ["WholeFile"]


class WholeFile:
    """A file, of UTF-8 text or of bytes, that takes its place when the `with` block ends, and not when it ends by an error.

    It is written beside its place under a hidden name and renamed into it, so that nobody ever reads half of it and an
    older file of that name stays as it was until then. Folders on the way are made.

    Args:
        path: where it belongs. A link is followed.
        private: whether nobody but its owner may read it, from its first byte on.

    Raises:
        UsageError: There is something else than a file under that name.
        IncompleteError: It cannot be written; nothing is left behind.
    """

    def __init__(self, path: Path, *, private: bool = False) -> None:
        self._private = private
        self.path = path.expanduser()
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{path}: is a folder or a device; it takes the name of a file to write.")
        self._place = self.path.resolve()
        self._part = self._place.with_name(f".{self._place.name}.{os.getpid()}.part")
        self._stream: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            if self._private:
                self._part.unlink(missing_ok=True)
                self._part.touch(mode=0o600, exist_ok=False)
            self._stream = self._part.open("wb")
        except OSError as error:
            raise self._failed(error) from error
        return self

    def write(self, text: str) -> int:
        """Adds text, line ends as they are.

        Returns:
            The number of characters, as every text stream does.

        Raises:
            IncompleteError: The disk is full or gone.
        """
        self.write_bytes(text.encode("utf-8", "backslashreplace"))
        return len(text)

    def write_bytes(self, content: bytes) -> None:
        """Adds bytes.

        Raises:
            IncompleteError: The disk is full or gone.
        """
        if self._stream is None:
            raise ValueError(f"{self.path}: not open; use it in a with block")
        try:
            self._stream.write(content)
        except OSError as error:
            raise self._failed(error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stream, self._stream = self._stream, None
        if stream is None:
            return
        try:
            with stream:  # closed whatever happens; closing writes too
                if kind is None:
                    stream.flush()
                    os.fsync(stream.fileno())
            if kind is None:
                self._part.replace(self._place)
        except OSError as problem:
            if kind is None:
                raise self._failed(problem) from problem
        finally:
            self._part.unlink(missing_ok=True)

    def _failed(self, error: OSError) -> IncompleteError:
        return IncompleteError(
            f"{self.path}: cannot be written ({system_reason(error)}). Free some space or choose another --out, and give "
            "the command again."
        )
