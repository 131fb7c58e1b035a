"""Items' scores, pooled by `results`, are the pooled metrics of `measures`: values and bounds, in all and by section."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.judging import UnitVerdict
from medical_tasks.benchmarks.doclens.measures import (
    FULL,
    METRICS,
    Limits,
    Section,
    SentenceVerdict,
    section_tallies,
    total,
)
from medical_tasks.benchmarks.doclens.pieces import SECTIONS
from medical_tasks.benchmarks.doclens.scoring import item_score
from medical_tasks.benchmarks.doclens.spec import TASKS
from medical_tasks.runs.results import summarise
from medical_tasks.spec import Item, ItemScore, TaskSpec

TASK = {task.name: task for task in TASKS}
OUTCOMES = st.sampled_from([True, False, None])
CLAIMS = st.one_of(st.none(), st.lists(OUTCOMES, max_size=4).map(tuple))


@st.composite
def _sentence(draw: st.DrawFn) -> SentenceVerdict:
    entailed = draw(OUTCOMES)
    supports = draw(st.lists(st.just(False) if entailed is False else OUTCOMES, max_size=3))
    return SentenceVerdict(entailed=entailed, supports=tuple(supports))


SECTION = st.builds(
    Section, reference_claims=CLAIMS, output_claims=CLAIMS, sentences=st.lists(_sentence(), max_size=3).map(tuple)
)
NOTES = st.lists(st.fixed_dictionaries(dict.fromkeys(SECTIONS, SECTION)), min_size=1, max_size=4)
TEXTS = st.lists(st.fixed_dictionaries({FULL: SECTION}), min_size=1, max_size=4)


def _verdict(section: Section) -> UnitVerdict:
    lists = (section.reference_claims, section.output_claims, *(one.supports for one in section.sentences))
    open_ = any(one is None or None in one for one in lists) or any(one.entailed is None for one in section.sentences)
    return UnitVerdict(
        section=section,
        reference_claims=None,
        output_claims=None,
        reasons=("judge: http 500",) if open_ else (),
    )


def _scores(notes: Sequence[Mapping[str, Section]]) -> list[ItemScore]:
    return [
        item_score(str(place), {name: _verdict(section) for name, section in note.items()})
        for place, note in enumerate(notes)
    ]


def _items(scores: Sequence[ItemScore]) -> list[Item]:
    return [Item(id=score.id, fields={}, groups={}, cluster=score.id) for score in scores]


def _pooled_task(name: str) -> TaskSpec:
    metrics = tuple(one for one in TASK[name].metrics if one.name in METRICS or one.part)
    return replace(TASK[name], metrics=metrics, groups=(), cluster=None)


def _pooled(sections: Iterable[Section]) -> dict[str, Limits]:
    return {name: tally.limits for name, tally in total(map(section_tallies, sections)).items()}


def _agree(entry: Mapping[str, float | None], limits: Limits) -> None:
    low, high = limits
    if math.isnan(low):
        assert entry["bound_low"] is entry["bound_high"] is entry["value"] is None
        return
    assert entry["bound_low"] == pytest.approx(low, abs=1e-12)
    assert entry["bound_high"] == pytest.approx(high, abs=1e-12)


@given(NOTES)
@settings(deadline=None, max_examples=60)
def test_notes(notes: list[dict[str, Section]]) -> None:
    scores = _scores(notes)
    task = _pooled_task("aci_bench")
    assert len(task.metrics) == 20
    summary = summarise(task, _items(scores), {score.id: score for score in scores}, {}, recipe={})
    for name, limits in _pooled(one for note in notes for one in note.values()).items():
        _agree(summary["metrics"][name], limits)
    for section in SECTIONS:
        for name, limits in _pooled(note[section] for note in notes).items():
            _agree(summary["breakdown"]["section"][section][name], limits)


@given(TEXTS)
@settings(deadline=None, max_examples=50)
def test_texts(notes: list[dict[str, Section]]) -> None:
    scores = _scores(notes)
    task = _pooled_task("mimic_rrs")
    assert len(task.metrics) == 4
    summary = summarise(task, _items(scores), {score.id: score for score in scores}, {}, recipe={})
    for name, limits in _pooled(one for note in notes for one in note.values()).items():
        _agree(summary["metrics"][name], limits)
    assert not any(name not in METRICS for score in scores for name in (*score.values, *score.limits))


def test_by_hand() -> None:
    # Claims 1 of 2, and one of which nobody said; 1 of 1 sentence of the one note, none of the other.
    first = Section(
        reference_claims=(True, False),
        output_claims=(True, None),
        sentences=(SentenceVerdict(entailed=True, supports=(True, False)),),
    )
    score = item_score("1", {FULL: _verdict(first)})
    assert score.values == {"claim_recall": 0.5, "citation_recall": 1.0, "citation_precision": 0.5}
    assert score.limits == {"claim_precision": (0.5, 1.0)}
    assert score.weights == {"claim_recall": 2, "claim_precision": 2, "citation_recall": 1, "citation_precision": 2}
    assert score.unscored == "judge: http 500"
    assert score.parsed == "recall 1/2, precision 1 to 2/2, sentences 1/1, citations 1/2"
    assert score.why == "judge: http 500"
    silent = item_score("2", {FULL: _verdict(Section(reference_claims=(False,), output_claims=()))})
    assert (silent.values["claim_recall"], silent.values["citation_recall"]) == (0.0, 0.0)
    assert math.isnan(silent.values["claim_precision"])
    assert math.isnan(silent.values["citation_precision"])
    assert silent.weights == {"claim_recall": 1, "claim_precision": 0, "citation_recall": 0, "citation_precision": 0}
    assert (silent.parsed, silent.why) == (
        "recall 0/1, precision 0/0, sentences 0/0, citations 0/0",
        "without sentences: full",
    )


def test_a_list_of_claims_that_could_not_be_made() -> None:
    section = Section(reference_claims=None, output_claims=(True,))
    score = item_score("1", {FULL: _verdict(section)})
    assert (score.limits["claim_recall"], score.weights["claim_recall"]) == ((0.0, 1.0), 30)
    assert score.parsed.startswith("recall 0 to 30/up to 30, precision 1/1")
    assert "no list of claims of the reference: full" in score.why


def test_without_citations_there_is_nothing_to_cite() -> None:
    section = Section(reference_claims=(True,), output_claims=(True,))
    score = item_score("1", {FULL: _verdict(section)}, cites=False)
    for name in METRICS[2:]:
        assert math.isnan(score.values[name])
        assert score.weights[name] == 0
    assert score.parsed == "recall 1/1, precision 1/1"
