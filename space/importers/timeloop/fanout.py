"""Merging of consecutive fan-outs: when one level of a case can stand for them, and when not.

Timeloop looks at each fan-out alone (NVlabs/timeloop, src/loop-analysis/nest-analysis.cpp,
ComputeSpatialWorkingSet), so a word that two children need is sent once only if one fan-out
feeds both. A level of a case has one fan-out. Taking several together changes nothing for
tensors whose dimensions are independent; in a window, rows of the output along one fan-out and
rows of the kernel along another would share words on their diagonals.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from .architecture import Architecture, Fanout, Level
from .mapping import Resolved
from .problem import Problem


def separated(architecture: Architecture, resolved: Resolved, problem: Problem) -> Architecture:
    """Return the architecture with levels that hold nothing where fan-outs must stay apart."""
    windows = [
        {term[0] for term in rank}
        for rank in problem.record["projections"].get("Inputs", [])
        if len(rank) > 1
    ]
    levels: list[Level] = []
    for level in architecture.levels:
        wide = [fan for fan in level.fans if fan.mesh != (1, 1)]
        busy = [_busy(fan, resolved) for fan in wide]
        if any(_shared(busy, window) for window in windows):
            levels += _apart(level, wide)
        else:
            levels.append(level)
    record = {**architecture.record, "levels": [level.record for level in levels]}
    return replace(architecture, levels=tuple(levels), record=record)


def _busy(fan: Fanout, resolved: Resolved) -> set[str]:
    factors = resolved.loops["spatial", fan.names[0]].factors
    return {dim for dim, factor in factors.items() if factor > 1}


def _shared(busy: Sequence[set[str]], window: set[str]) -> bool:
    """Whether two fan-outs move along one window by different dimensions."""
    moved = [dims & window for dims in busy if dims & window]
    return len(moved) > 1 and len(set().union(*moved)) > 1


def _apart(level: Level, wide: Sequence[Fanout]) -> list[Level]:
    """Return one level for each fan-out, the innermost first; the last is the level itself."""
    *inner, outermost = wide
    found = []
    x, y = level.record["meshX"], level.record["meshY"]
    for i, fan in enumerate(inner):
        above = [other.mesh for other in wide[i + 1 :]]
        mesh = (x * prod(m[0] for m in above), y * prod(m[1] for m in above))
        record = _empty(fan.names[-1], mesh, level.record["word_bits"])
        found.append(Level(record["name"], record, (fan,), fan.place, hollow=True))
    return [*found, replace(level, fans=(outermost,))]


def _empty(name: str, mesh: tuple[int, int], word_bits: int) -> dict[str, Any]:
    free = {"read": 0, "fill": 0, "update": 0, "leak_per_cycle": 0}
    return {
        "name": name,
        "size_words": 1,
        "word_bits": word_bits,
        "instances": mesh[0] * mesh[1],
        "meshX": mesh[0],
        "meshY": mesh[1],
        "energy_pJ": free,
    }
