"""Reads and checks the files of a release: cases with note excerpts, keys, and the mapping to notes.

A phrase's offset is its position in the narrative, a sentence's that in its paragraph;
a case with only zeros has no offsets.

The key's records need only `case_id`; other fields may be absent or null:

- `answers`: `[{"sentence_id": "1", "relevance": "essential"}, ...]`; also
  `supplementary`, `not-relevant`
- `clinician_answer`: text with citations such as `[1,2]`
- `clinician_answer_without_citations`: the same without them; derived if absent
- `clinician_answer_sentences`: `[{"id": "1", "text": "...", "citations": "1,2"}, ...]`,
  also `sentence_id`, `sentence`, lists and ranges

Citations count as released for a case if any sentence of its answer cites something.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from medical_tasks.errors import UsageError, listed
from medical_tasks.io.files import open_file, read_bytes, readable
from medical_tasks.io.json_records import is_text, json_objects, named, shown, text_id
from medical_tasks.io.xml_files import PlainXmlError, xml_root
from medical_tasks.spec import Row

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """A sentence of a note excerpt as released, without white space at its ends; it may contain line ends."""

    id: str
    paragraph_id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case, without its key.

    Attributes:
        phrases: the phrases of the narrative that ask, in order.
        clinician_question: "" if it is not released.
        sentences: the sentences of the note excerpt, in order; none in the organizers'
            open files.
    """

    id: str
    narrative: str
    phrases: tuple[str, ...]
    clinician_question: str
    sentences: tuple[Sentence, ...]


CASES_FILE: Final = "archehr-qa.xml"

