"""Agreement of imported sheets, and the excerpts of notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.release import (
    LABELS,
    AnswerSentence,
    Sentence,
    excerpt_problem,
    offset_problem,
    offsets_are_places,
)
from medical_tasks.construct.archehr.files import content_words
from medical_tasks.construct.archehr.release_files import (
    excerpt_text,
    offsets,
    phrase_offsets,
)
from medical_tasks.construct.archehr.review import (
    label_agreement,
    measure_agreement,
    retained_words,
    round_agreement,
)
from medical_tasks.construct.archehr.rounds import (
    Annotation,
    OwnCase,
    kept_paragraphs,
    split_note,
)
from medical_tasks.errors import MedicalTasksError
from medical_tasks.scoring.estimates import Figure
from tests.case_tables import tables
from tests.construct.archehr.own_files import (
    NOTES,
    construct,
    first_round,
    write_sources,
)
from tests.construct.sheet_files import edit_sheet

CASES = tables(__file__, "review")

E, S, N = LABELS


def number(figure: Figure, name: str = "value") -> float:
    """Returns a number of an estimate that must have one."""
    value = figure[name]
    assert value is not None
    return value


def test_first_review_of_the_paper() -> None:
    # Results: 2653 of 3450 agree; of 797 edits 318 from essential to supplementary, 212
    # to not-relevant. The rest is ours.
    before = [E] * 318 + [E] * 212 + [S] * 267 + [N] * 2653
    after = [S] * 318 + [N] * 212 + [N] * 267 + [N] * 2653
    clusters = [str(number % 134) for number in range(3450)]
    agreement = label_agreement(before, after, clusters)
    assert (agreement["agreed"], agreement["sentences"]) == (2653, 3450)
    # the paper prints 77.1 %, and 2653/3450 is 76.9 %
    assert f"{agreement['agreement']['value']:.3f}" == "0.769"
    assert (
        number(agreement["agreement"], "ci_low")
        < 0.769
        < number(agreement["agreement"], "ci_high")
    )
    edits = [
        (
            edit["before"],
            edit["after"],
            edit["count"],
            round(number(edit["of_edits"]), 3),
        )
        for edit in agreement["edits"]
    ]
    assert edits == [(E, S, 318, 0.399), (S, N, 267, 0.335), (E, N, 212, 0.266)]


def test_agreement_by_hand() -> None:
    # Observed 3/4; by chance (2*1 + 1*2 + 1*1)/16 = 5/16; kappa (12/16 - 5/16) /
    # (11/16) = 7/11.
    agreement = label_agreement([E, E, S, N], [E, S, S, N], ["1", "1", "2", "2"])
    assert agreement["kappa"]["value"] == pytest.approx(7 / 11)
    assert agreement["agreement"]["value"] == 0.75
    assert agreement["edits"][0]["count"] == 1
    # chance leaves nothing to correct
    assert label_agreement([N], [N], ["1"])["kappa"]["value"] is None
    assert label_agreement([N], [N], ["1"])["edits"] == []
    # Clustered intervals are wider.
    before, after = [E] * 40, [E] * 20 + [S] * 20
    alone = label_agreement(before, after, [str(row) for row in range(40)])["agreement"]
    alike = label_agreement(before, after, [str(row // 10) for row in range(40)])[
        "agreement"
    ]
    assert alike["value"] == alone["value"] == 0.5
    widths = [
        number(interval, "ci_high") - number(interval, "ci_low")
        for interval in (alone, alike)
    ]
    assert widths[0] < widths[1]


def test_retained_words() -> None:
    for text, edited, kept in CASES["retained_words"]:
        assert list(retained_words(text, edited)) == kept, text


@given(st.text(max_size=60), st.text(max_size=60))
def test_laws_of_retained_words(before: str, after: str) -> None:
    kept, words = retained_words(before, after)
    assert 0 <= kept <= words == len(list(content_words(before)))
    assert retained_words(before, f"{after} {before}")[0] == words
    assert retained_words(before, after)[0] == retained_words(after, before)[0]


def case(name: str, labels: str, answer: str = "") -> OwnCase:
    spelt = {"e": E, "s": S, "n": N}
    sentences = tuple(
        Sentence(id=str(number), paragraph_id="0", text="x")
        for number in range(1, len(labels) + 1)
    )
    return OwnCase(
        id=name,
        post_id=name,
        document_id="d",
        narrative="Why?",
        sentences=sentences,
        annotation=Annotation(
            phrases=("Why?",),
            question="Why so?",
            labels={
                sentence.id: spelt[label]
                for sentence, label in zip(sentences, labels, strict=True)
            },
            answer=(AnswerSentence(id="1", text=answer, citations=()),)
            if answer
            else (),
        ),
    )


def test_agreement_of_rounds_on_their_common_cases() -> None:
    before = {
        "1": case("1", "een", "Aorta ruptured suddenly."),
        "2": case("2", "ss"),
        "3": case("3", "n", "gone"),
    }
    after = {
        "1": case("1", "esn", "The aorta ruptured."),
        "2": case("2", "sn", "new words"),
    }
    after["2"] = replace(
        after["2"],
        annotation=replace(after["2"].annotation, question="How?", phrases=()),
    )
    review = round_agreement(before, after)
    assert (
        review["cases"],
        review["labels"]["agreed"],
        review["labels"]["sentences"],
    ) == (
        2,
        3,
        5,
    )
    assert (review["questions_changed"], review["focus_changed"]) == (1, 1)
    answers = review["answers"]
    assert (
        answers["answers"],
        answers["changed"],
        answers["words_retained"],
        answers["words"],
    ) == (1, 1, 2, 3)
    assert answers["retained"] is not None
    assert answers["retained"]["value"] == pytest.approx(2 / 3)
    assert round_agreement({"2": before["2"]}, after)["answers"]["retained"] is None
    with pytest.raises(MedicalTasksError, match="no case in common"):
        round_agreement({"3": before["3"]}, after)


def test_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "own"
    with pytest.raises(MedicalTasksError, match="no sheets were imported yet"):
        measure_agreement(folder)
    sheets = first_round(write_sources(tmp_path / "src"), folder, "ann,ben", 3)
    edit_sheet(
        sheets[1],
        lambda row: row | ({"relevance": "s"} if row["relevance"] == "E" else {}),
    )
    assert construct("import", "--folder", folder, *sheets) == 0
    assert construct("sheet", "--folder", folder, "--reviewers", "eve") == 0
    path = folder / "round_2" / "sheets" / "eve.csv"
    edit_sheet(
        path,
        lambda row: (
            row | ({"relevance": "s"} if row["relevance"] == "essential" else {})
        ),
    )
    assert construct("import", "--folder", folder, path) == 0
    capsys.readouterr()
    assert construct("agreement", "--folder", folder) == 0
    output = capsys.readouterr().out
    # Both annotate all three cases, 12 sentences of whole notes, and three labels
    # differ.
    assert "Round 1, ann and ben: the same label 75.0 %" in output
    assert "(9/12), Cohen's kappa" in output
    agreement = measure_agreement(folder)
    first, second = agreement["rounds"]
    assert (first["against_round_before"], len(first["among_annotators"])) == (None, 1)
    assert second["against_round_before"] is not None
    changed = second["against_round_before"]["labels"]
    essential = changed["sentences"] - changed["agreed"]
    assert "essential to supplementary: 100.0 %" in output
    assert f"[{essential}/{essential}]" in output
    assert "0 of 3 answers changed" in output
    (folder / "round_2" / "cases.jsonl").write_text("{}")
    with pytest.raises(
        MedicalTasksError, match=r"cases.jsonl: was changed or moved away"
    ):
        measure_agreement(folder)


def test_headings_paragraphs_and_wrapped_lines() -> None:
    sentences = split_note(NOTES[0][2])
    assert [
        (sentence.id, sentence.paragraph_id, sentence.text)
        for sentence in sentences[:3]
    ] == [
        ("1", "0", "Brief Hospital Course:"),
        ("2", "0", "She came with acute renal failure."),
        ("3", "0", "Furosemide was stopped since creatinine rose to 4.1."),
    ]
    assert [sentence.paragraph_id for sentence in sentences] == [
        "0",
        "0",
        "0",
        "0",
        "1",
        "1",
        "2",
        "2",
    ]
    assert sentences[-1] == Sentence(
        id="8", paragraph_id="2", text="See Dr. Lee in 2 weeks."
    )
    assert (
        excerpt_text(sentences[5:])
        == "Family visited.\n\nFollow up:\nSee Dr. Lee in 2 weeks."
    )
    assert split_note(" \n\n\x0c\r\n") == ()
    assert [
        sentence.text
        for sentence in split_note("The plan, as said before by all of us here:\nrest.")
    ] == ["The plan, as said before by all of us here: rest."]
    # Paragraphs without any wanted sentence go.
    sentences = split_note("One here. Two here.\n\nThree here. Four here.\n\nFive.")
    assert [sentence.id for sentence in kept_paragraphs(sentences, {"3"})] == ["3", "4"]
    assert kept_paragraphs(sentences, set()) == ()
    # Each phrase follows the one before it where possible.
    assert phrase_offsets("why? and why? so", ("why?", "why?", "so", "and", "no")) == [
        0,
        9,
        14,
        5,
        -1,
    ]


NOTE = st.text(
    alphabet=st.sampled_from("ab.:?\n\r \t1-\x0b\x0c\x1f\u2028é"), max_size=60
)


@given(NOTE)
def test_no_word_is_lost_and_the_builder_agrees(text: str) -> None:
    sentences = split_note(text)
    # Signs that XML has no place for are blanks.
    expected = (
        text.replace("\x0b", " ").replace("\x0c", " ").replace("\x1f", " ").split()
    )
    assert " ".join(sentence.text for sentence in sentences).split() == expected
    assert [sentence.id for sentence in sentences] == [
        str(number + 1) for number in range(len(sentences))
    ]
    assert all(
        sentence.text == " ".join(sentence.text.split()) and sentence.text
        for sentence in sentences
    )
    places = offsets(sentences)
    assert excerpt_problem(excerpt_text(sentences), sentences) is None
    assert offset_problem(sentences, places) is None
    assert offsets_are_places(excerpt_text(sentences), sentences, places)
