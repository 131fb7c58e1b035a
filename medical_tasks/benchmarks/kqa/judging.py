"""Gets verdicts on answers: which of their statements an answer entails and contradicts, and whether it is one at all.

All questions about all answers go to the judge in one call; further rounds hold only what a batched reply left out. What got no
verdict stays None, never False. An empty answer entails and contradicts nothing, and nobody is asked (paper, section 4), nor about
a sure abstention or a blank statement (the release has three), unless the authors' prompts are used: they ask about every text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from medical_tasks.benchmarks.kqa.abstention import Abstention, abstention
from medical_tasks.benchmarks.kqa.judge_prompts import (
    abstention_question,
    batched_question,
    official_question,
    single_question,
)
from medical_tasks.errors import UsageError
from medical_tasks.judges.base import LABELS, Judging, Label, Question, Unscored, Verdict, verdict_bool
from medical_tasks.judges.case import FORM_REASONS, NO_PAIR

_TWO_WAY = "judge: cannot tell not_entailment"
"""A session's words for a label that decides nothing about a question."""

_Outcomes = Mapping[str, Verdict | Unscored]


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Asks a judge about answers; one verdict an answer, in order."""
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
        outcomes = _ask(judging, [*unsure, *_official_questions(said, judging)])
        asked = {case.id for case in said}
        statements = [_official_verdicts(case, outcomes if case.id in asked else None) for case in cases]
    else:
        said = [case for case, kind in zip(cases, kinds, strict=True) if kind != "sure"]
        labels, outcomes = _label_statements(said, judging, unsure)
        asked = {case.id for case in said}
        statements = [_own_verdicts(case, labels if case.id in asked else None) for case in cases]
    return [
        _with_abstention(AnswerVerdict(statements=verdicts, judged=case.id in asked), case, kind, outcomes)
        for verdicts, case, kind in zip(statements, cases, kinds, strict=True)
    ]


def _own_verdicts(case: Case, labels: Labels | None) -> tuple[StatementVerdict, ...]:
    verdicts = []
    for name, text in case.statements.items():
        stated = bool(text.strip())
        found = labels[f"{case.id}/{name}"] if labels is not None and stated else None
        if found is None:
            verdicts.append(StatementVerdict(name=name, stated=stated))
        elif isinstance(found, Unscored):
            verdicts.append(statement_verdict(name, None, reason=found.reason))
        else:
            verdicts.append(statement_verdict(name, found))
    return tuple(verdicts)


def _official_questions(cases: Sequence[Case], judging: Judging) -> list[Question]:
    # Judges of entailment say a label; then it decides both as it is read and as their script does.
    readings = 2 if judging.judge.reads == "prompt" else 1
    questions: list[Question] = []
    for case in cases:
        for name, text in case.statements.items():
            for kind in ("entails", "contradicts") if name.startswith("must/") else ("contradicts",):
                texts = {"question": case.question, "answer": case.answer, "statement": text}
                asked = official_question(judging.prompts, f"{case.id}/{name}/{kind}", kind, **texts)
                questions.extend(asked[:readings])
    return questions


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
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


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


CANNOT_TELL: Final = "judge: cannot tell contradiction"
"""Reason of what a two-way judge leaves open."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An answer and what it is judged by."""

    id: str
    question: str
    answer: str  # as the patient would read it, with the white space around it that the authors' script sends too
    must_have: tuple[str, ...]
    nice_to_have: tuple[str, ...]

    @property
    def statements(self) -> dict[str, str]:
        """Name (`must/0`, `nice/2`) to text, must-have first."""
        must = {f"must/{number}": text for number, text in enumerate(self.must_have)}
        return must | {f"nice/{number}": text for number, text in enumerate(self.nice_to_have)}


@dataclass(frozen=True, kw_only=True)
class StatementVerdict:
    """What is known of one statement (`must/0`, `nice/2`); None is not known.

    Attributes:
        reasons: why something is not known; `official_reasons`: why the authors' script makes no decision.
    """

    name: str
    stated: bool = True  # whether it says anything; False for a blank one
    entailed: bool | None = False  # the authors' prompts do not ask this of nice-to-have statements
    contradicted: bool | None = False
    entailed_official: bool | None = False  # as the authors' script decides; `contradicted_official` likewise
    contradicted_official: bool | None = False
    reasons: tuple[str, ...] = ()
    official_reasons: tuple[str, ...] = ()

    @property
    def must(self) -> bool:
        """Whether it is a must-have statement."""
        return self.name.startswith("must/")


