"""The notes that fit each message best, on a sheet to choose from, and the chosen pairs as cases (section Alignment).

The sheet has the first ten by BM25 for each message.

Notes are MIMIC-IV-Note's `discharge.csv`, MIMIC-III's `NOTEEVENTS.csv`, or a table of the same meaning. They are read and not kept:
two passes over a file of any size, in the memory of the queries. Only words of the queries can count, so of each note nothing else
is looked at: the first pass counts in how many notes each of these words stands and how long notes are, the second scores every
note for all queries and keeps the best few of each. The scores are those of the library bm25s (method `lucene`), which would need
an index of all notes in memory. Source: Robertson and Zaragoza (2009), Foundations and Trends in Information Retrieval 3:333; idf
and saturation as in Lucene.

Whoever chooses may change a message a little so that it fits the note ("mother" to "father"); what it asks stays as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from medical_tasks.benchmarks.archehr_qa.construction import files
from medical_tasks.benchmarks.archehr_qa.construction.codes import AdmissionCodes, load_admission_codes, load_post_codes
from medical_tasks.benchmarks.archehr_qa.construction.files import (
    WORDS,
    content_words,
    header_of,
    is_id,
    one_line,
    raw_words,
    searched,
    table_columns,
)
from medical_tasks.benchmarks.archehr_qa.construction.posts import Post, load_posts
from medical_tasks.benchmarks.archehr_qa.construction.rounds import OwnCase, split_note
from medical_tasks.data import construction
from medical_tasks.data.construction import SheetRow, file_name, read_sheet, write_sheet
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.csv_files import stream_rows
from medical_tasks.io.files import WholeFile, open_text
from medical_tasks.io.json_records import Field, Record
from medical_tasks.io.progress import Progress

TOP: Final = 10
"""Notes a message (paper)."""

COLUMNS: Final = ("index", "post_id", "rank", "note_id", "score", "notes", "post", "chosen", "narrative", "comment")

# Words that were looked up are kept until there are so many; figures in notes have no end.
_KNOWN_WORDS: Final = 1 << 17
_OTHER: Final = -1
_FUNCTION: Final = -2
_ID: Final = construction.private_field(Field(holds=is_id, rule="an id"))
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
    """Finds the `top` notes for each message and writes the sheet to choose from, with the notes beside it.

    Returns the content of `align.json`: recipe and counts, no text.
    """
    if not 1 <= top <= 100:
        raise UsageError(f"--top must be from 1 to 100, got {top}.")
    posts = load_posts(folder)
    titles = load_post_codes(folder)
    codes = load_admission_codes(folder)
    if not source.exists():
        raise MissingError(f"{source}: no such file. Give --source the discharge notes.")
    recipe = {
        "notes_sha256": construction.text_sha256(source),
        "posts_sha256": construction.text_sha256(folder / files.POSTS),
        "post_codes_sha256": construction.text_sha256(folder / files.POST_CODES) if titles else None,
        "note_codes_sha256": construction.text_sha256(folder / files.NOTE_CODES) if len(codes) else None,
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
    digest = construction.write_lines(folder / files.CANDIDATES, lines)
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
    construction.write_json(place, made)
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
    place = construction.make_folder(folder / files.NOTES)
    seen: set[str] = set()
    for note in read_notes(source, only=names):
        if note.id in seen:
            raise UsageError(f"{source}: a note's id stands twice ({note.id}); ids must be unique.")
        seen.add(note.id)
        with WholeFile(place / file_name(note.id), private=True) as part:
            part.write(note.text)


def load_candidates(folder: Path) -> list[Record]:
    """Reads which notes were found for which message, without texts."""
    made = files.read_json(folder / files.ALIGNMENT, step="align")
    files.checked_step(folder / files.CANDIDATES, made, step="align, in another --folder")
    return files.read_lines(folder / files.CANDIDATES, _FIELDS, step="align")


YES_NO: Final = {"yes": True, "y": True, "no": False, "n": False, "": False}
_LISTED: Final = 20


def chosen_cases(folder: Path, sheets: Sequence[Path] = ()) -> list[OwnCase]:
    """Reads the edited sheet of candidates and makes a case of every pair that is chosen, with its whole note.

    The sheet is by default the one in the folder; a row may be in one of several alone, and need be in none. Cases are
    numbered from 1 in the order of candidates. Wrong rows are listed all at once, by file, row and column.
    """
    candidates = {(each.values["post_id"], each.values["note_id"]): each.values for each in load_candidates(folder)}
    narratives = {post.id: post.text for post in load_posts(folder)}
    chosen: dict[tuple[str, str], str] = {}
    seen: dict[tuple[str, str], SheetRow] = {}
    problems: list[str] = []
    for path in sheets or (folder / files.CANDIDATES_SHEET,):
        for row in read_sheet(path, COLUMNS):
            pair = row.cells["post_id"].strip(), row.cells["note_id"].strip()
            found = list(_problems(row, pair, candidates, seen))
            problems += found
            if found:
                continue
            seen[pair] = row
            if YES_NO[row.cells["chosen"].strip().lower()]:
                chosen[pair] = one_line(row.cells["narrative"]) or narratives[pair[0]]
    refuse(problems)
    if not chosen:
        raise UsageError(
            f"{folder / files.CANDIDATES_SHEET}: no row is chosen. Write yes in the column chosen where the note "
            "answers the message."
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
    row: SheetRow,
    pair: tuple[str, str],
    candidates: Mapping[tuple[str, str], Any],
    seen: Mapping[tuple[str, str], SheetRow],
) -> Iterator[str]:
    if pair not in candidates:
        yield f"{row.place('note_id')}: message and note are no pair of the candidates; leave the first columns as they were"
    elif pair in seen:
        before = seen[pair]
        yield f"{row.place('note_id')}: the pair stands in {before.path}, row {before.number}, already"
    mark = row.cells["chosen"].strip().lower()
    if mark not in YES_NO:
        yield f"{row.place('chosen')}: must be yes, no or empty, got a text of {len(mark)} characters"


def refuse(problems: Sequence[str]) -> None:
    """Reports everything that is wrong with sheets."""
    if problems:
        more = f"\n  and {len(problems) - _LISTED} more" if len(problems) > _LISTED else ""
        listed = "".join(f"\n  {problem}" for problem in problems[:_LISTED])
        raise UsageError(f"the sheets cannot be taken in, nothing is written:{listed}{more}")


def _note_text(folder: Path, name: str) -> str:
    place = folder / files.NOTES / file_name(name)
    try:
        with open_text(place, newline="") as stream:
            text = stream.read()
    except FileNotFoundError as error:
        raise MissingError(f"{place}: not there. Align again, in another --folder: construct archehr align.") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = system_reason(error) if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"{place}: cannot be read ({reason}).") from error
    if not text.strip():
        raise UsageError(f"{place}: the note is empty, so it cannot be chosen.")
    return text


_RELEASE: Final = "file of discharge notes"
_COLUMNS: Final = {"note_id": ("note_id", "row_id"), "hadm_id": ("hadm_id",), "text": ("text",)}
_OPTIONAL: Final = {"category": ("category",), "error": ("iserror",), "row_id": ("row_id",)}
_CATEGORY: Final = "Discharge summary"


@dataclass(frozen=True, kw_only=True)
class Note:
    """A discharge note.

    Attributes:
        document_id: as ArchEHR-QA's mapping names notes: `HADM_ID_ROW_ID` for files of MIMIC-III's columns, else the
            admission, or the note where that is not known.
    """

    id: str
    hadm_id: str  # the admission's; "" where it is not known
    document_id: str
    text: str


def read_notes(
    path: Path, *, only: Collection[str] | None = None, on_read: Callable[[int], None] = lambda _: None
) -> Iterator[Note]:
    """Yields notes one by one, in constant memory; `on_read` is called with the number of bytes read so far.

    A file with a column `category` holds notes of all kinds, and its discharge summaries are taken; rows that are marked as
    errors (`iserror` 1) are not. The columns are `note_id` (or `row_id`), `hadm_id` and `text`; others are passed over.
    """
    header = header_of(path, release=_RELEASE)
    columns = table_columns(header, {**_COLUMNS, **_OPTIONAL})
    missing = [" or ".join(names) for use, names in _COLUMNS.items() if use not in columns]
    if missing:
        raise UsageError(f"{path}: wrong columns for the {_RELEASE}; missing, or more than once: {', '.join(missing)}.")
    wanted: dict[str, Collection[str]] = {columns["category"]: (_CATEGORY,)} if "category" in columns else {}
    if only is not None:
        wanted[columns["note_id"]] = only
    found = False
    for row in stream_rows(path, header, wanted=wanted, release=_RELEASE, on_read=on_read):
        cells = {use: row.cells[name] for use, name in columns.items()}
        if cells.get("error", "").strip() != "1":
            found = True
            yield _checked_note(path, row.line, cells)
    if not found:
        which = f"no note of the category {_CATEGORY!r}" if "category" in columns else "no note"
        raise UsageError(f"{path}: has {which}{' with the ids looked for' if only is not None else ''}.")


def _checked_note(path: Path, line: Callable[[], int], cells: Mapping[str, str]) -> Note:
    name, hadm_id = cells["note_id"].strip(), cells["hadm_id"].strip().removesuffix(".0")
    for use, value in (("note_id", name), ("hadm_id", hadm_id)):
        if not is_id(value) and not (use == "hadm_id" and not value):
            raise UsageError(f"{path}: line {line()}: {use} must be an id, got a text of {len(value)} characters.")
    document = f"{hadm_id}_{name}" if "row_id" in cells and hadm_id else hadm_id or name
    return Note(id=name, hadm_id=hadm_id, document_id=document, text=cells["text"])


K1: Final = 1.5
B: Final = 0.75


@dataclass(frozen=True)
class Bag:
    """The words of a note that any query has, by number, ascending, with their counts; `length` counts all its words."""

    words: npt.NDArray[np.intp]
    counts: npt.NDArray[np.float64]
    length: int


@dataclass(frozen=True, order=True)
class Hit:
    """A note that was found; ordered by rank: by falling score (`negative`), of equally good notes by ascending id (`key`)."""

    negative: float
    key: str
    about: Any

    @property
    def score(self) -> float:
        """The score, more than 0."""
        return -self.negative


class Vocabulary:
    """The words of all queries, and which query has which; what stands twice in a query counts twice."""

    def __init__(self, queries: Sequence[Iterable[str]]) -> None:
        bags = [Counter(query) for query in queries]
        self.numbers = {word: number for number, word in enumerate(sorted(set().union(*bags)))}
        self.queries = len(bags)
        postings = sorted(
            (self.numbers[word], query, count) for query, bag in enumerate(bags) for word, count in bag.items()
        )
        table = np.array(postings, dtype=np.int64).reshape(-1, 3)
        self._starts = np.searchsorted(table[:, 0], np.arange(len(self.numbers) + 1))
        self._query = table[:, 1]
        self._count = table[:, 2].astype(np.float64)

    def bag(self, counts: Mapping[int, int], length: int) -> Bag:
        """Makes a bag of the counts of numbered words."""
        words = np.array(sorted(counts), dtype=np.intp)
        return Bag(words, np.array([counts[word] for word in words.tolist()], dtype=np.float64), length)

    def scores(self, words: npt.NDArray[np.intp], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sums the weights of a note's words for each query."""
        starts = self._starts[words]
        lengths = self._starts[words + 1] - starts
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
        each = np.repeat(weights, lengths) * self._count[places]
        return np.bincount(self._query[places], weights=each, minlength=self.queries).astype(np.float64, copy=False)


