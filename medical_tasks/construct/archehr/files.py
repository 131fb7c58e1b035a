"""The files of a construction, the user's tables, and how texts are split into words.

Tables may hold notes or patients' messages, so that errors name positions and rules and
never quote a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Final

import medical_tasks.construct.shared as construction
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.csv_files import StreamedRow, read_header, stream_rows
from medical_tasks.io.files import WholeFile
from medical_tasks.io.json_records import Field
from medical_tasks.scoring.porter import stem

FILTER: Final = "filter.json"
POSTS: Final = "posts.jsonl"
EXPANSION: Final = "expand.json"
NOTE_CODES: Final = "note_codes.jsonl"
POST_CODES: Final = "post_codes.jsonl"
ALIGNMENT: Final = "align.json"
CANDIDATES: Final = "candidates.jsonl"
CANDIDATES_SHEET: Final = "candidates.csv"
NOTES: Final = "notes"
RELEASE: Final = "release"
AGREEMENT: Final = "agreement.json"
_GUIDELINES: Final = "guidelines.txt"


def checked_step(path: Path, outcome: Mapping[str, object], *, step: str) -> None:
    """Refuses a file that is not the one its step wrote.

    `outcome["sha256"]` maps file names to hashes.
    """
    digests = outcome.get("sha256")
    digest = digests.get(path.name) if isinstance(digests, dict) else None
    if digest is None or not path.exists() or file_sha256(path) != digest:
        raise UsageError(
            f"{path}: was changed or moved away since it was written. Do this step again: "
            f"construct archehr {step}."
        )


def write_guidelines(folder: Path) -> None:
    """Writes the annotators' guidelines beside their sheets.

    Existing guidelines, perhaps a hospital's own, are left unchanged.
    """
    path = folder / _GUIDELINES
    if not path.exists():
        text = (
            resources.files(__package__)
            .joinpath(_GUIDELINES)
            .read_text(encoding="utf-8")
        )
        with WholeFile(path, private=True) as stream:
            stream.write(text)


def read_table(
    path: Path,
    required: Mapping[str, Collection[str]],
    *,
    optional: Mapping[str, Collection[str]] | None = None,
    filters: Mapping[str, Collection[str]] | None = None,
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[StreamedRow]:
    """Yields rows with the cells of some columns, keyed by the use of a column.

    Args:
        path: The table, a CSV file.
        required: Use of a column to its possible names, in lower case.
        optional: The same for columns that may be missing.
        filters: Use of a column to the texts accepted in it. Other rows are skipped; a
            missing column filters nothing.
        release: What the table is, for messages.
        on_read: Called with the number of bytes read so far.
    """
    if not path.exists():
        raise MissingError(f"{path}: no such file. Give the {release}.")

    header = read_header(path, release=release)
    uses = {**required, **(optional or {})}
    matching = {
        use: [name for name in header if name.strip().lower() in names]
        for use, names in uses.items()
    }
    columns = {use: names[0] for use, names in matching.items() if len(names) == 1}
    missing = [
        " or ".join(sorted(names))
        for use, names in required.items()
        if use not in columns
    ]
    if missing:
        raise UsageError(
            f"{path}: wrong columns for the {release}; missing, or more than once: "
            f"{', '.join(missing)}. Name each in row 1."
        )

    texts = {
        columns[use]: accepted
        for use, accepted in (filters or {}).items()
        if use in columns
    }
    for row in stream_rows(
        path, header, selected=texts, release=release, on_read=on_read
    ):
        yield StreamedRow(
            number=row.number,
            cells={use: row.cells[name] for use, name in columns.items()},
        )


LONGEST_ID: Final = 64
"""The most characters of an id; anything longer may be a misplaced text."""

# The characters that XML 1.0, section 2.2, does not allow.
_NO_CHARACTER: Final = re.compile(
    "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


def without_controls(text: str) -> str:
    """Normalises line ends, and replaces characters that XML does not allow by blanks."""
    return _NO_CHARACTER.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Puts a text on one line, so that a spreadsheet cannot change its white space."""
    return " ".join(without_controls(text).split())


def is_id(value: object) -> bool:
    """Whether a value is an id: printable, without white space, at most 64 characters."""
    return (
        isinstance(value, str)
        and value.split() == [value]
        and len(value) <= LONGEST_ID
        and value.isprintable()
    )


ID: Final = construction.private_field(Field(holds=is_id, rule="an id"))

WORDS: Final = "words-1: case folded runs of letters and digits, English function words left out, Porter stems"
"""The recipes' name for this way of splitting; its number changes whenever the words do."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FUNCTION_WORDS: Final = frozenset(
    (
        "a about after again all also am an and any are as at be because been before being both "
        "but by can can't cannot could couldn't did didn't do does doesn't doing don't down "
        "during each few for from further had hadn't has hasn't have haven't having he he's her "
        "here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's "
        "its itself just me more most my myself no nor not now of off on once only or other our "
        "ours ourselves out over own same she she's should shouldn't so some such than that "
        "that's the their theirs them themselves then there there's these they they're this those "
        "through to too under until up very was wasn't we we're we've were weren't what when "
        "where which while who whom why will with won't would wouldn't you you're your yours "
        "yourself yourselves"
    ).split()
)


def raw_words(text: str) -> list[str]:
    """The words of a text in order, case folded."""
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=1 << 16)
def searched(word: str) -> str:
    """Returns the stem by which a word of `raw_words` is compared; "" for a function word."""
    plain = word.replace("’", "'")
    return "" if plain in _FUNCTION_WORDS else stem(plain.removesuffix("'s"))


def content_words(text: str) -> Iterator[str]:
    """The stems of a text in order, with repeats and without function words."""
    return (word for word in map(searched, raw_words(text)) if word)
