"""Review sheets for clinicians: written, read back and merged.

Each row holds one question (paper, section 3.3, appendix C.3, figure 6).

A sheet is never overwritten, since it may have been edited. All faults are reported at
once, by file, row and column; the contents of a cell are never quoted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq
from pathlib import Path
from typing import Final, Literal, cast

import medical_tasks.construct.annotation as annotation
import medical_tasks.construct.shared as construction
from medical_tasks.benchmarks.ehrnoteqa.notes import NoteRow
from medical_tasks.benchmarks.ehrnoteqa.questions import (
    LETTERS,
    OWN_FIELDS,
    question_categories,
)
from medical_tasks.construct.annotation import LEAVE
from medical_tasks.construct.ehrnoteqa import files
from medical_tasks.construct.ehrnoteqa.files import load_patients
from medical_tasks.construct.ehrnoteqa.forms import (
    AllRevisionCounts,
    Change,
    Draft,
    Review,
    ReviewedQuestion,
    ReviewerAgreement,
    ReviewShares,
    RevisionCounts,
)
from medical_tasks.construct.ehrnoteqa.protocol import same_text
from medical_tasks.construct.shared import file_name
from medical_tasks.data.dataset_source import file_sha256
from medical_tasks.errors import UsageError
from medical_tasks.io.files import WholeFile, make_folder, one_line
from medical_tasks.io.json_records import Field, is_text
from medical_tasks.io.tables import TableRow, read_sheet, refuse

CHOICE_COLUMNS: Final = tuple(f"choice_{letter.lower()}" for letter in LETTERS)
COLUMNS: Final = (
    "index",
    "id",
    "reviewer",
    "notes",
    "inclusion",
    "question",
    "answer",
    *CHOICE_COLUMNS,
    "comment",
)
NOTES_FOLDER: Final = "notes"

_DRAFT_FIELDS: Final = {
    "id": OWN_FIELDS["id"],
    "question": OWN_FIELDS["question"],
    "choices": OWN_FIELDS["choices"],
    "answer": OWN_FIELDS["answer"],
    "drafted_answer": construction.private_field(is_text()),
    "question_reason": construction.private_field(is_text()),
    "choices_reason": construction.private_field(is_text()),
    "written_order": construction.private_field(is_text()),
    "tries": construction.private_field(
        Field(holds=lambda value: isinstance(value, list), rule="a list")
    ),
}


def load_drafts(folder: Path) -> dict[str, Draft]:
    """Reads the drafts of a construction."""
    outcome = construction.read_json(
        folder / files.DRAFTS_RECIPE, step="ehrnoteqa generate"
    )
    path = folder / files.DRAFTS
    if path.exists():
        advice = (
            "Edit the sheets instead; to write it again, move it away and do this step again: "
            "construct ehrnoteqa generate."
        )
        construction.check_unchanged(path, outcome.get("sha256"), advice)

    records = construction.read_lines(path, _DRAFT_FIELDS, step="ehrnoteqa generate")
    drafts = (
        cast("Draft", record.values) for record in records
    )  # as `_DRAFT_FIELDS` checked it
    return {draft["id"]: draft for draft in drafts}


def export_sheets(
    folder: Path, reviewers: Sequence[str], *, overlap: int = 0, seed: int = 0
) -> ReviewShares:
    """Writes sheets and notes.

    Existing sheets are left unchanged, so that an interrupted export can be resumed.
    """
    drafts = load_drafts(folder)
    shares: ReviewShares = {
        "schema_version": 1,
        "drafts_sha256": file_sha256(folder / files.DRAFTS),
        "reviewers": list(reviewers),
        "overlap": overlap,
        "seed": seed,
        **annotation.shared_sheets(list(drafts), reviewers, overlap=overlap, seed=seed),
    }
    refusal = (
        f"{folder}: sheets were exported from here with other settings or of other drafts. Repeat "
        f"that command, or move {files.SHARES} and {files.SHEETS} away first."
    )
    annotation.keep_once(
        folder / files.SHARES, shares, step="ehrnoteqa sheet", refusal=refusal
    )
    sheets = make_folder(folder / files.SHEETS)
    write_notes(
        sheets / NOTES_FOLDER,
        {
            patient.id: patient.notes
            for patient in load_patients(folder)
            if patient.id in drafts
        },
    )
    rows = {
        name: [
            _row(number, drafts[identifier], name)
            for number, identifier in enumerate(ids, start=1)
        ]
        for name, ids in shares["sheets"].items()
    }
    annotation.write_sheets(sheets, COLUMNS, rows)

    return shares


def write_notes(folder: Path, notes: Mapping[str, Sequence[NoteRow]]) -> None:
    """Writes the notes of each id to one file, readable by its owner alone."""
    make_folder(folder)
    for identifier, patient_notes in notes.items():
        with WholeFile(folder / file_name(identifier), private=True) as stream:
            for number, note in enumerate(patient_notes, start=1):
                stream.write(
                    f"===== note {number} of {len(patient_notes)} =====\n{note['text']}\n\n"
                )


def _row(number: int, draft: Draft, reviewer: str) -> dict[str, object]:
    return {
        **dict.fromkeys(COLUMNS, ""),
        "index": number,
        "id": draft["id"],
        "reviewer": reviewer,
        "notes": f"{NOTES_FOLDER}/{file_name(draft['id'])}",
        "question": draft["question"],
        "answer": draft["answer"],
        **dict(zip(CHOICE_COLUMNS, draft["choices"], strict=True)),
    }


_MARKS: Final[Mapping[str, Inclusion]] = {"o": "keep", "x": "drop"}


@dataclass(frozen=True, kw_only=True)
class _Opinion:
    row: TableRow
    inclusion: Inclusion
    content: Content


@dataclass(kw_only=True)
class _Check:
    """The rows read so far, and all problems in them.

    Problems are collected, not raised, so that a reviewer sees all of them at once.

    Attributes:
        first: by question, the reviewer who decides whether it is kept.
        sheets: by reviewer, the questions of the exported sheet.
        drafts: by question, its content before the review.
        blank_keeps: whether an empty mark means keep.
        opinions: by reviewer and question, what was decided in a sound row.
        problems: sentences with the place in the file.
        seen: by reviewer and question, the row, to find repeated ones.
    """

    first: Mapping[str, str]
    sheets: Mapping[str, Sequence[str]]
    drafts: Mapping[str, Content]
    blank_keeps: bool
    opinions: dict[tuple[str, str], _Opinion] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seen: dict[tuple[str, str], TableRow] = field(default_factory=dict)

    def read(self, row: TableRow) -> None:
        """Reads a row: keep (o) or drop (x), and the question as edited.

        A blank mark is an error unless `blank_keeps` is set. A dropped question may be
        malformed.
        """
        reviewer, identifier = row.cells["reviewer"].strip(), row.cells["id"].strip()
        problem = self._identity_problem(row, reviewer, identifier)
        if problem is not None:
            self.problems.append(problem)
            return

        self.seen[reviewer, identifier] = row
        mark = row.cells["inclusion"].strip().lower()
        if not mark and not self.blank_keeps:
            self.problems.append(
                f"{row.location('inclusion')}: is empty, so the question is not reviewed yet; mark it "
                "o (keep) or x (drop)"
            )
            return

        if mark and mark not in _MARKS:
            self.problems.append(
                annotation.unknown_mark(row, "inclusion", "o (keep) or x (drop)", mark)
            )
            return

        inclusion = _MARKS[mark] if mark else "keep"
        content = Content(
            question=one_line(row.cells["question"]),
            answer=row.cells["answer"].strip().upper(),
            choices=tuple(one_line(row.cells[name]) for name in CHOICE_COLUMNS),
        )
        problems = list(_content_problems(row, content)) if inclusion == "keep" else []
        self.problems += problems
        if not problems:
            self.opinions[reviewer, identifier] = _Opinion(
                row=row, inclusion=inclusion, content=content
            )

    def _identity_problem(
        self, row: TableRow, reviewer: str, identifier: str
    ) -> str | None:
        """Says why a row cannot belong to this sheet; None if it can."""
        question = f"question {identifier}"
        if problem := annotation.unknown_reviewer(row, reviewer, self.sheets):
            return problem
        if identifier not in self.drafts:
            return f"{row.location('id')}: is no question of these sheets; {LEAVE}"
        if identifier not in self.sheets[reviewer]:
            return f"{row.location('id')}: {question} is not in the sheet of {reviewer}; {LEAVE}"

        if (reviewer, identifier) in self.seen:
            earlier = self.seen[reviewer, identifier]
            return annotation.repeated_row(row, "id", question, earlier)

        number = self.sheets[reviewer].index(identifier) + 1
        if row.cells["index"].strip() != str(number):
            return f"{row.location('index')}: must be {number} for {question}; {LEAVE}"

        return None

    def check_complete(self, reviewer: str) -> None:
        missing = [
            identifier
            for identifier in self.sheets[reviewer]
            if (reviewer, identifier) not in self.seen
        ]
        if missing:
            shown = annotation.first_few(missing)
            self.problems.append(
                f"the sheet of {reviewer}: {len(missing)} rows are lost (questions {shown})"
            )


def _content_problems(row: TableRow, content: Content) -> Iterator[str]:
    """Yields the problems of a kept question: blanks, an invalid letter, equal choices."""
    if not content.question:
        yield f"{row.location('question')}: is empty; to drop the question mark it x"

    if content.answer not in tuple(LETTERS):
        yield annotation.unknown_mark(
            row, "answer", "a letter from A to E", content.answer
        )

    for name in ("question", *CHOICE_COLUMNS):
        if problem := annotation.formula_problem(row, name):
            yield problem

    texts: dict[str, str] = {}
    for name, text in zip(CHOICE_COLUMNS, content.choices, strict=True):
        if not text:
            yield f"{row.location(name)}: is empty"
        elif same_text(text) in texts:
            yield f"{row.location(name)}: is the same as {texts[same_text(text)]}"
        else:
            texts[same_text(text)] = name


def import_sheets(
    folder: Path,
    sheets: Sequence[Path],
    *,
    blank_keeps: bool = False,
    partial: bool = False,
) -> Review:
    """Reads edited sheets and writes questions, history and figures.

    With `blank_keeps`, a blank mark keeps its row, as in the paper's sheets.
    """
    drafts = load_drafts(folder)
    shares: ReviewShares = construction.read_json(
        folder / files.SHARES, step="ehrnoteqa sheet"
    )
    if shares.get("drafts_sha256") != file_sha256(folder / files.DRAFTS):
        raise UsageError(
            f"{folder}: the sheets were exported from other drafts than the present ones. Export "
            "them again."
        )

    check = _Check(
        first=shares["first"],
        sheets=shares["sheets"],
        drafts={
            name: Content(
                question=draft["question"],
                answer=draft["answer"],
                choices=tuple(draft["choices"]),
            )
            for name, draft in drafts.items()
        },
        blank_keeps=blank_keeps,
    )
    for path in sheets:
        for row in read_sheet(path, COLUMNS):
            check.read(row)

    received = {reviewer for reviewer, _ in check.seen}
    absent, problems = annotation.missing_sheets(
        check.sheets, received, partial=partial
    )
    check.problems += problems
    for name in sorted(received):
        check.check_complete(name)

    reviewed, history = [], []
    for identifier in drafts:
        merged = _merged(check, identifier)
        if merged is not None:
            reviewed.append(merged[0])
            history += merged[1]

    refuse(check.problems)
    return _written(folder, check, reviewed, history, absent)


def _merged(check: _Check, identifier: str) -> tuple[Reviewed, list[Change]] | None:
    """Merges the reviewers' opinions of a question.

    None if the reviewer who decides about it has not returned the sheet.

    Example:
        Ann decides about a question and keeps it unedited, Ben keeps it with another
        wording: Ben's wording counts. If both edit it, their edits must be the same. If Ann
        drops it, it is dropped, whatever Ben wrote.
    """
    first, before = check.first[identifier], check.drafts[identifier]
    opinions = {
        name: check.opinions[name, identifier]
        for name in check.sheets
        if (name, identifier) in check.opinions
    }
    if first not in opinions:
        return None

    edits = {
        name: opinion
        for name, opinion in opinions.items()
        if opinion.inclusion == "keep" and opinion.content != before
    }
    editor, edit = next(iter(edits.items()), ("", opinions[first]))
    is_kept = opinions[first].inclusion == "keep"
    for name, other in edits.items():
        if is_kept and other.content != edit.content:
            columns = ", ".join(
                column for column, _, _ in changed_fields(edit.content, other.content)
            )
            check.problems.append(
                f"question {identifier}: {editor} ({edit.row.path}, row {edit.row.number}) and {name} "
                f"({other.row.path}, row {other.row.number}) edited it differently: {columns}; "
                "make them alike"
            )

    history = [
        record
        for name, opinion in opinions.items()
        for record in _history(identifier, name, before, opinion)
    ]
    # If nobody edited the question, `edit` is the opinion of the one who decides.
    return Reviewed(
        id=identifier,
        reviewer=first,
        before=before,
        after=edit.content if is_kept else None,
    ), history


def _history(
    identifier: str, reviewer: str, before: Content, opinion: _Opinion
) -> Iterator[Change]:
    """Yields a reviewer's changes and comment as lines of history."""
    changes = (
        changed_fields(before, opinion.content)
        if opinion.inclusion == "keep"
        else [("inclusion", "", "x")]
    )
    comment = opinion.row.cells["comment"].strip()
    changes += [("comment", "", comment)] if comment else []
    for name, old, new in changes:
        yield {
            "id": identifier,
            "reviewer": reviewer,
            "sheet": opinion.row.path.name,
            "row": opinion.row.number,
            "field": name,
            "before": old,
            "after": new,
        }


