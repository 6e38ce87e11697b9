"""The process that does tasks: it is told what they share, then answers each with its outcome."""

import ctypes
import os
import pickle
import signal
import sys
from multiprocessing.connection import Connection

from ..trial_task import TaskContext, perform
from .limited_process import READY

#: options of prctl (linux/prctl.h): the signal that a process gets when its parent ends; its name
_PARENT_DEATH_SIGNAL, _NAME = 1, 15


def serve() -> None:
    """Answer until nobody asks any more; arguments are a descriptor and the parent's id."""
    descriptor, parent = map(int, sys.argv[1:])
    libc = ctypes.CDLL(None)
    libc.prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    libc.prctl(_NAME, b"archloom-task")
    if os.getppid() != parent:
        return
    # a terminal sends Ctrl-C to all; tasks under way are to be kept
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(descriptor) as line:
        try:
            context: TaskContext = pickle.loads(line.recv_bytes())
            line.send_bytes(READY)
            while True:
                line.send_bytes(pickle.dumps(perform(context, pickle.loads(line.recv_bytes()))))
        except (EOFError, ConnectionError):
            return
