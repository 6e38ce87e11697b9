"""A flag that is set after some seconds, for searches that are asked to stop in time."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Timer

import numpy as np
from numpy.typing import NDArray


@contextmanager
def deadline(seconds: float) -> Iterator[NDArray[np.uint8]]:
    """Give a flag, uint8[1], that turns 1 after so many seconds on the wall.

    At once if there are none, never if they are infinite. A timer of its own thread sets it, so
    that compiled searches stop in the middle; it is called off where the context ends.
    """
    flag = np.zeros(1, np.uint8)

    def ring() -> None:
        flag[0] = 1

    if seconds <= 0:
        ring()
    if not 0 < seconds < inf:
        yield flag
        return
    timer = Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield flag
    finally:
        timer.cancel()