SIZE_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""A hundred cases have less than one megabyte."""

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_AGAIN: Final = "Download the file again."
_ALL_AGAIN: Final = "Download the files again, all of the same release."


def _names(ids: Sequence[str]) -> str:
    return listed(list(map(named, ids)), 10)


def _wrong(where: object, problem: object, again: str = _AGAIN) -> UsageError:
    return UsageError(f"{where}: {problem}. {again}")


def read_cases(path: Path, *, notes: bool = True) -> list[Case]:
    """Reads a file of cases in order; open questions (`notes=False`) have no excerpts. Messages quote no text."""
    root = _root(path)
    if root.tag != "annotations":
        raise _wrong(
            path, "is no file of cases, its outermost element is not <annotations>"
        )

    elements = root.findall("case")
    if not elements:
        raise _wrong(path, "has no <case> in <annotations>")

    has_notes = any(
        root.find(f"case/{name}") is not None
        for name in ("note_excerpt", "note_excerpt_sentences")
    )
    if has_notes and not notes:
        raise UsageError(
            f"{path}: its cases have note excerpts, so it is from PhysioNet's release. The "
            "configuration questions needs the organizers' open files, which have none. Build it as --config official."
        )

    if notes and root.find("case/note_excerpt_sentences/sentence") is None:
        raise UsageError(
            f"{path}: none of its {len(elements):,} cases has a note excerpt, and without the "
            "sentences of one nothing can be "
            "cited. The organizers' files on GitHub leave them out: build these as --config "
            "questions, or download the files "
            "from PhysioNet, which have them."
        )

    cases: dict[str, Case] = {}
    doubtful = []
    for number, element in enumerate(elements, start=1):
        name = text_id(f"{path}, case number {number}", "id", element.get("id"))
        where = f"{path}, case {named(name)}"
        if name in cases:
            raise _wrong(where, "appears twice")

        cases[name], sure = _case(where, name, element, notes=notes)
        if not sure:
            doubtful.append(name)

    if doubtful:
        print(
            f"note: {path}: start_char_index of sentences is not their place in the note excerpt "
            f"in {len(doubtful):,} cases "
            f"({_names(doubtful)}); it is not used",
            file=sys.stderr,
        )

    return list(cases.values())


def _root(path: Path) -> ET.Element:
    with readable(path), open_file(path) as stream:
        data = stream.read(SIZE_LIMIT_BYTES + 1)
    try:
        return xml_root(data, limit_bytes=SIZE_LIMIT_BYTES)
    except PlainXmlError as error:
        raise _wrong(path, error) from None


def _case(
    where: str, name: str, element: ET.Element, *, notes: bool
) -> tuple[Case, bool]:
    """Reads one case, and whether its offsets are those of the excerpt.

    Args:
        where: the file and case, for messages.
        name: the case's id.
        element: its XML element.
        notes: whether the file has notes; open questions have none.

    Returns:
        The case; and True where offsets match the excerpt, or where it gives none to
        check. All offsets 0 means that the release left them out.
    """
    narrative = _only_text(where, element, "patient_narrative")
    built = Case(
        id=name,
        narrative=narrative,
        phrases=tuple(_phrases(where, element, narrative)),
        clinician_question=_only_text(
            where, element, "clinician_question", required=notes
        ),
        sentences=tuple(_sentences(where, element)) if notes else (),
    )
    offsets = [
        _offset(f"{where}, sentence {sentence.get('id')}", sentence)
        for sentence in _parts(where, element, "sentence")
    ]
    places = (
        [0 if offset is None else offset for offset in offsets]
        if None not in offsets
        else []
    )
    excerpt = _only_text(where, element, "note_excerpt", required=False)
    problem = excerpt_problem(excerpt, built.sentences) if excerpt else None
    if problem is None and any(places):
        problem = offset_problem(built.sentences, places)
    if problem is not None:
        raise _wrong(where, problem)

    return built, not excerpt or not any(places) or offsets_are_places(
        excerpt, built.sentences, places
    )


def _only(where: str, case: ET.Element, name: str) -> ET.Element | None:
    elements = case.findall(name)
    if len(elements) > 1:
        raise _wrong(where, f"has <{name}> {len(elements)} times, once is right")
    return elements[0] if elements else None


def _text(where: str, element: ET.Element) -> str:
    if len(element):
        raise _wrong(where, "holds other elements, text alone is right")
    text = (element.text or "").strip()
    if not text:
        raise _wrong(where, "has no text")
    return text


def _only_text(
    where: str, case: ET.Element, name: str, *, required: bool = True
) -> str:
    element = _only(where, case, name)
    if element is None and required:
        raise _wrong(where, f"has no <{name}>")
    return "" if element is None else _text(f"{where}, <{name}>", element)


_OUTER: Final = {"phrase": "patient_question", "sentence": "note_excerpt_sentences"}


def _parts(where: str, case: ET.Element, name: str) -> list[ET.Element]:
    outer = _only(where, case, _OUTER[name])
    return [] if outer is None else outer.findall(name)


def _phrases(where: str, case: ET.Element, narrative: str) -> Iterator[str]:
    for number, element in enumerate(_parts(where, case, "phrase"), start=1):
        position = f"{where}, phrase number {number}"
        text, offset = _text(position, element), _offset(position, element)
        if offset is not None and not " ".join(narrative[offset:].split()).startswith(
            " ".join(text.split())
        ):
            rule = f"the narrative of {len(narrative):,} characters does not have the phrase there"
            raise _wrong(position, f"start_char_index is {offset:,}, and {rule}")
        yield text


def _sentences(where: str, case: ET.Element) -> Iterator[Sentence]:
    """Reads the numbered sentences of a note excerpt; ids are consecutive from 0 or 1.

    After a gap a sentence would be lost, and citations of it would look like the model's
    errors.
    """
    elements = _parts(where, case, "sentence")
    if not elements:
        raise _wrong(
            where, "has no sentences of a note excerpt, others of the file have"
        )

    before: int | None = None
    for number, element in enumerate(elements, start=1):
        name = element.get("id", "")
        if not _NUMBER.fullmatch(name):
            raise _wrong(
                f"{where}, sentence number {number}",
                f"its id must be a whole number, got {named(name)}",
            )

        if before is None and name not in ("0", "1"):
            raise _wrong(
                where, f"its first sentence must have the id 0 or 1, got {name}"
            )

        if before is not None and int(name) != before + 1:
            raise _wrong(
                where,
                f"sentence ids must be unique and consecutive, but {name} follows {before}",
            )

        before = int(name)
        text = _text(f"{where}, sentence {name}", element)
        yield Sentence(id=name, paragraph_id=element.get("paragraph_id", ""), text=text)


def _offset(where: str, element: ET.Element) -> int | None:
    value = element.get("start_char_index")
    if value is not None and not _NUMBER.fullmatch(value):
        raise _wrong(
            where, f"start_char_index must be a whole number, got {named(value)}"
        )
    return None if value is None else int(value)


_SPACE: Final = re.compile(r"\s")


def excerpt_problem(excerpt: str, sentences: Sequence[Sentence]) -> str | None:
    """The first sentence that does not follow the previous one in the excerpt, apart from white space; None if all do."""
    whole, position, before = "".join(excerpt.split()), 0, "its beginning"
    for sentence in sentences:
        text = "".join(sentence.text.split())
        start = whole.find(text, position)
        if start < 0:
            return f"sentence {sentence.id} is not in <note_excerpt> after {before}"

        position, before = start + len(text), f"sentence {sentence.id}"

    return None


def offset_problem(sentences: Sequence[Sentence], offsets: Sequence[int]) -> str | None:
    """The first sentence that begins before the end of the previous one, by offsets in the paragraph; None without."""
    for (before, start), (sentence, offset) in pairwise(
        zip(sentences, offsets, strict=True)
    ):
        if before.paragraph_id == sentence.paragraph_id and offset < start + len(
            before.text
        ):
            return (
                f"sentence {sentence.id} has the start_char_index {offset:,}, where sentence "
                f"{before.id} of the same paragraph, "
                f"which begins at {start:,}, has not ended"
            )

    return None


def offsets_are_places(
    excerpt: str, sentences: Sequence[Sentence], offsets: Sequence[int]
) -> bool:
    """Whether offsets are positions in the excerpt: each paragraph's sentences have the same distances there."""
    whole, position = _SPACE.sub(" ", excerpt), 0
    begins: dict[str, int] = {}
    for sentence, offset in zip(sentences, offsets, strict=True):
        text = _SPACE.sub(" ", sentence.text)
        start = whole.find(text, position)
        paragraph_start = begins.setdefault(sentence.paragraph_id, start - offset)
        if start < 0 or paragraph_start != start - offset:
            return False

        position = start + len(text)

    return True


