"""Builds datasets into folders that `load_dataset` reads, completely or not at all.

A build reads a `DatasetSource`; `dataset_store` decides what is written, and when it takes
effect.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from medical_tasks._version import __version__
from medical_tasks.data.dataset_source import (
    DatasetSource,
    chosen_options,
    file_sha256,
    find_files,
    steps_to_get,
)
from medical_tasks.data.dataset_store import (
    MARKER,
    BuiltConfig,
    BuiltSplit,
    flush_to_disk,
    marker_text,
    put_in_place,
    rows_hash_of_file,
    stage_in,
)
from medical_tasks.errors import (
    IncompleteError,
    MedicalTasksError,
    UsageError,
    memory_error,
    system_reason,
)
from medical_tasks.io.columns import hub_features
from medical_tasks.io.files import read_text, readable
from medical_tasks.plugins import PluginError
from medical_tasks.spec import Row, TaskSpec

if TYPE_CHECKING:
    import datasets

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# `datasets` checks for free space before it writes, and raises an OSError without a number.
_NO_SPACE_TEXT = "Not enough disk space"
_WRITER_SETTINGS = threading.Lock()
_HASH_DIGITS = 12
_MOST_OF_A_RELEASE = 1.1


@dataclass(frozen=True, kw_only=True)
class BuiltDataset:
    """The result of a build.

    Attributes:
        folder: the dataset's folder.
        config: the configuration that was built.
        rows: the number of rows in all splits together.
        splits: the number of rows by split.
        notes: what the user should know, although it is not an error.
        place: the path of the official files.
    """

    folder: Path
    config: str
    rows: int
    splits: Mapping[str, int]
    notes: tuple[str, ...]
    place: Path | None


def build_source(
    source: DatasetSource,
    *,
    source_path: Path | None,
    config: str,
    folder: Path,
    options: Mapping[str, int | None] | None = None,
    partial: bool = False,
    tasks: Sequence[TaskSpec] = (),
    made_of: Mapping[str, str] | None = None,
) -> BuiltDataset:
    """Builds one configuration of a dataset from its official files.

    Other configurations in the folder stay; an earlier build of this one is replaced.

    Args:
        source: the dataset's source.
        source_path: the folder of the official files, or the single file.
        config: the configuration.
        folder: the folder to build into.
        options: the options of a generated configuration.
        partial: whether a part of a release that is still being corrected may be built.
        tasks: the tasks with leaderboards on the Hub.
        made_of: the marker's entries about rows that were derived from other rows.
    """
    source = source.at_path(config, source_path)
    spec = source.spec
    marker_source = _file_hashes(source, config, source_path)
    chosen = chosen_options(
        f"{spec.name}, config {config}", source.generated.get(config), options or {}
    )
    marker_source |= {name: str(value) for name, value in chosen.items()}
    marker_source |= made_of or {}
    try:
        with stage_in(folder, spec.name) as (stage, before):
            splits = _write_splits(source, config, source_path, stage, chosen)
            notes = _check_rows(source, config, splits, partial=partial)
            new_config = BuiltConfig(
                version=spec.version,
                suite=__version__,
                source=marker_source,
                splits=splits,
            )
            built = {
                name: new_config if name == config else before[name]
                for name in spec.configs
                if name in {*before, config}
            }
            # Rows of an older version may not have the columns that the card declares: they are
            # kept, but readers ask for a new build.
            current = {
                name: entry
                for name, entry in built.items()
                if entry.version == spec.version
            }
            # Slow: it imports yaml.
            from medical_tasks.data.cards import card_text, croissant_text, eval_text

            # Only for configurations in the folder: demo rows belong to no leaderboard.
            leaderboards = eval_text(
                spec,
                tasks,
                built={name: entry.splits for name, entry in current.items()},
            )
            texts = {
                "README.md": card_text(source, current),
                "croissant.json": croissant_text(source, current),
                **({"eval.yaml": leaderboards} if leaderboards else {}),
                MARKER: marker_text(spec.name, built),
            }
            put_in_place(
                folder, stage, built, texts, private=spec.access == "credentialed"
            )
    except OSError as error:
        raise write_error(folder, error) from error

    notes += [
        f"{folder}: config {name} was built in version {built[name].version}, now {spec.version}; "
        "build it again"
        for name in built.keys() - current.keys()
    ]
    rows = {name: split.rows for name, split in splits.items()}
    return BuiltDataset(
        folder=folder,
        config=config,
        rows=sum(rows.values()),
        splits=rows,
        notes=tuple(notes),
        place=source_path,
    )


def _file_hashes(
    source: DatasetSource, config: str, source_path: Path | None
) -> dict[str, str]:
    """Hashes the official files by name.

    Refuses a file that differs from its published checksum or belongs to another configuration.
    """
    hashes: dict[str, str] = {}
    for path in find_files(source, config, source_path).values():
        name = (
            path.name
            if source_path is None or source_path.is_file()
            else path.relative_to(source_path).as_posix()
        )
        with readable(path):
            hashes[name] = file_sha256(path)

        check_published_sum(path, hashes[name])
        true_config = source.known_files.get(hashes[name], config)
        if true_config != config:
            raise UsageError(
                f"{path}: is the official file of config {true_config}, not of {config}. Give "
                f"--config {true_config}, or the right file.\n{steps_to_get(source.spec)}"
            )

    return hashes


def _write_splits(
    source: DatasetSource,
    config: str,
    source_path: Path | None,
    stage: Path,
    options: Mapping[str, int],
) -> dict[str, BuiltSplit]:
    """Runs the builder in the stage, and names the files `stage/<config>/<split>-<hash>.parquet`.

    With the hash in its name, a file of a new build does not replace that of the old one
    before the marker, which is written last, names it.

    Args:
        source: the dataset.
        config: the configuration to build.
        source_path: the official file or folder; None for generated rows.
        stage: an empty folder that becomes the dataset if everything succeeds.
        options: settings of generated rows, such as seed and number.

    Returns:
        The entry of each split for the marker, with its path relative to the stage.
    """
    from datasets.exceptions import DatasetGenerationError

    out = stage / "written"
    with _progress_on_terminals_only(), _failing_writes_raise():
        builder = builder_class(source)(
            # A separate cache: no credentialed rows in the user's cache, and no confusion with
            # an earlier result.
            cache_dir=str(stage / "cache"),
            config_name=config,
            data_dir=None if source_path is None else str(source_path),
            **options,
        )
        try:
            builder.download_and_prepare(
                output_dir=str(out),
                file_format="parquet",
                max_shard_size="1TB",
                verification_mode="no_checks",
            )
        except DatasetGenerationError as error:
            # The library wraps the errors of the reader and of the disk; the user sees them
            # unwrapped.
            cause = _cause_of(error)
            if cause is None:
                raise

            raise cause from None

    splits: dict[str, BuiltSplit] = {}
    (stage / config).mkdir()
    for split in source.splits[config]:
        path = out / f"{builder.dataset_name}-{split}.parquet"
        flush_to_disk(path)
        digest = file_sha256(path)
        info = builder.info.splits[split]
        entry = BuiltSplit(
            path=f"{config}/{split}-{digest[:_HASH_DIGITS]}.parquet",
            rows=info.num_examples,
            sha256=digest,
            file_bytes=path.stat().st_size,
            num_bytes=info.num_bytes,
            rows_sha256=rows_hash_of_file(path),
        )
        path.rename(stage / entry.path)
        splits[split] = entry

    return splits


@contextlib.contextmanager
def _progress_on_terminals_only() -> Iterator[None]:
    import datasets

    hide = not sys.stderr.isatty() and not datasets.are_progress_bars_disabled()
    if hide:
        datasets.disable_progress_bars()
    try:
        yield
    finally:
        if hide:
            datasets.enable_progress_bars()


@contextlib.contextmanager
def _failing_writes_raise() -> Iterator[None]:
    """Disables content-defined chunking, which makes pyarrow abort the process on a failed write.

    The setting is global, hence the lock.
    """
    import datasets

    with _WRITER_SETTINGS:
        before = getattr(datasets.config, "DEFAULT_CDC_OPTIONS", None)
        if before is not None:  # versions before 4.1 never chunk so
            datasets.config.DEFAULT_CDC_OPTIONS = False

        try:
            yield
        finally:
            if before is not None:
                datasets.config.DEFAULT_CDC_OPTIONS = before


def _cause_of(error: BaseException) -> MedicalTasksError | OSError | None:
    """Finds the cause of a wrapped error.

    Closing a parquet file after a failed write raises further errors.
    """
    inner = error.__cause__
    while inner is not None and not isinstance(inner, MedicalTasksError | OSError):
        inner = inner.__cause__ or (
            None if inner.__suppress_context__ else inner.__context__
        )
    return inner


def _check_rows(
    source: DatasetSource,
    config: str,
    splits: Mapping[str, BuiltSplit],
    *,
    partial: bool,
) -> list[str]:
    """Compares the numbers of rows with the published ones.

    A release that is still being corrected may differ, with a note.
    """
    notes: list[str] = []
    for split, published in source.published_rows.get(config, {}).items():
        rows = splits[split].rows
        if rows == published:
            continue

        text = f"{source.spec.name}, config {config}: split {split} has {rows:,} rows, {published:,} were published"
        if config not in source.living:
            raise UsageError(
                f"{text}. The file is truncated or from another release.{_expected(source, config)}\n"
                f"{steps_to_get(source.spec)}"
            )

        if rows < published and not partial:
            raise UsageError(
                f"{text}. The file is truncated or from another release; build a smaller one on "
                f"purpose with --partial.\n{steps_to_get(source.spec)}"
            )

        if rows > _MOST_OF_A_RELEASE * published:  # corrections add only a few rows
            other = (
                " Build such rows with --config own."
                if "own" in source.spec.configs
                else ""
            )
            raise UsageError(
                f"{text}. It is another file, such as a training "
                f"set.{other}\n{steps_to_get(source.spec)}"
            )

        notes.append(
            f"{text}; right if the publisher has corrected the release since, else the file is cut "
            "off or another one"
        )

    return notes


def _expected(source: DatasetSource, config: str) -> str:
    """Words the expected checksums of a configuration's official files; "" if none is known."""
    pins = [
        file.pin for file in source.files_of(config).values() if file.pin is not None
    ]
    sums = ", ".join(f"{pin.path} has {pin.expected}" for pin in pins)
    return f" As published, {sums}." if sums else ""


