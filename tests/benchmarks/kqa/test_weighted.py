"""The general score of appendix A, of which comprehensiveness and hallucination rate are special cases."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.benchmarks.kqa.judging import AnswerVerdict, Case, statement_verdict
from medical_tasks.benchmarks.kqa.metric import (
    RELATIONS,
    statement_weights,
    weighted_counts,
)
from medical_tasks.benchmarks.kqa.scoring import item_score
from medical_tasks.judges.base import LABELS, Label

THREE_WAY: tuple[Label, ...] = ("entailment", "neutral", "contradiction")
labels_of = st.lists(st.sampled_from(THREE_WAY), max_size=8)
weights_of = st.floats(min_value=-8, max_value=8, allow_nan=False)


class Score(NamedTuple):
    value: float
    low: float
    high: float
    missing: int


def weighted_score(
    labels: Any, weights: Any, relation: Any = "entails", *, normalised: bool = False
) -> Score:
    counts = weighted_counts(labels, weights, relation, normalised=normalised)
    low, high = counts.limits
    missing = sum(verdict.missing for verdict in counts.verdicts if verdict.weight)
    return Score(math.nan if missing else low, low, high, missing)


def test_scores_calculated_by_hand() -> None:
    labels: list[Label | None] = [
        "entailment",
        "contradiction",
        "neutral",
        "entailment",
    ]
    assert weighted_score(labels, [1, 2, 4, 8]).value == 9
    assert weighted_score(labels, [1, 2, 4, 8], "does not entail").value == 6
    assert weighted_score(labels, [1, 2, 4, 8], "contradicts").value == 2
    assert weighted_score(labels, [1, 2, 4, 8], "does not contradict").value == 13
    assert weighted_score(labels, [1, 2, 4, 8], "is neutral").value == 4
    assert weighted_score(labels, [1, 2, 4, 8], "is not neutral").value == 11
    assert weighted_score(labels, [1, 1, 1, 1], "entails", normalised=True).value == 0.5
    assert (
        weighted_score(labels, [3, -2, 0, -1], lambda label: label != "neutral").value
        == 0
    )
    score = weighted_score(["entailment", None, None], [2, 3, -1])
    assert math.isnan(score.value)
    assert (score.low, score.high, score.missing) == (1, 5, 2)
    two_way = weighted_score(["not_entailment", "entailment"], [1, 1], "contradicts")
    assert (two_way.low, two_way.high, two_way.missing) == (0, 1, 1)
    assert weighted_score(["not_entailment", "entailment"], [1, 1]).value == 1
    # A statement of weight 0 has no effect.
    assert weighted_score(["entailment", None], [1, 0], normalised=True).value == 1
    assert weighted_score([], []).value == 0
    empty = weighted_score([], [], normalised=True)
    assert math.isnan(empty.value)
    assert math.isnan(empty.low)
    assert math.isnan(weighted_score(["entailment"], [0], normalised=True).value)


@given(labels_of, labels_of, st.booleans())
def test_both_metrics_are_special_cases(
    must: Sequence[Label], nice: Sequence[Label], answered: bool
) -> None:
    statements = [statement_verdict(f"must/{i}", label) for i, label in enumerate(must)]
    statements += [
        statement_verdict(f"nice/{i}", label) for i, label in enumerate(nice)
    ]
    verdict = AnswerVerdict(statements=tuple(statements), answered=answered)
    case = Case(
        id="i",
        question="",
        answer="Rest.",
        must_have=("a",) * len(must),
        nice_to_have=("b",) * len(nice),
    )
    metrics = item_score(case, verdict, most_statements=len(statements)).values
    labels = [*must, *nice]
    comp = weighted_score(
        labels,
        statement_weights(len(must), len(nice), {"must_have": 1, "nice_to_have": 0}),
        "entails",
        normalised=True,
    )
    assert comp.value == pytest.approx(metrics["comprehensiveness"], nan_ok=True)
    hall = weighted_score(labels, [1] * len(labels), "contradicts")
    if labels:
        assert hall.value == metrics["hallucination_rate"]
    else:
        assert math.isnan(metrics["hallucination_rate"])


@given(
    st.lists(st.tuples(st.sampled_from([*LABELS, None]), weights_of), max_size=4),
    st.sampled_from(sorted(RELATIONS)),
)
def test_limits_are_those_of_all_completions(
    rows: list[tuple[Label | None, float]], relation: str
) -> None:
    weights = [weight for _, weight in rows]
    score = weighted_score([label for label, _ in rows], weights, relation)
    # A missing label may be any label; `not_entailment` any label but entailment.
    open_to = {None: THREE_WAY, "not_entailment": ("neutral", "contradiction")}
    choices = [open_to.get(label, (label,)) for label, _ in rows]
    values = [
        weighted_score(labels, weights, relation).value
        for labels in itertools.product(*choices)
    ]
    assert min(values) == pytest.approx(score.low)
    assert max(values) == pytest.approx(score.high)


@given(
    st.lists(st.tuples(st.sampled_from(THREE_WAY), weights_of), max_size=8),
    st.sampled_from(["entail", "contradict"]),
)
def test_a_relation_and_its_negation_add_up_to_all_weights(
    rows: list[tuple[Label, float]], verb: str
) -> None:
    labels, weights = [label for label, _ in rows], [weight for _, weight in rows]
    plain, negated = (
        weighted_score(labels, weights, name)
        for name in (f"{verb}s", f"does not {verb}")
    )
    assert plain.value + negated.value == pytest.approx(math.fsum(weights))


def test_statement_weights_and_wrong_values() -> None:
    assert statement_weights(2, 1, {"must_have": 1, "nice_to_have": 0.5}) == (1, 1, 0.5)
    assert statement_weights(1, 2, [3, 2, 1]) == (3, 2, 1)
    with pytest.raises(
        ValueError, match="need the keys must_have and nice_to_have; got \\['must'\\]"
    ):
        statement_weights(1, 1, {"must": 1})
    with pytest.raises(
        ValueError,
        match="one for each of 1 must-have and 1 nice-to-have statements; got 3",
    ):
        statement_weights(1, 1, [1, 2, 3])
    with pytest.raises(ValueError, match="weights must be finite numbers"):
        statement_weights(1, 0, [math.nan])
    with pytest.raises(
        ValueError, match="relation must be one of entails, .* got 'implies'"
    ):
        weighted_score(["neutral"], [1], "implies")
    with pytest.raises(
        ValueError, match="a normalised score needs weights of at least 0; got -1"
    ):
        weighted_score(["neutral"], [-1], normalised=True)
