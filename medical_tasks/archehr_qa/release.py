"""Where the files of a release lie: a folder for each split, or one folder that is a split.

PhysioNet's releases have `dev` and `test` (and `test-2026` since the second shared task), each with `archehr-qa.xml` and, where
released, `archehr-qa_key.json` and `archehr-qa_mapping.json`. They may lie in a folder of the version, and that below folders as a
browser's or wget's download makes them. The organizers' repositories on GitHub have theirs in `data`, without note excerpts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medical_tasks.archehr_qa.xml_cases import CASES_FILE
from medical_tasks.errors import UsageError

__all__ = ["SPLITS", "find_splits", "split_of"]

SPLITS: Final = ("dev", "test")

_TEST: Final = re.compile(r"(?:^|[^a-z])test(?:$|[^a-z])")
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_PROJECT: Final = "archehr-qa"


def split_of(folder: Path) -> str:
    """Says which split a folder with a file of cases is: `test` if its name has that word, as `test-2026` has, else `dev`."""
    return "test" if _TEST.search(folder.resolve().name.lower()) else "dev"


def find_splits(place: Path) -> dict[str, Path]:
    """Finds the files of cases of a release.

    Args:
        place: a folder: of one split, of a release, of PhysioNet's folders above one, or a checkout of the organizers' repository.

    Returns:
        Split to its file of cases, `dev` before `test`; empty when there is none.

    Raises:
        UsageError: It is no folder, there are several releases, or it is not clear which file is meant.
    """
    if place.is_file():
        raise UsageError(f"{place}: is a file. Give --source its folder, since key and mapping lie beside it.")
    found = _splits(place)
    if found:
        return found
    releases = {root: splits for root in _roots(place) if (splits := _splits(root))}
    if len(releases) > 1:
        names = ", ".join(root.relative_to(place).as_posix() for root in releases)
        raise UsageError(f"{place}: has several releases: {names}. Give --source the folder of one.")
    return next(iter(releases.values()), {})


def _splits(root: Path) -> dict[str, Path]:
    alone = root / CASES_FILE
    found = {split: root / split / CASES_FILE for split in SPLITS if (root / split / CASES_FILE).is_file()}
    if not alone.is_file():
        return found
    if found:
        raise UsageError(
            f"{root}: has {CASES_FILE} in itself and in {' and '.join(found)}. Give --source the folder of one split, or move "
            "the file that belongs to neither away."
        )
    return {split_of(root): alone}


def _roots(place: Path) -> Iterator[Path]:
    """Folders that could be a release: versions, and the project's folders with theirs."""
    for folder in _folders(place):
        if _VERSION.fullmatch(folder.name):
            yield folder
        elif folder.name == "data":
            yield from [folder] if _splits(folder) else _folders(folder)
        elif folder.name.startswith(_PROJECT):
            yield from (folder, *(each for each in _folders(folder) if _VERSION.fullmatch(each.name)))


def _folders(place: Path) -> list[Path]:
    return sorted(each for each in place.iterdir() if each.is_dir()) if place.is_dir() else []
