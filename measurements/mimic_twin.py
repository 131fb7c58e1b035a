"""A synthetic twin of MIMIC-III's `NOTEEVENTS.csv.gz`, of any size, written row by row; the same seed gives the same bytes.

Run: python -m measurements.mimic_twin --out FOLDER --notes 20000
"""

from __future__ import annotations

import itertools
import random
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from measurements.twin_files import run_program, twin_parser, write_gzip, write_sums
from medical_tasks.benchmarks.doclens.mimic_data import NOTE_COLUMNS
from medical_tasks.data.building import SUMS_FILE
from medical_tasks.errors import UsageError
from medical_tasks.io.files import packaged

NOTES_FILE = "NOTEEVENTS.csv.gz"
CT_MR_SHARE = 0.06
"""CT and MR reports among all notes, near what the release has."""

_ERRORS = 0.001
# characters: least, most of most reports, most of one in forty
_FINDINGS_CHARS = 300, 1_200, 6_000
_REPORTS_A_PATIENT = 2.7  # of CT and MR
_PARAGRAPHS = 600


class Examination(NamedTuple):
    """A description as in the files, with modality and anatomy; `share` is its relative frequency."""

    description: str
    modality: str
    anatomy: str
    share: int


@cache
def twin_words() -> dict[str, Any]:
    """Reads examinations, findings with meanings, filling, and categories of notes: share in percent, least, most characters."""
    words: dict[str, Any] = packaged(__file__, "mimic_twin_words.json")
    return words | {
        "examinations": [Examination(**fields) for fields in words["examinations"]]
    }


@dataclass(frozen=True, kw_only=True)
class TwinNote:
    """A row, and the texts that a reader should find in it."""

    cells: dict[str, str]
    modality: str = ""
    anatomy: str = ""
    sentences: tuple[str, ...] = ()
    impression: str = ""


def twin_notes(
    *, seed: int, notes: int, ct_mr: float = CT_MR_SHARE
) -> Iterator[TwinNote]:
    """Generates notes, by growing ROW_ID. `ct_mr`: share of them that are CT and MR reports."""
    if notes < 1 or not 0 <= ct_mr <= 1:
        raise UsageError(
            f"a twin needs at least 1 note and a share from 0 to 1, got {notes} and {ct_mr}."
        )
    draw = random.Random(f"{seed}-notes")  # invented notes, not secrets
    paragraphs = [_paragraph(draw) for _ in range(_PARAGRAPHS)]
    examinations = twin_words()["examinations"]
    shares = [examination.share for examination in examinations]
    patients = 1 + int(notes * ct_mr / _REPORTS_A_PATIENT)
    row = 0
    for _ in range(notes):
        row += draw.randrange(1, 3)
        patient = draw.randrange(patients)
        year, month, day = (
            2100 + patient % 100,
            draw.randrange(1, 13),
            draw.randrange(1, 29),
        )
        date = f"{year}-{month}-{day}"
        common = {
            "ROW_ID": str(row),
            "SUBJECT_ID": str(3 + 2 * patient),
            "HADM_ID": str(100_000 + patient) if draw.random() < 0.9 else "",
            "CHARTDATE": f"{year}-{month:02d}-{day:02d}",
            "CHARTTIME": f"{year}-{month:02d}-{day:02d} {draw.randrange(24):02d}:{draw.randrange(60):02d}:00",
            "STORETIME": "",
        }
        if draw.random() < ct_mr:
            yield _imaging(draw, common, draw.choices(examinations, shares)[0], date)
        else:
            yield _other(draw, common, paragraphs)


def write_twin(
    folder: Path,
    *,
    seed: int,
    notes: int,
    ct_mr: float = CT_MR_SHARE,
    compresslevel: int = 6,
) -> Path:
    """Writes a twin of the official file."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = (
        _csv_row(note.cells) for note in twin_notes(seed=seed, notes=notes, ct_mr=ct_mr)
    )
    head = ",".join(f'"{name}"' for name in NOTE_COLUMNS) + "\n"
    write_gzip(
        folder / NOTES_FILE, itertools.chain([head], rows), compresslevel=compresslevel
    )
    write_sums(folder, NOTES_FILE)
    return folder


def _imaging(
    draw: random.Random, common: dict[str, str], examination: Examination, date: str
) -> TwinNote:
    least, most, longest = _FINDINGS_CHARS
    length = draw.randrange(least, longest if draw.random() < 1 / 40 else most)
    text, sentences, impression = _write_report(
        draw, examination, date=date, length=length
    )
    error = draw.random() < _ERRORS
    cells = {
        "CATEGORY": "Radiology",
        "DESCRIPTION": examination.description,
        "CGID": "",
        "ISERROR": "1" if error else "",
    }
    note = TwinNote(cells=common | cells | {"TEXT": text})
    if error or not sentences:
        return note
    return replace(
        note,
        modality=examination.modality,
        anatomy=examination.anatomy,
        sentences=sentences,
        impression=impression,
    )


def _other(
    draw: random.Random, common: dict[str, str], paragraphs: Sequence[str]
) -> TwinNote:
    categories = twin_words()["categories"]
    category, _, least, most = draw.choices(
        categories, [share for _, share, _, _ in categories]
    )[0]
    length = int(draw.uniform(least, most))
    chosen = []
    while length > 0:
        chosen.append(paragraphs[int(draw.random() * len(paragraphs))])
        length -= len(chosen[-1])
    of = twin_words()["other_examinations"] if category == "Radiology" else ("Report",)
    cells = {
        "CATEGORY": category,
        "DESCRIPTION": of[int(draw.random() * len(of))],
        "CGID": str(draw.randrange(14_000, 21_000))
        if category == "Nursing/other"
        else "",
        "ISERROR": "",
        "TEXT": "".join(chosen),
    }
    return TwinNote(cells=common | cells)


def _paragraph(draw: random.Random) -> str:
    sentences = draw.sample(twin_words()["filling"], draw.randrange(1, 4))
    text = "  ".join(
        sentence.format(a=draw.randrange(2, 9), b=draw.randrange(50, 120))
        for sentence in sentences
    )
    return textwrap.fill(text, 78) + "\n"


def _csv_row(cells: dict[str, str]) -> str:
    quoted = {
        name: '"' + cells[name].replace('"', '""') + '"'
        for name in ("CATEGORY", "DESCRIPTION", "TEXT")
    }
    return ",".join(quoted.get(name, cells[name]) for name in NOTE_COLUMNS) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Writes a twin; returns the exit code."""
    parser = twin_parser("mimic_twin")
    parser.add_argument(
        "--notes",
        type=int,
        default=20_000,
        metavar="N",
        help="notes in all (default 20000)",
    )
    parser.add_argument(
        "--ct-mr",
        type=float,
        default=CT_MR_SHARE,
        metavar="X",
        help=f"share of CT and MR (default {CT_MR_SHARE})",
    )
    options = parser.parse_args(words)
    folder = write_twin(
        options.out, seed=options.seed, notes=options.notes, ct_mr=options.ct_mr
    )
    print(f"wrote {NOTES_FILE} and {SUMS_FILE} in {folder}")
    return 0


