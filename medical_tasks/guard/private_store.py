"""The store of answers to tasks on credentialed data, closed to other users, and what a run's folder may hold of them.

Each run has a folder in the store, named by the random id in its `run.json`. A run's
own folder gets only ids, hashes and scores.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from medical_tasks.errors import (
    IncompleteError,
    RefusedError,
    UsageError,
    system_reason,
)
from medical_tasks.io.files import folder_lock, read_text
from medical_tasks.io.user_folders import HOME_VARIABLE, private_home
from medical_tasks.spec import UNANSWERED

SETTINGS_FILE = "run.json"
"""The file that marks a run's folder, which must hold no text of credentialed data."""
_ID = re.compile(r"[0-9a-f]{32}")
_OWNER_FILE = "run.txt"
_GIT_WAIT_S = 30


class PrivateFolder(NamedTuple):
    """A run's folder in the store.

    Attributes:
        private_id: its name.
        path: of the folder.
        run: the run's own folder when it was last opened, "" if unknown.
        files: number of files.
        bytes: their size.
    """

    private_id: str
    path: Path
    run: str
    files: int
    bytes: int


class Purged(NamedTuple):
    """The result of a purge."""

    removed: tuple[PrivateFolder, ...]
    used: tuple[PrivateFolder, ...]  # kept because a command is using them
    strange: tuple[str, ...]  # kept because this package did not write them


def new_private_id() -> str:
    """Draws a random name for a new folder."""
    import secrets

    return secrets.token_hex(16)


def private_folder(private_id: str, *, run: Path | None = None) -> Path:
    """Creates or opens a run's folder in the store (mode 0700).

    Args:
        private_id: the folder's name.
        run: the run's own folder, so that `purge` can name it.

    Raises:
        UsageError: The id is invalid.
        RefusedError: The store belongs to somebody else, is a link, or cannot be closed
            to others.
        IncompleteError: The folder cannot be created.
    """
    # Read from run.json, which anybody may have edited.
    if not isinstance(private_id, str) or not _ID.fullmatch(private_id):
        raise UsageError(
            f"a private id has 32 hexadecimal digits, got {private_id!r}. Is run.json as it was "
            "written?"
        )

    home = private_home()
    folder = home / private_id
    try:
        # The audit log lies beside the store: others who can write there could remove it.
        home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path in (home, folder):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            _close(path)

        for parent, _, names in os.walk(folder):
            for name in names:
                # another process's journal may be gone since it was listed
                with contextlib.suppress(FileNotFoundError):
                    _close_file(Path(parent) / name)

        if run is not None:
            _write_owner(folder / _OWNER_FILE, run)
    except OSError as error:
        raise IncompleteError(
            f"{folder}: the private store cannot be used ({system_reason(error)}). Make {home} a "
            f"folder of your own, or name another place: export {HOME_VARIABLE}=DIR"
        ) from error

    return folder


def _close_file(path: Path) -> None:
    status = path.lstat()
    if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) & 0o077:
        path.chmod(0o600)


def _write_owner(path: Path, run: Path) -> None:
    handle = os.open(
        path,
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0),
        0o600,
    )
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(f"{run.absolute()}\n")


def _close(path: Path) -> None:
    """Makes sure that a folder is the user's own, and closed to everybody else."""
    handle = _opened(path)
    try:
        status = os.fstat(handle)
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            raise _refused(path, "it belongs to somebody else")

        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(handle, 0o700)
            if stat.S_IMODE(os.fstat(handle).st_mode) & 0o077:
                raise _refused(
                    path,
                    "others can enter it, and this file system does not let that be changed",
                )
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    try:
        return os.open(
            path,
            os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0),
        )
    except OSError as error:
        # which of the two a link gives depends on the system
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise

        raise _refused(path, "it is a link or a file") from None


def _refused(path: Path, why: str) -> RefusedError:
    return RefusedError(
        f"{path}: is no place for answers to tasks on credentialed data: {why}. Remove it, or name "
        f"another place: export {HOME_VARIABLE}=DIR"
    )


