"""Turns of a dialogue, sections of a note, sentences of a question, and citation markers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.data import read_meqsum_rows, read_sources
from medical_tasks.benchmarks.doclens.pieces import (
    EMPTY,
    MAX_RANGE,
    SECTIONS,
    Sentence,
    cited_ids,
    divide_note,
    find_markers,
    heading_section,
    numbered_dialogue,
    numbered_question,
    read_sentences,
    remove_citations,
    split_question,
    split_turns,
)
from tests.benchmarks.doclens.task_items import cases, official_notes
from tests.case_tables import json_of
from tests.support import SHARED, needs_shared


@pytest.mark.parametrize(
    ("dialogue", "turns"), cases("pieces", "test_turns_of_a_dialogue")
)
def test_turns_of_a_dialogue(dialogue: str, turns: list[str]) -> None:
    assert split_turns(dialogue) == turns


def test_numbers_begin_at_zero() -> None:
    assert (
        numbered_dialogue(["[doctor] a .\nand b .", "[patient] c ."])
        == "[0][doctor] a .\nand b .\n[1][patient] c ."
    )
    assert (
        numbered_question(["Is it safe?", "I am 61."]) == "[0] Is it safe? [1] I am 61."
    )
    assert numbered_dialogue([]) == numbered_question([]) == ""


@given(
    st.sampled_from(("doctor", "patient", "patient_guest", "nurse")),
    st.sampled_from((str.upper, str.lower, str.title)),
    st.sampled_from(("{}[{}]", "{}[ {} ]", "{}[{} ]")),
    st.sampled_from(("", " ", "\t")),
)
def test_a_speaker_is_read_in_any_case_and_spacing(
    name: str, case: Callable[[str], str], form: str, before: str
) -> None:
    line = f"{form.format(before, case(name))} hi ."
    assert split_turns(f"[doctor] a .\n{line}") == ["[doctor] a .", line]


@pytest.mark.parametrize(
    "heard",
    [
        "[ inaudible 00:09:25 ] sick",
        "[inaudible] sick",
        "[ Laughter ]",
        "[crosstalk]",
        "[]",
        "[3]",
    ],
)
def test_a_transcriber_s_mark_is_not_a_speaker(heard: str) -> None:
    assert split_turns(f"[doctor] a .\n{heard}") == [f"[doctor] a .\n{heard}"]


LINES = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(["[doctor] a", "[patient]", "[guest_2] b", "[1] c"]),
    )
)


@given(LINES)
def test_joined_turns_are_the_dialogue(lines: list[str]) -> None:
    dialogue = "\n".join(lines)
    turns = split_turns(dialogue)
    assert "\n".join(turns) == dialogue
    assert split_turns("\n".join(turns)) == turns


@pytest.mark.parametrize(
    ("line", "section"), cases("pieces", "test_headings_of_sections")
)
def test_headings_of_sections(line: str, section: str | None) -> None:
    assert heading_section(line) == section


@pytest.mark.parametrize(
    ("note", "parts"), cases("pieces", "test_notes_are_divided_into_sections")
)
def test_notes_are_divided_into_sections(note: str, parts: dict[str, str]) -> None:
    assert list(divide_note(note).items()) == [
        (section, parts.get(section, "")) for section in SECTIONS
    ]


NOTE_LINES = st.lists(
    st.one_of(
        st.text(max_size=10),
        st.sampled_from(
            [
                "PLAN",
                "EXAM",
                "Results:",
                "## ROS",
                "VITALS",
                "The plan is rest.",
                "",
                "IMAGING\r",
            ]
        ),
    )
)


@given(NOTE_LINES)
def test_a_divided_note_keeps_every_line_and_each_section_is_divided_as_itself(
    lines: list[str],
) -> None:
    note = "\n".join(lines)
    parts = divide_note(note)
    assert sum(map(len, parts.values())) == len(note)
    # The lines of the sections, taken by their headings, are those of the note.
    rest = {section: text.splitlines(keepends=True) for section, text in parts.items()}
    current = SECTIONS[0]
    for line in note.splitlines(keepends=True):
        current = heading_section(line) or current
        assert rest[current].pop(0) == line
    assert not any(rest.values())
    for section, text in parts.items():
        # Without a heading a text is the first section.
        first = text.splitlines()[0] if text else ""
        read_as = section if heading_section(first) else SECTIONS[0]
        assert divide_note(text) == dict.fromkeys(SECTIONS, "") | {read_as: text}


def equal_texts(ours: str, official: str) -> bool:
    """Whether two texts are equal up to white space; official files have a word for an empty text."""
    if EMPTY in official:
        return not ours
    return " ".join(ours.split()) == " ".join(official.split())


@needs_shared
@pytest.mark.upstream
def test_the_official_division_of_the_validation_notes() -> None:
    """80 of 80 sections of the 20 notes."""
    notes = official_notes(
        SHARED / "data" / "aci_bench" / "challenge_data" / "valid.csv"
    )
    agreement: Counter[bool] = Counter()
    for section in SECTIONS:
        path = (
            SHARED
            / "data"
            / "aci_bench"
            / "challenge_data_json"
            / f"valid_{section}.json"
        )
        records: list[dict[str, Any]] = json_of(path)["data"]
        assert [record["file"].split("-")[0] for record in records] == list(notes)
        for record in records:
            agreement[
                equal_texts(
                    divide_note(notes[record["file"].split("-")[0]])[section],
                    record["tgt"],
                )
            ] += 1
    assert agreement == {True: 80}


FOLDER = SHARED / "data" / "meqsum"


@pytest.mark.parametrize(
    ("question", "sentences"), cases("pieces", "test_sentences_of_a_question")
)
def test_sentences_of_a_question(question: str, sentences: list[str]) -> None:
    assert split_question(question) == sentences


PIECES = st.lists(
    st.sampled_from([*'aB.?! \n9)"…İΣß', "Dr. ", "it hurts. ", "..."]), max_size=40
)


@given(PIECES.map("".join))
def test_split_questions_lose_only_white_space(question: str) -> None:
    sentences = split_question(question)
    assert "".join("".join(sentences).split()) == "".join(question.split())
    assert all(
        sentence and sentence == sentence.strip() and sentence in question
        for sentence in sentences
    )
    # Case makes no difference if lower case has the same length.
    if len(question.lower()) == len(question):
        assert [len(sentence) for sentence in split_question(question.lower())] == [
            len(sentence) for sentence in sentences
        ]


@needs_shared
@pytest.mark.upstream
def test_sentences_of_questions_equal_those_of_doclens() -> None:
    """For 98 of 100 questions, whose sentences DocLens lists in lower case.

    The other two are named here.
    """
    files = {"test": FOLDER / "MEDIQA2021-Task1-TestSet-ReferenceSummaries.xlsx"}
    rows = list(read_meqsum_rows("full", "test", files))
    released: list[dict[str, Any]] = json_of(FOLDER / "doclens_meqsum-test_clean.json")
    assert len(rows) == 100
    assert [(row["id"], row["summary"]) for row in rows] == [
        (entry["example_id"], entry["reference"]) for entry in released
    ]

    def plain(text: str) -> str:
        return " ".join(text.lower().split())

    other = [
        row["id"]
        for row, entry in zip(rows, released, strict=True)
        if plain(numbered_question(row["sentences"])) != plain(entry["input"])
    ]
    # "ok." is no abbreviation here (173), and "e. w. [name]" ends after the initials
    # (313).
    assert other == ["173", "313"]
    assert all(re.match(r"\[0\] ", numbered_question(row["sentences"])) for row in rows)


MARKED = st.text(alphabet="aB 1205[],;-–. \n", max_size=60)


@pytest.mark.parametrize(
    ("text", "ids"), cases("citations", "test_ids_of_markers", tuples=True)
)
def test_ids_of_markers(text: str, ids: tuple[int, ...]) -> None:
    assert cited_ids(text) == ids


@pytest.mark.parametrize("prose", cases("citations", "prose"))
def test_prose_has_no_marker(prose: str) -> None:
    assert find_markers(prose) == []
    assert remove_citations(prose) == prose


def test_the_widest_range() -> None:
    assert cited_ids(f"[1-{MAX_RANGE}]") == tuple(range(1, MAX_RANGE + 1))
    assert cited_ids(f"[0-{MAX_RANGE}]") == ()


@pytest.mark.parametrize(
    ("text", "left"), cases("citations", "test_markers_are_removed")
)
def test_markers_are_removed(text: str, left: str) -> None:
    assert remove_citations(text) == left


@given(MARKED)
def test_markers_have_positions_and_are_removed_with_adjacent_spaces(
    text: str,
) -> None:
    cut, end = "", 0
    for marker in find_markers(text):
        assert end <= marker.start
        cut += text[end : marker.start]
        end = marker.end
        assert re.fullmatch(r"\[[0-9 ,;–-]+\]", text[marker.start : end])
        numbers = {
            int(digits) for digits in re.findall("[0-9]+", text[marker.start : end])
        }
        assert {marker.ids[0], marker.ids[-1]} <= numbers
        assert numbers <= set(marker.ids)
    left = remove_citations(text)
    assert "".join(left.split()) == "".join((cut + text[end:]).split())
    assert left.count("\n") == text.count("\n")


Read = tuple[tuple[str, tuple[int, ...]], ...]

OUTPUTS = st.text(max_size=80) | st.lists(
    st.sampled_from(cases("citations")["outputs"]), max_size=25
).map("".join)


@pytest.mark.parametrize(
    ("text", "sentences"),
    cases("citations", "test_sentences_with_citations", tuples=True),
)
def test_sentences_with_citations(text: str, sentences: Read) -> None:
    assert (
        tuple((sentence.text, sentence.citations) for sentence in read_sentences(text))
        == sentences
    )


@given(OUTPUTS)
def test_sentences_keep_the_text_and_every_citation(text: str) -> None:
    sentences = read_sentences(text)
    assert "".join(sentence.raw for sentence in sentences) == (
        text if text.strip() else ""
    )
    assert all(sentence.raw.strip() for sentence in sentences)
    assert [sentence.citations for sentence in sentences] == [
        cited_ids(sentence.raw) for sentence in sentences
    ]
    # No marker is split, so that the sentences cite what the text cites.
    assert {number for sentence in sentences for number in sentence.citations} == set(
        cited_ids(text) if text.strip() else ()
    )


@given(OUTPUTS, st.integers(0, 9))
def test_one_more_citation_keeps_the_words(text: str, number: int) -> None:
    # The words do not depend on the citation.
    cited = read_sentences(f"{text.rstrip()} [{number}]") if text.strip() else ()
    assert _signs(cited) == _signs(read_sentences(text.rstrip()))


def _signs(sentences: tuple[Sentence, ...]) -> str:
    return "".join("".join(sentence.text.split()) for sentence in sentences)


def test_long_texts_are_read_whole() -> None:
    # One unit repeated is the worst case of a search backwards or
    # forwards.
    for unit in (". ", "[1]", "[", "[1 ", "a. ", "PLAN:\n", "**a", "x"):
        text = unit * 5000
        assert "".join(sentence.raw for sentence in read_sentences(text)) == text


@pytest.mark.upstream
@needs_shared
def test_the_authors_worked_examples_are_read_whole() -> None:
    paths = sorted(
        (SHARED / "data" / "doclens" / "prompts" / "generation").glob(
            "acibench*citation.json"
        )
    )
    assert len(paths) == 5
    outputs = [
        message["content"]
        for path in paths
        for message in json_of(path)
        if message.get("name") == "example_assistant"
    ]
    assert len(outputs) == 10
    sentences = [sentence for output in outputs for sentence in read_sentences(output)]
    assert "".join(sentence.raw for sentence in sentences) == "".join(outputs)
    # The examples cite after each sentence, except titles of problems ("Depression.")
    # and uncited sentences. Counted by hand: 14 titles, 8 sentences.
    assert (len(sentences), sum(not sentence.citations for sentence in sentences)) == (
        204,
        22,
    )


@pytest.mark.parametrize(
    ("text", "sources"), cases("citations", "test_sources_of_a_numbered_text")
)
def test_sources_of_a_numbered_text(text: str, sources: list[tuple[int, str]]) -> None:
    assert read_sources(text) == dict(sources)