@dataclass(frozen=True, kw_only=True)
class AnswerVerdict:
    """What is known of one answer."""

    statements: tuple[StatementVerdict, ...]
    answered: bool | None = True  # whether it is an answer at all; None when that is not decided, for `reasons`
    how: str = ""  # how an empty answer or an abstention was found; "" for an answer
    reasons: tuple[str, ...] = ()
    judged: bool = True  # whether its statements were asked about; those of an empty answer are not
    asked: bool = False  # whether a judge was asked if it is an answer

    @property
    def reason(self) -> str | None:
        """The most frequent reason for what is not known, the first of several; None when all is known."""
        counts = Counter((*self.reasons, *(reason for one in self.statements for reason in one.reasons)))
        counts = counts or Counter(reason for one in self.statements for reason in one.official_reasons)
        return counts.most_common(1)[0][0] if counts else None


def statement_verdict(name: str, label: Label | None, *, reason: str = "") -> StatementVerdict:
    """Makes the verdict on a statement of a label, None for `reason`; the official decisions go by the label too."""
    entailed = None if label is None else label == "entailment"
    contradicted = None if label in (None, "not_entailment") else label == "contradiction"
    return StatementVerdict(
        name=name,
        entailed=entailed,
        contradicted=contradicted,
        entailed_official=entailed,
        contradicted_official=contradicted,
        reasons=(reason,) if label is None else (CANNOT_TELL,) if contradicted is None else (),
    )


Labels = Mapping[str, Label | Unscored]
"""Label or failure by `<case id>/<statement name>`."""

_Wanted = dict[str, list[str]]
"""Case id to names of statements."""


def _ask(judging: Judging, questions: Sequence[Question]) -> dict[str, Verdict | Unscored]:
    """Asks the judge, if there is anything to ask; outcomes by question id."""
    outcomes = judging.judge.ask(questions) if questions else ()
    return {question.id: outcome for question, outcome in zip(questions, outcomes, strict=True)}


def _label_statements(
    cases: Sequence[Case], judging: Judging, also: Sequence[Question]
) -> tuple[Labels, dict[str, Verdict | Unscored]]:
    """Gets a label for every statement that says something, and the outcomes of `also`, which is asked in the first round.

    What a batched reply leaves out is asked about again, together, and what is left out once more one by one. So is a whole batch
    whose form is the trouble: no readable reply, a prompt too long, a judge that reads no prompts. A batch that failed for another
    reason (the server, the budget) leaves its statements without a verdict: asking for each of them would only fail eight times as
    often.
    """
    by_id = {case.id: case for case in cases}
    wanted = {case.id: [name for name, text in case.statements.items() if text.strip()] for case in cases}
    labels: dict[str, Label | Unscored] = {}
    others: dict[str, Verdict | Unscored] = {}
    singly: _Wanted = {}
    for round_name in ("batch", "batch-again") if judging.mode == "batched" else ():
        outcomes = _ask(judging, [*also, *_batches(by_id, wanted, judging, round_name)])
        others |= {question.id: outcomes.pop(question.id) for question in also}
        also = ()
        wanted = _take(wanted, outcomes, round_name, labels, singly)
    for case_id, names in wanted.items():
        singly.setdefault(case_id, []).extend(names)
    outcomes = _ask(judging, [*also, *_singles(by_id, singly, judging)])
    others |= {question.id: outcomes.pop(question.id) for question in also}
    for name, outcome in outcomes.items():
        labels[name] = _label(outcome.id, outcome.value) if isinstance(outcome, Verdict) else outcome
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
        outcome = outcomes.get(f"{case_id}/{round_name}")  # there is none where nothing was wanted
        if isinstance(outcome, Verdict):
            found = _pairs(outcome)
            for name, key in _keys(names).items():
                if key in found:
                    labels[f"{case_id}/{name}"] = found[key]
                else:
                    left_out.setdefault(case_id, []).append(name)
        elif outcome is not None and outcome.reason in FORM_REASONS:
            singly.setdefault(case_id, []).extend(names)
        elif outcome is not None:
            labels |= {f"{case_id}/{name}": outcome for name in names}
    return left_out


def _keys(names: Sequence[str]) -> dict[str, str]:
    return {name: f"s{number}" for number, name in enumerate(names, start=1)}


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
        for name in names:
            texts = {"question": case.question, "answer": case.answer, "statement": statements[name]}
            questions.append(single_question(judging.prompts, f"{case_id}/{name}", **texts))
    return questions
