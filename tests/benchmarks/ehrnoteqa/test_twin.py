"""The twin: the official shape, and golds that can be found in the notes."""

from __future__ import annotations

import re
from collections import Counter

from medical_tasks.benchmarks.ehrnoteqa.data import DEMO_QUESTIONS, demo_pairs
from medical_tasks.benchmarks.ehrnoteqa.questions import (
    CATEGORIES,
    LETTERS,
    Question,
    question_categories,
)
from medical_tasks.benchmarks.ehrnoteqa.twin import KINDS, TwinNote, twin_patients


def pairs_of(*, seed: int, questions: int) -> list[tuple[Question, list[TwinNote]]]:
    """Questions with their notes, the oldest first."""
    return [
        (patient.question, sorted(patient.notes, key=lambda note: note.charttime))
        for patient in twin_patients(seed=seed, questions=questions, scale=0.1)
        if patient.question is not None
    ]


def has_answer(question: Question, texts: list[str], dates: list[str]) -> bool:
    """Whether the right choice can be found in the notes, and no other choice in the note of the question."""
    right = question.choices[LETTERS.index(question.answer)]
    assert len(set(question.choices)) == 5
    both = re.fullmatch(r"first (.+), last (.+)|from (.+) to (.+)", right)
    if both is None:
        (text,) = [
            text
            for text, date in zip(texts, dates, strict=True)
            if date in question.question
        ]
        return [
            choice for choice in question.choices if choice in " ".join(text.split())
        ] == [right]
    form = "PRIMARY: {}\n" if both[1] else "Discharge labs: creatinine {}."
    first, last = (form.format(value) for value in both.groups() if value)
    # One note alone is not enough.
    return (
        first in texts[0],
        last in texts[-1],
        first in texts[-1],
        last in texts[0],
    ) == (
        True,
        True,
        False,
        False,
    )


def test_the_demo_has_all_levels_numbers_of_notes_and_categories() -> None:
    pairs = list(demo_pairs())
    assert len(pairs) == DEMO_QUESTIONS == 14
    shapes = Counter((question.level, question.num_notes) for question, _ in pairs)
    assert shapes == {(1, 1): 4, (1, 2): 4, (2, 1): 2, (2, 2): 2, (2, 3): 2}
    categories = [question_categories(question.question) for question, _ in pairs]
    assert {category for of_question in categories for category in of_question} == set(
        CATEGORIES
    )
    # Most questions have one category.
    assert sum(map(len, categories)) == 17
    for question, notes in pairs:
        assert len(notes) == question.num_notes
        assert has_answer(
            question,
            [note.text for note in notes],
            [note.charttime[:10] for note in notes],
        ), question


def test_a_larger_twin_has_answers_in_its_notes() -> None:
    pairs = pairs_of(seed=1, questions=140)
    assert len(pairs) == 140
    kinds = Counter(
        question.question.split(" the discharge summar")[0] for question, _ in pairs
    )
    assert len(kinds) == KINDS + 2
    for question, notes in pairs:
        assert has_answer(
            question,
            [note.text for note in notes],
            [note.charttime[:10] for note in notes],
        ), question
