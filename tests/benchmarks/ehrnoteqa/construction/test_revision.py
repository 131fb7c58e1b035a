from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.construction.review import (
    Content,
    Reviewed,
    agreement,
    changed_fields,
    revision_counts,
)

DRAFT = Content(question="q", answer="B", choices=("a", "b", "c", "d", "e"))


def counts(*after: Content | None) -> dict[str, int]:
    reviewed = [Reviewed(id=str(number), reviewer="r", before=DRAFT, after=each) for number, each in enumerate(after)]
    return {name: value for name, value in revision_counts(reviewed).items() if isinstance(value, int)}


def test_each_kind_of_revision() -> None:
    found = counts(
        DRAFT,
        None,
        replace(DRAFT, question="q2"),
        replace(DRAFT, choices=("a", "b2", "c", "d", "e")),  # the right answer
        replace(DRAFT, choices=("a2", "b", "c", "d2", "e")),  # two wrong ones
        replace(DRAFT, answer="C"),  # another is right: its text is a new answer, the old one a new wrong choice
        replace(DRAFT, choices=("e", "b", "c", "d", "a")),  # places changed, nothing revised
        replace(DRAFT, answer="A", choices=("b", "a", "c", "d", "e")),  # likewise, the right one too
    )
    assert found == {
        "reviewed": 8,
        "removed": 1,
        "kept": 7,
        "questions_revised": 1,
        "answers_revised": 2,
        "letters_changed": 2,
        "wrong_choices": 28,
        "wrong_choices_revised": 3,
        "unchanged": 1,
    }
    assert counts() == dict.fromkeys(found, 0)


def test_counts_by_reviewer_add_up() -> None:
    reviewed = [
        Reviewed(id="1", reviewer="a", before=DRAFT, after=None),
        Reviewed(id="2", reviewer="b", before=DRAFT, after=replace(DRAFT, question="x")),
    ]
    found = revision_counts(reviewed)
    assert set(found["by_reviewer"]) == {"a", "b"}
    assert found["by_reviewer"]["a"]["removed"] == 1
    assert found["by_reviewer"]["b"]["questions_revised"] == 1


@given(st.permutations("vwxyz"), st.sampled_from("ABCDE"), st.permutations("vwxyz"))
@settings(deadline=None, max_examples=60)
def test_moving_choices_with_their_letter_revises_nothing(old: list[str], answer: str, new: list[str]) -> None:
    before = Content(question="q", answer=answer, choices=tuple(old))
    after = Content(question="q", answer="ABCDE"[new.index(before.right)], choices=tuple(new))
    found = revision_counts([Reviewed(id="1", reviewer="r", before=before, after=after)])
    assert (found["answers_revised"], found["wrong_choices_revised"]) == (0, 0)


def test_changes_are_listed() -> None:
    after = Content(question="q2", answer="C", choices=("a", "b", "c", "d", "e2"))
    assert changed_fields(DRAFT, after) == [("question", "q", "q2"), ("answer", "B", "C"), ("choice_e", "e", "e2")]
    assert changed_fields(DRAFT, DRAFT) == []


def test_kappa_by_hand() -> None:
    # 10 questions: both keep 6, both drop 2, one each way. Observed 0.8; expected 0.7 * 0.7 + 0.3 * 0.3 = 0.58;
    # kappa = (0.8 - 0.58) / 0.42 = 0.5238.
    one = dict.fromkeys(map(str, range(7)), "keep") | dict.fromkeys(map(str, range(7, 10)), "drop")
    other = dict.fromkeys(map(str, [0, 1, 2, 3, 4, 5, 7]), "keep") | dict.fromkeys(map(str, [6, 8, 9]), "drop")
    found = agreement({"b": other, "a": one | {"99": "keep"}, "c": {"98": "keep"}})  # type: ignore[dict-item]
    assert len(found) == 1
    assert (found[0]["reviewers"], found[0]["questions"], found[0]["agreed"]) == (["a", "b"], 10, 8)
    assert math.isclose(found[0]["kappa"]["value"], 0.22 / 0.42)
