"""Built datasets on disk: their folders, their completeness, and their rows.

For this package only what the marker names exists; the marker is written last. Parquet files are
named by their content, so none is overwritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
)
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from medical_tasks.data.dataset_source import file_sha256, steps_to_get
from medical_tasks.errors import MissingError, UsageError, doing
from medical_tasks.io.files import (
    folder_lock,
    found_at,
    named_path,
    open_file,
    read_text,
    readable,
)
from medical_tasks.io.user_folders import datasets_home
from medical_tasks.spec import DatasetSpec, Row

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile

MARKER = "medical_tasks.json"
FORMAT = 1
_GROUPS_KEPT = 4  # row groups, of 1,000 rows each as `build` writes them


@dataclass(frozen=True, kw_only=True)
class BuiltSplit:
    """One parquet file of a built dataset."""

    path: str  # relative to the dataset's folder, `/` between parts
    rows: int
    sha256: str
    file_bytes: int
    num_bytes: int  # size of the rows in memory, as `datasets` counts it
    rows_sha256: str = ""  # of `rows_hash`; "" where an earlier version built it


@dataclass(frozen=True, kw_only=True)
class BuiltConfig:
    """One configuration of a built dataset."""

    version: str  # `DatasetSpec.version` when it was built
    suite: str  # version of the package that built it
    # Official files, name to SHA-256; for a generated configuration its options; empty for
    # `demo`.
    source: Mapping[str, str]
    splits: Mapping[str, BuiltSplit]


def marker_text(name: str, configs: Mapping[str, BuiltConfig]) -> str:
    """Makes the JSON text of a marker."""
    content = {
        "format": FORMAT,
        "dataset": name,
        "configs": {key: asdict(config) for key, config in configs.items()},
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def built_name(folder: Path) -> str | None:
    """Returns the name of the dataset in a folder; None without a marker."""
    content = _read_marker(folder)
    return None if content is None else str(content["dataset"])


def built_configs(folder: Path) -> dict[str, BuiltConfig]:
    """Returns the configurations that a folder's marker names; empty without a marker."""
    content = _read_marker(folder)
    if content is None:
        return {}

    try:
        configs = {
            name: BuiltConfig(
                **{
                    **entry,
                    "splits": {
                        split: BuiltSplit(**fields)
                        for split, fields in entry["splits"].items()
                    },
                }
            )
            for name, entry in content["configs"].items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(folder, f"{type(error).__name__}: {error}") from error

    for config in configs.values():
        for split in config.splits.values():
            path = PurePosixPath(split.path)
            if path.is_absolute() or ".." in path.parts:
                raise _damaged(folder, f"path {split.path!r} leaves the folder")

    return configs


def split_names(split: str) -> tuple[str, ...]:
    """Parses a sum of splits: `a+b` means the rows of both, as in `datasets`."""
    names = tuple(name.strip() for name in split.split("+"))
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"a split is a name, or different names with + between (test+test_2026), got {split!r}."
        )
    return names


def built_split(
    folder: Path, config: str, split: str, *, spec: DatasetSpec | None = None
) -> str:
    """Writes a split, or a sum of splits, as recipes do: in the order of the build."""
    requested, built = split_names(split), built_config(folder, config, spec).splits
    if missing := [name for name in requested if name not in built]:
        available = "+".join(
            name for name in built if name in requested
        ) or " or --split ".join(built)
        problem = (
            f"split {missing[0]} is"
            if len(missing) == 1
            else f"splits {', '.join(missing)} are"
        )
        raise UsageError(
            f"{folder}: config {config}: {problem} not built; it has {', '.join(built)}. Use --split "
            f"{available}, or build {spec.name if spec else folder.name} again from files that have "
            "what is missing."
        )

    return "+".join(name for name in built if name in requested)


class _Columns(dict[str, list[object]]):
    """The columns of a row group, each read on first access.

    Rows may be read in several threads. pyarrow's reader of a file may not: it crashes
    the process. So one thread reads at a time.

    Example:
        Scoring accesses golds and limits of a thousand rows, but not their notes, which
        take up most of the file.
    """

    def __init__(self, file: ParquetFile, group: int, reading: threading.Lock) -> None:
        super().__init__()
        self._file, self._group, self._reading = file, group, reading
        self.names: tuple[str, ...] = tuple(file.schema_arrow.names)

    @doing("load the rows of the dataset")
    def __missing__(self, name: str) -> list[object]:
        if name not in self.names:
            raise KeyError(name)
        with self._reading:
            table = self._file.read_row_group(
                self._group, columns=[name], use_threads=False
            )
        values: list[object] = table.column(name).to_pylist()
        self[name] = values
        return values


