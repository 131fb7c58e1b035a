"""The kind of a radiology report, its sections and joined lines; and the words of the synthetic twin."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from measurements.mimic_twin import twin_words
from medical_tasks.benchmarks.doclens.mimic_data import report_sentences
from medical_tasks.benchmarks.doclens.mimic_report import (
    ANATOMIES,
    MODALITIES,
    TRAIN_KINDS,
    Kind,
    LeftOut,
    Report,
    joined_lines,
    kind_of,
    read_report,
)
from tests.benchmarks.doclens.task_items import cases

SEEN = "There is a left subdural hematoma that measures 9 mm in thickness."
MEANS = "Left subdural hematoma."
RULE = " " + "_" * 78

ORDER = f"""[**2111-5-6**] 7:59 PM
 CT HEAD W/O CONTRAST                              Clip # [**Clip Number (Radiology) 12345**]
 Reason: eval for bleed. FINDINGS: none yet
{RULE}"""

WHOLE = "\n".join(cases("mimic_report")["WHOLE"])


def report(findings: str = SEEN, impression: str = MEANS) -> str:
    return (
        f"{ORDER}\n FINAL REPORT\n FINDINGS: {findings}\n\n IMPRESSION: {impression}\n"
    )


def test_a_whole_note() -> None:
    assert read_report(WHOLE) == Report(
        findings="There is a left subdural hematoma that measures approx. 9 mm. Dr. [**Last Name "
        "(un) 12**] was told. The right "
        "side is normal.\n\nCT CHEST: The lungs are clear.",
        impression="1. Left subdural hematoma.\n2. Discussed with Dr. [**Last Name (un) 12**] at "
        "5 p.m.",
    )
    assert read_report(WHOLE.replace("\n", "\r\n")) == read_report(WHOLE)
    for useful in (
        "No change.",
        "Normal study.",
        "As above, with a new infarct.",
        "See above: stroke.",
    ):
        assert read_report(report(impression=useful)) == Report(
            findings=SEEN, impression=useful
        )


@pytest.mark.parametrize("text", cases("mimic_report", "test_layouts_of_a_report"))
def test_layouts_of_a_report(text: str) -> None:
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


CASES = st.sampled_from((str.upper, str.lower, str.title, str.capitalize))
MARKS = st.sampled_from((":", " :", "  :", " - ", " -- ", "\n"))


@given(
    CASES,
    CASES,
    MARKS,
    st.sampled_from(("\n\n", "\n", " ", "\n  ")),
    st.sampled_from((" ", "\n ")),
)
def test_headings_in_any_case(
    first: Callable[[str], str],
    second: Callable[[str], str],
    separator: str,
    line_end: str,
    space: str,
) -> None:
    # A heading after a sentence on the same line has a colon.
    line_end = line_end if ":" in separator else f"\n{line_end}"
    text = (
        f" FINAL REPORT\n COMPARISON: None.{line_end}{first('findings')}{separator}{space}{SEEN}"
        f"{line_end}{second('impression')}{separator}{space}{MEANS}\n"
    )
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


READINGS = cases("mimic_report")["READINGS"]
VERSIONS = (
    ": {}", " VERSION #1 XXa SUN [**2111-5-6**] 9:00 PM\n {}", " version #2 by XXa\n {}", " #3\n {}",
    " by XXa on [**2111-5-6**] at 9:00 PM.\n {}", " -- {}", "\n {}", ":\n FINDINGS: {}\n "
                                                                     "IMPRESSION: {}",
)  # fmt: skip


@given(
    st.sampled_from(READINGS),
    st.sampled_from(VERSIONS),
    CASES,
    st.sampled_from(("\n", "\n\n", "\n \n   ", "\n *** ", "\n [")),
)
def test_another_reading_after_the_report_is_left_out(
    name: str, version: str, case: Callable[[str], str], line_end: str
) -> None:
    reading = "Nothing acute that was seen here by whoever looked at all of this first."
    text = f"{report()[:-1]}{line_end}{case(name)}{version.format(reading, reading)}\n"
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


@pytest.mark.parametrize(
    "prose", cases("mimic_report", "test_prose_about_another_reading_stays")
)
def test_prose_about_another_reading_stays(prose: str) -> None:
    result = read_report(report(impression=f"{MEANS} {prose}"))
    assert isinstance(result, Report)
    assert result.impression.split() == f"{MEANS} {prose}".split()


@pytest.mark.parametrize("examined", cases("mimic_report", "examined"))
def test_findings_under_the_name_of_the_examination(examined: str) -> None:
    """As in the parser of MEDIQA 2021 (task 3), if there is no heading of findings.

    Otherwise the heading is a title.
    """
    alone = f" FINAL REPORT\n HISTORY: Fall.\n\n {examined}: {SEEN}\n\n IMPRESSION: {MEANS}\n"
    assert read_report(alone) == Report(findings=SEEN, impression=MEANS)
    title = f" FINAL REPORT\n {examined}:\n\n HISTORY: Fall.\n FINDINGS: {SEEN}\n IMPRESSION: {MEANS}\n"
    assert read_report(title) == Report(findings=SEEN, impression=MEANS)
    two = alone.replace(
        "IMPRESSION", "CT PELVIS: The bladder is normal.\n\n IMPRESSION"
    )
    assert read_report(two) == Report(
        findings=f"{examined}: {SEEN}\n\nCT PELVIS: The bladder is normal.",
        impression=MEANS,
    )
    assert read_report(alone.replace(SEEN, "")) is LeftOut.NO_FINDINGS
    for other in (
        "COMPARISON CT HEAD",
        "INDICATION FOR CT CHEST",
        "PRIOR MRI",
        "Compared with the head CT",
        "LABS",
    ):
        assert read_report(alone.replace(examined, other)) is LeftOut.NO_FINDINGS


def test_several_findings_are_joined_and_prose_is_not_a_heading() -> None:
    text = f"HEAD FINDINGS: {SEEN}\nIncidental\nfindings: a cyst. History of stroke.\nNECK FINDINGS: Clear.\nIMPRESSION: {MEANS}"
    assert read_report(text) == Report(
        findings=f"{SEEN} Incidental findings: a cyst. History of stroke.\n\nClear.",
        impression=MEANS,
    )


@pytest.mark.parametrize(
    ("text", "reason"), cases("mimic_report", "test_reports_that_are_left_out")
)
def test_reports_that_are_left_out(text: str, reason: str) -> None:
    assert read_report(text) is LeftOut(reason)


PIECES = cases("mimic_report")["PIECES"]


@example(["FINAL REPORT", "IMPRESSION:", "FINAL REPORT", "FINDINGS:", SEEN], "\n")
@given(
    st.lists(st.sampled_from((*PIECES, SEEN, MEANS)), max_size=25),
    st.sampled_from(("\n", " ")),
)
def test_no_word_is_added_or_repeated(pieces: list[str], separator: str) -> None:
    text = separator.join(pieces)
    result = read_report(text)
    if isinstance(result, Report):
        words = Counter(text.split())
        used = Counter(f"{result.findings} {result.impression}".split())
        assert used <= words
        assert (
            not {"FINDINGS:", "IMPRESSION:", "(Over)"} & set(used) or separator == " "
        )
        assert "FINAL" not in used or separator == " "


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 200_000, " " * 200_000, "_" * 200_000, "FINDINGS: " * 20_000, "(Over)\n" * 20_000,
        " FINDINGS:\n" + "x\n\n" * 50_000,
    ],
)  # fmt: skip
def test_long_texts_take_linear_time(text: str) -> None:
    # Quadratic time would be minutes; the suite's time
    # limit would stop it.
    assert isinstance(read_report(text), LeftOut)


def test_kinds_of_descriptions() -> None:
    kinds = {
        description: Kind(*kind) for description, kind in cases("mimic_report", "kinds")
    }
    for description, kind in kinds.items():
        assert kind_of(description) == kind
    for description, reason in cases("mimic_report", "none"):
        assert kind_of(description) is LeftOut(reason)
    assert {kind.modality for kind in kinds.values()} == set(MODALITIES)
    assert {kind.anatomy for kind in kinds.values()} == set(ANATOMIES)
    assert len(ANATOMIES) == 7  # paper, appendix on the experiments
    assert len(set(TRAIN_KINDS)) == 6  # paper, appendix on the evaluated methods
    assert set(TRAIN_KINDS) <= set(
        itertools.starmap(Kind, itertools.product(MODALITIES, ANATOMIES))
    )


@given(
    st.permutations(["CT", "HEAD", "W/O", "CONTRAST", "PORT"]),
    st.sampled_from([" ", "/", ", ", " - "]),
)
def test_the_kind_does_not_depend_on_the_order_of_words(
    words: list[str], separator: str
) -> None:
    assert kind_of(separator.join(words)) == Kind("CT", "head")


@given(st.text(max_size=60))
def test_any_description_has_a_kind_or_a_reason(description: str) -> None:
    kind = kind_of(description)
    assert isinstance(kind, LeftOut) or (
        kind.modality in MODALITIES and kind.anatomy in ANATOMIES
    )


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("", ""),
        (" \n\n ", ""),
        ("  There is a\n hematoma.\n", "There is a hematoma."),
        ("One.\n\n\n Two.", "One.\n\nTwo."),
        (
            " 1. Bleed of the\n    left side.\n 2. No fracture.",
            "1. Bleed of the left side.\n2. No fracture.",
        ),
        ("1. Bleed.\n\n2. No fracture.", "1. Bleed.\n\n2. No fracture."),
        ("- a bleed\n- no fracture", "- a bleed\n- no fracture"),
        ("measures up to\n 3. It is new.", "measures up to 3. It is new."),
        ("measures 3.5 x\n 2.1 cm.", "measures 3.5 x 2.1 cm."),
        ("CT CHEST:\n\n Clear lungs.", "CT CHEST: Clear lungs."),
        ("Findings:\n\n 1. A bleed.", "Findings:\n\n1. A bleed."),
        # A page may end in the middle of a sentence or after one.
        ("The left\n\n kidney is small.", "The left kidney is small."),
        ("The left\n\n Kidney is small.", "The left\n\nKidney is small."),
        ("It is small.\n\n left as it was.", "It is small.\n\nleft as it was."),
    ],
)
def test_lines_are_joined(text: str, joined: str) -> None:
    assert joined_lines(text) == joined


@pytest.mark.parametrize(
    ("findings", "sentences"), cases("mimic_report", "test_sentences_of_findings")
)
def test_sentences_of_findings(findings: str, sentences: list[str]) -> None:
    assert report_sentences(findings) == sentences


@given(st.text(st.sampled_from(list("ab1. \n-:A)")), max_size=60))
def test_joined_lines_and_sentences_keep_every_word(text: str) -> None:
    joined = joined_lines(text)
    assert joined.split() == text.split()
    assert joined_lines(joined).split() == joined.split()
    sentences = report_sentences(joined)
    assert " ".join(sentences).split() == text.split()
    assert all(
        sentence == " ".join(sentence.split()) and sentence for sentence in sentences
    )


def test_the_twin_has_words_for_every_examination() -> None:
    words = twin_words()
    examinations = words["examinations"]
    assert {
        Kind(examination.modality, examination.anatomy) for examination in examinations
    } == {kind_of(examination.description) for examination in examinations}
    assert len(examinations) == 16
    assert (
        set(words["seen"])
        == set(words["normal"])
        == {examination.anatomy for examination in examinations}
    )