def _written(
    folder: Path,
    check: _Check,
    reviewed: Sequence[Reviewed],
    history: Sequence[Change],
    absent: Sequence[str],
) -> Review:
    """Writes questions, history and figures of a review, and returns the figures.

    The caller has read all sheets without a fault.
    """
    kept = [question for question in reviewed if question.after is not None]
    if not kept:
        raise UsageError("no question is kept, so there is nothing to write.")

    patients = {patient.id: patient for patient in load_patients(folder)}
    rows: list[ReviewedQuestion] = []
    for question in kept:
        patient, after = patients[question.id], question.after or question.before
        rows.append(
            {
                "id": question.id,
                "patient_id": patient.id,
                "level": patient.level,
                "num_notes": patient.num_notes,
                "clinician": question.reviewer,
                "question": after.question,
                "choices": list(after.choices),
                "answer": after.answer,
                "categories": list(question_categories(after.question)),
                "evidence": [],
                "notes": list(patient.notes),
            }
        )

    construction.write_lines(folder / files.HISTORY, history)
    digest = construction.write_lines(folder / files.QUESTIONS, rows)
    marks: dict[str, dict[str, Inclusion]] = {}
    for (reviewer, identifier), opinion in check.opinions.items():
        marks.setdefault(reviewer, {})[identifier] = opinion.inclusion

    review: Review = {
        "schema_version": 1,
        "drafts": len(check.drafts),
        "without_sheets_of": list(absent),
        "blank_keeps": check.blank_keeps,
        **revision_counts(reviewed),
        "agreement": agreement(marks),
        "questions_sha256": digest,
    }
    construction.write_json(folder / files.REVIEW, review)
    return review


