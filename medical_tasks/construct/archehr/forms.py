"""The JSON files of the steps: recipes, counts and figures.

Only `CaseRecord` and `Change` hold texts of messages or notes. Hashes are SHA-256, in
hexadecimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from medical_tasks.construct.annotation import Settings, Shares
from medical_tasks.scoring.estimates import Figure


class FilterRecipe(TypedDict):
    """The settings that decide which messages are kept."""

    source_sha256: str
    keywords: list[str]


class Filtered(TypedDict):
    """`filter.json`: how many messages have a keyword, and which.

    Attributes:
        by_keyword: Keyword to messages with it, the most frequent first.
        sha256: File name to hash.
    """

    schema_version: int
    recipe: FilterRecipe
    posts: int
    empty: int
    kept: int
    by_keyword: dict[str, int]
    sha256: dict[str, str]


class CodedPosts(TypedDict):
    """How many messages have descriptions of codes."""

    posts: int
    with_codes: int
    codes: int
    sha256: str


class CodesFromFile(CodedPosts):
    """Codes of messages from the user's file.

    Attributes:
        rows_of_others: Rows about messages that were not kept.
    """

    source_sha256: str
    rows_of_others: int


class CodesFromModel(CodedPosts):
    """Codes of messages from a model.

    Attributes:
        failed: Reason to the number of messages without a usable reply.
        failed_posts: Message to reason.
    """

    recipe: Mapping[str, object]
    asked_again: int
    failed: dict[str, int]
    failed_posts: dict[str, str]


class CodedNotes(TypedDict):
    """How many admissions have descriptions of codes."""

    codes_sha256: str
    dictionary_sha256: str
    admissions: int
    codes: int
    without_description: int
    sha256: str


class Expansion(TypedDict):
    """`expand.json`; None for what was not expanded."""

    schema_version: int
    notes: CodedNotes | None
    posts: CodesFromFile | CodesFromModel | None


class Candidate(TypedDict):
    """A line of `candidates.jsonl`: a note that may answer a message.

    Attributes:
        rank: From 1, the best.
    """

    post_id: str
    rank: int
    note_id: str
    document_id: str
    score: float


class NoteCounts(TypedDict):
    """The notes that were searched."""

    notes: int
    notes_with_codes: int


class Alignment(NoteCounts):
    """`align.json`.

    Attributes:
        sha256: File name to hash.
    """

    schema_version: int
    recipe: dict[str, object]
    posts: int
    posts_with_notes: int
    candidates: int
    sha256: dict[str, str]


class RoundShares(Settings, Shares):
    """`shares.json` of a round.

    Attributes:
        cases_sha256: Hash of the cases shown in the sheets.
    """

    round: int
    cases_sha256: str


class CaseRecord(TypedDict):
    """A line of `cases.jsonl`: a case with its annotation so far.

    Attributes:
        sentences: Id, paragraph and text of each sentence.
        labels: The label of each sentence; empty before the first round.
        citations: The citations of each sentence of the answer.
    """

    id: str
    post_id: str
    document_id: str
    narrative: str
    sentences: list[list[str]]
    phrases: list[str]
    question: str
    labels: list[str]
    answer: list[str]
    citations: list[list[str]]


class ReleaseForm(TypedDict):
    """Options of a release, which later rounds keep unless other values are given."""

    note_source: str
    dev: int
    seed: int


class MarkRecord(TypedDict):
    """A line of `marks.jsonl`: how one person labelled the sentences of one case."""

    case_id: str
    reviewer: str
    labels: list[str]


class Change(TypedDict):
    """A line of `history.jsonl`: what an annotator changed, and where.

    Attributes:
        sheet: File name; "" if no row corresponds to the change.
    """

    case_id: str
    reviewer: str
    sheet: str
    row: int
    kind: str
    number: str
    field: str
    before: str
    after: str


class CaseCounts(TypedDict):
    """Counts of a round's cases.

    Attributes:
        answers_missing_essential: Answers that leave an essential sentence uncited.
    """

    cases: int
    sentences: int
    labels: dict[str, int]
    without_essential: int
    without_answer: int
    answers_missing_essential: int
    answers_over_word_limit: int


class RoundReview(CaseCounts):
    """`review.json` of a round.

    Attributes:
        edits: `kind: field` to changes.
        splits: Split to cases.
        sha256: File name to hash.
    """

    schema_version: int
    round: int
    without_sheets_of: list[str]
    blank_not_relevant: bool
    edits: dict[str, int]
    edits_by_reviewer: dict[str, int]
    release: ReleaseForm
    splits: dict[str, int]
    sha256: dict[str, str]


class LabelEdit(TypedDict):
    """How often one label became another."""

    before: str
    after: str
    count: int
    of_edits: Figure


class LabelAgreement(TypedDict):
    """The agreement of two labels of each sentence."""

    sentences: int
    agreed: int
    agreement: Figure
    kappa: Figure
    edits: list[LabelEdit]


class AnnotatorAgreement(LabelAgreement):
    """The labels of two annotators, on the cases that both have."""

    annotators: list[str]
    cases: int


class AnswerChanges(TypedDict):
    """How much of the answers a round retained.

    Attributes:
        retained: None if no case had an answer.
    """

    answers: int
    changed: int
    words: int
    words_retained: int
    retained: Figure | None


class RoundChanges(TypedDict):
    """A round compared with the preceding one."""

    cases: int
    labels: LabelAgreement
    questions_changed: int
    focus_changed: int
    answers: AnswerChanges


class RoundAgreement(TypedDict):
    """The comparisons of a round.

    Attributes:
        against_round_before: None for the first round, before which nothing is labelled.
    """

    round: int
    against_round_before: RoundChanges | None
    among_annotators: list[AnnotatorAgreement]


class Agreement(TypedDict):
    """`agreement.json`.

    Attributes:
        words: How answers are split into words.
    """

    schema_version: int
    words: str
    rounds: list[RoundAgreement]
