"""Gets a judge's verdicts on answers of EHRNoteQA: whether each is right.

Kweon et al. 2024, appendix E.1: five votes, the mode counts. Asking stops as soon as no
vote that is missing could change the mode: after `1 1 1` of five no further is asked
for, and the decision is the same as with all. An empty answer is wrong unasked, except
by the authors' prompts, which ask about every answer. A judge of entailment is asked
whether gold follows from the answer; one passage is enough.
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
        item: what it answers.
        answer: with the white space around it, which the authors' script sends too.
        letter: the choice whose letter it names, for judges that do not know what
            letters stand for; "" for none.
        form: whether it is written freely or is a choice.
    """

    item: Item
    answer: str
    letter: str = ""
    form: Literal["open", "choice"] = field(kw_only=True)


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """What is known of an answer. `how`: how it was decided without a vote; "" with one."""

    right: bool | None
    votes: tuple[bool, ...] = ()
    how: str = ""
    reason: str | None = None


def gold_texts(item: Item) -> tuple[str, ...]:
    """What an open answer is compared with; nothing without gold.

    That is the right choice's text, else the passages of evidence.
    """
    choices = item.fields["choices"]
    if choices:
        return (str(choices[LETTERS.index(item.fields["answer"])]).strip(),)
    return tuple(passage for passage in item.fields["evidence"] if passage.strip())


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Asks a judge about answers; one verdict an answer, in order."""
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
    """What a judge is asked about an answer.

    One question, of entailment one a passage; none if it is empty or without gold.
    """
    gold, prompts = gold_texts(case.item), judging.prompts
    row, name = case.item.fields, case.item.id
    choices, right = row["choices"], row["answer"]
    theirs = prompts.name == "official" and judging.judge.reads == "prompt" and choices
    output = case.answer if theirs else case.answer.strip()
    if not gold or not (output or theirs):
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
            prompts, f"{name}/{EVIDENCE}/{place}", evidence=(passage,), **about
        )
        for place, passage in enumerate(gold)
    ]


def _verdict(case: Case, outcomes: Sequence[Verdict | Unscored]) -> AnswerVerdict:
    """Makes an answer's verdict of the judge's outcomes.

    There is one outcome, of a judge of entailment one for each passage that is gold.
    Right by one passage is right; wrong takes a verdict on all of them, since the
    missing one might say right.
    """
    if not gold_texts(case.item):
        return AnswerVerdict(right=None, reason=NO_GOLD)
    if not outcomes:
        return AnswerVerdict(right=False, how="empty answer")

    decided = [outcome for outcome in outcomes if isinstance(outcome, Verdict)]
    # One that is right decides; where none is, one that is missing might be.
    for outcome in sorted(decided, key=verdict_bool, reverse=True):
        if outcome.value or len(decided) == len(outcomes):
            return AnswerVerdict(
                right=outcome.value, votes=tuple(map(bool, outcome.votes))
            )

    reason = next(
        outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)
    )
    return AnswerVerdict(right=None, reason=reason)


# The authors' longest reply; ours are one sentence, and have room for a model that
# writes more.
_REPLY_TOKENS: Final = 600

# A score that stands first, whatever explains it behind; braces: the authors' form
# shows the score in some.
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
"""Read our forms of a score, and of yes or no."""


def read_official_score(text: str) -> bool | Unreadable:
    """Reads the authors' form: `Score.

    1` first, or as the last line behind reasoning; two that differ are unreadable.
    """
    held = read_own_score(text)
    if isinstance(held, bool):
        return held

    lines = _score_lines(text)
    labelled = [_SCORE_LINE.match(line) for line in lines if _SCORE_LABEL.match(line)]
    # Of one point: 1/1 is 1.
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

    # The bare number, or reasoning first; then the last line counts.
    value = read_score("\n".join(lines), 0, 1)
    return value if isinstance(value, Unreadable) else bool(value)


def _score_lines(text: str) -> list[str]:
    """A reply's lines; a score that is a line's last sentence is one, unless the line quotes."""
    lines = reply_lines(text)
    cut = [[line] if '"' in line else _OWN_SENTENCE.split(line) for line in lines]
    return [part for parts in cut for part in parts]


def read_official_choice(text: str) -> bool | Unreadable:
    """Reads the authors' form of yes or no.

    The word alone, or first and a mark behind it; nothing that is taken back.
    """
    spoken = _SO.sub("", "\n".join(reply_lines(text)).lstrip(_OPENERS))
    words = {match[1].lower() for match in _STANDS_ALONE.finditer(spoken)}
    if len(words) > 1:
        return Unreadable("yes and no are both said")

    alone = read_choice(text, ("yes", "no"))
    if not isinstance(alone, Unreadable):
        return alone == "yes"
    if not words or not spoken.lower().startswith(tuple(words)):
        return Unreadable("it does not begin with yes or no")

    (word,) = words
    if not goes_with(word, spoken[len(word) :]):
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
    """Asks whether an answer is right, given the right one.

    For a judge of entailment, whether the right one follows from it.
    """
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
    """Asks whether an answer is right, given the passages.

    For a judge of entailment, whether the first follows from it.
    """
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
    """Asks whether an answer is the right choice.

    Behind it a judge of entailment reads `chosen`, the choice it names.
    """
    lines = [
        f"{name}. {_tidied(choice, prompts)}"
        for name, choice in zip(LETTERS, choices, strict=True)
    ]
    place = LETTERS.index(letter)
    slots = {"choices": "\n".join(lines), "answer": lines[place]}

    return _question(
        prompts,
        CHOICE,
        name,
        slots,
        output=output,
        hypothesis=choices[place],
        chosen=chosen,
    )


_READERS: Final = {
    (CHOICE, False): (read_own_choice, AGAIN, schema_of(_CHOSEN)),
    (CHOICE, True): (read_official_choice, OFFICIAL_CHOICE_AGAIN, None),
    (OPEN, False): (read_own_score, AGAIN, schema_of(_SCORED)),
    (OPEN, True): (read_official_score, OFFICIAL_SCORE_AGAIN, None),
    (EVIDENCE, False): (read_own_score, AGAIN, schema_of(_SCORED)),
}
"""By kind of question, and whether it is in the authors' form: how a reply is read, what is said
when it cannot be, its schema."""

# Their script reads its answers with pandas, which makes a number of an empty cell; so
# their judge reads its name.
_EMPTY: Final = "nan"


def _tidied(text: str, prompts: JudgePrompts) -> str:
    """A text for a prompt of ours; the authors' script sends every text as it is."""
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
    """Makes a question to the judge.

    Args:
        prompts: the texts of questions.
        kind: of the question, a key of those texts.
        name: the question's id.
        slots: fill the text's slots.
        output: the answer that is judged.
        hypothesis: what the answer must entail, for a judge of entailment.
        chosen: the text of the letter that the answer names; such a judge would not
            know what the letter stands for.

    Returns:
        The question; in the authors' form, where their prompts are asked, the answer
        stands in it as it is.
    """
    text = prompts.texts[kind]
    officially = prompts.name == "official" and (kind, True) in _READERS
    read, again, schema = _READERS[kind, officially]
    messages = user_message(text, {**slots, "output": quoted(output)})
    if officially:
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
