"""The numbers of K-QA for answers at hand: what `metrics/kqa` computes, without any framework.

Statements are labelled by the `lexical` judge (offline, not comparable with anybody's numbers) or by the caller. With weights it is
the paper's general score (appendix A), the sum of w(s) · f(label(s), relation) over an answer's statements: comprehensiveness is
its case of weight 1 for must-have statements that are entailed, by the sum of weights; hallucination rate of weight 1 for all
that are contradicted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from medical_tasks.benchmarks.kqa.abstention import abstention
from medical_tasks.benchmarks.kqa.judging import (
    AnswerVerdict,
    Case,
    StatementVerdict,
    statement_verdict,
)
from medical_tasks.benchmarks.kqa.scoring import case_of, item_score
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.judges.base import LABELS, Label
from medical_tasks.judges.lexical import GIVEN, LEXICAL, decide
from medical_tasks.runs.results import flat
from medical_tasks.runs.summary import summarise
from medical_tasks.spec import Counts, Item, ItemScore, MetricSpec, Verdicts

MISSING: Final = "no verdict given"

_OfAnswer = Mapping[str, float] | Sequence[float]
Weights = Mapping[str, float] | Sequence[Sequence[float]]
"""By importance (`must_have`, `nice_to_have`), or for each answer one a statement."""


def score_answers(
    answers: Sequence[str],
    references: Sequence[Mapping[str, Any]],
    *,
    verdicts: Sequence[Sequence[Label | None]] | None = None,
    weights: Weights | None = None,
    relation: str | Relation = "entails",
    normalised: bool = False,
) -> dict[str, Any]:
    """Scores answers: what `metrics/kqa` takes and returns, its predictions as `answers`.

    `verdicts`: for each answer a label a statement, must-have first, None where there is none; by default the lexical judge's.
    `weights` add `weighted`, the paper's general score, with a `relation` of `RELATIONS`, divided by their sum if `normalised`.
    """
    if verdicts is not None and len(verdicts) != len(answers):
        raise ValueError(
            f"verdicts must be as many as predictions, {len(answers)}; got {len(verdicts)}"
        )
    cases = [
        case_of(str(row), reference, answer)
        for row, (answer, reference) in enumerate(zip(answers, references, strict=True))
    ]
    labels = [
        _lexical(case) if verdicts is None else _given(case, verdicts[row])
        for row, case in enumerate(cases)
    ]
    known = [
        _verdict(case, of, given=verdicts is not None)
        for case, of in zip(cases, labels, strict=True)
    ]
    most = max((sum(one.stated for one in verdict.statements) for verdict in known), default=0)
    scores = [
        item_score(case, verdict, most_statements=most)
        for case, verdict in zip(cases, known, strict=True)
    ]
    task = replace(KQA.reporting(()), groups=())
    if weights is not None:
        if not isinstance(weights, Mapping) and len(weights) != len(cases):
            rule = f"must be by importance, or a list for each of {len(cases)} predictions"
            raise ValueError(f"weights {rule}; got {len(weights)}")
        laid: Sequence[_OfAnswer] = (
            [weights] * len(cases) if isinstance(weights, Mapping) else weights
        )
        task = replace(task, metrics=(*task.metrics, _WEIGHTED))
        scores = [
            _with_weighted(score, case, verdict, of, each, relation, normalised)
            for score, case, verdict, of, each in zip(
                scores, cases, known, labels, laid, strict=True
            )
        ]
    items = [Item(id=case.id, fields={}, groups={}, cluster=case.id) for case in cases]
    summary = summarise(task, items, {score.id: score for score in scores}, {}, recipe={})
    result: dict[str, Any] = {
        "judge": LEXICAL if verdicts is None else GIVEN,
        **flat(summary["metrics"]),
    }
    stated = [one for verdict in known for one in verdict.statements if one.stated]
    result["coverage"] = {
        "answers": len(cases),
        "statements": len(stated),
        "missing": sum(bool(one.reasons) for one in stated),
    }
    return result


_WEIGHTED: Final = MetricSpec(
    name="weighted",
    kind="mean",
    description="General score of appendix A: the weights of the statements that stand in the relation.",
    limits=(-math.inf, math.inf),
)


def _lexical(case: Case) -> list[Label | None]:
    if abstention(case.answer) == "sure":
        return ["neutral"] * len(case.statements)
    return [decide(case.answer, statement) for statement in case.statements.values()]


def _given(case: Case, labels: Sequence[Label | None]) -> list[Label | None]:
    where = f"verdicts of prediction {case.id}"
    if len(labels) != len(case.statements):
        raise ValueError(
            f"{where} must be one for each of its {len(case.statements)} statements, must-have first; got {len(labels)}"
        )
    unknown = [label for label in labels if label is not None and label not in LABELS]
    if unknown:
        raise ValueError(f"{where} must be {', '.join(LABELS)} or None; got {unknown[0]!r}")
    return list(labels)


def _verdict(case: Case, labels: Sequence[Label | None], *, given: bool) -> AnswerVerdict:
    statements = tuple(
        statement_verdict(name, label, reason=MISSING)
        if text.strip()
        else StatementVerdict(name=name, stated=False)
        for (name, text), label in zip(case.statements.items(), labels, strict=True)
    )
    if abstention(case.answer) == "sure":
        how = "abstained by the rule" if case.answer.strip() else "empty"
        return AnswerVerdict(statements=statements, answered=False, how=how, judged=given)
    return AnswerVerdict(statements=statements)


def _with_weighted(
    score: ItemScore,
    case: Case,
    verdict: AnswerVerdict,
    labels: Sequence[Label | None],
    weights: _OfAnswer,
    relation: str | Relation,
    normalised: bool,
) -> ItemScore:
    laid = statement_weights(len(case.must_have), len(case.nice_to_have), weights)
    stated = [each for each in zip(labels, laid, verdict.statements, strict=True) if each[2].stated]
    counts = weighted_counts(
        [label for label, _, _ in stated],
        [weight for _, weight, _ in stated],
        relation,
        normalised=normalised,
        kinds=[one.name.partition("/")[0] for _, _, one in stated],
    )
    made = ItemScore.counted({"weighted": counts}, id=score.id)
    return replace(
        score,
        values={**score.values, **made.values},
        limits={**score.limits, **made.limits},
        counts={**score.counts, **made.counts} if verdict.judged else score.counts,
        unscored=(score.unscored or verdict.reason) if made.limits else score.unscored,
    )


Relation = Callable[[Label], bool | None]
"""Whether a label stands in a relation; None when the label does not tell (`not_entailment` leaves contradiction open)."""

RELATIONS: Final[Mapping[str, Relation]] = {
    "entails": lambda label: label == "entailment",
    "does not entail": lambda label: label != "entailment",
    "contradicts": lambda label: None if label == "not_entailment" else label == "contradiction",
    "does not contradict": lambda label: (
        None if label == "not_entailment" else label != "contradiction"
    ),
    "is neutral": lambda label: None if label == "not_entailment" else label == "neutral",
    "is not neutral": lambda label: None if label == "not_entailment" else label != "neutral",
}
"""The relations by name, each with its negation."""


def statement_weights(
    n_must_have: int, n_nice_to_have: int, weights: _OfAnswer
) -> tuple[float, ...]:
    """Lays out the weights of an answer's statements, must-have first; `weights` are by importance, or one a statement."""
    if isinstance(weights, Mapping):
        if set(weights) != {"must_have", "nice_to_have"}:
            raise ValueError(
                f"weights by importance need the keys must_have and nice_to_have; got {sorted(weights)}"
            )
        laid = (float(weights["must_have"]),) * n_must_have + (
            float(weights["nice_to_have"]),
        ) * n_nice_to_have
    else:
        laid = tuple(float(weight) for weight in weights)
        if len(laid) != n_must_have + n_nice_to_have:
            raise ValueError(
                f"weights must be one for each of {n_must_have} must-have and {n_nice_to_have} nice-to-have statements; "
                f"got {len(laid)}"
            )
    if not all(map(math.isfinite, laid)):
        raise ValueError(f"weights must be finite numbers; got {list(laid)}")
    return laid


def weighted_counts(
    labels: Sequence[Label | None],
    weights: Sequence[float],
    relation: str | Relation = "entails",
    *,
    normalised: bool = False,
    kinds: Sequence[str] = (),
) -> Counts:
    """Counts the labels of one answer's statements for its score; known labels stand for missing ones of the same kind.

    Weights may be negative (a statement one had better not hear) unless the score is divided by their sum (`normalised`).
    """
    if normalised and min(weights, default=0.0) < 0:
        raise ValueError(f"a normalised score needs weights of at least 0; got {min(weights)}")
    if isinstance(relation, str):
        if relation not in RELATIONS:
            raise ValueError(f"relation must be one of {', '.join(RELATIONS)}; got {relation!r}")
        relation = RELATIONS[relation]
    holds = [None if label is None else relation(label) for label in labels]
    return Counts(
        how="share" if normalised else "count",
        verdicts=tuple(
            Verdicts(
                kind=kind,
                hits=int(bool(one)),
                known=int(one is not None),
                missing=int(one is None),
                weight=weight,
            )
            for kind, one, weight in zip(kinds or [""] * len(labels), holds, weights, strict=True)
        ),
        told=all(
            label is None or one is not None for label, one in zip(labels, holds, strict=True)
        ),
    )
