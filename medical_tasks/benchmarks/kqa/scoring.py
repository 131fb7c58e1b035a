"""Scores answers of K-QA by a judge's verdicts on their statements (Manes et al. 2024, section 4, equations 1 and 2).

The `_official` metrics are the authors' script's decisions, by its reading of what the judge replied to the authors'
prompts; with other prompts there are none. A verdict that is missing decides nothing: the metrics it could change are
absent, with the limits that they can have and the counts that `estimation` estimates them by.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from medical_tasks.benchmarks.kqa.judging import (
    CANNOT_TELL,
    AnswerVerdict,
    Case,
    StatementVerdict,
    judge_answers,
)
from medical_tasks.data.task_data import check_lengths
from medical_tasks.judges.base import Judging
from medical_tasks.scoring.reasoning import as_written
from medical_tasks.spec import Counts, Item, ItemScore, Plot, PlotPoint, TaskSpec, Verdicts

Limits = tuple[float, float]

_OFFICIAL_COUNTS = ("hallucination_official", "hallucination_norm_official")


def score_items(
    task: TaskSpec, items: Sequence[Item], responses: Sequence[str], *, judging: Judging
) -> list[ItemScore]:
    """Scores the answers to a task's items; all questions go to the judge together.

    `parsed` counts statements, `why` names them by importance and number, as the judge's questions do.
    """
    check_lengths(task, items, responses)
    cases = [
        case_of(item.id, item.fields, response)
        for item, response in zip(items, responses, strict=True)
    ]
    verdicts = judge_answers(cases, judging)
    most = max((sum(one.stated for one in verdict.statements) for verdict in verdicts), default=0)
    official = judging.prompts.name == "official"
    return [
        item_score(case, verdict, most_statements=most, official=official)
        for case, verdict in zip(cases, verdicts, strict=True)
    ]


def unanswered_limits(task: TaskSpec, item: Item) -> Mapping[str, Limits]:
    """What metrics could be on an item without an answer, for the counts of statements.

    The item is taken as one that would have been answered. How many words there would have been, nobody knows.
    """
    texts = [*item.fields["must_have"], *item.fields["nice_to_have"]]
    stated = float(sum(bool(text.strip()) for text in texts))
    sane = dict.fromkeys(("hallucination_rate", "hallucination_rate_answered"), (0.0, stated))
    return sane | dict.fromkeys(_OFFICIAL_COUNTS, (0.0, float(len(texts))))


def case_of(name: str, fields: Mapping[str, Any], response: str) -> Case:
    """A response with what it is judged by: `must_have` and `nice_to_have`, and the question where there is one."""
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
    """Makes an item's score of what is known of its answer.

    `most_statements` is the most of all answers scored together: a mean over answered questions cannot be larger. `official`:
    the judge was asked with the authors' prompts, so that there are the authors' figures too.
    """
    stated = [one for one in verdict.statements if one.stated]
    comp = _counts("share", [one for one in stated if one.must], "entailed")
    hall = _counts("count", stated, "contradicted")
    counts = {
        "comprehensiveness": comp,
        "hallucination_rate": hall,
        "comprehensiveness_answered": comp,
        "hallucination_rate_answered": hall,
        "contradicted": replace(hall, how="any"),
        **(_official_counts(verdict) if official else {}),
    }
    # Words as the paper counts them: what stands between white space (its physicians' 88.52 an answer).
    values = {"answered": float(bool(verdict.answered)), "words": float(len(case.answer.split()))}
    limits: dict[str, Limits] = {}
    if not stated:
        values |= dict.fromkeys(
            ("hallucination_rate", "hallucination_rate_answered", "contradicted"), math.nan
        )
    if official and not any(one.must for one in verdict.statements):
        # A question without must-have statements adds nothing to the authors' sum, and is divided by all the same.
        values["comprehensiveness_official"] = 0.0
    if verdict.answered is False:
        values |= dict.fromkeys(
            ("comprehensiveness_answered", "hallucination_rate_answered", "words"), math.nan
        )
    elif verdict.answered is None:
        # Whether it counts at all is open: limits wide enough for the mean of the others to stay as it is.
        limits = {"answered": (0.0, 1.0), "words": (0.0, math.inf)}
        if any(one.must for one in stated):
            limits["comprehensiveness_answered"] = (0.0, 1.0)
        if stated:
            limits["hallucination_rate_answered"] = (0.0, float(most_statements))
        values = {name: value for name, value in values.items() if name not in limits}
    if verdict.asked:
        known = verdict.answered is not None
        counts["answered"] = Counts(
            how="count",
            verdicts=(
                Verdicts(
                    hits=int(bool(verdict.answered)), known=int(known), missing=int(not known)
                ),
            ),
        )
    score = ItemScore.counted(
        counts,
        id=case.id,
        values=values,
        limits=limits,
        parsed=_parsed(verdict, official=official),
        why=_why(verdict, official=official),
    )
    # Statements that nobody was asked about stand for none that is missing; nor does what may not count at all.
    kept = {
        name: one
        for name, one in counts.items()
        if name == "answered"
        or (verdict.judged and not (verdict.answered is None and name in limits))
    }
    return replace(score, counts=kept, unscored=verdict.reason if score.limits else None)


def _official_counts(verdict: AnswerVerdict) -> dict[str, Counts]:
    """What the authors' figures are made of: all statements, blank ones too, about which their prompts ask as about others."""
    must = [one for one in verdict.statements if one.must]
    comp = _counts("share", must, "entailed_official")
    hall = _counts("count", verdict.statements, "contradicted_official")
    return {
        **dict.fromkeys(("comprehensiveness_official", "comprehensiveness_norm_official"), comp),
        **dict.fromkeys(_OFFICIAL_COUNTS, hall),
    }


