"""Counts to shares: by hand, degenerate, and laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.benchmarks.archehr_qa.measures import Counts, count, factuality_values, positives
from medical_tasks.benchmarks.archehr_qa.spec import OFFICIAL, share_name

LABELS = {"1": "essential", "2": "supplementary", "3": "not-relevant", "4": "essential"}
NAN = math.nan


def test_positives() -> None:
    assert positives(LABELS, lenient=False) == ("1", "4")
    assert positives(LABELS, lenient=True) == ("1", "2", "4")
    assert positives({}, lenient=True) == ()


@pytest.mark.parametrize(
    ("cited", "counts", "shares"),
    [
        (("1", "4"), (2, 0, 0), (1.0, 1.0, 1.0)),
        (("4", "2", "9", "9"), (1, 2, 1), (1 / 3, 0.5, 0.4)),  # an unknown id is wrong; twice is once
        (("3",), (0, 1, 2), (0.0, 0.0, 0.0)),
        ((), (0, 0, 2), (NAN, 0.0, 0.0)),
    ],
)
def test_by_hand(cited: tuple[str, ...], counts: tuple[int, int, int], shares: tuple[float, float, float]) -> None:
    found = count(cited, positives(LABELS, lenient=False))
    assert found == Counts(*counts)
    values, weights = factuality_values("cited", {"strict": found})
    names = ("factuality_precision", "factuality_recall", "factuality")
    assert [values[name] for name in names] == pytest.approx(shares, nan_ok=True)
    hits, wrong, missed = counts
    assert [weights[name] for name in names] == [hits + wrong, hits + missed, 2 * hits + wrong + missed]
    macro = ("factuality_macro_precision", "factuality_macro_recall", "factuality_macro")
    assert [values[name] for name in macro] == pytest.approx(shares, nan_ok=True)
    assert not set(macro) & set(weights)


@pytest.mark.parametrize(
    ("kind", "counts", "ours", "theirs"),
    [
        ("cited", Counts(), (NAN, NAN, NAN), (0.0, 0.0, 0.0)),
        ("evidence", Counts(), (NAN, NAN, NAN), (1.0, 1.0, 1.0)),  # nothing named where nothing is right
        ("alignment", Counts(), (NAN, NAN, NAN), (0.0, 0.0, 0.0)),
        ("evidence", Counts(wrong=2), (0.0, NAN, 0.0), (0.0, 0.0, 0.0)),
        ("evidence", Counts(missed=2), (NAN, 0.0, 0.0), (0.0, 0.0, 0.0)),
    ],
)
def test_where_there_is_nothing(kind: str, counts: Counts, ours: tuple[float, ...], theirs: tuple[float, ...]) -> None:
    for official, wanted in ((False, ours), (True, theirs)):
        values, weights = factuality_values(kind, {"strict": counts}, official=official)
        for how in ("micro", "macro"):
            names = [share_name(kind, "strict", how, part) for part in ("precision", "recall", "f1")]
            found = [values[f"{name}{OFFICIAL if official else ''}"] for name in names]
            assert found == pytest.approx(wanted, nan_ok=True)
        assert set(weights) < set(values)
    unknown, _ = factuality_values(kind, {"strict": None}, official=True)
    assert all(map(math.isnan, unknown.values()))  # without a key nothing is right or wrong


_SETS = st.frozensets(st.integers(0, 8))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(_SETS, _SETS), min_size=1, max_size=6))
def test_laws(cases: list[tuple[frozenset[int], frozenset[int]]]) -> None:
    counts = [count(cited, right) for cited, right in cases]
    rows = [factuality_values("cited", {"strict": each}) for each in counts]
    together = sum(counts, Counts()).ratios()
    for name, part in (("factuality", "f1"), ("factuality_precision", "precision"), ("factuality_recall", "recall")):
        above = sum(values[name] * weights[name] for values, weights in rows if weights[name])
        assert above == pytest.approx(together[part][0])  # items add up to the pooled share
        assert sum(weights[name] for _, weights in rows) == together[part][1]
        assert all(0 <= values[name] <= 1 for values, weights in rows if weights[name])
    for (cited, right), each in zip(cases, counts, strict=True):
        swapped = count(right, cited)
        assert (swapped.hits, swapped.wrong, swapped.missed) == (each.hits, each.missed, each.wrong)
        assert (factuality_values("cited", {"strict": each})[0]["factuality"] == 1) == (cited == right != frozenset())
