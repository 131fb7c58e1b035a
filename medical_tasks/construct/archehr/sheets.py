"""Annotation sheets, written and checked.

A row a sentence of the note, and rows for question and answer (section Creation).

Sheets that exist are never overwritten: somebody may have edited them. Errors name
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
from medical_tasks.construct.archehr.release_files import phrase_places
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
    """Makes the rows of a case, with what was annotated before.

    The columns `index`, `round` and `reviewer` are not among them.
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
        there = annotated.answer[number] if number < len(annotated.answer) else None
        cited = f"|{','.join(there.citations)}|" if there and there.citations else ""
        yield _row(
            case,
            "answer",
            str(number + 1),
            text=there.text if there else "",
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
    """Writes a sheet a reviewer, for the next round, with `overlap` cases for everybody.

    Returns `shares.json` and the round.
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
            f"construct archehr sheet takes no PATH for round {number}: cases are chosen before "
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
        f"{path}: sheets of round {number} were exported of other cases or with other settings, "
        "and somebody may be at work on them. Repeat that command, or move this folder away to "
        "export them anew."
    )
    annotation.keep_once(
        path / rounds.SHARES, shares, step="archehr sheet", refusal=refusal
    )
    sheets = make_folder(path / rounds.SHEETS)
    files.write_guidelines(sheets)
    own = shares["sheets"].items()
    rows = {
        name: _all_rows(cases, ids, {"round": number, "reviewer": name})
        for name, ids in own
    }
    annotation.write_sheets(sheets, COLUMNS, rows)

    return shares


def _first_cases(
    folder: Path, place: Path, chosen: Sequence[Path]
) -> Mapping[str, OwnCase]:
    cases = chosen_cases(folder, chosen)
    if rounds.latest(folder, rounds.SHARES) == 0:
        make_folder(place)
        write_cases(place / rounds.CASES, cases)
        return {case.id: case for case in cases}

    there = rounds.cases_of(folder, 0)
    if list(there.values()) != cases:
        raise UsageError(
            f"{rounds.round_folder(folder, 1)}: sheets of other cases were exported, and somebody "
            "may be at work on them. Choose as before, or move round_0 and round_1 away to begin "
            "anew."
        )

    return there


def _all_rows(
    cases: Mapping[str, OwnCase], ids: Sequence[str], about: Mapping[str, object]
) -> Iterator[dict[str, object]]:
    rows = (row for identifier in ids for row in sheet_rows(cases[identifier]))
    for index, row in enumerate(rows, start=1):
        yield {**row, **about, "index": index}


CONTEXT: Final = "context"
"""A mark for a sentence that is not relevant and whose paragraph stays in the excerpt, such as a
heading."""

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
    """What an annotator made of a case.

    Attributes:
        context: Ids of sentences that are marked as context.
        rows: Kind and number to the row.
    """

    reviewer: str
    annotation: Annotation
    context: frozenset[str]
    rows: Mapping[Key, TableRow]


@dataclass(kw_only=True)
class SheetCheck:
    """Sheets so far: what was read of them, and all that is wrong.

    Attributes:
        cases: Id to case, as the sheets showed them.
        sheets: Reviewer to ids of cases.
        blank: The label of a sentence without one; "" where each must have one.
    """

    number: int
    cases: Mapping[str, OwnCase]
    sheets: Mapping[str, Sequence[str]]
    blank: str = ""
    problems: list[str] = field(default_factory=list)
    _rows: dict[tuple[str, str], dict[Key, TableRow]] = field(default_factory=dict)

    def read(self, row: TableRow) -> None:
        """Checks where a row belongs, and keeps it."""
        reviewer, case_id = row.cells["reviewer"].strip(), row.cells["case_id"].strip()
        key = row.cells["kind"].strip().lower(), row.cells["number"].strip()
        problem = self._place(row, reviewer, case_id, key)
        if problem is None:
            self._rows.setdefault((reviewer, case_id), {})[key] = row
        else:
            self.problems.append(problem)

    def _place(
        self, row: TableRow, reviewer: str, case_id: str, key: Key
    ) -> str | None:
        """What is wrong with where a row belongs; None if nothing is.

        Checked in order: round, annotator, case, kind, a second row of the same number,
        the number. Answers and focus areas may get new rows, sentences and questions
        may not.
        """
        if row.cells["round"].strip() != str(self.number):
            return (
                f"{row.location('round')}: must be {self.number}, the round that is read back; give "
                "the sheets of that round"
            )

        if problem := annotation.unknown_reviewer(row, reviewer, self.sheets):
            return problem
        if case_id not in self.sheets[reviewer]:
            return f"{row.location('case_id')}: is no case in the sheet of {reviewer}; {LEAVE}"
        if key[0] not in KINDS:
            return f"{row.location('kind')}: must be one of {', '.join(KINDS)}; {LEAVE}"

        there = self._rows.get((reviewer, case_id), {}).get(key)
        if there is not None:
            what = f"{key[0]} {key[1]} of case {case_id}"
            return annotation.stands_already(row, "number", what, there)

        if key[0] in ("focus", "answer"):
            known = set(map(str, range(1, 100)))
        else:
            known = (
                {each.id for each in self.cases[case_id].sentences}
                if key[0] == "sentence"
                else {"1"}
            )

        if key[1] not in known:
            return f"{row.location('number')}: case {case_id} has no {key[0]} of that number; {LEAVE}"

        return None

    def given(self) -> list[str]:
        """Whose sheets are among the files, in alphabetical order."""
        return sorted({reviewer for reviewer, _ in self._rows})

    def readings(self) -> dict[str, list[Reading]]:
        """Checks what the rows say.

        Case id to the readings of it, complete where there are no problems.
        """
        found: dict[str, list[Reading]] = {}
        for reviewer in self.given():
            for case_id in self.sheets[reviewer]:
                rows = self._rows.get((reviewer, case_id), {})
                found.setdefault(case_id, []).append(
                    self._reading(reviewer, self.cases[case_id], rows)
                )

        return found

    def _reading(
        self, reviewer: str, case: OwnCase, rows: Mapping[Key, TableRow]
    ) -> Reading:
        """An annotator's reading of a case; problems are collected.

        `context` is a mark of the annotators' own, for sentences that stay in the
        excerpt to make it readable: in the release they are not relevant.
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
            said = f"got a text of {len(mark)} characters" if mark else "is empty"
            self.problems.append(
                f"{row.location('relevance')}: must be {', '.join(_MARKS.values())} or its first "
                f"letter, {said}"
            )

        return label

    def _phrases(self, case: OwnCase, rows: Mapping[Key, TableRow]) -> tuple[str, ...]:
        """The focus areas: phrases that stand in the message word for word."""
        said = [(row, one_line(row.cells["text"])) for row in _numbered(rows, "focus")]
        phrases = [(row, text) for row, text in said if text]
        for (row, _), place in zip(
            phrases,
            phrase_places(case.narrative, [text for _, text in phrases]),
            strict=True,
        ):
            if place < 0:
                self.problems.append(
                    f"{row.location('text')}: does not stand in the message of case {case.id}; copy "
                    "its words as they are"
                )

        if not phrases and said:
            self.problems.append(
                f"{said[0][0].location('text')}: is empty; copy the words of the message that ask"
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
        """The answer's sentences, renumbered from 1, with their citations.

        Example: rows 1, 2 and 4, of which 2 was emptied, become sentences 1 and 2.
        Citations `|3,1|` are kept in the note's order, 1 and 3.
        """
        found: list[AnswerSentence] = []
        known = [sentence.id for sentence in case.sentences]
        for row in _numbered(rows, "answer"):
            text, cited = one_line(row.cells["text"]), row.cells["citations"].strip()
            if cited and not text:
                self.problems.append(
                    f"{row.location('text')}: is empty, and citations stand beside it"
                )

            if cited and not _CITED.fullmatch(cited):
                self.problems.append(
                    f"{row.location('citations')}: must be of the form |1,2|, or empty"
                )
                cited = ""

            ids = (
                {part.strip() for part in cited.strip("|").split(",")}
                if cited
                else set()
            )
            if ids - set(known):
                self.problems.append(
                    f"{row.location('citations')}: case {case.id} has no sentences "
                    f"{', '.join(sorted(ids - set(known)))}"
                )

            if text:
                cites = tuple(each for each in known if each in ids)
                found.append(
                    AnswerSentence(id=str(len(found) + 1), text=text, citations=cites)
                )

        return tuple(found)


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
