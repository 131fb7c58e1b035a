"""The form in which the demo's cases are written down, and how one becomes what the official files would say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.archehr_qa.release import AnswerSentence, Case, CaseKey, Document, Sentence

__all__ = ["DemoCase"]

_LABELS: Final = {"E": "essential", "S": "supplementary", "N": "not-relevant"}


@dataclass(frozen=True, kw_only=True)
class DemoCase:
    """A synthetic case.

    Attributes:
        id: of the case.
        source: `mimic-iii` for a stay in intensive care, `mimic-iv` for a visit to the emergency department.
        document_id: of the note, which does not exist.
        narrative: what the patient or a relative writes.
        phrases: the parts of it that ask.
        question: the same as a clinician would put it.
        note: paragraphs, each a line a sentence, which begins with the first letter of its label and a space.
        answer: sentences of the clinician's answer, each with the ids it rests on.
    """

    id: str
    source: str
    document_id: str
    narrative: str
    phrases: tuple[str, ...]
    question: str
    note: tuple[str, ...]
    answer: tuple[tuple[str, str], ...]

    @property
    def case(self) -> Case:
        """As `archehr-qa.xml` would have it."""
        sentences = tuple(
            Sentence(id=str(number), paragraph_id=str(paragraph), text=line[2:])
            for number, (paragraph, line) in enumerate(self._lines(), start=1)
        )
        return Case(
            id=self.id,
            narrative=self.narrative,
            phrases=self.phrases,
            clinician_question=self.question,
            sentences=sentences,
        )

    @property
    def key(self) -> CaseKey:
        """As `archehr-qa_key.json` would."""
        return CaseKey(
            relevance={str(number): _LABELS[line[0]] for number, (_, line) in enumerate(self._lines(), start=1)},
            clinician_answer=" ".join(text for text, _ in self.answer),
            answer_sentences=tuple(
                AnswerSentence(id=str(number), text=text, citations=tuple(ids.split(",")) if ids else ())
                for number, (text, ids) in enumerate(self.answer, start=1)
            ),
            cited=True,
        )

    @property
    def document(self) -> Document:
        """As `archehr-qa_mapping.json` would."""
        return Document(id=self.document_id, source=self.source)

    def _lines(self) -> list[tuple[int, str]]:
        return [(number, line) for number, paragraph in enumerate(self.note) for line in paragraph.splitlines()]
