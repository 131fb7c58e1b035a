"""Where a leaderboard keeps its files: a local folder, or a dataset repository of the Hub.

Every file is written once. In a local folder it is written under a hidden name, synced
and then linked to its own name, which fails if that exists. This is safe between
processes and needs no lock that a killed process could leave behind. On the Hub each file
is a commit, refused if another commit came first; its title ends with a unique word, by
which the writer recognises it if the reply was lost. A package (`*.zip`) is uploaded by
plain HTTP and not by Xet, so that failures are replies with a status and in time.
Conflicts, rate limits and server errors are retried for a minute.
"""

from __future__ import annotations

import errno
import importlib
import io
import logging
import math
import os
import random
import re
import stat
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from medical_tasks.errors import (
    MedicalTasksError,
    MissingError,
    UsageError,
    system_reason,
)
from medical_tasks.runs.results import JsonDict


class AlreadyStoredError(MedicalTasksError):
    """A file of this name already exists; nothing was changed."""

    exit_code = 2


class Storage(Protocol):
    """Files by name.

    Names have parts of lower-case letters, digits, `.`, `-` and `_`, joined by `/`.
    """

    def create(self, name: str, content: bytes) -> None:
        """Writes a file completely, or not at all."""

    def read(self, name: str) -> bytes:
        """Reads a file; raises `MissingError` if there is none or the store is unreachable."""

    def names(self, prefix: str = "") -> Sequence[str]:
        """Lists the names with a prefix, sorted, without files that are not of a store."""


HUB: Final = "hub:"
"""The prefix of a store on the Hub; a local folder with such a name is `./hub:...`."""


def open_storage(store: str) -> Storage:
    """Opens a local folder, created with the first file, or `hub:OWNER/NAME`.

    No request is sent to the Hub yet.
    """
    if store.startswith(HUB):
        return HubStorage(store.removeprefix(HUB))

    if not store.strip():
        raise UsageError(
            "--store is empty. Give a folder, or hub:OWNER/NAME for a dataset repository of the "
            "Hub."
        )

    return LocalStorage(Path(store))


_LONGEST_NAME: Final = 200
# A part begins with a letter or digit, which excludes `..`, hidden files and options.
# Names are in lower case, since some file systems ignore case.
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*")


