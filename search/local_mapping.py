"""Annealing of mappings behind the protocol of all mapping searches."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..evaluators.lane_records import Records
from ..evaluators.problem import MappingProblem
from ..evaluators.words import Float
from .draws import Flags
from .incumbent import mapped_layer, no_mapping
from .lane_annealing import Walks, annealed, new_walks
from .lane_candidates import Stand, mapping_of
from .protocols import MappedLayer


@dataclass(frozen=True)
class LocalState:
    """Where all walks of :mod:`archloom.search.lane_annealing` stand, and the incumbent.

    Arrays are never changed in place. ``nests``, ``lanes`` and ``least`` are those of ``Walks``;
    ``places``, ``keys``, ``keep`` and ``ways`` are the incumbent.
    """

    evaluations: int
    seed: int
    nests: Records
    lanes: Records
    places: Flags
    keys: Float
    keep: Float
    ways: Flags
    least: Float

    @classmethod
    def of(cls, evaluations: int, seed: int, walks: Walks) -> "LocalState":
        """Return the state of walks."""
        return cls(evaluations, seed, walks.nests, walks.lanes, *walks.best, walks.least)

    @property
    def walks(self) -> Walks:
        """The walks, as they are annealed further."""
        return Walks(self.nests, self.lanes, self.incumbent, self.least)

    @property
    def incumbent(self) -> Stand:
        """The best mapping so far."""
        return Stand(self.places, self.keys, self.keep, self.ways)


class LocalMapping:
    """Annealing with restarts (moves: one prime factor or two, two loops, a bypass bit)."""

    name: ClassVar[str] = "local"

    def start(self, problem: MappingProblem, seed: int) -> LocalState:
        """Return the state before anything was evaluated."""
        return LocalState.of(0, seed % 2**64, new_walks(problem.setup))

    def advance(self, problem: MappingProblem, state: LocalState, budget: int) -> LocalState:
        """Evaluate ``budget`` more mappings."""
        done = state.evaluations
        walks = annealed(problem.setup, state.walks, state.seed, done, budget)
        return LocalState.of(done + budget, state.seed, walks)

    def best(self, problem: MappingProblem, state: LocalState) -> MappedLayer:
        """Return the incumbent, re-scored by the batch kernel; infeasible if there is none."""
        if state.least[0] == np.inf:
            return no_mapping(problem, state.evaluations)
        loops, keep = mapping_of(problem.setup, state.incumbent)
        return mapped_layer(problem, loops, keep, state.evaluations)
