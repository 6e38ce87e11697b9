"""Random mappings and random fusion plans, priced."""

from itertools import pairwise
from math import prod

import numpy as np

from archloom.evaluators.fusion import group_cost
from archloom.evaluators.fusion.plan import network_cost
from archloom.evaluators.loopnest.layer_cost import mapped_cost
from archloom.space.fusion.plan import FusionGroup, FusionPlan
from archloom.space.mapping.mapping import LevelMapping, Mapping
from archloom.space.workload.dims import DIMS, TENSORS

from .bound_cases import primes


class RandomMapper:
    """Maps by throwing each prime factor of each bound into a random slot that still
    fits."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, problem):
        levels = problem.hardware.levels
        rows = np.ones((len(levels), 3, len(DIMS)), int)
        rows[-1, 0] = problem.bounds
        keeps = self.keeps(problem)
        cost = mapped_cost(problem, self.mapping(rows, keeps))
        for d, bound in enumerate(problem.bounds):
            for p in primes(bound):
                trial = rows.copy()
                trial[-1, 0, d] //= p
                trial[self.rng.integers(len(levels)), self.rng.integers(3), d] *= p
                if self.allowed(problem.hardware, trial):
                    try:
                        cost = mapped_cost(problem, self.mapping(trial, keeps))
                        rows = trial
                    except ValueError:
                        continue  # some buffer is too small for this factor
        return cost

    def keeps(self, problem):
        rows = []
        for level in problem.hardware.levels:
            held = [t in level.keeps for t in TENSORS]
            if level.optional and not any(problem.staged):
                held = [h and bool(self.rng.random() < 0.7) for h in held]
            rows.append(tuple(held))
        return rows

    def mapping(self, rows, keeps):
        return Mapping(
            tuple(
                LevelMapping(
                    tuple(map(int, t)),
                    tuple(map(int, self.rng.permutation(8))),
                    tuple(map(int, x)),
                    tuple(map(int, y)),
                    k,
                )
                for (t, x, y), k in zip(rows, keeps, strict=True)
            )
        )

    def allowed(self, hardware, rows):
        for level, (_, x, y), fanout in zip(hardware.levels, rows, hardware.fanouts, strict=True):
            for factors, dims, children in (
                (x, level.spatial_x, fanout[0]),
                (y, level.spatial_y, fanout[1]),
            ):
                unrolled = {DIMS[d] for d in range(8) if factors[d] > 1}
                if prod(map(int, factors)) > children or not unrolled <= set(dims):
                    return False
        return True


def priced(net, plan, hardware, seed):
    mapper = RandomMapper(seed)
    return network_cost(
        net, plan, hardware, lambda g, residents: group_cost(net, g, hardware, mapper, residents)
    )


def random_plan(net, rng):
    """Return neighbours in the layer list, fused at random, with random tiles and halos."""
    cuts = [0, *sorted(rng.choice(range(1, len(net.layers)), 2, replace=False)), len(net.layers)]
    groups = []
    for a, b in pairwise(cuts):
        tile = (int(rng.integers(1, 17)), int(rng.integers(1, 17)))
        halo = str(rng.choice(["recompute", "keep_inner", "keep_all"]))
        resident = tuple(i for i in range(a, b) if net.layers[i].uses_macs and rng.random() < 0.5)
        groups.append(FusionGroup(tuple(range(a, b)), tile, halo, resident))
    return FusionPlan(tuple(groups))
