"""Gets a judge's verdicts on answers of K-QA, statement by statement (paper, section 4).

Of each statement of a physician a judge says whether an answer entails it, contradicts
it, or neither. Must-have statements are those that an answer has to say
(comprehensiveness is their entailed share); nice-to-have ones supplement it, and only
their contradiction counts. Example, for "Is it safe to take ibuprofen with high blood
pressure?":

    must/0  "Ibuprofen can raise blood pressure."       entailed     -> comprehensiveness 1/2
    must/1  "Ask a doctor before you take it."          neither
    nice/0  "Acetaminophen is an alternative."          contradicted -> hallucination 1

All questions about all answers go to the judge in one call; further rounds hold only
what a batched reply left out. What got no verdict stays None, never False. An empty
answer entails and contradicts nothing, and nobody is asked, nor about a sure abstention
or a blank statement (the release has three), unless the authors' prompts are used: they
ask about every text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from medical_tasks.benchmarks.kqa.abstention import abstention
from medical_tasks.benchmarks.kqa.judge_prompts import (
    abstention_question,
    batched_question,
    official_question,
    single_question,
)
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import (
    LABELS,
    Judging,
    Label,
    Question,
    Unscored,
    Verdict,
    verdict_bool,
)
from medical_tasks.judges.case import NO_PAIR
from medical_tasks.judges.judged import check_different
from medical_tasks.judges.rounds import (
    Line,
    Outcome,
    answered,
    ask_together,
    in_batches,
    side_by_side,
)

_TWO_WAY: Final = "judge: cannot tell not_entailment"
"""A session's words for a label that decides nothing about a question."""

CANNOT_TELL: Final = "judge: cannot tell contradiction"
"""Reason of what a two-way judge leaves open."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer and what it is judged by.

    Attributes:
        answer: As the patient would read it, with the white space around it that the
            authors' script sends.
    """

    id: str
    question: str
    answer: str
    must_have: tuple[str, ...]
    nice_to_have: tuple[str, ...]

    @property
    def blank(self) -> bool:
        """Whether nothing is said."""
        return not self.answer.strip()

    @property
    def statements(self) -> dict[str, str]:
        """Name (`must/0`, `nice/2`) to text, must-have first."""
        must = {f"must/{number}": text for number, text in enumerate(self.must_have)}
        return must | {
            f"nice/{number}": text for number, text in enumerate(self.nice_to_have)
        }


