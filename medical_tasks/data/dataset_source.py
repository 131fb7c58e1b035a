"""The source of a dataset: its official files, its columns, and the function that reads them.

Each benchmark's `data.py` has a tuple `SOURCES`, the only input of building, cards and Croissant
files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from medical_tasks.data.upstream_source import blob_id
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.columns import Column
from medical_tasks.io.files import open_file, read_bytes
from medical_tasks.spec import DatasetSpec

# Other packages import it from here, together with `DatasetSource`.
from medical_tasks.spec import Row as Row

RowReader = Callable[[str, str, Mapping[str, Path]], Iterator[Row]]

# Croissant's properties of responsible AI (RAI): those with one text, those with a list of texts.
_RAI_TEXTS: Final = (
    "annotationsPerItem dataCollection dataReleaseMaintenancePlan dataSocialImpact"
)
_RAI_LISTS: Final = (
    "annotatorDemographics dataAnnotationAnalysis dataAnnotationPlatform dataAnnotationProtocol "
    "dataBiases dataCollectionType dataLimitations dataPreprocessingProtocol dataUseCases "
    "machineAnnotationTools personalSensitiveInformation"
)
_RAI: Final = dict.fromkeys(_RAI_TEXTS.split(), str) | dict.fromkeys(
    _RAI_LISTS.split(), list
)


@dataclass(frozen=True)
class Pin:
    """A file at one commit of a public GitHub repository, with the checksum that identifies it.

    Attributes:
        repository: OWNER/NAME.
        commit: the commit's hash.
        path: the file's path in the repository.
        size: its size in bytes; None if unknown.
        sha256: its hash.
        blob: git's id of the content, if no SHA-256 is known.
    """

    repository: str
    commit: str
    path: str
    size: int | None
    sha256: str = ""
    blob: str = ""

    @property
    def checkout_path(self) -> str:
        """The file's path in a folder of checkouts."""
        return f"{self.repository.rpartition('/')[2]}/{self.path}"

    @property
    def expected(self) -> str:
        """The expected checksum, with the name of its algorithm."""
        return f"SHA-256 {self.sha256}" if self.sha256 else f"git blob {self.blob}"

    def checksum_of(self, path: Path) -> str:
        """Computes a file's checksum, in the form of `expected`."""
        return (
            f"SHA-256 {file_sha256(path)}"
            if self.sha256
            else f"git blob {blob_id(read_bytes(path))}"
        )


def pinned(repository: str, commit: str, listing: str) -> dict[str, Pin]:
    """Pins files at one commit, by name, from lines of size, SHA-256 and path."""
    lines = (line.split() for line in listing.strip().splitlines())
    return {
        path.rpartition("/")[2]: Pin(repository, commit, path, int(size), sha256)
        for size, sha256, path in lines
    }


@dataclass(frozen=True, kw_only=True)
class OfficialFile:
    """A file of the official distribution."""

    # Its possible paths, from the outermost folder that a user may give; any end of one will do.
    places: tuple[str, ...]
    description: str
    pin: Pin | None = None  # where to fetch it; its path is one of `places`

    def found_in(self, folder: Path) -> list[Path]:
        """Finds the file at all its possible paths below a folder."""
        ends = dict.fromkeys(end for path in self.places for end in _ends(path))
        return [folder / end for end in ends if (folder / end).is_file()]


