"""Gets a judge's verdicts on EHRNoteQA's answers: whether each is right.

Kweon et al. 2024, appendix E.1: the mode of five votes counts. Asking stops as soon as
no missing vote could change the mode: after `1 1 1` of five no further vote is needed,
and the decision is the same as with all five. An empty answer is wrong without a
question, except with the authors' prompts, which ask about every answer. An entailment
model decides whether the answer entails gold; one passage is enough.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from medical_tasks.benchmarks.ehrnoteqa.judge_prompts import (
    AGAIN,
    CHOICE,
    EVIDENCE,
    OFFICIAL_CHOICE_AGAIN,
    OFFICIAL_SCORE_AGAIN,
    OPEN,
)
from medical_tasks.benchmarks.ehrnoteqa.prompts import fill_template, note_blocks
from medical_tasks.benchmarks.ehrnoteqa.questions import LETTERS
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import (
    ENTAILS,
    JudgePrompts,
    Judging,
    Pair,
    Question,
    Unreadable,
    Unscored,
    Verdict,
    verdict_bool,
)
from medical_tasks.judges.judged import check_different, user_message
from medical_tasks.judges.reading import (
    explanation,
    goes_with,
    object_reader,
    one_of,
    quoted,
    read_choice,
    read_score,
    reply_lines,
    schema_of,
    whole_number,
)
from medical_tasks.judges.rounds import Line, ask_together
from medical_tasks.spec import Item, Row, texts_sha256

NO_GOLD: Final = "no gold: for people to score"


@dataclass(frozen=True)
class Case:
    """An answer to be judged.

    Attributes:
        item: the item that it answers.
        answer: its text, with surrounding white space, which the authors' script sends
            too.
        letter: the letter of the choice that it names, for judges that do not see the
            choices; "" for none.
        form: whether it is free text or a choice.
    """

    item: Item
    answer: str
    letter: str = ""
    form: Literal["open", "choice"] = field(kw_only=True)


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """The verdict on an answer. `how`: how it was decided without votes; "" with votes."""

    right: bool | None
    votes: tuple[bool, ...] = ()
    how: str = ""
    reason: str | None = None


def gold_texts(item: Item) -> tuple[str, ...]:
    """The gold of an open answer: the right choice's text, else the passages of evidence; may be empty."""
    choices = item.fields["choices"]
    if choices:
        return (str(choices[LETTERS.index(item.fields["answer"])]).strip(),)
    return tuple(passage for passage in item.fields["evidence"] if passage.strip())


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Has a judge decide about answers; one verdict per answer, in order."""
    if judging.mode != "single":
        raise UsageError(
            "answers to EHRNoteQA are judged one at a time, so that --judging must be single. "
            "Leave it out."
        )
    check_different((case.item.id for case in cases), "two items to judge")
    return ask_together(judging.judge, [_answer_line(case, judging) for case in cases])


def _answer_line(case: Case, judging: Judging) -> Line[AnswerVerdict]:
    outcomes = yield questions(case, judging)
    return _verdict(case, outcomes)


def questions(case: Case, judging: Judging) -> list[Question]:
    """The questions about an answer: one, or one per passage for an entailment model.

    There is none about an empty answer, or without gold.
    """
    gold, prompts = gold_texts(case.item), judging.prompts
    row, name = case.item.fields, case.item.id
    choices, right = row["choices"], row["answer"]
    as_authors = (
        prompts.name == "official" and judging.judge.reads == "prompt" and choices
    )
    output = case.answer if as_authors else case.answer.strip()
    if not gold or not (output or as_authors):
        return []

    if case.form == "choice":
        chosen = choices[LETTERS.index(case.letter)] if case.letter else ""
        about = {
            "choices": choices,
            "letter": right,
            "output": output,
            "chosen": chosen,
        }
        return [choice_question(prompts, f"{name}/{CHOICE}", **about)]

    about = {"notes": row["notes"], "question": row["question"], "output": output}
    if choices:
        text = choices[LETTERS.index(right)]
        return [open_question(prompts, f"{name}/{OPEN}", right=text, **about)]

    if judging.judge.reads != "pair":
        return [
            evidence_question(prompts, f"{name}/{EVIDENCE}", evidence=gold, **about)
        ]

    return [
        evidence_question(
            prompts, f"{name}/{EVIDENCE}/{number}", evidence=(passage,), **about
        )
        for number, passage in enumerate(gold)
    ]


def _verdict(case: Case, outcomes: Sequence[Verdict | Unscored]) -> AnswerVerdict:
    """Combines the outcomes on an answer: one, or one per gold passage from an entailment model.

    An answer is right if one passage says so. It is wrong only with verdicts on all,
    since a missing one might say right.
    """
    if not gold_texts(case.item):
        return AnswerVerdict(right=None, reason=NO_GOLD)
    if not outcomes:
        return AnswerVerdict(right=False, how="empty answer")

    decided = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    for outcome in sorted(decided, key=verdict_bool, reverse=True):
        if outcome.value or len(decided) == len(outcomes):
            return AnswerVerdict(
                right=outcome.value, votes=tuple(map(bool, outcome.votes))
            )

    reason = next(
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    )
    return AnswerVerdict(right=None, reason=reason)


# For the authors' longest reply; ours is one sentence, with room for a model that writes
# more.
_REPLY_TOKENS: Final = 600

# A score at the beginning, with any explanation after it; the authors' form shows the
# score in braces.
_SCORE_LABEL: Final = re.compile(
    r"(?:(?:so|thus|therefore),? )?(?:the )?(?:final )?score(?:[:=→]| is\b| [-–—:=]| (?=[0-9]))",
    re.I,
)
_SCORE_LINE: Final = re.compile(
    _SCORE_LABEL.pattern
    + r":?[ {\[(\"']{0,4}([+-]?[0-9]{1,9}(?:[./][0-9]{1,9})?)[}\])\"']{0,2}[.,;]?"
    r"(?:$| reason| (?:[-–—] |\()?(?:in)?correct\)?[.]?$)",
    re.I,
)
_OWN_SENTENCE: Final = re.compile(r"(?<=[.!]) (?=(?:final )?score\b)", re.I)
_STANDS_ALONE: Final = re.compile(
    r"(?:^|[.,;:!?\n\"(])[ -]{0,4}(yes|no)(?=$| [-–—(] ?|[.,;:!?\n\")])", re.I
)
_OPENERS: Final = ' \n"(-'
_SO: Final = re.compile(r"\A(?:so|thus|therefore|hence),? (?=yes|no)", re.I)


_SCORED: Final = {"reason": explanation, "score": whole_number(0, 1)}
_CHOSEN: Final = {"reason": explanation, "verdict": one_of("yes", "no")}


read_own_score = object_reader(_SCORED, lambda value: bool(value["score"]))
read_own_choice = object_reader(_CHOSEN, lambda value: bool(value["verdict"] == "yes"))
"""Read our forms: a score, and yes or no."""


def read_official_score(text: str) -> bool | Unreadable:
    """Reads the authors' form: `Score: 1` on the first line, or on the last one after reasoning.

    Two scores that differ are unreadable.
    """
    own_form = read_own_score(text)
    if isinstance(own_form, bool):
        return own_form

    lines = _score_lines(text)
    labelled = [_SCORE_LINE.match(line) for line in lines if _SCORE_LABEL.match(line)]
    # The scale has one point: 1/1 is 1.
    scores = {match[1].removesuffix("/1") if match else "" for match in labelled}
    if len(scores) > 1:
        return Unreadable("Score appears twice and differs")

    if lines and _SCORE_LABEL.match(lines[0]):
        (score,) = scores
        return (
            score == "1"
            if score in ("0", "1")
            else Unreadable("the first line is not a score of 0 or 1")
        )

    # A bare number, or reasoning first: the last line counts.
    value = read_score("\n".join(lines), 0, 1)
    return value if isinstance(value, Unreadable) else bool(value)


def _score_lines(text: str) -> list[str]:
    """A reply's lines; a score in a line's last sentence becomes a line, unless the line has quotation marks."""
    lines: list[str] = []
    for line in reply_lines(text):
        lines += [line] if '"' in line else _OWN_SENTENCE.split(line)
    return lines


def read_official_choice(text: str) -> bool | Unreadable:
    """Reads the authors' form of yes or no: the word alone, or first with a mark after it, and not taken back."""
    reply = _SO.sub("", "\n".join(reply_lines(text)).lstrip(_OPENERS))
    words = {match[1].lower() for match in _STANDS_ALONE.finditer(reply)}
    if len(words) > 1:
        return Unreadable("yes and no are both said")

    alone = read_choice(text, ("yes", "no"))
    if not isinstance(alone, Unreadable):
        return alone == "yes"
    if not words or not reply.lower().startswith(tuple(words)):
        return Unreadable("it does not begin with yes or no")

    (word,) = words
    if not goes_with(word, reply[len(word) :]):
        return Unreadable("what stands behind yes or no does not go with it")

    return word == "yes"


