"""Checks whether any run of words from a source occurs in any file of a folder.

A run is represented by the sum of its words' 64-bit hashes, each multiplied by a constant
of its position: two different runs collide once in 2^64 pairs.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import tempfile
import unicodedata
import warnings
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medical_tasks.errors import MissingError, UsageError
from medical_tasks.guard.leak_files import FileScan
from medical_tasks.guard.leak_sources import source_rows, walk_files
from medical_tasks.guard.leak_views import readings
from medical_tasks.io.files import found_at, read_text
from medical_tasks.io.progress import Progress

Runs = NDArray[np.uint64]

LEAST_WORDS = 4
_BATCH_WORDS = 200_000
_ROWS_KEPT = 1000
_TEXTS = (".py", ".json", ".md", ".txt", ".html", ".js", ".css", ".csv")
# names of files with synthetic patients
_SYNTHETIC = re.compile(r"(?:^|_)(?:demo|twin)(?:_|$)")


@dataclass(frozen=True, kw_only=True)
class LeakReport:
    """The result of a comparison.

    Attributes:
        words: the length of a run.
        files: the number of files.
        file_words: words in the files, in every reading.
        rows: rows of the source.
        source_words: words of the source.
        too_short: texts of the source with too few words to compare.
        found: maps a file to the number of distinct runs of the source in it.
        row_labels: the rows of the source that were found; the first thousand.
        unreadable: maps a file to why it, or a part of it, could not be read.
        pictures: pictures and fonts, whose visible content was not checked.
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
    pictures: int = 0


