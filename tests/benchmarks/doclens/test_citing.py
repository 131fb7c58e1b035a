"""The rule that finds citations, pinned; and that markers change nothing but themselves."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.pieces import divide_note, read_sentences, remove_citations, split_turns
from medical_tasks.benchmarks.doclens.prompts import Source, cite
from tests.support import SHARED, needs_shared

VISIT = (
    "[doctor] hi , what brings you in ?",
    "[patient] my left knee hurts when i climb the stairs .",
    "[doctor] any swelling or fever ?",
    "[patient] some swelling in the evening , but no fever at all .",
    "[doctor] okay , the knee is swollen and warm . let's get an x-ray of the knee and give you ibuprofen .",
)


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        # knee, hurts, climbing, stairs: all in one turn, and nothing is left.
        ("The left knee hurts climbing stairs.", (1,)),
        # 4 has x-ray (two words), knee, ibuprofen; left and stairs are two words that 1 adds.
        ("X-ray of the left knee; ibuprofen for stairs.", (1, 4)),
        # The same with one word that 1 would add.
        ("X-ray of the left knee; ibuprofen.", (4,)),
        # `fever` is in 2 and 3; 2 has fewer words that count (swell, fever).
        ("No fever.", (2,)),
        # Nothing is shared: the longest. Function words, `doctor` and the speaker are no words.
        ("Hypertension.", (4,)),
        ("The doctor said it is okay.", (4,)),
        ("", (4,)),
        # Stems: hurting, swells, stair.
        ("HURTING, swells, stair", (1,)),
    ],
)
def test_what_a_sentence_cites(sentence: str, cited: tuple[int, ...]) -> None:
    assert Source(VISIT).cited_by(sentence) == cited


def test_at_most_three_and_ties_in_order() -> None:
    source = Source(["alpha beta", "gamma delta", "epsilon zeta", "eta theta", "alpha beta"])
    assert source.cited_by("Alpha beta gamma delta epsilon zeta eta theta.") == (0, 1, 2)
    assert source.cited_by("theta") == (3,)
    assert Source(["one x", "one y"]).cited_by("one") == (0,)
    assert Source(["3.5 mg", "3.6 mg"]).cited_by("Given 3.6") == (1,)
    assert Source(["a b", "b a"]).cited_by("nothing") == (0,)


def test_nothing_to_cite() -> None:
    assert Source([]).cited_by("Knee pain.") == ()
    assert cite("Knee pain.", Source([])) == "Knee pain."


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("", ""),
        (" \n", " \n"),
        ("Knee pain.", "Knee pain [1]."),
        ("Knee pain", "Knee pain [1]"),
        ("Stairs and climbing hurt?!\n\n", "Stairs and climbing hurt [1]?!\n\n"),
        ("(Stairs.) Fever .", "(Stairs.) [1] Fever [2] ."),
        ("X-ray of the left knee; ibuprofen for stairs.", "X-ray of the left knee; ibuprofen for stairs [1][4]."),
        # What cites already, and headings of sections.
        ("Fever [0]. Knee.", "Fever [0]. Knee [1]."),
        ("PLAN\n\nIbuprofen.\n\nRESULTS\n", "PLAN\n\nIbuprofen [4].\n\nRESULTS\n"),
        ("PLAN:\nIbuprofen\nRESULTS\nFever", "PLAN:\nIbuprofen [4]\nRESULTS\nFever [2]"),
        # A line in capitals ends the history; the heading under it begins the examination.
        ("VITALS\n\nBSA 2.65\n\nPHYSICAL EXAM\n\nKnee", "VITALS\n\nBSA 2.65 [4]\n\nPHYSICAL EXAM\n\nKnee [1]"),
    ],
)
def test_where_markers_stand(text: str, cited: str) -> None:
    assert cite(text, Source(VISIT)) == cited


# Pieces of notes, and odd ones, in any order.
_PIECES = (
    *(
        "Knee",
        "fever",
        " ",
        " ",
        ". ",
        ".\n",
        "\n",
        "\n\n",
        "!",
        "?)",
        "…",
        "PLAN",
        "RESULTS\n",
        "Plan:",
        "1.",
        "- ",
        "[3]",
        "[",
    ),
    *("]", "Dr.", "\t", "\u00a0", "\u2028", "\r\n", "5.5", "mg", "。", "**Exam**\n"),
)
TEXTS = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join) | st.text(max_size=80)


@given(text=TEXTS)
@example(text="Plan:\n. ")
@settings(deadline=None, max_examples=200)
def test_markers_change_nothing_but_themselves(text: str) -> None:
    cited = cite(text, Source(VISIT))
    assert remove_citations(cited) == remove_citations(text)
    before, after = divide_note(text), divide_note(cited)
    assert {name: remove_citations(part) for name, part in after.items()} == {
        name: remove_citations(part) for name, part in before.items()
    }


@given(words=st.lists(st.sampled_from("knee fever stairs swelling x-ray ibuprofen the of zzz".split()), max_size=12))
@settings(deadline=None, max_examples=100)
def test_laws_of_the_rule(words: list[str]) -> None:
    source = Source(VISIT)
    cited = source.cited_by(" ".join(words))
    assert 1 <= len(cited) <= 3
    assert list(cited) == sorted(set(cited))
    assert cited == source.cited_by(" ".join(reversed(words)))


@needs_shared
@pytest.mark.upstream
def test_agreement_with_the_authors_citations() -> None:
    """The figures that the module tells."""
    path = SHARED / "data" / "doclens" / "prompts" / "generation" / "acibench_annotated-citation.json"
    messages = json.loads(path.read_text(encoding="utf-8"))
    counts = dict.fromkeys(("sentences", "met", "ours", "theirs", "both"), 0)
    for place in (1, 3):
        source = Source(split_turns(re.sub(r"(?m)^\[\d+\]", "", messages[place]["content"])))
        for sentence in read_sentences(messages[place + 1]["content"]):
            if not sentence.citations:
                continue
            ours, theirs = set(source.cited_by(sentence.text)), set(sentence.citations)
            counts["sentences"] += 1
            counts["met"] += bool(ours & theirs)
            counts["ours"] += len(ours)
            counts["theirs"] += len(theirs)
            counts["both"] += len(ours & theirs)
    assert counts == {"sentences": 91, "met": 75, "ours": 102, "theirs": 171, "both": 82}
