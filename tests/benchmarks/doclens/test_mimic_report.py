"""What a radiology report is of, its sections, and its lines joined."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
from medical_tasks.benchmarks.doclens.mimic_twin import twin_notes

SEEN = "There is a left subdural hematoma that measures 9 mm in thickness."
MEANS = "Left subdural hematoma."
RULE = " " + "_" * 78

ORDER = f"""[**2111-5-6**] 7:59 PM
 CT HEAD W/O CONTRAST                              Clip # [**Clip Number (Radiology) 12345**]
 Reason: eval for bleed. FINDINGS: none yet
{RULE}"""

WHOLE = f"""{ORDER}
 MEDICAL CONDITION:
  72 year old man with a fall
 No contraindications for IV contrast
{RULE}
 PROVISIONAL FINDINGS IMPRESSION (PFI): XXa SUN [**2111-5-6**] 9:00 PM
  Nothing acute, said the resident.
{RULE}
                                 FINAL REPORT
 INDICATION:  72-year-old man with a fall.

 COMPARISON:  None. TECHNIQUE: Axial images without contrast.

 FINDINGS:  There is a left subdural hematoma that
 measures approx.
 9 mm. Dr. [**Last Name (un) 12**] was told. The right
                                                             (Over)

{ORDER}
                                 FINAL REPORT
 (Cont)
 side is normal.

 CT CHEST:

 The lungs are clear.

 IMPRESSION:
 1. Left subdural
    hematoma.
 2. Discussed with
 Dr. [**Last Name (un) 12**] at 5 p.m.


                            DR. [**First Name11 (Name Pattern1) **]
                         DR. [**First Name8 (NamePattern2) **]            Approved: MON [**2111-5-7**] 8:00 AM
{RULE}
                                 PFI REPORT
 IMPRESSION: Nothing acute.
