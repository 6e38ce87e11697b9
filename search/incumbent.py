"""The best mapping that a search has found, as searches report it."""

import numpy as np

from ..evaluators.kernel import VALID, evaluate_batch
from ..evaluators.problem import MappingProblem
from ..evaluators.words import Int
from ..space.mapping import Mapping
from .draws import Flags
from .protocols import MappedLayer


def mapped_layer(problem: MappingProblem, loops: Int, keep: Flags, evaluations: int) -> MappedLayer:
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
