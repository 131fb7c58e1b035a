"""A case under construction: a patient's message, a note in sentences, and what has been annotated so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medical_tasks.archehr_qa.construction import files
from medical_tasks.archehr_qa.construction.excerpts import NoteSentence
from medical_tasks.archehr_qa.construction.texts import is_id
from medical_tasks.json_records import Field, is_list_of, is_text, one_of

__all__ = [
    "ESSENTIAL",
    "LABELS",
    "NOT_RELEVANT",
    "SUPPLEMENTARY",
    "Annotation",
    "AnswerSentence",
    "OwnCase",
    "load_cases",
    "write_cases",
]

ESSENTIAL: Final = "essential"
SUPPLEMENTARY: Final = "supplementary"
NOT_RELEVANT: Final = "not-relevant"
LABELS: Final = (ESSENTIAL, SUPPLEMENTARY, NOT_RELEVANT)
"""What a sentence can be worth; the spelling is the release's."""


@dataclass(frozen=True, kw_only=True)
class AnswerSentence:
    """A sentence of a clinician's answer.

    Attributes:
        text: without citations.
        citations: ids of the note's sentences that it rests on, ascending.
    """

    text: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What annotators say of a case.

    Attributes:
        phrases: the parts of the message that ask.
        question: as a clinician would put it; "" before anybody did.
        labels: sentence id to label; empty before the first round.
        answer: the clinician's; empty where there is none yet.
    """

    phrases: tuple[str, ...] = ()
    question: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    answer: tuple[AnswerSentence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OwnCase:
    """A case.

    Attributes:
        id: the case's.
        post_id: whose message it is.
        document_id: the note's.
        narrative: the message, adapted to the note, on one line.
        sentences: of the note, or of the excerpt.
        annotation: so far.
    """

    id: str
    post_id: str
    document_id: str
    narrative: str
    sentences: tuple[NoteSentence, ...]
    annotation: Annotation = field(default_factory=Annotation)


_ID: Final = files.private_field(Field(holds=is_id, rule="an id"))
_TEXTS: Final = files.private_field(is_list_of(is_text()))
_FIELDS: Final = {
    "id": _ID,
    "post_id": _ID,
    "document_id": _ID,
    "narrative": files.private_field(is_text()),
    "sentences": files.private_field(
        is_list_of(
            Field(
                holds=lambda value: isinstance(value, list) and len(value) == 3 and all(map(is_text().holds, value)),
                rule="a list of id, paragraph and text",
            )
        )
    ),
    "phrases": _TEXTS,
    "question": files.private_field(is_text(blank=True)),
    "labels": files.private_field(is_list_of(one_of(LABELS))),
    "answer": _TEXTS,
    "citations": files.private_field(is_list_of(is_list_of(is_text()))),
}


def write_cases(path: Path, cases: Iterable[OwnCase]) -> str:
    """Writes cases, for their owner alone.

    Returns:
        SHA-256 of the file.
    """
    return files.write_lines(path, map(_record, cases))


def _record(case: OwnCase) -> dict[str, Any]:
    said = case.annotation
    return {
        "id": case.id,
        "post_id": case.post_id,
        "document_id": case.document_id,
        "narrative": case.narrative,
        "sentences": [list(sentence) for sentence in case.sentences],
        "phrases": list(said.phrases),
        "question": said.question,
        "labels": [said.labels[sentence.id] for sentence in case.sentences] if said.labels else [],
        "answer": [sentence.text for sentence in said.answer],
        "citations": [list(sentence.citations) for sentence in said.answer],
    }


def load_cases(path: Path, *, step: str) -> dict[str, OwnCase]:
    """Reads cases.

    Args:
        path: the file.
        step: which step wrote it.

    Returns:
        Id to case, in order.

    Raises:
        MissingError: It is not there.
        UsageError: It is not as it was written; no message shows a text.
    """
    return {record.values["id"]: _case(record.values) for record in files.read_lines(path, _FIELDS, step=step)}


def _case(values: Mapping[str, Any]) -> OwnCase:
    sentences = tuple(NoteSentence(*each) for each in values["sentences"])
    ids = [sentence.id for sentence in sentences]
    answer = zip(values["answer"], values["citations"], strict=True)
    return OwnCase(
        id=values["id"],
        post_id=values["post_id"],
        document_id=values["document_id"],
        narrative=values["narrative"],
        sentences=sentences,
        annotation=Annotation(
            phrases=tuple(values["phrases"]),
            question=values["question"],
            labels=dict(zip(ids, values["labels"], strict=True)) if values["labels"] else {},
            answer=tuple(AnswerSentence(text=text, citations=tuple(cited)) for text, cited in answer),
        ),
    )
