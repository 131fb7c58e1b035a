"""Scores K-QA's answers by a judge's verdicts on the statements.

Manes et al. 2024, https://arxiv.org/abs/2401.14493, section 4, equations 1 and 2;
reference implementation: https://github.com/Itaymanes/K-QA, `evaluation/run_eval.py`.

    medical-tasks run --tasks kqa --model hf/MODEL --judge openai-api/HOST/MODEL
    medical-tasks score kqa --responses answers.jsonl

The `_official` metrics follow the authors' script: its rules for the judge's replies to
the authors' prompts. With other prompts there are none. A missing verdict decides
nothing: metrics that depend on it have no value, but limits, and the counts by which
`estimation` estimates them. Example: of four must-have statements two are entailed, one
is not, and one has no verdict, so that comprehensiveness lies between 2/4 and 3/4.

Our reading:

- our prompts; entailment judges: the label
- the authors' prompts: the closing claim of the reply; cut or unreadable replies are
  re-asked
- no must-have statements: no comprehensiveness
- blank statements: ignored
- abstentions: rule, then judge; entail nothing
- blank answers: entail nothing

`_official`:

- our prompts; entailment judges: none
- the authors' prompts: the first reply. Entailed: "true" in the last 20 characters,
  lower-cased, so "not true" counts; contradicted: "True" anywhere, so "the answer is
  true." does not count
- no must-have statements: adds 0 to the sum
- blank statements: asked and counted
- abstentions, blank answers: asked like any text
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from medical_tasks.benchmarks.kqa.judging import (
    CANNOT_TELL,
    AnswerVerdict,
    Case,
    StatementVerdict,
    judge_answers,
)
from medical_tasks.data.task_data import check_lengths
from medical_tasks.judges.base import Judging
from medical_tasks.judges.judged import count_verdicts
from medical_tasks.scoring.reasoning import as_written
from medical_tasks.spec import (
    Counts,
    Item,
    ItemScore,
    Plot,
    PlotPoint,
    Row,
    TaskSpec,
    Verdicts,
)

Limits = tuple[float, float]

_ANSWERED: Final = ("comprehensiveness_answered", "hallucination_rate_answered")
"""Means over the answered questions, as in the paper's table 4."""

_OFFICIAL_COUNTS: Final = ("hallucination_official", "hallucination_norm_official")


def _differs(statement: StatementVerdict) -> bool:
    ours = (statement.must and statement.entailed, statement.contradicted)
    theirs = (
        statement.must and statement.entailed_official,
        statement.contradicted_official,
    )
    return statement.stated and ours != theirs


_REMARKS: Final[Mapping[str, Callable[[StatementVerdict], bool]]] = {
    "missed": lambda statement: (
        statement.stated and statement.must and statement.entailed is False
    ),
    "contradicted": lambda statement: statement.stated and bool(statement.contradicted),
    "without a verdict": lambda statement: statement.stated and bool(statement.reasons),
    "official differs": _differs,
    "blank": lambda statement: not statement.stated,
}
"""The remarks of `why` about statements, with the condition of each."""


def score_items(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], *, judging: Judging
) -> list[ItemScore]:
    """Scores the answers to a task's items; all questions go to the judge together.

    `parsed` counts statements; `why` names them by importance and number, like the
    judge's questions.
    """
    check_lengths(task, items, responses)
    cases = [
        case_of(item.id, item.fields, response)
        for item, response in zip(items, responses, strict=True)
    ]

    return score_cases(
        cases,
        judge_answers(cases, judging),
        official=judging.prompts.name == "official",
    )


def score_cases(
    cases: Sequence[Case], verdicts: Sequence[AnswerVerdict], *, official: bool = False
) -> list[ItemScore]:
    """Scores answers by existing verdicts, a judge's or anybody's."""
    most = max((len(_stated(verdict)) for verdict in verdicts), default=0)
    return [
        item_score(case, verdict, most_statements=most, official=official)
        for case, verdict in zip(cases, verdicts, strict=True)
    ]


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, Limits]:
    """The limits of the counts of statements for an item without an answer.

    The item is treated as one that would have been answered. Its number of words is
    unknown.
    """
    texts = [*item.fields["must_have"], *item.fields["nice_to_have"]]
    stated = float(sum(bool(text.strip()) for text in texts))
    own = dict.fromkeys(
        ("hallucination_rate", "hallucination_rate_answered"), (0.0, stated)
    )

    return own | dict.fromkeys(_OFFICIAL_COUNTS, (0.0, float(len(texts))))


def case_of(name: str, fields: Row, response: str) -> Case:
    """A response with the fields by which it is judged: `must_have`, `nice_to_have`, and the question if there is one."""
    return Case(
        id=name,
        question=str(fields.get("question") or ""),
        answer=as_written(response),
        must_have=tuple(fields["must_have"] or ()),
        nice_to_have=tuple(fields["nice_to_have"] or ()),
    )


