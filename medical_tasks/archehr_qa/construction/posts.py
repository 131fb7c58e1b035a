"""Messages of patients, and those among them that speak of a hospital stay (section Alignment)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medical_tasks.archehr_qa.construction import files
from medical_tasks.archehr_qa.construction.keywords import KEYWORDS, KeywordFinder, read_keywords
from medical_tasks.archehr_qa.construction.tables import read_table
from medical_tasks.archehr_qa.construction.texts import LONGEST_ID, is_id, one_line
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.json_records import Field, is_list_of, is_text, read_records

__all__ = ["Post", "filter_posts", "load_posts"]

_RELEASE: Final = "file of messages"
_COLUMNS: Final = {"id": ("id", "post_id", "message_id"), "text": ("text", "message", "post")}
_FIELDS: Final = {
    "id": files.private_field(Field(holds=lambda value: is_id(value) or type(value) is int, rule="an id")),
    "text": files.private_field(is_text(blank=True)),
}
_POST_FIELDS: Final = {
    "id": files.private_field(Field(holds=is_id, rule="an id")),
    "text": files.private_field(is_text()),
    "keywords": files.private_field(is_list_of(is_text())),
}


@dataclass(frozen=True, kw_only=True)
class Post:
    """A message that was kept.

    Attributes:
        id: the message's.
        text: on one line.
    """

    id: str
    text: str


def filter_posts(source: Path, folder: Path, *, keywords: Path | None = None) -> dict[str, Any]:
    """Keeps the messages in which a keyword stands.

    Args:
        source: CSV, plain or gzip, with the columns `id` and `text`, others passed over; or JSON Lines (`.jsonl`) of these two.
        folder: where the construction lies.
        keywords: file of them; the list of `keywords` by default.

    Returns:
        Content of `filter.json`: counts and recipe, no text.

    Raises:
        MissingError: A file is not there.
        UsageError: A file is not as it must be, no message is kept, or the folder holds another filter's messages that
            were already expanded or aligned.
    """
    words = KEYWORDS if keywords is None else read_keywords(keywords)
    finder = KeywordFinder(words)
    if not source.exists():
        raise MissingError(f"{source}: no such file. Give --source a CSV file with the columns id and text.")
    recipe = {"source_sha256": files.text_sha256(source), "keywords": list(words), "own_list": keywords is None}
    place = folder / files.FILTER
    if place.exists():
        there = files.read_json(place, step="filter")
        if there.get("recipe") == recipe:
            files.checked_step(folder / files.POSTS, there, step="filter, in another --folder")
            return there
        raise UsageError(
            f"{folder}: holds the messages of another filter (another file, or other keywords). Work in another --folder."
        )
    files.make_folder(folder)
    counts: Counter[str] = Counter()
    read = {"posts": 0, "empty": 0, "kept": 0}

    def kept() -> Iterator[dict[str, Any]]:
        for name, text in _messages(source):
            read["posts"] += 1
            read["empty"] += not text
            found = finder.found(text)
            counts.update(found)
            if found:
                read["kept"] += 1
                yield {"id": name, "text": text, "keywords": found}

    digest = files.write_lines(folder / files.POSTS, kept())
    made = {
        "schema_version": 1,
        "recipe": recipe,
        **read,
        "by_keyword": {word: counts[word] for word in sorted(words, key=lambda word: (-counts[word], word))},
        "sha256": {files.POSTS: digest},
    }
    if not read["kept"]:
        (folder / files.POSTS).unlink()
        raise UsageError(
            f"{source}: none of its {read['posts']:,} messages has one of the {len(words)} keywords, so none is kept. Give your "
            "own with --keywords."
        )
    files.write_json(place, made)
    return made


def _messages(source: Path) -> Iterator[tuple[str, str]]:
    """Id and text of each message."""
    seen: set[str] = set()
    for number, (name, text) in enumerate(_records(source), start=1):
        if not is_id(name):
            raise UsageError(
                f"{source}: message number {number}: its id must be a text of 1 to {LONGEST_ID} characters without white space, "
                f"got one of {len(name)}."
            )
        if name in seen:
            raise UsageError(f"{source}: message number {number}: the id stands twice. Ids must be unique.")
        seen.add(name)
        yield name, one_line(text)


def _records(source: Path) -> Iterator[tuple[str, str]]:
    if source.name.endswith(".jsonl"):
        again = "Export the messages again, one JSON object with id and text a line."
        for record in read_records(source, _FIELDS, release=_RELEASE, again=again):
            yield str(record.values["id"]), record.values["text"]
        return
    for row in read_table(source, _COLUMNS, release=_RELEASE):
        yield row["id"].strip(), row["text"]


def load_posts(folder: Path) -> list[Post]:
    """Reads the messages that were kept.

    Raises:
        MissingError: There are none.
        UsageError: The file is not as it was written.
    """
    made = files.read_json(folder / files.FILTER, step="filter")
    files.checked_step(folder / files.POSTS, made, step="filter, in another --folder")
    return [
        Post(id=record.values["id"], text=record.values["text"])
        for record in files.read_lines(folder / files.POSTS, _POST_FIELDS, step="filter")
    ]