@dataclass(frozen=True, kw_only=True)
class DatasetSource:
    """How a dataset is built.

    `read` is called with a configuration, a split and the files by key, and yields the rows in
    order. It may start working when it is called; discarding its result must stop that.

    Attributes:
        spec: the dataset.
        summary: a description for its card.
        changes: the changes against the official files, one per line (share-alike licences
            require it).
        columns: the columns of every row, the same in all configurations.
        key: the column that is unique within a split; the item's id.
        splits: configuration to its splits.
        files: configuration to the official files that it is read from, by a short key.
        read: reads the rows.
        published: the date of publication, in ISO 8601.
        creators: the authors.
        id_names: the key's names in the official files, and thus in people's tables.
        licence_note: what the publisher requires besides the licence, in one sentence.
        published_rows: the numbers of rows that the publisher released.
        living: configurations still being corrected: other numbers of rows are noted, not
            refused.
        quick: configurations built from the folder of their release within a second, the
            default first.
        generated: how to generate configurations without files.
        known_files: SHA-256 of an official file to its configuration.
        at: returns the source with the splits and files at a path, for releases that do not
            all have every split.
        languages: BCP 47 tags.
        task_categories: the Hub's names of task categories.
        tags: the Hub's tags.
        responsible_ai: texts by RAI property.
        beside: further files to fetch: labels and prompts that other verbs read.
    """

    spec: DatasetSpec
    summary: str
    changes: tuple[str, ...]
    columns: tuple[Column, ...]
    key: str
    splits: Mapping[str, tuple[str, ...]]
    files: Mapping[str, Mapping[str, OfficialFile]]
    read: RowReader
    published: str
    creators: tuple[str, ...]
    id_names: tuple[str, ...] = ()
    licence_note: str = ""
    published_rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    living: frozenset[str] = frozenset()
    quick: tuple[str, ...] = ()
    generated: Mapping[str, Generated] = field(default_factory=dict)
    known_files: Mapping[str, str] = field(default_factory=dict)
    at: Callable[[str, Path | None], DatasetSource] | None = None
    languages: tuple[str, ...] = ("en",)
    task_categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    responsible_ai: Mapping[str, str | list[str]] = field(default_factory=dict)
    beside: tuple[Pin, ...] = ()

    def __post_init__(self) -> None:
        """Refuses a source that does not fit its spec."""
        for name, configs in (("splits", set(self.splits)), ("files", set(self.files))):
            if configs != set(self.spec.configs):
                raise ValueError(
                    f"{self.spec.name}: {name} has {sorted(configs)}, the spec "
                    f"{sorted(self.spec.configs)}"
                )

        for config in self.generated:
            if self.files.get(config, "none"):
                raise ValueError(
                    f"{self.spec.name}: {config} is generated, so it must be a config without files"
                )

        if self.key not in {column.name for column in self.columns}:
            raise ValueError(f"{self.spec.name}: key {self.key!r} is not a column")

        if wrong := [
            name
            for name, value in self.responsible_ai.items()
            if not isinstance(value, _RAI.get(name, ()))
        ]:
            raise ValueError(
                f"{self.spec.name}: responsible_ai has {', '.join(wrong)}; texts are {_RAI_TEXTS}; "
                f"lists of texts {_RAI_LISTS}"
            )

    def files_of(self, config: str) -> Mapping[str, OfficialFile]:
        """Returns the official files of a configuration; none if it is generated."""
        if config not in self.files:
            raise UsageError(
                f"unknown config {config!r} of {self.spec.name}. Configs: "
                f"{', '.join(self.spec.configs)}."
            )
        return self.files[config]

    def pins(self, config: str) -> tuple[Pin, ...]:
        """Returns what is fetched for a configuration.

        Nothing is fetched if the dataset is not open, or if one of its files has no pin.
        """
        pins = [file.pin for file in self.files_of(config).values()]
        pinned_files = tuple(pin for pin in pins if pin is not None)

        return (
            (*pinned_files, *self.beside)
            if pinned_files
            and len(pinned_files) == len(pins)
            and self.spec.access == "open"
            else ()
        )

    def at_path(self, config: str, source_path: Path | None) -> DatasetSource:
        """Returns the source with the splits and files of a configuration that a path has."""
        return self if self.at is None else self.at(config, source_path)


def steps_to_get(spec: DatasetSpec, *, by_hand: bool = False) -> str:
    """Lists the steps to a dataset's official files, in indented lines for the end of a message."""
    steps = [step for step in spec.how_to_get if not (by_hand and "--fetch" in step)]
    return f"How to get {spec.title}:\n" + "\n".join(f"  - {step}" for step in steps)