Inclusion = Literal["keep", "drop"]


@dataclass(frozen=True, kw_only=True)
class Content:
    """The editable fields of a question."""

    question: str
    answer: str
    choices: tuple[str, ...]

    @property
    def right(self) -> str:
        """The text of the right choice."""
        return self.choices[LETTERS.index(self.answer)]

    @property
    def wrong(self) -> tuple[str, ...]:
        """The texts of the wrong choices."""
        right_index = LETTERS.index(self.answer)
        return (*self.choices[:right_index], *self.choices[right_index + 1 :])


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """A question before and after review; `after` is None if it was removed."""

    id: str
    reviewer: str
    before: Content
    after: Content | None


def changed_fields(before: Content, after: Content) -> list[tuple[str, str, str]]:
    """Lists the field, the old text and the new text of each difference."""
    texts = (
        (content.question, content.answer, *content.choices)
        for content in (before, after)
    )
    names = ("question", "answer", *CHOICE_COLUMNS)
    return [
        (name, old, new)
        for name, old, new in zip(names, *texts, strict=True)
        if old != new
    ]


def revision_counts(reviewed: Sequence[Reviewed]) -> AllRevisionCounts:
    """Counts the revisions that the paper reports.

    In the paper, 38 of 1,000 questions were removed; of the other 962, 206 questions, 338
    answers and 966 of 3,848 wrong choices were revised. (The paper gives 3,842 wrong
    choices for 962 questions.)

    Texts are compared, not letters: a choice that only moved is not revised.
    """
    names = sorted({question.reviewer for question in reviewed})
    return {
        **_counts(reviewed),
        "by_reviewer": {
            name: _counts(
                [question for question in reviewed if question.reviewer == name]
            )
            for name in names
        },
    }