def open_question(
    prompts: JudgePrompts,
    name: str,
    *,
    notes: Sequence[Row],
    question: str,
    right: str,
    output: str,
) -> Question:
    """Asks whether an answer is right, given the right one; for an entailment model, whether it entails that."""
    slots = {
        "note": note_blocks(notes),
        "question": question,
        "correct_answer": _tidied(right, prompts),
    }
    return _question(prompts, OPEN, name, slots, output=output, hypothesis=right)


def evidence_question(
    prompts: JudgePrompts,
    name: str,
    *,
    notes: Sequence[Row],
    question: str,
    evidence: Sequence[str],
    output: str,
) -> Question:
    """Asks whether an answer is right, given the passages; for an entailment model, whether it entails the first."""
    passages = "\n".join(f"- {' '.join(passage.split())}" for passage in evidence)
    slots = {"note": note_blocks(notes), "question": question, "evidence": passages}
    return _question(
        prompts, EVIDENCE, name, slots, output=output, hypothesis=evidence[0]
    )


def choice_question(
    prompts: JudgePrompts,
    name: str,
    *,
    choices: Sequence[str],
    letter: str,
    output: str,
    chosen: str = "",
) -> Question:
    """Asks whether an answer is the right choice; for an entailment model, `chosen` follows, the choice that it names."""
    lines = [
        f"{own_letter}. {_tidied(choice, prompts)}"
        for own_letter, choice in zip(LETTERS, choices, strict=True)
    ]
    right = LETTERS.index(letter)
    slots = {"choices": "\n".join(lines), "answer": lines[right]}

    return _question(
        prompts,
        CHOICE,
        name,
        slots,
        output=output,
        hypothesis=choices[right],
        chosen=chosen,
    )


