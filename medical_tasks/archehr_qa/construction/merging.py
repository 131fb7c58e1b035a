"""One case of what its annotators made of it, and the excerpt that the first round leaves of a note.

Where several annotated a case, the one to whom it was given first decides; how far the others agree is told by `agreement`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from medical_tasks.archehr_qa.construction.cases import NOT_RELEVANT, Annotation, AnswerSentence, OwnCase
from medical_tasks.archehr_qa.construction.excerpts import NoteSentence, kept_paragraphs
from medical_tasks.archehr_qa.construction.readings import Reading
from medical_tasks.archehr_qa.construction.texts import one_line
from medical_tasks.construction.cells import SheetRow

__all__ = ["changes", "excerpted"]


def excerpted(case: OwnCase, reading: Reading) -> OwnCase | str:
    """Leaves out the paragraphs in which nothing is relevant, and numbers sentences and paragraphs anew.

    Args:
        case: with the whole note.
        reading: what is said of it.

    Returns:
        The case with its annotation; or what is wrong, without any text of it.
    """
    said = reading.annotation
    wanted = {number for number, label in said.labels.items() if label != NOT_RELEVANT} | reading.context
    kept = kept_paragraphs(case.sentences, wanted)
    if not kept:
        return f"case {case.id}: every sentence is not-relevant in the sheet of {reading.reviewer}, so nothing is left of the note"
    ids = {sentence.id: str(number) for number, sentence in enumerate(kept, start=1)}
    lost = sorted({cited for sentence in said.answer for cited in sentence.citations if cited not in ids}, key=int)
    if lost:
        return (
            f"case {case.id}: the answer in the sheet of {reading.reviewer} cites sentences {', '.join(lost)}, of whose paragraphs "
            "everything is not-relevant; mark what the answer needs, or context"
        )
    paragraphs = {name: str(number) for number, name in enumerate(dict.fromkeys(each.paragraph for each in kept))}
    return replace(
        case,
        sentences=tuple(NoteSentence(ids[each.id], paragraphs[each.paragraph], each.text) for each in kept),
        annotation=Annotation(
            phrases=said.phrases,
            question=said.question,
            labels={ids[each.id]: said.labels[each.id] for each in kept},
            answer=tuple(
                AnswerSentence(text=each.text, citations=tuple(ids[cited] for cited in each.citations))
                for each in said.answer
            ),
        ),
    )


def changes(case: OwnCase, reading: Reading) -> Iterator[dict[str, Any]]:
    """Lists what an annotator changed: who, in which sheet and row, what it was before and is now.

    Args:
        case: as the sheet showed it.
        reading: what was made of it.
    """
    for kind, number, column, before, after in _differences(case.annotation, reading):
        row = _row(reading, kind, number, column, after)
        yield _change(case, reading, row, (kind, number), column, before, after)
    for key, row in reading.rows.items():
        if row.cells["comment"].strip():
            yield _change(case, reading, row, key, "comment", "", row.cells["comment"].strip())


def _row(reading: Reading, kind: str, number: str, column: str, after: str) -> SheetRow | None:
    """The row of a change; where rows before it were left empty, that of its text."""
    if column == "text" and after:
        same = (row for key, row in reading.rows.items() if key[0] == kind and one_line(row.cells["text"]) == after)
        return next(same, None)
    return reading.rows.get((kind, number))


def _change(
    case: OwnCase, reading: Reading, row: SheetRow | None, key: tuple[str, str], column: str, before: str, after: str
) -> dict[str, Any]:
    return {
        "case_id": case.id,
        "reviewer": reading.reviewer,
        "sheet": "" if row is None else row.path.name,
        "row": 0 if row is None else row.number,
        "kind": key[0],
        "number": key[1],
        "field": column,
        "before": before,
        "after": after,
    }


def _differences(before: Annotation, reading: Reading) -> Iterator[tuple[str, str, str, str, str]]:
    """Kind and number of a row, column, before, after."""
    after = reading.annotation
    for kind, column, old, new in (
        ("focus", "text", _counted(before.phrases), _counted(after.phrases)),
        ("question", "text", {"1": before.question}, {"1": after.question}),
        ("sentence", "relevance", before.labels, after.labels),
        (
            "answer",
            "text",
            _counted([each.text for each in before.answer]),
            _counted([each.text for each in after.answer]),
        ),
        ("answer", "citations", _counted(map(_cited, before.answer)), _counted(map(_cited, after.answer))),
    ):
        for number in sorted({*old, *new}, key=int):
            if old.get(number, "") != new.get(number, ""):
                yield kind, number, column, old.get(number, ""), new.get(number, "")


def _counted(texts: Any) -> Mapping[str, str]:
    return {str(number): text for number, text in enumerate(texts, start=1)}


def _cited(sentence: AnswerSentence) -> str:
    return ",".join(sentence.citations)
