"""A first signal becomes a question; a second one ends the process as it would any other."""

import os
import signal
import subprocess
import sys

import pytest

from archloom.studies.engine.interrupt import Stopped, StopRequest

SIGNALS = (signal.SIGINT, signal.SIGTERM)

TWICE = """
import os, signal
from archloom.studies.engine.interrupt import StopRequest
with StopRequest():
    for _ in range(2):
        os.kill(os.getpid(), signal.{})
        print("lived", flush=True)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_waits_until_somebody_asks(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with StopRequest() as stop:
        stop.check()
        os.kill(os.getpid(), number)
        with pytest.raises(Stopped):
            stop.check()
    assert signal.getsignal(number) == before
    assert "stopping after the work under way" in capfd.readouterr().err


def test_it_listens_again_after_another_handler_was_set() -> None:
    with StopRequest() as stop:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        stop.listen()
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped):
            stop.check()


@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_signal_ends_the_process(number: signal.Signals) -> None:
    code = TWICE.format(number.name)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-number, "lived\n")
