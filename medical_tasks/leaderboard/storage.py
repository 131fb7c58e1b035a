"""Where a leaderboard keeps its files: one interface, a local folder or dataset repositories of the Hub behind it.

Every file is written once. In a local folder it is written under a hidden name, synced and then linked to its own name, which
fails where there is one: safe between processes without a lock that a killed one could leave behind.
"""

from __future__ import annotations

import errno
import os
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from medical_tasks.errors import MedicalTasksError, MissingError, UsageError, system_reason


class AlreadyStoredError(MedicalTasksError):
    """A file of that name is there already; nothing was changed."""

    exit_code = 2


class Storage(Protocol):
    """Files by name. Names have parts of lower-case letters, digits, `.`, `-` and `_`, joined by `/`."""

    def create(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all."""

    def read(self, name: str) -> bytes:
        """Reads a file; `MissingError` where there is none, or the store cannot be reached."""

    def names(self, prefix: str = "") -> Sequence[str]:
        """Lists the names that begin so, sorted; files that are not of a store are left out."""


HUB: Final = "hub:"
"""What a place on the Hub begins with; a folder of such a name is `./hub:...`."""


def open_storage(place: str) -> Storage:
    """Opens a local folder, made with the first file, or `hub:OWNER/NAME`; nothing is asked of the Hub yet."""
    if place.startswith(HUB):
        from medical_tasks.leaderboard.hub_store import HubStorage

        return HubStorage(place.removeprefix(HUB))
    if not place.strip():
        raise UsageError("--store is empty. Give a folder, or hub:OWNER/NAME for a dataset repository of the Hub.")

    return LocalStorage(Path(place))


_LONGEST_NAME: Final = 200
# A part begins with a letter or digit: no `..`, no hidden file, no option. Lower case alone: two names never differ in case only,
# which some file systems take for one.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*")


def is_name(name: str) -> bool:
    """Whether a store can have a file of this name."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Returns the name; `UsageError` where no store can have it."""
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!a}: no name of a stored file. Its parts, joined by `/`, begin with a lower-case letter or digit and "
            f"have no more than these, `.`, `-` and `_`; {_LONGEST_NAME} characters at most."
        )
    return name


_PARTS: Final = ".parts"
_OLD_S: Final = 3600.0
"""Nobody takes an hour to write one file."""


class LocalStorage:
    """Files under one folder, made with the first file, for its owner alone. Implements `storage.Storage`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{folder}: is no folder; a leaderboard's store is one. Choose another --store.")

    def __repr__(self) -> str:
        return f"LocalStorage({str(self.folder)!r})"

    def create(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all."""
        place = self.folder / check_name(name)
        if place.exists():  # told early; the link below is what decides
            raise _already(name)
        part = self.folder / _PARTS / uuid.uuid4().hex
        try:
            _make_folder(part.parent, top=self.folder)
            self._drop_old_parts()
            _make_folder(place.parent, top=self.folder)
            _write(part, content)
            os.link(part, place, follow_symlinks=False)
        except FileExistsError as error:
            raise _already(name) from error
        except OSError as error:
            raise self._unwritable(name, error) from error
        finally:
            with suppress(OSError):  # it goes when it is old
                part.unlink(missing_ok=True)
        try:
            _sync_folder(place.parent)
        except OSError as error:
            place.unlink(missing_ok=True)  # it would be lost with the power: better not there at all
            raise self._unwritable(name, error) from error

    def read(self, name: str) -> bytes:
        """Reads a file."""
        place = self.folder / check_name(name)
        try:
            # A link in the store could lead to any file of this machine.
            with os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                return file.read()
        except OSError as error:
            raise MissingError(
                f"{name}: cannot be read from the store {self.folder} ({system_reason(error)}). `medical-tasks leaderboard check` "
                "says what the store lacks."
            ) from error

    def names(self, prefix: str = "") -> list[str]:
        """Lists the names that begin so, sorted; files that are not of this store are left out."""
        # Of the prefix only whole parts say where to look.
        inside, slash, _ = prefix.rpartition("/")
        if slash and not is_name(inside):
            return []
        try:
            found = [name for name in _walk(self.folder, inside) if name.startswith(prefix) and is_name(name)]
        except OSError as error:
            raise MissingError(
                f"{self.folder}: the store cannot be listed ({system_reason(error)}). See who owns it, or choose another --store."
            ) from error
        return sorted(found)

    def _drop_old_parts(self) -> None:
        now = time.time()
        with os.scandir(self.folder / _PARTS) as entries:
            for entry in entries:
                try:
                    # Folders are not ours.
                    old = now - entry.stat(follow_symlinks=False).st_mtime > _OLD_S
                    if old and not entry.is_dir(follow_symlinks=False):
                        Path(entry.path).unlink(missing_ok=True)
                except FileNotFoundError:
                    continue  # its writer has finished

    def _unwritable(self, name: str, error: OSError) -> MissingError:
        step = "Free some space, see who owns it, or choose another --store"
        if error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            step = "Its file system makes no hard links, or its rights forbid it: choose another --store"
        return MissingError(
            f"{name}: cannot be written to the store {self.folder} ({system_reason(error)}); nothing was changed. {step}, and do "
            "the same again."
        )


def _already(name: str) -> AlreadyStoredError:
    return AlreadyStoredError(f"{name}: is in the store already; nothing was changed.")


def _write(part: Path, content: bytes) -> None:
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(number, "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # also under a mask that takes more away
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _make_folder(folder: Path, *, top: Path) -> None:
    """Makes folders, each closed to others and brought to the disk."""
    if folder.is_dir():
        return
    if folder != folder.parent:
        _make_folder(folder.parent, top=top)
    # Above the store it is the user's own rule who may look in.
    mode = 0o700 if folder == top or top in folder.parents else 0o777
    try:
        folder.mkdir(mode=mode)
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from None
        return  # another writer made it
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _walk(top: Path, inside: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(top / inside))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        name = f"{inside}/{entry.name}" if inside else entry.name
        if entry.is_dir(follow_symlinks=False):
            if is_name(entry.name):
                yield from _walk(top, name)
        elif entry.is_file(follow_symlinks=False):
            yield name