KEY_FILE: Final = "archehr-qa_key.json"

LABELS: Final = ("essential", "supplementary", "not-relevant")
"""The labels of sentences (paper, section Question and Answer Creation)."""

_KEY_FORM: Final = (
    '{"case_id": "1", "answers": [{"sentence_id": "1", "relevance": "essential"}]}'
)
_MARK: Final = re.compile(r"\s*\[\s*[0-9]+(?:\s*[,;-]\s*[0-9]+)*\s*\]")
_RANGE: Final = re.compile(r"([0-9]{1,4})\s*-\s*([0-9]{1,4})")


@dataclass(frozen=True, kw_only=True)
class AnswerSentence:
    """A sentence of a clinician's answer, and its citations; its default id is its position from 1."""

    id: str
    text: str
    citations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CaseKey:
    """The key of a case; fields that are not released are empty.

    Attributes:
        relevance: the label of every sentence of the case, by id.
        clinician_answer: the answer without citations.
        answer_sentences: its sentences.
        cited: whether their citations are released.
    """

    relevance: Mapping[str, str] = field(default_factory=dict)
    clinician_answer: str = ""
    answer_sentences: tuple[AnswerSentence, ...] = ()
    cited: bool = False


def without_citations(answer: str) -> str:
    """Removes marks such as `[1,2]` from a clinician's answer, with the white space before them."""
    return _MARK.sub("", answer).strip()


