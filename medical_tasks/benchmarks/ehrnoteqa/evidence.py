"""Reads the paper's two sets whose gold is a passage of the note (section 4.3, figure 10).

These are emrQA (Pampari et al., EMNLP 2018, https://github.com/panushri25/emrQA) and
the MIMIC-III questions of Yue et al. ("CliniQG4QA", BIBM 2021,
https://physionet.org/content/mimic-iii-question-answer/1.0.0/). Both are SQuAD-form
JSON: one entry, a list of entries (emrQA's joined files), or `data` (SQuAD's own). The
files are credentialed, so messages show no value.

The gold is the list of distinct answer passages. Questions without one are left out and
counted; of emrQA's paraphrases the first is asked.
"""

from __future__ import annotations

import codecs
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import ijson

from medical_tasks.benchmarks.ehrnoteqa.questions import (
    QuestionRow,
    one_note_row,
    question_categories,
)
from medical_tasks.errors import UsageError
from medical_tasks.io.files import open_file, readable
from medical_tasks.io.json_records import is_text
from medical_tasks.io.progress import reading

# Results and messages show ids, so an id that could be a text of the file is replaced by
# its hash.
_PLAIN_ID = re.compile(r"[!-~]{1,60}")
_HASH_DIGITS = 16
_TEXT = is_text(blank=True)

_Object = Mapping[str, object]


def read_evidence_rows(path: Path) -> Iterator[QuestionRow]:
    """Reads the questions of a SQuAD-form file of any size, one note at a time.

    Questions without a passage are skipped, and their number is noted. A note's id is
    its `note_id`, else the entry's title, with `/2` for further paragraphs and `#2` for
    another text with that title.
    """
    ids = _Unique()
    count = left_out = 0
    with reading(path) as on_read:
        notes = _Notes(path)
        for paragraph in _walk(path, on_read):
            if not paragraph.number:
                continue

            location = _Location(path, paragraph)
            content = location.mapping(paragraph.value)
            text = _note(location, content)
            note_id = notes.name(location, content, text)
            for number, value in enumerate(location.listed(content, "qas"), start=1):
                count += 1
                location = replace(location, question=number)
                question = location.mapping(value)
                question_text = _question_text(location, question)
                evidence = _evidence(location, question)
                if not evidence:
                    left_out += 1
                    continue

                yield one_note_row(
                    ids.name(
                        _plain(question.get("id"))
                        or _hashed(f"{note_id}\n{question_text}")
                    ),
                    question_text,
                    note_id=note_id,
                    text=text,
                    categories=question_categories(question_text),
                    evidence=evidence,
                )

    if count == left_out:
        problem = (
            f"none of its {count:,} questions has a passage that answers it"
            if count
            else "has no question"
        )
        raise UsageError(
            f"{path}: {problem}. Give --source the file of questions and answers itself."
        )

    if left_out:
        print(
            f"note: {path.name}: {left_out:,} of {count:,} questions have no passage that "
            "answers them and are left out",
            file=sys.stderr,
        )


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]


def _plain(value: object) -> str:
    """The id from a text or whole number of the file; "" for any other value (emrQA has lists there)."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or not _TEXT.holds(value):
        return ""

    return (
        value.strip() if _PLAIN_ID.fullmatch(value.strip()) else _hashed(value.strip())
    )


class _Unique:
    """Makes names unique by a number."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def name(self, base: str) -> str:
        name = base
        number = self._last.get(base, 1)
        while name in self._last:
            number += 1
            name = f"{base}#{number}"
        self._last[name] = 1
        self._last[base] = number
        return name


