"""Texts of a user's own: a JSON file of sources with references, in the form of the authors' files.

    [{"example_id": "1", "input": "[0] ... [1] ...", "reference": "..."}, ...]

A record can also hold its reference in sections (`reference_subjective` and so on, as the authors' clinical notes do), and what
else its owner keeps there. Messages about a file say where something is wrong and how long it is, never what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.doclens.pieces import EMPTY
from medical_tasks.benchmarks.doclens.spec import OWN, demo_entries
from medical_tasks.data.dataset_source import DatasetSource, OfficialFile
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.columns import Column
from medical_tasks.io.files import read_bytes
from medical_tasks.io.json_records import is_text, json_objects, named, shown, text_id
from medical_tasks.scoring.sentences import split_sentences

_FORM: Final = '{"example_id": "1", "input": "what the output is made from", "reference": "what it should say"}'
_SECTION: Final = "reference_"

OWN_COLUMNS = (
    Column(name="id", description="`example_id` of the file, as text"),
    Column(name="source", description="What an output is made from, as given"),
    Column(
        name="sentences",
        repeated=True,
        description="Its sentences, white space run together, without their numbers; a sentence's number is its place, from 0",
    ),
    Column(name="reference", description="What an output is compared with, as given; or empty"),
)


@dataclass(frozen=True, kw_only=True)
class OwnText:
    """One record."""

    id: str
    source: str
    sentences: tuple[str, ...]
    reference: str
    sections: Mapping[str, str] = field(default_factory=dict)  # the reference's by name; "" for an empty one


def read_own_texts(path: Path) -> list[OwnText]:
    """Reads a file of one's own texts."""
    try:
        content = read_bytes(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({system_reason(error)}). Give a JSON list of records like {_FORM}"
        ) from error
    texts: dict[str, OwnText] = {}
    for number, record in enumerate(json_objects(path, content, form=_FORM), start=1):
        where = f"{path}, record {number}"
        for name in ("example_id", "input", "reference"):
            if name not in record:
                raise UsageError(f"{where}: has no {name}. A record is like {_FORM}")
        found = _text(where, record)
        if found.id in texts:
            raise UsageError(f"{where}: example_id {named(found.id)} stands twice. Give each record its own.")
        texts[found.id] = found
    return list(texts.values())


def _text(where: str, record: Mapping[str, Any]) -> OwnText:
    name = text_id(where, "example_id", record["example_id"])
    where = f"{where} (example_id {named(name)})"
    source = _string(where, "input", record["input"])
    try:
        sentences = source_sentences(source)
    except NumberingError as error:
        raise UsageError(
            f"{where}: its input {error}. Number its sentences [0], [1], [2] without a gap, or take the numbers out: then it is "
            "divided into sentences here. A number in brackets that is text must not stand at the beginning of a sentence."
        ) from None
    if not any(sentences):
        raise UsageError(f"{where}: input must be a text that is not blank, since outputs are checked against it.")
    sections = {key.removeprefix(_SECTION): key for key in record if key.startswith(_SECTION) and key != _SECTION}
    return OwnText(
        id=name,
        source=source,
        sentences=tuple(sentences),
        reference=_not_the_mark(_string(where, "reference", record["reference"])),
        sections={section: _not_the_mark(_string(where, named(key), record[key])) for section, key in sections.items()},
    )


