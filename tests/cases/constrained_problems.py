"""Constraints by number for the problems of exact_cases, and which mappings satisfy them.

What satisfies them is asked of each mapping, by the definitions in the docstrings of
archloom.space.mapping.constraints, and of nothing that searches read.
"""

from dataclasses import replace
from math import prod
from random import Random

import numpy as np

from archloom.evaluators.loopnest.data_reuse import ORDER, SPATIAL_X, TEMPORAL
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.hardware import StorageLevel
from archloom.space.mapping.constraints import (
    DATAFLOWS,
    LevelConstraints,
    MappingConstraints,
    Unrolled,
)
from archloom.space.workload.dims import DIMS, RELEVANT, TENSORS

from .small_problems import drawn_network, drawn_problem


def constrained_problem(number: int) -> MappingProblem:
    """Return the problem of that number with constraints that its hardware can obey.

    One of four has networks whose words take hops.
    """
    rng = Random(f"constraints-{number}")
    problem = drawn_network(number) if number % 4 == 3 else drawn_problem(number)
    while True:
        found = replace(problem, constraints=_draw(rng, problem))
        why = found.impossible()
        if why is None or why.reason == "no_mapping":
            return found


def _draw(rng: Random, problem: MappingProblem) -> MappingConstraints:
    dataflow = rng.choice(("any", "any", "any", *DATAFLOWS[1:]))
    hardware = problem.hardware
    moving = [d for d, bound in zip(DIMS, problem.bounds, strict=True) if bound > 1]
    levels = tuple(
        _draw_level(rng, level, fanout, moving)
        for level, fanout in zip(hardware.levels, hardware.fanouts, strict=True)
        if rng.random() < 0.6
    )
    both = rng.random() < 0.6
    try:
        return MappingConstraints(dataflow, both, levels)
    except ValueError:
        return MappingConstraints(dataflow, True, levels)


def _draw_level(
    rng: Random, level: StorageLevel, fanout: tuple[int, int], moving: list[str]
) -> LevelConstraints:
    unrolled: list[Unrolled | None] = []
    for allowed, children in zip((level.spatial_x, level.spatial_y), fanout, strict=True):
        some = [d for d in allowed if rng.random() < 0.6]
        factors = {d: rng.choice((None, 1, 2, 2, 3, 4)) for d in some}
        while prod(f or 1 for f in factors.values()) > children:
            factors.popitem()
        unrolled.append(tuple(factors.items()) if rng.random() < 0.6 else None)
    orders = []
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        named = rng.sample(moving, rng.randint(1, len(moving)))
        orders.append((*named, *rng.sample([d for d in DIMS if d not in moving], 1)))
    choice = {t: rng.choice(("keep", "bypass", "free")) for t in level.keeps}
    return LevelConstraints(
        level.name,
        *unrolled,
        tuple(orders),
        keep=tuple(t for t in level.keeps if choice[t] == "keep" and level.optional),
        bypass=tuple(t for t in level.keeps if choice[t] == "bypass" and level.optional),
    )


