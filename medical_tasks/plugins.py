"""The plugins of packages: benchmarks, commands, export formats, kinds of judges, generators of rows.

The project registers its own in the same way, with entry points of an installed package
(`setup.cfg`):

    [options.entry_points]
    medical_tasks.benchmarks =
        my_benchmark = my_package.spec:BENCHMARK
    medical_tasks.verbs =
        my_verbs = my_package:VERBS

A package that is not installed is named by `--plugin` before a command, or in
`MEDICAL_TASKS_PLUGINS`: a module, the folder of a package, the folder of a project whose
`pyproject.toml` or `setup.cfg` declares entry points, or a YAML file that describes a
benchmark (docs/benchmark_of_your_own.md). Without declared entry points, the names in
`NAMES` count, in the package or its `spec` module.

A plugin from another package may fail without affecting the rest: it is left out with a
note, and `problems` has the reason. Errors that its code raises later are attributed to
that package (`attributing_errors`).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from medical_tasks._version import __version__
from medical_tasks.errors import (
    MedicalTasksError,
    MissingError,
    UsageError,
    memory_error,
)
from medical_tasks.spec import Row

Group = Literal[
    "medical_tasks.benchmarks",
    "medical_tasks.exports",
    "medical_tasks.generators",
    "medical_tasks.judges",
    "medical_tasks.verbs",
]
Rows = Callable[[str, Mapping[str, int]], Iterable[Row]]
"""Generates the rows of a split from the options of `build`, such as seed and n."""
Kind = TypeVar("Kind")

OWN_PACKAGE: Final = "medical-tasks"
YAML: Final = (".yaml", ".yml")
VARIABLE: Final = "MEDICAL_TASKS_PLUGINS"
NAMES: Final[Mapping[str, Group]] = {
    "BENCHMARK": "medical_tasks.benchmarks",
    "EXPORTS": "medical_tasks.exports",
    "JUDGES": "medical_tasks.judges",
    "VERBS": "medical_tasks.verbs",
}
"""The names that register objects of a package without declared entry points."""


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A command of the command line. Its references are imported when it is used.

    Attributes:
        name: Its name.
        group: The heading under which `medical-tasks --help` lists it.
        summary: One line on what it does.
        options: `package.module:Name` of a dataclass derived from
            `medical_tasks.options.Options`, or of a `medical_tasks.options.Choice` of
            several; None for a command that parses its own words.
        run: `package.module:name` of a function that takes these options (or the
            words), runs the command, and returns the exit code.
    """

    name: str
    group: str
    summary: str
    options: str | None
    run: str


def load(reference: str) -> Any:
    """Imports the object at `package.module:name`."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class Package(NamedTuple):
    """The package of a plugin; the version is "" if it is unknown."""

    name: str
    version: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


class Plugin(NamedTuple):
    """An object that a package registered under a name."""

    name: str
    package: Package
    value: object

    @property
    def own(self) -> bool:
        """Whether the project registers it itself."""
        return self.package.name == OWN_PACKAGE


class Problem(NamedTuple):
    """The reason why a plugin is left out."""

    name: str
    package: Package
    reason: str

    def __str__(self) -> str:
        return f"{self.name} of the package {self.package} is left out: {self.reason}"


@dataclass(frozen=True)
class _Described:
    """A benchmark described by a YAML file, instead of an entry point."""

    path: Path
    name: str
    group: Group = "medical_tasks.benchmarks"

    @property
    def module(self) -> str:
        """The path, instead of a module's name; no code belongs to it."""
        return str(self.path)

    def load(self) -> object:
        """Builds the benchmark."""
        return load("medical_tasks.benchmarks.from_file.spec:made_from")(self.path)


class _Registration(NamedTuple):
    """An entry point and its package."""

    package: Package
    entry: EntryPoint | _Described


_problems: dict[str, list[Problem]] = {}
"""Problems by the value of `MEDICAL_TASKS_PLUGINS`, which may change while a process runs."""


def registered(group: Group) -> tuple[Plugin, ...]:
    """Loads the plugins of a group: the project's own, then named and installed ones.

    A plugin from another package that cannot be imported is left out; see `problems`.
    """
    return _registered(group, uninstalled_plugins())


