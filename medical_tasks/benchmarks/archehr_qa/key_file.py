"""The keys: `archehr-qa_key.json`, what the sentences of each case are worth, and from later releases on clinicians' answers.

    [{"case_id": "1", "answers": [{"sentence_id": "1", "relevance": "essential"}, ...],
      "clinician_answer": "... [1,2].", "clinician_answer_without_citations": "...",
      "clinician_answer_sentences": [{"id": "1", "text": "...", "citations": "1,2"}, ...]}, ...]

All but `case_id` may be absent, as it is in early releases and in keys that keep the gold of a shared task back. Fields
beside these are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.cases import Case, listed
from medical_tasks.errors import UsageError, system_reason
from medical_tasks.io.files import read_bytes
from medical_tasks.io.json_records import is_text, json_objects, named, shown, text_id

__all__ = ["KEY_FILE", "LABELS", "AnswerSentence", "CaseKey", "by_case", "read_key", "without_citations"]

KEY_FILE: Final = "archehr-qa_key.json"

LABELS: Final = ("essential", "supplementary", "not-relevant")
"""What a sentence can be worth (paper, section Question and Answer Creation)."""

_FORM: Final = '{"case_id": "1", "answers": [{"sentence_id": "1", "relevance": "essential"}]}'
_AGAIN: Final = "Download the files again, all of the same release."
_MARK: Final = re.compile(r"\s*\[\s*[0-9]+(?:\s*[,;-]\s*[0-9]+)*\s*\]")
_RANGE: Final = re.compile(r"([0-9]{1,4})\s*-\s*([0-9]{1,4})")


@dataclass(frozen=True, kw_only=True)
class AnswerSentence:
    """A sentence of a clinician's answer.

    Attributes:
        id: of the sentence; its place, from 1, where the file gives it none.
        text: the sentence, without citations.
        citations: ids of the note's sentences that it rests on; may be empty.
    """

    id: str
    text: str
    citations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class CaseKey:
    """What the key says of a case.

    Attributes:
        relevance: sentence id to label, for every sentence of the case; empty where the release has none.
        clinician_answer: without citations; "" where it is not released.
        answer_sentences: of the clinician's answer; empty where they are not released.
        cited: whether the citations of these are released.
    """

    relevance: Mapping[str, str] = field(default_factory=dict)
    clinician_answer: str = ""
    answer_sentences: tuple[AnswerSentence, ...] = ()
    cited: bool = False


def without_citations(answer: str) -> str:
    """Takes marks such as `[1,2]` out of a clinician's answer, with the white space before them.

    Args:
        answer: as the field `clinician_answer` has it.
    """
    return _MARK.sub("", answer).strip()


def by_case(path: Path, cases: Sequence[Case], *, form: str) -> dict[str, dict[str, Any]]:
    """Reads a JSON list with one record for each case.

    Args:
        path: the file.
        cases: the cases that lie beside it.
        form: of a record, for messages.

    Returns:
        Case id to record, in the order of the cases.

    Raises:
        UsageError: It cannot be read, is no such list, has a case twice, or has other cases than those.
    """
    try:
        content = read_bytes(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({system_reason(error)}).") from error
    records: dict[str, dict[str, Any]] = {}
    for number, record in enumerate(json_objects(path, content, form=form), start=1):
        name = text_id(f"{path}, record {number}", "case_id", record.get("case_id"))
        if name in records:
            raise UsageError(f"{path}: case {named(name)} stands twice. {_AGAIN}")
        records[name] = record
    ids = [case.id for case in cases]
    known = set(ids)
    for problem, wrong in (
        ("has no record of the cases", [each for each in ids if each not in records]),
        ("has cases that the file of cases does not have:", [each for each in records if each not in known]),
    ):
        if wrong:
            raise UsageError(f"{path}: {problem} {listed(wrong)}. {_AGAIN}")
    return {name: records[name] for name in ids}


def read_key(path: Path, cases: Sequence[Case]) -> dict[str, CaseKey]:
    """Reads a key.

    Args:
        path: the file.
        cases: the cases that lie beside it.

    Returns:
        Case id to its key, in the order of the cases.

    Raises:
        UsageError: It is not of the official form or does not belong to the cases; the message names case and rule, no text.
    """
    records = by_case(path, cases, form=_FORM)
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
        raise UsageError(f"{where}, clinician_answer_sentences: ids must be unique, and one stands twice. {_AGAIN}")
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
            raise UsageError(f"{where}: sentence {named(name)} has two labels. {_AGAIN}")
        if not isinstance(label, str) or label not in LABELS:
            raise UsageError(
                f"{place}, sentence {named(name)}: relevance must be one of {', '.join(LABELS)}, got {shown(label)}. {_AGAIN}"
            )
        labels[name] = label
    known = set(ids)
    for problem, wrong in (
        ("labels sentences that the case does not have:", [each for each in labels if each not in known]),
        ("has no label for the sentences", [each for each in ids if labels and each not in labels]),
    ):
        if wrong:
            raise UsageError(f"{where}: {problem} {listed(wrong)}. {_AGAIN}")
    return {name: labels[name] for name in ids if name in labels}


def _answer_sentence(where: str, record: Mapping[str, Any], number: int, *, known: set[str]) -> AnswerSentence:
    name = next((text_id(where, key, record[key]) for key in ("id", "sentence_id") if key in record), str(number))
    text = next((_string(where, key, record) for key in ("text", "sentence") if key in record), "")
    if not text:
        raise UsageError(f"{where}: text must be a text that is not blank. {_AGAIN}")
    cited = _citations(where, record.get("citations"))
    wrong = [each for each in cited if each not in known]
    if wrong:
        raise UsageError(f"{where}: cites sentences that the case does not have: {listed(wrong)}. {_AGAIN}")
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
        raise UsageError(f"{where}: {name} must be a text, got {shown(value)}. {_AGAIN}")
    return str(value).strip()


def _objects(where: str, name: str, record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    value = record.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise UsageError(f"{where}: {name} must be a list of objects, got {shown(value)}. {_AGAIN}")
    return value