class _Row(Mapping[str, object]):
    """A row that holds no text: the columns of its row group are read on access."""

    __slots__ = ("_columns", "_index")

    def __init__(self, columns: Callable[[], _Columns], index: int) -> None:
        self._columns, self._index = columns, index

    def __getitem__(self, name: str) -> object:
        return self._columns()[name][self._index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns().names)

    def items(self) -> ItemsView[str, object]:
        """Returns the row's columns and values at once."""
        columns, index = self._columns(), self._index
        return {name: columns[name][index] for name in columns.names}.items()

    def __len__(self) -> int:
        return len(self._columns().names)


def read_rows(
    folder: Path, config: str, split: str, *, spec: DatasetSpec | None = None
) -> list[Row]:
    """Reads the rows of a built split lazily, and keeps only the latest in memory.

    See `read_tables`.
    """
    return _rows_of(*_open(folder, config, split, spec).values())


def _rows_of(*files: ParquetFile) -> list[Row]:
    columns = lru_cache(maxsize=_GROUPS_KEPT)(_Columns)
    rows: list[Row] = []
    for file in files:
        reading = threading.Lock()
        for number in range(file.num_row_groups):
            group = partial(columns, file, number, reading)
            rows += (
                _Row(group, index)
                for index in range(file.metadata.row_group(number).num_rows)
            )
    return rows


def rows_hash(rows: Iterable[Row]) -> str:
    """Hashes the rows' content, which unlike the parquet file's bytes does not depend on its writer."""
    written = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode
    digest = hashlib.sha256()
    for row in rows:
        digest.update(written(dict(row.items())).encode())
    return digest.hexdigest()


def rows_hash_of_file(path: Path) -> str:
    """Hashes the rows of a parquet file, as recorded in the marker."""
    import pyarrow.parquet as pq

    with doing(f"load the rows of {path}"), pq.ParquetFile(path) as file:
        return rows_hash(_rows_of(file))


def recorded_rows_hash(folder: Path, config: str, split: str) -> str:
    """Returns the recorded hash of a built split's rows.

    It is "" for a sum of splits, and if an earlier version built it. `read_rows` has checked
    that the file is unchanged.
    """
    built = built_config(folder, config, None).splits.get(split)
    return "" if built is None else built.rows_sha256


def read_tables(
    folder: Path, config: str, split: str, *, spec: DatasetSpec | None = None
) -> dict[str, pyarrow.Table]:
    """Reads a built split, or a sum of splits, as Arrow tables, and checks that each file is unchanged.

    With `spec` the version is checked too, and messages say how to get the official files.
    """
    # In one thread: if memory is short, waiting for threads that cannot start never ends.
    return {
        name: file.read(use_threads=False)
        for name, file in _open(folder, config, split, spec).items()
    }


def _open(
    folder: Path, config: str, split: str, spec: DatasetSpec | None
) -> dict[str, ParquetFile]:
    """Opens the files of a split, if they were built in the version that this suite reads."""
    built = built_config(folder, config, spec)
    if spec is not None and built.version != spec.version:
        raise UsageError(
            f"{folder}: config {config} was built in version {built.version}, this suite reads "
            f"{spec.version}. Build it again: {_building(spec, config)}"
        )
    names = split_names(built_split(folder, config, split, spec=spec))
    return {name: _file(folder, config, built.splits[name], spec) for name in names}


def built_config(folder: Path, config: str, spec: DatasetSpec | None) -> BuiltConfig:
    """Returns a configuration in a folder; if it is missing, the error says how to get it."""
    configs = built_configs(folder)
    if config not in configs:
        have = f"; built there: {', '.join(configs)}" if configs else ""
        name = spec.name if spec else folder.name
        raise MissingError(
            f"{name}: config {config} is not built in {folder}{have}. "
            f"{_steps(folder, config, spec)}"
        )
    return configs[config]


def _file(
    folder: Path, config: str, entry: BuiltSplit, spec: DatasetSpec | None
) -> ParquetFile:
    """Opens a built file, if it is exactly the one that the marker describes."""
    path = folder / entry.path
    if not path.is_file():
        raise MissingError(
            f"{path}: is gone since config {config} was built. {_steps(folder, config, spec)}"
        )

    digest = file_sha256(path)
    if digest != entry.sha256:
        raise UsageError(
            f"{path}: not the file that was built (SHA-256 {digest[:12]}..., the marker says "
            f"{entry.sha256[:12]}...). Build it again: medical-tasks build "
            f"{spec.name if spec else folder.name} --config {config}"
        )

    import pyarrow.parquet as pq

    with doing(f"load the rows of {path}"):
        file = pq.ParquetFile(path)

    if (rows := file.metadata.num_rows) != entry.rows:
        raise UsageError(
            f"{path}: has {rows} rows, the marker {MARKER} says {entry.rows}. Build it again."
        )

    return file


