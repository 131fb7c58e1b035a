"""Longest common subsequences against the plain table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medical_tasks.scoring.rouge import Columns, lcs_length

LISTS = st.lists(st.sampled_from("abcd"), max_size=70)


def _table(rows: Sequence[str], columns: Sequence[str]) -> list[list[int]]:
    table = [[0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            table[i + 1][j + 1] = table[i][j] + 1 if row == column else max(table[i][j + 1], table[i + 1][j])
    return table


def _way_back(rows: Sequence[str], columns: Sequence[str]) -> list[int]:
    table, i, j, places = _table(rows, columns), len(rows), len(columns), []
    while i and j:
        if rows[i - 1] == columns[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif table[i][j - 1] > table[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places


@settings(deadline=None, max_examples=150)
@given(LISTS, LISTS)
def test_length_and_places_are_those_of_the_table(rows: list[str], columns: list[str]) -> None:
    length = _table(rows, columns)[-1][-1]
    assert lcs_length(rows, columns) == lcs_length(columns, rows) == Columns(columns).length_with(rows) == length
    assert Columns(columns).positions_in(rows) == _way_back(rows, columns)


@pytest.mark.parametrize(
    ("rows", "columns", "places"),
    [("", "", []), ("", "ab", []), ("ab", "", []), ("ab", "cd", []), ("abc", "abc", [2, 1, 0]), ("aab", "ab", [2, 1])],
)
def test_small_cases(rows: str, columns: str, places: list[int]) -> None:
    assert Columns(list(columns)).positions_in(list(rows)) == places
    assert lcs_length(list(rows), list(columns)) == len(places)