@contextlib.contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Keeps `purge` from deleting a run's folder; several commands may use it at once.

    The system releases the lock however the process ends.
    """
    with folder_lock(folder, shared=True, wait=False, opened=_opened) as locked:
        if not locked:
            raise UsageError(
                f"{folder}: is being purged. Give the command again when that has ended."
            )
        yield


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Makes a folder in the store for the duration of a `with` block."""
    home = private_folder(new_private_id())
    try:
        with in_use(home):
            yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def list_folders() -> list[PrivateFolder]:
    """Lists the folders in the store, by name."""
    home = private_home()
    names = sorted(entry.name for entry in os.scandir(home)) if home.is_dir() else []
    return [_described(home / name) for name in names if _ID.fullmatch(name)]


def _described(path: Path) -> PrivateFolder:
    """Describes one run's folder; links are counted, not followed."""
    sizes = []
    for folder, _, names in os.walk(path, followlinks=False):
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                sizes.append((Path(folder) / name).lstat().st_size)

    owner = path / _OWNER_FILE
    run = (
        ""
        if path.is_symlink() or owner.is_symlink() or not owner.is_file()
        else read_text(owner).strip()
    )
    return PrivateFolder(
        private_id=path.name, path=path, run=run, files=len(sizes), bytes=sum(sizes)
    )


def purge(*, dry_run: bool = False) -> Purged:
    """Deletes every run's folder that no command is using. Links are removed, never followed.

    Raises:
        RefusedError: The store belongs to somebody else, or is a link.
        IncompleteError: Something could not be deleted.
    """
    home = private_home()
    if not home.is_dir() and not home.is_symlink():
        return Purged(removed=(), used=(), strange=())

    _close(home)
    strange = tuple(
        sorted(
            entry.name for entry in os.scandir(home) if not _ID.fullmatch(entry.name)
        )
    )
    removed: list[PrivateFolder] = []
    used: list[PrivateFolder] = []
    for folder in list_folders():
        try:
            (removed if _deleted(folder.path, dry_run=dry_run) else used).append(folder)
        except OSError as error:
            raise IncompleteError(
                f"{folder.path}: could not be deleted ({system_reason(error)}). {len(removed)} "
                "folders were. Make it writable and give the command again."
            ) from error

    return Purged(removed=tuple(removed), used=tuple(used), strange=strange)


def _deleted(path: Path, *, dry_run: bool) -> bool:
    if path.is_symlink() or not path.is_dir():
        if not dry_run:
            path.unlink()
        return True
    with folder_lock(path, wait=False, opened=_opened) as locked:
        if locked and not dry_run:
            shutil.rmtree(path)  # never leaves the folder: links inside are unlinked
        return locked


def check_place(path: Path) -> None:
    """Refuses a path from which a file would be passed on: a run's folder, or a git work tree.

    A file that git ignores is allowed.
    """
    target = path.expanduser().resolve()
    for folder in target.parents:
        if (folder / SETTINGS_FILE).is_file():
            raise RefusedError(
                f"{path}: is in the run's folder {folder}, which holds no text of credentialed "
                "data and may be passed on. Choose another --out."
            )

        if (folder / ".git").exists():
            if _ignored(target, folder):
                return

            raise RefusedError(
                f"{path}: is in the git work tree {folder}, with which text of credentialed data "
                "would be published. Choose another --out, or add the file to .gitignore."
            )


def _ignored(path: Path, work_tree: Path) -> bool:
    """Returns whether git ignores a file; False if git is missing or too slow."""
    import subprocess

    git = shutil.which("git")
    if git is None:
        return False

    # Git's variables could name another repository.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_")
    }
    command = [git, "-C", str(work_tree), "check-ignore", "--quiet", "--", str(path)]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_GIT_WAIT_S,
        )
    except subprocess.TimeoutExpired:
        return False

    return done.returncode == 0


_KEPT_TEXT = frozenset(
    {"task", "id", "cluster", "unscored", "provider", "served_model"}
)
_DIGEST = "response_sha256"

