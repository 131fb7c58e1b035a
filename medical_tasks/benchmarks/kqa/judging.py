"""Gets verdicts on answers: which of their statements an answer entails and contradicts, and whether it is one at all.

All questions about all answers go to the judge in one call, so that it can work on many at once; further rounds hold only what
a batched reply left out. What got no verdict stays without one.

- An empty answer entails and contradicts nothing; nobody is asked (paper, section 4: an empty premise).
- A sure abstention (`abstention`) likewise, unless the authors' prompts are used: they ask about every text.
- A blank statement (the release has three) says nothing. Only the authors' prompts ask about it, for the official metrics;
  everything else leaves it out.
- Where the rule is not sure of an abstention, a judge that reads prompts is asked; for judges of entailment it is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from medical_tasks.benchmarks.kqa.abstention import Abstention, abstention
from medical_tasks.benchmarks.kqa.judge_reading import abstention_question, official_question
from medical_tasks.benchmarks.kqa.statement_labels import Labels, ask, label_statements
from medical_tasks.benchmarks.kqa.verdicts import CANNOT_TELL, AnswerVerdict, Case, StatementVerdict, statement_verdict
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import Judging, Question, Unscored, Verdict
from medical_tasks.judges.case import NO_PAIR

__all__ = ["CANNOT_TELL", "AnswerVerdict", "Case", "StatementVerdict", "judge_answers"]

_TWO_WAY = "judge: cannot tell not_entailment"
"""A session's words for a label that decides nothing about a question."""

_Outcomes = Mapping[str, Verdict | Unscored]


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Asks a judge about answers.

    Args:
        cases: the answers.
        judging: whom to ask, with which texts, one by one or batched.

    Returns:
        A verdict an answer, in order.

    Raises:
        UsageError: Official prompts batched, two cases of the same id, or recorded verdicts of another kind.
    """
    if len({case.id for case in cases}) != len(cases):
        raise UsageError("two items to judge have the same id. Give each item one response.")
    kinds = [abstention(case.answer) for case in cases]
    unsure = [
        abstention_question(judging.prompts, f"{case.id}/answered", question=case.question, answer=case.answer)
        for case, kind in zip(cases, kinds, strict=True)
        if kind == "unsure" and judging.judge.reads == "prompt"
    ]
    if judging.prompts.name == "official":
        if judging.mode != "single":
            raise UsageError(
                "the official judge prompts ask about one statement at a time, and cannot be batched. Judge single "
                "statements, or use --prompts own."
            )
        said = [case for case in cases if case.answer.strip()]
        outcomes = ask(judging, [*unsure, *_official_questions(said, judging)])
        asked = {case.id for case in said}
        statements = [_official_verdicts(case, outcomes if case.id in asked else None) for case in cases]
    else:
        said = [case for case, kind in zip(cases, kinds, strict=True) if kind != "sure"]
        labels, outcomes = label_statements(said, judging, unsure)
        asked = {case.id for case in said}
        statements = [_own_verdicts(case, labels if case.id in asked else None) for case in cases]
    return [
        _with_abstention(AnswerVerdict(statements=verdicts, judged=case.id in asked), case, kind, outcomes)
        for verdicts, case, kind in zip(statements, cases, kinds, strict=True)
    ]


def _own_verdicts(case: Case, labels: Labels | None) -> tuple[StatementVerdict, ...]:
    verdicts = []
    for name, text in case.statements.items():
        if labels is None or not text.strip():
            verdicts.append(StatementVerdict(name=name, stated=bool(text.strip())))
            continue
        found = labels[f"{case.id}/{name}"]
        verdicts.append(
            statement_verdict(name, None, reason=found.reason)
            if isinstance(found, Unscored)
            else statement_verdict(name, found)
        )
    return tuple(verdicts)


def _official_questions(cases: Sequence[Case], judging: Judging) -> list[Question]:
    by_text = judging.judge.reads == "prompt"  # judges of entailment say a label; then it decides both
    return [
        question
        for case in cases
        for name, text in case.statements.items()
        for kind in (("entails", "contradicts") if name.startswith("must/") else ("contradicts",))
        for question in official_question(
            judging.prompts,
            f"{case.id}/{name}/{kind}",
            kind,
            question=case.question,
            answer=case.answer,
            statement=text,
        )[: 2 if by_text else 1]
    ]


def _official_verdicts(case: Case, outcomes: _Outcomes | None) -> tuple[StatementVerdict, ...]:
    verdicts = []
    for name, text in case.statements.items():
        one = StatementVerdict(name=name, stated=bool(text.strip()))
        if outcomes is not None:
            # Whether it is entailed is not asked of what is nice to have.
            asked = [f"{case.id}/{name}/{kind}" for kind in ("entails", "contradicts")]
            sane = [outcomes.get(question) for question in asked]
            theirs = [outcomes.get(f"{question}/official", outcomes.get(question)) for question in asked]
            one = replace(
                one,
                entailed=_value(sane[0]),
                contradicted=_value(sane[1]),
                entailed_official=_value(theirs[0]),
                contradicted_official=_value(theirs[1]),
                reasons=_reasons(sane),
                official_reasons=_reasons(theirs),
            )
        verdicts.append(one)
    return tuple(verdicts)


def _reasons(outcomes: Sequence[Verdict | Unscored | None]) -> tuple[str, ...]:
    missing = [one.reason for one in outcomes if isinstance(one, Unscored)]
    return tuple(CANNOT_TELL if reason == _TWO_WAY else reason for reason in missing)


def _value(outcome: Verdict | Unscored | None) -> bool | None:
    if not isinstance(outcome, Verdict):
        return None
    if not isinstance(outcome.value, bool):  # it may come from a file
        raise UsageError(
            f"the verdict {outcome.value!r} of the question {outcome.id} is neither true nor false. Correct the recorded "
            "verdicts."
        )
    return outcome.value


def _with_abstention(verdict: AnswerVerdict, case: Case, kind: Abstention, outcomes: _Outcomes) -> AnswerVerdict:
    if not case.answer.strip():
        return replace(verdict, answered=False, how="empty")
    if kind == "sure":
        return replace(verdict, answered=False, how="abstained by the rule")
    outcome = outcomes.get(f"{case.id}/answered")
    if outcome is None or (isinstance(outcome, Unscored) and outcome.reason == NO_PAIR):
        return verdict
    if isinstance(outcome, Unscored):
        return replace(verdict, asked=True, answered=None, reasons=(outcome.reason,))
    if _value(outcome) is False:
        return replace(verdict, asked=True, answered=False, how="abstained by the judge")
    return replace(verdict, asked=True)