def _building(spec: DatasetSpec, config: str) -> str:
    """Returns the command that builds a configuration; a plugin's dataset states its own."""
    own = (
        step for step in spec.how_to_get if step.startswith("medical-tasks --plugin ")
    )
    return next(own, f"medical-tasks build {spec.name} --config {config}")


def _steps(folder: Path, config: str, spec: DatasetSpec | None) -> str:
    if spec is None:
        return f"Build it: medical-tasks build {folder.name} --config {config}"
    if config == "demo":
        return f"Build it, no download needed: medical-tasks build {spec.name} --config demo"
    return steps_to_get(spec)


def _read_marker(folder: Path) -> dict[str, Any] | None:
    """Reads a folder's marker; None without one."""
    path = folder / MARKER
    with readable(path):
        if not path.exists():
            return None

        text = read_text(path)

    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise _damaged(folder, str(error)) from error

    if (
        not isinstance(content, dict)
        or not {"format", "dataset", "configs"} <= content.keys()
    ):
        raise _damaged(folder, "not an object with format, dataset and configs")

    if content["format"] != FORMAT:
        raise UsageError(
            f"{path}: format {content['format']!r}, this version reads {FORMAT}. Upgrade "
            "medical-tasks, or build the dataset into another folder."
        )

    return content


def _damaged(folder: Path, reason: str) -> UsageError:
    return UsageError(
        f"{folder / MARKER}: damaged ({reason}). Delete the folder and build the dataset again, or "
        "choose another --out."
    )


def source_files(source: str) -> list[Path]:
    """Finds the files whose text `leakcheck` searches for.

    The source is a built dataset (its name or folder), a file, or a folder of files.
    """
    path = named_path(source)
    if not found_at(path):
        built = datasets_home() / source
        if "/" in source or not found_at(built) or not built_configs(built):
            raise MissingError(
                f"{source}: neither a file or folder nor a built dataset. Give --source the "
                f"official files' folder, or build the dataset: medical-tasks build {source} "
                "(`medical-tasks list` names them)."
            )

        path = built

    if path.is_dir() and built_name(path) is not None:
        splits = [
            split
            for config in built_configs(path).values()
            for split in config.splits.values()
        ]
        return list(dict.fromkeys(path / split.path for split in splits))

    from medical_tasks.guard.leak_sources import readable_files

    return readable_files(path, named=source)


_STAGE_PREFIX = ".building-"


@contextlib.contextmanager
def stage_in(folder: Path, name: str) -> Iterator[tuple[Path, dict[str, BuiltConfig]]]:
    """Opens a dataset's folder for a build; a new folder is removed if the build fails.

    Yields an empty stage in it, and the configurations already built.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; --out must be a folder.")

    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with folder_lock(folder):
            for stale in folder.glob(f"{_STAGE_PREFIX}*"):
                # Left by a killed build: nobody else holds the lock.
                shutil.rmtree(stale)

            holds = built_name(folder)
            if holds is None and any(
                not entry.name.startswith(".") for entry in folder.iterdir()
            ):
                raise UsageError(
                    f"{folder}: is not empty and holds no built dataset (no {MARKER}). Choose a "
                    "new folder with --out."
                )

            if holds not in (None, name):
                raise UsageError(
                    f"{folder}: holds the dataset {holds}, not {name}. Choose another --out."
                )

            with tempfile.TemporaryDirectory(prefix=_STAGE_PREFIX, dir=folder) as stage:
                yield Path(stage), built_configs(folder)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # not empty: someone else uses it by now
                folder.rmdir()

        raise


def put_in_place(
    folder: Path,
    stage: Path,
    configs: Mapping[str, BuiltConfig],
    texts: Mapping[str, str],
    *,
    private: bool,
) -> None:
    """Moves the contents of the stage into the dataset's folder.

    `texts` (file name to content) are written in order, the marker last. If writing raises an
    `OSError`, nothing has changed.
    """
    for name, text in texts.items():
        (stage / name).write_text(text, encoding="utf-8")
        flush_to_disk(stage / name)

    data = [
        Path(split.path)
        for built in configs.values()
        for split in built.splits.values()
    ]
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
            with contextlib.suppress(
                OSError
            ):  # the build counts already; an old file that stays is only in the way
                path.unlink()


def flush_to_disk(path: Path) -> None:
    """Makes sure a file's bytes are on the disk before a rename makes them count."""
    with open_file(path) as stream:
        os.fsync(stream.fileno())
