"""Gets verdicts on answers: which of their statements an answer entails and contradicts, and whether it is one at all.

All questions about all answers go to the judge in one call; further rounds hold only what a batched reply left out. What got no
verdict stays None, never False. An empty answer entails and contradicts nothing, and nobody is asked (paper, section 4), nor about
a sure abstention or a blank statement (the release has three), unless the authors' prompts are used: they ask about every text.
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
from medical_tasks.judges.rounds import (
    Line,
    Outcome,
    answered,
    ask_together,
    in_batches,
    side_by_side,
)

_TWO_WAY = "judge: cannot tell not_entailment"  # a session's words for a label that decides nothing about a question


def judge_answers(cases: Sequence[Case], judging: Judging) -> list[AnswerVerdict]:
    """Asks a judge about answers; one verdict an answer, in order."""
    if len({case.id for case in cases}) != len(cases):
        raise UsageError("two items to judge have the same id. Give each item one response.")
    if judging.prompts.name == "official" and judging.mode != "single":
        raise UsageError(
            "the official judge prompts ask about one statement at a time, and cannot be batched. Judge single "
            "statements, or use --prompts own."
        )
    return ask_together(judging.judge, [_answer_line(case, judging) for case in cases])


def _answer_line(case: Case, judging: Judging) -> Line[AnswerVerdict]:
    kind, by_prompt = abstention(case.answer), judging.judge.reads == "prompt"
    official = judging.prompts.name == "official"
    # A judge of entailment reads no prompt, neither the authors' nor ours.
    judged = (by_prompt or not case.blank) if official else kind != "sure"
    unsure = kind == "unsure" and by_prompt
    line = _official_line if official else _own_line
    texts = {"question": case.question, "answer": case.answer}
    asked = [abstention_question(judging.prompts, f"{case.id}/answered", **texts)] if unsure else []
    lines: list[Line[Any]] = [answered(asked), *([line(case, judging)] if judged else [])]
    outcomes, *found = yield from side_by_side(lines)
    verdict = AnswerVerdict(statements=found[0] if judged else tuple(_unasked(case)), judged=judged)
    if case.blank:
        return replace(verdict, answered=False, how="empty", judged=False)
    if kind == "sure":
        return replace(verdict, answered=False, how="abstained by the rule")
    outcome = next(iter(outcomes.values()), None)
    if outcome is None or (isinstance(outcome, Unscored) and outcome.reason == NO_PAIR):
        return verdict
    if isinstance(outcome, Unscored):
        return replace(verdict, asked=True, answered=None, reasons=(outcome.reason,))
    if _value(outcome) is False:
        return replace(verdict, asked=True, answered=False, how="abstained by the judge")
    return replace(verdict, asked=True)


def _unasked(case: Case) -> Iterator[StatementVerdict]:
    return (
        StatementVerdict(name=name, stated=bool(text.strip()))
        for name, text in case.statements.items()
    )


def _own_line(case: Case, judging: Judging) -> Line[tuple[StatementVerdict, ...]]:
    """Gets a label for every statement that says something."""
    about = {"question": case.question, "answer": case.answer}
    texts = {name: text for name, text in case.statements.items() if text.strip()}

    def batch(round_name: str, names: Sequence[str]) -> Question:
        statements = [(key, texts[name]) for key, name in _keys(names).items()]
        return batched_question(
            judging.prompts, f"{case.id}/{round_name}", statements=statements, **about
        )

    labels: Mapping[str, Label | Unscored] = yield from in_batches(
        list(texts),
        judging,
        batch=batch,
        single=lambda name: single_question(
            judging.prompts, f"{case.id}/{name}", statement=texts[name], **about
        ),
        read_batch=_labels,
        read_single=lambda outcome: _label(outcome.id, outcome.value),
    )
    made = []
    for one in _unasked(case):
        found = labels.get(one.name)
        if isinstance(found, Unscored):
            one = statement_verdict(one.name, None, reason=found.reason)
        elif found is not None:
            one = statement_verdict(one.name, found)
        made.append(one)
    return tuple(made)


def _official_line(case: Case, judging: Judging) -> Line[tuple[StatementVerdict, ...]]:
    # Judges of entailment say a label; then it decides both as it is read and as their script does.
    # What a blank answer says is known: only the authors' decision is asked for.
    readings = slice(int(case.blank), 2 if judging.judge.reads == "prompt" else 1)
    questions: list[Question] = []
    for name, text in case.statements.items():
        for kind in ("entails", "contradicts") if name.startswith("must/") else ("contradicts",):
            texts = {"question": case.question, "answer": case.answer, "statement": text}
            asked: tuple[Question, ...] = official_question(
                judging.prompts, f"{case.id}/{name}/{kind}", kind, **texts
            )
            questions.extend(asked[readings])
    outcomes = yield from answered(questions)
    verdicts = []
    for one in _unasked(case):
        # Whether it is entailed is not asked of what is nice to have.
        names = [f"{case.id}/{one.name}/{kind}" for kind in ("entails", "contradicts")]
        sane = [outcomes.get(name) for name in names]
        theirs = [outcomes.get(f"{name}/official", outcomes.get(name)) for name in names]
        verdict = replace(
            one,
            entailed_official=_value(theirs[0]),
            contradicted_official=_value(theirs[1]),
            official_reasons=_reasons(theirs),
        )
        if not case.blank:
            verdict = replace(
                verdict,
                entailed=_value(sane[0]),
                contradicted=_value(sane[1]),
                reasons=_reasons(sane),
            )
        verdicts.append(verdict)
    return tuple(verdicts)


def _reasons(outcomes: Sequence[Outcome | None]) -> tuple[str, ...]:
    missing = [one.reason for one in outcomes if isinstance(one, Unscored)]
    return tuple(CANNOT_TELL if reason == _TWO_WAY else reason for reason in missing)


def _value(outcome: Outcome | None) -> bool | None:
    return verdict_bool(outcome) if isinstance(outcome, Verdict) else None


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
    def blank(self) -> bool:
        """Whether nothing is said."""
        return not self.answer.strip()

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
    entailed_official: bool | None = (
        False  # as the authors' script decides; `contradicted_official` likewise
    )
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
    answered: bool | None = (
        True  # whether it is an answer at all; None when that is not decided, for `reasons`
    )
    how: str = ""  # how an empty answer or an abstention was found; "" for an answer
    reasons: tuple[str, ...] = ()
    judged: bool = (
        True  # whether its statements were judged by what it says; a blank answer says nothing
    )
    asked: bool = False  # whether a judge was asked if it is an answer

    @property
    def reason(self) -> str | None:
        """The most frequent reason for what is not known, the first of several; None when all is known."""
        counts = Counter(
            (*self.reasons, *(reason for one in self.statements for reason in one.reasons))
        )
        counts = counts or Counter(
            reason for one in self.statements for reason in one.official_reasons
        )
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


def _keys(names: Sequence[str]) -> dict[str, str]:
    return {f"s{number}": name for number, name in enumerate(names, start=1)}


def _label(question_id: str, value: Any) -> Label:
    """Checks a label: verdicts may come from a file."""
    if value not in LABELS:
        raise UsageError(
            f"the verdict {value!r} of the question {question_id} is none of {', '.join(LABELS)}. Correct the recorded "
            "verdicts."
        )
    label: Label = value
    return label


def _labels(outcome: Verdict, names: Sequence[str]) -> dict[str, Label]:
    value = outcome.value
    if not isinstance(value, tuple) or not all(
        isinstance(pair, tuple) and len(pair) == 2 for pair in value
    ):
        raise UsageError(
            f"the verdict of the question {outcome.id} is no list of ids with labels. Correct the recorded verdicts."
        )
    found = {str(key): _label(outcome.id, label) for key, label in value}
    return {name: found[key] for key, name in _keys(names).items() if key in found}