def by_case(path: Path, cases: Sequence[Case], *, form: str) -> dict[str, Row]:
    """Reads a JSON list with one record for each case and no others; returns them by case id, in the cases' order."""
    with readable(path):
        content = read_bytes(path)

    records: dict[str, Row] = {}
    for number, record in enumerate(json_objects(path, content, form=form), start=1):
        name = text_id(f"{path}, record {number}", "case_id", record.get("case_id"))
        if name in records:
            raise _wrong(path, f"case {named(name)} appears twice", _ALL_AGAIN)

        records[name] = record

    ids = [case.id for case in cases]
    problems = (
        ("has no record of the cases", True),
        ("has cases that the file of cases does not have:", False),
    )
    return _same_names(path, records, ids, problems)


def _same_names(
    where: str | Path,
    records: Mapping[str, _T],
    ids: Sequence[str],
    problems: Iterable[tuple[str, bool]],
) -> dict[str, _T]:
    """The records in the order of the ids; raises the problem of missing records (True) or of others."""
    for problem, is_missing in problems:
        checked, allowed = (ids, records) if is_missing else (records, ids)
        allowed_names = set(allowed)
        if wrong := [name for name in checked if name not in allowed_names]:
            raise _wrong(where, f"{problem} {_names(wrong)}", _ALL_AGAIN)
    return {name: records[name] for name in ids}


def read_key(path: Path, cases: Sequence[Case]) -> dict[str, CaseKey]:
    """Reads a key, by case id in the order of the cases; messages quote no text."""
    records = by_case(path, cases, form=_KEY_FORM)
    return {
        case.id: _case_key(f"{path}, case {named(case.id)}", records[case.id], case)
        for case in cases
    }


def _case_key(where: str, record: Row, case: Case) -> CaseKey:
    """Reads the gold of a case: labels, the clinician's answer and its citations."""
    ids = [sentence.id for sentence in case.sentences]
    marked = _string(where, "clinician_answer", record)
    bare = _string(where, "clinician_answer_without_citations", record)
    answer_where = f"{where}, clinician_answer_sentences"
    sentences = [
        _answer_sentence(f"{answer_where}, number {number}", entry, number, set(ids))
        for number, entry in enumerate(
            _objects(where, "clinician_answer_sentences", record), start=1
        )
    ]
    if len({sentence.id for sentence in sentences}) != len(sentences):
        raise _wrong(
            answer_where, "ids must be unique, and one appears twice", _ALL_AGAIN
        )

    return CaseKey(
        relevance=_relevance(where, record, ids),
        clinician_answer=bare or without_citations(marked),
        answer_sentences=tuple(sentences),
        # Clinicians cite every essential sentence (paper, annotation guidelines), so
        # without any citation these are not released.
        cited=any(sentence.citations for sentence in sentences),
    )


def _relevance(where: str, record: Row, ids: Sequence[str]) -> dict[str, str]:
    """Reads the sentences' labels; a key has labels for all sentences of a case, or for none."""
    labels: dict[str, str] = {}
    for number, entry in enumerate(_objects(where, "answers", record), start=1):
        entry_where = f"{where}, answers, number {number}"
        name = text_id(entry_where, "sentence_id", entry.get("sentence_id"))
        label = entry.get("relevance")
        if name in labels:
            raise _wrong(where, f"sentence {named(name)} has two labels", _ALL_AGAIN)

        if not isinstance(label, str) or label not in LABELS:
            rule = f"relevance must be one of {', '.join(LABELS)}, got {shown(label)}"
            raise _wrong(f"{entry_where}, sentence {named(name)}", rule, _ALL_AGAIN)

        labels[name] = label

    problems = (
        ("labels sentences that the case does not have:", False),
        ("has no label for the sentences", True),
    )
    return _same_names(where, labels, ids, problems) if labels else {}


