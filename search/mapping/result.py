"""Mapped layers made of raw loops, and the mapping that always fits."""

import numpy as np

from archloom.evaluators import Flags, Ints
from archloom.evaluators.jit import lean
from archloom.evaluators.loopnest import (
    ORDER,
    SPATIAL_X,
    SPATIAL_Y,
    TEMPORAL,
    VALID,
    KernelInputs,
    MappingProblem,
    evaluate_batch,
)
from archloom.space.mapping import Mapping

from .loop_orders import permit, ways_of
from .protocol import MappedLayer


def mapped_layer(
    problem: MappingProblem, loops: Ints, keep: Flags, evaluations: int
) -> MappedLayer:
    """Return ``loops[L, 4, 8]`` and ``keep[L, 3]`` priced by the batch kernel.

    Raises:
        ValueError: the mapping is not valid.
    """
    status, energy, chip, dram = evaluate_batch(problem.setup, loops[None], keep[None])
    if status[0] != VALID:
        raise ValueError("a search reports a mapping that is not valid")
    levels = zip(loops, keep, strict=True)
    rows = [[lp[0], lp[3], lp[1], lp[2], kp] for lp, kp in levels]
    cycles = float(max(chip[0], dram[0]))
    return MappedLayer(Mapping.from_rows(rows), float(energy[0]), cycles, evaluations)


def no_mapping(problem: MappingProblem, evaluations: int) -> MappedLayer:
    """Return why a search that found nothing found nothing.

    Raises:
        ValueError: there is a mapping, which the first evaluation would have found.
    """
    why = problem.impossible()
    if why is None:
        raise ValueError("best() needs at least one evaluation")
    return MappedLayer(None, np.inf, np.inf, evaluations, why)


@lean(brief=True)
def reset(setup: KernelInputs, loops: Ints, keep: Flags) -> None:
    """Set the mapping that fits wherever any does: every loop at the outermost level, but for
    those that constraints put elsewhere.
    """
    outermost = loops.shape[0] - 1
    for level in range(outermost + 1):
        for d in range(8):
            loops[level, TEMPORAL, d] = 1
            loops[level, SPATIAL_X, d] = setup.fixed[level, 0, d]
            loops[level, SPATIAL_Y, d] = setup.fixed[level, 1, d]
            loops[level, ORDER, d] = d
        if ways_of(setup, level) > 0:
            permit(setup, loops, level, 0)
        for t in range(3):
            # where bypass is free it is also what fits best
            keep[level, t] = 0 if setup.optional[level, t] else setup.allowed[level, t]
    for d in range(8):
        steps = setup.bounds[d]
        for level in range(outermost + 1):
            steps //= setup.fixed[level, 0, d] * setup.fixed[level, 1, d]
        loops[0 if setup.within[d] else outermost, TEMPORAL, d] = steps
