"""MEDCON by hand, its slips, and the laws of the bounded F1 beside it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.content_overlap import medcon

CONCEPTS = st.dictionaries(
    st.sampled_from("abcde"), st.frozensets(st.sampled_from(["C1", "C2", "C3"]), min_size=1), max_size=5
)


def test_synonyms_in_the_reference_bring_it_above_one() -> None:
    synonyms = {"heart attack": frozenset({"C1"}), "myocardial infarction": frozenset({"C1"})}
    one = {"heart attack": frozenset({"C1"})}
    score = medcon(synonyms, one)
    assert (score.precision, score.recall) == (2.0, 1.0)
    assert score.f1 == pytest.approx(4 / 3)
    assert medcon(one, synonyms).f1 == pytest.approx(2 / 3)
    assert score.concept_f1 == medcon(one, synonyms).concept_f1 == 1.0


def test_one_shared_concept_of_several_is_enough_for_a_term() -> None:
    score = medcon({"cold": frozenset({"C1", "C2"})}, {"cold": frozenset({"C2", "C3"}), "x": frozenset({"C4"})})
    assert (score.precision, score.recall) == (0.5, 1.0)
    assert score.f1 == pytest.approx(2 / 3)
    assert (score.concept_precision, score.concept_recall, score.concept_f1) == (1 / 3, 0.5, 0.4)


@pytest.mark.parametrize(
    ("reference", "prediction"), [({}, {}), ({"a": frozenset({"C1"})}, {}), ({}, {"a": frozenset({"C1"})})]
)
def test_nothing_found_is_zero(reference: dict[str, frozenset[str]], prediction: dict[str, frozenset[str]]) -> None:
    score = medcon(reference, prediction)
    assert (score.precision, score.recall, score.f1, score.concept_f1) == (0, 0, 0, 0)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(reference=CONCEPTS, prediction=CONCEPTS)
def test_laws(reference: dict[str, frozenset[str]], prediction: dict[str, frozenset[str]]) -> None:
    score, swapped = medcon(reference, prediction), medcon(prediction, reference)
    assert 0 <= score.recall <= 1
    assert 0 <= score.concept_f1 <= 1
    assert score.concept_f1 == pytest.approx(swapped.concept_f1)
    assert score.concept_precision == swapped.concept_recall
    assert (score.f1 == 0) == (score.concept_f1 == 0)
    assert medcon(reference, reference).f1 == (1.0 if reference else 0.0)