@dataclass(frozen=True, kw_only=True)
class StatementVerdict:
    """What is known of one statement; None is not known.

    Attributes:
        name: `must/0`, `nice/2`.
        stated: whether it says anything; False for a blank one.
        entailed: the authors' prompts do not ask this of nice-to-have statements.
        contradicted: whether the answer says the opposite.
        entailed_official: as the authors' script decides; `contradicted_official`
            likewise.
        contradicted_official: see `entailed_official`.
        reasons: why something is not known.
        official_reasons: why the authors' script makes no decision.
    """

    name: str
    stated: bool = True
    entailed: bool | None = False
    contradicted: bool | None = False
    entailed_official: bool | None = False
    contradicted_official: bool | None = False
    reasons: tuple[str, ...] = ()
    official_reasons: tuple[str, ...] = ()

    @property
    def must(self) -> bool:
        """Whether it is a must-have statement."""
        return self.name.startswith("must/")


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """What is known of one answer.

    Attributes:
        statements: the verdict on each, must-have first.
        answered: whether it is an answer at all; None where that is not decided, for
            `reasons`.
        how: how an empty answer or an abstention was found; "" for an answer.
        reasons: why it is not known whether it is an answer.
        judged: whether its statements were judged by what it says; a blank answer says
            nothing.
        asked: whether a judge was asked if it is an answer.
    """

    statements: tuple[StatementVerdict, ...]
    answered: bool | None = True
    how: str = ""
    reasons: tuple[str, ...] = ()
    judged: bool = True
    asked: bool = False

    @property
    def reason(self) -> str | None:
        """The most frequent reason for what is not known, the first of several; None without."""
        counts = Counter(self.reasons)
        for verdict in self.statements:
            counts.update(verdict.reasons)
        counts = counts or Counter(
            reason for verdict in self.statements for reason in verdict.official_reasons
        )
        return counts.most_common(1)[0][0] if counts else None


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Asks a judge about answers; one verdict an answer, in order."""
    check_different((case.id for case in cases), "two items to judge")
    if judging.prompts.name == "official" and judging.mode != "single":
        raise UsageError(
            "the official judge prompts ask about one statement at a time, and cannot be batched. "
            "Judge single statements, or use --prompts own."
        )
    return ask_together(judging.judge, [_answer_line(case, judging) for case in cases])


def _answer_line(case: Case, judging: Judging) -> Line[AnswerVerdict]:
    """Asks about the statements and, where the wording does not tell, whether it is an answer."""
    kind, by_prompt = abstention(case.answer), judging.judge.reads == "prompt"
    official = judging.prompts.name == "official"
    # A judge of entailment reads no prompt, neither the authors' nor ours.
    judged = (by_prompt or not case.blank) if official else kind != "sure"
    statements = _official_line if official else _own_line
    unsure = []
    if kind == "unsure" and by_prompt:
        name = f"{case.id}/answered"
        unsure = [
            abstention_question(
                judging.prompts, name, question=case.question, answer=case.answer
            )
        ]

    lines: list[Line[Any]] = [
        _asked(unsure),
        *([statements(case, judging)] if judged else []),
    ]
    (outcome,), *decided = yield from side_by_side(lines)
    verdict = AnswerVerdict(
        statements=decided[0] if judged else tuple(_unasked(case)), judged=judged
    )
    if case.blank:
        return replace(verdict, answered=False, how="empty", judged=False)
    if kind == "sure":
        return replace(verdict, answered=False, how="abstained by the rule")
    if outcome is None or (isinstance(outcome, Unscored) and outcome.reason == NO_PAIR):
        return verdict
    if isinstance(outcome, Unscored):
        return replace(verdict, asked=True, answered=None, reasons=(outcome.reason,))

    if _value(outcome) is False:
        return replace(
            verdict, asked=True, answered=False, how="abstained by the judge"
        )

    return replace(verdict, asked=True)


def _asked(questions: list[Question]) -> Line[list[Outcome] | list[None]]:
    """The outcome of a question that may not be needed; None where it was not."""
    return (yield questions) if questions else [None]


def _unasked(case: Case) -> Iterator[StatementVerdict]:
    """The statements with nothing found in the answer: neither entailed nor contradicted."""
    return (
        StatementVerdict(name=name, stated=bool(text.strip()))
        for name, text in case.statements.items()
    )


def _own_line(case: Case, judging: Judging) -> Line[tuple[StatementVerdict, ...]]:
    """Gets a label for every statement that says something."""
    prompts, statements = judging.prompts, case.statements
    texts = {"question": case.question, "answer": case.answer}

    def batch(round_name: str, names: Sequence[str]) -> Question:
        listed = [(key, statements[name]) for key, name in _keys(names).items()]
        return batched_question(
            prompts, f"{case.id}/{round_name}", statements=listed, **texts
        )

    def single(name: str) -> Question:
        return single_question(
            prompts, f"{case.id}/{name}", statement=statements[name], **texts
        )

    labels = yield from in_batches(
        [verdict.name for verdict in _unasked(case) if verdict.stated],
        judging,
        batch=batch,
        single=single,
        read_batch=_labels,
        read_single=lambda outcome: _label(outcome.id, outcome.value),
    )
    verdicts = {verdict.name: verdict for verdict in _unasked(case)}
    for name, label in labels.items():
        if isinstance(label, Unscored):
            verdicts[name] = statement_verdict(name, None, reason=label.reason)
        else:
            verdicts[name] = statement_verdict(name, label)

    return tuple(verdicts.values())


def _official_line(case: Case, judging: Judging) -> Line[tuple[StatementVerdict, ...]]:
    """Asks the authors' two questions about every statement; nice-to-have ones get the second."""
    # Judges of entailment say a label; then it decides both as it is read and as their
    # script does. What a blank answer says is known: only the authors' decision is
    # asked for.
    readings = slice(int(case.blank), 2 if judging.judge.reads == "prompt" else 1)
    texts = {"question": case.question, "answer": case.answer}
    questions: list[Question] = []
    for verdict in _unasked(case):
        for kind in ("entails", "contradicts") if verdict.must else ("contradicts",):
            name, statement = (
                f"{case.id}/{verdict.name}/{kind}",
                case.statements[verdict.name],
            )
            sane, theirs = official_question(
                judging.prompts, name, kind, statement=statement, **texts
            )
            questions += [sane, theirs][readings]

    outcomes = yield from answered(questions)
    return tuple(
        _official_verdict(case, verdict, outcomes) for verdict in _unasked(case)
    )