def _string(where: str, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {name} must be a text, got {shown(value)}.")
    if not is_text(blank=True).holds(value):
        raise UsageError(f"{where}: {name} has characters that are none (half of a surrogate pair). Write it anew.")
    return value


def _not_the_mark(text: str) -> str:
    return "" if text.strip() == EMPTY else text


def own_row(text: OwnText) -> dict[str, Any]:
    """Puts a row together, with the columns in their order."""
    return {"id": text.id, "source": text.source, "sentences": list(text.sentences), "reference": text.reference}


def read_own_rows(config: str, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """Reads the rows of a configuration."""
    if config == "demo":
        for demo in demo_entries("texts", split):
            yield own_row(OwnText(sentences=tuple(source_sentences(demo["source"])), **demo))
        return
    yield from map(own_row, read_own_texts(files[split]))


_NUMBER: Final = re.compile(r"\[([0-9]{1,6})\]")
_CLOSERS: Final = "\"'”’)]}»"
_ENDS: Final = ".!?\n\r"
_SPACES: Final = " \t\u00a0"


class NumberingError(ValueError):
    """A source is numbered, but not 0, 1, 2 and so on from its beginning; says which number is wrong, and quotes nothing."""


def is_numbered(source: str) -> bool:
    """Says whether a source begins with a number in square brackets."""
    return _NUMBER.match(source.lstrip()) is not None


def source_sentences(source: str) -> list[str]:
    """Splits a source into its sentences, white space run together; a numbered one, which can be blank, loses its number.

    A `NumberingError` says that the numbering does not begin at 0 with the source, or that a number where a sentence begins (on a
    new line, or behind the end of a sentence) is not the next.
    """
    if is_numbered(source):
        _check_numbers(source)
        return list(read_sources(source).values())
    numbers = [int(found[1]) for found in _NUMBER.finditer(source)]
    if 0 in numbers and 1 in numbers[numbers.index(0) :]:
        raise NumberingError("is numbered from [0] on, but text stands before it")
    return [" ".join(sentence.split()) for sentence in split_sentences(source)]


def _check_numbers(source: str) -> None:
    after = -1
    for found in _NUMBER.finditer(source):
        number = int(found[1])
        if number == after + 1:
            after = number
        elif after < 0:
            raise NumberingError(f"begins with [{number}], the first number must be [0]")
        elif _begins_sentence(source, found.start()):
            raise NumberingError(f"has [{number}] behind [{after}], where [{after + 1}] comes next")


def _begins_sentence(source: str, place: int) -> bool:
    before = source[max(0, place - 100) : place].rstrip(_SPACES)
    return not before or before.rstrip(_CLOSERS)[-1:] in _ENDS


def read_sources(text: str) -> dict[int, str]:
    """Reads a numbered source: number to sentence, from its first number on.

    A number counts when it goes on from the one before; another one (`a dose of [5]` behind `[2]`) is part of a sentence.
    """
    marks: list[re.Match[str]] = []
    for found in _NUMBER.finditer(text):
        if not marks or int(found[1]) == int(marks[-1][1]) + 1:
            marks.append(found)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {int(mark[1]): " ".join(text[mark.end() : end].split()) for mark, end in zip(marks, ends, strict=False)}


OWN_SOURCE = DatasetSource(
    spec=OWN,
    summary=(
        "Sources and references that a user has: dialogues and notes, reports and summaries, or any text that is made from "
        "another one. An output's claims are compared with the reference's, and its citations with the sentences of the "
        "source that they name, as DocLens does."
    ),
    changes=(
        "`own` is a user's own file, `example_id` called `id` and `input` called `source`; its text stays with its owner.",
        "`sentences` is new: those of a numbered source, or what a rule of this package divides one without numbers into.",
        "`demo` was written for this package and is under the package's licence, Apache-2.0.",
    ),
    licence_note="Rows of `own` are under whatever terms their source is; treat them as credentialed.",
    columns=OWN_COLUMNS,
    key="id",
    splits=dict.fromkeys(OWN.configs, ("test",)),
    published_rows={"demo": {"test": 4}},
    files={
        "own": {"test": OfficialFile(places=("notes.json",), description="sources with references, a JSON list")},
        "demo": {},
    },
    read=read_own_rows,
    published="2023-11-16",
    creators=("The medical-tasks developers",),
    task_categories=("summarization", "text-generation"),
    tags=("medical", "clinical notes", "benchmark"),
)
