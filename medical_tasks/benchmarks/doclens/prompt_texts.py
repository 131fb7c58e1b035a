"""The texts of our own prompts, one set a form; `prompts` puts them together.

Written from the protocol's facts (paper, sections 4 and A.4): numbered turns or sentences are given; a note has four sections, a
question is put into one of at most 15 words; each sentence cites at least one number and at most ten, written `[1][2]`. The
headings asked for are such that our own division finds them (`sections.heading_section`), which a test checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.doclens.sections import EMPTY

__all__ = ["ALONE", "AMONG", "ASKED", "HEADINGS", "LABELLED", "SECTION_TASKS", "TEXTS", "Texts"]


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is said in one form.

    Attributes:
        given: what stands below, and how it is numbered.
        task: what to write; in form `section` `SECTION_TASKS` goes on with it.
        citing: how to cite.
        source: label of what is given.
        answer: label of what is wanted.
    """

    given: str
    task: str
    citing: str
    source: str
    answer: str


HEADINGS: Final[Mapping[str, tuple[str, str]]] = {
    "subjective": (
        "HISTORY OF PRESENT ILLNESS",
        "why the patient came and what the patient tells: complaints, illnesses, operations, family, habits, allergies, "
        "medications. CHIEF COMPLAINT may stand above it, and parts such as REVIEW OF SYSTEMS or SOCIAL HISTORY below it, with "
        "those words for headings",
    ),
    "objective_exam": ("PHYSICAL EXAM", "what the doctor found on examining the patient"),
    "objective_results": ("RESULTS", "what laboratory tests, imaging and other studies have shown"),
    "assessment_and_plan": (
        "ASSESSMENT AND PLAN",
        "every problem with the doctor's view of it and with what is to be done: treatment, tests, referrals, follow-up",
    ),
}
"""Section to its heading and what it holds."""

_DIALOGUE: Final = (
    "Below is what a doctor and a patient said at a visit, one turn after the other. A turn begins with its number and with who "
    "speaks, like this: [0][doctor]"
)

_CITING: Final = (
    "Say in every sentence which {units} it rests on: behind its last word, before the full stop, their numbers, each in square "
    "brackets of its own, like this: [3][4]. Give all the {units} that the sentence needs and no others; at least one, at most "
    "ten. An item of a list is a sentence; a heading is none."
)

TEXTS: Final[Mapping[str, Texts]] = {
    "note": Texts(
        given=_DIALOGUE,
        task=(
            "Write the doctor's note of this visit. A heading stands alone on its line, in capitals. The sections are, in this "
            "order:\n\n"
            + "\n".join(f"- {heading}: {holds}." for heading, holds in HEADINGS.values())
            + "\n\nA section that nothing was said about is left out, heading and all. Take everything from the dialogue; add "
            "nothing of your own."
        ),
        citing=_CITING.format(units="turns"),
        source="Dialogue",
        answer="Note",
    ),
    "section": Texts(
        given=_DIALOGUE,
        task="Write one section of the doctor's note of this visit, and none of the others.",
        citing=_CITING.format(units="turns"),
        source="Dialogue",
        answer="Section",
    ),
    "impression": Texts(
        given="Below are the findings of a radiology report, in sentences with a number before each, like this: [0]",
        task=(
            "Write the report's impression: in a few short sentences, what the colleague who ordered the study has to know, the "
            "most important first. Take everything from the findings; add nothing of your own."
        ),
        citing=_CITING.format(units="sentences"),
        source="Findings",
        answer="Impression",
    ),
    "question": Texts(
        given=(
            "Below is what somebody wrote to a medical library, in sentences with a number before each, like this: [0]"
        ),
        task=(
            "Put into one question, in 15 words or fewer, what this person wants to know. Whoever answers the short question "
            "must have answered the long one."
        ),
        citing=(
            "Say which sentences it rests on: behind its last word, before the question mark, their numbers, each in square "
            "brackets of its own, like this: [3][4]. Give all the sentences that it needs and no others; at least one, at most "
            "ten."
        ),
        source="Message",
        answer="Question",
    ),
    "text": Texts(
        given="Below is a medical text, in sentences with a number before each, like this: [0]",
        task=(
            "Write a summary of it: everything that matters for the patient's care, and nothing beside it. Take everything from "
            "the text; add nothing of your own."
        ),
        citing=_CITING.format(units="sentences"),
        source="Text",
        answer="Summary",
    ),
}

SECTION_TASKS: Final[Mapping[str, str]] = {
    section: (
        f"It is the section {heading}: {holds}. Begin with its heading, in capitals on a line of its own. Take everything from "
        f"the dialogue; add nothing of your own. If nothing was said about it, reply with {EMPTY} alone."
    )
    for section, (heading, holds) in HEADINGS.items()
}

ALONE: Final = "Here is one done already."

AMONG: Final = "Here are {count} done already."

ASKED: Final = "Now do this one."

LABELLED: Final = "{source}:\n{given}\n\n{answer}:"
