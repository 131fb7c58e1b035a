"""What building a dataset needs to know of it.

Its official files, its columns, and the function that reads them.

Each benchmark's `data.py` has a tuple `SOURCES`; building, cards and Croissant files
work from nothing else.
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

# packages take it from here, beside `DatasetSource`
from medical_tasks.spec import Row as Row

RowReader = Callable[[str, str, Mapping[str, Path]], Iterator[Row]]

# Croissant's properties of responsible AI (RAI): of one text, of a list of texts.
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
    """A file at one commit of a public GitHub repository, and the sum that tells whether it is that file.

    Attributes:
        repository: OWNER/NAME.
        size: bytes; None where nobody has said so.
        blob: git's id of the content, where no SHA-256 is known.
    """

    repository: str
    commit: str
    path: str
    size: int | None
    sha256: str = ""
    blob: str = ""

    @property
    def place(self) -> str:
        """Where it lies in a folder of checkouts."""
        return f"{self.repository.rpartition('/')[2]}/{self.path}"

    @property
    def expected(self) -> str:
        """Its sum, with its name."""
        return f"SHA-256 {self.sha256}" if self.sha256 else f"git blob {self.blob}"

    def found(self, path: Path) -> str:
        """The sum of a file in the form of `expected`."""
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

    # where it may lie, from the outermost folder that a user may give; any end of one
    # will do
    places: tuple[str, ...]
    description: str
    pin: Pin | None = None  # where it is fetched from; its place is one of `places`

    def found_in(self, folder: Path) -> list[Path]:
        """Finds the file below a folder, at every place where it lies."""
        ends = dict.fromkeys(end for place in self.places for end in _ends(place))
        return [folder / end for end in ends if (folder / end).is_file()]


@dataclass(frozen=True, kw_only=True)
class DatasetSource:
    """How the built form of a dataset is made.

    `read` is called with configuration, split and the found files by key, and yields
    the rows in order; it may begin its work when it is called, and dropping what it
    returned must end that.

    Attributes:
        changes: against the official files, one a line (share-alike licences ask for
            it).
        columns: of every row, the same in all configurations.
        key: column that no two rows of a split share; the item's id.
        files: configuration to what it is read from, by a short key.
        published: ISO 8601.
        id_names: what the official files, and so people's tables, call the key.
        licence_note: what the publisher asks for beside the licence, one sentence.
        published_rows: as the publisher released them.
        living: configurations still corrected: other numbers of rows are noted, not
            refused.
        quick: configurations built from the folder of their release in a second, the
            default first.
        generated: such a configuration has no files.
        known_files: SHA-256 of an official file to its configuration.
        languages: BCP 47.
        task_categories: as the Hub names them.
        responsible_ai: by RAI property.
        beside: fetched with the official files: labels and prompts that other verbs
            read.
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
    # of releases of which not each has every split: the source with what is there, by
    # configuration and place
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

    def wanted(self, config: str) -> Mapping[str, OfficialFile]:
        """The official files of a configuration; none of one that is made here."""
        if config not in self.files:
            raise UsageError(
                f"unknown config {config!r} of {self.spec.name}. Configs: "
                f"{', '.join(self.spec.configs)}."
            )
        return self.files[config]

    def pins(self, config: str) -> tuple[Pin, ...]:
        """What is fetched for a configuration.

        Nothing where the dataset is not open, or a file of it has no pin.
        """
        pins = [file.pin for file in self.wanted(config).values()]
        found = tuple(pin for pin in pins if pin is not None)

        return (
            (*found, *self.beside)
            if found and len(found) == len(pins) and self.spec.access == "open"
            else ()
        )

    def placed(self, config: str, place: Path | None) -> DatasetSource:
        """How a configuration is built from what lies at a place.

        The source with the splits and files that are there.
        """
        return self if self.at is None else self.at(config, place)


def steps_to_get(spec: DatasetSpec, *, by_hand: bool = False) -> str:
    """The steps that bring a dataset's official files, one an indented line, for the end of a message."""
    steps = [step for step in spec.how_to_get if not (by_hand and "--fetch" in step)]
    return f"How to get {spec.title}:\n" + "\n".join(f"  - {step}" for step in steps)


