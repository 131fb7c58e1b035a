"""Keeps the messages of patients that mention a hospital stay.

The paper keeps those "containing keywords" (section Alignment). Here keywords match whole
words, since `er` and `ed` are within words of almost every message.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import medical_tasks.construct.shared as construction
from medical_tasks.construct.archehr import files
from medical_tasks.construct.archehr.files import (
    LONGEST_ID,
    is_id,
    one_line,
    read_table,
)
from medical_tasks.construct.archehr.forms import Filtered, FilterRecipe
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import make_folder, packaged, read_text, readable
from medical_tasks.io.json_records import Field, is_list_of, is_text, read_records

_WORD: Final = re.compile(r"[^\W_]+")
_LONGEST: Final = 8
_RELEASE: Final = "file of messages"
_COLUMNS: Final = {
    "id": ("id", "post_id", "message_id"),
    "text": ("text", "message", "post"),
}
_FIELDS: Final = {
    "id": construction.private_field(
        Field(holds=lambda value: is_id(value) or type(value) is int, rule="an id")
    ),
    "text": construction.private_field(is_text(blank=True)),
}
_POST_FIELDS: Final = {
    "id": files.ID,
    "text": construction.private_field(is_text()),
    "keywords": construction.private_field(is_list_of(is_text())),
}


@dataclass(frozen=True, kw_only=True)
class Post:
    """A message that was kept, on one line."""

    id: str
    text: str


def filter_posts(source: Path, folder: Path, *, keywords: str = "paper") -> Filtered:
    """Keeps the messages that have a keyword.

    `keywords` names one of `keyword_lists`, or a file. Returns recipe and counts, no text.
    """
    words = keyword_lists().get(keywords) or read_keywords(Path(keywords))
    finder = keyword_finder(words)
    if not source.exists():
        raise MissingError(
            f"{source}: no such file. Give --source a CSV file with the columns id and text."
        )

    recipe: FilterRecipe = {
        "source_sha256": file_sha256(source),
        "keywords": list(words),
    }
    path = folder / files.FILTER
    previous: Filtered | None = construction.kept_step(
        path, recipe, step="archehr filter", outcome="filter's messages"
    )
    if previous is not None:
        files.checked_step(
            folder / files.POSTS, previous, step="filter, in another --folder"
        )
        return previous

    make_folder(folder)
    counts: Counter[str] = Counter()
    read = {"posts": 0, "empty": 0, "kept": 0}

    def kept() -> Iterator[dict[str, object]]:
        for name, text in _messages(source):
            read["posts"] += 1
            read["empty"] += not text
            keywords_in_text = finder(text)
            counts.update(keywords_in_text)
            if keywords_in_text:
                read["kept"] += 1
                yield {"id": name, "text": text, "keywords": keywords_in_text}

    digest = construction.write_lines(folder / files.POSTS, kept())
    filtered: Filtered = {
        "schema_version": 1,
        "recipe": recipe,
        "posts": read["posts"],
        "empty": read["empty"],
        "kept": read["kept"],
        "by_keyword": {
            word: counts[word]
            for word in sorted(words, key=lambda word: (-counts[word], word))
        },
        "sha256": {files.POSTS: digest},
    }
    if not read["kept"]:
        (folder / files.POSTS).unlink()
        raise UsageError(
            f"{source}: none of the {read['posts']:,} messages has one of the {len(words)} "
            "keywords, so none is kept. Give --keywords ours, or a file of your own."
        )

    construction.write_json(path, filtered)
    return filtered


@cache
def keyword_lists() -> dict[str, tuple[str, ...]]:
    """Lists of words that indicate a stay in hospital.

    `paper` has the paper's 16 (supplement, Other Details), `ours` adds 19 of our own.
    """
    lists = packaged(__file__, "keywords.json")
    return {name: tuple(words) for name, words in lists.items()}


def keyword_finder(keywords: Sequence[str]) -> Callable[[str], list[str]]:
    """Makes a function that lists the keywords of a text in alphabetical order.

    Keywords match whole words, regardless of case and of the signs between the words.

    Example:
        `keyword_finder(["intensive care"])("in Intensive-Care now")` is `["intensive
        care"]`; "intensively cared for" has no keyword.
    """
    keyword_of_words = {
        tuple(_WORD.findall(keyword.casefold())): keyword for keyword in keywords
    }
    lengths = {len(words) for words in keyword_of_words}

    def find(text: str) -> list[str]:
        words = _WORD.findall(text.casefold())
        runs = (
            tuple(words[start : start + length])
            for length in lengths
            for start in range(len(words) - length + 1)
        )
        return sorted(
            {keyword_of_words[run] for run in runs if run in keyword_of_words}
        )

    return find


def read_keywords(path: Path) -> tuple[str, ...]:
    """Reads keywords, one a line, and returns them in lower case and alphabetical order.

    Empty lines and comments, which begin with `#`, are skipped. Keywords that differ only
    in case or punctuation count once.
    """
    missing = f"Give --keywords {' or '.join(keyword_lists())}, or a text file with a keyword of 1 to {_LONGEST} words a line."
    with readable(path, missing=missing):
        lines = read_text(path, encoding="utf-8-sig").splitlines()

    keywords: dict[tuple[str, ...], str] = {}
    for number, line in enumerate(lines, start=1):
        keyword = " ".join(line.split()).casefold()
        if not keyword or keyword.startswith("#"):
            continue

        words = tuple(_WORD.findall(keyword))
        if not 1 <= len(words) <= _LONGEST:
            raise UsageError(
                f"{path}: line {number} must hold 1 to {_LONGEST} words of letters and digits, got "
                f"{len(words)}."
            )

        keywords.setdefault(words, keyword)

    if not keywords:
        raise UsageError(
            f"{path}: has no keyword. Write a keyword of 1 to {_LONGEST} words a line."
        )

    return tuple(sorted(keywords.values()))


def _messages(source: Path) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for number, (name, text) in enumerate(_records(source), start=1):
        if not is_id(name):
            raise UsageError(
                f"{source}: message number {number}: its id must be a text of 1 to {LONGEST_ID} "
                f"characters without white space, got one of {len(name)}."
            )

        if name in seen:
            raise UsageError(
                f"{source}: message number {number}: the id appears twice. Ids must be unique."
            )

        seen.add(name)
        yield name, one_line(text)


def _records(source: Path) -> Iterator[tuple[str, str]]:
    if source.name.endswith(".jsonl"):
        again = "Export the messages again, one JSON object with id and text a line."
        for record in read_records(source, _FIELDS, release=_RELEASE, again=again):
            yield str(record.values["id"]), record.values["text"]
        return
    for row in read_table(source, _COLUMNS, release=_RELEASE):
        yield row.cells["id"].strip(), row.cells["text"]


def load_posts(folder: Path) -> list[Post]:
    """Reads the messages that were kept."""
    outcome = construction.read_json(folder / files.FILTER, step="archehr filter")
    files.checked_step(
        folder / files.POSTS, outcome, step="filter, in another --folder"
    )
    return [
        Post(id=record.values["id"], text=record.values["text"])
        for record in construction.read_lines(
            folder / files.POSTS, _POST_FIELDS, step="archehr filter"
        )
    ]
