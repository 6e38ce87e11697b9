"""One mapping whose factors cover more than the loop bounds: what it covers, what it costs.

It is priced by the kernel of :mod:`archloom.evaluators.loopnest.imperfect`, as far as it runs.
"""

from typing import NamedTuple

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.jit import helper
from archloom.evaluators.loopnest import (
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    VALID,
    KernelInputs,
)
from archloom.evaluators.loopnest.imperfect import ImperfectRoom, evaluate_imperfect
from archloom.space.mapping import Mapping

from ..objectives import score_in_batch


class Trial(NamedTuple):
    """What is tried, and the best so far: ``loops[L, 4, 8]`` and ``keep[L, 3]`` of both, and
    ``score[1]``, ln of the objective of the best.
    """

    tried: Ints
    tried_keep: Flags
    best: Ints
    best_keep: Flags
    score: Floats


def mapping_of(loops: Ints, keep: Flags) -> Mapping:
    """Return a mapping from ``loops[L, 4, 8]`` and ``keep[L, 3]``."""
    pairs = zip(loops, keep, strict=True)
    return Mapping.from_rows([[v[0], v[3], v[1], v[2], k] for v, k in pairs])


def hops_cost(setup: KernelInputs) -> bool:
    """Whether words take energy on their way over a network."""
    return bool((setup.hop_pj > 0).any() or (setup.router_pj > 0).any())


@helper
def _outermost(setup: KernelInputs, levels: int, d: int) -> int:
    """Level whose loop over time takes the steps of a dimension that are left."""
    return 0 if setup.within[d] else levels - 1


@helper
def cover(setup: KernelInputs, loops: Ints, d: int) -> None:
    """Let loops cover the bound of a dimension and no step more, by its outermost loops."""
    levels, inside = loops.shape[0], 1
    for level in range(levels):
        inside *= loops[level, TEMPORAL, d] * loops[level, SPATIAL_X, d]
        inside *= loops[level, SPATIAL_Y, d]
    left, bound = _outermost(setup, levels, d), setup.bounds[d]
    inside //= loops[left, TEMPORAL, d]
    loops[left, TEMPORAL, d] = (bound + inside - 1) // inside
    inside *= loops[left, TEMPORAL, d]
    for level in range(levels - 1, -1, -1):
        for kind in (TEMPORAL, SPATIAL_Y, SPATIAL_X):
            factor = loops[level, kind, d]
            if factor == 1:
                continue
            inside //= factor
            loops[level, kind, d] = (bound + inside - 1) // inside
            if loops[level, kind, d] > 1:
                return


@helper
def copy_mapping(loops: Ints, keep: Flags, to: Ints, to_keep: Flags) -> None:
    """Copy a mapping, element by element: copies of slices take a second to compile."""
    for level in range(loops.shape[0]):
        for d in range(8):
            for kind in range(4):
                to[level, kind, d] = loops[level, kind, d]
        for t in range(3):
            to_keep[level, t] = keep[level, t]


@helper
def price(setup: KernelInputs, loops: Ints, keep: Flags, room: ImperfectRoom) -> float:
    """Ln of the objective; infinite for a mapping that does not fit."""
    status, energy, chip, dram = evaluate_imperfect(setup, loops, keep, room)
    score = np.inf
    if status == VALID:
        score = score_in_batch(setup.weights, setup.leakage_pj, energy, max(chip, dram))
    return score
