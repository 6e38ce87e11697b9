"""Rates of this machine's memories, multipliers and clock: a process that prints them as JSON.

Run as a program, so that libraries start with one thread. Time is that of the thread, and the best
of several runs counts: others can only make a run slower.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from archloom.evaluators.jit import compiled

#: values of 8 bytes that a cache line has
_LINE: Final = 8

#: seconds of a run, about, and runs of which the best counts
_RUN_S: Final = 0.005
_RUNS: Final = 30

#: edge of the matrices whose product tells the rate of the multipliers
_EDGE: Final = 384

#: dependent instructions of a step of the clock's kernel: three shifts, three exclusive ors
_CHAIN: Final = 6


@compiled
def read_words(words: Any, times: int) -> Any:
    """Add up an array again and again; each time from another line, so that no pass is left out."""
    total = np.int64(0)
    for i in range(times):
        part = words[i % 2 * _LINE :]
        for j in range(len(part)):
            total += part[j]
    return total


@compiled
def write_words(words: Any, times: int) -> None:
    """Fill an array again and again."""
    for i in range(times):
        part = words[i % 2 * _LINE :]
        for j in range(len(part)):
            part[j] = i


@compiled
def copy_words(words: Any, copy: Any, times: int) -> None:
    """Copy an array again and again, with a change, so that it is no call of the library."""
    for i in range(times):
        part, result = words[i % 2 * _LINE :], copy[i % 2 * _LINE :]
        for j in range(len(part)):
            result[j] = part[j] ^ i


@compiled
def step_clock(state: int, steps: int) -> int:
    """Shift and combine a number (Marsaglia, J. Stat. Software 8(14), 2003): a chain of steps."""
    word = np.uint64(state)
    for _ in range(steps):
        word ^= word << np.uint64(13)
        word ^= word >> np.uint64(7)
        word ^= word << np.uint64(17)
    return int(word)


def rate(run: Callable[[int], object], amount: float) -> float:
    """Return how much of ``amount`` a second does, ``run(n)`` doing it n times."""
    run(2)
    times, seconds = 1, 0.0
    while seconds < _RUN_S / 4:
        times *= 2
        seconds = _seconds(run, times)
    times = max(1, int(times * _RUN_S / seconds))
    return amount * times / min(_seconds(run, times) for _ in range(_RUNS))


def _seconds(run: Callable[[int], object], times: int) -> float:
    begun = time.thread_time()
    run(times)
    return max(time.thread_time() - begun, 1e-9)


def memory_rates(array_bytes: int) -> dict[str, float]:
    """Return bytes a second that a core reads, writes, and both where it copies."""
    count = max(array_bytes // 8, 4 * _LINE)
    raw, half = np.ones(count + _LINE, np.int64), count // 2 // _LINE * _LINE
    # from the start of a line: a vector that crosses two takes twice as long
    words = raw[-raw.ctypes.data % (8 * _LINE) // 8 :][:count]
    return {
        "read": rate(lambda n: read_words(words, n), 8.0 * count),
        "write": rate(lambda n: write_words(words, n), 8.0 * count),
        "copy": rate(lambda n: copy_words(words[:half], words[half:], n), 16.0 * half),
    }


def products_per_s() -> float:
    """Return multiply-accumulates a second of numpy's product of float32 matrices."""
    matrix = np.ones((_EDGE, _EDGE), np.float32)
    result = np.empty_like(matrix)

    def run(times: int) -> None:
        for _ in range(times):
            np.matmul(matrix, matrix, out=result)

    return rate(run, float(_EDGE) ** 3)


def steps_per_s() -> float:
    """Return cycles a second, by a chain of instructions that take one each."""
    return rate(lambda n: step_clock(88172645463325252, 1000 * n), 1000.0 * _CHAIN)


def main(sizes: list[int]) -> None:
    """Print all rates; of memory for arrays of each of the sizes."""
    found = {
        "cycles_per_s": steps_per_s(),
        "products_per_s": products_per_s(),
        "memory": [memory_rates(size) for size in sizes],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]])
