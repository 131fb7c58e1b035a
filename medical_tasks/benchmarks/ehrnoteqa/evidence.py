"""The paper's two sets whose gold is a passage of the note (section 4.3, figure 10): emrQA and MIMIC-III questions.

Pampari et al., "emrQA", EMNLP 2018, https://github.com/panushri25/emrQA; Yue et al., "CliniQG4QA", BIBM 2021,
https://physionet.org/content/mimic-iii-question-answer/1.0.0/. Both are SQuAD-form JSON, which may hold one entry, a list of
entries (emrQA's files put together) or `data` (SQuAD's own). The files are credentialed: messages show no value.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from medical_tasks.benchmarks.ehrnoteqa.questions import one_note_row, question_categories
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import open_file
from medical_tasks.io.json_records import is_text
from medical_tasks.io.progress import reading

# Ids are shown in results and messages: what could be a text of the file is replaced by its hash.
_PLAIN_ID = re.compile(r"[!-~]{1,60}")
_HASH_DIGITS = 16
_TEXT = is_text(blank=True)


def read_evidence_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Reads the questions of a SQuAD-form file of any size, one note at a time; those without a passage are counted.

    A note's id is its `note_id`, else the entry's title, with `/2` for further paragraphs and `#2` for another text of that title.
    """
    ids = _Unique()
    found = left_out = 0
    with reading(path) as on_read:
        notes = _Notes(path)
        for paragraph in _walk(path, on_read):
            if not paragraph.number:
                continue
            place = _Place(path, paragraph)
            content = place.mapping(paragraph.value)
            text = _note(place, content)
            note_id = notes.name(place, content, text)
            for found_here, value in enumerate(place.listed(content, "qas"), start=1):
                found += 1
                place = replace(place, question=found_here)
                question = place.mapping(value)
                asked, evidence = _asked(place, question), _evidence(place, question)
                if not evidence:
                    left_out += 1
                    continue
                yield one_note_row(
                    ids.name(_plain(question.get("id")) or _hashed(f"{note_id}\n{asked}")),
                    asked,
                    note_id=note_id,
                    text=text,
                    categories=question_categories(asked),
                    evidence=evidence,
                )
    if found == left_out:
        told = f"none of its {found:,} questions has a passage that answers it" if found else "has no question"
        raise UsageError(f"{path}: {told}. Give --source the file of questions and answers itself.")
    if left_out:
        print(
            f"note: {path.name}: {left_out:,} of {found:,} questions have no passage that answers them and are left out",
            file=sys.stderr,
        )


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_DIGITS]


def _plain(value: Any) -> str:
    """The id that a text or whole number of the file gives; "" for any other value (emrQA has lists there)."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip() or not _TEXT.holds(value):
        return ""
    return value.strip() if _PLAIN_ID.fullmatch(value.strip()) else _hashed(value.strip())


class _Unique:
    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def name(self, wanted: str) -> str:
        name = wanted
        number = self._last.get(wanted, 1)
        while name in self._last:
            number += 1
            name = f"{wanted}#{number}"
        self._last[name] = 1
        self._last[wanted] = number
        return name


class _Notes:
    """Names the notes; a title behind its paragraphs costs another look through the file, once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._titles: dict[int, Any] | None = None
        self._named: dict[tuple[str, str], str] = {}  # title and hash of the text to name
        self._unique = _Unique()

    def name(self, place: _Place, content: Mapping[str, Any], text: str) -> str:
        if "note_id" in content:
            name = _plain(content["note_id"])
            if not name:
                raise place.wrong("note_id", "must be a text that is not empty, or a whole number", content["note_id"])
            return name
        paragraph = place.paragraph
        title = paragraph.title
        if title is None:
            if self._titles is None:
                self._titles = {each.entry: each.title for each in _walk(self._path) if not each.number}
            title = self._titles.get(paragraph.entry)
        name = _plain(title)
        if not name:
            raise place.wrong("title", "must be a text or a whole number where paragraphs have no note_id", title)
        wanted = name if paragraph.number == 1 else f"{name}/{paragraph.number}"
        # Each challenge in emrQA numbers its notes: the same title may mean another note, or the same one again.
        key = (wanted, _hashed(text))
        if key not in self._named:
            self._named[key] = self._unique.name(wanted)
        return self._named[key]