def item_score(
    case: Case, verdict: AnswerVerdict, *, most_statements: int, official: bool = False
) -> ItemScore:
    """Computes an item's score from the verdicts on its answer.

    Example: an answer entails must-have statement 0, contradicts must-have statement 1
    and does not mention nice-to-have statement 0. Comprehensiveness is 1/2, the share of
    entailed must-have statements; the hallucination rate is 1, the number of
    contradicted statements of either kind.

    Args:
        case: the answer.
        verdict: the verdicts on it.
        most_statements: the largest number of statements of all answers scored
            together; a mean over answered questions cannot be larger.
        official: whether the judge was asked with the authors' prompts, which adds the
            authors' metrics.
    """
    counts = _metric_counts(verdict, official=official)
    values = _uncounted(case, verdict, official=official)
    limits: dict[str, Limits] = {}
    if verdict.answered is None:
        limits = _limits_of_open(verdict, most_statements)
        values = {name: value for name, value in values.items() if name not in limits}

    score = ItemScore.counted(
        counts,
        id=case.id,
        values=values,
        limits=limits,
        parsed=_parsed(verdict, official=official),
        why=_why(verdict, official=official),
    )
    # Estimates of missing verdicts may not use statements that were not judged, nor
    # those of an answer that may not count at all.
    usable = {
        name: own
        for name, own in counts.items()
        if name == "answered" or (verdict.judged and name not in limits)
    }
    return replace(
        score, counts=usable, unscored=verdict.reason if score.limits else None
    )


def _stated(verdict: AnswerVerdict) -> list[StatementVerdict]:
    """The statements without blank ones, of which the release has three."""
    return [statement for statement in verdict.statements if statement.stated]


def _metric_counts(verdict: AnswerVerdict, *, official: bool) -> dict[str, Counts]:
    """The verdicts that each metric counts."""
    stated = _stated(verdict)
    comp = _counts(
        "share", [statement for statement in stated if statement.must], "entailed"
    )
    hall = _counts("count", stated, "contradicted")
    counts = {
        "comprehensiveness": comp,
        "hallucination_rate": hall,
        "comprehensiveness_answered": comp,
        "hallucination_rate_answered": hall,
        "contradicted": replace(hall, how="any"),
    }
    if official:
        counts |= _official_counts(verdict)
    if verdict.by_judge:
        counts["answered"] = _counts("count", [verdict], "answered")

    return counts


def _uncounted(
    case: Case, verdict: AnswerVerdict, *, official: bool
) -> dict[str, float]:
    """The values that depend on no verdict on a statement; nan for a metric without a denominator."""
    # Words are separated by white space, as in the paper (its physicians: 88.52 per
    # answer).
    values = {
        "answered": float(bool(verdict.answered)),
        "words": float(len(case.answer.split())),
    }
    if not _stated(verdict):
        values |= dict.fromkeys(
            (*_ANSWERED[1:], "hallucination_rate", "contradicted"), math.nan
        )

    if official and not any(statement.must for statement in verdict.statements):
        # A question without must-have statements adds nothing to the authors' sum, but
        # counts in the denominator.
        values["comprehensiveness_official"] = 0.0

    if verdict.answered is False:
        values |= dict.fromkeys((*_ANSWERED, "words"), math.nan)

    return values


def _limits_of_open(verdict: AnswerVerdict, most_statements: int) -> dict[str, Limits]:
    """Limits if it is undecided whether the answer counts at all.

    They are wide enough to leave the mean of the other answers unchanged.
    """
    limits: dict[str, Limits] = {"answered": (0.0, 1.0), "words": (0.0, math.inf)}
    stated = _stated(verdict)
    if any(statement.must for statement in stated):
        limits["comprehensiveness_answered"] = (0.0, 1.0)
    if stated:
        limits["hallucination_rate_answered"] = (0.0, float(most_statements))

    return limits


def _official_counts(verdict: AnswerVerdict) -> dict[str, Counts]:
    """Counts all statements, including blank ones, which the authors' prompts ask about."""
    must = [statement for statement in verdict.statements if statement.must]
    comp = _counts("share", must, "entailed_official")
    hall = _counts("count", verdict.statements, "contradicted_official")
    return {
        **dict.fromkeys(
            ("comprehensiveness_official", "comprehensiveness_norm_official"), comp
        ),
        **dict.fromkeys(_OFFICIAL_COUNTS, hall),
    }


