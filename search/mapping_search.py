"""Mapping searches behind one protocol: annealing with restarts, random sampling, and by name
the exact one and the default.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from ..evaluators.kernel import VALID, Float, Int, evaluate_batch, ln_objective
from ..evaluators.problem import MappingProblem
from ..space.mapping import Mapping
from .annealing import Flags, anneal, reset
from .auto_mapping import AutoMapping
from .draws import draw_candidates
from .exact_mapping import ExactMapping
from .protocols import MappedLayer, MappingSearch
from .sampling import sample


@dataclass(frozen=True)
class MappingState:
    """Everything that a mapping search remembers; arrays are never changed in place.

    ``loops``/``keep`` are where the walk stands, ``best_loops``/``best_keep`` the incumbent,
    ``scores`` their ln objective, ``rng`` the generator's word.
    """

    evaluations: int
    loops: Int
    keep: Flags
    best_loops: Int
    best_keep: Flags
    scores: Float
    rng: int


class _CompiledSearch:
    """Start and result, shared by the searches that differ only in how they move."""

    def start(self, problem: MappingProblem, seed: int) -> MappingState:
        """Return the state before anything was evaluated."""
        levels = len(problem.hardware.levels)
        loops, keep = np.empty((levels, 4, 8), np.int64), np.empty((levels, 3), np.uint8)
        reset(problem.setup, loops, keep)
        scores = np.full(2, np.inf)
        return MappingState(0, loops, keep, loops.copy(), keep.copy(), scores, seed % 2**64)

    def best(self, problem: MappingProblem, state: MappingState) -> MappedLayer:
        """Return the incumbent, re-scored by the batch kernel; infeasible if there is none."""
        status, energy, chip, dram = evaluate_batch(
            problem.setup, state.best_loops[None], state.best_keep[None]
        )
        if np.isinf(state.scores[1]) or status[0] != VALID:
            why = problem.impossible()
            if why is None:
                raise ValueError("best() needs at least one evaluation")
            return MappedLayer(None, np.inf, np.inf, state.evaluations, why)
        levels = zip(state.best_loops, state.best_keep, strict=True)
        rows = [[lp[0], lp[3], lp[1], lp[2], kp] for lp, kp in levels]
        cycles = float(max(chip[0], dram[0]))
        return MappedLayer(Mapping.from_rows(rows), float(energy[0]), cycles, state.evaluations)


class LocalMapping(_CompiledSearch):
    """Annealing with restarts (moves: one prime factor or two, two loops, a bypass bit)."""

    name: ClassVar[str] = "local"

    def advance(self, problem: MappingProblem, state: MappingState, budget: int) -> MappingState:
        """Evaluate ``budget`` more mappings."""
        loops, keep = state.loops.copy(), state.keep.copy()
        best_loops, best_keep = state.best_loops.copy(), state.best_keep.copy()
        scores, rng = state.scores.copy(), np.array([state.rng], np.uint64)
        anneal(
            problem.setup,
            loops,
            keep,
            best_loops,
            best_keep,
            scores,
            rng,
            state.evaluations,
            budget,
        )
        done = state.evaluations + budget
        return MappingState(done, loops, keep, best_loops, best_keep, scores, int(rng[0]))


class RandomMapping(_CompiledSearch):
    """Uniform draws of factors, orders and bypass, as Timeloop's random mapper does.

    The very first candidate is the trivial one, which fits wherever any does.
    """

    name: ClassVar[str] = "random"

    def advance(self, problem: MappingProblem, state: MappingState, budget: int) -> MappingState:
        """Evaluate ``budget`` more mappings."""
        setup, done = problem.setup, state.evaluations
        loops, keep, scores = state.best_loops, state.best_keep, state.scores
        if done == 0 and budget > 0:
            status, energy, chip, dram = evaluate_batch(setup, loops[None], keep[None])
            if status[0] == VALID:
                cycles = max(chip[0], dram[0])
                score = ln_objective(setup.weights, setup.leakage_pj, energy[0], cycles)
                scores = np.array([np.inf, score])
        first = max(1, done)
        found = sample(setup, state.rng, first, done + budget - first)
        if found.score < scores[1]:
            drawn, kept = draw_candidates(setup, state.rng, found.number, 1)
            loops, keep, scores = drawn[0], kept[0], np.array([np.inf, found.score])
        return MappingState(done + budget, state.loops, state.keep, loops, keep, scores, state.rng)


#: a search whose states only it looks into
AnySearch: TypeAlias = MappingSearch[Any]

MAPPING_SEARCHES: Final[dict[str, Callable[[], AnySearch]]] = {
    AutoMapping.name: lambda: AutoMapping(LocalMapping()),
    LocalMapping.name: LocalMapping,
    RandomMapping.name: RandomMapping,
    ExactMapping.name: ExactMapping,
}
