"""Annotation sheets, written and checked (section Creation).

A sheet has a row for each sentence of the note, and rows for question and answer.

Existing sheets are never overwritten, since somebody may have edited them. Errors name
file, row and column, never the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import medical_tasks.construct.annotation as annotation
from medical_tasks.benchmarks.archehr_qa.release import AnswerSentence
from medical_tasks.construct.annotation import LEAVE
from medical_tasks.construct.archehr import files, rounds
from medical_tasks.construct.archehr.align import chosen_cases
from medical_tasks.construct.archehr.files import one_line
from medical_tasks.construct.archehr.forms import RoundShares
from medical_tasks.construct.archehr.release_files import phrase_offsets
from medical_tasks.construct.archehr.rounds import (
    ESSENTIAL,
    NOT_RELEVANT,
    SUPPLEMENTARY,
    Annotation,
    OwnCase,
    write_cases,
)
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.io.files import make_folder
from medical_tasks.io.tables import TableRow

COLUMNS: Final = (
    "index", "round", "case_id", "reviewer", "kind", "number",
    "paragraph", "text", "relevance", "citations", "comment",
)  # fmt: skip
KINDS: Final = ("patient", "focus", "question", "sentence", "answer")
_FOCUS_ROWS: Final = 4
_ANSWER_ROWS: Final = 8


def sheet_rows(case: OwnCase) -> Iterator[dict[str, object]]:
    """Yields the rows of a case with earlier annotations.

    The columns `index`, `round` and `reviewer` are added later.
    """
    annotated = case.annotation
    yield _row(case, "patient", "1", text=case.narrative)
    for number in range(max(_FOCUS_ROWS, len(annotated.phrases) + 1)):
        yield _row(
            case,
            "focus",
            str(number + 1),
            text=annotated.phrases[number] if number < len(annotated.phrases) else "",
        )

    yield _row(case, "question", "1", text=annotated.question)
    for sentence in case.sentences:
        label = annotated.labels.get(sentence.id, "")
        yield _row(
            case,
            "sentence",
            sentence.id,
            paragraph=sentence.paragraph_id,
            text=sentence.text,
            relevance=label,
        )

    for number in range(max(_ANSWER_ROWS, len(annotated.answer) + 1)):
        written = annotated.answer[number] if number < len(annotated.answer) else None
        cited = (
            f"|{','.join(written.citations)}|" if written and written.citations else ""
        )
        yield _row(
            case,
            "answer",
            str(number + 1),
            text=written.text if written else "",
            citations=cited,
        )


def _row(case: OwnCase, kind: str, number: str, **cells: str) -> dict[str, object]:
    empty = dict.fromkeys(
        ("paragraph", "text", "relevance", "citations", "comment"), ""
    )
    return {"case_id": case.id, "kind": kind, "number": number, **empty, **cells}


def export_sheets(
    folder: Path,
    reviewers: Sequence[str],
    *,
    chosen: Sequence[Path] = (),
    overlap: int = 0,
    seed: int = 0,
) -> RoundShares:
    """Writes a sheet for each reviewer for the next round, with `overlap` cases for everybody.

    Returns the content of `shares.json`.
    """
    number = rounds.latest(folder, rounds.REVIEW) + 1
    path, before = (
        rounds.round_folder(folder, number),
        rounds.round_folder(folder, number - 1),
    )
    if number == 1:
        cases = _first_cases(folder, before, chosen)
    elif chosen:
        raise UsageError(
            f"construct archehr sheet does not accept a PATH for round {number}: cases are chosen before "
            "the first round."
        )
    else:
        cases = rounds.cases_of(folder, number - 1)

    shares: RoundShares = {
        "schema_version": 1,
        "round": number,
        "cases_sha256": file_sha256(before / rounds.CASES),
        "reviewers": list(reviewers),
        "overlap": overlap,
        "seed": seed,
        **annotation.shared_sheets(list(cases), reviewers, overlap=overlap, seed=seed),
    }
    make_folder(path)
    refusal = (
        f"{path}: sheets of round {number} were exported from other cases or with other "
        "settings, and somebody may be working on them. Repeat that command, or move this folder "
        "away to export them again."
    )
    annotation.keep_once(
        path / rounds.SHARES, shares, step="archehr sheet", refusal=refusal
    )
    sheets = make_folder(path / rounds.SHEETS)
    files.write_guidelines(sheets)
    rows = {
        name: _all_rows(cases, ids, {"round": number, "reviewer": name})
        for name, ids in shares["sheets"].items()
    }
    annotation.write_sheets(sheets, COLUMNS, rows)

    return shares


def _first_cases(
    folder: Path, round_path: Path, chosen: Sequence[Path]
) -> Mapping[str, OwnCase]:
    cases = chosen_cases(folder, chosen)
    if rounds.latest(folder, rounds.SHARES) == 0:
        make_folder(round_path)
        write_cases(round_path / rounds.CASES, cases)
        return {case.id: case for case in cases}

    exported = rounds.cases_of(folder, 0)
    if list(exported.values()) != cases:
        raise UsageError(
            f"{rounds.round_folder(folder, 1)}: sheets of other cases were exported, and somebody "
            "may be working on them. Choose the same cases, or move round_0 and round_1 away to "
            "start over."
        )

    return exported


def _all_rows(
    cases: Mapping[str, OwnCase], ids: Sequence[str], about: Mapping[str, object]
) -> Iterator[dict[str, object]]:
    rows = (row for identifier in ids for row in sheet_rows(cases[identifier]))
    for index, row in enumerate(rows, start=1):
        yield {**row, **about, "index": index}


CONTEXT: Final = "context"
"""Marks a sentence, such as a heading, that is not relevant but keeps its paragraph in the
excerpt."""

_MARKS: Final = {
    name[:1]: name for name in (ESSENTIAL, SUPPLEMENTARY, NOT_RELEVANT, CONTEXT)
}
_SPELT: Final = {
    **_MARKS,
    **{name: name for name in _MARKS.values()},
    "not relevant": NOT_RELEVANT,
}
_CITED: Final = re.compile(r"\|\s*[0-9]{1,5}(?:\s*,\s*[0-9]{1,5})*\s*\|")

Key = tuple[str, str]
"""Kind and number of a row."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """An annotator's reading of a case.

    Attributes:
        context: Ids of the sentences marked as context.
        rows: The rows, by kind and number.
    """

    reviewer: str
    annotation: Annotation
    context: frozenset[str]
    rows: Mapping[Key, TableRow]


@dataclass(kw_only=True)
class SheetCheck:
    """The rows read so far, and all problems in them.

    Attributes:
        cases: The cases shown in the sheets, by id.
        sheets: Reviewer to the ids of cases.
        blank: The label of a sentence without a mark; "" if a mark is required.
    """

    number: int
    cases: Mapping[str, OwnCase]
    sheets: Mapping[str, Sequence[str]]
    blank: str = ""
    problems: list[str] = field(default_factory=list)
    _rows: dict[tuple[str, str], dict[Key, TableRow]] = field(default_factory=dict)

    def read(self, row: TableRow) -> None:
        """Keeps a row, or the problem with its identity."""
        reviewer, case_id = row.cells["reviewer"].strip(), row.cells["case_id"].strip()
        key = row.cells["kind"].strip().lower(), row.cells["number"].strip()
        problem = self._identity_problem(row, reviewer, case_id, key)
        if problem is None:
            self._rows.setdefault((reviewer, case_id), {})[key] = row
        else:
            self.problems.append(problem)

    def _identity_problem(
        self, row: TableRow, reviewer: str, case_id: str, key: Key
    ) -> str | None:
        """Says why a row cannot belong to these sheets; None if it can.

        Checks in order: round, annotator, case, kind, duplicates, number. Annotators may
        add rows for answers and focus areas, but none for sentences and questions.
        """
        if row.cells["round"].strip() != str(self.number):
            return (
                f"{row.location('round')}: must be {self.number}, the round that is imported; give "
                "the sheets of that round"
            )

        if problem := annotation.unknown_reviewer(row, reviewer, self.sheets):
            return problem
        if case_id not in self.sheets[reviewer]:
            return f"{row.location('case_id')}: is no case in the sheet of {reviewer}; {LEAVE}"
        if key[0] not in KINDS:
            return f"{row.location('kind')}: must be one of {', '.join(KINDS)}; {LEAVE}"

        earlier = self._rows.get((reviewer, case_id), {}).get(key)
        if earlier is not None:
            what = f"{key[0]} {key[1]} of case {case_id}"
            return annotation.repeated_row(row, "number", what, earlier)

        if key[0] in ("focus", "answer"):
            numbers = set(map(str, range(1, 100)))
        else:
            numbers = (
                {sentence.id for sentence in self.cases[case_id].sentences}
                if key[0] == "sentence"
                else {"1"}
            )

        if key[1] not in numbers:
            return f"{row.location('number')}: case {case_id} has no {key[0]} of that number; {LEAVE}"

        return None

    def reviewers(self) -> list[str]:
        """Lists the reviewers whose sheets were read, in alphabetical order."""
        return sorted({reviewer for reviewer, _ in self._rows})

    def readings(self) -> dict[str, list[Reading]]:
        """Reads the annotations from the rows, and collects problems.

        Returns:
            Case id to its readings, which are complete if there are no problems.
        """
        readings: dict[str, list[Reading]] = {}
        for reviewer in self.reviewers():
            for case_id in self.sheets[reviewer]:
                rows = self._rows.get((reviewer, case_id), {})
                readings.setdefault(case_id, []).append(
                    self._reading(reviewer, self.cases[case_id], rows)
                )

        return readings

    def _reading(
        self, reviewer: str, case: OwnCase, rows: Mapping[Key, TableRow]
    ) -> Reading:
        """Reads an annotator's rows of a case, and collects problems.

        Sentences marked `context` stay in the excerpt to make it readable; in the release
        they are not relevant.
        """
        lost = [
            f"{row['kind']} {row['number']}"
            for row in sheet_rows(case)
            if (row["kind"], row["number"]) not in rows
            and (row["text"] or row["kind"] == "question")
        ]
        if lost:
            self.problems.append(
                f"the sheet of {reviewer}: rows of case {case.id} are lost "
                f"({annotation.first_few(lost)})"
            )

        for (kind, _), row in rows.items():
            self.problems += _misplaced(kind, row)

        self.problems += _changed(case, rows)
        keys = {sentence.id: ("sentence", sentence.id) for sentence in case.sentences}
        labels = {
            number: self._label(rows[key])
            for number, key in keys.items()
            if key in rows
        }

        return Reading(
            reviewer=reviewer,
            annotation=Annotation(
                phrases=self._phrases(case, rows),
                question=self._question(rows),
                labels={
                    number: NOT_RELEVANT if label == CONTEXT else label
                    for number, label in labels.items()
                },
                answer=self._answer(case, rows),
            ),
            context=frozenset(
                number for number, label in labels.items() if label == CONTEXT
            ),
            rows=rows,
        )

    def _label(self, row: TableRow) -> str:
        mark = row.cells["relevance"].strip().lower()
        if not mark and self.blank:
            return self.blank

        label = _SPELT.get(mark, "")
        if not label:
            received = f"got a text of {len(mark)} characters" if mark else "is empty"
            self.problems.append(
                f"{row.location('relevance')}: must be {', '.join(_MARKS.values())} or its first "
                f"letter, {received}"
            )

        return label

    def _phrases(self, case: OwnCase, rows: Mapping[Key, TableRow]) -> tuple[str, ...]:
        """Reads the focus areas, which must be verbatim phrases of the message."""
        written = [
            (row, one_line(row.cells["text"])) for row in _numbered(rows, "focus")
        ]
        phrases = [(row, text) for row, text in written if text]
        for (row, _), offset in zip(
            phrases,
            phrase_offsets(case.narrative, [text for _, text in phrases]),
            strict=True,
        ):
            if offset < 0:
                self.problems.append(
                    f"{row.location('text')}: is not in the message of case {case.id}; copy the "
                    "words verbatim"
                )

        if not phrases and written:
            self.problems.append(
                f"{written[0][0].location('text')}: is empty; copy the words of the message that ask"
            )

        return tuple(text for _, text in phrases)

    def _question(self, rows: Mapping[Key, TableRow]) -> str:
        row = rows.get(("question", "1"))
        text = one_line(row.cells["text"]) if row is not None else ""
        if row is not None and not text:
            self.problems.append(
                f"{row.location('text')}: is empty; write the question as a clinician would put it"
            )
        return text

    def _answer(
        self, case: OwnCase, rows: Mapping[Key, TableRow]
    ) -> tuple[AnswerSentence, ...]:
        """Reads the answer's sentences with their citations, renumbered from 1.

        Example: rows 1, 2 and 4 become sentences 1 and 2 if row 2 was emptied. Citations
        `|3,1|` are put in the order of the note, 1 and 3.
        """
        sentences: list[AnswerSentence] = []
        sentence_ids = [sentence.id for sentence in case.sentences]
        for row in _numbered(rows, "answer"):
            text, cited = one_line(row.cells["text"]), row.cells["citations"].strip()
            if cited and not text:
                self.problems.append(
                    f"{row.location('text')}: is empty, but the row has citations"
                )

            if cited and not _CITED.fullmatch(cited):
                self.problems.append(
                    f"{row.location('citations')}: must be of the form |1,2|, or empty"
                )
                cited = ""

            ids = (
                {number.strip() for number in cited.strip("|").split(",")}
                if cited
                else set()
            )
            if ids - set(sentence_ids):
                self.problems.append(
                    f"{row.location('citations')}: case {case.id} has no sentences "
                    f"{', '.join(sorted(ids - set(sentence_ids)))}"
                )

            if text:
                cites = tuple(number for number in sentence_ids if number in ids)
                sentences.append(
                    AnswerSentence(
                        id=str(len(sentences) + 1), text=text, citations=cites
                    )
                )

        return tuple(sentences)


def _numbered(rows: Mapping[Key, TableRow], kind: str) -> list[TableRow]:
    return [
        rows[key]
        for key in sorted(
            (key for key in rows if key[0] == kind), key=lambda key: int(key[1])
        )
    ]


def _misplaced(kind: str, row: TableRow) -> Iterator[str]:
    for column, of in (("relevance", "sentence"), ("citations", "answer")):
        if kind != of and row.cells[column].strip():
            yield f"{row.location(column)}: must be empty; it is for rows of the kind {of}"
    if problem := annotation.formula_problem(row, "text"):
        yield problem


def _changed(case: OwnCase, rows: Mapping[Key, TableRow]) -> Iterator[str]:
    texts = {
        ("sentence", sentence.id): sentence.text for sentence in case.sentences
    } | {("patient", "1"): case.narrative}
    for key, text in texts.items():
        if key in rows and one_line(rows[key].cells["text"]) != text:
            yield f"{rows[key].location('text')}: was changed; message and note must stay as they are"
