"""What packages register with the suite: benchmarks and verbs of the command line.

The project registers its own in the same way, by entry points of an installed package (`setup.cfg`):

    [options.entry_points]
    medical_tasks.benchmarks =
        my_benchmark = my_package.spec:BENCHMARK
    medical_tasks.verbs =
        my_verbs = my_package:VERBS

What another package registers can fail without harm to the rest: it is left out, and `problems` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, Literal

from medical_tasks.errors import MissingError

Group = Literal["medical_tasks.benchmarks", "medical_tasks.generators", "medical_tasks.verbs"]
Rows = Callable[[str, Mapping[str, int]], Iterable[Mapping[str, Any]]]
"""Makes the rows of a split from the options of `build`, such as seed and n."""
OWN_PACKAGE: Final = "medical-tasks"


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line.

    Attributes:
        group: the heading under which `medical-tasks --help` lists it.
        summary: one line of what it does.
        module: the module that has its `run`, imported when the verb is used.
    """

    name: str
    group: str
    summary: str
    module: str


@dataclass(frozen=True)
class Plugin:
    """An object that a package registered under a name."""

    name: str
    package: str
    value: object


@dataclass(frozen=True)
class Problem:
    """Why something registered is left out."""

    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} of the package {self.package} is left out: {self.reason}"


_problems: list[Problem] = []


@cache
def registered(group: Group) -> tuple[Plugin, ...]:
    """Loads what is registered in a group, the project's own first.

    A package other than the project's whose object cannot be imported is left out; see `problems`.
    """
    installed = [entry for entry in entry_points(group=group) if _package(entry) != OWN_PACKAGE]
    entries = [(OWN_PACKAGE, entry) for entry in _own_entries(group)]
    entries += [(_package(entry), entry) for entry in installed]
    return tuple(
        plugin for package, entry in entries if (plugin := _load(package, entry)) is not None
    )


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


def problems() -> Sequence[Problem]:
    """Says what was left out so far, and why."""
    return tuple(_problems)


def leave_out(plugin: Plugin, reason: str) -> None:
    """Records that something registered cannot be used."""
    _problems.append(Problem(plugin.name, plugin.package, reason))


def _own_entries(group: Group) -> list[EntryPoint]:
    """The project's own registrations: those of the checkout that is imported, else of the installed package.

    A checkout's `setup.cfg` counts, since what is installed beside it may be of another version.
    """
    settings = Path(__file__).resolve().parents[1] / "setup.cfg"
    if not settings.is_file():
        return [entry for entry in entry_points(group=group) if _package(entry) == OWN_PACKAGE]
    parser = ConfigParser(interpolation=None, delimiters=("=",))
    parser.read(settings, encoding="utf-8")
    lines = parser["options.entry_points"][group].strip().splitlines()
    pairs = [line.split("=", 1) for line in lines]
    return [EntryPoint(name.strip(), value.strip(), group) for name, value in pairs]


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _load(package: str, entry: EntryPoint) -> Plugin | None:
    try:
        return Plugin(entry.name, package, entry.load())
    except Exception as error:  # whatever a stranger's module does when it is imported
        if package == OWN_PACKAGE:
            raise
        _problems.append(Problem(entry.name, package, f"{type(error).__name__}: {error}"))
        return None
