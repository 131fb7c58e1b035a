"""How strictly the judge's replies are read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.ehrnoteqa.judging import (
    read_official_choice,
    read_official_score,
    read_own_choice,
    read_own_score,
)
from medical_tasks.judges.base import Unreadable

READERS = (read_own_score, read_own_choice, read_official_score, read_official_choice)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('{"reason": "x", "score": 1}', True),
        ('{"reason": "x", "score": 0}', False),
        ('```json\n{"reason": "It says {\\"score\\": 1}.", "score": 0}\n```', False),
        ('<think>Score: 1</think>{"score": 0, "reason": "x"}', False),
    ],
)
def test_our_score(text: str, right: bool) -> None:
    assert read_own_score(text) is right


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "Score: 1",
        '{"score": 1}',
        '{"reason": "x", "score": "1"}',
        '{"reason": "x", "score": true}',
        '{"reason": "x", "score": 1.0}',
        '{"reason": "x", "score": 2}',
        '{"reason": "x", "score": -1}',
        '{"reason": "", "score": 1}',
        '{"reason": "x", "score": 1, "score": 0}',
        '{"reason": "x", "score": 1}\n{"reason": "x", "score": 0}',
        'The output says {"reason": "x", "score": 1}',
        '[{"reason": "x", "score": 1}]',
        '{"reason": "x", "verdict": "yes"}',
    ],
)
def test_what_is_no_score_of_ours(text: str) -> None:
    assert isinstance(read_own_score(text), Unreadable)


@pytest.mark.parametrize(("word", "right"), [("yes", True), ("no", False)])
def test_our_choice(word: str, right: bool) -> None:
    assert read_own_choice(json.dumps({"reason": "x", "verdict": word})) is right


@pytest.mark.parametrize("verdict", ['"Yes"', "true", "1", '"maybe"', '"yes, no"', "null"])
def test_what_is_no_choice_of_ours(verdict: str) -> None:
    assert isinstance(read_own_choice(f'{{"reason": "x", "verdict": {verdict}}}'), Unreadable)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Score: 1\nReasoning: It says so.", True),
        ("Score: 0\nReasoning: It does not.", False),
        ("Score: 1", True),
        ("score: 0", False),
        ("1", True),
        ("0.", False),
        ("**Score: 1**\n\n**Reasoning:** It does.", True),
        ("**Score:** 1\nReasoning: x", True),
        ("Score: {1}\nReasoning: x", True),
        ("Score: {{0}}\nReasoning: x", False),
        ("Score: 1 Reasoning: It says so.", True),
        ("Score: 0. Reasoning: It does not.", False),
        ("Score: 1, **Reasoning:** x", True),
        ("\n\n# Score: 1\n- fine", True),
        ("Score: 1\nReasoning: It says so.\nScore: 1", True),
        ("Reasoning: It says so.\nScore: 1", True),
        ("Reasoning: It claims a full score.\n\n**Score: 0**", False),
        ("<think>Score: 1? No.</think>\nScore: 0\nReasoning: x", False),
        ('Score: 0\nReasoning: The output says "Score: 1", which is planted.', False),
        ("Score: 0\nReasoning: The score 1 would need the dose.", False),
    ],
)
def test_the_authors_score(text: str, right: bool) -> None:
    assert read_official_score(text) is right


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Right.",
        "Score:",
        "Score: 2",
        "Score: -1",
        "Score: 0.5\nReasoning: x",
        "Score: 1.0",
        "Score: 1/1",
        "Score: 10",
        "Score: 1 or 0",
        "Score: 0 or 1\nReasoning: x",
        "Score: one",
        "Score: {score}\nReasoning: {explanation}",
        "Score: 1 (partly)\nReasoning: x",
        "Score: 1\nScore: 0",
        "Score: 1\nReasoning: x\nScore: 0",
        "Score: 0\nReasoning: It said\nScore: 1\nwhich is planted.",
        "Score: 1\nScore: maybe",
        "Reasoning: it says\nScore: 1\nand no more.",
        "Reasoning: x\nScore: 0\nScore: 1",
        "The score is 1.",
        "<think>Score: 1",
        "Score: 1\nReasoning: x</think>",
    ],
)
def test_what_is_no_score_of_theirs(text: str) -> None:
    assert isinstance(read_official_score(text), Unreadable)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("yes", True),
        ("Yes.", True),
        ('"No"', False),
        ("**no**", False),
        ("NO\n", False),
        ("Yes, the model output takes the right choice.", True),
        ("No. The model output takes another choice.", False),
        ("no\nIt names B.", False),
        ("Yes - it does.", True),
        ("Answer: yes", True),
        ("It takes the right one.\nAnswer: yes", True),
        ("<think>No, wait.</think>Yes", True),
        ("Yes, there was no other choice.", True),
    ],
)
def test_the_authors_choice(text: str, right: bool) -> None:
    assert read_official_choice(text) is right


@pytest.mark.parametrize(
    "text",
    [
        "",
        "maybe",
        "yes no",
        "yes/no",
        "Yes and no.",
        "No, yes.",
        "yes\nno",
        'No. The output says "yes".',
        "no\nAnswer: yes",
        "Nothing matches.",
        "Yesterday.",
        "no-one",
        "The output is right: yes it is",
        "I conclude: yes.",
        "<think>yes",
        "Answer: maybe",
    ],
)
def test_what_is_no_choice_of_theirs(text: str) -> None:
    assert isinstance(read_official_choice(text), Unreadable)


DOUBTS = [
    "if the note is right", "unless it is a typo", "but I am not sure", "or maybe the other", "perhaps", "probably",
    "I could be wrong",
    "although it is unclear", "is it?", "or is it?", "whether it is right is open", "assuming that C is meant", "provided it is C",
    "it would be", "it might be", "it may be no match, however", "that depends", "partly", "except for the dose", "it seems so",
]  # fmt: skip
DENIALS = [
    "it does not match",
    "it isn't right",
    "the output is wrong",
    "neither of them",
    "the output never names C",
    "it contradicts C",
]


def test_a_yes_or_no_that_is_taken_back_is_never_read() -> None:
    marks = ["{}", "**{}**", '"{}"', "`{}`"]
    words = ["yes", "Yes", "YES", "no", "No", "NO"]
    made = {
        f"{mark.format(word)}{gap}{rest}{end}"
        for word in words
        for mark in marks
        for gap in (", ", ". ", ": ", " - ", ".\n", "; ")
        for rest in DOUBTS + (DENIALS if word.lower() == "yes" else [])
        for end in ("", ".")
    }
    made |= {
        f"{lead}{word}{end}"
        for lead in ("Is it ", "Not ", "Never ", "Say ")
        for word in words
        for end in ("", "?", ".")
    }
    made |= {f"{word}?" for word in words}
    assert len(made) > 2_000
    assert [text for text in made if isinstance(read_official_choice(text), bool)] == []


def test_plain_choices_in_many_wordings_are_read() -> None:
    reasons = [
        "",
        "It names C.",
        "The model output names the right drug.",
        "Both say warfarin, in other words.",
        "It takes choice C.",
    ]
    made = {
        f"{mark.format(word)}{gap}{reason}{end}": word.lower() == "yes"
        for word in ("yes", "Yes", "YES", "no", "No", "NO")
        for mark in ("{}", "**{}**", '"{}"', "`{}`", "Answer: {}", "**Answer:** {}")
        for reason in reasons
        for gap in (
            [", ", ". ", " - ", ".\n", "\n\n"]
            if reason and "nswer" not in mark
            else [".", "", " "]
            if not reason
            else []
        )
        for end in ("", "\n", " ")
    }
    read = {text: read_official_choice(text) for text in made}
    assert [text for text, right in made.items() if isinstance(read[text], bool) and read[text] is not right] == []
    assert sum(isinstance(value, Unreadable) for value in read.values()) <= 0.01 * len(made)


@given(
    st.sampled_from(["Score: {}", "**Score:** {}", "score = {}", "Score: {{{}}}"]),
    st.sampled_from(
        [
            "0 or 1",
            "1 or 0",
            "1/1",
            "1?",
            "not 1",
            "1 if right",
            "maybe 1",
            "1.5",
            "2",
            "-1",
            "one",
            "0-1",
            "{score}",
            "1 and 0",
        ]
    ),
    st.sampled_from(["", "\nReasoning: it names the drug.", " Reasoning: both say it."]),
)
def test_a_score_that_is_none_is_never_read(form: str, score: str, rest: str) -> None:
    assert isinstance(read_official_score(form.format(score) + rest), Unreadable)


def test_a_score_that_a_colon_introduces_may_be_a_quotation() -> None:
    for said in ("The form is:\nScore: 1", "The note tells me to write this:\n\nScore: 1", 'It ends with: "\nScore: 1'):
        assert isinstance(read_official_score(said), Unreadable)
    assert read_official_score("Reasoning: so it says.\nScore: 1") is True


@given(
    st.lists(
        st.sampled_from(
            [
                "Score",
                ":",
                " ",
                "\n",
                "0",
                "1",
                "yes",
                "no",
                "{",
                "}",
                '"reason"',
                '"score"',
                "</think>",
                "<think>",
                "*",
                "x",
            ]
        ),
        max_size=14,
    ).map("".join)
)
@settings(deadline=None, max_examples=300)
def test_readers_never_raise_and_say_a_bool_or_why_not(text: str) -> None:
    for read in READERS:
        value: Any = read(text)
        assert isinstance(value, bool | Unreadable)


@pytest.mark.parametrize("piece", ["Score: ", "yes, ", "\n", "Score:\n", " ", "*", "</think>", "{"])
def test_long_replies(piece: str) -> None:
    for read in READERS:
        assert isinstance(read(f"{piece * 200_000}no"), bool | Unreadable)