def _counts(
    how: Literal["share", "count", "any"],
    judged: Sequence[StatementVerdict] | Sequence[AnswerVerdict],
    outcome: str,
) -> Counts:
    """Counts one field of verdicts, by the importance of statements; answers have none.

    Args:
        how: what the metric makes of hits, see `Counts`.
        judged: the verdicts on statements, or that on an answer.
        outcome: the field to count, such as `entailed`; None in it is a missing verdict.
    """
    by_kind: dict[str, list[StatementVerdict | AnswerVerdict]] = {}
    for verdict in judged:
        kind = (
            verdict.name.partition("/")[0]
            if isinstance(verdict, StatementVerdict)
            else ""
        )
        by_kind.setdefault(kind, []).append(verdict)

    leaves_open = any(
        getattr(verdict, outcome) is None and CANNOT_TELL in verdict.reasons
        for verdict in judged
    )
    verdicts = tuple(
        _verdicts(kind, members, outcome) for kind, members in by_kind.items()
    )
    return Counts(how=how, verdicts=verdicts, told=not leaves_open)


def _verdicts(
    kind: str, judged: Sequence[StatementVerdict | AnswerVerdict], outcome: str
) -> Verdicts:
    outcomes = [getattr(verdict, outcome) for verdict in judged]
    labels = [
        "entailment"
        if verdict.entailed
        else "contradiction"
        if verdict.contradicted
        else "neutral"
        for verdict in judged
        if isinstance(verdict, StatementVerdict) and None not in outcomes
    ]
    return count_verdicts(outcomes, kind, classes=labels)


def _tally(outcomes: Sequence[bool | None]) -> str:
    """The number of true outcomes, as a range if some are missing.

    Example:
        >>> _tally([True, False]), _tally([True, False, None])
        ('1', '1 to 2')
    """
    low, unknown = outcomes.count(True), outcomes.count(None)
    return f"{low} to {low + unknown}" if unknown else f"{low}"


def _parsed(verdict: AnswerVerdict, *, official: bool) -> str:
    """`must 3/4, nice 1/3, contradicted 0`; the authors do not ask if nice-to-have are entailed."""
    stated = _stated(verdict)
    tallies = []
    for kind in ("must",) if official else ("must", "nice"):
        entailed = [
            statement.entailed
            for statement in stated
            if statement.name.startswith(kind)
        ]
        tallies.append(f"{kind} {_tally(entailed)}/{len(entailed)}")

    contradicted = [statement.contradicted for statement in stated]
    return ", ".join([*tallies, f"contradicted {_tally(contradicted)}"])


def _why(verdict: AnswerVerdict, *, official: bool) -> str:
    """`abstained by the rule; missed: must/2 must/3; contradicted: nice/1`."""
    remarks = [verdict.how] if verdict.how else []
    if verdict.answered is None:
        remarks.append("answered or not: open")
    for what, holds in _REMARKS.items():
        names = [statement.name for statement in verdict.statements if holds(statement)]
        if names and (official or what != "official differs"):
            remarks.append(f"{what}: {' '.join(names)}")
    return "; ".join(remarks)


_TALLY: Final = re.compile(r"must (\d+)/(\d+), nice (\d+)/(\d+), contradicted (\d+)")
"""The form of `parsed` if all statements of an answer are decided."""


def statement_plots(rows: Sequence[Row]) -> list[Plot]:
    """Plots the shares of must-have and nice-to-have statements in all answers, from rows of `items.parquet`."""
    tallies = [
        (row["cluster"], _TALLY.fullmatch(str(row.get("parsed") or ""))) for row in rows
    ]
    shares: dict[str, list[tuple[float, str]]] = {}
    for cluster, tally in tallies:
        if tally is None:
            continue

        must, all_must, nice, all_nice, wrong = map(int, tally.groups())
        for label, count, total in (
            ("must-have, said", must, all_must),
            ("nice-to-have, said", nice, all_nice),
            ("of both, contradicted", wrong, all_must + all_nice),
        ):
            hits = [(float(number < count), cluster) for number in range(total)]
            shares.setdefault(label, []).extend(hits)

    points = tuple(_point(label, values) for label, values in shares.items() if values)
    if not points:
        return []

    note = (
        "Over all statements of all answers; the intervals allow for those of one answer not being "
        "independent."
    )
    if left_out := sum(tally is None for _, tally in tallies):
        note += (
            f" {left_out} answers are left out, of which not every statement has a verdict or none "
            "was asked for."
        )

    plot = Plot(
        title="Statements the answers say",
        x_label="Kind of statement",
        y_label="Share of statements",
        points=points,
        note=note,
    )
    return [plot]


def _point(label: str, values: Sequence[tuple[float, str]]) -> PlotPoint:
    from medical_tasks.scoring.means import proportion_interval

    hits, clusters = zip(*values, strict=True)
    share = proportion_interval(hits, clusters=clusters)

    return PlotPoint(
        label=label,
        value=share.value,
        low=share.ci_low,
        high=share.ci_high,
        n=len(values),
    )
