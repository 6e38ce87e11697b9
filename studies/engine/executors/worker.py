"""What runs in a worker of Ray: it does nothing but watch the process that does its tasks.

It answers while that one works, so that silence means that its process or its machine stands still.
"""

import os
import socket
from typing import Final

from .limited_process import Ended, LimitedProcess, ProcessLimits

_CODE: Final = "from archloom.studies.engine.executors.task_server import serve; serve()"

#: what is asked besides tasks is answered in another thread
CONCURRENCY: Final = {"watch": 1}


class Worker:
    """Does tasks, which come and go as bytes; keeps what it knows of its trials.

    Args:
        context: what all tasks share, pickled.
        limits: for each task.

    Raises:
        ChildProcessError: its process cannot start.
    """

    def __init__(self, context: bytes, limits: ProcessLimits) -> None:
        self._process = LimitedProcess(_CODE, context, limits)

    def ready(self) -> tuple[str, str, int]:
        """Answer once the worker has started: Ray's name of its node, host, and process."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        return node, socket.gethostname(), os.getpid()

    def alive(self) -> None:
        """Answer at once, whatever is being done."""

    def turn_to(self, context: bytes, limits: ProcessLimits) -> None:
        """Do the tasks of another study from now on; see the class."""
        self._process.turn_to(context, limits)

    def perform(self, task: bytes) -> bytes | Ended:
        """Do a task; return its pickled outcome, or why there is none."""
        return self._process.ask(task)