def file_sha256(path: Path) -> str:
    """Hashes a file without holding it in memory."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_files(
    source: DatasetSource, config: str, place: Path | None
) -> dict[str, Path]:
    """Finds the official files of a configuration at `place`, by their short keys.

    None for one that is made here.
    """
    spec = source.spec
    wanted = source.wanted(config)
    label = f"{spec.name}, config {config}"
    if not wanted:
        if place is not None:
            raise UsageError(
                f"{label}: made from this package alone, reads no source. Leave out --source "
                f"({place})."
            )

        return {}

    listing = "\n".join(
        f"  {file.description}: {' or '.join(file.places)}" for file in wanted.values()
    )
    if place is None or not place.exists():
        said = (
            "needs the official files, none given"
            if place is None
            else f"{place} is not there"
        )
        asked = f"{label}: {said}. Give --source the folder (or the one file) with\n{listing}"
        raise MissingError(f"{asked}\n{steps_to_get(spec)}")

    if place.is_file():
        if len(wanted) > 1:
            raise UsageError(
                f"{label}: needs {len(wanted)} files, got the file {place}. Give the folder that "
                f"holds\n{listing}"
            )

        return dict.fromkeys(wanted, place)

    found: dict[str, Path] = {}
    missing: list[str] = []
    for key, file in wanted.items():
        paths = file.found_in(place)
        if len({file_sha256(path) for path in paths}) > 1:
            alone = len(wanted) == 1
            step = (
                "Give --source the right one itself"
                if alone
                else "Keep the right one there and move the others"
            )
            raise UsageError(
                f"{label}: {place} has several files that could be {file.description}: "
                f"{', '.join(path.relative_to(place).as_posix() for path in paths)}. {step}."
            )

        if paths:
            found[key] = paths[0]
        else:
            missing.append(f"  {file.description}: {' or '.join(file.places)}")

    if missing:
        listed = "\n".join(missing)
        raise MissingError(
            f"{label}: {place} lacks\n{listed}\nEach path was looked for there, and every end of "
            f"it.\n{steps_to_get(spec)}"
        )

    return found


_FOLDERS_ABOVE = 3
"""How far above the given folder a file of the same repository is looked for."""


def repository_file(place: Path | None, path: str, *, repository: str) -> Path:
    """Finds a repository file; `place`: a checkout, folder above or inside, or the file.

    A whole path counts before its end.
    """
    if place is None:
        raise UsageError(
            f"official prompts are read from the authors' files. Clone {repository} and give its "
            "folder with --upstream, or use --prompts own."
        )

    place = place.expanduser()
    ends = _ends(path)
    if place.is_file() and place.name == ends[-1]:
        return place

    folder = place.parent if place.is_file() else place
    below = folder / repository.rpartition("/")[2]
    whole = [
        each / path
        for each in (folder, below, *folder.resolve().parents[:_FOLDERS_ABOVE])
    ]
    for each in (*whole, *(folder / end for end in ends)):
        if each.is_file():
            return each

    raise MissingError(
        f"{place}: the authors' {path} is not there (looked for in {folder}, in {below} and in the "
        f"folders above; in {folder} also as {' or '.join(ends)}). Clone {repository} and give its "
        "folder with --upstream."
    )


def _ends(path: str) -> list[str]:
    """The path, then it without its first folder, and so on down to the name."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


@dataclass(frozen=True, kw_only=True)
class BuildOption:
    """A whole number that decides which rows are generated."""

    name: str  # argument of the builder, and of the command line after `--`
    description: str
    lowest: int
    highest: int
    default: int | None = (
        None  # value when it is not given; None where the user has to choose
    )


@dataclass(frozen=True, kw_only=True)
class Generated:
    """How a configuration is generated."""

    options: tuple[BuildOption, ...]
    rows: Callable[[str, Mapping[str, int]], Iterator[Row]]


def chosen_options(
    label: str, generated: Generated | None, given: Mapping[str, int | None]
) -> dict[str, int]:
    """Checks the options of a build and fills in defaults, in the configuration's order."""
    options = (
        {}
        if generated is None
        else {option.name: option for option in generated.options}
    )
    extra = [
        f"--{name}"
        for name, value in given.items()
        if value is not None and name not in options
    ]
    if extra:
        takes = (
            f"it takes {', '.join(f'--{name}' for name in options)}"
            if options
            else "it takes no such options"
        )
        raise UsageError(
            f"{label}: got {', '.join(extra)}, but {takes}. Leave out {', '.join(extra)}."
        )

    chosen: dict[str, int] = {}
    for name, option in options.items():
        value = given.get(name)
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
