"""The cases: `archehr-qa.xml`, with a patient's question, the clinician's version of it, and a note excerpt in numbered sentences.

The organizers' open files are of the same form without note excerpts.

Offsets, as the release describes them: a phrase's is its place in the patient's narrative, a sentence's its place in its
paragraph, in characters. Where every sentence of a case has 0 they are not given, and nothing is compared.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medical_tasks.benchmarks.archehr_qa.cases import Case, Sentence, listed
from medical_tasks.benchmarks.archehr_qa.excerpt import excerpt_problem, offset_problem, offsets_are_places
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import open_file
from medical_tasks.io.json_records import named, text_id
from medical_tasks.io.xml_files import PlainXmlError, xml_root

__all__ = ["CASES_FILE", "SIZE_LIMIT_BYTES", "read_cases"]

CASES_FILE: Final = "archehr-qa.xml"

SIZE_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""A hundred cases have less than one megabyte."""

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_AGAIN: Final = "Download the file again."


def read_cases(path: Path, *, notes: bool = True) -> list[Case]:
    """Reads a file of cases.

    Offsets of sentences that differ from the note excerpt though they are in order are told on standard error and no more:
    nothing depends on them.

    Args:
        path: the file.
        notes: whether it is of a release, with note excerpts; the organizers' open questions have none, and some have no
            clinician's question.

    Returns:
        The cases, in the file's order.

    Raises:
        UsageError: The file cannot be read or is not of the official form; the message names case and rule, and no text.
    """
    root = _root(path)
    if root.tag != "annotations":
        raise UsageError(f"{path}: is no file of cases, its outermost element is not <annotations>. {_AGAIN}")
    elements = root.findall("case")
    if not elements:
        raise UsageError(f"{path}: has no <case> in <annotations>. {_AGAIN}")
    has_notes = any(root.find(f"case/{name}") is not None for name in ("note_excerpt", "note_excerpt_sentences"))
    if has_notes and not notes:
        raise UsageError(
            f"{path}: its cases have note excerpts, so it is of PhysioNet's release, and the configuration questions is made of "
            "the organizers' open files, which have none. Build it as --config official."
        )
    if notes and root.find("case/note_excerpt_sentences/sentence") is None:
        raise UsageError(
            f"{path}: none of its {len(elements):,} cases has a note excerpt, and without the sentences of one nothing can be "
            "cited. The organizers' files on GitHub leave them out: build these as --config questions, or download the files "
            "from PhysioNet, which have them."
        )
    cases: dict[str, Case] = {}
    doubtful = []
    for number, element in enumerate(elements, start=1):
        name = text_id(f"{path}, case number {number}", "id", element.get("id"))
        where = f"{path}, case {named(name)}"
        if name in cases:
            raise UsageError(f"{where}: stands twice. {_AGAIN}")
        cases[name], sure = _case(where, name, element, notes=notes)
        if not sure:
            doubtful.append(name)
    if doubtful:
        print(
            f"note: {path}: start_char_index of sentences is not their place in the note excerpt in {len(doubtful):,} cases "
            f"({listed(doubtful)}); it is not used",
            file=sys.stderr,
        )
    return list(cases.values())


