"""Reads the source whose text must not be found, row by row, whatever its size."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from medical_tasks.errors import MedicalTasksError, UsageError, failure_kind, listed
from medical_tasks.guard.leak_views import Values, readings
from medical_tasks.io.csv_files import FIELD_LIMIT_BYTES
from medical_tasks.io.files import checked_file

_FORMS = (".csv", ".jsonl", ".ndjson", ".json", ".txt", ".md", ".xml", ".parquet")
_PLAIN_ID = re.compile(r"[\w.:-]{1,64}")
_BLOCK_LINES = 2000  # lines of a text file that make a row
_SHARED_LINES = 50  # lines that a block shares with the one before


_NUMBERS = re.compile(r"[\s,;]*(?:[0-9]{1,4}(?:[\s,;]+|$))*")
"""A cell of ids or counts."""


@dataclass(frozen=True, kw_only=True)
class SourceRow:
    """A row of the source."""

    label: str  # file and id, or file and row number; no text
    texts: tuple[str, ...]  # its strings, and those of each list joined


def readable_files(path: Path, *, named: str) -> list[Path]:
    """Finds the files of a source, in subfolders too.

    Raises:
        UsageError: A file has another form; what is not read would prove nothing.
    """
    # Hidden files are not part of the source.
    visible = sorted(
        file
        for file in walk_files(path)
        if not file.name.startswith(".") and file.is_file()
    )
    files = visible if path.is_dir() else [path]
    unsupported = [str(file) for file in files if _form(file) not in _FORMS]
    if unsupported or not files:
        wrong = (
            f"of a form that is not read: {listed(unsupported, 5)}"
            if unsupported
            else "an empty folder"
        )
        raise UsageError(
            f"{named}: {wrong}. A source consists of {', '.join(_FORMS)} files, also with .gz; a "
            "file that is not read would prove nothing. Give the file itself, or a folder with only such "
            "files."
        )

    return files


def walk_files(
    folder: Path, *, denied: Callable[[OSError], object] | None = None
) -> Iterator[Path]:
    """Yields all entries in a folder and its subfolders, following links, each folder once."""
    seen: set[tuple[int, int]] = set()
    for parent, folders, names in os.walk(folder, followlinks=True, onerror=denied):
        status = Path(parent).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link back
            continue
        seen.add((status.st_dev, status.st_ino))
        folders.sort()
        yield from (Path(parent) / name for name in sorted(names))


def _readings(texts: Iterable[str]) -> tuple[str, ...]:
    """Returns the texts, also without escapes and markup, as a model reads and repeats them."""
    return tuple(dict.fromkeys(reading for text in texts for reading in readings(text)))


def _form(file: Path) -> str:
    return Path(file.name.lower().removesuffix(".gz")).suffix


def source_rows(file: Path) -> Iterator[SourceRow]:
    """Reads a source file row by row."""
    form = _form(file)
    try:
        if form == ".parquet":
            rows = _parquet(file)
        elif form == ".csv":
            rows = _csv(file)
        elif form in (".jsonl", ".ndjson", ".json"):
            rows = _json(file, lines=form != ".json")
        else:
            rows = _text(file)

        yield from rows
    except (MedicalTasksError, MemoryError):
        raise
    except Exception as error:  # readers of damaged files raise errors of any kind
        raise UsageError(
            f"{file}: the source cannot be read to its end ({failure_kind(error)}). Is it whole?"
        ) from error


def _open(file: Path) -> IO[str]:
    opener = gzip.open if file.name.lower().endswith(".gz") else open
    return cast(
        "IO[str]",
        opener(
            checked_file(file), "rt", encoding="utf-8-sig", errors="replace", newline=""
        ),
    )


def _row(file: Path, number: int, value: Mapping[str, object]) -> SourceRow:
    """Makes a row of the source: the text of each cell, and the elements of lists joined.

    Example: the row {"id": "7", "lines": ["No fever.", "No cough."]} has the texts
    "No fever.", "No cough." and "No fever. No cough.".
    """
    values = Values()
    for name, cell in value.items():  # names of columns are not text of the source
        values.collect(cell, (str(name),))

    texts: list[str] = []
    for path, strings in values.strings.items():
        if path[-1] == "":
            continue

        prose = [string for string in strings if not _NUMBERS.fullmatch(string)]
        texts.extend(prose)
        # A list of numbers alone, such as the ids of sentences, is not text: results
        # refer to sentences by them.
        if prose and len(strings) > 1:
            texts.append(" ".join(strings))

    return SourceRow(
        label=f"{file.name}, {_id(value) or f'row {number}'}", texts=_readings(texts)
    )


def _id(value: Mapping[str, object]) -> str:
    """Returns the row's id, if a column is named so and holds a single word."""
    for name, cell in value.items():
        called = str(name).lower()
        if (
            called == "id" or called.endswith(("_id", "row number"))
        ) and _PLAIN_ID.fullmatch(str(cell)):
            return f"{name} {cell}"
    return ""


def _parquet(file: Path) -> Iterator[SourceRow]:
    import pyarrow.parquet as pq

    number = 0
    with pq.ParquetFile(checked_file(file)) as table:
        for batch in table.iter_batches(batch_size=1024):
            for value in batch.to_pylist():
                number += 1
                yield _row(file, number, value)


def _csv(file: Path) -> Iterator[SourceRow]:
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_BYTES))
    with _open(file) as stream:
        for number, value in enumerate(
            csv.DictReader(stream, restkey="", restval=""), start=1
        ):
            yield _row(file, number, value)


def _json(file: Path, *, lines: bool) -> Iterator[SourceRow]:
    with _open(file) as stream:
        whole = None if lines else json.load(stream)
        documents = whole if isinstance(whole, list) else [whole]
        values = (
            (json.loads(line) for line in stream if line.strip())
            if lines
            else documents
        )
        for number, value in enumerate(values, start=1):
            yield _row(file, number, value if isinstance(value, dict) else {"": value})


def _text(file: Path) -> Iterator[SourceRow]:
    """Yields blocks of lines of a plain text, which overlap so that no run is cut."""
    with _open(file) as stream:
        block: list[str] = []
        first = 1
        for number, line in enumerate(stream, start=1):
            block.append(line)
            if len(block) >= _BLOCK_LINES:
                yield SourceRow(
                    label=f"{file.name}, lines {first}-{number}",
                    texts=_readings(("".join(block),)),
                )
                block = block[-_SHARED_LINES:]
                first = number - len(block) + 1

        if block:
            yield SourceRow(
                label=f"{file.name}, from line {first}",
                texts=_readings(("".join(block),)),
            )
