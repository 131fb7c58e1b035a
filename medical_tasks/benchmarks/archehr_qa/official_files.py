"""Writes cases as files of the official shape: for synthetic twins, and for tests that read them back."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.archehr_qa.cases import Case, Sentence
from medical_tasks.benchmarks.archehr_qa.key_file import KEY_FILE, CaseKey
from medical_tasks.benchmarks.archehr_qa.mapping_file import MAPPING_FILE, Document
from medical_tasks.benchmarks.archehr_qa.xml_cases import CASES_FILE

__all__ = ["FullCase", "write_split"]


@dataclass(frozen=True, kw_only=True)
class FullCase:
    """A case with all that is known of it.

    Attributes:
        case: the case.
        key: its key.
        document: the note it is from.
    """

    case: Case
    key: CaseKey
    document: Document


def write_split(folder: Path, cases: Sequence[FullCase], *, key: bool = True, answers: bool = True) -> Path:
    """Writes the three files of a split.

    Args:
        folder: where to; made when absent.
        cases: of the split, in order.
        key: whether to write the key, which releases during a shared task leave out for `test`.
        answers: whether it has the clinicians' answers, which the first releases leave out.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    body = "".join(_case(each.case) for each in cases)
    (folder / CASES_FILE).write_text(f"<annotations>\n{body}</annotations>\n", encoding="utf-8")
    mapping = [
        {"case_id": each.case.id, "document_id": each.document.id, "document_source": each.document.source}
        for each in cases
    ]
    files: dict[str, list[dict[str, Any]]] = {MAPPING_FILE: mapping}
    if key:
        files[KEY_FILE] = [_key(each.case.id, each.key, answers=answers) for each in cases]
    for name, records in files.items():
        (folder / name).write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    return folder


def _case(case: Case) -> str:
    paragraphs = [list(group) for _, group in itertools.groupby(case.sentences, key=lambda each: each.paragraph_id)]
    phrases = "".join(
        _element("phrase", text, {"id": str(number), "start_char_index": str(case.narrative.index(text))}, depth=3)
        for number, text in enumerate(case.phrases)
    )
    sentences = "".join(itertools.chain.from_iterable(_sentences(each) for each in paragraphs))
    excerpt = "\n\n".join(" ".join(each.text for each in paragraph) for paragraph in paragraphs)
    inner = (
        _element("patient_narrative", case.narrative, {})
        + f"        <patient_question>\n{phrases}        </patient_question>\n"
        + _element("clinician_question", case.clinician_question, {})
        + _element("note_excerpt", excerpt, {})
        + f"        <note_excerpt_sentences>\n{sentences}        </note_excerpt_sentences>\n"
    )
    return f'    <case id="{html.escape(case.id)}">\n{inner}    </case>\n'


def _sentences(paragraph: Sequence[Sentence]) -> Iterator[str]:
    offset = 0
    for each in paragraph:
        attributes = {"id": each.id, "paragraph_id": each.paragraph_id, "start_char_index": str(offset)}
        yield _element("sentence", each.text, attributes, depth=3)
        offset += len(each.text) + 1


def _element(name: str, text: str, attributes: Mapping[str, str], *, depth: int = 2) -> str:
    indent = "    " * depth
    marks = "".join(f' {key}="{html.escape(value)}"' for key, value in attributes.items())
    return f"{indent}<{name}{marks}>\n{html.escape(text, quote=False)}\n{indent}</{name}>\n"


def _key(case_id: str, key: CaseKey, *, answers: bool) -> dict[str, Any]:
    labels = [{"sentence_id": name, "relevance": label} for name, label in key.relevance.items()]
    record: dict[str, Any] = {"case_id": case_id, "answers": labels}
    if answers:
        sentences = key.answer_sentences
        record |= {
            "clinician_answer": " ".join(_marked(each.text, each.citations) for each in sentences),
            "clinician_answer_without_citations": key.clinician_answer,
            "clinician_answer_sentences": [
                {"id": each.id, "text": each.text, "citations": ",".join(each.citations)} for each in sentences
            ],
        }
    return record


def _marked(text: str, citations: Sequence[str]) -> str:
    """A sentence with its citations before its last sign, as clinicians wrote them (paper, table 1)."""
    return f"{text[:-1]} [{','.join(citations)}]{text[-1:]}" if citations else text
