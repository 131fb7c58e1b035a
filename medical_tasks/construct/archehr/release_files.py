"""Writes the files of a release: cases with note excerpts, keys, and the mapping to notes.

`benchmarks.archehr_qa.release` reads them back. The offset of a phrase is in the
narrative, that of a sentence in its paragraph.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby

from medical_tasks.benchmarks.archehr_qa.release import (
    CASES_FILE,
    KEY_FILE,
    MAPPING_FILE,
    AnswerSentence,
    Case,
    CaseKey,
    FullCase,
    Sentence,
)
from medical_tasks.spec import Row


def release_texts(
    cases: Sequence[FullCase],
    *,
    answers: bool = True,
    indents: tuple[int, int, int] = (4, 8, 12),
    glue: str = " ",
) -> dict[str, str]:
    """Returns the texts of the three files of a split, by file name.

    `indents` are those of a case, its elements and their children.
    """
    keys = [_key(case.case.id, case.key, answers=answers) for case in cases]
    documents = [
        {
            "case_id": case.case.id,
            "document_id": case.document.id,
            "document_source": case.document.source,
        }
        for case in cases
    ]
    outer, middle, inner = (" " * indent for indent in indents)

    def element(name: str, text: str, indent: str = middle, **attributes: str) -> str:
        marks = "".join(
            f' {key}="{html.escape(value)}"' for key, value in attributes.items()
        )
        return f"{indent}<{name}{marks}>\n{html.escape(text, quote=False)}\n{indent}</{name}>\n"

    def elements(case: Case) -> Iterator[str]:
        """Yields the elements of a case in the order of the official files."""
        yield element("patient_narrative", case.narrative)
        yield f"{middle}<patient_question>\n"
        for number, (text, start) in enumerate(
            zip(case.phrases, phrase_offsets(case.narrative, case.phrases), strict=True)
        ):
            yield element(
                "phrase", text, inner, id=str(number), start_char_index=str(start)
            )

        yield f"{middle}</patient_question>\n"
        yield element("clinician_question", case.clinician_question)
        yield element("note_excerpt", excerpt_text(case.sentences, glue=glue))
        yield f"{middle}<note_excerpt_sentences>\n"
        for sentence, start in zip(
            case.sentences, offsets(case.sentences), strict=True
        ):
            yield element(
                "sentence",
                sentence.text,
                inner,
                id=sentence.id,
                paragraph_id=sentence.paragraph_id,
                start_char_index=str(start),
            )

        yield f"{middle}</note_excerpt_sentences>\n"

    body = "".join(
        f"{outer}<case "
        f'id="{html.escape(case.case.id)}">\n{"".join(elements(case.case))}{outer}</case>\n'
        for case in cases
    )

    return {
        CASES_FILE: f"<annotations>\n{body}</annotations>\n",
        KEY_FILE: json.dumps(keys, indent=1) + "\n",
        MAPPING_FILE: json.dumps(documents, indent=1) + "\n",
    }


def _key(name: str, key: CaseKey, *, answers: bool) -> Row:
    labels = [
        {"sentence_id": sentence_id, "relevance": label}
        for sentence_id, label in key.relevance.items()
    ]
    record: dict[str, object] = {"case_id": name, "answers": labels}
    if answers and key.answer_sentences:
        record |= {
            "clinician_answer": answer_text(key.answer_sentences, cited=True),
            "clinician_answer_without_citations": answer_text(key.answer_sentences),
            "clinician_answer_sentences": [
                {
                    "id": sentence.id,
                    "text": sentence.text,
                    "citations": ",".join(sentence.citations),
                }
                for sentence in key.answer_sentences
            ],
        }

    return record


def answer_text(answer: Sequence[AnswerSentence], *, cited: bool = False) -> str:
    """Joins the sentences of an answer.

    Args:
        answer: The answer's sentences.
        cited: Whether to add citations in brackets before the end of each sentence.

    Example:
        A sentence "He was given heparin." that cites 2 and 5 becomes "He was given
        heparin [2,5].".
    """
    return " ".join(
        _marked(sentence) if cited and sentence.citations else sentence.text
        for sentence in answer
    )


def _marked(sentence: AnswerSentence) -> str:
    """Puts the citations before the final punctuation, as clinicians did (table 1)."""
    body = sentence.text.rstrip(".!?")
    return f"{body} [{','.join(sentence.citations)}]{sentence.text[len(body) :]}"


def excerpt_text(sentences: Iterable[Sentence], *, glue: str = "\n") -> str:
    """Joins sentences, with a blank line between paragraphs."""
    groups = groupby(sentences, key=lambda sentence: sentence.paragraph_id)
    return "\n\n".join(
        glue.join(sentence.text for sentence in group) for _, group in groups
    )


def offsets(sentences: Iterable[Sentence]) -> list[int]:
    """The start of each sentence in its paragraph of `excerpt_text`, in characters."""
    starts: list[int] = []
    for _, group in groupby(sentences, key=lambda sentence: sentence.paragraph_id):
        starts += accumulate((len(sentence.text) + 1 for sentence in group), initial=0)
        starts.pop()
    return starts


def phrase_offsets(narrative: str, phrases: Sequence[str]) -> list[int]:
    """The start of each phrase in a message; -1 if the message does not have it.

    A phrase is looked for after the preceding one first.
    """
    starts, end = [], 0
    for phrase in phrases:
        start = narrative.find(phrase, end)
        start = narrative.find(phrase) if start < 0 else start
        starts.append(start)
        end = max(end, start + len(phrase)) if start >= 0 else end

    return starts