"""


def report(findings: str = SEEN, impression: str = MEANS) -> str:
    return f"{ORDER}\n FINAL REPORT\n FINDINGS: {findings}\n\n IMPRESSION: {impression}\n"


def test_a_whole_note() -> None:
    assert read_report(WHOLE) == Report(
        findings="There is a left subdural hematoma that measures approx. 9 mm. Dr. [**Last Name (un) 12**] was told. The right "
        "side is normal.\n\nCT CHEST: The lungs are clear.",
        impression="1. Left subdural hematoma.\n2. Discussed with Dr. [**Last Name (un) 12**] at 5 p.m.",
    )


def test_line_ends_of_another_system() -> None:
    assert read_report(WHOLE.replace("\n", "\r\n")) == read_report(WHOLE)


@pytest.mark.parametrize(
    "text",
    [
        report(),
        f"FINDINGS:\n{SEEN}\nIMPRESSION:\n{MEANS}",
        f"FINDINGS\n\n{SEEN}\n\nIMPRESSION\n\n{MEANS}",
        f"Findings: {SEEN}\nImpression: {MEANS}",
        f"CT HEAD FINDINGS: {SEEN}\nFINAL IMPRESSION: {MEANS}",
        f"FINDING: {SEEN}\nCONCLUSION: {MEANS}",
        f"FINDINGS - {SEEN}\nIMPRESSION - {MEANS}",
        f"COMPARISON: None. FINDINGS: {SEEN}  IMPRESSION: {MEANS}",
        f"IMPRESSION: {MEANS}\n\nFINDINGS: {SEEN}",
        f"FINDINGS: {SEEN}\nIMPRESSION: {MEANS}\nRECOMMENDATION: Repeat tomorrow.",
        f"FINDINGS: {SEEN}\nIMPRESSION: {MEANS}\nADDENDUM: This is a second look.",
        f"FINDINGS: {SEEN}\nNOTIFICATION: Told by phone.\nIMPRESSION: {MEANS}",
        f"FINDINGS: {SEEN}\nIMPRESSION: {MEANS}\n            DR. [**Last Name**]",
        f"FINDINGS: {SEEN}\nIMPRESSION: {MEANS}\n{RULE}\nIMPRESSION: Another.",
        f"{RULE}\nFINDINGS: {SEEN}\nIMPRESSION: {MEANS}",
        f"FINDINGS:\nIMPRESSION:\n{RULE}\n REVISED REPORT\nFINDINGS: {SEEN}\nIMPRESSION: {MEANS}",
    ],
)
def test_layouts(text: str) -> None:
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


CASES = st.sampled_from((str.upper, str.lower, str.title, str.capitalize))
MARKS = st.sampled_from((":", " :", "  :", " - ", " -- ", "\n"))


@settings(deadline=None, max_examples=100)
@given(CASES, CASES, MARKS, st.sampled_from(("\n\n", "\n", " ", "\n  ")), st.sampled_from((" ", "\n ")))
def test_headings_in_any_case(
    first: Callable[[str], str], second: Callable[[str], str], mark: str, between: str, behind: str
) -> None:
    between = between if ":" in mark else f"\n{between}"  # behind a sentence on its line a heading has a colon
    text = (
        f" FINAL REPORT\n COMPARISON: None.{between}{first('findings')}{mark}{behind}{SEEN}"
        f"{between}{second('impression')}{mark}{behind}{MEANS}\n"
    )
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


@pytest.mark.parametrize(
    ("findings", "impression"),
    [
        ("NON-CONTRAST HEAD CT FINDINGS", "IMPRESSION AND RECOMMENDATIONS"),
        ("CT OF THE CHEST WITH IV CONTRAST FINDINGS", "IMPRESSION/PLAN"),
        ("MRA Neck findings", "Overall impression"),
    ],
)
def test_headings_of_several_words(findings: str, impression: str) -> None:
    text = f" FINAL REPORT\n HISTORY: Fall.\n\n {findings}: {SEEN}\n\n {impression}: {MEANS}\n"
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


READINGS = (
    "WET READ", "WET READING", "WETREAD", "PFI", "PFI REPORT", "PROVISIONAL FINDINGS IMPRESSION (PFI)",
    "PRELIMINARY REPORT", "PRELIM READ", "RESIDENT WET READ", "ADDENDUM", "SECOND ADDENDUM",
    "NOTE ADDED AT ATTENDING REVIEW",
)  # fmt: skip
VERSIONS = (
    ": {}", " VERSION #1 XXa SUN [**2111-5-6**] 9:00 PM\n {}", " version #2 by XXa\n {}", " #3\n {}",
    " by XXa on [**2111-5-6**] at 9:00 PM.\n {}", " -- {}", "\n {}", ":\n FINDINGS: {}\n IMPRESSION: {}",
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(READINGS),
    st.sampled_from(VERSIONS),
    CASES,
    st.sampled_from(("\n", "\n\n", "\n \n   ", "\n *** ", "\n [")),
)
def test_another_reading_behind_the_report_is_no_part_of_it(
    name: str, version: str, case: Callable[[str], str], between: str
) -> None:
    said = "Nothing acute that was seen here by whoever looked at all of this first."
    text = f"{report()[:-1]}{between}{case(name)}{version.format(said, said)}\n"
    assert read_report(text) == Report(findings=SEEN, impression=MEANS)


@pytest.mark.parametrize(
    "prose",
    [
        "The\n wet read was given by phone.",
        "This agrees with the\n preliminary report.",
        "See\n addendum.",
        "2. Findings: as before.",
    ],
)
def test_prose_about_another_reading_stays(prose: str) -> None:
    found = read_report(report(impression=f"{MEANS} {prose}"))
    assert isinstance(found, Report)
    assert found.impression.split() == f"{MEANS} {prose}".split()


@pytest.mark.parametrize(
    "examined",
    [
        "CHEST, PA AND LATERAL", "PORTABLE AP CHEST", "CT HEAD WITHOUT CONTRAST",
        "CT OF THE ABDOMEN W/O IV CONTRAST", "CTA CHEST WITH CONTRAST (PE PROTOCOL)", "MRA OF THE CIRCLE OF WILLIS",
        "CT C-SPINE, SAGITTAL REFORMATS, [**2111-5-6**]", "Head CT without contrast",
    ],
)  # fmt: skip
def test_findings_under_what_was_examined(examined: str) -> None:
    """Where no heading says findings, as the parser of MEDIQA 2021 (task 3) takes them; else the heading is a title."""
    alone = f" FINAL REPORT\n HISTORY: Fall.\n\n {examined}: {SEEN}\n\n IMPRESSION: {MEANS}\n"
    assert read_report(alone) == Report(findings=SEEN, impression=MEANS)
    title = f" FINAL REPORT\n {examined}:\n\n HISTORY: Fall.\n FINDINGS: {SEEN}\n IMPRESSION: {MEANS}\n"
    assert read_report(title) == Report(findings=SEEN, impression=MEANS)
    two = alone.replace("IMPRESSION", "CT PELVIS: The bladder is normal.\n\n IMPRESSION")
    assert read_report(two) == Report(
        findings=f"{examined}: {SEEN}\n\nCT PELVIS: The bladder is normal.", impression=MEANS
    )
    empty = alone.replace(SEEN, "")
    assert read_report(empty) is LeftOut.NO_FINDINGS


@pytest.mark.parametrize(
    "heading", ["COMPARISON CT HEAD", "INDICATION FOR CT CHEST", "PRIOR MRI", "Compared with the head CT", "LABS"]
)
def test_no_examination(heading: str) -> None:
    assert read_report(f" FINAL REPORT\n {heading}: {SEEN}\n\n IMPRESSION: {MEANS}\n") is LeftOut.NO_FINDINGS


def test_several_findings_are_joined_and_prose_is_no_heading() -> None:
    text = f"HEAD FINDINGS: {SEEN}\nIncidental\nfindings: a cyst. History of stroke.\nNECK FINDINGS: Clear.\nIMPRESSION: {MEANS}"
    assert read_report(text) == Report(
        findings=f"{SEEN} Incidental findings: a cyst. History of stroke.\n\nClear.", impression=MEANS
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", LeftOut.NO_FINDINGS),
        (" \n ", LeftOut.NO_FINDINGS),
        (f"{SEEN}\nIMPRESSION: {MEANS}", LeftOut.NO_FINDINGS),
        (f"FINDINGS:\n\nIMPRESSION: {MEANS}", LeftOut.NO_FINDINGS),
        (f"FINDINGS: {SEEN}", LeftOut.NO_IMPRESSION),
        (f"FINDINGS: {SEEN}\nIMPRESSION:\n", LeftOut.NO_IMPRESSION),
        (f"FINDINGS/IMPRESSION: {SEEN}", LeftOut.ONE_SECTION),
        (f"IMPRESSION AND FINDINGS: {SEEN}", LeftOut.ONE_SECTION),
        (f"FINDINGS: {SEEN}\nIMPRESSION: {MEANS}\nIMPRESSION: {MEANS}", LeftOut.SEVERAL_IMPRESSIONS),
        (report(findings="There is a small left subdural hematoma. No fracture."), LeftOut.SHORT_FINDINGS),
        (report(impression="Normal."), LeftOut.SHORT_IMPRESSION),
        (report(impression="1."), LeftOut.SHORT_IMPRESSION),
        (report(impression="[** **] 2"), LeftOut.SHORT_IMPRESSION),
        (report(impression="As above."), LeftOut.POINTING_IMPRESSION),
        (report(impression="1. Please see above report."), LeftOut.POINTING_IMPRESSION),
        (report(impression="Findings as described\n above."), LeftOut.POINTING_IMPRESSION),
        (report(impression="See body of the report for full details."), LeftOut.POINTING_IMPRESSION),
    ],
)
def test_left_out(text: str, reason: LeftOut) -> None:
    assert read_report(text) is reason


@pytest.mark.parametrize(
    "impression", ["No change.", "Normal study.", "As above, with a new infarct.", "See above: stroke."]
)
def test_short_and_useful(impression: str) -> None:
    assert read_report(report(impression=impression)) == Report(findings=SEEN, impression=impression)


def test_the_reports_of_a_twin() -> None:
    kept = 0
    for note in twin_notes(seed=3, notes=300, ct_mr=0.9):
        found = read_report(note.cells["TEXT"])
        if note.sentences:
            assert isinstance(found, Report)
            assert " ".join(found.findings.split()) == " ".join(note.sentences)
            assert " ".join(found.impression.split()) == note.impression
            kept += 1
    assert kept > 150


PIECES = (
    "FINDINGS:", "IMPRESSION:", "CONCLUSION", "FINAL REPORT", RULE, "(Over)", "(Cont)", "COMPARISON:", "1.", "\n",
    "\n\n",
)  # fmt: skip


@settings(deadline=None, max_examples=120)
@example(["FINAL REPORT", "IMPRESSION:", "FINAL REPORT", "FINDINGS:", SEEN], "\n")
@given(st.lists(st.sampled_from((*PIECES, SEEN, MEANS)), max_size=25), st.sampled_from(("\n", " ")))
def test_no_word_is_made_up_or_doubled(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    found = read_report(text)
    if isinstance(found, Report):
        words = Counter(text.split())
        used = Counter(f"{found.findings} {found.impression}".split())
        assert used <= words
        assert not {"FINDINGS:", "IMPRESSION:", "(Over)"} & set(used) or between == " "
        assert "FINAL" not in used or between == " "


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 200_000, " " * 200_000, "_" * 200_000, "FINDINGS: " * 20_000, "(Over)\n" * 20_000,
        " FINDINGS:\n" + "x\n\n" * 50_000,
    ],
)  # fmt: skip
def test_long_texts_are_no_trap(text: str) -> None:
    # Time that grows with the square of the length would take minutes: the suite's time limit ends it.
    assert isinstance(read_report(text), LeftOut)


KINDS = {
    "CT HEAD W/O CONTRAST": ("CT", "head"),
    "P CT HEAD W/O CONTRAST PORT": ("CT", "head"),
    "CTA HEAD W&W/O C & RECONS": ("CT", "head"),
    "CT BRAIN PERFUSION": ("CT", "head"),
    "CT ORBIT, SELLA & IAC W/ CONTRAST": ("CT", "head"),
    "CT ABDOMEN W/CONTRAST": ("CT", "abdomen"),
    "CT ABDOMEN W/O CONTRAST": ("CT", "abdomen"),
    "CT ABD & PELVIS W/O CONTRAST": ("CT", "abdomen"),
    "CT ABDOMEN/PELVIS": ("CT", "abdomen"),
    "CTA ABD W&W/O C & RECONS": ("CT", "abdomen"),
    "CT UROGRAM": ("CT", "abdomen"),
    "CT PELVIS W/CONTRAST": ("CT", "pelvis"),
    "CT CHEST W/CONTRAST": ("CT", "chest"),
    "CT CHEST HIGH RESOLUTION": ("CT", "chest"),
    "CTA CHEST W&W/O C&RECONS, NON-CORONARY": ("CT", "chest"),
    "CHEST CTA WITH CONTRAST": ("CT", "chest"),
    "CT C-SPINE W/O CONTRAST": ("CT", "spine"),
    "CT T-SPINE W/O CONTRAST": ("CT", "spine"),
    "CT L-SPINE W/ CONTRAST": ("CT", "spine"),
    "CT SINUS/MANDIBLE/MAXILLOFACIAL W/O CONTRAST": ("CT", "sinus"),
    "CT NECK W/CONTRAST (EG:PAROTIDS)": ("CT", "neck"),
    "CTA NECK W&W/OC & RECONS": ("CT", "neck"),
    "MR HEAD W & W/O CONTRAST": ("MR", "head"),
    "MR HEAD W/O CONTRAST": ("MR", "head"),
    "MRA BRAIN W/O CONTRAST": ("MR", "head"),
    "MRV HEAD W/O CONTRAST (VENOUS SINUSES)": ("MR", "head"),
    "MR CERVICAL SPINE W/O CONTRAST": ("MR", "spine"),
    "MR L SPINE SCAN": ("MR", "spine"),
    "MR THORACIC SPINE W & W/O CONTRAST": ("MR", "spine"),
    "MRA NECK W&W/O CONTRAST": ("MR", "neck"),
    "MRCP (MR ABD W&W/OC)": ("MR", "abdomen"),
    "MRI ABDOMEN W/O & W/CONTRAST": ("MR", "abdomen"),
    "MR PELVIS W&W/O CONTRAST": ("MR", "pelvis"),
    "ct head w/o contrast ": ("CT", "head"),
}
NONE = {
    "CHEST (PORTABLE AP)": LeftOut.OTHER_MODALITY,
    "CHEST (PRE-OP PA & LAT)": LeftOut.OTHER_MODALITY,
    "ABDOMEN U.S. (COMPLETE STUDY)": LeftOut.OTHER_MODALITY,
    "BILAT LOWER EXT VEINS": LeftOut.OTHER_MODALITY,
    "-59 DISTINCT PROCEDURAL SERVICE": LeftOut.OTHER_MODALITY,
    "": LeftOut.OTHER_MODALITY,
    "PET/CT AND MR HEAD": LeftOut.SEVERAL_MODALITIES,
    "CT GUIDED NEEDLE PLACTMENT": LeftOut.PROCEDURE,
    "CT GUIDANCE DRAINAGE ABDOMEN": LeftOut.PROCEDURE,
    "CT LOW EXT W/O C RIGHT": LeftOut.OTHER_ANATOMY,
    "MR KNEE W/O CONTRAST": LeftOut.OTHER_ANATOMY,
    "MR CARDIAC MORPH & FUNC": LeftOut.OTHER_ANATOMY,
    "CT 150CC NONIONIC CONTRAST": LeftOut.OTHER_ANATOMY,
    "CT TORSO W/CONTRAST": LeftOut.OTHER_ANATOMY,
    "CTA THORACIC AORTA": LeftOut.OTHER_ANATOMY,
    "CTA HEAD AND NECK": LeftOut.SEVERAL_ANATOMIES,
    "CT HEAD & C-SPINE": LeftOut.SEVERAL_ANATOMIES,
    "CT CHEST/ABD/PELVIS": LeftOut.SEVERAL_ANATOMIES,
    "CTA ABD & PELVIS, AORTA RUNOFF": LeftOut.SEVERAL_ANATOMIES,
    "CT PELVIS AND HIP": LeftOut.SEVERAL_ANATOMIES,
}


@pytest.mark.parametrize(("description", "kind"), KINDS.items())
def test_kinds(description: str, kind: tuple[str, str]) -> None:
    assert kind_of(description) == Kind(*kind)


@pytest.mark.parametrize(("description", "reason"), NONE.items())
def test_descriptions_without_a_kind(description: str, reason: LeftOut) -> None:
    assert kind_of(description) is reason


def test_the_table_of_tests_has_every_modality_and_anatomy() -> None:
    assert {modality for modality, _ in KINDS.values()} == set(MODALITIES)
    assert {anatomy for _, anatomy in KINDS.values()} == set(ANATOMIES)
    assert len(ANATOMIES) == 7  # paper, appendix on the experiments
    assert len(set(TRAIN_KINDS)) == 6  # paper, appendix on the evaluated methods
    assert set(TRAIN_KINDS) <= set(itertools.starmap(Kind, itertools.product(MODALITIES, ANATOMIES)))


@settings(deadline=None, max_examples=150)
@given(st.permutations(["CT", "HEAD", "W/O", "CONTRAST", "PORT"]), st.sampled_from([" ", "/", ", ", " - "]))
def test_the_order_of_words_does_not_count(words: list[str], between: str) -> None:
    assert kind_of(between.join(words)) == Kind("CT", "head")


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=60))
def test_any_text(description: str) -> None:
    found = kind_of(description)
    assert isinstance(found, LeftOut) or (found.modality in MODALITIES and found.anatomy in ANATOMIES)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("", ""),
        (" \n\n ", ""),
        ("  There is a\n hematoma.\n", "There is a hematoma."),
        ("One.\n\n\n Two.", "One.\n\nTwo."),
        (" 1. Bleed of the\n    left side.\n 2. No fracture.", "1. Bleed of the left side.\n2. No fracture."),
        ("1. Bleed.\n\n2. No fracture.", "1. Bleed.\n\n2. No fracture."),
        ("- a bleed\n- no fracture", "- a bleed\n- no fracture"),
        ("measures up to\n 3. It is new.", "measures up to 3. It is new."),
        ("measures 3.5 x\n 2.1 cm.", "measures 3.5 x 2.1 cm."),
        ("CT CHEST:\n\n Clear lungs.", "CT CHEST: Clear lungs."),
        ("Findings:\n\n 1. A bleed.", "Findings:\n\n1. A bleed."),
        # The end of a page amid a sentence, and behind one.
        ("The left\n\n kidney is small.", "The left kidney is small."),
        ("The left\n\n Kidney is small.", "The left\n\nKidney is small."),
        ("It is small.\n\n left as it was.", "It is small.\n\nleft as it was."),
    ],
)
def test_cases(text: str, joined: str) -> None:
    assert joined_lines(text) == joined


@pytest.mark.parametrize(
    ("findings", "sentences"),
    [
        ("", []),
        ("Clear lungs", ["Clear lungs"]),
        ("It is approx. 3.5 cm. Dr. [**Name (un) 1**] knows.", ["It is approx. 3.5 cm.", "Dr. [**Name (un) 1**] knows."]),
        ("Seen on [**2151-3-2**]. No change vs. before.", ["Seen on [**2151-3-2**].", "No change vs. before."]),
        ("CHEST: Clear.\n\nNo fracture", ["CHEST: Clear.", "No fracture"]),
        ("1. A bleed.\n2. No fracture.", ["1. A bleed.", "2. No fracture."]),
    ],
)  # fmt: skip
def test_sentences(findings: str, sentences: list[str]) -> None:
    assert report_sentences(findings) == sentences


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from(list("ab1. \n-:A)")), max_size=60))
def test_laws(text: str) -> None:
    joined = joined_lines(text)
    assert joined.split() == text.split()
    assert joined_lines(joined).split() == joined.split()
    sentences = report_sentences(joined)
    assert " ".join(sentences).split() == text.split()
    assert all(each == " ".join(each.split()) and each for each in sentences)
