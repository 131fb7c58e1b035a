"""Gets a judge's verdicts on K-QA's answers, statement by statement (paper, section 4).

For each statement of a physician, a judge decides whether an answer entails it,
contradicts it, or neither. An answer should make every must-have statement
(comprehensiveness is their entailed share); nice-to-have ones supplement it, and only
their contradiction counts. Example, for "Is it safe to take ibuprofen with high blood
pressure?":

    must/0  "Ibuprofen can raise blood pressure."       entailed     -> comprehensiveness 1/2
    must/1  "Ask a doctor before you take it."          neither
    nice/0  "Acetaminophen is an alternative."          contradicted -> hallucination 1

All questions about all answers go to the judge in one call; further rounds ask only
about what a batched reply left out. A missing verdict is None, never False. An empty
answer entails and contradicts nothing; the judge is asked neither about it nor about a
sure abstention or a blank statement (the release has three), unless the authors'
prompts are used, which ask about every text.
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
"""A session's reason when a label decides nothing about a question."""

CANNOT_TELL: Final = "judge: cannot tell contradiction"
"""Reason for what a two-way judge leaves open."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer with the statements by which it is judged.

    Attributes:
        answer: the text that the patient would read, with its surrounding white space,
            which the authors' script sends too.
    """

    id: str
    question: str
    answer: str
    must_have: tuple[str, ...]
    nice_to_have: tuple[str, ...]

    @property
    def blank(self) -> bool:
        """Whether the answer is empty."""
        return not self.answer.strip()

    @property
    def statements(self) -> dict[str, str]:
        """Maps names (`must/0`, `nice/2`) to texts, must-have first."""
        must = {f"must/{number}": text for number, text in enumerate(self.must_have)}
        return must | {
            f"nice/{number}": text for number, text in enumerate(self.nice_to_have)
        }


@dataclass(frozen=True, kw_only=True)
class StatementVerdict:
    """The verdicts on one statement; None for a missing one.

    Attributes:
        name: `must/0`, `nice/2`.
        stated: False for a blank statement.
        entailed: whether the answer entails it. The authors' prompts do not ask this
            about nice-to-have statements.
        contradicted: whether the answer contradicts it.
        entailed_official: `entailed` by the rule of the authors' script.
        contradicted_official: `contradicted` by the rule of the authors' script.
        reasons: why a verdict is missing.
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
    """The verdicts on one answer.

    Attributes:
        statements: the verdict on each statement, must-have first.
        answered: whether it is an answer at all; None if undecided, for `reasons`.
        how: how an empty answer or an abstention was detected; "" for an answer.
        reasons: why it is undecided whether it is an answer.
        judged: whether its statements were judged; those of a blank answer are not.
        by_judge: whether a judge was asked if it is an answer.
    """

    statements: tuple[StatementVerdict, ...]
    answered: bool | None = True
    how: str = ""
    reasons: tuple[str, ...] = ()
    judged: bool = True
    by_judge: bool = False

    @property
    def reason(self) -> str | None:
        """The most frequent reason for missing verdicts, the first of several; None if none is missing."""
        counts = Counter(self.reasons)
        for verdict in self.statements:
            counts.update(verdict.reasons)
        counts = counts or Counter(
            reason for verdict in self.statements for reason in verdict.official_reasons
        )
        return counts.most_common(1)[0][0] if counts else None


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Has a judge decide about answers; one verdict per answer, in order."""
    check_different((case.id for case in cases), "two items to judge")
    if judging.prompts.name == "official" and judging.mode != "single":
        raise UsageError(
            "the official judge prompts ask about one statement at a time, and cannot be batched. "
            "Judge single statements, or use --prompts own."
        )
    return ask_together(judging.judge, [_answer_line(case, judging) for case in cases])


def _answer_line(case: Case, judging: Judging) -> Line[AnswerVerdict]:
    """Asks about the statements and, if the wording does not show it, whether it is an answer.

    What the wording shows (`abstention`), and what follows:

        sure     it does not answer, so it says and contradicts none of the statements
        unsure   a judge that reads prompts says whether it answers; None without its reply
        none     it answers

    With the authors' prompts every statement is nevertheless asked about, as in their script;
    that of a blank answer only if the judge reads prompts. The statements do not wait for
    the reply on whether there is an answer.
    """
    kind, by_prompt = abstention(case.answer), judging.judge.reads == "prompt"
    official = judging.prompts.name == "official"
    # An entailment model reads no prompt, neither the authors' nor ours.
    judged = (by_prompt or not case.blank) if official else kind != "sure"
    lines: list[Line[Any]] = [
        _abstention_line(case, judging, needed=kind == "unsure" and by_prompt)
    ]
    if judged:
        statement_line = _official_line if official else _own_line
        lines.append(statement_line(case, judging))

    outcome, *decided = yield from side_by_side(lines)
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
        return replace(verdict, by_judge=True, answered=None, reasons=(outcome.reason,))

    if _value(outcome) is False:
        return replace(
            verdict, by_judge=True, answered=False, how="abstained by the judge"
        )

    return replace(verdict, by_judge=True)


