"""What clinicians made of the drafts, counted as the paper counts it (section 3.3), and how far two of them agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS

__all__ = ["Content", "Reviewed", "agreement", "changed_fields", "revision_counts"]

Inclusion = Literal["keep", "drop"]


@dataclass(frozen=True, kw_only=True)
class Content:
    """What of a question can be edited.

    Attributes:
        question: its text.
        answer: letter of the right choice.
        choices: the five texts.
    """

    question: str
    answer: str
    choices: tuple[str, ...]

    @property
    def right(self) -> str:
        """Text of the right choice."""
        return self.choices[LETTERS.index(self.answer)]

    @property
    def wrong(self) -> tuple[str, ...]:
        """Texts of the others."""
        place = LETTERS.index(self.answer)
        return (*self.choices[:place], *self.choices[place + 1 :])


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """A question after review.

    Attributes:
        id: the question's.
        reviewer: who decides about it.
        before: the draft.
        after: what is kept; None for a question that was removed.
    """

    id: str
    reviewer: str
    before: Content
    after: Content | None


def changed_fields(before: Content, after: Content) -> list[tuple[str, str, str]]:
    """Lists field, text before and text after, for each field that differs."""
    fields = [("question", before.question, after.question), ("answer", before.answer, after.answer)]
    fields += [
        (f"choice_{letter.lower()}", old, new)
        for letter, old, new in zip(LETTERS, before.choices, after.choices, strict=True)
    ]
    return [field for field in fields if field[1] != field[2]]


def revision_counts(reviewed: Sequence[Reviewed]) -> dict[str, Any]:
    """Counts what the paper counts: 38 of 1,000 removed; of 962, 206 questions, 338 answers and 966 of 3,848 wrong choices revised.

    An answer is revised when the right choice's text is another one, also where another letter was made the right one; a
    wrong choice when its text was none of the draft's wrong ones, so that changing places counts for nothing. (The paper gives
    3,842 wrong choices for 962 questions.)

    Args:
        reviewed: the questions.

    Returns:
        JSON values, over all and by reviewer.
    """
    names = sorted({each.reviewer for each in reviewed})
    return {
        **_counts(reviewed),
        "by_reviewer": {name: _counts([each for each in reviewed if each.reviewer == name]) for name in names},
    }


def _counts(reviewed: Sequence[Reviewed]) -> dict[str, int]:
    kept = [(each.before, each.after) for each in reviewed if each.after is not None]
    return {
        "reviewed": len(reviewed),
        "removed": len(reviewed) - len(kept),
        "kept": len(kept),
        "questions_revised": sum(before.question != after.question for before, after in kept),
        "answers_revised": sum(before.right != after.right for before, after in kept),
        "letters_changed": sum(before.answer != after.answer for before, after in kept),
        "wrong_choices": len(kept) * (len(LETTERS) - 1),
        "wrong_choices_revised": sum((Counter(after.wrong) - Counter(before.wrong)).total() for before, after in kept),
        "unchanged": sum(before == after for before, after in kept),
    }


def agreement(marks: Mapping[str, Mapping[str, Inclusion]]) -> list[dict[str, Any]]:
    """Compares each two reviewers on the questions that both marked.

    Args:
        marks: reviewer to question id to mark.

    Returns:
        JSON values for each pair with a question in common: how many, on how many they agree, Cohen's kappa with its interval
        (null where one of the two marks is all there is).
    """
    from medical_tasks.scoring.agreement import cohen_interval
    from medical_tasks.scoring.estimates import as_json

    found = []
    for one, other in combinations(sorted(marks), 2):
        both = sorted(marks[one].keys() & marks[other].keys())
        if both:
            first, second = [marks[one][each] for each in both], [marks[other][each] for each in both]
            found.append(
                {
                    "reviewers": [one, other],
                    "questions": len(both),
                    "agreed": sum(a == b for a, b in zip(first, second, strict=True)),
                    "kappa": as_json(cohen_interval(first, second, classes=("keep", "drop"))),
                }
            )
    return found
