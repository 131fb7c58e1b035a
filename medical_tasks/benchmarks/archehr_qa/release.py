"""The files of a release, read and checked: cases with their note excerpts, keys, and which notes the excerpts are from.

`archehr-qa.xml` has a patient's question, the clinician's version of it, and a note excerpt in numbered sentences; the organizers'
open files are of the same form without excerpts. A phrase's offset is its place in the patient's narrative, a sentence's its place
in its paragraph, in characters. Where every sentence of a case has 0 they are not given, and nothing is compared.

`archehr-qa_key.json` has what the sentences of each case are worth, and from later releases on clinicians' answers:

    [{"case_id": "1", "answers": [{"sentence_id": "1", "relevance": "essential"}, ...],
      "clinician_answer": "... [1,2].", "clinician_answer_without_citations": "...",
      "clinician_answer_sentences": [{"id": "1", "text": "...", "citations": "1,2"}, ...]}, ...]

All but `case_id` may be absent, as it is in early releases and in keys that keep the gold of a shared task back. Fields beside
these are passed over. `archehr-qa_mapping.json`:

    [{"case_id": "1", "document_id": "100001_2", "document_source": "mimic-iii"}, ...]
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import open_file, read_bytes
from medical_tasks.io.json_records import is_text, json_objects, named, shown, text_id
from medical_tasks.io.xml_files import PlainXmlError, xml_root

_SHOWN: Final = 10


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a note excerpt, as released, without white space at its ends; may have line ends within."""

    id: str
    paragraph_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case, without its key."""

    id: str
    narrative: str
    phrases: tuple[str, ...]  # the parts of the narrative that ask, in order
    clinician_question: str  # "" where it is not released
    sentences: tuple[Sentence, ...]  # of the note excerpt, in order; none in the organizers' open files


def listed(ids: Sequence[str]) -> str:
    """Ids as a message may show them: the first ten, and how many more there are."""
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(named(each) for each in ids[:_SHOWN]) + more


CASES_FILE: Final = "archehr-qa.xml"

SIZE_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""A hundred cases have less than one megabyte."""

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_AGAIN: Final = "Download the file again."


def read_cases(path: Path, *, notes: bool = True) -> list[Case]:
    """Reads a file of cases, in its order; messages name case and rule, and no text.

    Offsets of sentences that differ from the note excerpt though they are in order are reported on standard error and no
    more: nothing depends on them. The organizers' open questions (`notes=False`) have no note excerpts, and some no
    clinician's question.
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


_SPACE: Final = re.compile(r"\s")


def excerpt_problem(excerpt: str, sentences: Sequence[Sentence]) -> str | None:
    """Says where sentences do not follow one another in the excerpt, without any text of theirs; white space does not count."""
    whole, place, before = "".join(excerpt.split()), 0, "its beginning"
    for sentence in sentences:
        text = "".join(sentence.text.split())
        found = whole.find(text, place)
        if found < 0:
            return f"sentence {sentence.id} does not stand in <note_excerpt> behind {before}"
        place, before = found + len(text), f"sentence {sentence.id}"
    return None


def offset_problem(sentences: Sequence[Sentence], offsets: Sequence[int]) -> str | None:
    """Says where a sentence begins before the one before it has ended; offsets are characters in the paragraph."""
    for (before, start), (sentence, offset) in pairwise(zip(sentences, offsets, strict=True)):
        if before.paragraph_id == sentence.paragraph_id and offset < start + len(before.text):
            return (
                f"sentence {sentence.id} has the start_char_index {offset:,}, where sentence {before.id} of the same paragraph, "
                f"which begins at {start:,}, has not ended"
            )
    return None


def offsets_are_places(excerpt: str, sentences: Sequence[Sentence], offsets: Sequence[int]) -> bool:
    """Says whether sentences of a paragraph are as far from one another in the excerpt as their offsets say."""
    whole, place = _SPACE.sub(" ", excerpt), 0
    begins: dict[str, int] = {}
    for sentence, offset in zip(sentences, offsets, strict=True):
        text = _SPACE.sub(" ", sentence.text)
        found = whole.find(text, place)
        if found < 0 or begins.setdefault(sentence.paragraph_id, found - offset) != found - offset:
            return False
        place = found + len(text)
    return True


KEY_FILE: Final = "archehr-qa_key.json"

LABELS: Final = ("essential", "supplementary", "not-relevant")
"""What a sentence can be worth (paper, section Question and Answer Creation)."""

_KEY_FORM: Final = '{"case_id": "1", "answers": [{"sentence_id": "1", "relevance": "essential"}]}'
_ALL_AGAIN: Final = "Download the files again, all of the same release."
_MARK: Final = re.compile(r"\s*\[\s*[0-9]+(?:\s*[,;-]\s*[0-9]+)*\s*\]")
_RANGE: Final = re.compile(r"([0-9]{1,4})\s*-\s*([0-9]{1,4})")


@dataclass(frozen=True, kw_only=True)
class AnswerSentence:
    """A sentence of a clinician's answer, without citations, and the note's sentences that it rests on.

    Its id is its place, from 1, where the file gives it none.
    """

    id: str
    text: str
    citations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CaseKey:
    """What the key says of a case; what is not released is empty."""

    relevance: Mapping[str, str] = field(default_factory=dict)  # sentence id to label, for every sentence of the case
    clinician_answer: str = ""  # without citations
    answer_sentences: tuple[AnswerSentence, ...] = ()
    cited: bool = False  # whether the citations of the answer's sentences are released


def without_citations(answer: str) -> str:
    """Takes marks such as `[1,2]` out of a clinician's answer, with the white space before them."""
    return _MARK.sub("", answer).strip()