def _counts(reviewed: Sequence[Reviewed]) -> RevisionCounts:
    """Counts revisions as the paper does.

    Wrong choices are compared regardless of their order. `letters_changed` together with
    `answers_revised` distinguishes a moved answer from a new one.
    """
    kept = [
        (question.before, question.after)
        for question in reviewed
        if question.after is not None
    ]
    return {
        "reviewed": len(reviewed),
        "removed": len(reviewed) - len(kept),
        "kept": len(kept),
        "questions_revised": sum(
            before.question != after.question for before, after in kept
        ),
        "answers_revised": sum(before.right != after.right for before, after in kept),
        "letters_changed": sum(before.answer != after.answer for before, after in kept),
        "wrong_choices": len(kept) * (len(LETTERS) - 1),
        "wrong_choices_revised": sum(
            (Counter(after.wrong) - Counter(before.wrong)).total()
            for before, after in kept
        ),
        "unchanged": sum(before == after for before, after in kept),
    }


def agreement(marks: Mapping[str, Mapping[str, Inclusion]]) -> list[ReviewerAgreement]:
    """Compares each pair of reviewers on the questions that both marked."""
    from medical_tasks.scoring.agreement import cohen_interval
    from medical_tasks.scoring.estimates import as_json

    ordered = {
        name: dict(sorted(inclusions.items())) for name, inclusions in marks.items()
    }

    return [
        {
            "reviewers": names,
            "questions": len(both),
            "agreed": sum(map(eq, first, second)),
            "kappa": as_json(cohen_interval(first, second, classes=("keep", "drop"))),
        }
        for names, both, first, second in annotation.pairs_of_people(ordered)
    ]
