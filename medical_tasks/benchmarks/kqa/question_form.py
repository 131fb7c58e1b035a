"""The form of a patient's question, as the paper's figure 4 divides them: yes-or-no, open, or neither."""

from __future__ import annotations

import re

__all__ = ["FORMS", "question_form"]

FORMS = ("yes or no", "open", "other")

_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?")
_OPENERS = frozenset(
    "so and but or also ok okay oh alright well then now hi hello wait sorry question lets just".split()
)
_YES_OR_NO = frozenset(
    "is are am was were isnt arent do does did doe dont doesnt didnt have has had havent hasnt can could cant couldnt will "
    "would wont wouldnt should shouldnt shall may might must".split()
)
_OPEN = frozenset("what whats which who whos whom whose when whens where wheres why whys how hows".split())


def question_form(question: str) -> str:
    """Says whether a question asks for a yes or no, or begins with a question word.

    Only the first word counts, after words that merely open a turn ("Ok so", "Also"): what patients write has too little
    punctuation to look for the question within it.

    Args:
        question: the question.

    Returns:
        One of `FORMS`.
    """
    for match in _WORD.finditer(question.lower()):
        word = match[0].replace("'", "").replace("’", "")
        if word in _OPENERS:
            continue
        if word in _YES_OR_NO:
            return FORMS[0]
        return FORMS[1] if word in _OPEN else FORMS[2]
    return FORMS[2]
