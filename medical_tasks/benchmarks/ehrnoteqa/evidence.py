"""The paper's two sets whose gold is a passage of the note: emrQA and the MIMIC-III questions of Yue et al.

Pampari et al., "emrQA: A Large Corpus for Question Answering on Electronic Medical Records", EMNLP 2018,
https://github.com/panushri25/emrQA. Yue et al., "CliniQG4QA: Generating Diverse Questions for Domain Adaptation of Clinical
Question Answering", BIBM 2021, https://physionet.org/content/mimic-iii-question-answer/1.0.0/. The paper gives a judge the
passages in the place of an answer (section 4.3, appendix E.1, figure 10).

Both are SQuAD-form JSON, which `squad_stream` reads note by note and `squad_questions` checks.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.categories import question_categories
from medical_tasks.benchmarks.ehrnoteqa.rows import one_note_row
from medical_tasks.benchmarks.ehrnoteqa.squad_questions import SquadPlace
from medical_tasks.benchmarks.ehrnoteqa.squad_stream import read_paragraphs, read_titles
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.json_records import is_text
from medical_tasks.io.progress import Progress

__all__ = ["read_evidence_rows"]

# Ids are shown in results and messages: what could be a text of the file is replaced by its hash.
_PLAIN_ID = re.compile(r"[!-~]{1,60}")
_HASH_DIGITS = 16
_MEGABYTE = 1_000_000
_TEXT = is_text(blank=True)


def read_evidence_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Reads the questions of a SQuAD-form file; the memory is that of one note with its questions, and of all ids.

    A question without a passage (`is_impossible`, no answers or blank ones) is left out, since nothing says whether an answer
    to it is right; how many there were is told on standard error. Of paraphrases the first is asked.

    Args:
        path: the file.

    Yields:
        The dataset's rows, in the order of the file. The note's id is the paragraph's `note_id`, else the entry's title, with
        `/2`, `/3` behind it for its second and third paragraph, and `#2`, `#3` where an entry with that title and another text
        came before. The question's id is the file's, or a hash of note and question
        where it has none; one that stands in the file already gets `#2`, `#3` behind it.

    Raises:
        UsageError: The file is not of that form; the message names line, place and rule, of the texts only how long they are.
    """
    try:
        megabytes = path.stat().st_size // _MEGABYTE + 1
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    notes = _Notes(path)
    ids = _Unique()
    found = left_out = 0
    with Progress(f"{path.name}, MB read", megabytes) as progress:
        for paragraph in read_paragraphs(path, on_read=lambda read: progress.advance_to(read // _MEGABYTE)):
            place = SquadPlace(path, paragraph)
            content = place.mapping(paragraph.value)
            text = place.note(content)
            note_id = notes.name(place, content, text)
            for question in place.questions(content):
                found += 1
                asked, evidence = question.asked(), question.evidence()
                if not evidence:
                    left_out += 1
                    continue
                upstream = _plain(question.content.get("id")) or _hashed(f"{note_id}\n{asked}")
                yield one_note_row(
                    ids.name(upstream),
                    asked,
                    note_id=note_id,
                    text=text,
                    categories=question_categories(asked),
                    evidence=evidence,
                )
        progress.advance_to(megabytes)
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
    """Gives each name once."""

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

    def name(self, place: SquadPlace, content: Mapping[str, Any], text: str) -> str:
        if "note_id" in content:
            name = _plain(content["note_id"])
            if not name:
                raise place.wrong("note_id", "must be a text that is not empty, or a whole number", content["note_id"])
            return name
        paragraph = place.paragraph
        title = paragraph.title
        if title is None:
            if self._titles is None:
                self._titles = read_titles(self._path)
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
