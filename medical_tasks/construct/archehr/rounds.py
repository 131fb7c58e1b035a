"""Cases under construction, and the rounds of their annotation, all of which are kept.

Round 0 holds the chosen cases.

A paragraph of a note ends at a blank line. A short line that ends with a colon is a
heading and counts as a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from typing import Any, Final

import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.archehr_qa.release import LABELS, AnswerSentence, Sentence
from medical_tasks.construct.archehr import files
from medical_tasks.construct.archehr.files import one_line, without_controls
from medical_tasks.construct.archehr.forms import CaseRecord, RoundShares
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import MissingError, UsageError
from medical_tasks.io.json_records import Field, is_list_of, is_text, one_of
from medical_tasks.scoring.sentences import split_sentences

ESSENTIAL, SUPPLEMENTARY, NOT_RELEVANT = LABELS

_BLANK: Final = re.compile(r"\n[^\S\n]*\n")
_HEADING_WORDS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """The annotation of a case; empty before the first round.

    Attributes:
        phrases: The phrases of the message that ask something.
        question: The question as a clinician would put it.
        labels: Sentence id to label.
    """

    phrases: tuple[str, ...] = ()
    question: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    answer: tuple[AnswerSentence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OwnCase:
    """A case under construction.

    Attributes:
        narrative: The message, adapted to the note, on one line.
        sentences: The sentences of the note or excerpt, each on one line.
        annotation: The annotation so far.
    """

    id: str
    post_id: str
    document_id: str
    narrative: str
    sentences: tuple[Sentence, ...]
    annotation: Annotation = field(default_factory=Annotation)


_TEXTS: Final = construction.private_field(is_list_of(is_text()))
_FIELDS: Final = {
    "id": files.ID,
    "post_id": files.ID,
    "document_id": files.ID,
    "narrative": construction.private_field(is_text()),
    "sentences": construction.private_field(
        is_list_of(
            Field(
                holds=lambda value: (
                    isinstance(value, list)
                    and len(value) == 3
                    and all(map(is_text().holds, value))
                ),
                rule="a list of id, paragraph and text",
            )
        )
    ),
    "phrases": _TEXTS,
    "question": construction.private_field(is_text(blank=True)),
    "labels": construction.private_field(is_list_of(one_of(LABELS))),
    "answer": _TEXTS,
    "citations": construction.private_field(is_list_of(is_list_of(is_text()))),
}


def write_cases(path: Path, cases: Iterable[OwnCase]) -> str:
    """Writes cases, readable by the owner alone; returns the file's SHA-256."""
    return construction.write_lines(path, map(_record, cases))


def _record(case: OwnCase) -> CaseRecord:
    annotated = case.annotation
    return {
        "id": case.id,
        "post_id": case.post_id,
        "document_id": case.document_id,
        "narrative": case.narrative,
        "sentences": [
            [sentence.id, sentence.paragraph_id, sentence.text]
            for sentence in case.sentences
        ],
        "phrases": list(annotated.phrases),
        "question": annotated.question,
        "labels": [annotated.labels[sentence.id] for sentence in case.sentences]
        if annotated.labels
        else [],
        "answer": [sentence.text for sentence in annotated.answer],
        "citations": [list(sentence.citations) for sentence in annotated.answer],
    }


def load_cases(path: Path, *, step: str) -> dict[str, OwnCase]:
    """Reads the cases that a step wrote, by id; error messages show no text."""
    return {
        record.values["id"]: _case(record.values)
        for record in construction.read_lines(path, _FIELDS, step=f"archehr {step}")
    }


def _case(values: Mapping[str, Any]) -> OwnCase:
    """Makes a case from a line of the file."""
    ids = [name for name, *_ in values["sentences"]]
    answer = zip(values["answer"], values["citations"], strict=True)

    return OwnCase(
        **{
            name: values[name] for name in ("id", "post_id", "document_id", "narrative")
        },
        sentences=tuple(
            Sentence(id=name, paragraph_id=paragraph, text=text)
            for name, paragraph, text in values["sentences"]
        ),
        annotation=Annotation(
            phrases=tuple(values["phrases"]),
            question=values["question"],
            labels=dict(zip(ids, values["labels"], strict=True))
            if values["labels"]
            else {},
            answer=tuple(
                AnswerSentence(id=str(number), text=text, citations=tuple(cited))
                for number, (text, cited) in enumerate(answer, start=1)
            ),
        ),
    )


def split_note(text: str) -> tuple[Sentence, ...]:
    """Splits a note into numbered sentences.

    No word is lost. Paragraphs without a sentence are not counted.
    """
    paragraphs = [
        sentences
        for paragraph in _BLANK.split(without_controls(text))
        if (sentences := tuple(_sentences(paragraph)))
    ]
    numbered = [
        (str(paragraph_id), sentence)
        for paragraph_id, sentences in enumerate(paragraphs)
        for sentence in sentences
    ]

    return tuple(
        Sentence(id=str(number), paragraph_id=paragraph_id, text=sentence)
        for number, (paragraph_id, sentence) in enumerate(numbered, start=1)
    )


def _sentences(paragraph: str) -> Iterator[str]:
    lines = paragraph.split("\n")
    for heading, block in groupby(
        enumerate(lines),
        key=lambda numbered: numbered[0] if _is_heading(numbered[1]) else -1,
    ):
        text = "\n".join(line for _, line in block)
        if heading >= 0:
            yield one_line(text)
        else:
            yield from map(one_line, split_sentences(text))


def _is_heading(line: str) -> bool:
    words = line.split()
    return 0 < len(words) <= _HEADING_WORDS and words[-1].endswith(":")


def kept_paragraphs(
    sentences: Collection[Sentence], relevant: Collection[str]
) -> tuple[Sentence, ...]:
    """Drops paragraphs without a relevant sentence; ids remain those of the note."""
    kept = {sentence.paragraph_id for sentence in sentences if sentence.id in relevant}
    return tuple(sentence for sentence in sentences if sentence.paragraph_id in kept)


CASES: Final = "cases.jsonl"
SHARES: Final = "shares.json"
SHEETS: Final = "sheets"
MARKS: Final = "marks.jsonl"
HISTORY: Final = "history.jsonl"
REVIEW: Final = "review.json"


def round_folder(folder: Path, number: int) -> Path:
    """The folder of a round."""
    return folder / f"round_{number}"


def latest(folder: Path, name: str) -> int:
    """The number of the last round exported (`SHARES`) or imported (`REVIEW`); 0 if none."""
    return next(
        number
        for number in count()
        if not (round_folder(folder, number + 1) / name).exists()
    )


def cases_of(folder: Path, number: int) -> dict[str, OwnCase]:
    """Reads the cases after a round."""
    path = round_folder(folder, number)
    if number:
        review = construction.read_json(path / REVIEW, step="archehr import")
        files.checked_step(path / CASES, review, step="import")
    return load_cases(path / CASES, step="import" if number else "sheet")


def load_shares(folder: Path, number: int) -> RoundShares:
    """Reads which cases of a round each reviewer has."""
    if number < 1:
        raise MissingError(
            f"{folder}: no sheets were written yet. Do it first: medical-tasks construct archehr "
            "sheet."
        )

    shares: RoundShares = construction.read_json(
        round_folder(folder, number) / SHARES, step="archehr sheet"
    )
    before = round_folder(folder, number - 1) / CASES
    if not before.exists() or shares.get("cases_sha256") != file_sha256(before):
        raise UsageError(
            f"{before}: was changed after the sheets of round {number} were written from it. "
            "Import the preceding round again from the same sheets, or start over in another "
            "--folder."
        )

    return shares
