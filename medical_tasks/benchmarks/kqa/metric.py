"""Computes K-QA's metrics for a caller's answers: the core of `metrics/kqa`, without any framework.

The `lexical` judge (offline, not comparable with anybody's numbers) or the caller
labels the statements. Weights give the paper's general score (appendix A), the sum of
w(s) · f(label(s), relation) over an answer's statements. Its special cases are
comprehensiveness (weight 1 for entailed must-have statements, divided by the sum of the
weights) and the hallucination rate (weight 1 for all contradicted statements).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from medical_tasks.benchmarks.evaluate_metrics import (
    check_counts,
    figures_of_scores,
    item_of_row,
    judge_label,
    reduced_task,
)
from medical_tasks.benchmarks.kqa.abstention import abstention
from medical_tasks.benchmarks.kqa.judging import (
    AnswerVerdict,
    Case,
    StatementVerdict,
    statement_verdict,
)
from medical_tasks.benchmarks.kqa.scoring import case_of, score_cases
from medical_tasks.benchmarks.kqa.spec import KQA
from medical_tasks.judges.base import LABELS, Label
from medical_tasks.judges.judged import count_verdicts
from medical_tasks.judges.lexical import decide
from medical_tasks.runs.results import flat
from medical_tasks.spec import Counts, ItemScore, MetricSpec, Row

MISSING: Final = "no verdict given"

_AnswerWeights = Mapping[str, float] | Sequence[float]
Weights = Mapping[str, float] | Sequence[Sequence[float]]
"""Weights by importance (`must_have`, `nice_to_have`), or one per statement for each answer."""


def score_answers(
    answers: Sequence[str],
    references: Sequence[Row],
    *,
    verdicts: Sequence[Sequence[Label | None]] | None = None,
    weights: Weights | None = None,
    relation: str | Relation = "entails",
    normalised: bool = False,
) -> dict[str, object]:
    """Scores answers with the arguments and the result of `metrics/kqa`; `answers` are its predictions.

    Args:
        answers: the answers.
        references: the statements of each, `must_have` and `nice_to_have`.
        verdicts: for each answer one label per statement, must-have first, None for a
            missing one; by default the lexical judge's.
        weights: adds `weighted`, the paper's general score.
        relation: one of `RELATIONS`, or a function of a label.
        normalised: whether `weighted` is divided by the sum of the weights.
    """
    check_counts(answers, verdicts=verdicts)
    pairs = zip(answers, references, strict=True)
    cases = [
        case_of(str(row), reference, text)
        for row, (text, reference) in enumerate(pairs)
    ]
    labelled = [_lexical(case) for case in cases] if verdicts is None else verdicts
    labels = list(map(_checked, cases, labelled))
    judged = [
        _verdict(case, own_labels, by_caller=verdicts is not None)
        for case, own_labels in zip(cases, labels, strict=True)
    ]
    scores = score_cases(cases, judged)
    task = KQA.reporting(())
    if weights is not None:
        task = replace(task, metrics=(*task.metrics, _WEIGHTED))
        counts = [
            _weighted(case, own_labels, own_weights, relation, normalised)
            for case, own_labels, own_weights in zip(
                cases, labels, _weights_by_answer(weights, cases), strict=True
            )
        ]
        scores = list(map(_with_weighted, scores, judged, counts))

    items = [item_of_row(row, {}) for row, _ in enumerate(cases)]
    figures = figures_of_scores(reduced_task(task, lambda metric: True), items, scores)
    stated = [
        statement
        for verdict in judged
        for statement in verdict.statements
        if statement.stated
    ]
    coverage = {
        "answers": len(cases),
        "statements": len(stated),
        "missing": sum(bool(statement.reasons) for statement in stated),
    }

    return {
        "judge": judge_label("lexical", verdicts),
        **flat(figures),
        "coverage": coverage,
    }


_WEIGHTED: Final = MetricSpec(
    name="weighted",
    kind="mean",
    description="General score of appendix A: the weights of the statements that have the "
    "relation.",
    limits=(-math.inf, math.inf),
)


def _lexical(case: Case) -> list[Label | None]:
    if abstention(case.answer) == "sure":
        return ["neutral"] * len(case.statements)
    return [decide(case.answer, statement) for statement in case.statements.values()]


def _checked(case: Case, labels: Sequence[Label | None]) -> Sequence[Label | None]:
    where = f"verdicts of prediction {case.id}"
    if len(labels) != len(case.statements):
        raise ValueError(
            f"{where} must be one for each of its {len(case.statements)} statements, must-have "
            f"first; got {len(labels)}"
        )

    unknown = [label for label in labels if label not in (None, *LABELS)]
    if unknown:
        raise ValueError(
            f"{where} must be {', '.join(LABELS)} or None; got {unknown[0]!r}"
        )

    return labels


def _verdict(
    case: Case, labels: Sequence[Label | None], *, by_caller: bool
) -> AnswerVerdict:
    statements = tuple(
        statement_verdict(name, label, reason=MISSING)
        if text.strip()
        else StatementVerdict(name=name, stated=False)
        for (name, text), label in zip(case.statements.items(), labels, strict=True)
    )
    if abstention(case.answer) == "sure":
        how = "abstained by the rule" if case.answer.strip() else "empty"
        return AnswerVerdict(
            statements=statements, answered=False, how=how, judged=by_caller
        )

    return AnswerVerdict(statements=statements)


def _weights_by_answer(
    weights: Weights, cases: Sequence[Case]
) -> Sequence[_AnswerWeights]:
    if isinstance(weights, Mapping):
        return [weights] * len(cases)
    if len(weights) != len(cases):
        raise ValueError(
            f"weights must be by importance, or a list for each of {len(cases)} predictions; got "
            f"{len(weights)}"
        )
    return weights


def _weighted(
    case: Case,
    labels: Sequence[Label | None],
    weights: _AnswerWeights,
    relation: str | Relation,
    normalised: bool,
) -> Counts:
    """Counts the statements of an answer that are not blank."""
    by_statement = statement_weights(
        len(case.must_have), len(case.nice_to_have), weights
    )
    statements = zip(case.statements.items(), labels, by_statement, strict=True)
    stated = [
        (label, weight, name.partition("/")[0])
        for (name, text), label, weight in statements
        if text.strip()
    ]
    return weighted_counts(
        [label for label, _, _ in stated],
        [weight for _, weight, _ in stated],
        relation,
        normalised=normalised,
        kinds=[kind for _, _, kind in stated],
    )


def _with_weighted(
    score: ItemScore, verdict: AnswerVerdict, counts: Counts
) -> ItemScore:
    added = ItemScore.counted({"weighted": counts}, id=score.id)
    return replace(
        score,
        values={**score.values, **added.values},
        limits={**score.limits, **added.limits},
        counts={**score.counts, **added.counts} if verdict.judged else score.counts,
        unscored=(score.unscored or verdict.reason) if added.limits else score.unscored,
    )


Relation = Callable[[Label], bool | None]
"""Whether a label has a relation; None if the label leaves it open, as `not_entailment` leaves
contradiction."""

RELATIONS: Final[Mapping[str, Relation]] = {
    "entails": lambda label: label == "entailment",
    "does not entail": lambda label: label != "entailment",
    "contradicts": lambda label: (
        None if label == "not_entailment" else label == "contradiction"
    ),
    "does not contradict": lambda label: (
        None if label == "not_entailment" else label != "contradiction"
    ),
    "is neutral": lambda label: (
        None if label == "not_entailment" else label == "neutral"
    ),
    "is not neutral": lambda label: (
        None if label == "not_entailment" else label != "neutral"
    ),
}
"""The relations by name, each with its negation."""


def statement_weights(
    n_must_have: int, n_nice_to_have: int, weights: _AnswerWeights
) -> tuple[float, ...]:
    """Lists the weights of an answer's statements, must-have first, from weights by importance or by statement."""
    if isinstance(weights, Mapping):
        if set(weights) != {"must_have", "nice_to_have"}:
            raise ValueError(
                "weights by importance need the keys must_have and nice_to_have; got "
                f"{sorted(weights)}"
            )

        listed = (float(weights["must_have"]),) * n_must_have + (
            float(weights["nice_to_have"]),
        ) * n_nice_to_have
    else:
        listed = tuple(float(weight) for weight in weights)
        if len(listed) != n_must_have + n_nice_to_have:
            raise ValueError(
                f"weights must be one for each of {n_must_have} must-have and {n_nice_to_have} "
                "nice-to-have statements; "
                f"got {len(listed)}"
            )

    if not all(map(math.isfinite, listed)):
        raise ValueError(f"weights must be finite numbers; got {list(listed)}")

    return listed


