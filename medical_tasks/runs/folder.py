"""The folder of a run: settings, store of answers, results.

The same command resumes the run; a command with other settings is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from medical_tasks.errors import (
    IncompleteError,
    MissingError,
    UsageError,
    system_reason,
)
from medical_tasks.guard.private_store import (
    SETTINGS_FILE,
    in_use,
    new_private_id,
    private_folder,
)
from medical_tasks.io.files import WholeFile, folder_lock, read_text, readable
from medical_tasks.runs.results import Json, JsonDict
from medical_tasks.runs.run_file import RUN_FILE

_WRITTEN_FIRST = (SETTINGS_FILE, RUN_FILE)
"""The files that a run writes before it asks anything."""
ANSWERS_FILE = "answers.sqlite"
IMPORTED_FILE = "responses.jsonl"
PRIVATE = "private"


def is_main_process() -> bool:
    """Whether this process writes: it is the only one, or torchrun or accelerate started it first."""
    return os.environ.get("RANK", "0") == "0"


@contextlib.contextmanager
def locked(folder: RunFolder) -> Iterator[None]:
    """Locks a run's folder for one command at a time.

    The processes of one distributed run count as one command.
    """
    if not is_main_process():
        yield
        return

    with folder_lock(folder.path, wait=False) as free:
        if not free:
            raise UsageError(
                f"{folder.path}: another command is using this folder. Wait until it has ended, or "
                "choose another --out."
            )

        with (
            in_use(folder.answers.parent)
            if folder.private
            else contextlib.nullcontext()
        ):
            try:
                yield
            except BaseException:
                # A command that asked nothing leaves no folder behind.
                if not _has_begun(folder):
                    for name in _WRITTEN_FIRST:
                        (folder.path / name).unlink(missing_ok=True)

                    with contextlib.suppress(OSError):
                        folder.path.rmdir()

                raise


class RunFolder:
    """Paths of a run; answers, verdicts and logs of credentialed tasks are elsewhere, at `home`.

    `private`: the folder may hold no text of the source.
    """

    def __init__(
        self,
        path: Path,
        *,
        home: Path | None = None,
        private: bool | None = None,
        writes: bool = True,
    ) -> None:
        self.path = path
        self.private = home is not None if private is None else private
        self._home = home or path
        self._writes = writes

    @property
    def answers(self) -> Path:
        """The store of finished answers and verdicts.

        Raises:
            UsageError: this process does not write.
        """
        if not self._writes:
            raise UsageError(
                f"{self.path}: several processes were started (this one is "
                f"RANK={os.environ.get('RANK')}), each of which would ask and write by itself. "
                "Only models named hf/PATH share work between processes: give the plain command, "
                "without torchrun or accelerate launch."
            )

        return self._home / ANSWERS_FILE

    @property
    def imported_answers(self) -> Path:
        """The answers of an imported run."""
        return self._home / IMPORTED_FILE

    @property
    def logs(self) -> Path:
        """Logs of servers the run starts."""
        return self._home / "logs"


def default_folder(model: str, settings: Json) -> Path:
    """Names the folder that a command uses without `--out`: the same command, the same folder."""
    slug = re.sub(r"[^A-Za-z0-9.-]+", "_", model).strip("_.") or "model"
    digest = hashlib.sha256(
        json.dumps(settings, sort_keys=True, default=str).encode()
    ).hexdigest()[:8]
    return Path("runs") / f"{slug[-80:]}-{digest}"


_MOVED = (
    " Only the server's address differs, which is part of a run: start the server at the old one, "
    "or begin a run with --model-args served=NAME, which then identifies its answers instead."
)
_REFUSAL = "holds another run ({}). Choose another --out, or repeat that run's command to resume it."


def open_run_folder(
    path: Path,
    settings: Json,
    *,
    private: bool = False,
    begun: bool = False,
    refusal: str = _REFUSAL,
) -> RunFolder:
    """Makes a run's folder, or reopens it with the same settings (JSON values).

    Other settings replace those of a folder that holds nothing else yet.

    Args:
        path: the folder.
        settings: the settings that identify the run.
        private: whether the folder may hold no text of the source.
        begun: whether something outside the folder was already made with its settings.
        refusal: the message for other settings; `{}` stands for the differences.
    """
    path = path.expanduser()
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: is a file. Choose another --out.")
    if not is_main_process():
        return RunFolder(path, private=private, writes=False)

    file = path / SETTINGS_FILE
    stored_text = _make_and_read(path, file)
    if stored_text is None:
        stored = _write_settings(file, settings, new_private_id() if private else None)
    else:
        stored = _parse_settings(file, stored_text)
        existing = {key: value for key, value in stored.items() if key != PRIVATE}
        # Through JSON, which has no tuples.
        requested = json.loads(json.dumps(settings))
        if (
            existing != requested
            and not begun
            and not _has_begun(_run_folder(path, stored))
        ):
            # A command that was refused or misspelt must not occupy the folder for good.
            with locked(_run_folder(path, stored)):
                stored, existing = (
                    _write_settings(file, settings, stored.get(PRIVATE)),
                    requested,
                )

        if existing != requested:
            moved = _MOVED if _only_address_differs(existing, requested) else ""
            raise UsageError(
                f"{path}: {refusal.format(_differing(existing, requested))}{moved}"
            )

        if private != (PRIVATE in stored):
            raise UsageError(
                f"{path}: was made when the dataset had another access class. Choose another "
                "--out."
            )

    return _run_folder(path, stored)


def _make_and_read(path: Path, file: Path) -> str | None:
    """Makes a folder unless it exists; returns the text of a file in it, None without one."""
    try:
        path.mkdir(0o755, parents=True, exist_ok=True)
        return read_text(file) if file.exists() else None
    except OSError as error:
        raise IncompleteError(
            f"{path}: cannot be used ({system_reason(error)}). Make it readable and writable, or "
            "choose another --out."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file}: not UTF-8 text. Choose another --out, or remove the folder."
        ) from error


def _write_settings(file: Path, settings: Json, private_id: str | None) -> JsonDict:
    content = (
        dict(settings) if private_id is None else {**settings, PRIVATE: private_id}
    )
    with WholeFile(file) as draft:
        draft.write(
            json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        )
    return content


def _has_begun(run: RunFolder) -> bool:
    """Whether a run left anything besides its settings."""
    return run.answers.exists() or any(
        path.name not in _WRITTEN_FIRST for path in run.path.iterdir()
    )


def existing_run_folder(path: Path) -> RunFolder:
    """Opens the folder of an existing run, wherever its answers lie."""
    return _run_folder(path, run_settings(path))


def run_settings(path: Path) -> JsonDict:
    """Reads the settings of a run's folder, including the id of its private store."""
    file = path / SETTINGS_FILE
    with readable(file, again="Give the folder of a run, whole.", error=MissingError):
        return _parse_settings(file, read_text(file))


def _run_folder(path: Path, settings: Json) -> RunFolder:
    return RunFolder(
        path,
        home=private_folder(settings[PRIVATE], run=path)
        if PRIVATE in settings
        else None,
    )


def _parse_settings(file: Path, text: str) -> JsonDict:
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"{file}: not valid JSON ({error}). Choose another --out, or remove the folder."
        ) from error

    if not isinstance(settings, dict):
        raise UsageError(
            f"{file}: not the settings of a run. Choose another --out, or remove the folder."
        )

    return settings


def _only_address_differs(existing: Json, settings: Json) -> bool:
    """Whether only the address of a server differs."""
    parts = [
        dict(settings_of_run.get("model_args") or {})
        for settings_of_run in (existing, settings)
    ]
    addresses = [args.pop("base_url", None) for args in parts]
    same = parts[0] == parts[1] and addresses[0] != addresses[1]
    return same and {**existing, "model_args": None} == {**settings, "model_args": None}


def _differing(existing: Json, settings: Json) -> str:
    names = sorted(
        key for key in {*existing, *settings} if existing.get(key) != settings.get(key)
    )
    return "; ".join(
        f"{key}: {existing.get(key)!r} there, {settings.get(key)!r} now"
        for key in names
    )