@dataclass(kw_only=True)
class _Folder:
    """The content of a folder: the runs in each file and in its name, by size."""

    runs: dict[str, dict[int, Runs]] = field(default_factory=dict)
    name_runs: dict[str, dict[int, Runs]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    words: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    pictures: int = 0


class _FolderRuns:
    """The folder's runs by size, and those of the source found among them, with their rows."""

    def __init__(self, indexes: dict[int, RunIndex]) -> None:
        self.sizes = list(indexes)
        self.runs: dict[int, list[Runs]] = {}
        self.rows: dict[str, None] = {}
        self._indexes = indexes

    def matching(self, size: int, runs: Runs) -> NDArray[np.intp]:
        positions = self._indexes[size].matching(runs)
        return self._others[size].matching(runs) if len(positions) else positions

    @cached_property
    def _others(self) -> dict[int, RunIndex]:
        return {
            size: self._indexes[size].without(runs)
            for size, runs in _own_runs(tuple(self.sizes)).items()
        }


@cache
def _own_runs(sizes: tuple[int, ...]) -> dict[int, Runs]:
    own = _Collected(sizes)
    for text in _published():
        own.add(text)
    return own.finished()


@cache
def _published() -> tuple[str, ...]:
    """Returns the texts of this package, which everybody has.

    Those of synthetic patients are left out: they are in files whose names say so.
    """
    texts: list[str] = []
    for path in sorted(Path(__file__).parents[1].rglob("*")):
        if path.suffix not in _TEXTS or _SYNTHETIC.search(path.stem):
            continue
        text = read_text(path, errors="replace")
        texts.extend(_constants(ast.parse(text)) if path.suffix == ".py" else (text,))

    return tuple(texts)


def _constants(program: ast.AST) -> Iterator[str]:
    """Yields the texts of a Python program."""
    for node in ast.walk(program):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def check_leaks(
    folder: Path, sources: Sequence[Path], *, words: int = 12
) -> LeakReport:
    """Compares a folder or a file with sources whose text must not be in it, by runs of `words` words."""
    if words < LEAST_WORDS:
        raise UsageError(
            f"--words must be {LEAST_WORDS} or more, got {words}: shorter runs occur in any text."
        )

    sizes = range(max(LEAST_WORDS // 2, words // 2), words + 1)
    scanned = _scan_folder(folder, sizes)
    if not scanned.names:
        raise UsageError(
            f"{folder}: there is no file in it. Give the folder that a run wrote."
        )

    folder_runs = _FolderRuns(
        {
            size: RunIndex([runs[size] for runs in scanned.runs.values()])
            for size in sizes
        }
    )
    counts: Counter[str] = Counter()
    with Progress("source files compared", len(sources)) as progress:
        for file in sources:
            _compare(file, folder_runs, counts)
            progress.step()

    if not counts["words"]:
        named = ", ".join(map(str, sources[:3]))
        raise UsageError(
            f"{named}: holds no text of {sizes[0]} words or more, so there is nothing to look for."
        )

    counts_by_file, unread = _by_file(scanned, folder_runs)
    return LeakReport(
        words=words,
        files=len(scanned.names),
        file_words=scanned.words,
        rows=counts["rows"],
        source_words=counts["words"],
        too_short=counts["too short"],
        found=counts_by_file,
        row_labels=tuple(map(_printable, folder_runs.rows)),
        unreadable=unread,
        pictures=scanned.pictures,
    )


def _scan_folder(folder: Path, sizes: range) -> _Folder:
    """Reads every file of a folder; records what cannot be read."""
    scanned = _Folder()
    with (
        # only its owner can enter it
        tempfile.TemporaryDirectory(prefix="medical-tasks-leakcheck-") as scratch,
        # parsers' warnings may quote what they read
        warnings.catch_warnings(action="ignore"),
    ):
        for name, path, problem in _walk(folder):
            scanned.names.append(name)
            named, collected, scan = (
                _Collected(sizes),
                _Collected(sizes),
                FileScan(Path(scratch)),
            )
            for text in readings(name):  # names may quote the source too
                named.add(text)
                collected.add(text)

            if problem:
                scan.reasons[problem] = None
            else:
                scan.file(path, collected.add)

            if scan.reasons:
                scanned.unreadable[name] = "; ".join(scan.reasons)

            scanned.name_runs[name] = named.finished()
            scanned.runs[name] = collected.finished()
            scanned.words += collected.words
            scanned.pictures += scan.pictures

    return scanned


def _walk(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Yields name, path and problem of all files once, including hidden and linked ones."""
    there = found_at(folder)
    if not there:
        raise MissingError(
            f"{folder}: no such folder. Give the folder that `medical-tasks run` or `score` wrote."
        )

    if there == "file":
        yield folder.name, folder, ""
        return

    denied: list[OSError] = []
    for path in walk_files(folder, denied=denied.append):
        is_file = found_at(path) == "file"
        fault = (
            "" if is_file else "a link that leads nowhere, a socket, a pipe or a device"
        )
        yield str(path.relative_to(folder)), path, fault

    for error in denied:
        yield (
            os.path.relpath(str(error.filename), folder),
            Path(str(error.filename)),
            "a folder that cannot be entered",
        )


class _Collected:
    """Gathers the runs of many texts by size, hashed in batches to bound memory."""

    def __init__(self, sizes: Iterable[int]) -> None:
        self.words = 0
        self._batch = Batch()
        self._parts: dict[int, list[Runs]] = {size: [] for size in sizes}

    def add(self, text: str) -> None:
        self.words += self._batch.add(text)
        if len(self._batch.hashes) >= _BATCH_WORDS:
            self._flush()

    def _flush(self) -> None:
        for size, parts in self._parts.items():
            parts.append(distinct([np.sort(runs_of(self._batch, size)[0])]))
        self._batch = Batch()

    def finished(self) -> dict[int, Runs]:
        self._flush()
        return {size: distinct(parts) for size, parts in self._parts.items()}


def _compare(file: Path, folder_runs: _FolderRuns, counts: Counter[str]) -> None:
    """Looks up the texts of one source file.

    Args:
        file: of the source.
        folder_runs: the folder's runs; receives the matches.
        counts: receives rows, words, and texts that are too short to compare.
    """
    batch, labels = Batch(), list[str]()
    shortest = min(folder_runs.sizes)
    for row in source_rows(file):
        counts["rows"] += 1
        for text in row.texts:
            length = batch.add(text)
            labels.append(row.label)
            counts["words"] += length if length >= shortest else 0
            counts["too short"] += 0 < length < shortest

        if len(batch.hashes) >= _BATCH_WORDS:
            _look_up(batch, labels, folder_runs)
            batch, labels = Batch(), []

    _look_up(batch, labels, folder_runs)


def _look_up(batch: Batch, labels: list[str], folder_runs: _FolderRuns) -> None:
    """Looks up a batch of texts, and records the rows of those that are in the folder.

    Runs shorter than the longest size count only as a whole text: four words that are a
    whole cell are more telling than any four words of a note.
    """
    longest = max(folder_runs.sizes)
    for size in folder_runs.sizes:
        runs, owners = runs_of(batch, size, whole_texts=size < longest)
        positions = folder_runs.matching(size, runs)
        if len(positions):
            folder_runs.runs.setdefault(size, []).append(distinct([runs[positions]]))
            for owner in np.unique(owners[positions]):
                if len(folder_runs.rows) < _ROWS_KEPT:
                    folder_runs.rows[labels[owner]] = None


def _by_file(
    folder: _Folder, folder_runs: _FolderRuns
) -> tuple[dict[str, int], dict[str, str]]:
    """Counts the source's runs in each file, and returns why some could not be read.

    A file whose name quotes the source is listed by the hash of its name.
    """
    looked_for = {size: RunIndex(parts) for size, parts in folder_runs.runs.items()}

    def count(runs: dict[int, Runs]) -> int:
        return sum(
            len(index.matching(runs[size])) for size, index in looked_for.items()
        )

    def shown(name: str) -> str:
        if not count(folder.name_runs[name]):
            return _printable(name)

        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        return (
            f"a file whose name quotes the source (SHA-256 of the name: {digest[:12]})"
        )

    totals = {name: count(runs) for name, runs in folder.runs.items()}
    counts = {shown(name): number for name, number in totals.items() if number}

    return counts, {shown(name): problem for name, problem in folder.unreadable.items()}


def _printable(name: str) -> str:
    """Escapes characters that control a terminal, such as those that begin a colour."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode()
        for sign in name
    )


_OTHER_SIGNS = re.compile(r"[^\x00-\x7f\w]")  # beyond ASCII: no letters, no digits
# Bytes of UTF-8 without these: ASCII letters in lower case, digits and what is beyond
# ASCII unchanged, the rest blank.
_LETTERS = bytes(
    byte if byte > 127 or chr(byte).isalnum() else ord(" ") for byte in range(256)
).lower()
# Invisible characters inside words, as copied from a page or a PDF file: soft hyphens,
# zero-width blanks and joiners, marks of direction, fillers, variation selectors and
# tags. And combining marks: some programs drop accents.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
    "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_TABLE_BITS = (16, 27)  # of the filter table, least and most
_SEED = 20250924


def words_of(text: str) -> list[bytes]:
    """Splits a text into words (UTF-8), regardless of case, punctuation and forms of letters."""
    if not text.isascii():
        plain = _UNSEEN.sub("", unicodedata.normalize("NFKD", text)).casefold()
        text = _OTHER_SIGNS.sub(" ", plain)
    return text.encode().translate(_LETTERS).split()


class Batch:
    """The hashed words of several texts, one after another."""

    def __init__(self) -> None:
        self.hashes = array("q")
        self.lengths = array("q")

    def add(self, text: str) -> int:
        """Adds a text; returns its number of words."""
        words = words_of(text)
        self.hashes.extend(map(hash, words))
        self.lengths.append(len(words))
        return len(words)


def runs_of(
    batch: Batch, size: int, *, whole_texts: bool = False
) -> tuple[Runs, NDArray[np.intp]]:
    """Computes the runs of `size` words in a batch, and the text of each.

    With `whole_texts`, only texts that are exactly one run count.

    Returns:
        Two arrays of shape (runs,): the runs, and the indices of their texts.
    """
    words = np.array(batch.hashes, dtype=np.int64).view(np.uint64)
    lengths = np.array(batch.lengths, dtype=np.int64)
    ends = np.cumsum(lengths)
    drawn = np.random.default_rng(_SEED).integers(0, 2**63, size=size, dtype=np.uint64)
    constants = drawn * np.uint64(2) + np.uint64(1)
    if whole_texts:
        owners = np.flatnonzero(lengths == size)
        starts = ends[owners] - size
        whole = np.zeros(len(starts), dtype=np.uint64)
        for offset, constant in enumerate(constants):
            whole += words[starts + offset] * constant

        return whole, owners

    # Runs across two texts are computed and then dropped: slices are faster than
    # indexing.
    last = max(len(words) - size + 1, 0)
    of_text = np.repeat(np.arange(len(lengths)), lengths)[:last]
    starts = np.flatnonzero(ends[of_text] - np.arange(last) >= size)
    owners = of_text[starts]
    every = np.zeros(last, dtype=np.uint64)
    for offset, constant in enumerate(constants):
        every += words[offset : offset + last] * constant

    runs = every[starts]
    return runs, owners


def distinct(parts: Sequence[Runs]) -> Runs:
    """Returns the distinct runs, sorted.

    Numpy's `unique` hashes such numbers, which takes twenty times as long. Sorted parts
    are merged by a stable sort, in a quarter of the time of another.
    """
    every = np.concatenate([*parts, np.zeros(0, dtype=np.uint64)])
    runs = np.sort(every, kind="stable")
    first = np.ones(len(runs), dtype=bool)
    first[1:] = runs[1:] != runs[:-1]
    return runs[first]


class RunIndex:
    """The runs of one size in a set of files, for looking up many at once."""

    def __init__(self, parts: Sequence[Runs]) -> None:
        """Sorts the runs, and makes a filter table of their last bits."""
        self._runs = distinct(parts)
        least, most = _TABLE_BITS
        bits = min(max((8 * len(self._runs)).bit_length(), least), most)
        self._mask = np.uint64((1 << bits) - 1)
        # The table spares most runs the search.
        self._table = np.zeros(1 << bits, dtype=bool)
        self._table[(self._runs & self._mask).astype(np.intp)] = True

    def without(self, runs: Runs) -> RunIndex:
        """Returns the index of the other runs."""
        common = RunIndex([runs[self.matching(runs)]])
        return RunIndex([np.delete(self._runs, common.matching(self._runs))])

    def matching(self, runs: Runs) -> NDArray[np.intp]:
        """Returns the positions of the runs that are in the index."""
        if not len(self._runs):
            return np.zeros(0, dtype=np.intp)
        likely = np.flatnonzero(self._table[(runs & self._mask).astype(np.intp)])
        positions = np.minimum(
            np.searchsorted(self._runs, runs[likely]), len(self._runs) - 1
        )
        hits: NDArray[np.intp] = likely[self._runs[positions] == runs[likely]]
        return hits
