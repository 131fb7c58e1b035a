"""MEDCON, AlignScore chunks and F1-RadGraph."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.content_overlap import (
    RadGraphReward,
    best_and_mean,
    chunk_context,
    medcon,
    radgraph_reward,
)
from tests.case_tables import json_of, tables
from tests.support import SHARED, needs_shared

CASES = tables(__file__, "content_overlap")

CONCEPT = {"heart attack": frozenset({"C1"})}
CONCEPTS = st.dictionaries(
    st.sampled_from("abcde"),
    st.frozensets(st.sampled_from(["C1", "C2", "C3"]), min_size=1),
    max_size=5,
)


def test_medcon_counts_synonyms_of_a_concept() -> None:
    two_terms = {
        "heart attack": frozenset({"C1"}),
        "myocardial infarction": frozenset({"C1"}),
    }
    score, swapped = medcon(two_terms, CONCEPT), medcon(CONCEPT, two_terms)
    assert (score.precision, score.recall) == (2.0, 1.0)
    assert score.f1 == pytest.approx(4 / 3)
    assert swapped.f1 == pytest.approx(2 / 3)
    assert score.concept_f1 == swapped.concept_f1 == 1.0


def test_medcon_of_terms_with_several_concepts() -> None:
    score = medcon(
        {"cold": frozenset({"C1", "C2"})},
        {"cold": frozenset({"C2", "C3"}), "x": frozenset({"C4"})},
    )
    assert (score.precision, score.recall) == (0.5, 1.0)
    assert score.f1 == pytest.approx(2 / 3)
    assert (score.concept_precision, score.concept_recall, score.concept_f1) == (
        1 / 3,
        0.5,
        0.4,
    )


def test_medcon_without_concepts_is_0() -> None:
    for score in (medcon({}, {}), medcon(CONCEPT, {}), medcon({}, CONCEPT)):
        assert score.precision == score.recall == score.f1 == score.concept_f1 == 0


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(reference=CONCEPTS, prediction=CONCEPTS)
def test_laws_of_medcon(
    reference: dict[str, frozenset[str]], prediction: dict[str, frozenset[str]]
) -> None:
    score, swapped = medcon(reference, prediction), medcon(prediction, reference)
    assert 0 <= score.recall <= 1
    assert 0 <= score.concept_f1 <= 1
    assert score.concept_f1 == pytest.approx(swapped.concept_f1)
    assert score.concept_precision == swapped.concept_recall
    assert (score.f1 == 0) == (score.concept_f1 == 0)
    assert medcon(reference, reference).f1 == (1.0 if reference else 0.0)


def test_chunks_of_a_context_by_hand() -> None:
    assert chunk_context("One. Two.", ["One.", "Two."]) == ["One. Two."]
    assert chunk_context("", []) == [""]
    long = "word " * 400
    assert chunk_context(long, [long]) == [long]  # a sentence is never cut
    # 59 sentences of 15 words: 885 words ask for 3 chunks of 59 // 3 = 19 sentences,
    # and two are left.
    sentences = [f"{'word ' * 14}{number}." for number in range(59)]
    chunks = chunk_context(" ".join(sentences), sentences)
    assert [chunk.count(".") for chunk in chunks] == [19, 19, 19, 2]


def test_mean_of_the_best_chunks_by_hand() -> None:
    assert best_and_mean([[0.1, 0.9], [0.3, 0.2]]) == pytest.approx(0.6)
    assert best_and_mean([[-2.0, -1.0]]) == -1.0
    assert best_and_mean([]) == 0.0


@given(lengths=st.lists(st.integers(1, 200), max_size=30))
def test_chunks_hold_all_sentences_once_and_in_order(lengths: list[int]) -> None:
    sentences = ["w " * (length - 1) + "end." for length in lengths]
    context = " ".join(sentences)
    chunks = chunk_context(context, sentences)
    assert " ".join(chunks) == context
    assert len(chunks) >= min(max(1, len(sentences)), len(context.split()) // 350 + 1)


@pytest.mark.upstream
@needs_shared
def test_recorded_chunks_of_alignscore() -> None:
    file = SHARED / "fixtures" / "alignscore" / "expected.json"
    cases = json_of(file)["cases"]
    assert max(case["n_chunks"] for case in cases) == 7
    for case in cases:
        chunks = chunk_context(case["context"], case["context_sentences"])
        assert [len(chunk.split()) for chunk in chunks] == case["chunk_sizes_words"]


Annotation = dict[str, Any]


def annotation(*entities: tuple[str, str, list[tuple[str, int]]]) -> Annotation:
    """Returns an annotation of entities: tokens, label, and relations to other entities by number from 1."""
    return {
        "entities": {
            str(number): {
                "tokens": tokens,
                "label": label,
                "relations": [[kind, str(end)] for kind, end in relations],
            }
            for number, (tokens, label, relations) in enumerate(entities, start=1)
        }
    }


OPACITY = annotation(
    ("Opacity", "OBS", [("located_at", 2)]),
    ("Lower Lobe", "ANAT", []),
    ("left", "ANAT", [("modify", 2)]),
)
TWO_OPACITIES = annotation(
    ("opacity", "OBS", [("located_at", 2), ("located_at", 3)]),
    ("lower lobe", "ANAT", []),
    ("base", "ANAT", []),
    ("opacity", "OBS", []),
)
NOTHING = annotation()


@pytest.mark.upstream
@needs_shared
def test_recorded_rewards_of_radgraph() -> None:
    fixture = json_of(SHARED / "fixtures" / "metrics.json")["radgraph_reward"]
    annotations, pairs = fixture["annotations"], fixture["pairs"]
    assert len(pairs) == 25
    for pair in pairs:
        reward = radgraph_reward(annotations[pair["ref"]], annotations[pair["hyp"]])
        expected = [pair[name] for name in RadGraphReward._fields]
        assert reward == pytest.approx(expected, abs=1e-9), pair


def test_radgraph_by_hand() -> None:
    # simple: {opacity, lower lobe, left} and {opacity, lower lobe, base}: 2 of 3 and 3.
    # partial: opacity is there with and without a relation: 2 of 3 and 4. complete:
    # opacity to lower lobe, lower lobe alone: 2 of 3 and 5.
    reward = radgraph_reward(TWO_OPACITIES, OPACITY)
    assert reward == pytest.approx((2 / 3, 4 / 7, 1 / 2))
    present = annotation(("opacity", "OBS-DP", []))
    absent = annotation(("opacity", "OBS-DA", []))
    assert radgraph_reward(absent, present) == (0, 0, 0)
    for pair in ((NOTHING, NOTHING), (NOTHING, OPACITY), (OPACITY, NOTHING)):
        assert radgraph_reward(*pair) == (0, 0, 0)


def test_radgraph_with_exact_case() -> None:
    # Numbers of radgraph 0.1.18, rewards.py, for these annotations. It folds the case
    # of entities with relations in `complete` alone; of the first pair opacity to lower
    # lobe is shared (1 of 3 and 5), the lobe by itself is not.
    reward = radgraph_reward(TWO_OPACITIES, OPACITY, exact_case=True)
    assert reward == pytest.approx((0, 0, 1 / 4))
    upper = annotation(
        ("Opacity", "OBS", [("located_at", 2)]), ("Base", "ANAT", [("modify", 1)])
    )
    lower = annotation(
        ("opacity", "OBS", [("located_at", 2)]), ("base", "ANAT", [("modify", 1)])
    )
    assert radgraph_reward(upper, lower, exact_case=True) == (0, 0, 1)
    assert radgraph_reward(upper, lower) == (1, 1, 1)


@pytest.mark.parametrize(("output", "message"), CASES["what_is_no_annotation"])
def test_an_output_that_is_no_annotation_is_refused_without_its_text(
    output: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as error:
        radgraph_reward(OPACITY, output)
    assert "secret" not in str(error.value)


@st.composite
def reports(draw: st.DrawFn) -> Annotation:
    number = draw(st.integers(0, 4))
    entity = st.tuples(
        st.sampled_from(["a", "A", "b", "c d"]),
        st.sampled_from(["OBS", "ANAT"]),
        st.lists(
            st.tuples(
                st.sampled_from(["modify", "located_at"]),
                st.integers(1, max(1, number)),
            ),
            max_size=2,
        ),
    )
    return annotation(*[draw(entity) for _ in range(number)])


@given(first=reports(), second=reports(), exact=st.booleans())
def test_laws_of_radgraph(first: Annotation, second: Annotation, exact: bool) -> None:
    reward = radgraph_reward(first, second, exact_case=exact)
    assert reward == radgraph_reward(second, first, exact_case=exact)
    assert all(0 <= value <= 1 for value in reward)
    full = 1 if first["entities"] else 0
    assert radgraph_reward(first, first, exact_case=exact) == (full, full, full)
    # What is shared by a stricter rule is also shared by a looser one, and what is
    # shared by exact case also without regard to case.
    assert (reward.partial > 0) <= (reward.simple > 0)
    assert (reward.simple > 0) <= (radgraph_reward(first, second).simple > 0)
    renamed = {
        f"x{key}": {
            **entity,
            "relations": [[kind, f"x{end}"] for kind, end in entity["relations"]],
        }
        for key, entity in first["entities"].items()
    }
    assert radgraph_reward({"entities": renamed}, second, exact_case=exact) == reward
