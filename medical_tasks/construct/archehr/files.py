"""What a construction reads and writes: its folder, the user's tables, and the words of texts.

Tables may hold notes or patients' messages, so errors name places and rules and never
quote a text.
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


def checked_step(path: Path, made: Mapping[str, object], *, step: str) -> None:
    """Refuses to go on with a file that is not the one its step wrote.

    `made["sha256"]` has file name to hash.
    """
    digests = made.get("sha256")
    known = digests.get(path.name) if isinstance(digests, dict) else None
    if known is None or not path.exists() or file_sha256(path) != known:
        raise UsageError(
            f"{path}: was changed or moved away since it was written. Do this step again: "
            f"construct archehr {step}."
        )


def write_guidelines(folder: Path) -> None:
    """Puts the annotators' guidelines beside their sheets.

    Those that are there, perhaps a hospital's own, stay.
    """
    place = folder / _GUIDELINES
    if not place.exists():
        text = (
            resources.files(__package__)
            .joinpath(_GUIDELINES)
            .read_text(encoding="utf-8")
        )
        with WholeFile(place, private=True) as part:
            part.write(text)


def read_table(
    path: Path,
    required: Mapping[str, Collection[str]],
    *,
    optional: Mapping[str, Collection[str]] | None = None,
    wanted: Mapping[str, Collection[str]] | None = None,
    release: str,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[StreamedRow]:
    """Yields rows with the cells of some columns.

    Columns are what each is for, to its possible names in lower case.

    `wanted`: of what a column is for, where there is one, the texts that it has in the
    rows to yield.
    """
    if not path.exists():
        raise MissingError(f"{path}: no such file. Give the {release}.")

    header = read_header(path, release=release)
    uses = {**required, **(optional or {})}
    there = {
        use: [name for name in header if name.strip().lower() in names]
        for use, names in uses.items()
    }
    columns = {use: names[0] for use, names in there.items() if len(names) == 1}
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
        columns[use]: each for use, each in (wanted or {}).items() if use in columns
    }
    for row in stream_rows(
        path, header, wanted=texts, release=release, on_read=on_read
    ):
        yield StreamedRow(
            number=row.number,
            cells={use: row.cells[name] for use, name in columns.items()},
        )


LONGEST_ID: Final = 64
"""Characters of an id; what is longer may be a text in the wrong place."""

# XML 1.0, section 2.2: what is no character there.
_NO_CHARACTER: Final = re.compile(
    "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


def without_controls(text: str) -> str:
    """Makes line ends line feeds, and a blank of each sign that XML has no place for."""
    return _NO_CHARACTER.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Puts a text on one line, so that a spreadsheet's way with white space changes nothing."""
    return " ".join(without_controls(text).split())


def is_id(value: object) -> bool:
    """Whether a value may be an id.

    A printable text without white space, of at most 64 characters.
    """
    return (
        isinstance(value, str)
        and value.split() == [value]
        and len(value) <= LONGEST_ID
        and value.isprintable()
    )


ID: Final = construction.private_field(Field(holds=is_id, rule="an id"))

WORDS: Final = "words-1: case folded runs of letters and digits, English function words left out, Porter stems"
"""What recipes say; the number changes whenever the words do."""

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
    """The words of a text in order, case folded, none left out."""
    return _WORD.findall(text.casefold())


@lru_cache(maxsize=1 << 16)
def searched(word: str) -> str:
    """What a word of `raw_words` is compared by: its stem; "" for a function word."""
    plain = word.replace("’", "'")
    return "" if plain in _FUNCTION_WORDS else stem(plain.removesuffix("'s"))


def content_words(text: str) -> Iterator[str]:
    """The stems of a text in order, repeats kept, function words left out."""
    return (word for word in map(searched, raw_words(text)) if word)