_WIDTH: Final = 76
_PAGE_LINES: Final = 60
_WITHOUT_FINDINGS, _WITHOUT_IMPRESSION, _POINTING = 0.12, 0.08, 0.03


def _write_report(
    draw: random.Random, examination: Examination, *, date: str, length: int
) -> tuple[str, tuple[str, ...], str]:
    """Writes a report with at least `length` characters of findings; returns text, sentences and impression, none if unusable."""
    sentences, meanings = _content(draw, examination.anatomy, length)
    impression = [
        f"{number}. {meaning}" if len(meanings) > 1 else meaning
        for number, meaning in enumerate(meanings, start=1)
    ]
    kind = draw.random()
    usable = kind > _WITHOUT_FINDINGS + _WITHOUT_IMPRESSION + _POINTING
    heading = draw.choice(
        (
            "FINDINGS:  ",
            "FINDINGS:\n ",
            f"{examination.modality} FINDINGS:  ",
            "Findings: ",
        )
    )
    if kind < _WITHOUT_FINDINGS:
        heading = "This examination was read on the console.  "
    elif kind < _WITHOUT_FINDINGS + _POINTING:
        impression = [
            draw.choice(("As above.", "Please see above.", "See body of the report."))
        ]
    end = draw.choice(("IMPRESSION:  ", "IMPRESSION:\n ", "CONCLUSION: ")) + "\n ".join(
        map(_wrapped, impression)
    )
    if (
        _WITHOUT_FINDINGS + _POINTING
        <= kind
        < _WITHOUT_FINDINGS + _POINTING + _WITHOUT_IMPRESSION
    ):
        end = ""
    half = len(sentences) // 2
    paragraphs = (
        [sentences[:half], sentences[half:]] if draw.random() < 0.5 else [sentences]
    )
    findings = "\n\n ".join(
        _wrapped(" ".join(paragraph)) for paragraph in paragraphs if paragraph
    )
    texts = twin_words()["report"]
    order = texts["order"].format(
        date=date,
        hour=draw.randrange(1, 13),
        minute=draw.randrange(60),
        half=draw.choice(("AM", "PM")),
        description=examination.description,
        clip=draw.randrange(100, 99999),
    )
    body = texts["body"].format(
        age=draw.randrange(20, 90),
        date=date,
        modality=examination.modality,
        heading=heading,
        findings=findings,
        end=end,
    )
    # A long report breaks as the printer did: the order's block stands again between
    # the pages.
    lines = body.splitlines(keepends=True)
    pages = [
        "".join(lines[start : start + _PAGE_LINES])
        for start in range(0, len(lines), _PAGE_LINES)
    ]
    text = (
        order
        + texts["condition"]
        + (texts["over"] + order + texts["continued"]).join(pages)
    )
    text += (texts["signed"] if kind > 0.5 else "") + (
        texts["pfi"] if kind > 0.9 else ""
    )
    return (
        text,
        tuple(sentences) if usable else (),
        " ".join(impression) if usable else "",
    )


def _content(
    draw: random.Random, anatomy: str, length: int
) -> tuple[list[str], list[str]]:
    abnormal, usual = twin_words()["seen"][anatomy], twin_words()["normal"][anatomy]
    seen = draw.sample(abnormal, draw.randrange(1, len(abnormal) + 1))
    numbers = [draw.randrange(3, 60) for _ in seen]
    sentences = [
        finding.format(n=number)
        for (finding, _), number in zip(seen, numbers, strict=True)
    ]
    normal = draw.sample(usual, len(usual))
    level = 0
    while normal or sum(map(len, sentences)) < length:
        sentences.append(
            normal.pop()
            if normal
            else f"Level {(level := level + 1)} is unremarkable and of normal signal."
        )
    draw.shuffle(sentences)
    return sentences, [
        meaning.format(n=number)
        for (_, meaning), number in zip(seen, numbers, strict=True)
    ]


def _wrapped(text: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        subsequent_indent=" ",
        break_long_words=False,
        break_on_hyphens=False,
    )


if __name__ == "__main__":
    run_program(main)
