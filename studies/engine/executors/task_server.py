"""The process that does tasks: it is told what they share, then answers each with its outcome."""

import ctypes
import gc
import pickle
import signal
import sys
from multiprocessing.connection import Connection

from ..trial_task import TaskContext, perform
from .limited_process import READY
from .process_use import end_with

#: prctl's option (linux/prctl.h): the name of a process
_NAME = 15


def serve() -> None:
    """Answer until nobody asks any more; arguments are a descriptor and the parent's id."""
    descriptor, parent = map(int, sys.argv[1:])
    ctypes.CDLL(None).prctl(_NAME, b"archloom-task")
    if not end_with(parent):
        return
    # to look for garbage after every 700 new objects takes 3% of a trial's time, and the process
    # becomes no smaller by it
    gc.set_threshold(10_000, 10, 10)
    # a terminal sends Ctrl-C to all; tasks under way are to be kept
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(descriptor) as line:
        try:
            context: TaskContext = pickle.loads(line.recv_bytes())
            line.send_bytes(READY)
            while True:
                asked = pickle.loads(line.recv_bytes())
                if isinstance(asked, TaskContext):
                    # another study; what it has in common with those before is still known
                    context = asked
                    line.send_bytes(READY)
                else:
                    line.send_bytes(pickle.dumps(perform(context, asked)))
        except (EOFError, ConnectionError):
            return
