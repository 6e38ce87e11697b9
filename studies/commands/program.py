"""The program: what its script calls, and what ends it with a word if Ctrl-C comes at once."""

import os
import signal


def main() -> None:
    """Run the command line, whose modules take a moment to import.

    In that moment an interrupt would be raised inside whatever module is on its way; so the process
    ends there and then. Nothing is under way yet.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    from .cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


def _end(number: int, frame: object) -> None:  # noqa: ARG001
    """End as ``archloom.studies.errors.INTERRUPTED`` says; its module takes longer to import."""
    os.write(2, b"stopped\n")
    os._exit(130)
