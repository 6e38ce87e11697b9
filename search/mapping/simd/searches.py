"""Searches that evaluate mappings in lanes, behind the protocol of all mapping searches."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from archloom.evaluators import Flags, Floats
from archloom.evaluators.loopnest import KernelInputs, MappingProblem
from archloom.evaluators.loopnest.simd import Records

from ..protocol import MappedLayer, MappingSearch
from ..result import mapped_layer, no_mapping
from .annealing import annealed
from .candidates import Block, Stand, mapping_of, new_block
from .gamma import bred


@dataclass(frozen=True)
class BatchState:
    """Where all lanes stand, and the incumbent; arrays are never changed in place.

    ``nests``, ``lanes`` and ``least`` are those of
    :class:`archloom.search.mapping.simd.candidates.Block`; ``places``, ``keys``, ``keep`` and
    ``ways`` are the incumbent.
    """

    evaluations: int
    seed: int
    nests: Records
    lanes: Records
    places: Flags
    keys: Floats
    keep: Floats
    ways: Flags
    least: Floats

    @classmethod
    def of(cls, evaluations: int, seed: int, block: Block) -> "BatchState":
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


class _LaneMapping(MappingSearch[BatchState]):
    """Start and result, shared by the searches that differ only in how lanes go on."""

    def start(self, problem: MappingProblem, seed: int) -> BatchState:
        """Return the state before anything was evaluated."""
        return BatchState.of(0, seed % 2**64, new_block(problem.setup))

    def advance(self, problem: MappingProblem, state: BatchState, budget: int) -> BatchState:
        """Evaluate ``budget`` more mappings."""
        done = state.evaluations
        block = self._after(problem.setup, state.block, state.seed, done, budget)
        return BatchState.of(done + budget, state.seed, block)

    def best(self, problem: MappingProblem, state: BatchState) -> MappedLayer:
        """Return the incumbent, re-scored by the batch kernel; infeasible if there is none."""
        if state.least[0] == np.inf:
            return no_mapping(problem, state.evaluations)
        loops, keep = mapping_of(problem.setup, state.incumbent)
        return mapped_layer(problem, loops, keep, state.evaluations)

    @abstractmethod
    def _after(self, setup: KernelInputs, block: Block, seed: int, done: int, budget: int) -> Block:
        """Return the lanes after ``budget`` more evaluations than the first ``done``."""


class LocalMapping(_LaneMapping):
    """Annealing with restarts (moves: one prime factor or two, two loops, a bypass bit)."""

    name: ClassVar[str] = "local"

    def _after(self, setup: KernelInputs, block: Block, seed: int, done: int, budget: int) -> Block:
        return annealed(setup, block, seed, done, budget)


class GeneticMapping(_LaneMapping):
    """A population that breeds by the operators of GAMMA (Kao and Krishna, ICCAD 2020)."""

    name: ClassVar[str] = "genetic"

    def _after(self, setup: KernelInputs, block: Block, seed: int, done: int, budget: int) -> Block:
        return bred(setup, block, seed, done, budget)
