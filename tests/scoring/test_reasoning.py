"""Reasoning is taken out of replies, whatever markup it has."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.reasoning import spoken

TAGS = (
    ("<think>", "</think>"),
    ("<THINK>", "</Think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ('<think time="3">', "</think>"),
    ("<reasoning>", "</reasoning>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<chain_of_thought>", "</chain_of_thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>thought", "<unused95>"),
    ("<|channel>thought", "<channel|>"),
)
FROM_THE_BEGINNING = (
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>"),
    ("<|channel|>commentary to=functions.get <|constrain|>json<|message|>", "<|call|><|channel|>final<|message|>"),
    ("analysisWe see", "assistantfinal"),
    ("## Thinking\n", "\n## Final Response\n"),
    ("Here is my thought process:", "Here is my response:"),
)
WORDS = st.text(alphabet="abc D.\n(", max_size=30)


@pytest.mark.parametrize(("opening", "closing"), TAGS + FROM_THE_BEGINNING)
@settings(max_examples=20)
@given(thought=WORDS, answer=WORDS)
def test_what_is_between_the_marks_is_no_answer(opening: str, closing: str, thought: str, answer: str) -> None:
    assert spoken(f"{opening}{thought}{closing}{answer}").strip() == answer.strip()
    assert spoken(f"{opening}{thought} is D.").strip() == ""
    assert spoken(f"{opening} it says {opening} here {thought}{closing}{answer}").strip() == answer.strip()


@pytest.mark.parametrize(("opening", "closing"), TAGS)
@settings(max_examples=20)
@given(before=WORDS, first=WORDS, between=WORDS, second=WORDS, after=WORDS)
def test_blocks_anywhere(
    opening: str, closing: str, before: str, first: str, between: str, second: str, after: str
) -> None:
    text = f"{before}{opening}{first}{closing}{between}{opening}{second}{closing}{after}"
    assert spoken(text).split() == f"{before}\n{between}\n{after}".split()
    assert spoken(f"{before}{closing}{after}") == after  # the template opened it
    nested = f"{opening}{first}{opening}{second}{closing}{between}{closing}{after}"
    assert spoken(nested) == after
    assert spoken(f"{after}{opening}{first}").strip() == after.strip()


@given(text=st.text(alphabet="abc<>/|[]# D\n◁▷", max_size=60))
def test_a_reply_without_marks_comes_back_unchanged(text: str) -> None:
    assert spoken(text) == text


@given(pieces=st.lists(st.sampled_from([mark for pair in TAGS + FROM_THE_BEGINNING for mark in pair] + ["a", "\n"])))
def test_nothing_is_made_up(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = spoken(text)
    assert len(found) <= len(text)
    assert all(part in text for part in found.split("\n"))


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("<think>mentions <reasoning> and </reasoning></think>D", "D"),
        ("<think>closed by its cousin</thinking>D", "D"),
        ("<reasoning>not closed by </think> at all", ""),
        ("<|channel|>analysis<|message|>A or B<|end|>D<|return|>", "D"),
        ("<|channel|>final<|message|>D<|return|><|start|>user<|message|>And B?<|channel|>final<|message|>B", "D"),
        ("<|channel|>final<|message|>first<|end|><|start|>assistant<|channel|>final<|message|>second", "second"),
        ("<|channel|>analysis", ""),
        ("Here is my response: D", "Here is my response: D"),
        ("## Final Response\nD", "## Final Response\nD"),
        ("Analysis of the notes: D", "Analysis of the notes: D"),
        ("pressure <think/> of 3 < 5 > 2 [thinking about D]", "pressure <think/> of 3 < 5 > 2 [thinking about D]"),
        ("[analysis] D [/analysis]", "[analysis] D [/analysis]"),
        ("", ""),
    ],
)
def test_replies(reply: str, answer: str) -> None:
    assert spoken(reply).strip() == answer


@pytest.mark.parametrize(
    "piece", ["<think>", "</think>", "<|channel|>", "<", "<think ", "# Final Response\n", "[", "<|channel|>a"]
)
def test_every_length_can_be_read(piece: str) -> None:
    assert len(spoken(piece * (400_000 // len(piece)))) <= 400_000
