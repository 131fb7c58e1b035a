"""Synthetic cases that run every task without a download, written for this package; they describe nobody. Not medical advice.

They have the release's shapes: relatives who write, forum spelling, headings that are sentences of their own, marks of
de-identification, labels of all three kinds, and answers with sentences that rest on nothing.

`demo_cases.json` has them by split. `note` is a list of paragraphs, each a list of sentences that begin with the first letter of
their label; `answer` is the clinician's, each sentence with the ids it rests on.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from medical_tasks.benchmarks.archehr_qa.release import AnswerSentence, Case, CaseKey, Document, FullCase, Sentence

_LABELS: Final = {"E": "essential", "S": "supplementary", "N": "not-relevant"}


@cache
def demo_cases() -> dict[str, tuple[FullCase, ...]]:
    """Split to its cases, in order."""
    splits = json.loads(Path(__file__).with_name("demo_cases.json").read_text(encoding="utf-8"))
    return {split: tuple(map(_full, cases)) for split, cases in splits.items()}


def _full(record: dict[str, Any]) -> FullCase:
    lines = [(str(number), line) for number, paragraph in enumerate(record["note"]) for line in paragraph]
    return FullCase(
        case=Case(
            id=record["id"],
            narrative=record["narrative"],
            phrases=tuple(record["phrases"]),
            clinician_question=record["question"],
            sentences=tuple(
                Sentence(id=str(number), paragraph_id=paragraph, text=line[2:])
                for number, (paragraph, line) in enumerate(lines, start=1)
            ),
        ),
        key=CaseKey(
            relevance={str(number): _LABELS[line[0]] for number, (_, line) in enumerate(lines, start=1)},
            clinician_answer=" ".join(text for text, _ in record["answer"]),
            answer_sentences=tuple(
                AnswerSentence(id=str(number), text=text, citations=tuple(ids.split(",")) if ids else ())
                for number, (text, ids) in enumerate(record["answer"], start=1)
            ),
            cited=True,
        ),
        document=Document(id=record["document_id"], source=record["source"]),
    )
