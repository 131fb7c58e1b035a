"""The notes that fit each message best, on a sheet to choose from (section Alignment: BM25, the first ten)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.construction import files
from medical_tasks.benchmarks.archehr_qa.construction.bm25 import K1, B, Bag, Hit, Ranking, Vocabulary
from medical_tasks.benchmarks.archehr_qa.construction.codes import AdmissionCodes, load_admission_codes
from medical_tasks.benchmarks.archehr_qa.construction.expand import load_post_codes
from medical_tasks.benchmarks.archehr_qa.construction.notes import Note, read_notes
from medical_tasks.benchmarks.archehr_qa.construction.posts import Post, load_posts
from medical_tasks.benchmarks.archehr_qa.construction.texts import WORDS, content_words, is_id, raw_words, searched
from medical_tasks.data.construction_cells import file_name, write_sheet
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.files import WholeFile
from medical_tasks.io.json_records import Field, Record
from medical_tasks.io.progress import Progress

__all__ = ["COLUMNS", "TOP", "align_posts", "load_candidates"]

TOP: Final = 10
"""Notes a message (paper)."""

COLUMNS: Final = ("index", "post_id", "rank", "note_id", "score", "notes", "post", "chosen", "narrative", "comment")

# Words that were looked up are kept until there are so many; figures in notes have no end.
_KNOWN_WORDS: Final = 1 << 17
_OTHER: Final = -1
_FUNCTION: Final = -2
_ID: Final = files.private_field(Field(holds=is_id, rule="an id"))
_FIELDS: Final = {
    "post_id": _ID,
    "rank": Field(holds=lambda value: type(value) is int and value > 0, rule="a whole number from 1"),
    "note_id": _ID,
    "document_id": _ID,
    "score": Field(holds=lambda value: type(value) is float, rule="a number"),
}


class _NoteWords:
    """Makes bags of notes, of their texts and of their codes' descriptions."""

    def __init__(self, vocabulary: Vocabulary, codes: AdmissionCodes) -> None:
        self._vocabulary = vocabulary
        self._codes = codes
        self._known: dict[str, int] = {}
        self._titles: dict[int, tuple[dict[int, int], int]] = {}

    def bag(self, note: Note) -> Bag:
        """The words of a note."""
        counts, length = self._counted(note.text)
        for number in self._codes.of(note.hadm_id):
            if number not in self._titles:
                self._titles[number] = self._counted(self._codes.titles[number])
            more, words = self._titles[number]
            length += words
            for word, count in more.items():
                counts[word] = counts.get(word, 0) + count
        return self._vocabulary.bag(counts, length)

    def has_codes(self, note: Note) -> bool:
        """Whether descriptions are put behind a note."""
        return len(self._codes.of(note.hadm_id)) > 0

    def _counted(self, text: str) -> tuple[dict[int, int], int]:
        """How often each word of a query stands in a text, and the number of its words, function words left out."""
        if len(self._known) > _KNOWN_WORDS:
            self._known.clear()
        counts: dict[int, int] = {}
        length = 0
        known = self._known
        for word, times in Counter(raw_words(text)).items():
            number = known.get(word)
            if number is None:
                number = known[word] = self._number(word)
            if number >= 0:
                counts[number] = counts.get(number, 0) + times
            if number != _FUNCTION:
                length += times
        return counts, length

    def _number(self, word: str) -> int:
        stem = searched(word)
        return self._vocabulary.numbers.get(stem, _OTHER) if stem else _FUNCTION