# Reasons for a missing score that hold no text of the data: those of our own client and
# runner.
_PLAIN_REASONS = frozenset(
    {
        "budget spent", "cannot tell contradiction", "cannot tell entailment", "cannot tell neutral",
        "cannot tell not_entailment", "cut reply", "choice not among the log-probabilities told", "connection", "empty choices",
        "empty content", "entails and contradicts", "forecast only", "http error", "no gold: for people to score",
        "no answer in another order", "no pair", "no question of entailment", "no reply", "no verdict", "none given",
        "not answered in the run", "not asked",
        "not in the recorded verdicts", "not in the responses", "not in the store", "not json", "not reachable",
        "out of memory", "prompt too long", "quota exhausted", "rate limited", "recorded for another question",
        "refused by filter", "timeout", "tool call", "unreadable reply",
    }
)  # fmt: skip
_REASON_WORDS = frozenset("judge http".split()).union(
    *(reason.split() for reason in _PLAIN_REASONS)
)
_PLAIN_PREFIXES = (UNANSWERED, "judge: ")
_LABEL = re.compile(r"[A-Za-z_]{1,24}")
_NOTES = frozenset({"parsed", "why"})
_NOTE_PART = re.compile(r"[^\s,;:]+")
_NUMBER = re.compile(r"[0-9]{1,6}(?:/[0-9]{1,6})?")
# distinct labels in a value; verdicts have fewer, even with their field names
_MOST_LABELS = 8
_HTTP = re.compile(r"http [1-5]\d\d")


def redact_reason(reason: str) -> str:
    """Keeps the reason why an item has no score if it is one of this package's own.

    Every other reason becomes `other` after its prefix.

    Example:
        >>> redact_reason("judge: unreadable reply"), redact_reason("http 503")
        ('judge: unreadable reply', 'http 503')
        >>> redact_reason("judge: Mr. Roe has fever")
        'judge: other'
    """
    prefix = next((start for start in _PLAIN_PREFIXES if reason.startswith(start)), "")
    rest = reason.removeprefix(prefix)

    return (
        reason if rest in _PLAIN_REASONS or _HTTP.fullmatch(rest) else f"{prefix}other"
    )


def redact_unclear(reason: str, *, note_words: Collection[str] = frozenset()) -> str:
    """Keeps the reason why an answer is unclear if it has only the benchmark's own words, else returns `other`."""
    return reason if not reason or _is_plain(reason, note_words) else "other"


def redact_value(value: object) -> object:
    """Keeps numbers and single plain words, such as labels.

    Words are dropped if there are so many distinct ones that they may be a text.

    Example:
        >>> redact_value({"verdict": "yes", "quote": "fever for 3 days", "share": 0.5})
        {'verdict': 'yes', 'quote': '', 'share': 0.5}
    """
    words = set(_words(value))
    return _kept(value, words if len(words) <= _MOST_LABELS else frozenset())


def _words(value: object) -> Iterator[str]:
    """Yields the labels in a value; a text stored word by word has many."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from (*_words(name), *_words(inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, str) and _LABEL.fullmatch(value):
        yield value


def _kept(value: object, labels: Collection[str]) -> object:
    """Returns a value with only its numbers and the given labels; any other text becomes ""."""
    if isinstance(value, Mapping):
        return {
            name if name in labels else "": _kept(inner, labels)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_kept(inner, labels) for inner in value]
    return "" if isinstance(value, str) and value not in labels else value


def _is_plain(note: str, words: Collection[str]) -> bool:
    return all(
        token in words or token in _REASON_WORDS or _NUMBER.fullmatch(token)
        for token in _NOTE_PART.findall(note)
    )


def redact_row(
    row: Mapping[str, object],
    response: str | None,
    *,
    note_words: Collection[str] = frozenset(),
) -> dict[str, object]:
    """Removes everything from a row of `items.parquet` that may quote the source.

    Notes that consist of numbers and `note_words` are kept.
    """
    redacted: dict[str, object] = {}
    for name, value in row.items():
        if name == "unscored":
            redacted[name] = None if value is None else redact_reason(str(value))
        elif name == "unclear":
            redacted[name] = redact_unclear(str(value or ""), note_words=note_words)
        elif (
            value is None
            or isinstance(value, bool | int | float)
            or name in _KEPT_TEXT
            or name.startswith("group_")
        ):
            redacted[name] = value
        else:
            redacted[name] = (
                value if name in _NOTES and _is_plain(str(value), note_words) else ""
            )

    digest = (
        ""
        if response is None
        else hashlib.sha256(response.encode("utf-8", "surrogatepass")).hexdigest()
    )
    return {**redacted, _DIGEST: digest}