def write_error(
    folder: Path, error: OSError, *, work: str = "build", other: str = "--out"
) -> MedicalTasksError:
    """Makes the error for a folder that cannot be written; `other` is the option for another folder.

    An error of memory is raised unchanged.
    """
    if memory_error(error):
        raise error

    kept = f"Nothing of this {work} was kept; what was there before is as it was."
    no_space = error.errno is None and str(error).startswith(_NO_SPACE_TEXT)
    reason = os.strerror(errno.ENOSPC) if no_space else system_reason(error)
    if error.errno in _NO_SPACE or no_space:
        return IncompleteError(
            f"{folder}: no space to write ({reason}). {kept} Free some space, or choose another "
            f"place with {other}, and give the same command again."
        )

    return UsageError(
        f"{folder}: cannot write there ({reason}). {kept} Choose another place with {other}."
    )


def builder_class(source: DatasetSource) -> type[datasets.GeneratorBasedBuilder]:
    """Makes the builder class of a dataset, a `datasets.GeneratorBasedBuilder`.

    Its `data_dir` is the folder of the official files. An error about the files is the cause of
    a `datasets.exceptions.DatasetGenerationError`.
    """
    import datasets

    spec = source.spec
    version = datasets.Version(spec.version)
    # The options of generated configurations are fields of the config: `datasets` passes a
    # builder's arguments on like this, and uses them to identify builds in its cache.
    names_of_options = sorted(
        {option.name for entry in source.generated.values() for option in entry.options}
    )
    config_class = dataclasses.make_dataclass(
        "SourceConfig",
        [
            (name, "int | None", dataclasses.field(default=None))
            for name in names_of_options
        ],
        bases=(datasets.BuilderConfig,),
    )
    configs = [
        config_class(
            name=config, version=version, description=f"{spec.title}, {config}"
        )
        for config in spec.configs
    ]
    names = [column.name for column in source.columns]

    class SourceBuilder(datasets.GeneratorBasedBuilder):  # type: ignore[misc]  # datasets ships no types
        """Builds one configuration from its official files."""

        VERSION = version
        BUILDER_CONFIG_CLASS = config_class
        BUILDER_CONFIGS = configs
        DEFAULT_CONFIG_NAME = spec.default_config

        def __init__(
            self, *args: object, dataset_name: str | None = None, **kwargs: object
        ) -> None:
            super().__init__(*args, dataset_name=dataset_name or spec.name, **kwargs)

        def _info(self) -> datasets.DatasetInfo:
            return datasets.DatasetInfo(
                description=source.summary,
                features=hub_features(source.columns),
                homepage=spec.homepage,
                citation=spec.citation,
                license=spec.licence,
            )

        def _split_generators(
            self, dl_manager: datasets.DownloadManager
        ) -> list[datasets.SplitGenerator]:
            source_path = Path(dl_manager.manual_dir) if dl_manager.manual_dir else None
            placed_source = source.at_path(self.config.name, source_path)
            files = find_files(placed_source, self.config.name, source_path)
            self._options()  # a wrong one is refused before anything is written
            return [
                datasets.SplitGenerator(
                    name=split, gen_kwargs={"split": split, "files": files}
                )
                for split in placed_source.splits[self.config.name]
            ]

        def _options(self) -> dict[str, int]:
            requested = {name: getattr(self.config, name) for name in names_of_options}
            return chosen_options(
                f"{spec.name}, config {self.config.name}",
                source.generated.get(self.config.name),
                requested,
            )

        def _rows(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
            generated = source.generated.get(self.config.name)
            return (
                generated.rows(split, self._options())
                if generated
                else source.read(self.config.name, split, files)
            )

        def _generate_examples(
            self, split: str, files: Mapping[str, Path]
        ) -> Iterator[tuple[object, dict[str, object]]]:
            seen: set[object] = set()
            for row in self._rows(split, files):
                # datasets would fill a forgotten column with nulls
                if row.keys() != set(names):
                    raise PluginError(
                        f"{spec.name}: a row has the columns {', '.join(row)}, and its "
                        f"DatasetSource declares {', '.join(names)}. Give rows these."
                    )

                if row[source.key] in seen:
                    raise UsageError(
                        f"{spec.name}, config {self.config.name}, split {split}: two rows have "
                        f"{source.key} {row[source.key]!r}; it must be unique. Download the "
                        "official files again."
                    )

                seen.add(row[source.key])
                yield row[source.key], {name: row[name] for name in names}

    return SourceBuilder


SUMS_FILE = "SHA256SUMS.txt"

_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *]?(\S.*)")


