"""How the judge's replies about EHRNoteQA are read, and the questions that are made of them. Nothing is guessed.

Every verdict is a bool: whether the model's answer is right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.ehrnoteqa import judge_prompts as prompts_of
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.judges.base import JudgePrompts, Label, Pair, Question, Unreadable
from medical_tasks.judges.reading import free_text, one_of, read_choice, read_object, read_score, whole_number
from medical_tasks.spec import Message

__all__ = [
    "choice_question",
    "evidence_question",
    "open_question",
    "read_official_choice",
    "read_official_score",
    "read_own_choice",
    "read_own_score",
]

_ENTAILS: Final[Mapping[Label, Any]] = {
    "entailment": True,
    "neutral": False,
    "contradiction": False,
    "not_entailment": False,
}
# The authors' longest reply; ours are one sentence, and have room for a model that writes more.
_REPLY_TOKENS: Final = 600

_SCORE: Final = {"reason": free_text, "score": whole_number(0, 1)}
_VERDICT: Final = {"reason": free_text, "verdict": one_of("yes", "no")}

# Braces: the authors' form shows the score in some, and a judge may leave them.
_SCORE_LABEL: Final = re.compile(r"score[ *_`]{0,4}[:=]", re.I)
_SCORE_LINE: Final = re.compile(
    r"score[ *_`]{0,4}[:=][ *_`{]{0,4}([+-]?[0-9]{1,9}(?:[./][0-9]{1,9})?)[}*_`]{0,4}[.,;]?(?:$| [*_`]{0,4}reason)",
    re.I,
)
_STANDS_ALONE: Final = re.compile(
    r"(?:^|[.,;:!?\n\"“(])[ *_`]{0,4}(yes|no)[*_`]{0,4}(?=$| [-–—] |[.,;:!?\n\"”)])", re.I
)
# Behind yes or no: what leaves it open, and what denies a yes.
_LEFT_OPEN: Final = re.compile(
    r"\?|\b(?:if|unless|whether|otherwise|or|maybe|perhaps|probably|possibly|might|could|would|should|but|however|although|though|"
    r"unsure|unclear|not (?:sure|certain|clear)|assuming|provided|depend\w*|partly|partially|except|seems?)\b",
    re.I,
)
_DENIED: Final = re.compile(
    r"n['’]t\b|\b(?:not|cannot|never|neither|nor|none|incorrect\w*|wrong\w*|mismatch\w*|differ\w*|fails?|contradict\w*)\b",
    re.I,
)
_OPENERS: Final = ' \t\r\n*_`"“('


def read_own_score(text: str) -> bool | Unreadable:
    """Reads our form of a score."""
    value = read_object(text, _SCORE)
    return value if isinstance(value, Unreadable) else bool(value["score"])


def read_own_choice(text: str) -> bool | Unreadable:
    """Reads our form of yes or no."""
    value = read_object(text, _VERDICT)
    return value if isinstance(value, Unreadable) else value["verdict"] == "yes"


def read_official_score(text: str) -> bool | Unreadable:
    """Reads the authors' form of a score: `Score: 1` first, reasoning behind it; or as the last line, reasoning before it.

    Another line that begins with another score makes the reply unreadable, and so does any score but 0 and 1.

    Args:
        text: the judge's raw text.
    """
    lines = _spoken_lines(text)
    labelled = [_SCORE_LINE.match(line) for line in lines if _SCORE_LABEL.match(line)]
    scores = {match[1] if match else "" for match in labelled}
    if len(scores) > 1:
        return Unreadable("Score stands twice and differs")
    if lines and _SCORE_LABEL.match(lines[0]):
        (score,) = scores
        return score == "1" if score in ("0", "1") else Unreadable("the first line is not a score of 0 or 1")
    # The bare number, or reasoning first; then the last line counts.
    value = read_score(text, 0, 1)
    return value if isinstance(value, Unreadable) else bool(value)


def read_official_choice(text: str) -> bool | Unreadable:
    """Reads the authors' form of yes or no: the word alone, or first and a mark behind it.

    Where yes and no both stand by themselves, in quotation marks too, there is no verdict; nor where a question, a condition,
    an alternative or a doubt stands behind the word, or behind yes a denial.

    Args:
        text: the judge's raw text.
    """
    spoken = "\n".join(_spoken_lines(text)).lstrip(_OPENERS)
    words = {match[1].lower() for match in _STANDS_ALONE.finditer(spoken)}
    if len(words) > 1:
        return Unreadable("yes and no are both said")
    alone = read_choice(text, ("yes", "no"))
    if not isinstance(alone, Unreadable):
        return alone == "yes"
    if not words or not spoken.lower().startswith(tuple(words)):
        return Unreadable("it does not begin with yes or no")
    if _LEFT_OPEN.search(spoken) or ("yes" in words and _DENIED.search(spoken)):
        return Unreadable("what stands behind yes or no does not go with it")
    return "yes" in words


def _spoken_lines(text: str) -> list[str]:
    """The reply's lines without its reasoning, blanks and marks of emphasis before them; none when reasoning never ends."""
    # As `reading` does: reasoning that begins with its mark ends at the first end mark, else at the last.
    opened = text.lstrip().startswith("<think>")
    text = (text.partition if opened else text.rpartition)("</think>")[2]
    return [" ".join(line.split()).lstrip("*_`# ") for line in text.split("\n") if line.strip(" \t\r*_`#")]


