"""The folder of a built dataset while it changes: held by one build, and changed by renaming alone.

Everything is written and flushed in a hidden folder inside, the stage. Then the parquet files move into place under names
of their own content, then card and Croissant file, and last the marker, which makes the change count. A full disk or a
kill at any moment leaves the dataset that was there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from medical_tasks.data.dataset_store import MARKER, BuiltConfig, built_configs, built_name
from medical_tasks.errors import UsageError
from medical_tasks.io.files import open_file

__all__ = ["flush_to_disk", "put_in_place", "stage_in"]

_STAGE_PREFIX = ".building-"


@contextlib.contextmanager
def stage_in(folder: Path, name: str) -> Iterator[tuple[Path, dict[str, BuiltConfig]]]:
    """Opens a dataset's folder for a build, making it when absent and removing it again when nothing came of it.

    Args:
        folder: the dataset's folder.
        name: the dataset it must hold if it holds any.

    Yields:
        The stage, an empty folder on the same file system, gone afterwards; and the configurations built so far.

    Raises:
        UsageError: The folder is a file, holds something else, or its marker is damaged.
        OSError: It cannot be made or written.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; --out must be a folder.")
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with _lock(folder):
            for stale in folder.glob(f"{_STAGE_PREFIX}*"):
                shutil.rmtree(stale)  # of a build that was killed: nobody else holds the lock
            holds = built_name(folder)
            if holds is None and any(not entry.name.startswith(".") for entry in folder.iterdir()):
                raise UsageError(
                    f"{folder}: is not empty and holds no built dataset (no {MARKER}). Choose a new folder with --out."
                )
            if holds not in (None, name):
                raise UsageError(f"{folder}: holds the dataset {holds}, not {name}. Choose another --out.")
            with tempfile.TemporaryDirectory(prefix=_STAGE_PREFIX, dir=folder) as stage:
                yield Path(stage), built_configs(folder)
    except BaseException:
        if made:
            with contextlib.suppress(OSError):  # not empty: someone else uses it by now
                folder.rmdir()
        raise


def put_in_place(
    folder: Path, stage: Path, configs: Mapping[str, BuiltConfig], texts: Mapping[str, str], *, private: bool
) -> None:
    """Makes what stands in the stage the dataset.

    Args:
        folder: the dataset's folder, as `stage_in` opened it.
        stage: its stage, with the new parquet files at the paths the configurations name.
        configs: every configuration the folder holds from now on.
        texts: file name to content, written in this order; the marker must be the last.
        private: whether nobody but the owner may read the files.

    Raises:
        OSError: Something cannot be written; nothing has changed then.
    """
    if list(texts)[-1] != MARKER:
        raise ValueError("the marker must be written last")
    for name, text in texts.items():
        (stage / name).write_text(text, encoding="utf-8")
        flush_to_disk(stage / name)
    data = [Path(split.path) for built in configs.values() for split in built.splits.values()]
    new = [path for path in data if (stage / path).is_file()]
    if private:
        folder.chmod(0o700)
        for path in (*new, *map(Path, texts)):
            (stage / path).chmod(0o600)
    for path in new:
        (folder / path.parent).mkdir(exist_ok=True)
        (stage / path).replace(folder / path)
    for name in texts:
        (stage / name).replace(folder / name)
    for path in folder.glob("*/*.parquet"):
        if path.relative_to(folder) not in data:
            with contextlib.suppress(OSError):  # the build counts already; an old file that stays is only in the way
                path.unlink()


def flush_to_disk(path: Path) -> None:
    """Makes sure a file's bytes are on the disk before a rename makes them count.

    Args:
        path: the file.
    """
    with open_file(path) as stream:
        os.fsync(stream.fileno())


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Makes builds of one folder wait for each other; the folder itself is locked, so no lock file stays behind."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: one build at a time is up to the user
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
