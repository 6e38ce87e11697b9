"""Projection of a given hardware onto a space: the feasible design nearest to it."""

from collections.abc import Callable
from math import dist, log2
from typing import Final

import numpy as np

from archloom.space import Infeasible
from archloom.space.design_space import Point
from archloom.space.hardware import Hardware
from archloom.space.workload import TENSORS, Tensor
from archloom.surrogates import domain_features

from ..seeds import derived_seed
from .problem import ENUMERATE_LIMIT, Candidate, DesignProblem

#: feasible designs that are drawn, draws to find them, and how many of the nearest are walked from
_STARTS: Final = 512
DRAWS: Final = 4 * _STARTS
WALKS: Final = 16


def nearest(problem: DesignProblem, hardware: Hardware) -> Candidate | None:
    """Return the feasible design nearest to ``hardware``; None if none is found.

    Near in the base-2 logarithms of what an architect would look at first: MACs, PEs, bytes on
    chip, DRAM bandwidth, MACs for each DRAM word; then clock, batch, both sides of mesh and
    array, and for each tensor the bytes closest to the MACs and the bytes furthest from them. A
    small space is searched whole. In a large one walks go from the nearest of some random designs
    to ever nearer neighbours; they are the same whenever they are made.
    """
    target = _coordinates(hardware)

    def distance(candidate: Candidate) -> float:
        return dist(target, _coordinates_of(problem, candidate.point))

    if problem.enumerable and problem.space.cardinality <= ENUMERATE_LIMIT:
        return min(problem.feasible(), key=distance, default=None)
    rng = np.random.default_rng(derived_seed(0, "nearest"))
    starts = sorted(problem.sample(rng, _STARTS, (), DRAWS), key=distance)[:WALKS]
    if not starts:
        reached = problem.descend(rng)
        starts = [reached] if isinstance(reached, Candidate) else []
    return min((_walk(problem, start, distance) for start in starts), key=distance, default=None)


def _walk(
    problem: DesignProblem, start: Candidate, distance: Callable[[Candidate], float]
) -> Candidate:
    here = start
    while True:
        near = min(problem.neighbours(here), key=distance, default=here)
        if distance(near) >= distance(here):
            return here
        here = near


def _coordinates(hardware: Hardware) -> tuple[float, ...]:
    sizes = (*hardware.pe_mesh, *hardware.array, hardware.native_batch)
    held = (b for tensor in TENSORS for b in _ends(hardware, tensor))
    rest = (hardware.frequency_mhz, *sizes, *held)
    return (*domain_features(hardware), *(log2(1 + value) for value in rest))


def _ends(hardware: Hardware, tensor: Tensor) -> tuple[float, float]:
    """Bytes for a tensor in the innermost and outermost level on chip that keep it."""
    every = [
        (level.buffer_bytes(tensor) or 0.0) * level.instances
        for level in hardware.levels[:-1]
        if tensor in level.keeps
    ]
    return (every[0], every[-1]) if every else (0.0, 0.0)


def _coordinates_of(problem: DesignProblem, point: Point) -> tuple[float, ...]:
    built = problem.space.build(point)
    if isinstance(built, Infeasible):
        raise ValueError(f"a feasible design cannot be built: {built}")
    return _coordinates(built)
