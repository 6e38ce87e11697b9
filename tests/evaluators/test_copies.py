"""Parts that copy, fill and sort, against numpy."""

import numpy as np
import pytest

from archloom.evaluators.arrays import Ints
from archloom.evaluators.jit import compiled, descending, fill_row, fill_table


@compiled
def order_of(values: Ints) -> Ints:
    return descending(values)


@compiled
def filled(size: int) -> tuple[Ints, Ints]:
    row, table = np.empty(size, np.int64), np.empty((size, 2), np.int64)
    fill_row(row, 3)
    fill_table(table, 4)
    return row, table


@pytest.mark.parametrize("seed", range(20))
def test_a_few_numbers_are_sorted_as_numpy_does(seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 5, seed % 10)
    assert order_of(values).tolist() == np.argsort(-values, kind="stable").tolist()


def test_all_of_an_array_is_filled() -> None:
    row, table = filled(5)
    assert row.tolist() == [3] * 5
    assert table.tolist() == [[4, 4]] * 5
