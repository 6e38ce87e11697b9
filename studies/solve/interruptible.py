"""A search in a thread of its own, that a clock or Ctrl-C stops."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")

#: seconds between two looks of the main thread, which also sees Ctrl-C then
_LOOK_S: Final = 0.1


def stoppable(
    work: Callable[[], Result], stop: NDArray[np.uint8], look: Callable[[], None]
) -> tuple[Result, bool]:
    """Do some work in a thread of its own; return its result, and whether Ctrl-C cut it short.

    Args:
        work: returns soon after ``stop`` is set.
        stop: uint8[1].
        look: called from time to time, from the calling thread.
    """
    interrupted = False
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        while True:
            try:
                if _ended(done):
                    return done.result(), interrupted
                look()
            except KeyboardInterrupt:
                interrupted = True
                stop[0] = 1


def _ended(done: "Future[Result]") -> bool:
    """Wait for a moment; say whether the work has ended."""
    try:
        done.exception(_LOOK_S)
    except TimeoutError:
        return False
    return True
