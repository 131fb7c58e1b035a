"""Hidden cells cannot be derived from the published figures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medical_tasks.site.suppression import (
    LEAST,
    hidden_groups,
    hidden_outcomes,
)

Cells = Mapping[str, tuple[int, int]]
tables = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=7
).map(lambda rows: {f"g{number}": row for number, row in enumerate(rows)})


def determined(cells: Cells, sizes: set[str], outcomes: set[str]) -> set[str]:
    """The cells that the published margins determine, by the rank of their system.

    Unknown are the right and wrong answers of each group. Published are both totals, the
    sizes of all groups except `sizes`, and the cells of all groups except `outcomes`.
    """
    names = list(cells)
    width = 2 * len(names)
    rows = [np.tile([1.0, 0.0], len(names)), np.tile([0.0, 1.0], len(names))]
    for index, name in enumerate(names):
        if name not in outcomes:
            rows += [np.eye(width)[2 * index], np.eye(width)[2 * index + 1]]
        if name not in sizes:
            rows.append(np.eye(width)[2 * index] + np.eye(width)[2 * index + 1])
    system = np.stack(rows)
    rank = np.linalg.matrix_rank(system)
    derivable = set()
    for index, name in enumerate(names):
        for cell in (2 * index, 2 * index + 1):
            more = np.vstack([system, np.eye(width)[cell]])
            if np.linalg.matrix_rank(more) == rank:
                derivable.add(name)
    return derivable


def reach(cells: Cells, hidden: set[str], name: str) -> tuple[int, int]:
    """The fewest and most wrong answers that a hidden group of published size may have."""
    wrong = sum(cells[group][1] for group in hidden)
    right = sum(cells[group][0] for group in hidden)
    own = sum(cells[name])
    others = right + wrong - own
    return max(0, wrong - others), min(own, wrong)


@given(tables)
def test_no_hidden_size_can_be_derived(table: Cells) -> None:
    sizes = {name: sum(cells) for name, cells in table.items()}
    hidden = hidden_groups(sizes)
    assert {name for name, size in sizes.items() if size < LEAST} <= hidden
    if not hidden or len(sizes) == 1:
        return
    # Only the sum of the hidden sizes follows from the published ones.
    together = sum(sizes[name] for name in hidden)
    assert len(hidden) > 1
    assert together >= 2 * LEAST or hidden == sizes.keys()


@given(tables)
def test_no_hidden_outcome_can_be_derived(table: Cells) -> None:
    sizes = {name: sum(cells) for name, cells in table.items()}
    totals = [sum(cells[side] for cells in table.values()) for side in (0, 1)]
    without = hidden_groups(sizes)
    hidden = hidden_outcomes(table, without, whole=min(totals) >= LEAST)
    assert {name for name, cells in table.items() if min(cells) < LEAST} <= hidden
    if min(totals) < LEAST:
        assert hidden == table.keys()
        return
    assert not determined(table, without, hidden) & hidden
    for name in hidden - without:
        low, high = reach(table, hidden, name)
        assert high - low >= LEAST - 1, (name, low, high)


def test_a_small_group_is_hidden_with_the_smallest_other() -> None:
    assert hidden_groups({"A": 37, "B": 20, "C": 3}) == {"B", "C"}
    assert hidden_groups({"A": 37, "B": 20, "C": 5}) == set()
    # 2 + 6 are under ten, so 2 would be at most 8 - 5.
    assert hidden_groups({"A": 2, "B": 6, "C": 9}) == {"A", "B", "C"}


def test_the_audit_finds_a_cell_that_is_hidden_alone() -> None:
    # The audit of these tests finds cells that plain suppression does not hide.
    table = {"A": (30, 10), "B": (20, 9), "C": (12, 2)}
    assert determined(table, set(), {"C"}) == {"A", "B", "C"}
    assert not determined(table, set(), {"B", "C"}) & {"B", "C"}


@pytest.mark.parametrize("cells", [(5, 5), (40, 5)])
def test_five_is_enough(cells: tuple[int, int]) -> None:
    assert hidden_outcomes({"A": cells, "B": (9, 9)}, set(), whole=True) == set()
