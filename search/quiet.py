"""Keeps what compiled code prints off the standard output, where commands print JSON."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def quiet() -> Iterator[None]:
    """Throw away what compiled code in this process prints meanwhile, and what Python prints too.

    Some libraries print whatever their options say (HiGHS, where it mends a solution).
    """
    buffers = ctypes.CDLL(None)
    sys.stdout.flush()
    buffers.fflush(None)
    screen = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        yield
    finally:
        buffers.fflush(None)
        os.dup2(screen, 1)
        os.close(screen)
