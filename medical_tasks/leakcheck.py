"""Does any run of words of a source's text stand in any file of a folder?

The folder's runs of words are held in memory, about 100 bytes for each of its words; the source is read row by row, so it may
be of any size. A text of the source that is shorter than a run is looked for as a whole, down to half a run; shorter ones are
counted, not compared.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.leak_files import UnreadableError, file_texts
from medical_tasks.leak_sources import source_files, source_rows
from medical_tasks.leak_views import text_views
from medical_tasks.leak_words import Batch, RunIndex, distinct, runs_of
from medical_tasks.progress import Progress

__all__ = ["LEAST_WORDS", "LeakReport", "check_leaks"]

LEAST_WORDS = 4
_BATCH_WORDS = 200_000
_ROWS_KEPT = 1000


@dataclass(frozen=True, kw_only=True)
class LeakReport:
    """What a comparison found.

    Attributes:
        words: words of a run.
        files: files looked through.
        file_words: words in them, in every reading.
        rows: rows of the source.
        source_words: words in them.
        too_short: texts of the source with too few words to be compared.
        found: file to number of different runs of the source in it; file names relative to the folder.
        row_labels: rows of the source that were found, in order; at most the first thousand.
        unreadable: file to the reason why it could not be looked into.
    """

    words: int
    files: int
    file_words: int
    rows: int
    source_words: int
    too_short: int
    found: dict[str, int]
    row_labels: tuple[str, ...]
    unreadable: dict[str, str]


@dataclass(kw_only=True)
class _Hits:
    """Runs that were found, by size, and the rows they are of."""

    runs: dict[int, list[Any]] = field(default_factory=dict)
    rows: dict[str, None] = field(default_factory=dict)


def check_leaks(folder: Path, source: str, *, words: int = 12) -> LeakReport:
    """Compares a folder with a source.

    Args:
        folder: a run's folder, or any other; or a single file.
        source: a built dataset's name, or files (`leak_sources.source_files`).
        words: words of a run.

    Returns:
        What was found and what could not be read.

    Raises:
        UsageError: `words` is too small, the folder holds no file, or the source no text to compare.
        MissingError: There is no such folder or source.
    """
    if words < LEAST_WORDS:
        raise UsageError(f"--words must be {LEAST_WORDS} or more, got {words}: fewer stand in any text.")
    sources = source_files(source)
    sizes = range(max(LEAST_WORDS // 2, words // 2), words + 1)
    runs, names, file_words, unreadable = _folder_runs(folder, sizes)
    if not names:
        raise UsageError(f"{folder}: there is no file in it. Give the folder that a run wrote.")
    indexes = {size: RunIndex([part[size] for part in runs.values()]) for size in sizes}
    hits = _Hits()
    counts: Counter[str] = Counter()
    with Progress("source files compared", len(sources)) as progress:
        for file in sources:
            _compare(file, indexes, hits, counts)
            progress.step()
    if not counts["words"]:
        raise UsageError(f"{source}: holds no text of {sizes[0]} words or more, so there is nothing to look for.")
    found, unread = _by_file(runs, unreadable, hits)
    return LeakReport(
        words=words,
        files=len(names),
        file_words=file_words,
        rows=counts["rows"],
        source_words=counts["words"],
        too_short=counts["too short"],
        found=found,
        row_labels=tuple(hits.rows),
        unreadable=unread,
    )


def _folder_runs(folder: Path, sizes: range) -> tuple[dict[str, dict[int, Any]], list[str], int, dict[str, str]]:
    """Returns each file's runs by size, the files' names, their words, and what cannot be read."""
    runs: dict[str, dict[int, Any]] = {}
    names: list[str] = []
    unreadable: dict[str, str] = {}
    total = 0
    with tempfile.TemporaryDirectory(
        prefix="medical-tasks-leakcheck-"
    ) as scratch:  # closed to others, as mkdtemp makes it
        for name, path, problem in _walk(folder):
            names.append(name)
            if problem:
                unreadable[name] = problem
                continue
            collected = _Collected(sizes)
            try:
                for view in text_views(name):  # names may quote as well
                    collected.add(view)
                for text in file_texts(path, Path(scratch)):
                    collected.add(text)
            except UnreadableError as error:
                unreadable[name] = str(error)
            runs[name] = collected.finished()
            total += collected.words
    return runs, names, total, unreadable


def _walk(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yields name, path and problem of all files, hidden ones and those behind links too, each once."""
    if not folder.exists():
        raise MissingError(f"{folder}: no such folder. Give the folder that `medical-tasks run` or `score` wrote.")
    if folder.is_file():
        yield folder.name, folder, ""
        return
    denied: list[OSError] = []
    seen: set[tuple[int, int]] = set()
    for place, folders, files in os.walk(folder, followlinks=True, onerror=denied.append):
        status = Path(place).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link that leads back
            continue
        seen.add((status.st_dev, status.st_ino))
        folders.sort()
        for file in sorted(files):
            path = Path(place) / file
            name = str(path.relative_to(folder))
            yield name, path, "" if path.is_file() else "a link that leads nowhere, a socket, a pipe or a device"
    for error in denied:
        yield os.path.relpath(str(error.filename), folder), Path(str(error.filename)), "a folder that cannot be entered"


