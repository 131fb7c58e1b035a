"""The texts of our own prompts; `prompts` and `protocol` put them together.

Written from the protocol's facts (paper, Validation and figure 2): the patient's and the clinician's question are given and the
sentences of the note with their numbers; an answer has at most 75 words, about five sentences, each on a line with the sentences
it rests on between two bars. A question for a clinician has at most 15 words (shared task of 2026).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT

__all__ = ["ANSWER", "CLINICIAN", "NOTE", "PATIENT", "QUESTION_WORDS", "SENTENCE", "TEXTS", "Texts"]

QUESTION_WORDS: Final = 15
"""Most words of a clinician's question."""


@dataclass(frozen=True, kw_only=True)
class Texts:
    """What is said for one kind of question.

    Attributes:
        given: what stands below.
        task: what to do.
        form: how to reply.
    """

    given: str
    task: str
    form: str


PATIENT: Final = "Message:\n{text}"

CLINICIAN: Final = "Clinician's question: {text}"

NOTE: Final = "Note:\n{text}"

ANSWER: Final = "Answer:\n{text}"

SENTENCE: Final = "{number}: {text}"

_GIVEN: Final = (
    "A patient, or somebody close to one, has written about a stay in hospital. Below are the message, the question that a "
    "clinician takes from it, and {note}, one sentence a line, each behind its number."
)
_EXCERPT: Final = "an excerpt of the note of that stay"
_CHOSEN: Final = (
    "some sentences of the note of that stay, chosen because they are like the questions, so that not all of "
    "them matter"
)

_ANSWERING: Final = (
    "Answer the clinician's question, and with it what the message asks, from the note and nothing else. Say what matters for "
    "the answer, in plain and neutral sentences, and leave out the rest of the note."
)
_CITING: Final = (
    "Cite for each sentence of the answer the sentences of the note that it rests on: all that it needs, and no others."
)
_LIMIT: Final = f"at most {WORD_LIMIT} words, which is about five sentences"
_LINES: Final = (
    "Each sentence stands on a line of its own and ends with the numbers of what it cites, between two bars and with commas, "
    "like this:\nHer kidneys were failing before the operation. |3,4|\nNumbers do not count as words. Reply with these lines "
    "and nothing else: no heading, no list, no marks around them."
)

TEXTS: Final[Mapping[str, Texts]] = {
    "together": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=f"{_ANSWERING} {_CITING}",
        form=f"The answer has {_LIMIT}. {_LINES}",
    ),
    "evidence_first": Texts(
        given=_GIVEN.format(note=_CHOSEN),
        task=f"{_ANSWERING} {_CITING}",
        form=f"The answer has {_LIMIT}. {_LINES}",
    ),
    "answer_first": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=_ANSWERING,
        form=(
            f"The answer has {_LIMIT}. Each sentence stands on a line of its own. Do not cite yet: no numbers of sentences. Reply "
            "with these lines and nothing else: no heading, no list, no marks around them."
        ),
    ),
    "cite": Texts(
        given=_GIVEN.format(note=_EXCERPT) + " Then comes an answer, one sentence a line.",
        task=_CITING,
        form=f"Repeat the answer as it is, word by word. {_LINES}",
    ),
    "question": Texts(
        given="A patient, or somebody close to one, has written about a stay in hospital. Below is the message.",
        task=(
            "Put into one question what a clinician would take from it and look up in the note of that stay: what has to be "
            "answered so that the message is."
        ),
        form=f"The question has at most {QUESTION_WORDS} words. Reply with it and nothing else.",
    ),
    "evidence": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=(
            "Say which sentences of the note must be used to answer the clinician's question, and with it what the message asks. "
            "Those that only add to an answer, or have no part in it, are left out."
        ),
        form="Reply with the numbers of these sentences and nothing else, on one line and with commas, like this:\n3,4,9",
    ),
    "answer": Texts(
        given=_GIVEN.format(note=_EXCERPT),
        task=_ANSWERING,
        form=f"The answer has {_LIMIT}. Do not cite. Reply with the answer and nothing else.",
    ),
    "alignment": Texts(
        given=_GIVEN.format(note=_EXCERPT)
        + " Then comes an answer, likewise one sentence a line, each behind its number.",
        task="Say for each sentence of the answer which sentences of the note it rests on: all that it needs, and no others.",
        form=(
            "Reply with a line for each sentence of the answer and nothing else: its number, a colon, and the numbers of the "
            "note's sentences with commas; nothing behind the colon where it rests on none. Like this:\n1: 3,4\n2: 9"
        ),
    ),
}
"""By `options["steps"]`, or `options["form"]` where a task has no steps; and the second step of `answer_first`."""
