"""The fusion searches by the names that study files and commands use."""

from collections.abc import Callable
from typing import Final

from ..evaluators.network_bounds import Plans
from .dynamic import DynamicFusion
from .genetic import GeneticFusion
from .genetic_full import GeneticFull
from .integer import IntegerFusion
from .joint import Joint
from .no_fusion import LayerByLayer
from .pricing import PlanPricer
from .protocols import FusionSearch
from .tiled import tiled

#: makes a search from what prices its plans and the individuals of a population, if it has one
FusionFactory = Callable[[PlanPricer, int], FusionSearch]

FUSION_SEARCHES: Final[dict[str, FusionFactory]] = {
    "dynamic": lambda price, _: DynamicFusion(price),
    "genetic": GeneticFusion,
    "genetic_full": GeneticFull,
    "integer": lambda price, _: IntegerFusion(price),
    "integer_printed": lambda price, _: IntegerFusion(price, "printed"),
    "joint": lambda price, _: Joint(price),
    "none": lambda price, _: LayerByLayer(price),
    "tiled": lambda price, _: tiled(price),
}


def plans_of(fusion: str) -> Plans:
    """Return the plans that the search of that name may choose, for bounds that hold for them."""
    if fusion == "none":
        return "layer_by_layer"
    return "steady" if fusion == "integer_printed" else "any"