def check_published_sum(path: Path, digest: str) -> bool:
    """Compares a file's hash with the published one; returns whether there is one.

    In a list next to the file every entry with its name counts (people flatten projects); in a
    list one folder above, only `<folder>/<file>` counts.
    """
    file = path.absolute()
    beside, above = file.parent / SUMS_FILE, file.parent.parent / SUMS_FILE
    entries = [
        (beside, *entry)
        for entry in _entries(beside)
        if entry[0].rpartition("/")[2] == file.name
    ]
    name_with_folder = f"{file.parent.name}/{file.name}"
    entries = entries or [
        (above, *entry) for entry in _entries(above) if entry[0] == name_with_folder
    ]
    if entries and digest not in {sums for _, _, sums, _ in entries}:
        sums_file, _, expected, line = entries[0]
        raise UsageError(
            f"{path}: SHA-256 is {digest}, but {sums_file}, line {line}, says {expected}. The file is "
            "truncated, changed, or from another release than the list. Download both again."
        )

    return bool(entries)


def _entries(sums: Path) -> list[tuple[str, str, int]]:
    """Reads a published list of checksums: file, checksum, and line number."""
    if not sums.is_file():
        return []

    with readable(sums):
        lines = read_text(sums, encoding="utf-8-sig", errors="replace").splitlines()

    matches = [
        (number, _LINE.fullmatch(line.strip()))
        for number, line in enumerate(lines, start=1)
    ]
    return [
        (match[2].removeprefix("./").replace("\\", "/"), match[1].lower(), number)
        for number, match in matches
        if match
    ]
