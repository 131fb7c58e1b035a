"""What packages register: benchmarks, verbs, forms of export, kinds of judges, generators of rows.

The project registers its own in the same way, by entry points of an installed package
(`setup.cfg`):

    [options.entry_points]
    medical_tasks.benchmarks =
        my_benchmark = my_package.spec:BENCHMARK
    medical_tasks.verbs =
        my_verbs = my_package:VERBS

A package that is not installed is named by `--plugin` before a verb, or in
`MEDICAL_TASKS_PLUGINS`: a module, the folder of a package, or of a project whose
`pyproject.toml` or `setup.cfg` declares the entry points, or a YAML file that describes
a benchmark (docs/benchmark_of_your_own.md). Without declared ones, what counts are the
names of `NAMES` in the package or its `spec` module.

What another package registers can fail without harm to the rest: it is left out with a
note, and `problems` says why. An error that its code raises later is told as that
package's (`telling`).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
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
"""Makes the rows of a split from the options of `build`, such as seed and n."""
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
"""What a package without declared entry points may have, and what it registers by it."""


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line. What it refers to is imported when it is used.

    Attributes:
        group: the heading under which `medical-tasks --help` lists it.
        summary: one line of what it does.
        options: `package.module:Name` of a dataclass derived from
            `medical_tasks.options.Options`, or of a `medical_tasks.options.Choice` of
            several; None for a verb that takes whatever words stand behind it.
        run: `package.module:name` of a function that takes these options (or the
            words), does what they ask, and returns the exit code.
    """

    name: str
    group: str
    summary: str
    options: str | None
    run: str


def load(reference: str) -> Any:
    """Imports what `package.module:name` refers to."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


class Package(NamedTuple):
    """Who registers something; the version is "" where nothing states it."""

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
    """Why something registered is left out."""

    name: str
    package: Package
    reason: str

    def __str__(self) -> str:
        return f"{self.name} of the package {self.package} is left out: {self.reason}"


@dataclass(frozen=True)
class _Described:
    """A benchmark that a YAML file describes, in place of an entry point."""

    path: Path
    name: str
    group: Group = "medical_tasks.benchmarks"

    @property
    def module(self) -> str:
        """What stands for a module's name; no code is of it."""
        return str(self.path)

    def load(self) -> object:
        """Makes the benchmark."""
        return load("medical_tasks.benchmarks.from_file.spec:made_from")(self.path)


class _Registration(NamedTuple):
    """An entry point and whose it is."""

    package: Package
    entry: EntryPoint | _Described


_problems: dict[str, list[Problem]] = {}
"""By what `MEDICAL_TASKS_PLUGINS` names, since this may change while a process runs."""


def registered(group: Group) -> tuple[Plugin, ...]:
    """Loads what is registered in a group: the project's own, what is given, what is installed.

    An object of another package that cannot be imported is left out; see `problems`.
    """
    return _registered(group, given())


def objects(group: Group, kind: type[Kind]) -> list[tuple[Plugin, Kind]]:
    """Takes the objects of a type out of what is registered in a group, and leaves out all others.

    An entry point may register several at once, as a tuple.
    """
    found: list[tuple[Plugin, Kind]] = []
    for plugin in registered(group):
        for value in (
            plugin.value if isinstance(plugin.value, tuple) else (plugin.value,)
        ):
            if isinstance(value, kind):
                found.append((plugin, value))
            else:
                said = f"a {type(value).__name__}, not an object of"
                leave_out(plugin, f"it is {said} {kind.__module__}.{kind.__qualname__}")

    return found


def generator(name: str) -> Rows:
    """Finds what makes the rows of a generated configuration.

    Raises:
        MissingError: Nothing is registered under the name.
    """
    for plugin in registered("medical_tasks.generators"):
        if plugin.name == name and callable(plugin.value):
            return plugin.value

    raise MissingError(
        f"no installed package makes the rows of {name} (entry points medical_tasks.generators). "
        "Install medical-tasks whole."
    )


def given() -> str:
    """What `MEDICAL_TASKS_PLUGINS` names; a key for whatever is remembered of plugins."""
    return os.environ.get(VARIABLE, "")


