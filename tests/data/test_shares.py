from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.data.construction import parse_names, share_out, sheet_order
from medical_tasks.errors import MedicalTasksError


def test_the_papers_shares() -> None:
    # Appendix C.3: 1,000 questions, 333, 333 and 334.
    shares = share_out([str(each) for each in range(1000)], ("a", "b", "c"), overlap=0, seed=0)
    assert sorted(Counter(names[0] for names in shares.values()).values()) == [333, 333, 334]
    assert all(len(names) == 1 for names in shares.values())


@given(
    st.lists(st.integers(0, 999).map(str), min_size=1, max_size=40, unique=True),
    st.integers(2, 4),
    st.integers(0, 40),
    st.integers(0, 3),
)
@settings(deadline=None, max_examples=80)
def test_shares_are_equal_and_depend_on_ids_alone(ids: list[str], people: int, overlap: int, seed: int) -> None:
    names, overlap = "abcd"[:people], min(overlap, len(ids))
    shares = share_out(ids, tuple(names), overlap=overlap, seed=seed)
    assert share_out(ids[::-1], tuple(names), overlap=overlap, seed=seed) == shares
    decides = Counter(each[0] for each in shares.values())
    assert max(decides.values()) - min(decides[name] for name in names) <= 1
    assert sum(len(each) == people for each in shares.values()) == overlap
    assert sum(len(each) == 1 for each in shares.values()) == len(ids) - overlap
    seen = Counter(each for name in names for each in sheet_order(shares, name, seed=seed))
    assert seen == {each: people if len(shares[each]) > 1 else 1 for each in ids}


def test_overlaps_that_cannot_be() -> None:
    with pytest.raises(MedicalTasksError, match="from 0 to the number of questions, 2, got 3"):
        share_out(["1", "2"], ("a", "b"), overlap=3, seed=0)
    with pytest.raises(MedicalTasksError, match="agreement needs two"):
        share_out(["1", "2"], ("a",), overlap=1, seed=0)


@pytest.mark.parametrize("text", ["", "a,", "a,a", "a,A", "a b", "../x", "x" * 31, "-a"])
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(MedicalTasksError, match="--reviewers"):
        parse_names(text)
    assert parse_names("a, b-1") == ("a", "b-1")
