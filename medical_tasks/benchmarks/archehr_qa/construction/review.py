"""A round's sheets read back: the cases after it, the history of edits, and the official files (sections Creation and Validation).

Everything that is wrong is told at once, and nothing is written then. Where several annotated a case, the one to whom it was given
first decides; how far the others agree is told by `agreement`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from medical_tasks.benchmarks.archehr_qa.construction import files, rounds
from medical_tasks.benchmarks.archehr_qa.construction.cases import (
    ESSENTIAL,
    LABELS,
    NOT_RELEVANT,
    Annotation,
    AnswerSentence,
    NoteSentence,
    OwnCase,
    kept_paragraphs,
    write_cases,
)
from medical_tasks.benchmarks.archehr_qa.construction.choosing import refuse
from medical_tasks.benchmarks.archehr_qa.construction.readings import Reading, SheetCheck
from medical_tasks.benchmarks.archehr_qa.construction.release import answer_text, split_cases, write_release
from medical_tasks.benchmarks.archehr_qa.construction.sheet import COLUMNS
from medical_tasks.benchmarks.archehr_qa.construction.texts import one_line
from medical_tasks.benchmarks.archehr_qa.mapping_file import NOTE_SOURCES
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT
from medical_tasks.data.construction_cells import SheetRow, read_sheet
from medical_tasks.data.construction_shares import checked_seed
from medical_tasks.errors import UsageError

__all__ = ["ReviewOptions", "import_sheets"]


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """How sheets are read, and what is made of them.

    Attributes:
        blank_not_relevant: whether a sentence without a mark is not relevant; else it is not annotated yet.
        partial: whether sheets of some annotators may be missing; the cases on which they decide are then left out.
        note_source: `mimic-iii` or `mimic-iv` where the notes are of these.
        dev: how many cases at most are for the development of prompts.
        seed: decides which these are. Each of these three is as in the round before where it is None.
    """

    blank_not_relevant: bool = False
    partial: bool = False
    note_source: str | None = None
    dev: int | None = None
    seed: int | None = None


def import_sheets(folder: Path, sheets: Sequence[Path], options: ReviewOptions) -> dict[str, Any]:
    """Reads the edited sheets of the last round that was exported.

    Args:
        folder: where the construction lies.
        sheets: the edited files; an annotator's may be in several.
        options: how they are read.

    Returns:
        Content of `review.json`: counts, no text.

    Raises:
        MissingError: Something that an earlier step writes, or a sheet, is not there.
        UsageError: A sheet is not as it must be; lists everything, by file, row and column.
    """
    number = rounds.latest_exported(folder)
    shares = rounds.load_shares(folder, number)
    form = _release_form(folder, number, options)
    before = rounds.cases_of(folder, number - 1)
    blank = NOT_RELEVANT if options.blank_not_relevant else ""
    check = SheetCheck(number=number, cases=before, sheets=shares["sheets"], blank=blank)
    for path in sheets:
        for row in read_sheet(path, COLUMNS):
            check.read(row)
    given = check.given()
    absent = [name for name, ids in check.sheets.items() if name not in given and ids]
    readings = check.readings()
    if absent and not options.partial:
        check.problems.append(f"no sheet of {', '.join(absent)} is among the files; to go on without, add --partial")
    refuse(check.problems)
    after, problems = _merged(number, before, readings, shares["first"])
    refuse(problems)
    if not after:
        raise UsageError("no case is annotated by the one who decides about it, so there is nothing to write.")
    splits = split_cases(after, dev=form["dev"], seed=form["seed"])
    if not splits["test"]:
        raise UsageError(
            f"--dev {form['dev']}: leaves no case for the split test, of {len(after)} cases. Give a smaller number."
        )
    place = rounds.round_folder(folder, number)
    history = [
        change for name, each in readings.items() for reading in each for change in _changes(before[name], reading)
    ]
    files.write_lines(place / rounds.HISTORY, history)
    digests = {
        rounds.MARKS: files.write_lines(place / rounds.MARKS, _marks(before, readings)),
        rounds.CASES: write_cases(place / rounds.CASES, after),
    }
    write_release(folder / files.RELEASE, splits, note_source=form["note_source"])
    made = {
        "schema_version": 1,
        "round": number,
        "without_sheets_of": absent,
        "blank_not_relevant": options.blank_not_relevant,
        **_counts(after),
        "edits": dict(Counter(f"{each['kind']}: {each['field']}" for each in history)),
        "edits_by_reviewer": dict(Counter(each["reviewer"] for each in history)),
        "release": form,
        "splits": {split: len(each) for split, each in splits.items()},
        "sha256": digests,
    }
    files.write_json(place / rounds.REVIEW, made)
    return made


def _release_form(folder: Path, number: int, options: ReviewOptions) -> dict[str, Any]:
    """What decides about the official files beside the cases; what is not said now is as in the round before."""
    form: dict[str, Any] = {"note_source": "", "dev": 0, "seed": 0}
    if number > 1:
        form |= files.read_json(rounds.round_folder(folder, number - 1) / rounds.REVIEW, step="import").get(
            "release", {}
        )
    said = {"note_source": options.note_source, "dev": options.dev, "seed": options.seed}
    form |= {name: value for name, value in said.items() if value is not None}
    if form["note_source"] not in ("", *NOTE_SOURCES):
        raise UsageError(f"--note-source must be one of {', '.join(NOTE_SOURCES)}, got {form['note_source']!r}.")
    if form["dev"] < 0:
        raise UsageError(f"--dev must be 0 or more, got {form['dev']}.")
    checked_seed(form["seed"])
    return form


def _merged(
    number: int, before: Mapping[str, OwnCase], readings: Mapping[str, Sequence[Reading]], first: Mapping[str, str]
) -> tuple[list[OwnCase], list[str]]:
    """The cases on which the one who decides has handed in, and what is wrong with them."""
    after: list[OwnCase] = []
    problems: list[str] = []
    for name, case in before.items():
        own = next((each for each in readings.get(name, ()) if each.reviewer == first[name]), None)
        if own is None:
            continue
        # The excerpt is fixed by the first round: figures of later ones are over the same sentences.
        made = _excerpted(case, own) if number == 1 else replace(case, annotation=own.annotation)
        if isinstance(made, str):
            problems.append(made)
        else:
            after.append(made)
    return after, problems


def _marks(before: Mapping[str, OwnCase], readings: Mapping[str, Sequence[Reading]]) -> list[dict[str, Any]]:
    """What each annotator said, by the ids of the sheets."""
    return [
        {
            "case_id": name,
            "reviewer": each.reviewer,
            "labels": [each.annotation.labels[sentence.id] for sentence in before[name].sentences],
        }
        for name in readings
        for each in readings[name]
    ]


def _counts(cases: Sequence[OwnCase]) -> dict[str, Any]:
    labels = Counter(label for case in cases for label in case.annotation.labels.values())
    words = [len(answer_text(case.annotation.answer).split()) for case in cases]
    return {
        "cases": len(cases),
        "sentences": labels.total(),
        "labels": {name: labels[name] for name in LABELS},
        "without_essential": sum(ESSENTIAL not in case.annotation.labels.values() for case in cases),
        "without_answer": sum(count == 0 for count in words),
        "answers_missing_essential": sum(map(_misses_essential, cases)),
        "answers_over_word_limit": sum(count > WORD_LIMIT for count in words),
    }


def _misses_essential(case: OwnCase) -> bool:
    """Whether an answer leaves an essential sentence uncited, which the guidelines do not allow."""
    said = case.annotation
    cited = {number for sentence in said.answer for number in sentence.citations}
    return bool(said.answer) and any(label == ESSENTIAL and each not in cited for each, label in said.labels.items())


def _excerpted(case: OwnCase, reading: Reading) -> OwnCase | str:
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


def _changes(case: OwnCase, reading: Reading) -> Iterator[dict[str, Any]]:
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