@dataclass(frozen=True)
class _Place:
    """Where in the file one is, and checks of what is there. `question`: its number, from 1; 0 for the paragraph itself."""

    path: Path
    paragraph: _Paragraph
    question: int = 0

    def wrong(self, field: str, rule: str, value: Any) -> UsageError:
        """The error for a field that breaks a rule; of the value it tells type and length."""
        where = f"line {self.paragraph.line}, entry {self.paragraph.entry}, paragraph {self.paragraph.number}"
        if self.question:
            where += f", question {self.question}"
        got = "nothing" if value is None else f"a {type(value).__name__} of {len(repr(value))} characters"
        return UsageError(f"{self.path}: {where}, field {field!r}: {rule}, got {got}.")

    def mapping(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong("qas" if self.question else "paragraphs", "must be a list of objects", value)
        return value

    def listed(self, content: Mapping[str, Any], field: str) -> list[Any]:
        value = content.get(field)
        if not isinstance(value, list):
            raise self.wrong(field, "must be a list", value)
        return value

    def texts(self, field: str, value: Any) -> list[str]:
        texts = value if isinstance(value, list) else [value]
        if not all(map(_TEXT.holds, texts)):
            raise self.wrong(field, "must be a text or a list of texts", value)
        return texts


def _note(place: _Place, content: Mapping[str, Any]) -> str:
    lines = place.texts("context", content.get("context"))
    # Some of emrQA's files keep the lines' ends, others not.
    text = ("" if any(line.endswith("\n") for line in lines) else "\n").join(lines)
    if not text.strip():
        raise place.wrong("context", "must not be empty", content["context"])
    return text


def _asked(place: _Place, question: Mapping[str, Any]) -> str:
    """What is asked, of paraphrases the first."""
    texts = place.texts("question", question.get("question"))
    asked = next((text.strip() for text in texts if text.strip()), "")
    if not asked:
        raise place.wrong("question", "must not be empty", question["question"])
    return asked


def _evidence(place: _Place, question: Mapping[str, Any]) -> list[str]:
    """The distinct passages: an answer's `evidence`, and its text where it does not stand in there (emrQA's "yes")."""
    if question.get("is_impossible") is True:
        return []
    passages: dict[str, None] = {}
    for answer in place.listed(question, "answers"):
        if not isinstance(answer, dict):
            raise place.wrong("answers", "must be a list of objects", answer)
        if "text" not in answer and "evidence" not in answer:
            raise place.wrong("answers", "must each have a text", answer)
        lines, texts = (
            [text.strip() for text in place.texts(field, answer.get(field, "")) if text.strip()]
            for field in ("evidence", "text")
        )
        passages |= dict.fromkeys((*lines, *(text for text in texts if not _stands_in(text, lines))))
    return list(passages)


def _stands_in(text: str, lines: list[str]) -> bool:
    """Whether the lines have the words of the text, one after another."""
    words, within = (" ".join(each.split()).casefold() for each in (text, " ".join(lines)))
    place = within.find(words)
    while place >= 0:
        around = within[max(place - 1, 0) : place] + within[place + len(words) : place + len(words) + 1]
        if not any(map(str.isalnum, around)):
            return True
        place = within.find(words, place + 1)
    return False


# emrQA's fullest notes have some tens of millions with all their questions; beyond is the rest of a file behind a lost bracket.
PARAGRAPH_LIMIT_CHARS = 512 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_SPACE = " \t\r\n"
# A value that ends with the text read so far fails there, or up to one escape before.
_NEAR_END = 16
_EXPONENT = len("e+1")


@dataclass(frozen=True, kw_only=True)
class _Paragraph:
    """A paragraph as it stands in the file; number 0 is where the entry's title was come upon."""

    line: int
    entry: int
    number: int
    title: Any  # of the entry, where it stands before the paragraphs
    value: Any = None


def _walk(path: Path, on_read: Callable[[int], None] = lambda _: None) -> Iterator[_Paragraph]:
    try:
        with open_file(path) as stream:
            text = _Text(path, stream, on_read)
            if not text.peek():
                raise text.wrong("it is empty")
            if text.peek() == "[":
                yield from _entries(text)
            else:
                yield from _entry(text, 1, outer=True)
            if text.peek():
                raise text.wrong("something stands behind the end of the JSON value")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error


def _entries(text: _Text) -> Iterator[_Paragraph]:
    for number in text.elements():
        yield from _entry(text, number)


def _entry(text: _Text, number: int, *, outer: bool = False) -> Iterator[_Paragraph]:
    title: Any = None
    found = False
    for name in text.members():
        if name == "paragraphs":
            found = True
            for place in text.elements():
                line = text.line()
                yield _Paragraph(line=line, entry=number, number=place, title=title, value=text.value())
        elif name == "data" and outer:
            found = True
            yield from _entries(text)
        elif name == "title":
            title = text.value()
            yield _Paragraph(line=text.line(), entry=number, number=0, title=title)
        else:
            text.value()
    if not found:
        wanted = "'data' or 'paragraphs'" if outer else "'paragraphs'"
        raise text.wrong(f"the object that ends there has no {wanted}")


class _Text:
    def __init__(self, path: Path, stream: BinaryIO, on_read: Callable[[int], None]) -> None:
        self._path = path
        self._stream = stream
        self._on_read = on_read
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._json = json.JSONDecoder()
        self._held = ""
        self._at = 0
        self._ended = False
        self._line = 1
        self._counted = 0  # how far in the held text lines were counted

    def line(self) -> int:
        self.peek()
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def wrong(self, reason: str) -> UsageError:
        return UsageError(
            f"{self._path}: line {self.line()}: not a SQuAD-form JSON file: {reason}. Download it, or make it, again."
        )

    def peek(self) -> str:
        """Returns the next character that is no white space, and leaves it there; "" at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._held) or self._ended:
                return self._held[self._at : self._at + 1]
            self._more()

    def elements(self) -> Iterator[int]:
        """Counts through a list; the caller takes the value each time."""
        return self._parts("[", "]", "a list")

    def members(self) -> Iterator[str]:
        """Yields the names of an object; the caller takes the value each time."""
        names: set[str] = set()
        for _ in self._parts("{", "}", "an object"):
            name = self.value() if self.peek() == '"' else None
            if not isinstance(name, str) or self.peek() != ":":
                raise self._broken()
            self._at += 1
            if name in names:
                raise self.wrong("the object that holds this has two members of one name")
            names.add(name)
            yield name

    def _parts(self, opening: str, closing: str, kind: str) -> Iterator[int]:
        if self.peek() != opening:
            raise self.wrong(f"{kind} must stand there") if self.peek() else self._broken()
        self._at += 1
        if self.peek() == closing:
            self._at += 1
            return
        number = 1
        while True:
            yield number
            number += 1
            sign = self.peek()
            if sign not in (",", closing):
                raise self._broken()
            self._at += 1
            if sign == closing:
                return

    def _broken(self) -> UsageError:
        return self.wrong("it is damaged there" if self.peek() else "it is cut off there")

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                # Either the rest of the value is not held yet, or it is broken where the decoder says.
                unfinished = error.pos + _NEAR_END > len(self._held) or error.msg.startswith("Unterminated string")
                if self._ended or not unfinished:
                    self._at = error.pos
                    raise self.wrong(f"it is {'cut off or ' if unfinished else ''}damaged there") from error
            except (ValueError, RecursionError) as error:
                reason = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
                raise self.wrong(f"{reason} in the value that begins there") from error
            else:
                # The first half of a number is a number: `1` of `12`, `1.5` of `1.5e+3`.
                cut = self._held[end : end + 1] in (".", "e", "E") and len(self._held) - end < _EXPONENT
                if self._ended or (end < len(self._held) and not cut):
                    self._at = end
                    return value
            if len(self._held) - self._at > PARAGRAPH_LIMIT_CHARS:
                raise self.wrong(f"the value that begins there has more than {PARAGRAPH_LIMIT_CHARS:,} characters")
            self._more()

    def _more(self) -> None:
        """Holds at least twice as much of what comes next, so that trying again costs no more than reading did."""
        self._line += self._held.count("\n", self._counted, self._at)
        rest = self._held[self._at :]
        self._at = self._counted = 0
        raw = self._stream.read(max(_CHUNK_BYTES, len(rest)))
        self._on_read(self._stream.tell())
        self._ended = not raw
        try:
            self._held = rest + self._decode.decode(raw, final=self._ended)
        except UnicodeDecodeError as error:
            raise UsageError(
                f"{self._path}: not UTF-8 near byte {self._stream.tell():,} (byte 0x{error.object[error.start]:02x}). Download it, "
                "or make it, again."
            ) from error