def open_question(
    prompts: JudgePrompts, name: str, *, notes: Sequence[Mapping[str, Any]], question: str, right: str, output: str
) -> Question:
    """Asks whether an answer is right, given the right one; for a judge of entailment, whether the right one follows from it."""
    messages = prompts_of.open_messages(prompts, notes=notes, question=question, right=right, output=output)
    return _question(prompts, prompts_of.OPEN, name, messages, premise=output, hypothesis=right)


def evidence_question(
    prompts: JudgePrompts,
    name: str,
    *,
    notes: Sequence[Mapping[str, Any]],
    question: str,
    evidence: Sequence[str],
    output: str,
) -> Question:
    """Asks whether an answer is right, given the passages that hold the right one.

    For a judge of entailment: whether the first passage follows from it. There is one question a passage for such a judge.
    """
    messages = prompts_of.evidence_messages(prompts, notes=notes, question=question, evidence=evidence, output=output)
    return _question(prompts, prompts_of.EVIDENCE, name, messages, premise=output, hypothesis=evidence[0])


def choice_question(
    prompts: JudgePrompts, name: str, *, choices: Sequence[str], letter: str, output: str, chosen: str = ""
) -> Question:
    """Asks whether an answer is the right choice.

    Args:
        prompts: the texts.
        name: the question's.
        choices: the choices' texts, A first.
        letter: of the right one.
        output: the model's answer.
        chosen: text of the choice whose letter it names. A judge of entailment reads it behind the answer, since it is not told
            what the letters stand for.
    """
    messages = prompts_of.choice_messages(prompts, choices=choices, letter=letter, output=output)
    premise = f"{output}\n{chosen}" if chosen else output
    return _question(
        prompts,
        prompts_of.CHOICE,
        name,
        messages,
        premise=premise,
        hypothesis=choices[LETTERS.index(letter)],
    )


_READERS: Final = {
    (prompts_of.CHOICE, False): read_own_choice,
    (prompts_of.CHOICE, True): read_official_choice,
    (prompts_of.OPEN, False): read_own_score,
    (prompts_of.OPEN, True): read_official_score,
    (prompts_of.EVIDENCE, False): read_own_score,
}


def _question(
    prompts: JudgePrompts, kind: str, name: str, messages: tuple[Message, ...], *, premise: str, hypothesis: str
) -> Question:
    return Question(
        id=name,
        messages=messages,
        template=prompts_of.template(prompts, kind),
        read=_READERS[kind, prompts_of.speaks_officially(prompts, kind)],
        again=prompts_of.again(prompts, kind),
        max_tokens=_REPLY_TOKENS,
        pair=Pair(premise=premise, hypothesis=hypothesis.strip(), values=_ENTAILS),
    )
