"""Citation markers and the sentences of generated texts: nothing lost, nothing borrowed."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import read_sources
from medical_tasks.benchmarks.doclens.pieces import (
    MAX_RANGE,
    Sentence,
    cited_ids,
    find_markers,
    read_sentences,
    remove_citations,
)
from tests.benchmarks.doclens.task_items import cases
from tests.support import SHARED, needs_shared

TEXTS = st.text(alphabet="aB 1205[],;-–. \n", max_size=60)


@pytest.mark.parametrize(("text", "ids"), cases("citations", "test_markers", tuples=True))
def test_markers(text: str, ids: tuple[int, ...]) -> None:
    assert cited_ids(text) == ids


@pytest.mark.parametrize("prose", cases("citations", "prose"))
def test_prose_holds_no_marker(prose: str) -> None:
    assert find_markers(prose) == []
    assert remove_citations(prose) == prose


def test_the_widest_range() -> None:
    assert cited_ids(f"[1-{MAX_RANGE}]") == tuple(range(1, MAX_RANGE + 1))
    assert cited_ids(f"[0-{MAX_RANGE}]") == ()


@pytest.mark.parametrize(("text", "left"), cases("citations", "test_removal"))
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


Read = tuple[tuple[str, tuple[int, ...]], ...]

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
    return tuple((one.text, one.citations) for one in read_sentences(text))


@pytest.mark.parametrize(("text", "sentences"), cases("citations", "test_sentences", tuples=True))
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


@pytest.mark.upstream
@needs_shared
@pytest.mark.parametrize(("name", "cited"), cases("citations", "sane", tuples=True))
def test_the_fixture_outputs_read_sanely(name: str, cited: tuple[tuple[int, ...], ...]) -> None:
    rows = json.loads((SHARED / "fixtures" / "doclens" / "generation.json").read_text(encoding="utf-8"))
    assert len(rows) == 10
    (row,) = [one for one in rows if one["example_id"] == name]
    assert tuple(one.citations for one in read_sentences(row["output"])) == cited
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


@pytest.mark.parametrize(("text", "sources"), cases("citations", "test_sources"))
def test_sources(text: str, sources: list[tuple[int, str]]) -> None:
    assert read_sources(text) == dict(sources)
