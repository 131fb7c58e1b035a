"""The rules that read a choice from an answer: a table of answers with the right letter, and properties."""

from __future__ import annotations

import itertools
import random
import string
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.scoring.letters import read_letter
from tests.case_tables import cases, json_of, tabled
from tests.support import ROOT

GOLDEN = json_of(ROOT / "tests" / "golden" / "ehrnoteqa" / "letters.json")
CASES: list[dict[str, Any]] = GOLDEN["cases"]
SETS: dict[str, list[str]] = GOLDEN["choices"]
ALLERGY = SETS["allergy"]
# Names that contain a letter of a choice.
NAMES = cases(__file__, "NAMES")


def _letter(text: str, choices: list[str] = ALLERGY) -> str | None:
    reading = read_letter(text, choices)
    return None if reading is None else reading.letter or None


def test_the_table_has_all_letters_and_choices() -> None:
    assert len(CASES) >= 300
    assert {case["choices"] for case in CASES} == set(SETS)
    assert {case["letter"] for case in CASES} == {None, *"ABCDE"}
    assert all(len(choices) == 5 for choices in SETS.values())
    assert _letter("A", []) is None


@pytest.mark.parametrize("name", list(SETS))
def test_letters_of_the_table(name: str) -> None:
    own = [case for case in CASES if case["choices"] == name]
    wrong = [
        (case["text"], case["letter"], letter)
        for case in own
        if (letter := _letter(case["text"], SETS[name])) != case["letter"]
    ]
    assert wrong == []


@pytest.mark.parametrize("name", list(SETS))
def test_markup_and_white_space_do_not_change_the_letter(name: str) -> None:
    """Nor do reasoning, blank lines and line ends."""
    for case in CASES:
        if case["choices"] != name or "think>" in case["text"]:
            continue
        text = case["text"]
        for changed in (
            f"<think>The answer is A, B or C.</think>\n{text}",
            f"\n\n  {text}  \n",
            text.replace("\n", "\r\n"),
            text.replace(" ", "  "),
            text.replace(". ", ".\u00a0"),
            f"**{text}**",
        ):
            assert _letter(changed, SETS[name]) == case["letter"], changed


@pytest.mark.parametrize("name", NAMES)
def test_names_with_letters_neither_name_nor_hide_a_choice(name: str) -> None:
    for letter, table in (
        (None, "names_without_a_choice"),
        ("D", "names_beside_choice_d"),
    ):
        for form in cases(__file__, table):
            text = form.replace("<NAME>", name)
            assert _letter(text) == letter, text


def test_two_letters_are_unclear_and_a_repeated_letter_is_read() -> None:
    forms = (
        "The answer is {}. The answer is {}.",
        "I choose {}. Option {} is correct.",
        "{}. Answer: {}",
    )
    for first, second in itertools.product("ABCDE", repeat=2):
        for form in forms:
            assert _letter(form.format(first, second)) == (
                first if first == second else None
            )
        if first != second:
            for form in (
                "The answer is {} or {}.",
                "{} and {}",
                "({}), ({})",
                "Both {} and {} are right.",
                "{}/{}",
            ):
                assert _letter(form.format(first, second)) is None


def test_the_letter_follows_its_text_in_permuted_choices() -> None:
    draw = random.Random(1)
    for choices in (
        texts for texts in SETS.values() if all(texts) and len(set(texts)) == 5
    ):
        for _ in range(10):
            order = draw.sample(range(5), 5)
            moved = [choices[index] for index in order]
            for index, text in enumerate(moved):
                assert _letter(text, moved) == "ABCDE"[index]
                assert _letter(f"{'ABCDE'[index]}. {text}", moved) == "ABCDE"[index]
                assert (
                    _letter(f"The answer is {'ABCDE'[index]}: {text}.", moved)
                    == "ABCDE"[index]
                )
                other = moved[(index + 1) % 5]
                assert _letter(f"{'ABCDE'[index]}. {other}", moved) is None


def test_generated_answers_are_read_only_if_they_take_a_choice() -> None:
    assert len(set(RIGHT)) == len(RIGHT) >= 60
    answers = list(_answers(RIGHT, seed=1, per_form=5))
    assert len(answers) >= 2000
    missed = [
        text for text, choices, letter in answers if _letter(text, choices) != letter
    ]
    assert len(missed) <= len(answers) * 0.005, missed
    assert len(set(WRONG)) == len(WRONG) >= 60
    answers = list(_answers(WRONG, seed=2, per_form=5))
    assert len(answers) >= 2000
    taken = [text for text, choices, _ in answers if _letter(text, choices) is not None]
    assert len(taken) <= len(answers) * 0.01, taken


@given(st.lists(st.sampled_from(cases(__file__, "pieces")), max_size=14).map("".join))
def test_any_text_has_a_letter_or_none(text: str) -> None:
    reading = read_letter(text, ALLERGY)
    assert reading is None or (reading.letter in "ABCDE" and reading.why)
    assert read_letter(text, ALLERGY) == reading


@tabled("piece")
def test_long_texts_take_linear_time(piece: str) -> None:
    """A search in quadratic time would take minutes here."""
    read_letter(piece * (10_000 // len(piece)) + " the answer is D.", ALLERGY)


_FAMILIES = json_of(ROOT / "tests" / "golden" / "ehrnoteqa" / "letter_families.json")
CHOICES: list[list[str]] = _FAMILIES["choices"]
RIGHT: list[str] = _FAMILIES["right"]
WRONG: list[str] = _FAMILIES["wrong"]

_SIGNS = cases(__file__, "SIGNS")


def _answers(
    forms: Sequence[str], *, seed: int, per_form: int
) -> Iterator[tuple[str, list[str], str]]:
    """Yields answers with their choices and the letter that they take, or seem to take."""
    draw = random.Random(seed)
    for form in forms:
        for _ in range(per_form):
            choices = draw.sample(draw.choice(CHOICES), 5)
            first, second, third = draw.sample(range(5), 3)
            letter = string.ascii_uppercase[first]
            signs = {name: chr(start + first) for name, start in _SIGNS.items()}
            text = form.format(
                l=letter, s=letter.lower(), t=choices[first], m="ABCDE"[second], u=choices[second], n="ABCDE"[third],
                v=choices[third], **signs,
            )  # fmt: skip
            yield text, choices, letter