def objects(group: Group, kind: type[Kind]) -> list[tuple[Plugin, Kind]]:
    """Returns the registered objects of a type in a group, and leaves out all others.

    An entry point may register several at once, as a tuple.
    """
    matching: list[tuple[Plugin, Kind]] = []
    for plugin in registered(group):
        for value in (
            plugin.value if isinstance(plugin.value, tuple) else (plugin.value,)
        ):
            if isinstance(value, kind):
                matching.append((plugin, value))
            else:
                kind_of_value = f"a {type(value).__name__}, not an object of"
                leave_out(
                    plugin,
                    f"it is {kind_of_value} {kind.__module__}.{kind.__qualname__}",
                )

    return matching


def generator(name: str) -> Rows:
    """Finds the generator of the rows of a configuration.

    Raises:
        MissingError: No generator is registered under the name.
    """
    for plugin in registered("medical_tasks.generators"):
        if plugin.name == name and callable(plugin.value):
            return plugin.value

    raise MissingError(
        f"no installed package generates the rows of {name} (entry points "
        "medical_tasks.generators). Install the complete package medical-tasks."
    )


def uninstalled_plugins() -> str:
    """Returns the value of `MEDICAL_TASKS_PLUGINS`, which is also the key of caches of plugins."""
    return os.environ.get(VARIABLE, "")


@contextlib.contextmanager
def using(locations: Sequence[str]) -> Iterator[None]:
    """Adds packages that are not installed, for a `with` block and the processes it starts.

    Raises:
        UsageError: A location is neither a module nor a folder with a package or project.
    """
    previous = os.environ.get(VARIABLE)
    present = uninstalled_plugins().split(os.pathsep)
    added = [
        location for location in map(_absolute, locations) if location not in present
    ]
    try:
        if added:
            os.environ[VARIABLE] = os.pathsep.join(
                [*added, *([previous] if previous else [])]
            )

        for location in added:
            _declared(location)

        yield
    finally:
        if previous is not None:
            os.environ[VARIABLE] = previous
        elif added:
            os.environ.pop(VARIABLE, None)


def package_in(folder: Path) -> Package:
    """Returns the package in a folder, as for `using`."""
    return _declared(_absolute(str(folder)))[0].package


def name_in(location: str) -> str:
    """Returns the name of the first plugin at a location, such as a YAML file."""
    return _declared(_absolute(location))[0].entry.name


def packages() -> dict[Package, list[str]]:
    """Returns the other packages with plugins, and the plugins' names."""
    names_by_package: dict[Package, list[str]] = {}
    for group in _groups():
        for registration in _foreign(group, uninstalled_plugins()):
            names_by_package.setdefault(registration.package, []).append(
                registration.entry.name
            )
    return names_by_package


def problems() -> Sequence[Problem]:
    """Returns the plugins that were left out so far, with the reasons."""
    return tuple(_problems.get(uninstalled_plugins(), ()))


def leave_out(plugin: Plugin, reason: str) -> None:
    """Records that a plugin cannot be used, and prints a note once."""
    _record(Problem(plugin.name, plugin.package, reason))


def version_of(package: str) -> str:
    """Returns an installed package's version, "" if it is not installed."""
    try:
        return _version(importlib.metadata.distribution(package))
    except importlib.metadata.PackageNotFoundError:
        return ""


_VERSION: Final = "Version: "


def _version(installed: importlib.metadata.Distribution) -> str:
    """Reads the version from the first lines of a package's metadata.

    Parsing all of it, as `Distribution.version` does, takes milliseconds for each
    package, since it contains whole documents.
    """
    head, _, _ = (installed.read_text("METADATA") or "").partition("\n\n")
    for line in head.splitlines():
        if line.startswith(_VERSION):
            return line.removeprefix(_VERSION).strip()
    return installed.version


class PluginError(MedicalTasksError):
    """Another package's code raised an error."""


@contextlib.contextmanager
def attributing_errors() -> Iterator[None]:
    """Converts an error in another package's code to a message with the package's name."""
    try:
        yield
    except MedicalTasksError:
        raise
    except Exception as error:
        if memory_error(error) or not (message := _responsible_package(error)):
            raise
        raise PluginError(message) from error


