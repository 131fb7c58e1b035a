"""Built datasets on disk: where they are, which are whole, and their rows.

Only what the marker names, written last, exists for this package; parquet files are
named by content, so none is written over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
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

    version: str  # `DatasetSpec.version` of its making
    suite: str  # version of this package that made it
    # official files, name to SHA-256; of a generated configuration its options; empty
    # for `demo`
    source: Mapping[str, str]
    splits: Mapping[str, BuiltSplit]


def marker_text(name: str, configs: Mapping[str, BuiltConfig]) -> str:
    """The JSON text of a marker."""
    content = {
        "format": FORMAT,
        "dataset": name,
        "configs": {key: asdict(config) for key, config in configs.items()},
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def built_name(folder: Path) -> str | None:
    """The name of the dataset a folder holds, None when it has no marker."""
    content = _read_marker(folder)
    return None if content is None else str(content["dataset"])


def built_configs(folder: Path) -> dict[str, BuiltConfig]:
    """Which configurations a folder holds, by its marker alone.

    None without a marker or a folder.
    """
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
    """Takes a sum of splits apart: `a+b` is the rows of both, as in `datasets`."""
    names = tuple(name.strip() for name in split.split("+"))
    if not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"a split is a name, or different names with + between (test+test_2026), got {split!r}."
        )
    return names


def built_split(
    folder: Path, config: str, split: str, *, spec: DatasetSpec | None = None
) -> str:
    """Writes a split, or a sum of some, as recipes have it.

    The parts in the order in which they were built.
    """
    wanted, built = split_names(split), built_config(folder, config, spec).splits
    if missing := [name for name in wanted if name not in built]:
        there = "+".join(
            name for name in built if name in wanted
        ) or " or --split ".join(built)
        said = (
            f"split {missing[0]} is"
            if len(missing) == 1
            else f"splits {', '.join(missing)} are"
        )
        raise UsageError(
            f"{folder}: config {config}: {said} not built; it has {', '.join(built)}. Take --split "
            f"{there}, or build {spec.name if spec else folder.name} again from files that have "
            "what is missing."
        )

    return "+".join(name for name in built if name in wanted)


class _Columns(dict[str, list[object]]):
    """The columns of a row group, each read when it is looked at.

    Example:
        Scoring looks at golds and limits of a thousand rows, and never at their notes,
        which take most of the file.
    """

    def __init__(self, file: ParquetFile, group: int) -> None:
        super().__init__()
        self._file, self._group = file, group
        self.names: tuple[str, ...] = tuple(file.schema_arrow.names)

    @doing("load the rows of the dataset")
    def __missing__(self, name: str) -> list[object]:
        if name not in self.names:
            raise KeyError(name)
        table = self._file.read_row_group(
            self._group, columns=[name], use_threads=False
        )
        values: list[object] = table.column(name).to_pylist()
        self[name] = values
        return values


class _Row(Mapping[str, object]):
    """A row that holds no text: columns of its row group are read when it is looked at."""

    __slots__ = ("_columns", "_place")

    def __init__(self, columns: Callable[[], _Columns], place: int) -> None:
        self._columns, self._place = columns, place

    def __getitem__(self, name: str) -> object:
        return self._columns()[name][self._place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns().names)

    def items(self) -> ItemsView[str, object]:
        """The row's columns and values, at one look."""
        columns, place = self._columns(), self._place
        return {name: columns[name][place] for name in columns.names}.items()

    def __len__(self) -> int:
        return len(self._columns().names)


def read_rows(
    folder: Path, config: str, split: str, *, spec: DatasetSpec | None = None
) -> list[Row]:
    """Reads the rows of a built split when they are looked at; the latest alone are kept.

    See `read_tables`.
    """
    return _rows_of(*_open(folder, config, split, spec).values())


def _rows_of(*files: ParquetFile) -> list[Row]:
    columns = lru_cache(maxsize=_GROUPS_KEPT)(_Columns)
    rows: list[Row] = []
    for file in files:
        for number in range(file.num_row_groups):
            group = partial(columns, file, number)
            rows += (
                _Row(group, place)
                for place in range(file.metadata.row_group(number).num_rows)
            )
    return rows


def rows_hash(rows: Iterable[Row]) -> str:
    """The rows' content.

    Unlike the parquet file's bytes it does not depend on who wrote the file.
    """
    written = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode
    digest = hashlib.sha256()
    for row in rows:
        digest.update(written(dict(row.items())).encode())
    return digest.hexdigest()


def rows_hash_of_file(path: Path) -> str:
    """The hash of the rows of a parquet file, as the marker records it."""
    import pyarrow.parquet as pq

    with doing(f"load the rows of {path}"), pq.ParquetFile(path) as file:
        return rows_hash(_rows_of(file))


def recorded_rows_hash(folder: Path, config: str, split: str) -> str:
    """The hash of a built split's rows as its builder recorded it.

    "" for a sum of splits, and where an earlier version built it. `read_rows` has
    checked that the file is the one that was built.
    """
    built = built_config(folder, config, None).splits.get(split)
    return "" if built is None else built.rows_sha256


def read_tables(
    folder: Path, config: str, split: str, *, spec: DatasetSpec | None = None
) -> dict[str, pyarrow.Table]:
    """Reads a built split, or a sum of some, as Arrow tables, after checking that each file is the one that was built.

    With `spec` the version is checked too, and messages say how to get the official
    files.
    """
    # In one thread: where memory is short, threads that cannot be started are waited
    # for without end.
    return {
        name: file.read(use_threads=False)
        for name, file in _open(folder, config, split, spec).items()
    }


def _open(
    folder: Path, config: str, split: str, spec: DatasetSpec | None
) -> dict[str, ParquetFile]:
    """The files of a split, if built in the version that this suite reads."""
    built = built_config(folder, config, spec)
    if spec is not None and built.version != spec.version:
        raise UsageError(
            f"{folder}: config {config} was built in version {built.version}, this suite reads "
            f"{spec.version}. Build it again: {_building(spec, config)}"
        )
    names = split_names(built_split(folder, config, split, spec=spec))
    return {name: _file(folder, config, built.splits[name], spec) for name in names}


def built_config(folder: Path, config: str, spec: DatasetSpec | None) -> BuiltConfig:
    """One configuration that a folder holds; where it does not, the error says how to get it."""
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
    """A built file, if it is bit by bit the one that the marker describes."""
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
    """The command that builds a configuration; of a plugin's dataset, the one that it says."""
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
    """What was built into a folder; None where nothing was."""
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
    """Finds the files whose text `leakcheck` looks for.

    Of a built dataset by name or folder, or a file or a folder of them.
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
    """Opens a dataset's folder for a build, gone again if nothing came of it.

    Yields an empty stage in it, and what was built.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; --out must be a folder.")

    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with folder_lock(folder):
            for stale in folder.glob(f"{_STAGE_PREFIX}*"):
                # of a build that was killed: nobody else holds the lock
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
        if made:
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
    """Makes what stands in the stage the dataset.

    `texts` (file name to content) are written in order, the marker last.

    When an `OSError` says that something cannot be written, nothing has changed.
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