class _Notes:
    """Names the notes; if titles follow their paragraphs, the file is read once more.

    Example: an entry titled `7-DS` has two paragraphs: they are the notes `7-DS` and `7-DS/2`.
    A second entry with that title and another text gets a name of its own.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._titles: dict[int, object] | None = None
        # title and hash of the text to name
        self._named: dict[tuple[str, str], str] = {}
        self._unique = _Unique()

    def name(self, location: _Location, content: _Object, text: str) -> str:
        """The name of a paragraph's note: its `note_id`, else its entry's title.

        Further paragraphs of an entry get a number, as in `TITLE/2`. The same title with
        another text gets another name; the same text keeps its name.
        """
        if "note_id" in content:
            name = _plain(content["note_id"])
            if not name:
                raise location.wrong(
                    "note_id",
                    "must be a text that is not empty, or a whole number",
                    content["note_id"],
                )

            return name

        paragraph = location.paragraph
        title = paragraph.title
        if title is None:
            if self._titles is None:
                self._titles = {
                    entry.entry: entry.title
                    for entry in _walk(self._path)
                    if not entry.number
                }

            title = self._titles.get(paragraph.entry)

        name = _plain(title)
        if not name:
            raise location.wrong(
                "title",
                "must be a text or a whole number where paragraphs have no note_id",
                title,
            )

        numbered = name if paragraph.number == 1 else f"{name}/{paragraph.number}"
        # Each challenge in emrQA restarts the numbers of its notes, so that the same title may mean
        # the same note or another one.
        key = (numbered, _hashed(text))
        if key not in self._named:
            self._named[key] = self._unique.name(numbered)

        return self._named[key]


@dataclass(frozen=True)
class _Location:
    """A location in the file, with checks of its values.

    `question`: its number, from 1; 0 for the paragraph itself.
    """

    path: Path
    paragraph: _Paragraph
    question: int = 0

    def wrong(self, field: str, rule: str, value: object) -> UsageError:
        """The error for a field that breaks a rule; it shows the value's type and length only."""
        where = f"entry {self.paragraph.entry}, paragraph {self.paragraph.number}"
        if self.question:
            where += f", question {self.question}"
        got = (
            "nothing"
            if value is None
            else f"a {type(value).__name__} of {len(repr(value))} characters"
        )
        return UsageError(f"{self.path}: {where}, field {field!r}: {rule}, got {got}.")

    def mapping(self, value: object) -> _Object:
        if not isinstance(value, dict):
            raise self.wrong(
                "qas" if self.question else "paragraphs",
                "must be a list of objects",
                value,
            )
        return value

    def listed(self, content: _Object, field: str) -> list[object]:
        value = content.get(field)
        if not isinstance(value, list):
            raise self.wrong(field, "must be a list", value)
        return value

    def texts(self, field: str, value: object) -> list[str]:
        texts = value if isinstance(value, list) else [value]
        if not all(map(_TEXT.holds, texts)):
            raise self.wrong(field, "must be a text or a list of texts", value)
        return list(map(str, texts))


def _note(location: _Location, content: _Object) -> str:
    lines = location.texts("context", content.get("context"))
    # Some of emrQA's files keep line ends, others do not.
    text = ("" if any(line.endswith("\n") for line in lines) else "\n").join(lines)
    if not text.strip():
        raise location.wrong("context", "must not be empty", content["context"])
    return text


def _question_text(location: _Location, question: _Object) -> str:
    """The question's text, the first of several paraphrases."""
    texts = location.texts("question", question.get("question"))
    first = next((text.strip() for text in texts if text.strip()), "")
    if not first:
        raise location.wrong("question", "must not be empty", question["question"])
    return first


def _evidence(location: _Location, question: _Object) -> list[str]:
    """The distinct passages of the answers: `evidence`, and the text if the evidence lacks it (emrQA's "yes")."""
    if question.get("is_impossible") is True:
        return []

    passages: dict[str, None] = {}
    for answer in location.listed(question, "answers"):
        if not isinstance(answer, dict):
            raise location.wrong("answers", "must be a list of objects", answer)
        if "text" not in answer and "evidence" not in answer:
            raise location.wrong("answers", "must each have a text", answer)

        lines, texts = (
            [
                text.strip()
                for text in location.texts(field, answer.get(field, ""))
                if text.strip()
            ]
            for field in ("evidence", "text")
        )
        passages |= dict.fromkeys(
            (*lines, *(text for text in texts if not _has_words(lines, text)))
        )

    return list(passages)


def _has_words(lines: list[str], text: str) -> bool:
    """Whether the lines have the words of the text, one after another."""
    needle, haystack = (
        " ".join(words.split()).casefold() for words in (text, " ".join(lines))
    )
    start = haystack.find(needle)
    while start >= 0:
        end = start + len(needle)
        around = haystack[max(start - 1, 0) : start] + haystack[end : end + 1]
        if not any(map(str.isalnum, around)):
            return True

        start = haystack.find(needle, start + 1)

    return False


