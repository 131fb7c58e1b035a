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
    ("dialogue", "turns"),
    [
        ("", []),
        ("[doctor] hi .", ["[doctor] hi ."]),
        ("[doctor] hi .\n[patient] hello .", ["[doctor] hi .", "[patient] hello ."]),
        # A line without a speaker continues the turn before it, and so does a blank
        # line.
        (
            "[doctor] a .\nand b .\n[patient] c .",
            ["[doctor] a .\nand b .", "[patient] c ."],
        ),
        ("[patient]\n\n[doctor] hi .\n", ["[patient]\n", "[doctor] hi .\n"]),
        (
            "[patient_guest] hi .\n[doctor] hello .",
            ["[patient_guest] hi .", "[doctor] hello ."],
        ),
        ("[doctor] it is\n[3] of them", ["[doctor] it is\n[3] of them"]),
        ("no speaker\nat all", ["no speaker\nat all"]),
        ("\n[doctor] hi .", ["", "[doctor] hi ."]),
    ],
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
    ("line", "section"),
    [
        ("CHIEF COMPLAINT", "subjective"),
        ("HISTORY OF PRESENT ILLNESS\n", "subjective"),
        ("Review of Systems:", "subjective"),
        ("ROS", "subjective"),
        ("**Physical Exam:**", "objective_exam"),
        ("PHYSICAL EXAMINATION:", "objective_exam"),
        ("## Objective", "objective_exam"),
        ("Results:", "objective_results"),
        ("__Imaging__", "objective_results"),
        ("ASSESSMENT AND PLAN", "assessment_and_plan"),
        ("Assessment & Plan:", "assessment_and_plan"),
        ("A/P:", "assessment_and_plan"),
        ("4. PLAN", "assessment_and_plan"),
        ("  **IV. Impression**  ", "assessment_and_plan"),
        # Prose is no heading, and some headings stand inside a section.
        ("Results", None),
        ("results:", None),
        ("The results are normal.", None),
        ("Physical exam: Lungs clear.", None),
        ("VITALS", None),
        ("INSTRUCTIONS", None),
        ("- Medical Treatment:", None),
        ("PLAN " * 20, None),
        ("####", None),
        ("", None),
        (" \n", None),
    ],
)
def test_headings_of_sections(line: str, section: str | None) -> None:
    assert heading_section(line) == section


