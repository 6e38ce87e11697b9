"""Searches that evaluate mappings in lanes, behind the protocol of all mapping searches."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..evaluators.lane_records import Records
from ..evaluators.problem import MappingProblem
from ..evaluators.setup import Setup
from ..evaluators.words import Float
from .draws import Flags
from .incumbent import mapped_layer, no_mapping
from .lane_annealing import annealed
from .lane_breeding import bred
from .lane_candidates import Block, Stand, mapping_of, new_block
from .protocols import MappedLayer


@dataclass(frozen=True)
class LaneState:
    """Where all lanes stand, and the incumbent; arrays are never changed in place.

    ``nests``, ``lanes`` and ``least`` are those of :class:`archloom.search.lane_candidates.Block`;
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
    def of(cls, evaluations: int, seed: int, block: Block) -> "LaneState":
        """Return the state of a block."""
        return cls(evaluations, seed, block.nests, block.lanes, *block.best, block.least)

    @property
    def incumbent(self) -> Stand:
        """The best mapping so far."""
        return Stand(self.places, self.keys, self.keep, self.ways)

    @property
    def block(self) -> Block:
        """The lanes, as they go on."""
        return Block(self.nests, self.lanes, self.incumbent, self.least)


class _LaneMapping(ABC):
    """Start and result, shared by the searches that differ only in how lanes go on."""

    def start(self, problem: MappingProblem, seed: int) -> LaneState:
        """Return the state before anything was evaluated."""
        return LaneState.of(0, seed % 2**64, new_block(problem.setup))

    def advance(self, problem: MappingProblem, state: LaneState, budget: int) -> LaneState:
        """Evaluate ``budget`` more mappings."""
        done = state.evaluations
        block = self._after(problem.setup, state.block, state.seed, done, budget)
        return LaneState.of(done + budget, state.seed, block)

    def best(self, problem: MappingProblem, state: LaneState) -> MappedLayer:
        """Return the incumbent, re-scored by the batch kernel; infeasible if there is none."""
        if state.least[0] == np.inf:
            return no_mapping(problem, state.evaluations)
        loops, keep = mapping_of(problem.setup, state.incumbent)
        return mapped_layer(problem, loops, keep, state.evaluations)

    @abstractmethod
    def _after(self, setup: Setup, block: Block, seed: int, done: int, budget: int) -> Block:
        """Return the lanes after ``budget`` more evaluations than the first ``done``."""


class LocalMapping(_LaneMapping):
    """Annealing with restarts (moves: one prime factor or two, two loops, a bypass bit)."""

    name: ClassVar[str] = "local"

    def _after(self, setup: Setup, block: Block, seed: int, done: int, budget: int) -> Block:
        return annealed(setup, block, seed, done, budget)


class GeneticMapping(_LaneMapping):
    """A population that breeds by the operators of GAMMA (Kao and Krishna, ICCAD 2020)."""

    name: ClassVar[str] = "genetic"

    def _after(self, setup: Setup, block: Block, seed: int, done: int, budget: int) -> Block:
        return bred(setup, block, seed, done, budget)
