"""Processes that end when the one that began them does, however that ended."""

import ctypes
import os
import signal
from typing import Final

#: prctl's option (linux/prctl.h): the signal that a process gets when its parent ends
_PARENT_DEATH_SIGNAL: Final = 1


def end_with(parent: int) -> bool:
    """Have this process killed when its parent ends; return whether that one is still there.

    Args:
        parent: its process id.
    """
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    return os.getppid() == parent
