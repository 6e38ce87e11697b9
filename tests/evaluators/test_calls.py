"""Parts that fail are noticed by all that call them; those that cannot are not asked."""

from typing import NamedTuple

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

from archloom.evaluators.arrays import Floats, Ints
from archloom.evaluators.jit import allocating, calls, compiled, helper


class Half(NamedTuple):
    """More than eight words, so that it is passed by reference."""

    left: Floats
    right: Ints


@helper
def checked(value: int) -> int:
    if value > 3:
        raise ValueError("more than three")
    return 2 * value


@helper
def sound(value: int) -> int:
    return 3 * value


@helper
def twice(value: int) -> int:
    """Call what may fail, and what may not, in a loop and in branches."""
    found = 0
    for n in range(value):
        found += checked(n) if n % 2 else sound(n)
    return found + sound(found)


@allocating
def halved(size: int) -> Half:
    """Return a record, or fail: numba checks the size."""
    return Half(np.ones(size), np.full(size, checked(size)))


@helper
def summed(half: Half, n: int) -> float:
    return half.left[n] + half.right[n]


@allocating
def both(size: int, early: bool) -> float:
    """Make records one after another, or return before there are any."""
    if early:
        return float(size)
    first = halved(size)
    found = summed(first, 0)
    second = Half(first.left + found, first.right)
    for n in range(size):
        found = found + summed(second, n) + summed(first, n)
    if size == 2:
        third = halved(size + 2)
        return found + summed(third, 0)
    return found + second.left[0]


@compiled
def called(size: int, early: bool) -> float:
    return both(size, early) + twice(size)


@pytest.mark.parametrize("early", [False, True])
def test_calls_return_what_python_returns(early: bool) -> None:
    for size in (1, 3):
        assert called(size, early) == called.py_func(size, early)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("size", "early", "text"),
    [
        (2, False, "more than three"),
        (6, True, "more than three"),
        (4, False, "more than three"),
        (-1, False, "negative dimensions"),
    ],
)
def test_what_fails_in_a_part_of_a_part_reaches_python(size: int, early: bool, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        called(size, early)
    assert called(1, False) == called.py_func(1, False)  # type: ignore[attr-defined]


def test_records_that_stay_in_their_places_are_freed_once() -> None:
    called(3, False)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    for size in (1, 3, 1):
        called(size, False)
        called(size, True)
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def test_only_what_can_fail_is_asked() -> None:
    # what an earlier run left in the cache is compiled again, and the parts with it
    called(1, True)
    called.recompile()  # type: ignore[attr-defined]
    sure = "\n".join(calls._SURE)
    # mangled names hold the length of each part
    assert "5sound" in sure
    assert "6summed" in sure
    for name in ("7checked", "5twice", "6halved", "4both"):
        assert f"test_calls{name}" not in sure


def test_a_brief_kernel_returns_the_same_with_less_code() -> None:
    def plain(values: Floats) -> None:
        for n in range(len(values)):
            values[n] = values[n] * 3.0 + 1.0

    kernels = compiled(plain), compiled(brief=True)(plain)
    arrays = [np.arange(100.0) for _ in kernels]
    codes = []
    for kernel, values in zip(kernels, arrays, strict=True):
        kernel(values)
        # what came out of the cache has no such text
        kernel.recompile()  # type: ignore[attr-defined]
        found = next(iter(kernel.overloads.values()))  # type: ignore[attr-defined]
        codes.append(found.library.get_llvm_str())
    assert (arrays[0] == arrays[1]).all()
    assert "x double>" in codes[0]
    assert "x double>" not in codes[1]
