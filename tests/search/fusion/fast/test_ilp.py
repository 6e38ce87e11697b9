"""What compiled code prints, and where it goes."""

import ctypes

import pytest

from archloom.search.fusion.fast.ilp import stdout_silenced


def test_compiled_code_prints_nothing_meanwhile(capfd: pytest.CaptureFixture[str]) -> None:
    library = ctypes.CDLL(None)
    library.puts(b"before")
    with stdout_silenced():
        library.puts(b"meanwhile")
    library.puts(b"after")
    library.fflush(None)
    assert capfd.readouterr().out == "before\nafter\n"


def test_the_screen_comes_back_after_a_mistake(capfd: pytest.CaptureFixture[str]) -> None:
    def failing() -> None:
        with stdout_silenced():
            raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        failing()
    print("after")
    assert capfd.readouterr().out == "after\n"
