"""Command ``archloom compile``: compile kernels before a study calls them.

``kernels.json`` lists those that a study with default software calls, what takes longest first,
each with the types of its arguments; ``weaving_kernels.json`` what else networks that share a chip
need: studies with tenants, ``archloom weave``, ``serve`` and ``reproduce``. ``make kernels`` writes
both.
"""

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from archloom.evaluators.jit import Compiled, Kernels, Written, compile_ahead, missing
from archloom.studies.engine.progress import SILENT, Stages

if TYPE_CHECKING:
    from rich.console import Console

_LOG: Final = logging.getLogger("archloom.kernels")

#: kernels of a study with default software
KERNELS: Final = Path(__file__).with_name("kernels.json")

#: those that only networks need which share a chip
WEAVING_KERNELS: Final = Path(__file__).with_name("weaving_kernels.json")


def default_kernels(weaving: bool = False) -> Kernels:
    """Return the kernels that a study with default software calls.

    Args:
        weaving: whether several networks share a chip.
    """
    found: dict[str, Sequence[Written]] = json.loads(KERNELS.read_text("utf-8"))
    if weaving:
        found |= json.loads(WEAVING_KERNELS.read_text("utf-8"))
    return found


def compile_kernels(console: "Console", workers: int | None, weaving: bool = False) -> int:
    """Compile what is missing, say what was done, and return the exit code."""
    from archloom.studies.engine.progress import ProgressView

    kernels = default_kernels(weaving)
    wanted = missing(kernels)
    with ProgressView(console) as view:
        done = compile_missing(view, workers, weaving=weaving)
    failed = [one for one in done if one.error]
    for one in failed:
        console.print(f"{one.name}: {one.error}", highlight=False, markup=False, soft_wrap=True)
    there, spent = len(kernels) - len(wanted), sum(one.cpu_s for one in done)
    text = (
        f"{len(done) - len(failed)} kernels compiled in {spent:.0f} s of CPU time; {there} were "
        "already compiled"
    )
    console.print(text if done else f"all {there} kernels were already compiled", highlight=False)
    return 1 if failed else 0


def compile_missing(
    stages: Stages,
    workers: int | None = None,
    check: Callable[[], None] = lambda: None,
    weaving: bool = False,
) -> list[Compiled]:
    """Compile kernels that are not in the cache of this machine.

    Args:
        stages: hear how far it is, where something is missing.
        workers: processes at a time; None for the cores that this process may use.
        check: called again and again; may raise to give up.
        weaving: whether several networks share a chip.
    """
    kernels = default_kernels(weaving)
    wanted = {name: kernels[name] for name in missing(kernels)}
    _LOG.debug(
        "compiled kernels: %d of %d are in the cache", len(kernels) - len(wanted), len(kernels)
    )
    if not wanted:
        return []
    found: list[Compiled] = []
    stages.begin("compiling kernels (only once per machine)", len(wanted))
    try:
        for done in compile_ahead(wanted, workers or len(os.sched_getaffinity(0))):
            check()
            found += done
            for one in done:
                _LOG.info(
                    "kernel %s: %s", one.name, one.error or f"compiled, {one.cpu_s:.1f} CPU-s"
                )
            if done:
                stages.advance(done[-1].name.rpartition(".")[2].lstrip("_"), len(done))
    finally:
        stages.end()
    return found


def compile_here(workers: int, weaving: bool = False) -> int:
    """Compile kernels that are not in the cache of this machine, as a node of a cluster does
    before its first task; return how many that were.

    Those that cannot be compiled fail where they are called. What another process compiles at the
    same time is waited for.
    """
    return sum(not one.error for one in compile_missing(SILENT, workers, weaving=weaving))
