"""The four metrics: by hand, with verdicts missing, of nothing, and the laws that the definitions imply."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.doclens.measures import (
    METRICS,
    Limits,
    Section,
    SentenceVerdict,
    meqsum_section,
    section_tallies,
    total,
)

NAN = (math.nan, math.nan)
KNOWN = {"t": True, "f": False, "?": None}


def _claims(letters: str | None) -> tuple[bool | None, ...] | None:
    return None if letters is None else tuple(KNOWN[letter] for letter in letters)


def _section(reference: str | None, output: str | None, *sentences: str) -> Section:
    """Writes a section by letters; a sentence is its own letter and those of its citations (`t:tf`)."""
    verdicts = tuple(
        SentenceVerdict(entailed=KNOWN[sentence[0]], supports=_claims(sentence[2:]) or ()) for sentence in sentences
    )
    return Section(reference_claims=_claims(reference), output_claims=_claims(output), sentences=verdicts)


def _limits(*sections: Section) -> list[Limits]:
    tallies = total(section_tallies(section, str(place)) for place, section in enumerate(sections))
    assert tuple(tallies) == METRICS
    return [tally.limits for tally in tallies.values()]


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True))


def test_by_hand() -> None:
    # Claims 2 of 3 and 1 of 2; sentences 2 of 4 (the third cites nothing); citations 3 of 5.
    section = _section("ttf", "tf", "t:ttf", "t:t", "f:", "f:f")
    assert _limits(section) == [(2 / 3, 2 / 3), (0.5, 0.5), (0.5, 0.5), (3 / 5, 3 / 5)]


def test_no_citation_supports_an_unsupported_sentence() -> None:
    with pytest.raises(ValueError, match="no citation supports a sentence that its citations do not entail"):
        SentenceVerdict(entailed=False, supports=(None,))


def test_missing_verdicts_are_limits() -> None:
    section = _section("t?f?", "??", "t:t?", "?:?f")
    assert _limits(section) == [(0.25, 0.75), (0.0, 1.0), (0.5, 1.0), (0.25, 0.75)]


def test_claims_that_could_not_be_made_may_be_up_to_thirty() -> None:
    missing = _section("t", None, "t:t")
    assert _limits(missing)[1] == (0.0, 1.0)
    # Beside two known claims of which one is entailed: 1 of 32 to 31 of 32.
    assert _limits(missing, _section("t", "tf", "t:t"))[1] == (1 / 32, 31 / 32)
    assert _limits(_section(None, "t", "t:t"))[0] == (0.0, 1.0)


def test_an_empty_output_has_recall_0_and_no_precision() -> None:
    recall, precision, cited, precise = _limits(_section("fff", ""))
    assert (recall, cited) == ((0.0, 0.0), (0.0, 0.0))
    assert _same(precision, NAN)
    assert _same(precise, NAN)


def test_an_empty_output_where_nothing_was_to_be_said_has_nothing() -> None:
    assert all(_same(limits, NAN) for limits in _limits(_section("", "")))


def test_an_output_where_nothing_was_to_be_said() -> None:
    recall, *others = _limits(_section("", "ff", "f:"))
    assert _same(recall, NAN)
    assert others[:2] == [(0.0, 0.0), (0.0, 0.0)]
    assert _same(others[2], NAN)  # nothing is cited


def test_no_examples() -> None:
    assert all(_same(limits, NAN) for limits in _limits())


def test_sections_and_the_pool_count_claims_not_examples() -> None:
    # The checked case "gpt_two_sections": pooled in a section, and over all; but an uncited sentence is nan, not 0, of nothing.
    subjective = _section("tft", "tttf", "t:tft", "f:f"), _section("ff", "t", "f:")
    plan = _section("t", "", "t:tt"), _section("", "")
    assert [limits[0] for limits in _limits(*subjective)] == [0.4, 0.8, 1 / 3, 0.5]
    recall, precision, *cited = _limits(*plan)
    assert (recall, cited) == ((1.0, 1.0), [(1.0, 1.0)] * 2)
    assert math.isnan(precision[0])  # 0 in the authors' script
    assert [limits[0] for limits in _limits(*subjective, *plan)] == [0.5, 0.8, 0.5, 2 / 3]


@pytest.mark.parametrize(
    ("recall", "precision", "same", "values"),
    [
        (True, False, False, ((1, 1), (0, 0))),
        (False, True, False, ((0, 0), (1, 1))),
        (False, False, True, ((1, 1), (1, 1))),
        (False, False, False, ((0, 0), (0, 0))),
        (None, True, False, ((0, 1), (1, 1))),
        (None, None, True, ((1, 1), (1, 1))),  # sameness decides, whatever is missing
        (True, False, None, ((1, 1), (0, 1))),
    ],
)
def test_meqsum(recall: bool | None, precision: bool | None, same: bool | None, values: tuple[Limits, Limits]) -> None:
    assert tuple(_limits(meqsum_section(recall=recall, precision=precision, same=same))[:2]) == values


def test_everything_right_is_1_in_all_four() -> None:
    perfect = _section("ttt", "tt", "t:t", "t:ttt")
    assert _limits(perfect, perfect) == [(1.0, 1.0)] * 4


OUTCOMES = st.sampled_from([True, False, None])
CLAIMS = st.one_of(st.none(), st.lists(OUTCOMES, max_size=5).map(tuple))


@st.composite
def _sentence(draw: st.DrawFn) -> SentenceVerdict:
    entailed = draw(OUTCOMES)
    supports = draw(st.lists(st.just(False) if entailed is False else OUTCOMES, max_size=3))
    return SentenceVerdict(entailed=entailed, supports=tuple(supports))


SECTIONS = st.builds(
    Section, reference_claims=CLAIMS, output_claims=CLAIMS, sentences=st.lists(_sentence(), max_size=4).map(tuple)
)


@given(st.lists(SECTIONS, max_size=4))
@settings(deadline=None, max_examples=150)
def test_limits_lie_in_order_between_0_and_1(sections: list[Section]) -> None:
    for low, high in _limits(*sections):
        assert 0 <= low <= high <= 1 or (math.isnan(low) and math.isnan(high))


@given(st.lists(SECTIONS, max_size=3))
@settings(deadline=None, max_examples=100)
def test_order_changes_nothing(sections: list[Section]) -> None:
    turned = [
        Section(
            reference_claims=_turned(section.reference_claims),
            output_claims=_turned(section.output_claims),
            sentences=tuple(
                SentenceVerdict(entailed=each.entailed, supports=each.supports[::-1])
                for each in section.sentences[::-1]
            ),
        )
        for section in sections[::-1]
    ]
    assert all(_same(one, other) for one, other in zip(_limits(*sections), _limits(*turned), strict=True))


def _turned(claims: tuple[bool | None, ...] | None) -> tuple[bool | None, ...] | None:
    return None if claims is None else claims[::-1]


@given(SECTIONS)
@settings(deadline=None, max_examples=150)
def test_a_verdict_that_is_missing_lies_within_what_it_can_be(section: Section) -> None:
    # Every way of filling in gives a value between the limits, and some reach both of them.
    if section.reference_claims is None or section.output_claims is None:
        return
    for place, claims in ((0, section.reference_claims), (1, section.output_claims)):
        low, high = _limits(section)[place]
        values = [_limits(Section(reference_claims=filled, output_claims=filled))[place] for filled in _filled(claims)]
        assert all(one == other or math.isnan(one) for one, other in values)
        if claims:
            assert (min(values)[0], max(values)[0]) == (low, high)


def _filled(claims: tuple[bool | None, ...]) -> list[tuple[bool, ...]]:
    return list(itertools.product(*[(False, True) if one is None else (one,) for one in claims]))


@given(SECTIONS, st.data())
@settings(deadline=None, max_examples=150)
def test_a_better_verdict_is_never_a_worse_score(section: Section, data: st.DataObject) -> None:
    better = Section(
        reference_claims=_improved(section.reference_claims, data),
        output_claims=_improved(section.output_claims, data),
        sentences=tuple(
            SentenceVerdict(entailed=True, supports=_improved(one.supports, data) or ())
            if data.draw(st.booleans())
            else one
            for one in section.sentences
        ),
    )
    for (low, high), (other_low, other_high) in zip(_limits(section), _limits(better), strict=True):
        assert math.isnan(low) is math.isnan(other_low)
        assert math.isnan(low) or (low <= other_low and high <= other_high)


def _improved(claims: tuple[bool | None, ...] | None, data: st.DataObject) -> tuple[bool | None, ...] | None:
    return None if claims is None else tuple(True if data.draw(st.booleans()) else one for one in claims)