def _abstention_line(
    case: Case, judging: Judging, *, needed: bool
) -> Line[Outcome | None]:
    """Asks whether an answer is one, if that is needed; else the outcome is None."""
    if not needed:
        return None

    (outcome,) = yield [
        abstention_question(
            judging.prompts,
            f"{case.id}/answered",
            question=case.question,
            answer=case.answer,
        )
    ]
    return outcome


def _unasked(case: Case) -> Iterator[StatementVerdict]:
    """The statements as neither entailed nor contradicted, before any verdict."""
    return (
        StatementVerdict(name=name, stated=bool(text.strip()))
        for name, text in case.statements.items()
    )


def _own_line(case: Case, judging: Judging) -> Line[tuple[StatementVerdict, ...]]:
    """Gets a label for every statement that is not blank."""
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
    """Asks the authors' two questions about every statement, and only the second about nice-to-have ones."""
    # The label of an entailment model counts for both readings.
    script_reads_replies = judging.judge.reads == "prompt"
    texts = {"question": case.question, "answer": case.answer}
    questions: list[Question] = []
    for verdict in _unasked(case):
        for kind in ("entails", "contradicts") if verdict.must else ("contradicts",):
            strict, script = official_question(
                judging.prompts,
                f"{case.id}/{verdict.name}/{kind}",
                kind,
                statement=case.statements[verdict.name],
                **texts,
            )
            # A blank answer has no claims: our reading needs no reply.
            if not case.blank:
                questions.append(strict)
            if script_reads_replies:
                questions.append(script)

    outcomes = yield from answered(questions)
    return tuple(
        _official_verdict(case, verdict, outcomes) for verdict in _unasked(case)
    )


def _official_verdict(
    case: Case, verdict: StatementVerdict, outcomes: Mapping[str, Outcome]
) -> StatementVerdict:
    """Combines the two readings of the authors' prompts: ours, and that of their script.

    A blank answer needs no verdict of ours; the authors ask about it like any other.
    """
    names = [f"{case.id}/{verdict.name}/{kind}" for kind in ("entails", "contradicts")]
    strict = [outcomes.get(name) for name in names]
    script = [outcomes.get(f"{name}/official", outcomes.get(name)) for name in names]
    verdict = replace(
        verdict,
        entailed_official=_value(script[0]),
        contradicted_official=_value(script[1]),
        official_reasons=_reasons(script),
    )
    if case.blank:
        return verdict

    return replace(
        verdict,
        entailed=_value(strict[0]),
        contradicted=_value(strict[1]),
        reasons=_reasons(strict),
    )


def _reasons(outcomes: Sequence[Outcome | None]) -> tuple[str, ...]:
    missing = [outcome.reason for outcome in outcomes if isinstance(outcome, Unscored)]
    return tuple(CANNOT_TELL if reason == _TWO_WAY else reason for reason in missing)


def _value(outcome: Outcome | None) -> bool | None:
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


def statement_verdict(
    name: str, label: Label | None, *, reason: str = ""
) -> StatementVerdict:
    """Turns a label, or the reason for a missing one, into the verdict on a statement, official fields included.

    Example: `not_entailment` of a two-way judge means that it is not entailed, and
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
    """Checks a label, since verdicts may come from a file.

    The error does not quote the value, which may be text of a note.
    """
    label = next((label for label in LABELS if label == value), None)
    if label is None:
        raise UsageError(
            f"the verdict of the question {question_id} is none of {', '.join(LABELS)}. "
            "Correct the recorded verdicts."
        )
    return label


def _labels(outcome: Verdict, names: Sequence[str]) -> dict[str, Label]:
    """The labels of a batch by statement name, checked, since verdicts may come from a file."""
    value = outcome.value
    pairs = value if isinstance(value, tuple) else (None,)
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise UsageError(
            f"the verdict of the question {outcome.id} is no list of ids with labels. Correct the "
            "recorded verdicts."
        )
    labels = {str(key): _label(outcome.id, label) for key, label in pairs}
    return {name: labels[key] for key, name in _keys(names).items() if key in labels}