def align_posts(source: Path, folder: Path, *, top: int = TOP) -> dict[str, Any]:
    """Finds the notes for each message and writes the sheet to choose from, with the notes beside it.

    Args:
        source: the discharge notes.
        folder: where the construction lies.
        top: how many notes a message.

    Returns:
        Content of `align.json`: recipe and counts, no text.

    Raises:
        MissingError: A file, or the step before, is not there.
        UsageError: A file is not as it must be, or the folder holds another alignment.
    """
    if not 1 <= top <= 100:
        raise UsageError(f"--top must be from 1 to 100, got {top}.")
    posts = load_posts(folder)
    titles = load_post_codes(folder)
    codes = load_admission_codes(folder)
    if not source.exists():
        raise MissingError(f"{source}: no such file. Give --source the discharge notes.")
    recipe = {
        "notes_sha256": files.text_sha256(source),
        "posts_sha256": files.text_sha256(folder / files.POSTS),
        "post_codes_sha256": files.text_sha256(folder / files.POST_CODES) if titles else None,
        "note_codes_sha256": files.text_sha256(folder / files.NOTE_CODES) if len(codes) else None,
        "ranking": {"method": "bm25, lucene", "k1": K1, "b": B, "words": WORDS},
        "top": top,
    }
    place = folder / files.ALIGNMENT
    if place.exists():
        there = files.read_json(place, step="align")
        if there.get("recipe") != recipe:
            raise UsageError(
                f"{folder}: holds another alignment, of other files or settings. Work in another --folder."
            )
        return there
    vocabulary = Vocabulary([list(_query_words(post, titles)) for post in posts])
    hits, counted = _ranked(source, _NoteWords(vocabulary, codes), Ranking(vocabulary, top=top))
    lines = [
        _line(post, rank, hit) for post, of_post in zip(posts, hits, strict=True) for rank, hit in enumerate(of_post, 1)
    ]
    if not lines:
        raise UsageError(f"{source}: no note shares a word with any of the {len(posts):,} messages.")
    _write_notes(source, folder, {line["note_id"] for line in lines})
    digest = files.write_lines(folder / files.CANDIDATES, lines)
    if not (folder / files.CANDIDATES_SHEET).exists():
        texts = {post.id: post.text for post in posts}
        rows = (_row(number, line, texts[line["post_id"]]) for number, line in enumerate(lines, start=1))
        write_sheet(folder / files.CANDIDATES_SHEET, COLUMNS, rows)
    files.write_guidelines(folder)
    made = {
        "schema_version": 1,
        "recipe": recipe,
        "posts": len(posts),
        "posts_with_notes": sum(bool(each) for each in hits),
        **counted,
        "candidates": len(lines),
        "sha256": {files.CANDIDATES: digest},
    }
    files.write_json(place, made)
    return made


def _query_words(post: Post, titles: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for text in (post.text, *titles.get(post.id, ())):
        yield from content_words(text)


def _ranked(source: Path, words: _NoteWords, ranking: Ranking) -> tuple[list[list[Hit]], dict[str, int]]:
    size = source.stat().st_size
    counted = {"notes": 0, "notes_with_codes": 0}
    with Progress("bytes of notes", 2 * size) as progress:
        for note in read_notes(source, on_read=progress.advance_to):
            counted["notes"] += 1
            counted["notes_with_codes"] += words.has_codes(note)
            ranking.count(words.bag(note))
        for note in read_notes(source, on_read=_behind(progress, size)):
            ranking.rank(words.bag(note), note.id, note.document_id)
    return ranking.best(), counted


def _behind(progress: Progress, size: int) -> Callable[[int], None]:
    return lambda read: progress.advance_to(size + read)


def _line(post: Post, rank: int, hit: Hit) -> dict[str, Any]:
    return {
        "post_id": post.id,
        "rank": rank,
        "note_id": hit.key,
        "document_id": str(hit.about),
        "score": round(hit.score, 4),
    }


def _row(number: int, line: Mapping[str, Any], text: str) -> dict[str, object]:
    place = f"{files.NOTES}/{file_name(line['note_id'])}"
    return {
        **line,
        "index": number,
        "score": round(line["score"], 2),
        "notes": place,
        "post": text,
        "chosen": "",
        "narrative": "",
        "comment": "",
    }


def _write_notes(source: Path, folder: Path, names: set[str]) -> None:
    """Copies the notes that were found, a file each, for the owner alone."""
    place = files.make_folder(folder / files.NOTES)
    seen: set[str] = set()
    for note in read_notes(source, only=names):
        if note.id in seen:
            raise UsageError(f"{source}: a note's id stands twice ({note.id}); ids must be unique.")
        seen.add(note.id)
        with WholeFile(place / file_name(note.id), private=True) as part:
            part.write(note.text)


def load_candidates(folder: Path) -> list[Record]:
    """Reads which notes were found for which message, without texts.

    Raises:
        MissingError: Nothing was aligned.
        UsageError: The file is not as it was written.
    """
    made = files.read_json(folder / files.ALIGNMENT, step="align")
    files.checked_step(folder / files.CANDIDATES, made, step="align, in another --folder")
    return files.read_lines(folder / files.CANDIDATES, _FIELDS, step="align")