def _responsible_package(error: Exception) -> str:
    """Describes an error whose traceback passes through another package's code; "" if none does."""
    owners = {
        registration.entry.module.partition(".")[0]: registration.package
        for group in _groups()
        for registration in _foreign(group, uninstalled_plugins())
    }
    import traceback

    # If a library raised its own error from it, as when building rows, the cause shows
    # the package.
    cause: BaseException | None = error
    while cause is not None:
        for frame, line in reversed(list(traceback.walk_tb(cause.__traceback__))):
            owner = owners.get(
                str(frame.f_globals.get("__name__", "")).partition(".")[0]
            )
            if owner is not None:
                where = f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
                return (
                    f"the package {owner} failed: {type(cause).__name__}: {cause} ({where}). "
                    "This is a bug of that package: report it to its authors."
                )

        cause = cause.__cause__

    return ""


@cache
def _registered(group: Group, locations: str) -> tuple[Plugin, ...]:
    own = [
        _Registration(Package(OWN_PACKAGE, __version__), entry) for entry in _own(group)
    ]
    loaded = [
        _load(registration) for registration in (*own, *_foreign(group, locations))
    ]
    return tuple(plugin for plugin in loaded if plugin is not None)


def _load(registration: _Registration) -> Plugin | None:
    try:
        return Plugin(
            registration.entry.name, registration.package, registration.entry.load()
        )
    except Exception as error:  # importing a foreign module may raise anything
        if registration.package.name == OWN_PACKAGE:
            raise
        reason = f"{type(error).__name__}: {error}"
        _record(Problem(registration.entry.name, registration.package, reason))
        return None


def _record(problem: Problem) -> None:
    recorded = _problems.setdefault(uninstalled_plugins(), [])
    if problem not in recorded:
        recorded.append(problem)
        if "_ARGCOMPLETE" not in os.environ:
            print(f"note: {problem}", file=sys.stderr)


def _own(group: Group) -> list[EntryPoint]:
    """Returns the project's own entry points, of the imported checkout or else as installed.

    A checkout's `setup.cfg` takes precedence, since an installed one may have another
    version.
    """
    settings = Path(__file__).resolve().parents[1] / "setup.cfg"
    if settings.is_file():
        return _entries_of_settings(settings, group)

    return [
        entry
        for package, entry in _installed()
        if package.name == OWN_PACKAGE and entry.group == group
    ]


@cache
def _foreign(group: Group, locations: str) -> tuple[_Registration, ...]:
    """Returns the registrations of other packages.

    A named package takes precedence over an installed one of the same name.
    """
    registrations: list[_Registration] = []
    for location in filter(None, locations.split(os.pathsep)):
        try:
            registrations += [
                registration
                for registration in _declared(location)
                if registration.entry.group == group
            ]
        except (UsageError, MissingError) as error:
            _record(Problem(location, Package(VARIABLE), str(error)))

    names = {registration.package.name for registration in registrations} | {
        OWN_PACKAGE
    }
    installed = [
        _Registration(package, entry)
        for package, entry in _installed()
        if entry.group == group and package.name not in names
    ]
    return (*registrations, *installed)


@cache
def _installed() -> tuple[tuple[Package, EntryPoint], ...]:
    """Returns the entry points of installed packages in our groups, including the project's own.

    Only packages that name one of the groups are parsed: parsing the entry points of all
    installed packages takes longer. Of two packages with the same name the first on
    Python's path counts.
    """
    groups = _groups()
    by_name: dict[str, list[tuple[Package, EntryPoint]]] = {}
    for distribution in distributions():
        if "[medical_tasks." not in (distribution.read_text("entry_points.txt") or ""):
            continue

        package = Package(distribution.name, _version(distribution))
        entries = [
            entry for entry in distribution.entry_points if entry.group in groups
        ]
        by_name.setdefault(package.name, [(package, entry) for entry in entries])

    return tuple(itertools.chain.from_iterable(by_name.values()))


def _absolute(location: str) -> str:
    path = Path(location).expanduser()
    return str(path.resolve()) if path.exists() else location


