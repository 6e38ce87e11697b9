"""Plans of small networks: alone, fused, on cores, pinned, in parts of a batch, and beside
operators of the vector unit.
"""

from typing import Final, TypeAlias

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