def satisfied(problem: MappingProblem, loops: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Return bool[B]: which of loops[B, L, 4, 8] with keep[L, 3] satisfy the constraints."""
    rules, hardware = problem.constraints, problem.hardware
    good = np.full(len(loops), _keeps(problem, keep))
    good &= _unrolls(problem, loops)
    if not rules.both_axes:
        good &= (loops[:, :, 1:3].min(axis=2) == 1).all(axis=(1, 2))
    for i, level in enumerate(hardware.levels[1:], 1):
        orders = rules.of_level(level.name).orders
        if orders:
            good &= np.any([_begins(loops[:, i], order) for order in orders], axis=0)
    if rules.dataflow == "row_stationary":
        good &= _row_stationary(problem, loops)
    elif rules.dataflow != "any":
        t = TENSORS.index(f"{rules.dataflow.split('_')[0]}s")
        for i in range(_holder(problem, t) + 1, problem.setup.top[t] + 1):
            good &= _inside(loops[:, i], np.array(RELEVANT[t], int))
    return good


def _holds(problem: MappingProblem, i: int, t: int) -> bool:
    """Whether a level can hold a tensor."""
    level = problem.hardware.levels[i]
    passes = TENSORS[t] in problem.constraints.of_level(level.name).bypass
    lives = problem.staged[t] and i == problem.hardware.fusion_level
    return TENSORS[t] in level.keeps and (lives or not passes)


def _holder(problem: MappingProblem, t: int) -> int:
    return next(i for i in range(len(problem.hardware.levels)) if _holds(problem, i, t))


def _keeps(problem: MappingProblem, keep: np.ndarray) -> bool:
    rules, hardware = problem.constraints, problem.hardware
    for i, level in enumerate(hardware.levels):
        for t, tensor in enumerate(TENSORS):
            if i > problem.setup.top[t]:
                continue
            here = rules.of_level(level.name)
            held = tensor in here.keep
            if rules.dataflow == f"{tensor[:-1]}_stationary":
                held |= i == _holder(problem, t)
            if rules.dataflow == "row_stationary":
                held |= i == feeds_pes(problem) - 1 and _holds(problem, i, t)
            if keep[i, t] < held or keep[i, t] > _holds(problem, i, t):
                return False
    return True


def _unrolls(problem: MappingProblem, loops: np.ndarray) -> np.ndarray:
    good = np.ones(len(loops), bool)
    left = list(problem.covered)
    rows = problem.constraints.dataflow == "row_stationary"
    for i, level in enumerate(problem.hardware.levels):
        here = problem.constraints.of_level(level.name)
        for axis, unrolled in enumerate((here.unroll_x, here.unroll_y)):
            for d, name in enumerate(DIMS):
                factors = loops[:, i, SPATIAL_X + axis, d]
                if rows and name in "RSQ":
                    continue
                if unrolled is None:
                    continue
                if name not in dict(unrolled):
                    good &= factors == 1
                most = dict(unrolled).get(name)
                if most is not None:
                    number = max(f for f in range(1, most + 1) if left[d] % f == 0)
                    good &= factors == number
                    left[d] //= number
    return good


def _begins(level: np.ndarray, order: tuple[str, ...]) -> np.ndarray:
    """Whether loops of more than one step, innermost first, begin with those of an order."""
    place = np.array([order.index(d) if d in order else len(order) for d in DIMS])
    return _inside(level, place)


def _inside(level: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Whether no loop of a higher place stands inside one of a lower place."""
    order = level[:, ORDER]
    moves = np.take_along_axis(level[:, TEMPORAL], order, axis=1) > 1
    places = np.where(moves, place[order], -1)
    return ((places == -1) | (places == np.maximum.accumulate(places, axis=1))).all(axis=1)


def feeds_pes(problem: MappingProblem) -> int:
    """The level with the most children, the innermost one of several, but not level 0."""
    fanouts = problem.hardware.fanouts
    return max(range(1, len(fanouts)), key=lambda i: (prod(fanouts[i]), -i))


def _row_stationary(problem: MappingProblem, loops: np.ndarray) -> np.ndarray:
    q, r, s = (DIMS.index(d) for d in "QRS")
    pes = feeds_pes(problem)
    spatial = loops[:, :, 1:3]
    good = (spatial[..., [q, s]] == 1).all(axis=(1, 2, 3))
    good &= (loops[:, 1:, TEMPORAL, s] == 1).all(axis=1)
    fixed = prod(
        f or 1
        for d, f in problem.constraints.of_level(problem.hardware.levels[pes].name).unroll_y or ()
        if d not in "QRS"
    )
    room = problem.hardware.fanouts[pes][1] // fixed
    rows = max(f for f in range(1, max(1, room) + 1) if problem.covered[r] % f == 0)
    good &= spatial[:, pes, 1, r] == rows
    elsewhere = spatial[..., r].copy()
    elsewhere[:, pes, 1] = 1
    good &= (elsewhere == 1).all(axis=(1, 2))
    good &= _inside(loops[:, pes], np.where(np.arange(8) == q, 0, 1))
    return good
