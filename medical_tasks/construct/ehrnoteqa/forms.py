"""The JSON files of the steps: recipes, drafts, who reviews what, and figures.

Only `drafts.jsonl`, `questions.jsonl`, `history.jsonl` and `answers.jsonl` hold texts.
Hashes are SHA-256, in hexadecimal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from medical_tasks.benchmarks.ehrnoteqa.notes import NoteRow
from medical_tasks.construct.annotation import Settings, Shares
from medical_tasks.scoring.estimates import Figure


class Source(TypedDict):
    """The file of discharge summaries."""

    name: str
    sha256: str


class SampleRecipe(TypedDict):
    """What decides which patients are drawn.

    Attributes:
        bounds: The most tokens of each level.
        cells: `LEVEL:NOTES` to patients.
    """

    source: Source
    tokenizer: dict[str, str]
    seed: int
    bounds: list[int]
    cells: dict[str, int]
    allow_fewer: bool


class SampleRow(TypedDict):
    """A row of the paper's table 2: the patients of one level and number of notes.

    Attributes:
        level: 1 or 2, by the length of a patient's notes.
        num_notes: number of discharge summaries a patient.
        patients: number of such patients in the source.
        mean_tokens: mean length of a patient's notes; None without patients.
        asked_for: number of patients to draw.
        sampled: number of patients drawn.
        sampled_mean_tokens: `mean_tokens` of the patients drawn.
    """

    level: int
    num_notes: int
    patients: int
    mean_tokens: float | None
    asked_for: int
    sampled: int
    sampled_mean_tokens: float | None


class SampleCounts(TypedDict):
    """How many patients there are, and how many were drawn."""

    patients: int
    notes: int
    beyond_bounds: int
    in_no_cell: int
    table: list[SampleRow]
    sampled: int


class Sample(SampleCounts):
    """`sample.json`.

    Attributes:
        sha256: File name to hash.
    """

    schema_version: int
    recipe: SampleRecipe
    sha256: dict[str, str]


class DraftedQuestion(TypedDict):
    """The model's first reply: a question with its answer."""

    question: str
    answer: str
    reason: str


class DraftedChoices(TypedDict):
    """The model's second reply: five choices, and the letter of the right one."""

    choices: list[str]
    answer: str
    reason: str


class Draft(TypedDict):
    """A line of `drafts.jsonl`.

    Attributes:
        answer: Letter of the right choice.
        written_order: The model's letters in the order of `choices`.
        tries: Replies to the question and to the choices.
    """

    id: str
    question: str
    choices: list[str]
    answer: str
    drafted_answer: str
    question_reason: str
    choices_reason: str
    written_order: str
    tries: list[int]


class Lengths(TypedDict):
    """Mean characters of right and wrong choices."""

    right: float | None
    wrong: float | None


class DraftFigures(TypedDict):
    """Whether position or length gives the right choice away."""

    right_place: dict[str, int]
    right_place_as_written: dict[str, int]
    right_is_longest: int
    mean_characters: Lengths
    asked_again: int


class Drafts(TypedDict):
    """`drafts.json`.

    Attributes:
        failed: Reason to patients.
        failed_patients: Patient to reason.
    """

    schema_version: int
    recipe: Mapping[str, object]
    patients: int
    drafted: int
    failed: dict[str, int]
    failed_patients: dict[str, str]
    figures: DraftFigures
    sha256: str


class ReviewShares(Settings, Shares):
    """`shares.json`."""

    drafts_sha256: str


class Change(TypedDict):
    """A line of `history.jsonl`: what a reviewer changed, and where."""

    id: str
    reviewer: str
    sheet: str
    row: int
    field: str
    before: str
    after: str


class ReviewedQuestion(TypedDict):
    """A line of `questions.jsonl`, as `build ehrnoteqa --config own` reads it."""

    id: str
    patient_id: str
    level: int
    num_notes: int
    clinician: str
    question: str
    choices: list[str]
    answer: str
    categories: list[str]
    evidence: list[str]
    notes: Sequence[NoteRow]


class RevisionCounts(TypedDict):
    """The paper's counts of a review.

    Attributes:
        reviewed: questions reviewed.
        removed: questions marked x.
        kept: the other questions; all further counts are of these.
        questions_revised: questions with another text.
        answers_revised: questions with another text of the right choice.
        letters_changed: questions whose right choice has another letter.
        wrong_choices: four for each question.
        wrong_choices_revised: texts that were not among the wrong choices before.
        unchanged: questions that nobody edited.
    """

    reviewed: int
    removed: int
    kept: int
    questions_revised: int
    answers_revised: int
    letters_changed: int
    wrong_choices: int
    wrong_choices_revised: int
    unchanged: int


class AllRevisionCounts(RevisionCounts):
    """The counts of all reviewers together, and of each reviewer."""

    by_reviewer: dict[str, RevisionCounts]


class ReviewerAgreement(TypedDict):
    """Two reviewers on the questions that both marked."""

    reviewers: list[str]
    questions: int
    agreed: int
    kappa: Figure


class Review(AllRevisionCounts):
    """`review.json`."""

    schema_version: int
    drafts: int
    without_sheets_of: list[str]
    blank_keeps: bool
    agreement: list[ReviewerAgreement]
    questions_sha256: str


class AnswerKey(Shares):
    """`key.json`, which says which model wrote each answer.

    Attributes:
        left_out: Questions that not every model answered.
    """

    schema_version: int
    models: list[str]
    seed: int
    overlap: int
    answers_sha256: str
    left_out: int


class AnswerRecord(TypedDict):
    """A line of `answers.jsonl`.

    Attributes:
        answer_number: From 1, in an order drawn with the seed.
    """

    id: str
    answer_number: int
    model: str
    response: str
