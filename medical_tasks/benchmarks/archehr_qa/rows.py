"""The dataset's rows: their columns, and how a case, its key and its note become one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.archehr_qa.cases import Case
from medical_tasks.benchmarks.archehr_qa.key_file import KEY_FILE, CaseKey, read_key
from medical_tasks.benchmarks.archehr_qa.mapping_file import MAPPING_FILE, Document, read_mapping
from medical_tasks.benchmarks.archehr_qa.xml_cases import read_cases
from medical_tasks.io.columns import Column

__all__ = ["COLUMNS", "case_row", "read_case_rows"]

COLUMNS = (
    Column(name="id", description="Id of the case, as released"),
    Column(
        name="source",
        description="Whose note it is: `mimic-iii` (intensive care), `mimic-iv` (emergency department); '' where it is not told",
    ),
    Column(name="patient_narrative", description="What the patient, or a relative, wrote"),
    Column(
        name="patient_question",
        description="The parts of it that ask, a line each, as clinicians marked them; '' where none is",
    ),
    Column(
        name="clinician_question", description="The question as a clinician would put it; '' where it is not released"
    ),
    Column(
        name="sentence_ids",
        repeated=True,
        description="Ids of the note excerpt's sentences, whole numbers as text; empty in `questions`, which has no excerpts",
    ),
    Column(name="sentences", repeated=True, description="The sentences, in the same order; may have line ends within"),
    Column(
        name="paragraph_ids", repeated=True, description="Of each sentence, in the same order; '' where it is not told"
    ),
    Column(
        name="relevance",
        repeated=True,
        description="What each sentence is worth: `essential`, `supplementary` or `not-relevant`; empty without a key",
    ),
    Column(name="clinician_answer", description="A clinician's answer, without citations; '' where it is not released"),
    Column(
        name="answer_sentences", repeated=True, description="Its sentences, without citations; empty where not released"
    ),
    Column(
        name="answer_citations",
        repeated=True,
        description="Sentence ids that each of them rests on, commas between, or ''; empty where not released",
    ),
    Column(name="answer_sentence_ids", repeated=True, description="Ids of the answer's sentences, in the same order"),
    Column(
        name="document_id",
        description="The note: `HADM_ID_ROW_ID` in MIMIC-III, `hadm_id` in MIMIC-IV; '' where it is not told",
    ),
)
"""Of every configuration, in this order."""


def case_row(case: Case, key: CaseKey, document: Document) -> dict[str, Any]:
    """Puts a row together, with the columns in their order.

    Args:
        case: the case.
        key: its key.
        document: the note it is from.

    Returns:
        Column name to value.
    """
    return {
        "id": case.id,
        "source": document.source,
        "patient_narrative": case.narrative,
        "patient_question": "\n".join(case.phrases),
        "clinician_question": case.clinician_question,
        "sentence_ids": [sentence.id for sentence in case.sentences],
        "sentences": [sentence.text for sentence in case.sentences],
        "paragraph_ids": [sentence.paragraph_id for sentence in case.sentences],
        "relevance": [key.relevance[sentence.id] for sentence in case.sentences] if key.relevance else [],
        "clinician_answer": key.clinician_answer,
        "answer_sentences": [sentence.text for sentence in key.answer_sentences],
        "answer_citations": [",".join(sentence.citations) for sentence in key.answer_sentences] if key.cited else [],
        "answer_sentence_ids": [sentence.id for sentence in key.answer_sentences],
        "document_id": document.id,
    }


def read_case_rows(path: Path, *, notes: bool = True) -> Iterator[dict[str, Any]]:
    """Reads a split: the file of cases, and beside it the key and the mapping, where they are.

    Args:
        path: the file of cases.
        notes: False for the organizers' open questions, which have no note excerpts and no key.

    Yields:
        One mapping a case, with the names and types of `COLUMNS`, in the file's order.

    Raises:
        UsageError: A file is not of the official form, or they are not of the same cases; messages hold no text of theirs.
    """
    cases = read_cases(path, notes=notes)
    key, mapping = path.with_name(KEY_FILE), path.with_name(MAPPING_FILE)
    keys = read_key(key, cases) if notes and key.is_file() else {}
    documents = read_mapping(mapping, cases) if mapping.is_file() else {}
    for case in cases:
        yield case_row(case, keys.get(case.id, CaseKey()), documents.get(case.id, Document()))