def _answer_sentence(
    where: str, record: Row, number: int, known_ids: set[str]
) -> AnswerSentence:
    """Reads one sentence of the clinician's answer.

    Releases have different names for its fields (`id` or `sentence_id`, `text` or
    `sentence`). Without an id, the position from 1 is the id.
    """
    name = next(
        (
            text_id(where, key, record[key])
            for key in ("id", "sentence_id")
            if key in record
        ),
        str(number),
    )
    text = next(
        (_string(where, key, record) for key in ("text", "sentence") if key in record),
        "",
    )
    if not text:
        raise _wrong(where, "text must be a text that is not blank", _ALL_AGAIN)

    cited = _citations(where, record.get("citations"))
    wrong = [name for name in cited if name not in known_ids]
    if wrong:
        raise _wrong(
            where,
            f"cites sentences that the case does not have: {_names(wrong)}",
            _ALL_AGAIN,
        )

    return AnswerSentence(id=name, text=text, citations=cited)


def _citations(where: str, value: object) -> tuple[str, ...]:
    """The ids of a list, or of a text with commas; a range stands for all of its ids.

    Example:
        >>> _citations("case 1", "1, 3-5, 4")
        ('1', '3', '4', '5')
        >>> _citations("case 1", None)
        ()
    """
    entries = (
        [] if value is None else value.split(",") if isinstance(value, str) else value
    )
    if not isinstance(entries, list):
        raise UsageError(
            f"{where}: citations must be a list of ids, or a text with commas between, got "
            f"{shown(value)}."
        )

    cited: dict[str, None] = {}
    for entry in entries:
        text = entry.strip() if isinstance(entry, str) else entry
        if text == "":
            continue

        span = _RANGE.fullmatch(text) if isinstance(text, str) else None
        ends = (int(span[1]), int(span[2]) + 1) if span else (0, 0)
        cited |= dict.fromkeys(
            map(str, range(*ends))
            if ends[0] < ends[1]
            else [text_id(where, "citations", text)]
        )

    return tuple(cited)


def _string(where: str, name: str, record: Row) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not is_text(blank=True).holds(value):
        raise _wrong(where, f"{name} must be a text, got {shown(value)}", _ALL_AGAIN)
    return str(value).strip()


def _objects(where: str, name: str, record: Row) -> list[Row]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(
        isinstance(entry, dict) for entry in value
    ):
        raise _wrong(
            where, f"{name} must be a list of objects, got {shown(value)}", _ALL_AGAIN
        )
    return value


MAPPING_FILE: Final = "archehr-qa_mapping.json"

NOTE_SOURCES: Final = ("mimic-iii", "mimic-iv")
"""Intensive care and emergency department (paper, Results)."""

_MAPPING_FORM: Final = (
    '{"case_id": "1", "document_id": "100001_2", "document_source": "mimic-iii"}'
)


@dataclass(frozen=True, kw_only=True)
class Document:
    """The source note of an excerpt; "" for unknown fields.

    Attributes:
        id: `HADM_ID_ROW_ID` in MIMIC-III, `hadm_id` in MIMIC-IV.
        source: `mimic-iii` or `mimic-iv`.
    """

    id: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class FullCase:
    """A case with its key and its source note."""

    case: Case
    key: CaseKey
    document: Document


def read_mapping(path: Path, cases: Sequence[Case]) -> dict[str, Document]:
    """Reads a mapping: the source notes by case id, in the order of the cases."""
    documents: dict[str, Document] = {}
    for name, record in by_case(path, cases, form=_MAPPING_FORM).items():
        where = f"{path}, case {named(name)}"
        source = record.get("document_source")
        if not isinstance(source, str) or source not in NOTE_SOURCES:
            raise UsageError(
                f"{where}: document_source must be one of {', '.join(NOTE_SOURCES)}, got "
                f"{shown(source)}."
            )

        documents[name] = Document(
            id=text_id(where, "document_id", record.get("document_id")), source=source
        )

    return documents