def _official_verdict(
    case: Case, verdict: StatementVerdict, outcomes: Mapping[str, Outcome]
) -> StatementVerdict:
    """Reads replies to the authors' prompts twice: strictly, and as their script does.

    What a blank answer says is known without a judge; the authors ask about it like any
    other.
    """
    names = [f"{case.id}/{verdict.name}/{kind}" for kind in ("entails", "contradicts")]
    sane = [outcomes.get(name) for name in names]
    theirs = [outcomes.get(f"{name}/official", outcomes.get(name)) for name in names]
    verdict = replace(
        verdict,
        entailed_official=_value(theirs[0]),
        contradicted_official=_value(theirs[1]),
        official_reasons=_reasons(theirs),
    )
    if case.blank:
        return verdict

    return replace(
        verdict,
        entailed=_value(sane[0]),
        contradicted=_value(sane[1]),
        reasons=_reasons(sane),
    )


def _reasons(outcomes: Sequence[Outcome | None]) -> tuple[str, ...]:
    missing = [outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)]
    return tuple(CANNOT_TELL if reason == _TWO_WAY else reason for reason in missing)


def _value(outcome: Outcome | None) -> bool | None:
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


def statement_verdict(
    name: str, label: Label | None, *, reason: str = ""
) -> StatementVerdict:
    """Makes the verdict on a statement of a label, None for `reason`; the official ones go by it.

    Example: `not_entailment` of a two-way judge says that it is not entailed, and
    leaves open whether it is contradicted.
    """
    entailed = None if label is None else label == "entailment"
    contradicted = (
        None if label in (None, "not_entailment") else label == "contradiction"
    )

    return StatementVerdict(
        name=name,
        entailed=entailed,
        contradicted=contradicted,
        entailed_official=entailed,
        contradicted_official=contradicted,
        reasons=()
        if contradicted is not None
        else (reason if label is None else CANNOT_TELL,),
    )


def _keys(names: Sequence[str]) -> dict[str, str]:
    return {f"s{number}": name for number, name in enumerate(names, start=1)}


def _label(question_id: str, value: object) -> Label:
    """Checks a label: verdicts may come from a file."""
    label = next((label for label in LABELS if label == value), None)
    if label is None:
        raise UsageError(
            f"the verdict {value!r} of the question {question_id} is none of {', '.join(LABELS)}. "
            "Correct the recorded verdicts."
        )
    return label


def _labels(outcome: Verdict, names: Sequence[str]) -> dict[str, Label]:
    """The labels of a batch by statement's name; verdicts may come from a file."""
    value = outcome.value
    pairs = value if isinstance(value, tuple) else (None,)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise UsageError(
            f"the verdict of the question {outcome.id} is no list of ids with labels. Correct the "
            "recorded verdicts."
        )
    labels = {str(key): _label(outcome.id, label) for key, label in pairs}
    return {name: labels[key] for key, name in _keys(names).items() if key in labels}