class _Collected:
    """The different runs of one file."""

    def __init__(self, sizes: Iterable[int]) -> None:
        self.words = 0
        self._batch = Batch()
        self._parts: dict[int, list[Any]] = {size: [] for size in sizes}

    def add(self, text: str) -> None:
        self.words += self._batch.add(text)
        if len(self._batch.hashes) >= _BATCH_WORDS:
            self._flush()

    def _flush(self) -> None:
        for size, parts in self._parts.items():
            parts.append(distinct([runs_of(self._batch, size)[0]]))
        self._batch = Batch()

    def finished(self) -> dict[int, Any]:
        self._flush()
        return {size: distinct(parts) for size, parts in self._parts.items()}


def _compare(file: Path, indexes: dict[int, RunIndex], hits: _Hits, counts: Counter[str]) -> None:
    batch, labels = Batch(), list[str]()
    shortest = min(indexes)
    for row in source_rows(file):
        counts["rows"] += 1
        for text in row.texts:
            length = batch.add(text)
            labels.append(row.label)
            counts["words"] += length if length >= shortest else 0
            counts["too short"] += 0 < length < shortest
        if len(batch.hashes) >= _BATCH_WORDS:
            _look_up(batch, labels, indexes, hits)
            batch, labels = Batch(), []
    _look_up(batch, labels, indexes, hits)


def _look_up(batch: Batch, labels: list[str], indexes: dict[int, RunIndex], hits: _Hits) -> None:
    import numpy as np

    longest = max(indexes)
    for size, index in indexes.items():
        runs, owners = runs_of(batch, size, whole_texts=size < longest)
        found = index.found(runs)
        if len(found):
            hits.runs.setdefault(size, []).append(distinct([runs[found]]))
            for owner in np.unique(owners[found]):
                if len(hits.rows) < _ROWS_KEPT:
                    hits.rows[labels[owner]] = None


def _by_file(
    runs: dict[str, dict[int, Any]], unreadable: dict[str, str], hits: _Hits
) -> tuple[dict[str, int], dict[str, str]]:
    """Counts each file's runs of the source; names that quote it are not given on, nor those of what cannot be read."""
    looked_for = {size: RunIndex(parts) for size, parts in hits.runs.items()}

    def count(part: dict[int, Any]) -> int:
        return sum(len(wanted.found(part[size])) for size, wanted in looked_for.items())

    def shown(name: str) -> str:
        named = _Collected(list(looked_for))
        for view in text_views(name):
            named.add(view)
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        quotes = count(named.finished())
        return f"a file whose name quotes the source (SHA-256 of the name: {digest[:12]})" if quotes else name

    counted = {name: count(part) for name, part in runs.items()}
    found = {shown(name): number for name, number in counted.items() if number}
    return found, {shown(name): problem for name, problem in unreadable.items()}
