"""What is said about a reply: each fault by itself, and nothing of a reply of the official form."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.parsing import read_answer
from medical_tasks.benchmarks.archehr_qa.prompts import (
    cited_faults,
    cited_ids,
    feedback_text,
    same_words,
    uncited_faults,
    written_sentences,
)

IDS = ("1", "2", "3", "4", "5")
ANSWER = ("She had a stone.", "It was taken out.")
GOOD = "She had a stone. |2|\nIt was taken out. |3,4|"
LONG = " ".join(["word"] * 75)


def only(faults: list[str]) -> str:
    (fault,) = faults
    return fault


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        "She had a stone. |2|\nThis sentence rests on nothing.",
        f"{LONG} |1,2|",
        "<think>75 words, |9|</think>\nShe had a stone. |2|",
        "\nShe had a stone. |2|\n\n",
        "Her pulse was 60 | regular. |2|",
    ],
)
def test_nothing_is_said_of_a_good_answer(reply: str) -> None:
    assert cited_faults(reply, IDS) == []


@pytest.mark.parametrize("reply", ["", " \n ", "|1|\n|2|", "<think>What was it", "```\n```"])
def test_empty(reply: str) -> None:
    assert only(cited_faults(reply, IDS)) == "It is empty."
    assert only(uncited_faults(reply, IDS)) == "It is empty."


@pytest.mark.parametrize("reply", ["She had a stone.", "She had a stone.\nIt was taken out.", "| is a bar, isn't it"])
def test_no_citations(reply: str) -> None:
    assert "It cites nothing." in cited_faults(reply, IDS)[0]


@pytest.mark.parametrize(
    "reply",
    [
        "She had a stone. [2]",
        "She had a stone. |2| It was taken out. |3|",
        "She had a stone. |2| |3|",
        "She had a stone. | 2, 3 |",
        "She had a stone. |2-4|",
        "```\nShe had a stone. |2|\n```",
        "She had a stone. |2| (see the note)\nIt was taken out. |3|",
    ],
)
def test_wrong_form(reply: str) -> None:
    assert "Its form is wrong." in only(cited_faults(reply, IDS))


@pytest.mark.parametrize(("extra", "words"), [("", 76), ("and more ", 78)])
def test_too_long_with_the_number_of_words(extra: str, words: int) -> None:
    said = f"It is too long: it has {words} words, and at most 75 are allowed."
    assert only(cited_faults(f"{LONG} {extra}end. |1|", IDS)) == said
    assert only(uncited_faults(f"{LONG} {extra}end.", IDS)) == said
    assert uncited_faults(LONG, IDS) == []
    # What is cited behind the words that count is cited.
    assert only(cited_faults(f"{LONG}\n{extra}end. |1|", IDS)) == said


def test_unknown_ids_are_named() -> None:
    said = "It cites numbers that no sentence given here has: 9, 12."
    assert only(cited_faults("She had a stone. |9,2|\nIt was taken out. |12,9|", IDS)) == said
    many = ",".join(map(str, range(10, 40)))
    assert only(cited_faults(f"She had a stone. |{many}|", IDS)).endswith("18, 19 [...].")
    # Also such as stand behind the limit.
    faults = cited_faults(f"{LONG} |1|\nend. |77|", IDS)
    assert [fault[:14] for fault in faults] == ["It is too long", "It cites numbe"]
    assert faults[1].endswith(": 77.")


def test_a_changed_answer() -> None:
    changed = "It changes the answer. Repeat"
    assert cited_faults(GOOD, IDS, answer=ANSWER) == []
    for same in ("she had a stone |2|\nIt was taken out! |3|", "She had a stone. It was taken out. |2,3|"):
        assert cited_faults(same, IDS, answer=ANSWER) == []
    for other in ("She had a stone. |2|", f"{GOOD}\nShe is well. |5|", "It was taken out. |3|\nShe had a stone. |2|"):
        assert only(cited_faults(other, IDS, answer=ANSWER)).startswith(changed)


def test_a_long_answer_that_was_to_be_cited_is_not_too_long() -> None:
    answer = (f"{LONG}.", "More of it.")
    assert cited_faults(f"{LONG}. |1|\nMore of it. |2|", IDS, answer=answer) == []
    # Beyond the limit it may not be changed either.
    assert only(cited_faults(f"{LONG}. |1|\nLess of it. |2|", IDS, answer=answer)).startswith("It changes")


def test_all_faults_are_told_together() -> None:
    faults = cited_faults(f"{LONG} end. [2] And [9]", IDS, answer=ANSWER)
    assert [fault[:12] for fault in faults] == ["It changes t", "Its form is ", "It cites num"]


def test_what_stands_below_the_question() -> None:
    said = feedback_text("She had a stone.", ["It is short.", "It is bare."], number=3, tries=5)
    assert said == (
        "This is try 3 of 5. The reply before was:\nShe had a stone.\n\n"
        "What is wrong with it:\n- It is short.\n- It is bare.\nWrite the whole reply again with this put right."
    )
    assert "was:\n(nothing)\n" in feedback_text(" ", ["It is empty."], number=2, tries=5)
    shown = feedback_text("x" * 5_000, ["It is too long."], number=2, tries=5)
    assert len(shown) < 1_500
    assert "x [...]\n" in shown


def test_sentences_as_they_were_written() -> None:
    reply = "```\nShe had a stone [2]. It hurt. |3|\n\nIt was taken\tout |4|\n```"
    # With bars in a line, brackets are prose; without, they are citations.
    assert written_sentences(reply, IDS) == ("She had a stone [2].", "It hurt.", "It was taken out")
    assert written_sentences("She had a stone [2]. It hurt [3].", IDS) == ("She had a stone.", "It hurt.")
    assert cited_ids("a [2]\nb |3,9|\nc", IDS) == ("2", "3", "9")
    assert written_sentences("", IDS) == ()


def test_the_same_words() -> None:
    assert same_words(("A b.", "C"), ("a B c!",))
    assert not same_words(("A b",), ("b A",))
    assert not same_words(("A",), ())


@given(reply=st.text(alphabet=st.sampled_from("ab |1,9[]-.`\n<think>/ "), max_size=60))
@settings(max_examples=200, deadline=None)
def test_a_reply_without_faults_is_one_without_problems(reply: str) -> None:
    assert (cited_faults(reply, IDS) == []) == (read_answer(reply, IDS).problems == ())
