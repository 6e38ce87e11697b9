"""Random sampling of mappings behind the protocol of all mapping searches."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..evaluators.kernel import VALID, evaluate_batch, ln_objective
from ..evaluators.problem import MappingProblem
from ..evaluators.words import Int
from .annealing import reset
from .draws import Flags, draw_candidates
from .incumbent import mapped_layer, no_mapping
from .protocols import MappedLayer
from .sampling import sample


@dataclass(frozen=True)
class RandomState:
    """The incumbent ``loops[L, 4, 8]`` and ``keep[L, 3]`` and its ln objective.

    Before the first evaluation it is the trivial mapping, with no score (inf).
    """

    evaluations: int
    seed: int
    loops: Int
    keep: Flags
    score: float


class RandomMapping:
    """Uniform draws of factors, orders and bypass, as Timeloop's random mapper does.

    The very first candidate is the trivial one, which fits wherever any does.
    """

    name: ClassVar[str] = "random"

    def start(self, problem: MappingProblem, seed: int) -> RandomState:
        """Return the state before anything was evaluated."""
        levels = len(problem.hardware.levels)
        loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
        reset(problem.setup, loops, keep)
        return RandomState(0, seed % 2**64, loops, keep, np.inf)

    def advance(self, problem: MappingProblem, state: RandomState, budget: int) -> RandomState:
        """Evaluate ``budget`` more mappings."""
        setup, done = problem.setup, state.evaluations
        after = replace(state, evaluations=done + budget)
        if done == 0 and budget > 0:
            status, energy, chip, dram = evaluate_batch(setup, state.loops[None], state.keep[None])
            if status[0] == VALID:
                cycles = max(chip[0], dram[0])
                score = ln_objective(setup.weights, setup.leakage_pj, energy[0], cycles)
                after = replace(after, score=float(score))
        first = max(1, done)
        found = sample(setup, state.seed, first, done + budget - first)
        if found.score < after.score:
            drawn, kept = draw_candidates(setup, state.seed, found.number, 1)
            after = replace(after, loops=drawn[0], keep=kept[0], score=found.score)
        return after

    def best(self, problem: MappingProblem, state: RandomState) -> MappedLayer:
        """Return the incumbent, re-scored by the batch kernel; infeasible if there is none."""
        if state.score == np.inf:
            return no_mapping(problem, state.evaluations)
        return mapped_layer(problem, state.loops, state.keep, state.evaluations)
