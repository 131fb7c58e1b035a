"""What the steps keep in JSON files: recipes, counts and figures, never a text of a message or note.

Each form is what one step writes and another reads, or what a person reads beside the release.
Hashes are SHA-256, in hexadecimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from medical_tasks.construct.annotation import Settings, Shares
from medical_tasks.construct.shared import Figure


class FilterRecipe(TypedDict):
    """What decides which messages are kept."""

    source_sha256: str
    keywords: list[str]


class Filtered(TypedDict):
    """`filter.json`: how many messages have a keyword, and which."""

    schema_version: int
    recipe: FilterRecipe
    posts: int
    empty: int
    kept: int
    by_keyword: dict[str, int]  # keyword to messages with it, the most frequent first
    sha256: dict[str, str]  # file name to hash


class CodedPosts(TypedDict):
    """How many messages have descriptions of codes."""

    posts: int
    with_codes: int
    codes: int
    sha256: str


class CodesFromFile(CodedPosts):
    """Codes of messages that the user gave."""

    source_sha256: str
    rows_of_others: int  # rows about messages that were not kept


class CodesFromModel(CodedPosts):
    """Codes of messages that a model was asked for."""

    recipe: Mapping[str, object]
    asked_again: int
    failed: dict[str, int]  # reason to the number of messages without a usable reply
    failed_posts: dict[str, str]  # message to the reason


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
    """A line of `candidates.jsonl`: a note that may answer a message."""

    post_id: str
    rank: int  # from 1, the best
    note_id: str
    document_id: str
    score: float


class NoteCounts(TypedDict):
    """The notes that were searched."""

    notes: int
    notes_with_codes: int


class Alignment(NoteCounts):
    """`align.json`."""

    schema_version: int
    recipe: dict[str, object]
    posts: int
    posts_with_notes: int
    candidates: int
    sha256: dict[str, str]  # file name to hash


class RoundShares(Settings, Shares):
    """`shares.json` of a round."""

    round: int
    cases_sha256: str  # of the cases that the sheets show


class CaseRecord(TypedDict):
    """A line of `cases.jsonl`: a case, and what was annotated of it so far."""

    id: str
    post_id: str
    document_id: str
    narrative: str
    sentences: list[list[str]]  # id, paragraph and text of each
    phrases: list[str]
    question: str
    labels: list[str]  # of each sentence; empty before anybody annotated them
    answer: list[str]
    citations: list[list[str]]  # of each sentence of the answer


class ReleaseForm(TypedDict):
    """Options of a release, which later rounds keep unless they are given anew."""

    note_source: str
    dev: int
    seed: int


class MarkRecord(TypedDict):
    """A line of `marks.jsonl`: how one person labelled the sentences of one case."""

    case_id: str
    reviewer: str
    labels: list[str]


class Change(TypedDict):
    """A line of `history.jsonl`: what an annotator changed, and where."""

    case_id: str
    reviewer: str
    sheet: str  # file name; "" where no row stands for the change
    row: int
    kind: str
    number: str
    field: str
    before: str
    after: str


class CaseCounts(TypedDict):
    """What the cases of a round hold."""

    cases: int
    sentences: int
    labels: dict[str, int]
    without_essential: int
    without_answer: int
    answers_missing_essential: int  # answers that leave an essential sentence uncited
    answers_over_word_limit: int


class RoundReview(CaseCounts):
    """`review.json` of a round."""

    schema_version: int
    round: int
    without_sheets_of: list[str]
    blank_not_relevant: bool
    edits: dict[str, int]  # `kind: field` to changes
    edits_by_reviewer: dict[str, int]
    release: ReleaseForm
    splits: dict[str, int]  # split to cases
    sha256: dict[str, str]  # file name to hash


class LabelEdit(TypedDict):
    """How often one label became another."""

    before: str
    after: str
    count: int
    of_edits: Figure


class LabelAgreement(TypedDict):
    """Two labels of each sentence, compared."""

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
    """How much of the answers before a round is left after it."""

    answers: int
    changed: int
    words: int
    words_retained: int
    retained: Figure | None  # None where no case had an answer


class RoundChanges(TypedDict):
    """A round compared with the one before."""

    cases: int
    labels: LabelAgreement
    questions_changed: int
    focus_changed: int
    answers: AnswerChanges


class RoundAgreement(TypedDict):
    """What can be compared of a round."""

    round: int
    against_round_before: (
        RoundChanges | None
    )  # None for the first, before which nothing is labelled
    among_annotators: list[AnnotatorAgreement]


class Agreement(TypedDict):
    """`agreement.json`."""

    schema_version: int
    words: str  # how answers are cut into words
    rounds: list[RoundAgreement]