class Ranking:
    """The best notes for each query, at most `top`.

    Every note is shown twice: to `count`, all of them, and then to `rank`.
    """

    def __init__(self, vocabulary: Vocabulary, *, top: int) -> None:
        self._vocabulary = vocabulary
        self._top = top
        self._with_word = np.zeros(len(vocabulary.numbers), dtype=np.int64)
        self._notes = 0
        self._length = 0
        self._idf: npt.NDArray[np.float64] | None = None
        self._floor = np.zeros(vocabulary.queries)
        self._hits: list[list[Hit]] = [[] for _ in range(vocabulary.queries)]

    def count(self, bag: Bag) -> None:
        """Takes a note in, the first time."""
        self._notes += 1
        self._length += bag.length
        self._with_word[bag.words] += 1

    def rank(self, bag: Bag, key: str, about: Any) -> None:
        """Takes a note in, the second time; `about` is what is to be known of it if it is among the best."""
        if not len(bag.words):
            return
        if self._idf is None:
            self._idf = np.log1p((self._notes - self._with_word + 0.5) / (self._with_word + 0.5))
        norm = K1 * (1.0 - B + B * bag.length * self._notes / self._length)
        scores = self._vocabulary.scores(bag.words, self._idf[bag.words] * bag.counts / (bag.counts + norm))
        for query in np.flatnonzero((scores > 0.0) & (scores >= self._floor)).tolist():
            hits = self._hits[query]
            hits.append(Hit(-float(scores[query]), key, about))
            if len(hits) >= 4 * self._top:
                self._cut(query)

    def best(self) -> list[list[Hit]]:
        """The best notes of each query, the best first; fewer where fewer share a word with it."""
        for query in range(len(self._hits)):
            self._cut(query)
        return self._hits

    def _cut(self, query: int) -> None:
        hits = self._hits[query]
        hits.sort(key=lambda hit: (hit.negative, hit.key))
        del hits[self._top :]
        if len(hits) == self._top:
            self._floor[query] = hits[-1].score
