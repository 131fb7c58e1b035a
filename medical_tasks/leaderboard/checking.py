"""Whether a store is whole: every file of it is read, and every package with all checks of when it was handed in."""

from __future__ import annotations

from dataclasses import dataclass

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leaderboard.board import EVENT, PACKAGE, Board, event_name, package_name

__all__ = ["StoreCheck", "check_store"]


@dataclass(frozen=True, kw_only=True)
class StoreCheck:
    """What was found.

    Attributes:
        packages: how many packages there are.
        events: how many events.
        problems: what is wrong, a sentence each; empty when the store is whole.
        strangers: names of files that a leaderboard does not write; nobody reads them.
        waiting: ids of packages whose event a killed process did not write; they get it when submissions are listed.
    """

    packages: int
    events: int
    problems: tuple[str, ...]
    strangers: tuple[str, ...]
    waiting: tuple[str, ...]


def check_store(board: Board) -> StoreCheck:
    """Reads the whole store; changes nothing.

    Args:
        board: on the store.

    Raises:
        MissingError: The store cannot be reached.
    """
    names = board.storage.names()
    packages = [match[1] for name in names if (match := PACKAGE.fullmatch(name))]
    events = [match[1] for name in names if (match := EVENT.fullmatch(name))]
    strangers = tuple(name for name in names if not (PACKAGE.fullmatch(name) or EVENT.fullmatch(name)))
    with_events = set(events)
    waiting = tuple(each for each in packages if each not in with_events)
    problems = []
    for each in sorted({*packages, *events} - {*waiting}):
        try:
            problems += _differences(board, each)
        except (UsageError, MissingError) as error:
            problems.append(f"{each}: {error}")
    for each in waiting:
        try:
            board.check_waiting(each)
        except (UsageError, MissingError) as error:
            problems.append(f"{each}: {error}")
    return StoreCheck(
        packages=len(packages),
        events=len(events),
        problems=tuple(problems),
        strangers=strangers,
        waiting=waiting,
    )


def _differences(board: Board, name: str) -> list[str]:
    """What a package and the event that it was handed in by say otherwise."""
    submission = board.submission(name)
    manifest = board.package(name).manifest
    found = []
    if manifest.id != name:
        found.append(f"{package_name(name)}: is the package {manifest.id}.")
    if manifest.submitter != submission.submitter or manifest.tasks != submission.tasks:
        found.append(f"{event_name(name, 1)}: names another submitter or other tasks than the package.")
    return found