def by_case(path: Path, cases: Sequence[Case], *, form: str) -> dict[str, dict[str, Any]]:
    """Reads a JSON list with one record for each of the cases and no other; case id to record, in the order of the cases."""
    try:
        content = read_bytes(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    records: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(json_objects(path, content, form=form), start=1):
        name = text_id(f"{path}, record {number}", "case_id", record.get("case_id"))
        if name in records:
            raise UsageError(f"{path}: case {named(name)} stands twice. {_ALL_AGAIN}")
        records[name] = record
    ids = [case.id for case in cases]
    known = set(ids)
    for problem, wrong in (
        ("has no record of the cases", [each for each in ids if each not in records]),
        ("has cases that the file of cases does not have:", [each for each in records if each not in known]),
    ):
        if wrong:
            raise UsageError(f"{path}: {problem} {listed(wrong)}. {_ALL_AGAIN}")
    return {name: records[name] for name in ids}


def read_key(path: Path, cases: Sequence[Case]) -> dict[str, CaseKey]:
    """Reads a key; case id to its key, in the order of the cases. Messages name case and rule, no text."""
    records = by_case(path, cases, form=_KEY_FORM)
    return {case.id: _case_key(f"{path}, case {named(case.id)}", records[case.id], case) for case in cases}


def _case_key(where: str, record: Mapping[str, Any], case: Case) -> CaseKey:
    ids = [sentence.id for sentence in case.sentences]
    marked = _string(where, "clinician_answer", record)
    bare = _string(where, "clinician_answer_without_citations", record)
    sentences = [
        _answer_sentence(f"{where}, clinician_answer_sentences, number {number}", each, number, known=set(ids))
        for number, each in enumerate(_objects(where, "clinician_answer_sentences", record), start=1)
    ]
    names = [sentence.id for sentence in sentences]
    if len(set(names)) != len(names):
        raise UsageError(f"{where}, clinician_answer_sentences: ids must be unique, and one stands twice. {_ALL_AGAIN}")
    return CaseKey(
        relevance=_relevance(where, record, ids),
        clinician_answer=bare or without_citations(marked),
        answer_sentences=tuple(sentences),
        # A clinician cites every essential sentence (paper, annotation guidelines): where nothing is cited, it is kept back.
        cited=any(sentence.citations for sentence in sentences),
    )


def _relevance(where: str, record: Mapping[str, Any], ids: Sequence[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for number, each in enumerate(_objects(where, "answers", record), start=1):
        place = f"{where}, answers, number {number}"
        name = text_id(place, "sentence_id", each.get("sentence_id"))
        label = each.get("relevance")
        if name in labels:
            raise UsageError(f"{where}: sentence {named(name)} has two labels. {_ALL_AGAIN}")
        if not isinstance(label, str) or label not in LABELS:
            raise UsageError(
                f"{place}, sentence {named(name)}: relevance must be one of {', '.join(LABELS)}, got {shown(label)}. {_ALL_AGAIN}"
            )
        labels[name] = label
    known = set(ids)
    for problem, wrong in (
        ("labels sentences that the case does not have:", [each for each in labels if each not in known]),
        ("has no label for the sentences", [each for each in ids if labels and each not in labels]),
    ):
        if wrong:
            raise UsageError(f"{where}: {problem} {listed(wrong)}. {_ALL_AGAIN}")
    return {name: labels[name] for name in ids if name in labels}


def _answer_sentence(where: str, record: Mapping[str, Any], number: int, *, known: set[str]) -> AnswerSentence:
    name = next((text_id(where, key, record[key]) for key in ("id", "sentence_id") if key in record), str(number))
    text = next((_string(where, key, record) for key in ("text", "sentence") if key in record), "")
    if not text:
        raise UsageError(f"{where}: text must be a text that is not blank. {_ALL_AGAIN}")
    cited = _citations(where, record.get("citations"))
    wrong = [each for each in cited if each not in known]
    if wrong:
        raise UsageError(f"{where}: cites sentences that the case does not have: {listed(wrong)}. {_ALL_AGAIN}")
    return AnswerSentence(id=name, text=text, citations=cited)


def _citations(where: str, value: Any) -> tuple[str, ...]:
    """Ids out of a list of them, or a text with commas between; a range stands for all that are in it."""
    parts = [] if value is None else value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list):
        raise UsageError(
            f"{where}: citations must be a list of ids, or a text with commas between, got {shown(value)}."
        )
    cited: dict[str, None] = {}
    for part in parts:
        text = part.strip() if isinstance(part, str) else part
        if text == "":
            continue
        span = _RANGE.fullmatch(text) if isinstance(text, str) else None
        ends = (int(span[1]), int(span[2]) + 1) if span else (0, 0)
        cited |= dict.fromkeys(map(str, range(*ends)) if ends[0] < ends[1] else [text_id(where, "citations", text)])
    return tuple(cited)


def _string(where: str, name: str, record: Mapping[str, Any]) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not is_text(blank=True).holds(value):
        raise UsageError(f"{where}: {name} must be a text, got {shown(value)}. {_ALL_AGAIN}")
    return str(value).strip()


def _objects(where: str, name: str, record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise UsageError(f"{where}: {name} must be a list of objects, got {shown(value)}. {_ALL_AGAIN}")
    return value


MAPPING_FILE: Final = "archehr-qa_mapping.json"

NOTE_SOURCES: Final = ("mimic-iii", "mimic-iv")
"""Intensive care and emergency department (paper, Results)."""

_MAPPING_FORM: Final = '{"case_id": "1", "document_id": "100001_2", "document_source": "mimic-iii"}'


@dataclass(frozen=True, kw_only=True)
class Document:
    """The note that an excerpt is from; "" where it is not known."""

    id: str = ""  # `HADM_ID_ROW_ID` in MIMIC-III, `hadm_id` in MIMIC-IV
    source: str = ""  # `mimic-iii` or `mimic-iv`


@dataclass(frozen=True, kw_only=True)
class FullCase:
    """A case with all that is known of it."""

    case: Case
    key: CaseKey
    document: Document


def read_mapping(path: Path, cases: Sequence[Case]) -> dict[str, Document]:
    """Reads a mapping; case id to its note, in the order of the cases."""
    found: dict[str, Document] = {}
    for name, record in by_case(path, cases, form=_MAPPING_FORM).items():
        where = f"{path}, case {named(name)}"
        source = record.get("document_source")
        if not isinstance(source, str) or source not in NOTE_SOURCES:
            raise UsageError(f"{where}: document_source must be one of {', '.join(NOTE_SOURCES)}, got {shown(source)}.")
        found[name] = Document(id=text_id(where, "document_id", record.get("document_id")), source=source)
    return found
