from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.medcalc_bench.fresh.chart import draw_person
from medical_tasks.benchmarks.medcalc_bench.fresh.quantities import Draw


def test_the_stream_is_the_one_that_was_always_drawn() -> None:
    # Recorded once: another value would mean other notes for the same seed.
    draw = Draw("7:1")
    assert [draw.whole(0, 999) for _ in range(6)] == [989, 719, 155, 390, 382, 859]
    assert Draw("7:1").shuffled("abcdef") == ["c", "e", "b", "a", "d", "f"]


@settings(max_examples=50, deadline=None)
@given(key=st.text(), low=st.integers(-50, 50), span=st.integers(0, 40))
def test_draws_keep_their_bounds_and_their_key(key: str, low: int, span: int) -> None:
    draw, again = Draw(key), Draw(key)
    for _ in range(20):
        value = draw.whole(low, low + span)
        assert low <= value <= low + span
        assert again.whole(low, low + span) == value
    choices = list(range(span + 1))
    assert draw.pick(choices) in choices
    assert sorted(draw.shuffled(choices)) == choices
    assert len(set(draw.some(choices, 5))) == min(5, len(choices))
    assert low <= draw.between(low, low + 1) < low + 1


def test_every_value_is_drawn() -> None:
    draw = Draw("even")
    counts = Counter(draw.whole(1, 4) for _ in range(2000))
    assert set(counts) == {1, 2, 3, 4}
    assert min(counts.values()) > 400
    assert not any(draw.chance(0.0) for _ in range(100))
    assert all(draw.chance(1.0) for _ in range(100))
    first = Counter(Draw(str(key)).shuffled("abc")[0] for key in range(900))
    assert min(first.values()) > 230


def test_ages_on_and_beside_the_limits() -> None:
    ages = Counter(draw_person(Draw(str(key)), 20, 95, near=(65, 75)).age for key in range(3000))
    assert min(ages) == 20
    assert max(ages) == 95
    for age in (64, 65, 66, 74, 75, 76):
        assert ages[age] > 2 * ages[40], age
    assert ages[65] > ages[64]


def test_a_person_is_described_by_sex_and_age() -> None:
    woman = draw_person(Draw("a"), 82, 82, sex="female")
    assert (woman.article, woman.described, woman.brief) == ("An", "82-year-old woman", "82 y F")
    assert woman.title.startswith("Ms ")
    assert woman.words["His"] == "Her"
    boy = draw_person(Draw("b"), 7, 7, sex="male")
    assert (boy.article, boy.described, boy.child) == ("A", "7-year-old boy", True)
    infant = draw_person(Draw("c"), 11, 11, sex="female", months=True)
    assert (infant.article, infant.described, infant.brief) == ("An", "11-month-old girl", "11 mo F")
