"""A leaderboard's files in a dataset repository of the Hub: each a commit, refused by the Hub where another came first.

Each commit's title ends with a word of its own, by which a writer recognises its commit when the reply was lost. A package
(`*.zip`) is uploaded by plain HTTP and not by Xet: a failure is then an answer with a status that comes in time.
"""

from __future__ import annotations

import importlib
import io
import logging
import random
import re
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Final

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.storage import AlreadyStoredError, check_name, is_name

_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_BRANCH: Final = "main"
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 10.0
_DEADLINE_S: Final = 60.0


class HubStorage:
    """Files of a dataset repository, which must exist; for several threads. Each may take `deadline_s`, retries included."""

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
            raise UsageError(f"{repo_id[:100]!a}: is not the name of a repository of the Hub, OWNER/NAME.")
        self.repo_id = repo_id
        self._api = HfApi(endpoint=endpoint, token=token)
        self._where: dict[str, Any] = {"repo_id": repo_id, "repo_type": "dataset"}
        self._deadline_s, self._first_wait_s = deadline_s, first_wait_s
        # One commit at a time from here: only other processes can come first.
        self._writing = threading.Lock()
        logging.getLogger("huggingface_hub._commit_api").addFilter(_is_news)

    def __repr__(self) -> str:
        return f"HubStorage({self.repo_id!r})"

    def create(self, name: str, content: bytes) -> None:
        """Writes a file whole, or not at all."""
        check_name(name)
        title = f"Add {name} {uuid.uuid4().hex}"
        with self._writing:
            self._retried(lambda: self._create_once(name, content, title), f"store {name}")

    def read(self, name: str) -> bytes:
        """Reads a file."""
        check_name(name)
        return bytes(self._retried(lambda: self._download(name), f"read {name}"))

    def names(self, prefix: str = "") -> list[str]:
        """Lists the names that begin so, sorted; files that are not of this store (a README) are left out."""
        inside, slash, _ = prefix.rpartition("/")
        if slash and not is_name(inside):
            return []
        found = self._retried(lambda: self._list(inside), f"list {prefix or 'all files'}")
        return sorted(name for name in found if name.startswith(prefix) and is_name(name))

    def _create_once(self, name: str, content: bytes, title: str) -> None:
        from huggingface_hub import CommitOperationAdd

        head = self._head()
        if self._is_stored(name, head, title):
            return  # an earlier try whose reply was lost
        self._api.create_commit(
            # Of a buffer an LFS object goes over HTTP also where hf_xet is installed.
            operations=[CommitOperationAdd(path_in_repo=name, path_or_fileobj=io.BytesIO(content))],
            commit_message=title,
            parent_commit=head,
            revision=_BRANCH,
            **self._where,
        )
        # Where the same bytes were there by now, huggingface_hub sends no commit and says nothing.
        if not self._is_stored(name, _BRANCH, title):
            raise Conflict

    def _head(self) -> str:
        branches = self._api.list_repo_refs(**self._where).branches
        for branch in branches:
            if branch.name == _BRANCH:
                return str(branch.target_commit)
        raise MissingError(f"the dataset repository {self.repo_id} has no branch {_BRANCH}. Make it anew: it is empty.")

    def _is_stored(self, name: str, revision: str, title: str) -> bool:
        """Whether the file is there by our own commit; raises `AlreadyStoredError` where it is by another."""
        found = self._api.get_paths_info(paths=[name], expand=True, revision=revision, **self._where)
        if not found:
            return False
        if found[0].last_commit is not None and found[0].last_commit.title == title:
            return True
        raise AlreadyStoredError(f"{name}: is in the store already; nothing was changed.")

    def _download(self, name: str) -> bytes:
        from huggingface_hub import hf_hub_url

        # Documented, and not declared as exported.
        utils: Any = importlib.import_module("huggingface_hub.utils")

        address = hf_hub_url(filename=name, revision=_BRANCH, endpoint=self._api.endpoint, **self._where)
        headers = utils.build_hf_headers(token=self._api.token)
        reply = utils.get_session().get(address, headers=headers, timeout=self._deadline_s)
        utils.hf_raise_for_status(reply)
        return bytes(reply.content)

    def _list(self, inside: str) -> list[str]:
        from huggingface_hub.errors import EntryNotFoundError

        try:
            tree = self._api.list_repo_tree(
                path_in_repo=inside or None, recursive=True, revision=_BRANCH, **self._where
            )
            return [entry.path for entry in tree if hasattr(entry, "size")]
        except EntryNotFoundError:
            return []  # no such folder yet

    def _retried(self, work: Callable[[], Any], doing: str) -> Any:
        """Does it again after what passes: another's commit, too many requests, trouble of the server."""
        wait, end = self._first_wait_s, time.monotonic() + self._deadline_s
        while True:
            try:
                return _within(end - time.monotonic(), work)
            except outside_errors() as error:
                trouble = told(error, doing=doing, repo=self.repo_id)
                # Those that met once do not meet again in step.
                pause = max(trouble.after_s, wait * random.uniform(0.5, 1.0)) if isinstance(trouble, Passing) else 0.0  # noqa: S311
                if not isinstance(trouble, Passing) or time.monotonic() + pause >= end:
                    raise MissingError(str(trouble)) from error
            time.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT_S)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether it is more than that a buffer is uploaded over HTTP, which is meant so."""
    return "binary IO buffer" not in str(record.msg)


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """Waits so long and no longer: huggingface_hub sends most requests without any limit of time."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # handed over to the calling thread, which raises it
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