@contextlib.contextmanager
def using(places: Sequence[str]) -> Iterator[None]:
    """Adds packages that are not installed, for a `with` block and the processes it starts.

    Raises:
        UsageError: A place is neither a module nor a folder with a package or project
            in it.
    """
    before = os.environ.get(VARIABLE)
    known = given().split(os.pathsep)
    wanted = [place for place in map(_absolute, places) if place not in known]
    try:
        if wanted:
            os.environ[VARIABLE] = os.pathsep.join(
                [*wanted, *([before] if before else [])]
            )

        for place in wanted:
            _declared(place)

        yield
    finally:
        if before is not None:
            os.environ[VARIABLE] = before
        elif wanted:
            os.environ.pop(VARIABLE, None)


def package_in(folder: Path) -> Package:
    """Names the package of a folder that `using` can take."""
    return _declared(_absolute(str(folder)))[0].package


def name_in(place: str) -> str:
    """The name of what a place, such as a YAML file, registers first."""
    return _declared(_absolute(place))[0].entry.name


def packages() -> dict[Package, list[str]]:
    """The other packages that register something, and the names of it."""
    found: dict[Package, list[str]] = {}
    for group in _groups():
        for each in _foreign(group, given()):
            found.setdefault(each.package, []).append(each.entry.name)
    return found


def problems() -> Sequence[Problem]:
    """Says what was left out so far, and why."""
    return tuple(_problems.get(given(), ()))


def leave_out(plugin: Plugin, reason: str) -> None:
    """Records that something registered cannot be used, and says so once."""
    _record(Problem(plugin.name, plugin.package, reason))


def version_of(package: str) -> str:
    """An installed package's version, "" where it is not installed."""
    try:
        return _version(importlib.metadata.distribution(package))
    except importlib.metadata.PackageNotFoundError:
        return ""


_VERSION: Final = "Version: "


def _version(installed: importlib.metadata.Distribution) -> str:
    """The version that stands among the first lines of a package's metadata.

    To take all of them apart, as `Distribution.version` does, takes milliseconds for
    each package, since whole documents stand behind them.
    """
    head, _, _ = (installed.read_text("METADATA") or "").partition("\n\n")
    for line in head.splitlines():
        if line.startswith(_VERSION):
            return line.removeprefix(_VERSION).strip()
    return installed.version


class PluginError(MedicalTasksError):
    """Another package's code raised an error."""


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Turns an error of another package's code into one message with the package's name."""
    try:
        yield
    except MedicalTasksError:
        raise
    except Exception as error:
        if memory_error(error) or not (told := _blamed(error)):
            raise
        raise PluginError(told) from error


def _blamed(error: Exception) -> str:
    """Says whose fault an error is whose traceback passes through another package's code.

    "" where none does.
    """
    owners = {
        each.entry.module.partition(".")[0]: each.package
        for group in _groups()
        for each in _foreign(group, given())
    }
    import traceback

    # Where a library raised its own error of it, as when rows are built, the cause is
    # whose.
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
                    "It is a fault of that package: tell its authors."
                )

        cause = cause.__cause__

    return ""


@cache
def _registered(group: Group, places: str) -> tuple[Plugin, ...]:
    own = [
        _Registration(Package(OWN_PACKAGE, __version__), entry) for entry in _own(group)
    ]
    loaded = [_load(each) for each in (*own, *_foreign(group, places))]
    return tuple(plugin for plugin in loaded if plugin is not None)


def _load(each: _Registration) -> Plugin | None:
    try:
        return Plugin(each.entry.name, each.package, each.entry.load())
    except Exception as error:  # whatever a stranger's module does when it is imported
        if each.package.name == OWN_PACKAGE:
            raise
        reason = f"{type(error).__name__}: {error}"
        _record(Problem(each.entry.name, each.package, reason))
        return None


def _record(problem: Problem) -> None:
    known = _problems.setdefault(given(), [])
    if problem not in known:
        known.append(problem)
        if "_ARGCOMPLETE" not in os.environ:
            print(f"note: {problem}", file=sys.stderr)


def _own(group: Group) -> list[EntryPoint]:
    """The project's own registrations: of the checkout that is imported, else as installed.

    A checkout's `setup.cfg` counts, since what is installed beside it may be of another
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
def _foreign(group: Group, places: str) -> tuple[_Registration, ...]:
    """What other packages register.

    What is given goes before an installed package of the same name.
    """
    found: list[_Registration] = []
    for place in filter(None, places.split(os.pathsep)):
        try:
            found += [each for each in _declared(place) if each.entry.group == group]
        except (UsageError, MissingError) as error:
            _record(Problem(place, Package(VARIABLE), str(error)))

    names = {each.package.name for each in found} | {OWN_PACKAGE}
    installed = [
        _Registration(package, entry)
        for package, entry in _installed()
        if entry.group == group and package.name not in names
    ]
    return (*found, *installed)


