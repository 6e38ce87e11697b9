"""Work in a process of its own, which another one begins again if it is killed.

Ray ends the process that it runs in when it loses its node or its head, and a machine without
memory left kills what is largest. What then is left has to say what happened, and to go on from
the journal.
"""

import atexit
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from types import FrameType
from typing import Final

from archloom.studies.config import Location, argument
from archloom.studies.engine import end_with
from archloom.studies.storage import journal_size

from ...errors import TroubleError

#: seconds before each new beginning in a row that came to nothing; then it is given up
WAITS_S: Final = (1, 5, 20)

#: what a user sends: whoever sends one of these wants the work to end
_STOPPING: Final = (signal.SIGINT, signal.SIGTERM)

#: seconds between two looks at whether the work goes on
_LOOK_S: Final = 0.05

#: what the process that watches passes on
_HANDLED: Final = (*_STOPPING, signal.SIGTSTP)


def supervised(
    location: Location,
    waits_s: Sequence[float] = WAITS_S,
    told: Callable[[str], None] = lambda _: None,
    late: str = "a time limit ended the process",
    late_starts: int = 2,
) -> None:
    """Go on in a child process; the process that called watches it and does not return.

    If the child is killed, or ended by a library, another one begins where the journal ends.

    Args:
        location: of the study; a child that made its journal grow did not come to nothing.
        waits_s: seconds before each new beginning in a row.
        told: called with how a child ended that did not end by itself.
        late: what it means that SIGALRM ended a child.
        late_starts: how often that may be in a row, until it is given up.

    Raises:
        SystemExit: in the process that called: with the exit code of the child.
        TroubleError: likewise, if children come to nothing again and again.
    """
    idle = belated = 0
    while True:
        size = _size(location)
        ended, watched = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        # what comes before there are handlers waits for them
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
        child = os.fork()
        if child == 0:
            os.close(ended)
            _begin_child(watched)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            return
        os.close(watched)
        status, sound = _watch(child, ended, blocked)
        if sound:
            sys.exit(status)
        go_on = f"archloom resume {argument(location)}"
        if -status in _STOPPING:
            print(f"stopped; resume with: {go_on}")
            sys.exit(128 - status)
        idle = 0 if _size(location) > size else idle + 1
        belated = belated + 1 if status == -signal.SIGALRM else 0
        how = f"was killed by signal {-status}" if status < 0 else "was ended by Ray"
        told(late if belated else f"the process {how}")
        what = late if belated else f"the process that runs {location} {how}"
        if idle > len(waits_s) or belated >= late_starts:
            often = "" if belated else f", {idle} times in a row"
            raise TroubleError(f"{what}{often}; no finished work is lost; resume with: {go_on}")
        print(f"{what}; restarting it", file=sys.stderr)
        time.sleep(waits_s[max(idle - 1, 0)])


def _size(location: Location) -> int:
    try:
        return journal_size(location)
    except TroubleError:
        # a server that is away
        return 0


def _begin_child(watched: int) -> None:
    """Tell the other process when this one ends by itself, and end when that one does."""
    if not end_with(os.getppid()):
        os._exit(1)
    # a terminal sends Ctrl-C to all processes of a group; this one gets it from the other
    os.setpgid(0, 0)
    atexit.register(os.write, watched, b"1")


def _watch(child: int, ended: int, blocked: Collection[int]) -> tuple[int, bool]:
    """Pass signals on until a child ends.

    Args:
        child: the process.
        ended: where it writes when it ends by itself.
        blocked: signals that stay blocked once there are handlers.

    Returns:
        Its exit code, or minus the signal that ended it; and whether it ended by itself.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        # it may just have ended
        with suppress(ProcessLookupError):
            os.kill(child, number)

    def pause(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        os.killpg(child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(child, signal.SIGCONT)

    handlers = dict.fromkeys(_STOPPING, pass_on) | {signal.SIGTSTP: pause}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    try:
        # a signal that comes just before a wait without end would be heard only after it
        while (found := os.waitpid(child, os.WNOHANG)) == (0, 0):
            time.sleep(_LOOK_S)
        _, status = found
        return os.waitstatus_to_exitcode(status), bool(os.read(ended, 1))
    finally:
        os.close(ended)
        for number, handler in before.items():
            signal.signal(number, handler)