_DEEPEST = 500  # limit of nested lists and objects


class _FormError(Exception):
    """A deviation from SQuAD's form."""


@dataclass(frozen=True, kw_only=True)
class _Paragraph:
    """A paragraph of the file; one with number 0 carries only its entry's title.

    Attributes:
        title: the entry's title, if it comes before the paragraphs.
    """

    entry: int
    number: int
    title: object
    value: object = None


def _walk(
    path: Path, on_read: Callable[[int], None] = lambda _: None
) -> Iterator[_Paragraph]:
    """Reads a SQuAD-form file paragraph by paragraph; the files are too large to load.

    Args:
        path: the JSON file, compressed or not.
        on_read: receives the number of bytes read so far.

    Yields:
        Each entry's title as a paragraph with number 0, and its paragraphs from 1.
    """
    position = "at its beginning"
    try:
        with readable(path), open_file(path) as stream:
            if stream.peek(3).startswith(codecs.BOM_UTF8):
                stream.read(3)

            for paragraph in _file(ijson.basic_parse(stream, use_float=True)):
                on_read(stream.tell())
                yield paragraph
                position = (
                    f"after entry {paragraph.entry}, paragraph {paragraph.number}"
                )
    except (_FormError, ijson.JSONError) as error:
        # The library's own message quotes the file.
        reason = (
            error
            if isinstance(error, _FormError)
            else "it is cut off, damaged or not UTF-8"
        )
        message = f"{path}: not a SQuAD-form JSON file: {reason}, {position}. Download it, or make it, again."
    else:
        return

    raise UsageError(message)


_Event = tuple[str, object]


def _file(events: Iterator[_Event]) -> Iterator[_Paragraph]:
    event, _ = next(events)
    yield from (
        _entry(events, 1, outer=True)
        if event == "start_map"
        else _entries(events, event)
    )
    next(events, None)  # raises the library's error if text follows the end


def _entries(events: Iterator[_Event], event: str) -> Iterator[_Paragraph]:
    for number, (first, _) in enumerate(_elements(events, event), start=1):
        if first != "start_map":
            raise _FormError("an entry is no object")
        yield from _entry(events, number)


def _entry(
    events: Iterator[_Event], number: int, *, outer: bool = False
) -> Iterator[_Paragraph]:
    """Reads one object of the file, and yields its paragraphs one by one.

    Members come in any order. If the title comes after the paragraphs, these have none,
    and `_Notes.name` looks it up in a second pass.
    """
    title: object = None
    names: set[object] = set()
    for _, name in iter(lambda: next(events), ("end_map", None)):
        if name in names:
            raise _FormError("an object has two members of one name")

        names.add(name)
        event, value = next(events)
        if name == "paragraphs":
            for index, first in enumerate(_elements(events, event), start=1):
                yield _Paragraph(
                    entry=number,
                    number=index,
                    title=title,
                    value=_value(events, *first),
                )
        elif name == "data" and outer:
            yield from _entries(events, event)
        elif name == "title":
            title = _value(events, event, value)
            yield _Paragraph(entry=number, number=0, title=title)
        else:
            _value(events, event, value)

    required = {"paragraphs", "data"} if outer else {"paragraphs"}
    if not names & required:
        raise _FormError(f"an object has no {' or '.join(map(repr, sorted(required)))}")


def _elements(events: Iterator[_Event], event: str) -> Iterator[_Event]:
    """The first event of each element of a list; the caller must consume the others."""
    if event != "start_array":
        raise _FormError("it must be a list")
    return iter(lambda: next(events), ("end_array", None))


def _value(events: Iterator[_Event], event: str, value: object) -> object:
    builder, depth = ijson.ObjectBuilder(), 0
    while True:
        builder.event(event, value)
        depth += event.startswith("start_")
        depth -= event.startswith("end_")
        if not depth:
            return builder.value
        if depth > _DEEPEST:
            raise _FormError("nested too deeply")
        event, value = next(events)