def is_name(name: str) -> bool:
    """Whether a store can have a file of this name."""
    return len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Returns the name; raises `UsageError` if no store can have it."""
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!a}: no name of a stored file. Its parts, joined by `/`, begin with a "
            "lower-case letter or digit and have no more than these, `.`, `-` and `_`; "
            f"{_LONGEST_NAME} characters at most."
        )
    return name


def _chosen(prefix: str, list_folder: Callable[[str], Iterable[str]]) -> list[str]:
    """Selects the names with a prefix.

    Of the prefix only whole parts say where to look.
    """
    folder, slash, _ = prefix.rpartition("/")
    if slash and not is_name(folder):
        return []
    return sorted(
        name
        for name in list_folder(folder)
        if name.startswith(prefix) and is_name(name)
    )


_PARTS: Final = ".parts"
_OLD_S: Final = 3600.0
"""Writing one file never takes an hour."""


class LocalStorage:
    """Files below a folder, readable by its owner alone. Implements `storage.Storage`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.expanduser().absolute()
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(
                f"{folder}: is no folder; a leaderboard's store is one. Choose another --store."
            )

    def create(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all."""
        path = self.folder / check_name(name)
        temporary = self.folder / _PARTS / uuid.uuid4().hex
        try:
            _make_folder(temporary.parent, top=self.folder)
            self._drop_old_parts()
            _make_folder(path.parent, top=self.folder)
            _write(temporary, content)
            os.link(temporary, path, follow_symlinks=False)
        except FileExistsError as error:
            raise _already(name) from error
        except OSError as error:
            raise self._unwritable(name, error) from error
        finally:
            with suppress(OSError):  # it goes when it is old
                temporary.unlink(missing_ok=True)

        try:
            _sync_folder(path.parent)
        except OSError as error:
            # A power failure could lose the file, so that it is not kept at all.
            path.unlink(missing_ok=True)
            raise self._unwritable(name, error) from error

    def read(self, name: str) -> bytes:
        """Reads a file."""
        path = self.folder / check_name(name)
        try:
            # A link in the store could lead to any file of this machine.
            with os.fdopen(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb"
            ) as file:
                return file.read()
        except OSError as error:
            raise MissingError(
                f"{name}: cannot be read from the store {self.folder} ({system_reason(error)}). "
                "`medical-tasks leaderboard check` says what the store lacks."
            ) from error

    def names(self, prefix: str = "") -> list[str]:
        """Lists the names that begin so, sorted; files that are not of this store are left out."""
        try:
            return _chosen(prefix, lambda inside: _walk(self.folder, inside))
        except OSError as error:
            raise MissingError(
                f"{self.folder}: the store cannot be listed ({system_reason(error)}). See who owns "
                "it, or choose another --store."
            ) from error

    def _drop_old_parts(self) -> None:
        for temporary in (self.folder / _PARTS).iterdir():
            with suppress(FileNotFoundError):  # its writer has finished
                about = temporary.lstat()
                if time.time() - about.st_mtime > _OLD_S and not stat.S_ISDIR(
                    about.st_mode
                ):  # folders are not ours
                    temporary.unlink(missing_ok=True)

    def _unwritable(self, name: str, error: OSError) -> MissingError:
        step = "Free some space, see who owns it, or choose another --store"
        if error.errno in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            step = "Its file system makes no hard links, or its rights forbid it: choose another --store"
        return MissingError(
            f"{name}: cannot be written to the store {self.folder} ({system_reason(error)}); "
            f"nothing was changed. {step}, and do the same again."
        )


def _already(name: str) -> AlreadyStoredError:
    return AlreadyStoredError(f"{name}: is in the store already; nothing was changed.")


def _write(path: Path, content: bytes) -> None:
    """Creates a file and syncs it to the disk; fails if it exists.

    No link is followed, since others who can write into the folder could use one to
    redirect the content.
    """
    number = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    with os.fdopen(number, "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # regardless of the umask
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _make_folder(folder: Path, *, top: Path) -> None:
    """Makes private folders, and syncs each to the disk."""
    if folder.is_dir():
        return
    if folder != folder.parent:
        _make_folder(folder.parent, top=top)

    # Above the store, the user's umask decides who has access.
    mode = 0o700 if folder == top or top in folder.parents else 0o777
    try:
        # Another writer may have made it meanwhile.
        folder.mkdir(mode=mode, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(
            errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)
        ) from error

    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _walk(top: Path, inside: str) -> Iterator[str]:
    """Yields the names of files below a folder.

    Does not follow links, or enter folders whose names no store can have.
    """
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


_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_BRANCH: Final = "main"
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 10.0
_DEADLINE_S: Final = 60.0


class HubStorage:
    """Files of an existing dataset repository; safe for several threads.

    Each operation may take `deadline_s`, including retries.
    """

    def __init__(
        self,
        repo_id: str,
        token: str | None = None,
        *,
        endpoint: str | None = None,
        deadline_s: float = _DEADLINE_S,
        first_wait_s: float = _FIRST_WAIT_S,
    ) -> None:
        from huggingface_hub import HfApi

        if _REPO.fullmatch(repo_id) is None:
            raise UsageError(
                f"{repo_id[:100]!a}: is not the name of a repository of the Hub, OWNER/NAME."
            )

        self.repo_id = repo_id
        self._api = HfApi(endpoint=endpoint, token=token)
        self._where: JsonDict = {"repo_id": repo_id, "repo_type": "dataset"}
        self._deadline_s, self._first_wait_s = deadline_s, first_wait_s
        # Commits are serialised within this process.
        self._writing = threading.Lock()
        # The upload of a buffer over HTTP is intended, so that its warning is dropped.
        logging.getLogger("huggingface_hub._commit_api").addFilter(
            lambda record: "binary IO buffer" not in str(record.msg)
        )

    def create(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all."""
        check_name(name)
        title = f"Add {name} {uuid.uuid4().hex}"
        with self._writing:
            self._retried(
                lambda: self._create_once(name, content, title), f"store {name}"
            )

    def read(self, name: str) -> bytes:
        """Reads a file."""
        check_name(name)
        return bytes(self._retried(lambda: self._download(name), f"read {name}"))

    def names(self, prefix: str = "") -> list[str]:
        """Lists the names that begin so, sorted.

        Files that are not of this store (a README) are left out.
        """
        return _chosen(
            prefix,
            lambda inside: self._retried(
                lambda: self._list(inside), f"list {prefix or 'all files'}"
            ),
        )

    def _create_once(self, name: str, content: bytes, title: str) -> None:
        """Tries once to add a file; raises `Conflict` if another commit came first."""
        from huggingface_hub import CommitOperationAdd

        head = self._head()
        if self._is_stored(name, head, title):
            return  # by an earlier try whose reply was lost

        self._api.create_commit(
            # The LFS object of a buffer is uploaded over HTTP even if hf_xet is installed.
            operations=[
                CommitOperationAdd(
                    path_in_repo=name, path_or_fileobj=io.BytesIO(content)
                )
            ],
            commit_message=title,
            parent_commit=head,
            revision=_BRANCH,
            **self._where,
        )
        # If the same bytes exist by now, huggingface_hub silently sends no commit.
        if not self._is_stored(name, _BRANCH, title):
            raise Conflict

    def _head(self) -> str:
        """Returns the last commit of the branch."""
        branches = self._api.list_repo_refs(**self._where).branches
        for branch in branches:
            if branch.name == _BRANCH:
                return str(branch.target_commit)
        raise MissingError(
            f"the dataset repository {self.repo_id} has no branch {_BRANCH}. Create the repository again: it is "
            "empty."
        )

    def _is_stored(self, name: str, revision: str, title: str) -> bool:
        """Whether our own commit stored the file.

        Raises `AlreadyStoredError` if another commit did.
        """
        infos = self._api.get_paths_info(
            paths=[name], expand=True, revision=revision, **self._where
        )
        if not infos:
            return False
        if infos[0].last_commit is not None and infos[0].last_commit.title == title:
            return True

        raise _already(name)

    def _download(self, name: str) -> bytes:
        from huggingface_hub import hf_hub_url

        # Documented, but not declared as exported.
        utils: Any = importlib.import_module("huggingface_hub.utils")

        address = hf_hub_url(
            filename=name, revision=_BRANCH, endpoint=self._api.endpoint, **self._where
        )
        headers = utils.build_hf_headers(token=self._api.token)
        reply = utils.get_session().get(
            address, headers=headers, timeout=self._deadline_s
        )
        utils.hf_raise_for_status(reply)

        return bytes(reply.content)

    def _list(self, inside: str) -> list[str]:
        from huggingface_hub.errors import EntryNotFoundError

        try:
            tree = self._api.list_repo_tree(
                path_in_repo=inside or None,
                recursive=True,
                revision=_BRANCH,
                **self._where,
            )
            return [entry.path for entry in tree if hasattr(entry, "size")]
        except EntryNotFoundError:
            return []  # no such folder yet

    def _retried(self, work: Callable[[], Any], doing: str) -> Any:
        """Retries after conflicts, too many requests and server errors."""
        wait, end = self._first_wait_s, time.monotonic() + self._deadline_s
        while True:
            try:
                return _within(end - time.monotonic(), work)
            except outside_errors() as error:
                trouble, after_s = trouble_of(error, doing=doing, repo=self.repo_id)
                # Random, so that writers that collided do not collide again.
                pause = max(after_s, wait * random.uniform(0.5, 1.0))  # noqa: S311
                if time.monotonic() + pause >= end:
                    raise MissingError(trouble) from error

            time.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT_S)


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """Runs work with a timeout, since huggingface_hub sends most requests without one."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except (
            BaseException
        ) as error:  # handed over to the calling thread, which raises it
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True, name="hub request").start()
    try:
        return outcome.result(max(seconds, 0.0))
    except FutureTimeoutError:
        if outcome.done():
            return outcome.result()

        raise TimeoutError(f"no answer in {seconds:g} s") from None


_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})
_CONFLICT: Final = frozenset({409, 412})
_SECRET: Final = re.compile(r"hf_\w+|Bearer \S+")


class Conflict(Exception):  # noqa: N818 - not an error: it is tried again
    """Another commit came first."""


def outside_errors() -> tuple[type[Exception], ...]:
    """The exceptions that huggingface_hub raises for failures of the Hub or the network."""
    import httpx

    # HTTP errors and timeouts are OSErrors; unreadable replies and refused uploads are
    # ValueErrors; hf_xet raises RuntimeErrors.
    return (OSError, ValueError, RuntimeError, httpx.HTTPError, Conflict)


_TROUBLES: Final = {
    "conflict": "others stored files all the time. Nothing was changed; do the same again in a minute.",
    "offline": "HF_HUB_OFFLINE is set, so nothing is asked of the Hub. Unset it, or use a folder as store.",
    "rights": (
        "refused ({status}). Set HF_TOKEN to a token that may write to {repo}, or log in with `hf auth login`."
    ),
    "missing": (
        "not found (404), or not to be seen with this token. See the name; a new store is an empty dataset "
        "repository (`hf repos create {repo} --type dataset --private`), and HF_TOKEN a token that may write to it."
    ),
    "busy": "the Hub is in trouble or asks for patience ({status}). {unsure}",
    "refused": "refused ({status}: {reason}).",
    "unreached": "the Hub is not reached ({reason}). {unsure}",
}
_UNSURE: Final = "Try again later: if it was stored nevertheless, that is found then, and nothing is stored twice."


def trouble_of(error: Exception, *, doing: str, repo: str) -> tuple[str, float]:
    """Describes one of `outside_errors`, and returns the seconds to wait before a retry.

    `doing` is the operation (`store NAME`).
    """
    from huggingface_hub.errors import OfflineModeIsEnabled

    status = _status(error)
    if isinstance(error, Conflict) or status in _CONFLICT:
        kind = "conflict"
    elif isinstance(error, OfflineModeIsEnabled):
        kind = "offline"
    elif status in (401, 403, 404):
        kind = "missing" if status == 404 else "rights"
    else:
        kind = "busy" if status in _PASSING else "refused" if status else "unreached"

    lines = [line for line in str(error).splitlines() if line.strip()]
    reason = _SECRET.sub(
        "...", f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    )[:200]
    facts = {"status": status, "repo": repo, "reason": reason, "unsure": _UNSURE}
    message = f"dataset repository {repo} of the Hub, {doing}: {_TROUBLES[kind].format(**facts)}"
    if kind not in ("conflict", "busy", "unreached"):
        return message, math.inf

    value = str(
        getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "0")
    )
    return message, float(value) if kind == "busy" and value.isdecimal() else 0.0


def _status(error: BaseException) -> int:
    status = int(getattr(getattr(error, "response", None), "status_code", 0) or 0)
    # A failed upload raises a RuntimeError whose cause has the response.
    return status or (0 if error.__cause__ is None else _status(error.__cause__))
