"""What a model is told about a reply that cannot be taken as it is (paper, Validation: feedback specific to the errors found).

It stands below the whole question again: which try it is, the last reply, and a line for each thing that is wrong with it. The
number of the try makes every question of a case another one, so that each try is asked, and a resumed run finds each in the
store.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from medical_tasks.benchmarks.archehr_qa.draft import cited_ids, same_words, written_sentences
from medical_tasks.benchmarks.archehr_qa.parsing import EMPTY, TOO_LONG, WRONG_FORM, read_answer
from medical_tasks.benchmarks.archehr_qa.spec import WORD_LIMIT

__all__ = ["SAID", "cited_faults", "feedback_text", "uncited_faults"]

_TRY: Final = "This is try {number} of {tries}. The reply before was:"
_NOTHING: Final = "(nothing)"
_CUT: Final = " [...]"
_WRONG: Final = "What is wrong with it:"
_AGAIN: Final = "Write the whole reply again with this put right."

_EMPTY: Final = "It is empty."
_NO_CITATIONS: Final = (
    "It cites nothing. End each line with the numbers of the sentences of the note that it rests on, between two bars: "
    "|3,4|"
)
_WRONG_FORM: Final = (
    "Its form is wrong. Each sentence stands on a line of its own, and the line ends with its numbers, with commas and "
    "nothing else between two bars, like |3,4|; one such group a line, no other brackets, no ranges, nothing behind the last "
    "bar, and no marks around the answer."
)
_TOO_LONG: Final = "It is too long: it has {words} words, and at most {limit} are allowed."
_UNKNOWN_IDS: Final = "It cites numbers that no sentence given here has: {ids}."
_CHANGED: Final = "It changes the answer. Repeat the answer's sentences word by word, all of them and in their order."

SAID: Final = (
    _TRY,
    _NOTHING,
    _CUT,
    _WRONG,
    _AGAIN,
    _EMPTY,
    _NO_CITATIONS,
    _WRONG_FORM,
    _TOO_LONG,
    _UNKNOWN_IDS,
    _CHANGED,
)
"""All texts of this module, for the prompts' hash."""

_SHOWN_REPLY: Final = 1_200
_SHOWN_IDS: Final = 10
_SHOWN_ID: Final = 12


def cited_faults(reply: str, known_ids: Collection[str], *, answer: Sequence[str] | None = None) -> list[str]:
    """Finds what is wrong with an answer that cites.

    Args:
        reply: the model's text.
        known_ids: ids of the sentences it was given.
        answer: the sentences that were to be cited and not changed; their length is not held against the reply.

    Returns:
        A sentence for each fault; none where the answer is of the official form. Of an empty one only that.
    """
    read = read_answer(reply, known_ids)
    if EMPTY in read.problems:
        return [_EMPTY]
    faults = []
    if answer is not None and not same_words(written_sentences(reply, known_ids), answer):
        faults.append(_CHANGED)
    if TOO_LONG in read.problems and answer is None:
        faults.append(_TOO_LONG.format(words=read.words, limit=WORD_LIMIT))
    # As written: an answer that is too long may cite behind the words that count.
    cited = cited_ids(reply, known_ids)
    if not cited:
        faults.append(_NO_CITATIONS)
    if WRONG_FORM in read.problems:
        faults.append(_WRONG_FORM)
    if unknown := [each for each in cited if each not in known_ids]:
        faults.append(_UNKNOWN_IDS.format(ids=_listed(unknown)))
    return faults


def uncited_faults(reply: str, known_ids: Collection[str]) -> list[str]:
    """Finds what is wrong with an answer that is cited later; citations that it has already play no part.

    Args:
        reply: the model's text.
        known_ids: ids of the sentences it was given.

    Returns:
        A sentence for each fault: it is empty, or too long.
    """
    words = sum(len(sentence.split()) for sentence in written_sentences(reply, known_ids))
    if not words:
        return [_EMPTY]
    return [_TOO_LONG.format(words=words, limit=WORD_LIMIT)] if words > WORD_LIMIT else []


def feedback_text(reply: str, faults: Sequence[str], *, number: int, tries: int) -> str:
    """Writes what stands below the question when it is put again.

    Args:
        reply: the last reply; of a long one the beginning is shown.
        faults: at least one.
        number: of the try that is asked for, from 2 on.
        tries: how many there are.
    """
    said = reply.strip() or _NOTHING
    shown = said if len(said) <= _SHOWN_REPLY else said[:_SHOWN_REPLY].rstrip() + _CUT
    wrong = "\n".join((_WRONG, *(f"- {fault}" for fault in faults)))
    return "\n\n".join((f"{_TRY.format(number=number, tries=tries)}\n{shown}", f"{wrong}\n{_AGAIN}"))


def _listed(ids: Sequence[str]) -> str:
    shown = [each if len(each) <= _SHOWN_ID else each[:_SHOWN_ID] + _CUT for each in ids[:_SHOWN_IDS]]
    return ", ".join(shown) + (_CUT if len(ids) > _SHOWN_IDS else "")
