from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.construction.rounds import (
    NoteSentence,
    excerpt_text,
    kept_paragraphs,
    offsets,
    split_note,
)
from medical_tasks.benchmarks.archehr_qa.construction.sheets import phrase_places
from medical_tasks.benchmarks.archehr_qa.release import Sentence, excerpt_problem, offset_problem, offsets_are_places
from tests.benchmarks.archehr_qa.construction.own_files import NOTES


def test_headings_paragraphs_and_wrapped_lines() -> None:
    sentences = split_note(NOTES[0][2])
    assert [tuple(each) for each in sentences[:3]] == [
        ("1", "0", "Brief Hospital Course:"),
        ("2", "0", "She came with acute renal failure."),
        ("3", "0", "Furosemide was stopped since creatinine rose to 4.1."),
    ]
    assert [each.paragraph for each in sentences] == ["0", "0", "0", "0", "1", "1", "2", "2"]
    assert sentences[-1] == NoteSentence("8", "2", "See Dr. Lee in 2 weeks.")
    assert excerpt_text(sentences[5:]) == "Family visited.\n\nFollow up:\nSee Dr. Lee in 2 weeks."
    assert split_note(" \n\n\x0c\r\n") == ()
    assert [each.text for each in split_note("The plan, as said before by all of us here:\nrest.")] == [
        "The plan, as said before by all of us here: rest."
    ]


def test_paragraphs_without_any_wanted_sentence_go() -> None:
    sentences = split_note("One here. Two here.\n\nThree here. Four here.\n\nFive.")
    assert [each.id for each in kept_paragraphs(sentences, {"3"})] == ["3", "4"]
    assert kept_paragraphs(sentences, set()) == ()


NOTE = st.text(alphabet=st.sampled_from("ab.:?\n\r \t1-\x0b\x0c\x1f\u2028é"), max_size=60)


@given(NOTE)
@settings(deadline=None, max_examples=150)
def test_no_word_is_lost_and_the_builder_agrees(text: str) -> None:
    sentences = split_note(text)
    # Signs that XML has no place for are blanks.
    expected = text.replace("\x0b", " ").replace("\x0c", " ").replace("\x1f", " ").split()
    assert " ".join(each.text for each in sentences).split() == expected
    assert [each.id for each in sentences] == [str(number + 1) for number in range(len(sentences))]
    assert all(each.text == " ".join(each.text.split()) and each.text for each in sentences)
    released = [Sentence(id=each.id, paragraph_id=each.paragraph, text=each.text) for each in sentences]
    places = offsets(sentences)
    assert excerpt_problem(excerpt_text(sentences), released) is None
    assert offset_problem(released, places) is None
    assert offsets_are_places(excerpt_text(sentences), released, places)


def test_phrases_stand_one_behind_the_other_where_they_can() -> None:
    assert phrase_places("why? and why? so", ("why?", "why?", "so", "and", "no")) == [0, 9, 14, 5, -1]
