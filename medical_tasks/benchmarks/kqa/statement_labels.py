"""Labels of statements: one call a statement, or all statements of an answer in one call.

A batched reply may leave statements out. Those are asked about again, together, and what is left out once more is asked about one
by one. So is a whole batch whose form is the trouble: no readable reply, a prompt too long, a judge that reads no prompts. A
batch that failed for another reason (the server, the budget) leaves its statements without a verdict: asking for each of
them would only fail eight times as often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from medical_tasks.benchmarks.kqa.judge_reading import batched_question, single_question
from medical_tasks.benchmarks.kqa.verdicts import Case
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import LABELS, Judging, Label, Question, Unscored, Verdict
from medical_tasks.judges.case import CUT, NO_PAIR, UNREADABLE

__all__ = ["Labels", "ask", "label_statements"]

Labels = Mapping[str, Label | Unscored]
"""Label or failure by `<case id>/<statement name>`."""

_FORM_REASONS: Final = (UNREADABLE, CUT, NO_PAIR, "judge: prompt too long")
"""Reasons that a smaller question may cure."""

_Wanted = dict[str, list[str]]
"""Case id to names of statements."""


def ask(judging: Judging, questions: Sequence[Question]) -> dict[str, Verdict | Unscored]:
    """Asks the judge, if there is anything to ask; outcomes by question id."""
    if not questions:
        return {}
    outcomes = judging.judge.ask(questions)
    return {question.id: outcome for question, outcome in zip(questions, outcomes, strict=True)}


def label_statements(
    cases: Sequence[Case], judging: Judging, also: Sequence[Question] = ()
) -> tuple[Labels, dict[str, Verdict | Unscored]]:
    """Gets a label for every statement that says something.

    Args:
        cases: answers with statements.
        judging: whom to ask, and in which mode.
        also: other questions, asked in the first round.

    Returns:
        The labels, and the outcomes of `also`.

    Raises:
        UsageError: A recorded verdict is no label.
    """
    by_id = {case.id: case for case in cases}
    wanted = {case.id: [name for name, text in case.statements.items() if text.strip()] for case in cases}
    if judging.mode == "single":
        outcomes = ask(judging, [*also, *_singles(by_id, wanted, judging)])
        others = {question.id: outcomes.pop(question.id) for question in also}
        return _labels(outcomes), others
    labels: dict[str, Label | Unscored] = {}
    others = {}
    singly: _Wanted = {}
    for round_name, extra in (("batch", also), ("batch-again", ())):
        outcomes = ask(judging, [*extra, *_batches(by_id, wanted, judging, round_name)])
        others |= {question.id: outcomes.pop(question.id) for question in extra}
        wanted = _take(wanted, outcomes, round_name, labels, singly)
    for case_id, names in wanted.items():
        singly.setdefault(case_id, []).extend(names)
    labels |= _labels(ask(judging, _singles(by_id, singly, judging)))
    return labels, others


def _take(
    wanted: _Wanted,
    outcomes: Mapping[str, Verdict | Unscored],
    round_name: str,
    labels: dict[str, Label | Unscored],
    singly: _Wanted,
) -> _Wanted:
    """Sorts a round's outcomes: into labels, into what has to be asked singly, and (returned) into what is asked again."""
    left_out: _Wanted = {}
    for case_id, names in wanted.items():
        if not names:
            continue
        outcome = outcomes[f"{case_id}/{round_name}"]
        if isinstance(outcome, Verdict):
            found = _pairs(outcome)
            labels |= {f"{case_id}/{name}": found[key] for name, key in _keys(names).items() if key in found}
            missing = [name for name, key in _keys(names).items() if key not in found]
            if missing:
                left_out[case_id] = missing
        elif outcome.reason in _FORM_REASONS:
            singly.setdefault(case_id, []).extend(names)
        else:
            labels |= {f"{case_id}/{name}": outcome for name in names}
    return left_out


def _keys(names: Sequence[str]) -> dict[str, str]:
    """The short ids that a batch calls its statements by."""
    return {name: f"s{number}" for number, name in enumerate(names, start=1)}


def _labels(outcomes: Mapping[str, Verdict | Unscored]) -> dict[str, Label | Unscored]:
    return {
        name: _label(outcome.id, outcome.value) if isinstance(outcome, Verdict) else outcome
        for name, outcome in outcomes.items()
    }


def _label(question_id: str, value: Any) -> Label:
    """Checks a label: verdicts may come from a file."""
    if value not in LABELS:
        raise UsageError(
            f"the verdict {value!r} of the question {question_id} is none of {', '.join(LABELS)}. Correct the recorded "
            "verdicts."
        )
    label: Label = value
    return label


def _pairs(outcome: Verdict) -> dict[str, Label]:
    value = outcome.value
    if not isinstance(value, tuple) or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        raise UsageError(
            f"the verdict of the question {outcome.id} is no list of ids with labels. Correct the recorded verdicts."
        )
    return {str(name): _label(outcome.id, label) for name, label in value}


def _batches(cases: Mapping[str, Case], wanted: _Wanted, judging: Judging, round_name: str) -> list[Question]:
    return [
        batched_question(
            judging.prompts,
            f"{case_id}/{round_name}",
            question=cases[case_id].question,
            answer=cases[case_id].answer,
            statements=[(key, cases[case_id].statements[name]) for name, key in _keys(names).items()],
        )
        for case_id, names in wanted.items()
        if names
    ]


def _singles(cases: Mapping[str, Case], wanted: _Wanted, judging: Judging) -> list[Question]:
    questions = []
    for case_id, names in wanted.items():
        case, statements = cases[case_id], cases[case_id].statements
        questions += [
            single_question(
                judging.prompts,
                f"{case_id}/{name}",
                question=case.question,
                answer=case.answer,
                statement=statements[name],
            )
            for name in names
        ]
    return questions