@cache
def _declared(location: str) -> tuple[_Registration, ...]:
    """Makes a package that is not installed importable, and finds its plugins."""
    path = Path(location).expanduser()
    if path.suffix in YAML:
        return (_of_yaml(path),)

    if path.is_dir():
        if (path / "pyproject.toml").is_file() or (path / "setup.cfg").is_file():
            return _of_project(path)

        if not (path / "__init__.py").is_file():
            raise UsageError(
                f"plugin {location}: neither a package (no __init__.py) nor a project (no "
                "pyproject.toml or setup.cfg). Name a module, or the folder of one of these."
            )

        _importable(path.parent)
        return _of_module(path.name)

    name = location.partition(":")[0]
    components = name.split(".")
    if (
        not all(component.isidentifier() for component in components)
        or find_spec(components[0]) is None
    ):
        raise UsageError(
            f"plugin {location}: no such folder, and no module of this name can be imported. "
            "Name a module, the folder of a package or project, or a YAML file."
        )

    return _of_module(name)


def _of_yaml(path: Path) -> _Registration:
    """Registers the benchmark of a YAML file; it is built at once, so that errors are reported."""
    described = _Described(path, path.stem)
    benchmark = described.load()
    return _Registration(
        Package(path.name), replace(described, name=getattr(benchmark, "name", ""))
    )


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _of_project(folder: Path) -> tuple[_Registration, ...]:
    """Returns the entry points that a project's files declare."""
    _importable(folder / "src" if (folder / "src").is_dir() else folder)
    project: Mapping[str, Any] = {}
    entries: list[EntryPoint] = []
    if (folder / "pyproject.toml").is_file():
        import tomllib

        with (folder / "pyproject.toml").open("rb") as file:
            try:
                project = tomllib.load(file).get("project", {})
            except tomllib.TOMLDecodeError as error:
                raise UsageError(
                    f"plugin {folder}: pyproject.toml is not TOML ({error})."
                ) from error

        for group in _groups():
            declared = project.get("entry-points", {}).get(group, {})
            entries += [
                EntryPoint(name, value, group) for name, value in declared.items()
            ]

    if not entries and (folder / "setup.cfg").is_file():
        for group in _groups():
            entries += _entries_of_settings(folder / "setup.cfg", group)

    if not entries:
        raise UsageError(
            f"plugin {folder}: its project files declare none of the entry points "
            f"{', '.join(_groups())}."
        )

    package = Package(
        str(project.get("name", folder.name)), str(project.get("version", ""))
    )
    return tuple(_Registration(package, entry) for entry in entries)


def _groups() -> tuple[Group, ...]:
    return (*NAMES.values(), "medical_tasks.generators")


def _entries_of_settings(settings: Path, group: Group) -> list[EntryPoint]:
    parser = ConfigParser(interpolation=None, delimiters=("=",))
    parser.read(settings, encoding="utf-8")
    lines = parser.get("options.entry_points", group, fallback="").strip().splitlines()
    pairs = [line.split("=", 1) for line in lines]
    return [EntryPoint(name.strip(), value.strip(), group) for name, value in pairs]


def _of_module(name: str) -> tuple[_Registration, ...]:
    """Returns the plugins of a package by `NAMES`, in itself or its `spec` module."""
    package = Package(name.partition(".")[0])
    registrations: list[_Registration] = []
    for module in (name, f"{name}.spec"):
        try:
            attributes = vars(importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name == module:
                continue

            raise UsageError(f"plugin {name}: {error}.") from error
        except Exception as error:  # importing a foreign module may raise anything
            raise UsageError(
                f"plugin {name}: {type(error).__name__}: {error}."
            ) from error

        registrations += [
            _Registration(
                package, EntryPoint(package.name, f"{module}:{attribute}", group)
            )
            for attribute, group in NAMES.items()
            if attribute in attributes
        ]

    if not registrations:
        raise UsageError(
            f"plugin {name}: has none of {', '.join(NAMES)}, and neither has its module spec."
        )

    by_group = {
        registration.entry.group: registration
        for registration in reversed(registrations)
    }
    return tuple(by_group.values())