@cache
def _installed() -> tuple[tuple[Package, EntryPoint], ...]:
    """What installed packages register, the project's own among them.

    All groups at once, and only packages read that name one of them: to take apart the
    entry points of all that is installed takes longer. Of two packages of one name the
    first on Python's path counts.
    """
    groups = _groups()
    found: dict[str, list[tuple[Package, EntryPoint]]] = {}
    for each in distributions():
        if "[medical_tasks." not in (each.read_text("entry_points.txt") or ""):
            continue

        package = Package(each.name, _version(each))
        entries = [entry for entry in each.entry_points if entry.group in groups]
        found.setdefault(package.name, [(package, entry) for entry in entries])

    return tuple(each for registered in found.values() for each in registered)


def _absolute(place: str) -> str:
    path = Path(place).expanduser()
    return str(path.resolve()) if path.exists() else place


@cache
def _declared(place: str) -> tuple[_Registration, ...]:
    """Makes a package that is not installed importable, and finds what it registers."""
    path = Path(place).expanduser()
    if path.suffix in YAML:
        return (_of_yaml(path),)

    if path.is_dir():
        if (path / "pyproject.toml").is_file() or (path / "setup.cfg").is_file():
            return _of_project(path)

        if not (path / "__init__.py").is_file():
            raise UsageError(
                f"plugin {place}: neither a package (no __init__.py) nor a project (no "
                "pyproject.toml or setup.cfg). Name a module, or the folder of one of these."
            )

        _importable(path.parent)
        return _of_module(path.name)

    name = place.partition(":")[0]
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts) or find_spec(parts[0]) is None:
        raise UsageError(
            f"plugin {place}: no such folder, and no module of this name can be imported. "
            "Name a module, the folder of a package or project, or a YAML file."
        )

    return _of_module(name)


def _of_yaml(path: Path) -> _Registration:
    """The benchmark that a YAML file describes; it is made at once, so that a bad file is told."""
    described = _Described(path, path.stem)
    made = described.load()
    return _Registration(
        Package(path.name), replace(described, name=getattr(made, "name", ""))
    )


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()


def _of_project(folder: Path) -> tuple[_Registration, ...]:
    """The entry points that a project's files declare."""
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
                    f"plugin {folder}: pyproject.toml is no TOML ({error})."
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
    """What a package registers by the names of `NAMES`, in itself or its `spec` module."""
    package = Package(name.partition(".")[0])
    found: list[_Registration] = []
    for module in (name, f"{name}.spec"):
        try:
            known = vars(importlib.import_module(module))
        except ModuleNotFoundError as error:
            if error.name == module:
                continue

            raise UsageError(f"plugin {name}: {error}.") from error
        except (
            Exception
        ) as error:  # whatever a stranger's module does when it is imported
            raise UsageError(
                f"plugin {name}: {type(error).__name__}: {error}."
            ) from error

        found += [
            _Registration(package, EntryPoint(package.name, f"{module}:{each}", group))
            for each, group in NAMES.items()
            if each in known
        ]

    if not found:
        raise UsageError(
            f"plugin {name}: has none of {', '.join(NAMES)}, nor has a module spec in it."
        )

    return tuple({each.entry.group: each for each in reversed(found)}.values())
