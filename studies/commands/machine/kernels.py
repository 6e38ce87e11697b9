"""Command ``archloom compile``: compile kernels before a study calls them.

``kernels.json`` lists those that a study with default software calls, what takes longest first,
each with the types of its arguments; ``make kernels`` writes it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic, strftime
from typing import TYPE_CHECKING, Final

from archloom.evaluators.jit import Compiled, Kernels, compile_ahead, missing

if TYPE_CHECKING:
    from rich.console import Console

#: kernels of a study with default software
KERNELS: Final = Path(__file__).with_name("kernels.json")

#: seconds between two lines of a log, at most
_SILENCE_S: Final = 10.0

_WHAT: Final = "kernels, once on this machine"


def default_kernels() -> Kernels:
    """Return the kernels that a study with default software calls."""
    found: Kernels = json.loads(KERNELS.read_text("utf-8"))
    return found


def compile_kernels(console: "Console", workers: int | None) -> int:
    """Compile what is missing, say what was done, and return the exit code."""
    kernels = default_kernels()
    wanted = missing(kernels)
    done = compile_missing(console, workers)
    failed = [one for one in done if one.error]
    for one in failed:
        console.print(f"{one.name}: {one.error}", highlight=False, markup=False, soft_wrap=True)
    there, spent = len(kernels) - len(wanted), sum(one.cpu_s for one in done)
    text = f"{len(done) - len(failed)} kernels compiled in {spent:.0f} CPU-s, {there} were there"
    console.print(text if done else f"all {there} kernels are compiled", highlight=False)
    return 1 if failed else 0


def compile_missing(
    console: "Console", workers: int | None = None, check: Callable[[], None] = lambda: None
) -> list[Compiled]:
    """Compile kernels that are not in the cache of this machine, with a bar or lines of a log.

    Args:
        console: to say so on; nothing is said where nothing is missing.
        workers: processes at a time; None for the cores that this process may use.
        check: called again and again; may raise to give up.
    """
    kernels = default_kernels()
    wanted = {name: kernels[name] for name in missing(kernels)}
    if not wanted:
        return []
    show = _Bar(console, len(wanted)) if console.is_terminal else _Log(console, len(wanted))
    found: list[Compiled] = []
    try:
        for done in compile_ahead(wanted, workers or len(os.sched_getaffinity(0))):
            check()
            found += done
            show(found)
    finally:
        show.close()
    return found


class _Log:
    """Says how far it is in lines with the time of day, one in ten seconds."""

    def __init__(self, console: "Console", total: int) -> None:
        self._console, self._total, self._last = console, total, monotonic()
        self._say(f"compiling {total} {_WHAT}")

    def __call__(self, found: list[Compiled]) -> None:
        """Say which kernels are done, if there was silence."""
        if monotonic() - self._last >= _SILENCE_S or len(found) == self._total:
            self._say(f"compiled {len(found)} of {self._total} {_WHAT}")

    def close(self) -> None:
        """Nothing stays open."""

    def _say(self, text: str) -> None:
        self._console.print(f"{strftime('%H:%M:%S')} {text}", highlight=False, soft_wrap=True)
        self._last = monotonic()


class _Bar:
    """Shows a bar, how many kernels are done, the last one, and how long it may take."""

    def __init__(self, console: "Console", total: int) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        columns = (TextColumn("compiling " + _WHAT), BarColumn(24), MofNCompleteColumn())
        rest = (TimeElapsedColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, *rest, console=console)
        self._task = self._bar.add_task("", total=total)
        self._bar.start()

    def __call__(self, found: list[Compiled]) -> None:
        """Show which kernels are done."""
        last = found[-1].name.rpartition(".")[2].lstrip("_") if found else ""
        self._bar.update(self._task, completed=len(found), description=last)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.stop()