class Trouble(Exception):  # noqa: N818 - a message for `MissingError`
    """What a user is told; trying again at once would not help."""


class Passing(Trouble):
    """Trouble that may be over soon; the Hub asks to wait `after_s`."""

    def __init__(self, message: str, *, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


def outside_errors() -> tuple[type[Exception], ...]:
    """What huggingface_hub raises when the Hub or the way to it is in trouble."""
    import httpx

    # Its HTTP errors and time limits are OSErrors; replies it cannot read, and refused uploads, ValueErrors; hf_xet's own are
    # RuntimeErrors.
    return (OSError, ValueError, RuntimeError, httpx.HTTPError, Conflict)


_TROUBLES: Final = {
    "conflict": "others stored files all the time. Nothing was changed; do the same again in a minute.",
    "offline": "HF_HUB_OFFLINE is set, so nothing is asked of the Hub. Unset it, or use a folder as store.",
    "rights": ("refused ({status}). Set HF_TOKEN to a token that may write to {repo}, or log in with `hf auth login`."),
    "missing": (
        "not found (404), or not to be seen with this token. See the name; a new store is an empty dataset "
        "repository (`hf repos create {repo} --type dataset --private`), and HF_TOKEN a token that may write to it."
    ),
    "busy": "the Hub is in trouble or asks for patience ({status}). {unsure}",
    "refused": "refused ({status}: {reason}).",
    "unreached": "the Hub is not reached ({reason}). {unsure}",
}
_UNSURE: Final = "Do the same again later: what was stored all the same is found then, and nothing is stored twice."


def told(error: Exception, *, doing: str, repo: str) -> Trouble:
    """Puts one of `outside_errors` into words; `doing` is what was being done (`store NAME`)."""
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
    reason = _SECRET.sub("...", f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__)[:200]
    known = {"status": status, "repo": repo, "reason": reason, "unsure": _UNSURE}
    said = f"dataset repository {repo} of the Hub, {doing}: {_TROUBLES[kind].format(**known)}"
    if kind not in ("conflict", "busy", "unreached"):
        return Trouble(said)
    value = str(getattr(getattr(error, "response", None), "headers", {}).get("retry-after", "0"))
    return Passing(said, after_s=float(value) if kind == "busy" and value.isdecimal() else 0.0)


def _status(error: BaseException) -> int:
    status = int(getattr(getattr(error, "response", None), "status_code", 0) or 0)
    # A failed upload is told as a RuntimeError whose cause has the answer.
    return status or (0 if error.__cause__ is None else _status(error.__cause__))
