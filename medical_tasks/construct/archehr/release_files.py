"""The files of a release, written.

Cases with their note excerpts, keys, and which notes they are from.

`benchmarks.archehr_qa.release` reads them back. A phrase's offset is its place in the
narrative, a sentence's in its paragraph.
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
    """Writes the three files of a split.

    Name to text; `indents` are those of a case, its elements and their parts.
    """
    keys = [_key(each.case.id, each.key, answers=answers) for each in cases]
    documents = [
        {
            "case_id": each.case.id,
            "document_id": each.document.id,
            "document_source": each.document.source,
        }
        for each in cases
    ]
    outer, middle, inner = (" " * indent for indent in indents)

    def element(name: str, text: str, indent: str = middle, **attributes: str) -> str:
        marks = "".join(
            f' {key}="{html.escape(value)}"' for key, value in attributes.items()
        )
        return f"{indent}<{name}{marks}>\n{html.escape(text, quote=False)}\n{indent}</{name}>\n"

    def parts(case: Case) -> Iterator[str]:
        """The elements of a case in the order of the official files."""
        yield element("patient_narrative", case.narrative)
        yield f"{middle}<patient_question>\n"
        for number, (text, place) in enumerate(
            zip(case.phrases, phrase_places(case.narrative, case.phrases), strict=True)
        ):
            yield element(
                "phrase", text, inner, id=str(number), start_char_index=str(place)
            )

        yield f"{middle}</patient_question>\n"
        yield element("clinician_question", case.clinician_question)
        yield element("note_excerpt", excerpt_text(case.sentences, glue=glue))
        yield f"{middle}<note_excerpt_sentences>\n"
        for each, start in zip(case.sentences, offsets(case.sentences), strict=True):
            places = {
                "id": each.id,
                "paragraph_id": each.paragraph_id,
                "start_char_index": str(start),
            }
            yield element("sentence", each.text, inner, **places)

        yield f"{middle}</note_excerpt_sentences>\n"

    body = "".join(
        f"{outer}<case "
        f'id="{html.escape(each.case.id)}">\n{"".join(parts(each.case))}{outer}</case>\n'
        for each in cases
    )

    return {
        CASES_FILE: f"<annotations>\n{body}</annotations>\n",
        KEY_FILE: json.dumps(keys, indent=1) + "\n",
        MAPPING_FILE: json.dumps(documents, indent=1) + "\n",
    }


def _key(name: str, key: CaseKey, *, answers: bool) -> Row:
    labels = [
        {"sentence_id": each, "relevance": label}
        for each, label in key.relevance.items()
    ]
    record: dict[str, object] = {"case_id": name, "answers": labels}
    if answers and key.answer_sentences:
        record |= {
            "clinician_answer": answer_text(key.answer_sentences, cited=True),
            "clinician_answer_without_citations": answer_text(key.answer_sentences),
            "clinician_answer_sentences": [
                {
                    "id": each.id,
                    "text": each.text,
                    "citations": ",".join(each.citations),
                }
                for each in key.answer_sentences
            ],
        }

    return record


def answer_text(answer: Sequence[AnswerSentence], *, cited: bool = False) -> str:
    """Writes an answer as one text.

    Args:
        answer: The answer's sentences.
        cited: Whether citations stand in brackets before the end of each sentence.

    Example:
        A sentence "He was given heparin." that cites 2 and 5 becomes "He was given
        heparin [2,5].".
    """
    return " ".join(
        _marked(each) if cited and each.citations else each.text for each in answer
    )


def _marked(sentence: AnswerSentence) -> str:
    """A sentence with its citations before its last signs, as clinicians wrote them (table 1)."""
    body = sentence.text.rstrip(".!?")
    return f"{body} [{','.join(sentence.citations)}]{sentence.text[len(body) :]}"


def excerpt_text(sentences: Iterable[Sentence], *, glue: str = "\n") -> str:
    """Writes sentences as one text, with a blank line between paragraphs."""
    groups = groupby(sentences, key=lambda each: each.paragraph_id)
    return "\n\n".join(glue.join(each.text for each in group) for _, group in groups)


def offsets(sentences: Iterable[Sentence]) -> list[int]:
    """Where each sentence begins in its paragraph of `excerpt_text`, in characters."""
    found: list[int] = []
    for _, group in groupby(sentences, key=lambda each: each.paragraph_id):
        found += accumulate((len(each.text) + 1 for each in group), initial=0)
        found.pop()
    return found


def phrase_places(narrative: str, phrases: Sequence[str]) -> list[int]:
    """Where each phrase begins in a message.

    Behind the one before it if it can be; -1 where it is not to be found.
    """
    places, end = [], 0
    for phrase in phrases:
        place = narrative.find(phrase, end)
        place = narrative.find(phrase) if place < 0 else place
        places.append(place)
        end = max(end, place + len(phrase)) if place >= 0 else end

    return places