def weighted_counts(
    labels: Sequence[Label | None],
    weights: Sequence[float],
    relation: str | Relation = "entails",
    *,
    normalised: bool = False,
    kinds: Sequence[str] = (),
) -> Counts:
    """Counts the labels of one answer's statements for its score.

    Known labels represent missing ones of the same kind. Weights may be negative (for a
    statement that an answer should not make) unless the score is divided by their sum
    (`normalised`).

    Example: with labels `entailment`, None and None and weights 2, 3 and -1 the score is
    2, and lies between 2 - 1 and 2 + 3.
    """
    if normalised and min(weights, default=0.0) < 0:
        raise ValueError(
            f"a normalised score needs weights of at least 0; got {min(weights)}"
        )

    if isinstance(relation, str):
        if relation not in RELATIONS:
            raise ValueError(
                f"relation must be one of {', '.join(RELATIONS)}; got {relation!r}"
            )

        relation = RELATIONS[relation]

    holds = [None if label is None else relation(label) for label in labels]
    verdicts = tuple(
        count_verdicts([hit], kind, weight=weight)
        for kind, hit, weight in zip(
            kinds or [""] * len(labels), holds, weights, strict=True
        )
    )
    # A label that leaves the relation open is not the same as a missing verdict.
    decisive = holds.count(None) == list(labels).count(None)

    return Counts(
        how="share" if normalised else "count", verdicts=verdicts, told=decisive
    )
