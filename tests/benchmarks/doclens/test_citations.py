"""Citation markers and the sentences of generated texts: nothing lost, nothing borrowed."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.own_data import read_sources
from medical_tasks.benchmarks.doclens.pieces import (
    MAX_RANGE,
    Sentence,
    cited_ids,
    find_markers,
    read_sentences,
    remove_citations,
)
from tests.support import SHARED, needs_shared

TEXTS = st.text(alphabet="aB 1205[],;-–. \n", max_size=60)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("He improved [3].", (3,)), ("He improved [3][4] [5].", (3, 4, 5)), ("He improved [3, 4;5].", (3, 4, 5)),
        ("He improved [3-5].", (3, 4, 5)), ("He improved [3–5, 9].", (3, 4, 5, 9)),
        ("He improved [ 3 — 5 ].", (3, 4, 5)), ("He improved [0], again [0] and [007].", (0, 7)),
        ("He improved [4-4].", (4,)), ("[[3]]", (3,)),
    ],
)  # fmt: skip
def test_markers(text: str, ids: tuple[int, ...]) -> None:
    assert cited_ids(text) == ids


@pytest.mark.parametrize(
    "prose",
    [
        "5 mg", "A1c [8.2 -> 6.9]", "1. First, 2) second", "5+5 mg, 3+ pulses", "index [-1]", "as in [note 3]",
        "a list []", "[3", "3]", "[3.]", "[3,]", "[1-2-3]", "pressure [120-80]", "[0-5000]", "[1234567]", "[1\n2]",
        "(3)", "【3】", "",
    ],
)  # fmt: skip
def test_prose_holds_no_marker(prose: str) -> None:
    assert find_markers(prose) == []
    assert remove_citations(prose) == prose


def test_the_widest_range() -> None:
    assert cited_ids(f"[1-{MAX_RANGE}]") == tuple(range(1, MAX_RANGE + 1))
    assert cited_ids(f"[0-{MAX_RANGE}]") == ()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("He improved [1].", "He improved."),
        ("He improved [1] [2] today", "He improved today"),
        ("List [1,2] y", "List y"),  # the authors leave ",2"
        ("x [1-3] y", "x y"),  # the authors leave "-3"
        (" [4] lead", "lead"),
        ("a\n  [4] lead", "a\nlead"),
        ("[1]\n[2]", "\n"),
        ("array[0]", "array"),
        ("keep ] bracket | bar", "keep ] bracket | bar"),  # the authors take both signs away
        ("A1c [8.2 -> 6.9] better [3]", "A1c [8.2 -> 6.9] better"),  # the authors leave ".2 -> 6.9"
        ("[1]", ""),
        ("", ""),
    ],
)
def test_removal(text: str, left: str) -> None:
    assert remove_citations(text) == left


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_only_markers_and_spaces_beside_them_go(text: str) -> None:
    cut, start = "", 0
    for marker in find_markers(text):
        cut += text[start : marker.start]
        start = marker.end
    cut += text[start:]
    left = remove_citations(text)
    assert "".join(left.split()) == "".join(cut.split())
    assert left.count("\n") == text.count("\n")


@given(TEXTS)
@settings(deadline=None, max_examples=300)
def test_markers_stand_where_they_say(text: str) -> None:
    end = 0
    for marker in find_markers(text):
        assert end <= marker.start
        end = marker.end
        assert re.fullmatch(r"\[[0-9 ,;–-]+\]", text[marker.start : end])
        numbers = {int(digits) for digits in re.findall("[0-9]+", text[marker.start : end])}
        assert {marker.ids[0], marker.ids[-1]} <= numbers
        assert numbers <= set(marker.ids)


@pytest.mark.upstream
@needs_shared
def test_where_the_authors_remove_more_or_less() -> None:
    cases = json.loads((SHARED / "fixtures" / "doclens" / "expected.json").read_text(encoding="utf-8"))[
        "remove_citations"
    ]
    differing = {case["text"]: remove_citations(case["text"]) for case in cases}
    assert len(differing) == 9
    # Lists are whole markers, the space at the beginning goes with its marker, a bracket of the prose stays.
    assert {
        text for text, left in differing.items() if left != next(c for c in cases if c["text"] == text)["expected"]
    } == {"List [1,2] y", " [4] lead", "keep ] bracket"}


Read = list[tuple[str, tuple[int, ...]]]

OUTPUTS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            [
                "He has pain", " ", "\n", "\n\n", ". ", ".", "? ", "[3]", " [4-5]", "1. ", "- ", "PLAN", ":", "Dr. ",
                "e.g. ", "5.5 mg",
            ]
        ),
        max_size=25,
    ).map("".join),
)  # fmt: skip


def _read(text: str) -> Read:
    return [(one.text, one.citations) for one in read_sentences(text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n\t", []),
        # Markers before the end mark, behind it, alone on the next line.
        ("Pain [1]. Fever [2].", [("Pain.", (1,)), ("Fever.", (2,))]),
        ("Pain. [1][2] Fever? [3]", [("Pain.", (1, 2)), ("Fever?", (3,))]),
        ("Pain.[1] Fever.[2]", [("Pain.", (1,)), ("Fever.", (2,))]),
        ("Pain.\n[1]\nFever.", [("Pain.", (1,)), ("Fever.", ())]),
        ("All of it.\n\n[1][2][3]", [("All of it.", (1, 2, 3))]),
        ("[1] Pain.", [("Pain.", (1,))]),
        ("Pain [1], fever [2] and cough.", [("Pain, fever and cough.", (1, 2))]),
        ("[3][4]", [("", (3, 4))]),
        # An uncited sentence is a sentence, wherever it stands.
        ("Pain. Fever [2]. Cough.", [("Pain.", ()), ("Fever.", (2,)), ("Cough.", ())]),
        ("No end mark", [("No end mark", ())]),
        ("5", [("5", ())]),
        # Numbers of the prose, and of items.
        ("5 mg. A1c [8.2 -> 6.9] [3].", [("5 mg.", ()), ("A1c [8.2 -> 6.9].", (3,))]),
        ("1. Pain [1]\n2. Fever [2]", [("1. Pain", (1,)), ("2. Fever", (2,))]),
        ("A. Pain [1]\nB. Fever [2]", [("A. Pain", (1,)), ("B. Fever", (2,))]),
        ("Pain. 2. Fever [2]", [("Pain.", ()), ("2. Fever", (2,))]),
        ("- Aspirin\n- Heparin [3]", [("- Aspirin", ()), ("- Heparin", (3,))]),
        (
            "EF was 35.5 percent. Rate is 62. Fine [1].",
            [("EF was 35.5 percent.", ()), ("Rate is 62.", ()), ("Fine.", (1,))],
        ),
        ("EF: 62 [3]\n120/80 [4]", [("EF: 62", (3,)), ("120/80", (4,))]),
        # What ends no sentence.
        ("He saw Dr. J. Smith at 5 p.m. He left.", [("He saw Dr. J. Smith at 5 p.m.", ()), ("He left.", ())]),
        ("Give e.g. aspirin b.i.d. with food.", [("Give e.g. aspirin b.i.d. with food.", ())]),
        ("No. 3 is fine. Pain? No. He left.", [("No. 3 is fine.", ()), ("Pain?", ()), ("No.", ()), ("He left.", ())]),
        ("Takes vitamin D. He is well.", [("Takes vitamin D.", ()), ("He is well.", ())]),
        ("he has pain. he took aspirin [1].", [("he has pain.", ()), ("he took aspirin.", (1,))]),
        ("pain [3]. it left [4].", [("pain.", (3,)), ("it left.", (4,))]),
        ("Pain.He left.", [("Pain.", ()), ("He left.", ())]),
        ("咳嗽[1]。发热[2]。", [("咳嗽。", (1,)), ("发热。", (2,))]),
        # Headings belong to what is under them; in a text of capitals nothing is a heading by its capitals.
        ("CHIEF COMPLAINT\n\nPain [4].", [("CHIEF COMPLAINT Pain.", (4,))]),
        ("PLAN\n\n1. Foo pain [3]\n2. Bar [4]", [("PLAN 1. Foo pain", (3,)), ("2. Bar", (4,))]),
        ("Plan:\n- Aspirin [3]", [("Plan: - Aspirin", (3,))]),
        ("## Results\nNormal [3].", [("## Results Normal.", (3,))]),
        ("NO FRACTURE\nEFFUSION [3]", [("NO FRACTURE", ()), ("EFFUSION", (3,))]),
        ("Pain [4].\nPLAN", [("Pain.", (4,)), ("PLAN", ())]),
        # Lines broken by their width, and lines that are sentences.
        ("There is evidence\nof an effusion [3].", [("There is evidence of an effusion.", (3,))]),
        ("There is evidence\n\nof an effusion [3].", [("There is evidence", ()), ("of an effusion.", (3,))]),
        ("Aspirin\nHeparin [3]", [("Aspirin", ()), ("Heparin", (3,))]),
        ("Pain [1]\nand fever [2]", [("Pain", (1,)), ("and fever", (2,))]),
    ],
)
def test_sentences(text: str, sentences: Read) -> None:
    assert _read(text) == sentences


@given(OUTPUTS)
@settings(deadline=None, max_examples=300)
def test_nothing_is_lost(text: str) -> None:
    sentences = read_sentences(text)
    if not text.strip():
        assert sentences == ()
        return
    assert "".join(one.raw for one in sentences) == text
    assert all(one.raw.strip() for one in sentences)


@given(OUTPUTS)
@settings(deadline=None, max_examples=300)
def test_every_citation_is_of_one_sentence_and_none_is_borrowed(text: str) -> None:
    sentences = read_sentences(text)
    assert [one.citations for one in sentences] == [cited_ids(one.raw) for one in sentences]
    # A marker is never cut in two, so that together they cite what the text cites.
    assert {number for one in sentences for number in one.citations} == set(cited_ids(text) if text.strip() else ())


@given(OUTPUTS, st.integers(0, 9))
@settings(deadline=None, max_examples=100)
def test_a_number_more_leaves_the_words(text: str, number: int) -> None:
    # The same text, cited or not, says the same.
    cited = read_sentences(f"{text.rstrip()} [{number}]") if text.strip() else ()
    assert _signs(cited) == _signs(read_sentences(text.rstrip()))


def _signs(sentences: tuple[Sentence, ...]) -> str:
    return "".join("".join(one.text.split()) for one in sentences)


def test_long_texts_are_read_whole() -> None:
    # Nothing but one thing, again and again: the worst for anything that looks back or ahead.
    for part in (". ", "[1]", "[", "[1 ", "a. ", "PLAN:\n", "**a", "x"):
        text = part * 5000
        assert "".join(one.raw for one in read_sentences(text)) == text


SANE = {
    # Name of the fixture's output: what it shows, and the citations of its sentences.
    "e1": ("two ways of writing several markers", [(1, 2), (3,), (5, 6)]),
    "e2": ("uncited sentences are counted, the authors' citation split drops them all", [(), ()]),
    "e3": ("one cited sentence is one, the authors count it as uncited", [(4,)]),
    "e4": ("ranges and lists; 12 is kept, the source ends at 11", [(1, 2, 3, 4, 5), (12,), (7,)]),
    "e5": ("no borrowing, 8 counts once, the last sentence is not dropped", [(), (8, 9), ()]),
    "e6": ("twelve citations are twelve, the authors take ten", [tuple(range(12)), (10,)]),
    "e7": ("an empty output has no sentences", []),
    "e8": ("5+5 and 3+ are prose", [(4,), (7,), ()]),
    "e9": ("numbers of items are prose", [(1,), (2,), (3,)]),
    "e10": ("[-1] and [note 3] are prose, the authors let all three cite 3", [(), (), (3,)]),
}


@pytest.mark.upstream
@needs_shared
@pytest.mark.parametrize("name", SANE)
def test_the_fixture_outputs_read_sanely(name: str) -> None:
    rows = json.loads((SHARED / "fixtures" / "doclens" / "generation.json").read_text(encoding="utf-8"))
    assert {row["example_id"] for row in rows} == set(SANE)
    (row,) = [one for one in rows if one["example_id"] == name]
    assert [one.citations for one in read_sentences(row["output"])] == SANE[name][1]
    assert list(read_sources(row["input"])) == list(range(12))


@pytest.mark.upstream
@needs_shared
def test_the_authors_worked_examples_are_read_whole() -> None:
    paths = sorted((SHARED / "data" / "doclens" / "prompts" / "generation").glob("acibench*citation.json"))
    assert len(paths) == 5
    outputs = [
        message["content"]
        for path in paths
        for message in json.loads(path.read_text(encoding="utf-8"))
        if message.get("name") == "example_assistant"
    ]
    assert len(outputs) == 10
    sentences = [one for output in outputs for one in read_sentences(output)]
    assert "".join(one.raw for one in sentences) == "".join(outputs)
    # They cite behind each sentence; what has no citation is the title of a problem ("Depression."), or was left uncited.
    # Counted by hand: 14 titles, 8 sentences.
    assert (len(sentences), sum(not one.citations for one in sentences)) == (204, 22)


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("", {}),
        ("no numbers", {}),
        ("[0] A.\n B. [1] C.", {0: "A. B.", 1: "C."}),
        ("lost [1] A. [2][3] C [9] d.", {1: "A.", 2: "", 3: "C [9] d."}),
        ("[0][doctor] hi , you\n[1][patient] hey .", {0: "[doctor] hi , you", 1: "[patient] hey ."}),
    ],
)
def test_sources(text: str, sources: dict[int, str]) -> None:
    assert read_sources(text) == sources