@pytest.mark.parametrize(
    ("note", "parts"),
    [
        (
            (
                "CHIEF COMPLAINT\n\nCough.\n\nVITALS\n\nBlood pressure normal.\n\n"
                "PHYSICAL EXAM\n\nLungs: Clear.\n\nRESULTS\n\nX-ray normal.\n\n"
                "ASSESSMENT\n\n1. Cold.\n\nINSTRUCTIONS\n\nRest.\n"
            ),
            {
                "subjective": "CHIEF COMPLAINT\n\nCough.\n\nVITALS\n\nBlood pressure normal.\n\n",
                "objective_exam": "PHYSICAL EXAM\n\nLungs: Clear.\n\n",
                "objective_results": "RESULTS\n\nX-ray normal.\n\n",
                "assessment_and_plan": "ASSESSMENT\n\n1. Cold.\n\nINSTRUCTIONS\n\nRest.\n",
            },
        ),
        ("", {}),
        (
            "No heading at all.\nPlan is rest.",
            {"subjective": "No heading at all.\nPlan is rest."},
        ),
        ("PLAN", {"assessment_and_plan": "PLAN"}),
        # A section whose heading comes twice gets both texts.
        (
            "PLAN\na\nEXAM\nb\nPLAN\nc",
            {"objective_exam": "EXAM\nb\n", "assessment_and_plan": "PLAN\na\nPLAN\nc"},
        ),
    ],
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
    ("question", "sentences"),
    [
        ("", []),
        (" \n", []),
        ("is it safe", ["is it safe"]),
        ("Is it safe? I am 61. ", ["Is it safe?", "I am 61."]),
        ("  It hurts!!! (Very much.) Why?", ["It hurts!!!", "(Very much.)", "Why?"]),
        ("SUBJECT: gout\nMESSAGE: Help. Now", ["SUBJECT: gout\nMESSAGE: Help.", "Now"]),
        # As in DocLens's files, a number, an ellipsis, an initial or a title ends no
        # sentence, even before a capital.
        ("It was in 2019. it came back.", ["It was in 2019. it came back."]),
        ("It was in 2019. It came back.", ["It was in 2019. It came back."]),
        ("It hurts... Help me.", ["It hurts... Help me."]),
        ("Dr. A. Moll said so. Is it?", ["Dr. A. Moll said so.", "Is it?"]),
    ],
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
    ("text", "left"),
    [
        ("He improved [1].", "He improved."),
        ("He improved [1] [2] today", "He improved today"),
        # The code of DocLens's authors leaves ",2" of this list.
        ("List [1,2] y", "List y"),
        # Their code leaves "-3" of this range.
        ("x [1-3] y", "x y"),
        (" [4] lead", "lead"),
        ("a\n  [4] lead", "a\nlead"),
        ("[1]\n[2]", "\n"),
        ("array[0]", "array"),
        # A lone bracket and a bar are prose; their code deletes both.
        ("keep ] bracket | bar", "keep ] bracket | bar"),
        # Values in brackets are prose; their code deletes all but ".2 -> 6.9" of them.
        ("A1c [8.2 -> 6.9] better [3]", "A1c [8.2 -> 6.9] better"),
        ("[1]", ""),
        ("", ""),
    ],
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
    [
        ("", ()),
        (" \n\t", ()),
        # A marker may stand before the end mark, behind it, on the next line or at the
        # start.
        ("Pain [1]. Fever [2].", (("Pain.", (1,)), ("Fever.", (2,)))),
        ("Pain. [1][2] Fever? [3]", (("Pain.", (1, 2)), ("Fever?", (3,)))),
        ("Pain.[1] Fever.[2]", (("Pain.", (1,)), ("Fever.", (2,)))),
        ("Pain.\n[1]\nFever.", (("Pain.", (1,)), ("Fever.", ()))),
        ("All of it.\n\n[1][2][3]", (("All of it.", (1, 2, 3)),)),
        ("[1] Pain.", (("Pain.", (1,)),)),
        ("Pain [1], fever [2] and cough.", (("Pain, fever and cough.", (1, 2)),)),
        ("[3][4]", (("", (3, 4)),)),
        # A sentence without a citation is still a sentence, wherever it stands.
        ("Pain. Fever [2]. Cough.", (("Pain.", ()), ("Fever.", (2,)), ("Cough.", ()))),
        ("No end mark", (("No end mark", ()),)),
        ("5", (("5", ()),)),
        # Numbers in the prose and numbers of list items cite nothing.
        ("5 mg. A1c [8.2 -> 6.9] [3].", (("5 mg.", ()), ("A1c [8.2 -> 6.9].", (3,)))),
        ("1. Pain [1]\n2. Fever [2]", (("1. Pain", (1,)), ("2. Fever", (2,)))),
        ("A. Pain [1]\nB. Fever [2]", (("A. Pain", (1,)), ("B. Fever", (2,)))),
        ("Pain. 2. Fever [2]", (("Pain.", ()), ("2. Fever", (2,)))),
        ("- Aspirin\n- Heparin [3]", (("- Aspirin", ()), ("- Heparin", (3,)))),
        (
            "EF was 35.5 percent. Rate is 62. Fine [1].",
            (("EF was 35.5 percent.", ()), ("Rate is 62.", ()), ("Fine.", (1,))),
        ),
        ("EF: 62 [3]\n120/80 [4]", (("EF: 62", (3,)), ("120/80", (4,)))),
        # Abbreviations and initials end no sentence.
        (
            "He saw Dr. J. Smith at 5 p.m. He left.",
            (("He saw Dr. J. Smith at 5 p.m.", ()), ("He left.", ())),
        ),
        (
            "Give e.g. aspirin b.i.d. with food.",
            (("Give e.g. aspirin b.i.d. with food.", ()),),
        ),
        # The same letters end one where they are no abbreviation.
        (
            "No. 3 is fine. Pain? No. He left.",
            (("No. 3 is fine.", ()), ("Pain?", ()), ("No.", ()), ("He left.", ())),
        ),
        (
            "Takes vitamin D. He is well.",
            (("Takes vitamin D.", ()), ("He is well.", ())),
        ),
        # A sentence may begin in lower case or without a space, and end in another
        # script.
        (
            "he has pain. he took aspirin [1].",
            (("he has pain.", ()), ("he took aspirin.", (1,))),
        ),
        ("pain [3]. it left [4].", (("pain.", (3,)), ("it left.", (4,)))),
        ("Pain.He left.", (("Pain.", ()), ("He left.", ()))),
        ("咳嗽[1]。发热[2]。", (("咳嗽。", (1,)), ("发热。", (2,)))),
        # A heading belongs to the text under it; where all text is in capitals,
        # capitals make no heading.
        ("CHIEF COMPLAINT\n\nPain [4].", (("CHIEF COMPLAINT Pain.", (4,)),)),
        (
            "PLAN\n\n1. Foo pain [3]\n2. Bar [4]",
            (("PLAN 1. Foo pain", (3,)), ("2. Bar", (4,))),
        ),
        ("Plan:\n- Aspirin [3]", (("Plan: - Aspirin", (3,)),)),
        ("## Results\nNormal [3].", (("## Results Normal.", (3,)),)),
        ("NO FRACTURE\nEFFUSION [3]", (("NO FRACTURE", ()), ("EFFUSION", (3,)))),
        ("Pain [4].\nPLAN", (("Pain.", (4,)), ("PLAN", ()))),
        # A line that is broken at the page's width goes on; a line that is complete
        # does not.
        (
            "There is evidence\nof an effusion [3].",
            (("There is evidence of an effusion.", (3,)),),
        ),
        (
            "There is evidence\n\nof an effusion [3].",
            (("There is evidence", ()), ("of an effusion.", (3,))),
        ),
        ("Aspirin\nHeparin [3]", (("Aspirin", ()), ("Heparin", (3,)))),
        ("Pain [1]\nand fever [2]", (("Pain", (1,)), ("and fever", (2,)))),
    ],
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