def _root(path: Path) -> ET.Element:
    try:
        with open_file(path) as stream:
            data = stream.read(SIZE_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    try:
        return xml_root(data, limit_bytes=SIZE_LIMIT_BYTES)
    except PlainXmlError as error:
        raise UsageError(f"{path}: {error}. {_AGAIN}") from None


def _case(where: str, name: str, element: ET.Element, *, notes: bool) -> tuple[Case, bool]:
    narrative = _only_text(where, element, "patient_narrative")
    found = Case(
        id=name,
        narrative=narrative,
        phrases=tuple(_phrases(where, element, narrative)),
        clinician_question=_only_text(where, element, "clinician_question", required=notes),
        sentences=tuple(_sentences(where, element)) if notes else (),
    )
    offsets = [_offset(where, f"sentence {each.get('id')}", each) for each in _parts(where, element, "sentence")]
    given = [0 if offset is None else offset for offset in offsets] if None not in offsets else []
    note = _only(where, element, "note_excerpt")
    excerpt = None if note is None else _text(f"{where}, <note_excerpt>", note)
    problem = None if excerpt is None else excerpt_problem(excerpt, found.sentences)
    if problem is None and any(given):
        problem = offset_problem(found.sentences, given)
    if problem is not None:
        raise UsageError(f"{where}: {problem}. {_AGAIN}")
    return found, excerpt is None or not any(given) or offsets_are_places(excerpt, found.sentences, given)


def _only(where: str, case: ET.Element, name: str) -> ET.Element | None:
    elements = case.findall(name)
    if len(elements) > 1:
        raise UsageError(f"{where}: has <{name}> {len(elements)} times, once is right. {_AGAIN}")
    return elements[0] if elements else None


def _text(where: str, element: ET.Element) -> str:
    if len(element):
        raise UsageError(f"{where}: holds other elements, text alone is right. {_AGAIN}")
    found = (element.text or "").strip()
    if not found:
        raise UsageError(f"{where}: has no text. {_AGAIN}")
    return found


def _only_text(where: str, case: ET.Element, name: str, *, required: bool = True) -> str:
    element = _only(where, case, name)
    if element is None and not required:
        return ""
    if element is None:
        raise UsageError(f"{where}: has no <{name}>. {_AGAIN}")
    return _text(f"{where}, <{name}>", element)


_OUTER: Final = {"phrase": "patient_question", "sentence": "note_excerpt_sentences"}


def _parts(where: str, case: ET.Element, name: str) -> list[ET.Element]:
    outer = _only(where, case, _OUTER[name])
    return [] if outer is None else outer.findall(name)


def _phrases(where: str, case: ET.Element, narrative: str) -> Iterator[str]:
    for number, element in enumerate(_parts(where, case, "phrase"), start=1):
        label = f"phrase number {number}"
        text = _text(f"{where}, {label}", element)
        offset = _offset(where, label, element)
        if offset is not None and not _stands_at(narrative, offset, text):
            raise UsageError(
                f"{where}, {label}: start_char_index is {offset:,}, and the narrative of {len(narrative):,} characters does "
                f"not have the phrase there. {_AGAIN}"
            )
        yield text


def _stands_at(narrative: str, offset: int, phrase: str) -> bool:
    return " ".join(narrative[offset:].split()).startswith(" ".join(phrase.split()))


def _sentences(where: str, case: ET.Element) -> Iterator[Sentence]:
    elements = _parts(where, case, "sentence")
    if not elements:
        raise UsageError(f"{where}: has no sentences of a note excerpt, others of the file have. {_AGAIN}")
    expected: int | None = None
    for number, element in enumerate(elements, start=1):
        name = element.get("id", "")
        if not _NUMBER.fullmatch(name):
            raise UsageError(
                f"{where}, sentence number {number}: its id must be a whole number, got {named(name)}. {_AGAIN}"
            )
        if expected is None and name not in ("0", "1"):
            raise UsageError(f"{where}: its first sentence must have the id 0 or 1, got {name}. {_AGAIN}")
        if expected is not None and int(name) != expected:
            raise UsageError(
                f"{where}: sentence ids must be unique and consecutive, but behind {expected - 1} comes {name}. {_AGAIN}"
            )
        expected = int(name) + 1
        text = _text(f"{where}, sentence {name}", element)
        yield Sentence(id=name, paragraph_id=element.get("paragraph_id", ""), text=text)


def _offset(where: str, label: str, element: ET.Element) -> int | None:
    value = element.get("start_char_index")
    if value is not None and not _NUMBER.fullmatch(value):
        raise UsageError(f"{where}, {label}: start_char_index must be a whole number, got {named(value)}. {_AGAIN}")
    return None if value is None else int(value)
