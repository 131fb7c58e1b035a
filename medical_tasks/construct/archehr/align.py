"""Ranks notes for each message, and makes cases of the chosen pairs.

Notes are ranked by BM25 (k1 1.5, b 0.75; Porter stems without English function words), in
the variant that the library bm25s calls `lucene`: each message is a query, and the notes
are the collection.

Source: Robertson and Zaragoza (2009), Foundations and Trends in Information Retrieval
3:333.

Notes are read twice and not kept in memory, since MIMIC-IV's exceed that of a small
machine. The first pass counts the notes that contain each word and their lengths; the
second scores each note against all messages and keeps the best for each message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
from medical_tasks.construct.archehr import files
from medical_tasks.construct.archehr.codes import (
    AdmissionCodes,
    load_admission_codes,
    load_post_codes,
)
from medical_tasks.construct.archehr.files import (
    WORDS,
    content_words,
    is_id,
    one_line,
    raw_words,
    read_table,
    searched,
)
from medical_tasks.construct.archehr.forms import Alignment, Candidate, NoteCounts
from medical_tasks.construct.archehr.posts import Post, load_posts
from medical_tasks.construct.archehr.rounds import OwnCase, split_note
from medical_tasks.construct.shared import file_name
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.csv_files import StreamedRow
from medical_tasks.io.files import WholeFile, make_folder, open_text, readable
from medical_tasks.io.json_records import Field, Record
from medical_tasks.io.progress import Progress
from medical_tasks.io.tables import TableRow, read_sheet, refuse, write_sheet

TOP: Final = 10
"""Candidate notes for each message (paper)."""

COLUMNS: Final = (
    "index",
    "post_id",
    "rank",
    "note_id",
    "score",
    "notes",
    "post",
    "chosen",
    "narrative",
    "comment",
)

_KNOWN_WORDS: Final = 1 << 17
_OTHER: Final = -1
_FUNCTION: Final = -2
_FIELDS: Final = {
    "post_id": files.ID,
    "rank": Field(
        holds=lambda value: type(value) is int and value > 0,
        rule="a whole number from 1",
    ),
    "note_id": files.ID,
    "document_id": files.ID,
    "score": Field(holds=lambda value: type(value) is float, rule="a number"),
}


class _NoteWords:
    """Counts the words of notes by their numbers in the messages.

    A word that is in no message scores nothing but adds to the length of a note, by which
    BM25 divides; function words do neither. The titles of an admission's codes count as
    words of its notes.
    """

    def __init__(self, numbers: Mapping[str, int], codes: AdmissionCodes) -> None:
        self._numbers, self._codes = numbers, codes
        # Bounded, since notes contain an unlimited number of different figures.
        self._number = lru_cache(maxsize=_KNOWN_WORDS)(self._number_of)
        self._title = cache(lambda number: self._counted(codes.titles[number]))

    def bag(self, note: Note) -> Bag:
        """Returns the bag of words of a note."""
        counts, length = self._counted(note.text)
        for number in self._codes.of(note.hadm_id):
            more, words = self._title(number)
            counts.update(more)
            length += words
        return bag_of(counts, length)

    def _counted(self, text: str) -> tuple[Counter[int], int]:
        counts: Counter[int] = Counter()
        length = 0
        for word, times in Counter(raw_words(text)).items():
            number = self._number(word)
            if number >= 0:
                counts[number] += times
            if number != _FUNCTION:
                length += times
        return counts, length

    def _number_of(self, word: str) -> int:
        stem = searched(word)
        return self._numbers.get(stem, _OTHER) if stem else _FUNCTION


def align_posts(source: Path, folder: Path, *, top: int = TOP) -> Alignment:
    """Ranks the notes for each message, and writes a sheet to choose among them.

    An existing alignment is left unchanged.

    Args:
        source: The discharge notes, in MIMIC's format or as a table of one's own.
        folder: The construction's folder, with the messages that were kept.
        top: The most notes for each message, from 1 to 100.

    Returns:
        The content of `align.json`: recipe and counts, no text.

    Raises:
        UsageError: When no note shares a word with any message, or the folder holds an
            alignment of other files or settings.
    """
    if not 1 <= top <= 100:
        raise UsageError(f"--top must be from 1 to 100, got {top}.")

    posts = load_posts(folder)
    titles = load_post_codes(folder)
    codes = load_admission_codes(folder)
    if not source.exists():
        raise MissingError(
            f"{source}: no such file. Give --source the discharge notes."
        )

    recipe = _recipe(
        source, folder, top, coded_posts=bool(titles), coded_notes=bool(codes.numbers)
    )
    path = folder / files.ALIGNMENT
    previous: Alignment | None = construction.kept_step(
        path, recipe, step="archehr align", outcome="alignment"
    )
    if previous is not None:
        return previous

    texts = [(post.text, *titles.get(post.id, ())) for post in posts]
    ranking = Ranking(
        [[word for text in query for word in content_words(text)] for query in texts],
        top=top,
    )
    hits, counted = _ranked(source, codes, ranking)
    lines = [
        _line(post, rank, hit)
        for post, of_post in zip(posts, hits, strict=True)
        for rank, hit in enumerate(of_post, 1)
    ]
    if not lines:
        raise UsageError(
            f"{source}: no note shares a word with any of the {len(posts):,} messages."
        )

    _write_notes(source, folder, {line["note_id"] for line in lines})
    digest = construction.write_lines(folder / files.CANDIDATES, lines)
    _write_candidates_sheet(folder, lines, {post.id: post.text for post in posts})
    files.write_guidelines(folder)
    alignment: Alignment = {
        "schema_version": 1,
        "recipe": recipe,
        "posts": len(posts),
        "posts_with_notes": sum(bool(post_hits) for post_hits in hits),
        **counted,
        "candidates": len(lines),
        "sha256": {files.CANDIDATES: digest},
    }
    construction.write_json(path, alignment)

    return alignment


def _recipe(
    source: Path, folder: Path, top: int, *, coded_posts: bool, coded_notes: bool
) -> dict[str, object]:
    """Returns everything that decides the candidates."""
    post_codes = file_sha256(folder / files.POST_CODES) if coded_posts else None
    note_codes = file_sha256(folder / files.NOTE_CODES) if coded_notes else None

    return {
        "notes_sha256": file_sha256(source),
        "posts_sha256": file_sha256(folder / files.POSTS),
        "post_codes_sha256": post_codes,
        "note_codes_sha256": note_codes,
        "ranking": {"method": "bm25, lucene", "k1": K1, "b": B, "words": WORDS},
        "top": top,
    }


def _write_candidates_sheet(
    folder: Path, lines: Sequence[Candidate], messages: Mapping[str, str]
) -> None:
    """Writes the sheet of candidates, unless it exists, since it may have been edited."""
    if (folder / files.CANDIDATES_SHEET).exists():
        return
    rows = (
        _row(number, line, messages[line["post_id"]])
        for number, line in enumerate(lines, start=1)
    )
    write_sheet(folder / files.CANDIDATES_SHEET, COLUMNS, rows)


def _ranked(
    source: Path, codes: AdmissionCodes, ranking: Ranking
) -> tuple[list[list[Hit]], NoteCounts]:
    """Returns the best notes for each message, and the numbers of notes.

    Reads the file twice: the rarity of words must be known before notes can be scored.
    """
    size, words = source.stat().st_size, _NoteWords(ranking.numbers, codes)
    counted: NoteCounts = {"notes": 0, "notes_with_codes": 0}
    with Progress("bytes of notes", 2 * size) as progress:
        for note in read_notes(source, on_read=progress.advance_to):
            counted["notes"] += 1
            counted["notes_with_codes"] += bool(codes.of(note.hadm_id))
            ranking.count(words.bag(note))

        for note in read_notes(
            source, on_read=lambda read: progress.advance_to(size + read)
        ):
            ranking.rank(words.bag(note), note.id, note.document_id)

    return ranking.best(), counted


def _line(post: Post, rank: int, hit: Hit) -> Candidate:
    return {
        "post_id": post.id,
        "rank": rank,
        "note_id": hit.key,
        "document_id": hit.document_id,
        "score": round(hit.score, 4),
    }


def _row(number: int, line: Candidate, text: str) -> dict[str, object]:
    path = f"{files.NOTES}/{file_name(line['note_id'])}"
    empty = dict.fromkeys(("chosen", "narrative", "comment"), "")
    return {
        **line,
        **empty,
        "index": number,
        "score": round(line["score"], 2),
        "notes": path,
        "post": text,
    }


def _write_notes(source: Path, folder: Path, names: set[str]) -> None:
    notes_folder = make_folder(folder / files.NOTES)
    seen: set[str] = set()
    for note in read_notes(source, only=names):
        if note.id in seen:
            raise UsageError(
                f"{source}: a note's id appears twice ({note.id}); ids must be unique."
            )
        seen.add(note.id)
        with WholeFile(notes_folder / file_name(note.id), private=True) as stream:
            stream.write(note.text)


def load_candidates(folder: Path) -> list[Record]:
    """Reads the candidate notes for each message, without texts."""
    outcome = construction.read_json(folder / files.ALIGNMENT, step="archehr align")
    files.checked_step(
        folder / files.CANDIDATES, outcome, step="align, in another --folder"
    )
    return construction.read_lines(
        folder / files.CANDIDATES, _FIELDS, step="archehr align"
    )


YES_NO: Final = {"yes": True, "y": True, "no": False, "n": False, "": False}


def chosen_cases(folder: Path, sheets: Sequence[Path] = ()) -> list[OwnCase]:
    """Makes a case of every chosen pair, with the whole note.

    All faulty rows are reported at once, by file, row and column.
    """
    candidates = {
        (candidate.values["post_id"], candidate.values["note_id"]): candidate.values
        for candidate in load_candidates(folder)
    }
    narratives = {post.id: post.text for post in load_posts(folder)}
    chosen: dict[tuple[str, str], str] = {}
    seen: dict[tuple[str, str], TableRow] = {}
    problems: list[str] = []
    for path in sheets or (folder / files.CANDIDATES_SHEET,):
        for row in read_sheet(path, COLUMNS):
            pair = row.cells["post_id"].strip(), row.cells["note_id"].strip()
            row_problems = list(_problems(row, pair, candidates, seen))
            problems += row_problems
            if row_problems:
                continue

            seen[pair] = row
            if YES_NO[row.cells["chosen"].strip().lower()]:
                chosen[pair] = one_line(row.cells["narrative"]) or narratives[pair[0]]

    refuse(problems)
    if not chosen:
        raise UsageError(
            f"{folder / files.CANDIDATES_SHEET}: no row is chosen. Write yes in the column chosen "
            "where the note answers the message."
        )

    pairs = [pair for pair in candidates if pair in chosen]
    return [
        OwnCase(
            id=str(number),
            post_id=pair[0],
            document_id=candidates[pair]["document_id"],
            narrative=chosen[pair],
            sentences=split_note(_note_text(folder, pair[1])),
        )
        for number, pair in enumerate(pairs, start=1)
    ]


def _problems(
    row: TableRow,
    pair: tuple[str, str],
    candidates: Collection[tuple[str, str]],
    seen: Mapping[tuple[str, str], TableRow],
) -> Iterator[str]:
    if pair not in candidates:
        yield (
            f"{row.location('note_id')}: message and note are not a pair of the candidates; leave "
            "the first columns as they were"
        )
    elif pair in seen:
        yield annotation.repeated_row(row, "note_id", "the pair", seen[pair])
    mark = row.cells["chosen"].strip().lower()
    if mark not in YES_NO:
        yield annotation.unknown_mark(row, "chosen", "yes, no or empty", mark)


def _note_text(folder: Path, name: str) -> str:
    path = folder / files.NOTES / file_name(name)
    again = "Align again, in another --folder: construct archehr align."
    with (
        readable(path, missing=again, again=again),
        open_text(path, newline="") as stream,
    ):
        text = stream.read()
    if not text.strip():
        raise UsageError(f"{path}: the note is empty, so it cannot be chosen.")
    return text


_RELEASE: Final = "file of discharge notes"
_COLUMNS: Final = {
    "note_id": ("note_id", "row_id"),
    "hadm_id": ("hadm_id",),
    "text": ("text",),
}
_OPTIONAL: Final = {
    "category": ("category",),
    "error": ("iserror",),
    "row_id": ("row_id",),
}
_CATEGORY: Final = "Discharge summary"


@dataclass(frozen=True, kw_only=True)
class Note:
    """A discharge note.

    Attributes:
        hadm_id: The admission; "" if it is unknown.
        document_id: As in ArchEHR-QA's mapping: `HADM_ID_ROW_ID` for MIMIC-III, else the
            admission or, without one, the note.
    """

    id: str
    hadm_id: str
    document_id: str
    text: str


def read_notes(
    path: Path,
    *,
    only: Collection[str] | None = None,
    on_read: Callable[[int], None] = lambda _: None,
) -> Iterator[Note]:
    """Yields discharge notes in constant memory.

    `on_read` is called with the number of bytes read so far.
    """
    filters: dict[str, Collection[str]] = {"category": (_CATEGORY,)}
    if only is not None:
        filters["note_id"] = only

    has_notes = False
    for row in read_table(
        path,
        _COLUMNS,
        optional=_OPTIONAL,
        filters=filters,
        release=_RELEASE,
        on_read=on_read,
    ):
        if row.cells.get("error", "").strip() != "1":
            has_notes = True
            yield _checked_note(path, row)

    if not has_notes:
        ids = " with the requested ids" if only is not None else ""
        raise UsageError(
            f"{path}: has no note{ids}, or none of the category {_CATEGORY!r} if it has "
            "categories."
        )


def _checked_note(path: Path, row: StreamedRow) -> Note:
    """Makes a note of a row, and names its document as cases do.

    Some tools write admissions as `123.0`, if an empty cell made the column decimal. If
    notes are numbered by `row_id`, a document is named by admission and note, else by the
    admission or, without one, by the note.
    """
    cells = row.cells
    name, hadm_id = (
        cells["note_id"].strip(),
        cells["hadm_id"].strip().removesuffix(".0"),
    )
    for use, value in (("note_id", name), ("hadm_id", hadm_id)):
        if not is_id(value) and not (use == "hadm_id" and not value):
            raise UsageError(
                f"{path}: row {row.number:,}: {use} must be an id, got a text of {len(value)} "
                "characters."
            )

    document = f"{hadm_id}_{name}" if "row_id" in cells and hadm_id else hadm_id or name
    return Note(id=name, hadm_id=hadm_id, document_id=document, text=cells["text"])


K1: Final = 1.5
B: Final = 0.75


Bag = tuple[npt.NDArray[np.intp], npt.NDArray[np.float64], int]
"""Of a note: the numbers of its words that are in any query, ascending; their counts; and its
length in words."""


def bag_of(counts: Mapping[int, int], length: int) -> Bag:
    """Makes a bag from the counts of numbered words."""
    words = sorted(counts)
    return (
        np.array(words, dtype=np.intp),
        np.array([counts[word] for word in words], dtype=np.float64),
        length,
    )


class Hit(NamedTuple):
    """A candidate note; sorts by falling score (`negative`), then by id (`key`)."""

    negative: float
    key: str
    document_id: str

    @property
    def score(self) -> float:
        """The score, more than 0."""
        return -self.negative


class Ranking:
    """The best notes for each query, at most `top`.

    All notes are first passed to `count`, then all again to `rank`.
    """

    def __init__(self, queries: Sequence[Iterable[str]], *, top: int) -> None:
        """Sorts the words of all messages into one table, by word.

        This lets a note be scored by looking up its own words alone. `_starts` has the
        first row of each word; a row has a message and the word's count in it.

        Args:
            queries: The words of each message.
            top: The number of notes kept for each message.
        """
        bags = [Counter(query) for query in queries]
        self.numbers = {
            word: number for number, word in enumerate(sorted(set().union(*bags)))
        }
        rows = sorted(
            (self.numbers[word], query, count)
            for query, bag in enumerate(bags)
            for word, count in bag.items()
        )
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        self._starts = np.searchsorted(table[:, 0], np.arange(len(self.numbers) + 1))
        self._query, self._count = table[:, 1], table[:, 2].astype(np.float64)
        self._top = top
        self._with_word = np.zeros(len(self.numbers), dtype=np.int64)
        self._notes = self._length = 0
        self._idf: npt.NDArray[np.float64] | None = None
        self._floor = np.zeros(len(bags))
        self._hits: list[list[Hit]] = [[] for _ in bags]

    def count(self, bag: Bag) -> None:
        """Counts a note in the first pass."""
        words, _, length = bag
        self._notes += 1
        self._length += length
        self._with_word[words] += 1

    def rank(self, bag: Bag, key: str, document_id: str) -> None:
        """Scores a note in the second pass, by BM25 as Lucene computes it.

        A shared word adds `idf * count / (count + norm)`, once for each time that it is in the
        message; `idf` is the logarithm of 1 + (N - n + 0.5) / (n + 0.5), for n of N notes with
        the word. `norm` grows with the note's length relative to the mean. A note below the
        worst kept one is dropped at once (`_floor`).
        """
        words, counts, length = bag
        if not len(words):
            return

        if self._idf is None:
            self._idf = np.log1p(
                (self._notes - self._with_word + 0.5) / (self._with_word + 0.5)
            )

        norm = K1 * (1.0 - B + B * length * self._notes / self._length)
        scores = self._scores(words, self._idf[words] * counts / (counts + norm))
        for query in np.flatnonzero((scores > 0.0) & (scores >= self._floor)).tolist():
            hits = self._hits[query]
            hits.append(Hit(-float(scores[query]), key, document_id))
            if len(hits) >= 4 * self._top:
                self._cut(query)

    def _scores(
        self, words: npt.NDArray[np.intp], weights: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Scores a note for each message: the sum over the words that they share.

        Args:
            words: The numbers of the note's distinct words.
            weights: The BM25 weight of each word in this note.
        """
        starts = self._starts[words]
        lengths = self._starts[words + 1] - starts
        ends = np.cumsum(lengths)
        rows = np.arange(ends[-1]) + np.repeat(starts - ends + lengths, lengths)
        contributions = np.repeat(weights, lengths) * self._count[rows]

        return np.bincount(
            self._query[rows], weights=contributions, minlength=len(self._hits)
        ).astype(np.float64, copy=False)

    def best(self) -> list[list[Hit]]:
        """Returns the best notes for each query, best first; only notes that share a word."""
        for query in range(len(self._hits)):
            self._cut(query)
        return self._hits

    def _cut(self, query: int) -> None:
        hits = self._hits[query]
        hits.sort()
        del hits[self._top :]
        if len(hits) == self._top:
            self._floor[query] = hits[-1].score