def file_sha256(path: Path) -> str:
    """Hashes a file without holding it in memory."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_files(
    source: DatasetSource, config: str, source_path: Path | None
) -> dict[str, Path]:
    """Finds the official files of a configuration at `source_path`, by their short keys.

    A generated configuration has none.
    """
    spec = source.spec
    official_files = source.files_of(config)
    label = f"{spec.name}, config {config}"
    if not official_files:
        if source_path is not None:
            raise UsageError(
                f"{label}: made from this package alone, reads no source. Leave out --source "
                f"({source_path})."
            )

        return {}

    listing = "\n".join(
        f"  {file.description}: {' or '.join(file.places)}"
        for file in official_files.values()
    )
    if source_path is None or not source_path.exists():
        problem = (
            "needs the official files, none given"
            if source_path is None
            else f"{source_path} is not there"
        )
        request = f"{label}: {problem}. Give --source the folder (or the one file) with\n{listing}"
        raise MissingError(f"{request}\n{steps_to_get(spec)}")

    if source_path.is_file():
        if len(official_files) > 1:
            raise UsageError(
                f"{label}: needs {len(official_files)} files, got the file {source_path}. Give the folder that "
                f"holds\n{listing}"
            )

        return dict.fromkeys(official_files, source_path)

    paths_by_key: dict[str, Path] = {}
    missing: list[str] = []
    for key, file in official_files.items():
        paths = file.found_in(source_path)
        if len({file_sha256(path) for path in paths}) > 1:
            alone = len(official_files) == 1
            step = (
                "Give --source the right one itself"
                if alone
                else "Keep the right one there and move the others"
            )
            raise UsageError(
                f"{label}: {source_path} has several files that could be {file.description}: "
                f"{', '.join(path.relative_to(source_path).as_posix() for path in paths)}. {step}."
            )

        if paths:
            paths_by_key[key] = paths[0]
        else:
            missing.append(f"  {file.description}: {' or '.join(file.places)}")

    if missing:
        listed = "\n".join(missing)
        raise MissingError(
            f"{label}: {source_path} lacks\n{listed}\nEach path was looked for there, and every end of "
            f"it.\n{steps_to_get(spec)}"
        )

    return paths_by_key


_FOLDERS_ABOVE = 3
"""How many folders above the given one are searched for a file of the same repository."""


def repository_file(checkout: Path | None, path: str, *, repository: str) -> Path:
    """Finds a repository file; `checkout`: a checkout, folder above or inside, or the file.

    A whole path counts before its end.
    """
    if checkout is None:
        raise UsageError(
            f"official prompts are read from the authors' files. Clone {repository} and give its "
            "folder with --upstream, or use --prompts own."
        )

    checkout = checkout.expanduser()
    ends = _ends(path)
    if checkout.is_file() and checkout.name == ends[-1]:
        return checkout

    folder = checkout.parent if checkout.is_file() else checkout
    below = folder / repository.rpartition("/")[2]
    candidates = [
        folder_above / path
        for folder_above in (folder, below, *folder.resolve().parents[:_FOLDERS_ABOVE])
    ]
    for candidate in (*candidates, *(folder / end for end in ends)):
        if candidate.is_file():
            return candidate

    raise MissingError(
        f"{checkout}: the authors' {path} is not there (looked for in {folder}, in {below} and in the "
        f"folders above; in {folder} also as {' or '.join(ends)}). Clone {repository} and give its "
        "folder with --upstream."
    )


def _ends(path: str) -> list[str]:
    """Returns the path, then the path without its first folder, and so on down to the name."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


@dataclass(frozen=True, kw_only=True)
class BuildOption:
    """A whole number that decides which rows are generated."""

    name: str  # argument of the builder, and of the command line after `--`
    description: str
    lowest: int
    highest: int
    default: int | None = None  # None if the user has to choose


@dataclass(frozen=True, kw_only=True)
class Generated:
    """How a configuration is generated."""

    options: tuple[BuildOption, ...]
    rows: Callable[[str, Mapping[str, int]], Iterator[Row]]


def chosen_options(
    label: str, generated: Generated | None, requested: Mapping[str, int | None]
) -> dict[str, int]:
    """Checks the options of a build and fills in defaults, in the configuration's order."""
    options = (
        {}
        if generated is None
        else {option.name: option for option in generated.options}
    )
    extra = [
        f"--{name}"
        for name, value in requested.items()
        if value is not None and name not in options
    ]
    if extra:
        takes = (
            f"it takes {', '.join(f'--{name}' for name in options)}"
            if options
            else "it has no such options"
        )
        raise UsageError(
            f"{label}: got {', '.join(extra)}, but {takes}. Leave out {', '.join(extra)}."
        )

    chosen: dict[str, int] = {}
    for name, option in options.items():
        value = requested.get(name)
        value = option.default if value is None else value
        if value is None:
            raise UsageError(
                f"{label}: needs --{name}: {option.description}. Give --{name} NUMBER."
            )

        if not option.lowest <= value <= option.highest:
            raise UsageError(
                f"{label}: --{name} must be from {option.lowest:,} to {option.highest:,}, got "
                f"{value:,}. It is {option.description}."
            )

        chosen[name] = value

    return chosen