_READERS: Final = {
    (CHOICE, False): (read_own_choice, AGAIN, schema_of(_CHOSEN)),
    (CHOICE, True): (read_official_choice, OFFICIAL_CHOICE_AGAIN, None),
    (OPEN, False): (read_own_score, AGAIN, schema_of(_SCORED)),
    (OPEN, True): (read_official_score, OFFICIAL_SCORE_AGAIN, None),
    (EVIDENCE, False): (read_own_score, AGAIN, schema_of(_SCORED)),
}
"""Reader, re-ask and schema, by the kind of question and whether it has the authors' form."""

# The authors' script reads answers with pandas, which turns an empty cell into a number,
# so that their judge reads "nan".
_EMPTY: Final = "nan"


def _tidied(text: str, prompts: JudgePrompts) -> str:
    """A text for a prompt, stripped for ours; the authors' script sends every text unchanged."""
    return text if prompts.name == "official" else text.strip()


def _question(
    prompts: JudgePrompts,
    kind: str,
    name: str,
    slots: Mapping[str, str],
    *,
    output: str,
    hypothesis: str,
    chosen: str = "",
) -> Question:
    """Builds a question to the judge.

    Args:
        prompts: the judge's prompts.
        kind: the kind of question, a key of the prompts.
        name: the question's id.
        slots: the values of the prompt's slots.
        output: the judged answer.
        hypothesis: the text that the answer must entail, for an entailment model.
        chosen: the text of the choice that the answer names by its letter, which an
            entailment model does not know.

    Returns:
        The question; in the authors' form it has the answer unchanged.
    """
    text = prompts.texts[kind]
    in_authors_form = prompts.name == "official" and (kind, True) in _READERS
    read, again, schema = _READERS[kind, in_authors_form]
    messages = user_message(text, {**slots, "output": quoted(output)})
    if in_authors_form:
        content = fill_template(text, {**slots, "output": output or _EMPTY})
        messages = ({"role": "user", "content": content},)

    return Question(
        id=name,
        messages=messages,
        template=texts_sha256(text, again),
        read=read,
        again=again,
        max_tokens=_REPLY_TOKENS,
        pair=Pair(
            premise=f"{output}\n{chosen}" if chosen else output,
            hypothesis=hypothesis.strip(),
            values=ENTAILS,
        ),
        schema=schema,
    )
