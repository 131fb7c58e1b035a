"""Where the files of a release lie: a folder for each split, or one folder that is a split.

PhysioNet's releases have `dev` and `test` (and `test-2026` since the second shared task), each with `archehr-qa.xml` and, where
released, `archehr-qa_key.json` and `archehr-qa_mapping.json`. They may lie in a folder of the version, and that below folders as a
browser's or wget's download makes them. The organizers' repositories on GitHub have questions without note excerpts: that of 2025
in `data/dev`, that of 2026 in `data/subtask_1/test`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.xml_cases import CASES_FILE, read_cases
from medical_tasks.errors import UsageError

__all__ = ["FOLDERS", "QUESTION_SPLITS", "SPLITS", "find_questions", "find_splits", "question_files", "split_of"]

FOLDERS: Final = {"dev": "dev", "test": "test", "test_2026": "test-2026"}
"""Split to its folder in a release."""

SPLITS: Final = tuple(FOLDERS)

QUESTION_SPLITS: Final = {
    "dev": "archehr-qa/data/dev/archehr-qa.xml",
    "test_2026": "archehr-qa-2026/data/subtask_1/test/archehr-qa.xml",
}
"""Split of the open questions to its file, in the folder above the organizers' checkouts."""

_TEST: Final = re.compile(r"(?:^|[^a-z])test(?:$|[^a-z])")
_LATER_TEST: Final = re.compile(r"(?:^|[^a-z])test[^a-z0-9]*2026(?![0-9])")
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_PROJECT: Final = "archehr-qa"
_DEV_IDS: Final = frozenset(map(str, range(1, 21)))


def split_of(folder: Path) -> str:
    """Says which split a folder with a file of cases is, by its name: `test_2026`, `test` if it has that word, else `dev`."""
    name = folder.resolve().name.lower()
    if _LATER_TEST.search(name):
        return "test_2026"
    return "test" if _TEST.search(name) else "dev"


def find_splits(place: Path) -> dict[str, Path]:
    """Finds the files of cases of a release.

    Args:
        place: a folder: of one split, of a release, or of PhysioNet's folders above one.

    Returns:
        Split to its file of cases, in the order of `SPLITS`; empty when there is none.

    Raises:
        UsageError: It is no folder, there are several releases, or it is not clear which file is meant.
    """
    _check_folder(place)
    found = _splits(place)
    if found:
        return found
    releases = {root: splits for root in _roots(place) if (splits := _splits(root))}
    if len(releases) > 1:
        names = ", ".join(root.relative_to(place).as_posix() for root in releases)
        raise UsageError(f"{place}: has several releases: {names}. Give --source the folder of one.")
    return next(iter(releases.values()), {})


def find_questions(place: Path) -> dict[str, Path]:
    """Finds the organizers' open files of questions, and says by the ids of their cases which split each is.

    Args:
        place: a checkout of theirs, the folder above one or both, or a folder in one.

    Returns:
        Split to its file; empty when there is none.

    Raises:
        UsageError: It is no folder, there are two files of a split, or one is no file of questions.
    """
    _check_folder(place)
    found: dict[str, Path] = {}
    for path in question_files(place):
        split = "dev" if {case.id for case in read_cases(path, notes=False)} <= _DEV_IDS else "test_2026"
        if split in found:
            raise UsageError(
                f"{place}: has two files of the split {split}: {found[split]} and {path}. Give one of them."
            )
        found[split] = path
    return {split: found[split] for split in QUESTION_SPLITS if split in found}


def question_files(place: Path) -> list[Path]:
    """Lists the files that lie where the organizers' checkouts have theirs; `find_questions` says what they are."""
    alone = place / CASES_FILE
    if alone.is_file():
        return [alone]
    above = [each for each in _folders(place) if each.name.startswith(_PROJECT)]
    inner = [path.split("/", 1)[1] for path in QUESTION_SPLITS.values()]
    ends = dict.fromkeys(path.split("/", start)[-1] for path in inner for start in range(path.count("/")))
    paths = [*(place / end for end in ends), *(folder / path for folder in above for path in inner)]
    return [path for path in paths if path.is_file()]


def _check_folder(place: Path) -> None:
    if place.is_file():
        raise UsageError(f"{place}: is a file. Give --source its folder, since key and mapping lie beside it.")


def _splits(root: Path) -> dict[str, Path]:
    alone = root / CASES_FILE
    places = {split: root / folder / CASES_FILE for split, folder in FOLDERS.items()}
    found = {split: path for split, path in places.items() if path.is_file()}
    if not alone.is_file():
        return found
    if found:
        folders = " and ".join(FOLDERS[split] for split in found)
        raise UsageError(
            f"{root}: has {CASES_FILE} in itself and in {folders}. Give --source the folder of one split, or move "
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
