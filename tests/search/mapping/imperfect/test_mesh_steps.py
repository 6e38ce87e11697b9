"""The fewest steps on a mesh, factors exact or of any size, against all factors of all axes."""

from itertools import product
from math import inf, prod

import numpy as np
import pytest

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.imperfect.mesh_steps import least_steps, meshes_of
from archloom.space.design_space.presets import preset
from archloom.space.workload.layer import Layer

from ....cases.small_problems import awkward_problem


def fewest(setup, exact: bool) -> int:
    """The same by going through all factors of each dimension along all axes that may have them."""
    levels = len(setup.fanout)
    axes = [(v, a) for v, a in product(range(levels), (0, 1)) if setup.fanout[v, a] > 1]
    best = {(1,) * len(axes): 1}
    for d in range(8):
        bound, after = int(setup.bounds[d]), {}
        for used, steps in best.items():
            rooms = [
                range(1, min(bound, int(setup.fanout[v, a]) // u) + 1)
                if setup.spatial[v, a, d]
                else (1,)
                for (v, a), u in zip(axes, used, strict=True)
            ]
            for factors in product(*rooms):
                if exact and bound % prod(factors):
                    continue
                key = tuple(u * f for u, f in zip(used, factors, strict=True))
                here = steps * -(-bound // prod(factors))
                after[key] = min(after.get(key, inf), here)
        best = after
    return min(best.values())


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_factors_take_fewer_steps(first: int, exact: bool) -> None:
    equal = 0
    for number in range(first, first + 20):
        setup = awkward_problem(number).setup
        meshes = meshes_of(setup, exact)
        if meshes is None:
            continue
        covers, steps = np.ones((3, 8), np.int64), np.full(3, inf)
        least, fewest_steps = least_steps(meshes, covers, steps, 0.0), fewest(setup, exact)
        # axes for the same dimensions may count as one: fewer steps then, never more
        assert least <= fewest_steps
        equal += least == fewest_steps
        for cover, count in zip(covers, steps, strict=True):
            assert count == inf or (count >= least and (cover >= setup.bounds).all())
            assert count == inf or not exact or (cover == setup.bounds).all()
    assert equal >= 15


def test_steps_of_a_prime_on_a_mesh() -> None:
    layer = Layer("g", "gemm", k=127, c=127, p=127, input_size=(127, 1))
    setup = MappingProblem.of_layer(layer, preset("tpu_v3")).setup
    for exact in (False, True):
        meshes = meshes_of(setup, exact)
        assert meshes is not None
        covers, steps = np.ones((3, 8), np.int64), np.full(3, inf)
        assert least_steps(meshes, covers, steps, 0.0) == fewest(setup, exact)