def _counts(
    how: Literal["share", "count", "any"], statements: Sequence[StatementVerdict], outcome: str
) -> Counts:
    verdicts = []
    for kind, must in (("must", True), ("nice", False)):
        chosen = [one for one in statements if one.must is must]
        outcomes = [getattr(one, outcome) for one in chosen]
        missing = outcomes.count(None)
        if outcomes:
            verdicts.append(
                Verdicts(
                    kind=kind,
                    hits=outcomes.count(True),
                    known=len(outcomes) - missing,
                    missing=missing,
                    classes=dict(Counter(_label(one) for one in chosen)) if not missing else {},
                )
            )
    told = not any(
        getattr(one, outcome) is None and CANNOT_TELL in one.reasons for one in statements
    )
    return Counts(how=how, verdicts=tuple(verdicts), told=told)


def _label(one: StatementVerdict) -> str:
    return "entailment" if one.entailed else "contradiction" if one.contradicted else "neutral"


def _tally(outcomes: Iterable[bool | None]) -> str:
    """How many are true, as a range where some are not known."""
    known = list(outcomes)
    low, unknown = known.count(True), known.count(None)
    return f"{low} to {low + unknown}" if unknown else f"{low}"


def _parsed(verdict: AnswerVerdict, *, official: bool) -> str:
    """`must 3/4, nice 1/3, contradicted 0`; the authors' prompts do not ask whether nice-to-have statements are entailed."""
    stated = [one for one in verdict.statements if one.stated]
    must, nice = [one for one in stated if one.must], [one for one in stated if not one.must]
    parts = [("must", must)] if official else [("must", must), ("nice", nice)]
    said = [f"{kind} {_tally(one.entailed for one in of)}/{len(of)}" for kind, of in parts]
    return ", ".join([*said, f"contradicted {_tally(one.contradicted for one in stated)}"])


def _why(verdict: AnswerVerdict, *, official: bool) -> str:
    stated = [one for one in verdict.statements if one.stated]
    named = {
        "missed": [one.name for one in stated if one.must and one.entailed is False],
        "contradicted": [one.name for one in stated if one.contradicted],
        "without a verdict": [one.name for one in stated if one.reasons],
        "official differs": [one.name for one in verdict.statements if official and _differs(one)],
        "blank": [one.name for one in verdict.statements if not one.stated],
    }
    parts = [verdict.how] if verdict.how else []
    parts += ["answered or not: open"] if verdict.answered is None else []
    parts += [f"{what}: {' '.join(names)}" for what, names in named.items() if names]
    return "; ".join(parts)


def _differs(one: StatementVerdict) -> bool:
    entailed = one.must and one.entailed != one.entailed_official
    return one.stated and (entailed or one.contradicted != one.contradicted_official)


_TALLY: Final = re.compile(r"must (\d+)/(\d+), nice (\d+)/(\d+), contradicted (\d+)")
"""How `parsed` counts an answer's statements, where all of them are decided."""


def statement_plots(rows: Sequence[Mapping[str, Any]]) -> list[Plot]:
    """How many must-have and nice-to-have statements the answers say, all answers together, from rows of `items.parquet`."""
    from medical_tasks.scoring.means import proportion_interval

    tallies = [(row["cluster"], _TALLY.fullmatch(str(row.get("parsed") or ""))) for row in rows]
    said: dict[str, list[tuple[float, str]]] = {}
    for cluster, tally in tallies:
        if tally is None:
            continue
        must, all_must, nice, all_nice, wrong = map(int, tally.groups())
        for label, count, total in (
            ("must-have, said", must, all_must),
            ("nice-to-have, said", nice, all_nice),
            ("of both, contradicted", wrong, all_must + all_nice),
        ):
            said.setdefault(label, []).extend(
                (float(number < count), cluster) for number in range(total)
            )
    points = []
    for label, values in said.items():
        if values:
            found = proportion_interval(
                [value for value, _ in values], clusters=[cluster for _, cluster in values]
            )
            points.append(
                PlotPoint(
                    label=label,
                    value=found.value,
                    low=found.ci_low,
                    high=found.ci_high,
                    n=len(values),
                )
            )
    if not points:
        return []
    note = "Over all statements of all answers; the intervals allow for those of one answer not being independent."
    if left_out := sum(tally is None for _, tally in tallies):
        note += f" {left_out} answers are left out, of which not every statement has a verdict or none was asked for."
    return [
        Plot(
            title="Statements the answers say",
            x_label="Kind of statement",
            y_label="Share of statements",
            points=tuple(points),
            note=note,
        )
    ]
