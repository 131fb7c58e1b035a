"""The `demo` configuration of MeQSum: synthetic questions with summaries, written for this package; nobody sent them.

Their shapes are those of the release: subject and message, one sentence and many, greetings, letters instead of words.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DemoQuestion", "demo_questions"]


@dataclass(frozen=True, kw_only=True)
class DemoQuestion:
    """One synthetic question.

    Attributes:
        id: of the question.
        split: `train`, `validation` or `test`.
        question: as somebody would send it.
        summary: the same in one sentence.
        focus: what it is about; only in `validation`.
        types: what is asked, with semicolons between several; only there.
    """

    id: str
    split: str
    question: str
    summary: str
    focus: str = ""
    types: str = ""


_QUESTIONS = (
    DemoQuestion(
        id="demo-1.txt",
        split="train",
        question="SUBJECT: gout and diet\nMESSAGE: My husband (54) was told that he has gout. Nobody said a word about food. "
        "What should he eat, and what not? Thank you.",
        summary="What diet is recommended for gout?",
    ),
    DemoQuestion(
        id="demo-2.txt",
        split="train",
        question="who makes a thicker for drinks that has no starch in it\nmy aunt cannot swallow well since her stroke and "
        "starch makes her bloated.",
        summary="Which thickeners for drinks contain no starch?",
    ),
    DemoQuestion(
        id="1",
        split="validation",
        question="Hello, I have had ringing in my left ear for two months. My doctor says the hearing test is fine. I work in "
        "a print shop. Is there anything that makes it stop? Best regards",
        summary="What are the treatments for tinnitus?",
        focus="tinnitus",
        types="Treatment",
    ),
    DemoQuestion(
        id="2",
        split="validation",
        question="I take warfarin. Can I drink cranberry juice with it? And does it matter if I have green tea in the evening?",
        summary="Does warfarin interact with cranberry juice or green tea?",
        focus="warfarin",
        types="Interaction",
    ),
    DemoQuestion(
        id="3",
        split="validation",
        question="Our son is 9 and was just found to have celiac disease. How is it passed on? Should his two sisters be "
        "tested, too? They have no symptoms at all...",
        summary="Is celiac disease inherited, and should siblings be tested?",
        focus="celiac disease",
        types="Inheritance; Diagnosis",
    ),
    DemoQuestion(
        id="4",
        split="test",
        question="I fell off my bike 3 weeks ago and broke my collarbone. The sling is a pain. How long until it heals? I am "
        "61 and otherwise healthy.",
        summary="How long does a broken collarbone take to heal?",
    ),
    DemoQuestion(
        id="5",
        split="test",
        question="is it safe to get the shingles vaccine while taking 5 mg of prednisone a day",
        summary="Is the shingles vaccine safe while taking prednisone?",
    ),
    DemoQuestion(
        id="6",
        split="test",
        question="SUBJECT: Restless legs. MESSAGE: Every night the same!!! As soon as I lie down my legs want to walk. I "
        "have tried magnesium, stretching and cold showers. My sister has it as well. Dr. Moll has no time for me. Which "
        "medicines help? I would be so grateful for an answer.",
        summary="What medicines help with restless legs syndrome?",
    ),
    DemoQuestion(
        id="7",
        split="test",
        question="My baby is four weeks old and has yellow eyes. She drinks well. The nurse told us to put her at the window. "
        "Is jaundice at this age dangerous? When must we go to a hospital?",
        summary="Is jaundice dangerous in a four-week-old baby, and when does it need care in a hospital?",
    ),
    DemoQuestion(
        id="8",
        split="test",
        question="I had a kidney stone in 2019. it was calcium oxalate. Do I have to give up spinach and nuts for good? "
        "Some say yes, some say it is only about drinking water.",
        summary="Should people who had calcium oxalate kidney stones avoid spinach and nuts?",
    ),
    DemoQuestion(
        id="9",
        split="test",
        question="Dear all, my mother lives alone and forgets her pills. she takes donepezil since May and has bad dreams now. "
        "could the dreams be from the pill? can she take it in the morning? kind regards",
        summary="Can donepezil cause nightmares, and can it be taken in the morning?",
    ),
    DemoQuestion(
        id="10",
        split="test",
        question="Where can I find a center that does cochlear implants for adults? I live in a small town, and the next ENT "
        "doctor is two hours away.",
        summary="Where can I find a center for cochlear implants in adults?",
    ),
)


def demo_questions(split: str) -> list[DemoQuestion]:
    """Returns the questions of a split, in order.

    Args:
        split: `train`, `validation` or `test`.

    Returns:
        Its questions.
    """
    return [entry for entry in _QUESTIONS if entry.split == split]
