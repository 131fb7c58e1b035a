import math

import numpy as np
import pytest

from medical_tasks.scoring.estimates import as_column, sum_table


def test_sums_by_hand() -> None:
    values = np.array([1.0, 2.0, 3.0, math.nan, 0.0])
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    table = sum_table([values, weights], weights, ["b", "a", "b", "c", "a"])
    # Clusters a: 2 of weight 1; b: 4 of weight 2; c has no value; the item with 0 and weight 0 does not count.
    assert table.rows.tolist() == [[2.0, 1.0], [4.0, 2.0]]
    assert (table.n, table.n_clusters) == (3, 2)
    assert table.effective == pytest.approx(9 / 5)
    assert table.totals() == [6.0, 3.0]
    nothing = np.array([])
    for table in (sum_table([nothing, nothing], nothing, None), sum_table([nothing, nothing], nothing, [])):
        assert (table.n, table.n_clusters, table.effective) == (0, 0, 0.0)
        assert table.totals() == [0.0, 0.0]
    # Added from left to right, these three sum to 0.6 one way round and to 0.6000000000000001 the other.
    one_way, other = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])
    assert one_way.tolist() == other.tolist()[::-1]
    ones = np.ones(3)
    labels = ["a", "a", "a"]
    assert sum_table([one_way], ones, labels).rows.tolist() == sum_table([other], ones, labels).rows.tolist()
    ones = np.ones(2)
    table = sum_table([np.array([0.0, -0.0]), np.array([2.0, 1.0])], ones, None)
    assert table.rows.tolist() == [[0.0, 1.0], [0.0, 2.0]]


def test_numbers_of_all_kinds() -> None:
    for values in ([True, False], [1, 0], np.array([1, 0], dtype=np.uint8), (1.0, 0.0)):
        column = as_column("values", values)
        assert column.dtype == np.float64
        assert column.tolist() == [1.0, 0.0]
