"""Records reach parts of kernels by reference, and mean what they mean in Python."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from archloom.evaluators.arrays import Floats, Ints
from archloom.evaluators.jit import allocating, compiled, helper, lean


class Inner(NamedTuple):
    sizes: Ints
    scale: float


class Outer(NamedTuple):
    name: int
    inner: Inner
    table: Floats
    rest: Ints


@helper
def total(outer: Outer) -> float:
    found = 0.0
    for i in range(outer.table.shape[0]):
        for j in range(outer.table.shape[1]):
            found += outer.table[i, j] * outer.inner.scale
    return found + outer.inner.sizes[outer.name] + len(outer.rest)


@helper
def turned(outer: Outer, by: int) -> float:
    """Build a record for each call, of which no two are alive at once."""
    found = 0.0
    for i in range(by):
        found = 10 * found + total(Outer(i, outer.inner, outer.table, outer.rest))
    return found


@allocating
def doubled(outer: Outer) -> Outer:
    """Return a record of new arrays, and of parts of the old one."""
    table = np.empty(outer.table.shape)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            table[i, j] = 2 * outer.table[i, j]
    return Outer(outer.name, Inner(outer.inner.sizes[1:], 0.5), table, outer.rest)


@allocating
def passed_on(outer: Outer) -> Outer:
    """Return what refers to a record whose arrays end in here."""
    new = doubled(outer)
    return Outer(new.name, new.inner, new.table, outer.rest)


@allocating
def same(outer: Outer) -> Outer:
    """Return the record itself."""
    return outer


@lean
def of_table(outer: Outer, by: int) -> float:
    return total(outer) + 1000 * turned(outer, by)


@compiled
def of_copies(outer: Outer, times: int) -> float:
    found = 0.0
    for _ in range(times):
        copy = same(passed_on(outer))
        found += total(Outer(0, copy.inner, copy.table, copy.rest))
    return found


@compiled
def changed(outer: Outer) -> Outer:
    """Write to an array of a record; arrays are shared, as in Python."""
    outer.table[0, 0] = 100.0
    return doubled(outer)


@compiled
def of_constants(outer: Outer) -> float:
    return turned(outer, 1) + turned(outer, 2)


def example() -> Outer:
    return Outer(
        1, Inner(np.array([5, 7, 9]), 0.25), np.arange(6.0).reshape(2, 3), np.zeros(4, np.int64)
    )


def expected(outer: Outer) -> float:
    return float(
        outer.table.sum() * outer.inner.scale + outer.inner.sizes[outer.name] + len(outer.rest)
    )


def test_words_of_a_record_are_what_the_caller_has() -> None:
    outer = example()
    by_name = [expected(outer._replace(name=i)) for i in range(3)]
    assert of_table(outer, 3) == expected(outer) + 1000 * (
        100 * by_name[0] + 10 * by_name[1] + by_name[2]
    )


def test_what_a_part_returns_outlives_what_it_was_made_of() -> None:
    outer = example()
    double = Outer(0, Inner(outer.inner.sizes[1:], 0.5), 2 * outer.table, outer.rest)
    assert of_copies(outer, 1) == expected(double)


def test_arrays_of_records_are_freed() -> None:
    outer = example()
    of_copies(outer, 1)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    of_copies(outer, 50)
    after = rtsys.get_allocation_stats()
    made, freed = after.alloc - before.alloc, after.free - before.free
    assert made == freed >= 50


def test_arrays_that_python_passes_are_let_go() -> None:
    outer = example()
    arrays = outer.table, outer.rest, outer.inner.sizes
    of_copies(outer, 1)
    before = [sys.getrefcount(array) for array in arrays]
    for _ in range(5):
        of_copies(outer, 1)
        of_table(outer, 1)
    assert [sys.getrefcount(array) for array in arrays] == before


def test_a_record_comes_back_to_python() -> None:
    outer = example()
    found = changed(outer)
    assert outer.table[0, 0] == 100.0
    assert np.array_equal(found.table, 2 * outer.table)
    assert np.array_equal(found.inner.sizes, [7, 9])
    assert (found.name, found.inner.scale) == (1, 0.5)
    del outer
    assert np.array_equal(found.rest, np.zeros(4))


def test_a_part_compiles_once_for_constants_and_variables() -> None:
    outer = example()
    assert of_constants(outer) > 0
    of_table(outer, 3)
    # what an earlier run left in the cache is compiled again, and the part with it
    of_constants.recompile()  # type: ignore[attr-defined]
    of_table.recompile()  # type: ignore[attr-defined]
    assert len(turned.overloads) == 1  # type: ignore[attr-defined]


def test_a_part_called_from_python_runs_as_python() -> None:
    outer = example()
    assert total(outer) == expected(outer)
    of_table(outer, 1)
    assert total(outer) == expected(outer)


def test_an_unknown_field_is_named() -> None:
    @lean
    def wrong(outer: Outer) -> float:
        return outer.tabel[0, 0]  # type: ignore[attr-defined, no-any-return]

    with pytest.raises(Exception, match="tabel"):
        wrong(example())
