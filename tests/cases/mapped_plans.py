"""Plans of small networks: alone, fused, on cores, pinned, in parts of a batch, and beside
operators of the vector unit.
"""

from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from archloom.evaluators.loopnest.layer_cost import LayerCost
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.mapper import Mapper
from archloom.search.mapping.random_sampling import RandomMapping
from archloom.space.fusion.plan import FusionGroup, FusionPlan, Pin, layer_by_layer
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

from .designs import several
from .small_designs import casco_edge, chain, two_levels

Case: TypeAlias = tuple[Network, Hardware, FusionPlan]

EDGE: Final = casco_edge(64, pe_x=4, pe_y=4)
THREE: Final = chain(3, size=8, channels=4)
TWO_IMAGES: Final = THREE.with_batch(2)
TINY: Final = network("tiny_mobile")

#: plans that both bounds of a plan's mappings are held against
PLANS: Final[dict[str, Case]] = {
    "layer by layer": (THREE, two_levels(), layer_by_layer(THREE)),
    "fused": (THREE, EDGE, FusionPlan((FusionGroup((0, 1, 2), (3, 8)),))),
    "half fused": (THREE, EDGE, FusionPlan((FusionGroup((0, 1), (4, 8)), FusionGroup((2,))))),
    "on four cores": (
        TWO_IMAGES,
        several((2, 2)),
        FusionPlan((FusionGroup((0, 1), (2, 8), "recompute", (0,)), FusionGroup((2,)))),
    ),
    "pinned": (
        THREE,
        EDGE,
        FusionPlan(
            (
                FusionGroup((0,), pins=(Pin(0, 1),), steady=(0,)),
                FusionGroup((1,), (4, 8), pins=(Pin(1, 2),)),
                FusionGroup((2,)),
            )
        ),
    ),
    "in two parts": (
        TWO_IMAGES,
        EDGE,
        FusionPlan(
            (
                FusionGroup((0, 1), (4, 8), sub_batches=2),
                FusionGroup((2,), sub_batches=2),
            )
        ),
    ),
    "with vector operators": (TINY, EDGE, layer_by_layer(TINY)),
}


class Draws:
    """Random mappings, some of them good; nothing is proven of them."""

    def __init__(self, rng: np.random.Generator, factors: str = "exact") -> None:
        self._rng, self._factors = rng, factors

    def __call__(self, problem: MappingProblem) -> LayerCost:
        """Return the cost of one."""
        tries, seed = int(self._rng.choice([1, 3, 30, 300])), int(self._rng.integers(2**32))
        weights = [(1.0, 1.0), (1.0, 0.0), (0.0, 1.0)][int(self._rng.integers(3))]
        mapper = Mapper(RandomMapping(), tries, seed, self._factors)
        cost = mapper(replace(problem, weights=weights))
        assert isinstance(cost, LayerCost)
        return cost
