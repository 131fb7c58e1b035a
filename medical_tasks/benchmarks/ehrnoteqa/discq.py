"""DiSCQ: what medical experts ask while they read a discharge summary of MIMIC-III, asked of that summary as a whole.

Lehman et al., "Learning to Ask Like a Physician", ClinicalNLP 2022, https://physionet.org/content/discq/1.0/, code
https://github.com/elehman16/discq. The release has questions, the words that prompted each (its trigger), and the name of the
text they stand in; the texts are those of the n2c2 2010 challenge on relations. Nobody has written answers: the paper's
clinicians judged those of models (section 4.3), three hundred questions, of which `discq_sample` has the rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.ehrnoteqa.categories import question_categories
from medical_tasks.benchmarks.ehrnoteqa.discq_sample import DISCQ_ROWS, paper_clinicians
from medical_tasks.benchmarks.ehrnoteqa.rows import one_note_row
from medical_tasks.errors import MissingError, UsageError, system_reason
from medical_tasks.io.csv_files import read_csv
from medical_tasks.io.files import read_text

__all__ = ["QUESTIONS_FILE", "read_discq_rows", "with_respect_to"]

QUESTIONS_FILE = "discq_questions_final.csv"

# `start_index` and `end_index` of the trigger are there too, counted in a text prepared in the authors' way; they are not read.
_COLUMNS = ("id", "question", "reasoning")
_RELEASE = "question file of DiSCQ 1.0"
_AGAIN = f"Download the {_RELEASE} again; do not open and save it with a spreadsheet program."
_NAME = re.compile(r"[!-.0-~]{1,80}")  # no slash: a name is no path
_LISTED = 10

# Words that keep their capital within a sentence; abbreviations are known by their form.
_NAMES = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April June July August "
    "September October November December".split()
)
# Words that questions begin with; the trigger may begin a sentence with one.
_BEGINNINGS = frozenset(
    "A Any Are At Can Could Did Do Does For Had Has Have How If In Is On Should The There Was Were What When Where Which Who "
    "Why Will With Would".split()
)
_WORD = re.compile(r"[^\W\d_]+")
_FORM = re.compile(r"[\w.]+")
_VOWELS = frozenset("aeiouy")


@dataclass(frozen=True)
class _Asked:
    """A row of the question file."""

    name: str
    question: str
    trigger: str


def read_discq_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Reads the questions with their texts; the memory is that of the question file and one text.

    Args:
        path: the question file. The texts lie in its folder or in folders below it, under the name that the column `id` has,
            or that and `.txt`.

    Yields:
        The dataset's rows, in the order of the file; the id is the row's number from 0, as the paper counts them. `clinician`
        is `A`, `B` or `C` for the questions of the paper's sample, if the file has as many rows as the paper's.

    Raises:
        UsageError: The question file or a text is not of the official form; the message names line, field and rule, of the
            texts only how long they are.
        MissingError: Some texts are not there (the message lists the first ten).
    """
    asked = [_asked(path, row.line, row.cells) for row in read_csv(path, _COLUMNS, release=_RELEASE, others=True)]
    texts = _find_texts(path, list(dict.fromkeys(each.name for each in asked)))
    # Rows are known by their numbers alone: in a file that has lost or won some, they are others.
    clinicians = paper_clinicians() if len(asked) == DISCQ_ROWS else {}
    read = ("", "")  # questions about a text stand together
    for number, each in enumerate(asked):
        if each.name != read[0]:
            read = (each.name, _read_text(texts[each.name]))
        yield one_note_row(
            str(number),
            with_respect_to(each.trigger, each.question),
            note_id=each.name,
            text=read[1],
            categories=question_categories(each.question),
            clinician=clinicians.get(number, ""),
        )


def with_respect_to(trigger: str, question: str) -> str:
    """Joins a question with what prompted it (paper, appendix F.1 and table 11).

    The trigger stays as it is; the question loses its first capital, unless its first word is an abbreviation (`CT`, `HbA1c`,
    `X-ray`, `Hgb`), a day or a month, or has its capital in the trigger too. White space becomes single spaces.

    Args:
        trigger: the words of the note.
        question: what was asked there.

    Returns:
        One sentence.
    """
    trigger, question = (" ".join(text.split()) for text in (trigger, question))
    return f"With respect to {trigger}, {_within_a_sentence(question, trigger)}"


def _within_a_sentence(question: str, trigger: str) -> str:
    first = _WORD.match(question)
    if first is None:
        return question
    word, form = first[0], _FORM.match(question)
    is_abbreviation = (
        (form is not None and any(sign.isupper() or sign.isdigit() for sign in form[0][1:]))
        or not _VOWELS & set(word.lower())
        or (len(word) == 1 and (word != "A" or question[1:2] == "-"))
    )
    is_name = word in _NAMES or (word not in _BEGINNINGS and word in _WORD.findall(trigger))
    return question if is_abbreviation or is_name else word[0].lower() + question[1:]


def _asked(path: Path, line: int, cells: dict[str, str]) -> _Asked:
    name = cells["id"].strip()
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{path}: the row that ends on line {line}, field 'id': must be the name of a text, got {_told(name)}. {_AGAIN}"
        )
    for field in ("question", "reasoning"):
        if not cells[field].strip():
            raise UsageError(
                f"{path}: the row that ends on line {line}, field {field!r}: must not be empty, got {_told(cells[field])}. "
                f"{_AGAIN}"
            )
    return _Asked(name, cells["question"], cells["reasoning"])


def _told(text: str) -> str:
    return f"a text of {len(text)} characters"


def _find_texts(path: Path, names: Sequence[str]) -> dict[str, Path]:
    """Finds the text of each name below the question file's folder."""
    wanted = {f"{name}.txt": name for name in names} | {name: name for name in names}
    found: dict[str, list[Path]] = {name: [] for name in names}
    for file in _files(path.absolute().parent):
        if file.name in wanted:
            found[wanted[file.name]].append(file)
    missing = [name for name, files in found.items() if not files]
    if missing:
        raise MissingError(
            f"{path}: {len(missing):,} of the {len(names):,} texts that its questions are about are not below its folder:"
            f"{_listed(missing)}\nPut the texts of the n2c2 2010 challenge on relations there, in one folder or several "
            "(https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp/)."
        )
    several = [f"{name}: {', '.join(map(str, files))}" for name, files in found.items() if len(files) > 1]
    if several:
        raise UsageError(
            f"{path}: {len(several):,} texts lie below its folder more than once:{_listed(several)}\nKeep one of each there."
        )
    return {name: files[0] for name, files in found.items()}


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, those behind links too."""
    seen: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        status = Path(place).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link that leads back
            continue
        seen.add((status.st_dev, status.st_ino))
        folders.sort()
        yield from (Path(place) / name for name in sorted(names))


def _listed(names: Sequence[str]) -> str:
    more = f"\n  and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return "".join(f"\n  {name}" for name in names[:_LISTED]) + more


def _read_text(file: Path) -> str:
    try:
        text = read_text(file, encoding="utf-8-sig")  # line ends become line feeds, as for the authors
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({system_reason(error)}).") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 (byte 0x{error.object[error.start]:02x}). Get the text again.") from error
    if not text.strip():
        raise UsageError(f"{file}: is empty. Get the text again.")
    return text
