"""The three worked examples of `kqa_icl` and `kqa_icl_rag`, our own.

Their form is the paper's (appendix D.3): a question, an answer that is good but lacks something, and what a better one adds.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXEMPLARS", "Exemplar"]


@dataclass(frozen=True, kw_only=True)
class Exemplar:
    """A worked example.

    Attributes:
        question: what a patient asked.
        answer: a correct answer that leaves something out.
        better: what it leaves out.
    """

    question: str
    answer: str
    better: str


EXEMPLARS: tuple[Exemplar, ...] = (
    Exemplar(
        question="can I use naproxen for my knee pain",
        answer=(
            "Yes, naproxen eases pain and inflammation. Take the lowest dose that helps, with food, and for the shortest time "
            "possible."
        ),
        better=(
            "The answer is right but does not say for whom naproxen is unsafe. A better one adds that people with a stomach "
            "ulcer, kidney disease or heart failure should avoid it, that it must not be combined with ibuprofen or taken "
            "with blood thinners without asking a doctor, and that it is to be avoided from week 20 of a pregnancy."
        ),
    ),
    Exemplar(
        question="Do I need a doctor for pink eye or will it go away?",
        answer="Pink eye from a virus clears up without treatment in one to two weeks. Cool compresses ease the itching.",
        better=(
            "The answer takes for granted that a virus is the cause. A better one explains that bacteria and allergies cause "
            "pink eye too, that bacterial pink eye may need antibiotic drops, that it spreads by hands and towels, and that "
            "pain, sensitivity to light, worse vision, contact lenses or a newborn are reasons to be seen at once."
        ),
    ),
    Exemplar(
        question="so the numbness in my hand at night is carpal tunnel right?",
        answer=(
            "It may well be. Carpal tunnel syndrome often causes numbness of the thumb and the first fingers at night, and a "
            "wrist splint helps many people."
        ),
        better=(
            "The answer settles on one cause. A better one names others, such as a pinched nerve at the elbow or the neck, "
            "diabetes, a lack of vitamin B12 or an underactive thyroid, says that pregnancy makes it more likely, and that "
            "sudden numbness of one side with weakness or trouble speaking is an emergency."
        ),
    ),
)
