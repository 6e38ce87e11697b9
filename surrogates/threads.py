"""Linear algebra on one thread."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS and OpenMP to one thread inside, and leave them as they were.

    Matrices of a hundred rows gain nothing from more threads, and on a busy machine threads that
    wait for each other make a factorisation of a millisecond take a second.
    """
    with threadpool_limits(limits=1):
        yield
