"""The fusion searches by the names that study files and commands use."""

from collections.abc import Callable
from typing import Final

from ..evaluators.network_bounds import Plans
from ..space.cores import fusion_cores
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
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

#: searches that fuse on chips of several cores too (:mod:`archloom.space.cores`)
ON_CORES: Final = ("genetic", "joint")


def suited_budgets(fusion: str, budget: str) -> dict[str, int]:
    """Return the budgets of a trial by option of halving, for studies that say nothing of them.

    A population needs many plans; of ``joint`` the first that is fused is nearly its last
    (docs/benchmarks.md, "Halving"), but units of a ``shared`` budget also pay for better mappings.
    ``evaluations`` is what a trial gets that wins three rounds.
    """
    first = 2 if fusion == "joint" and budget == "plans" else 64
    return {"first_budget": first, "evaluations": 7 * first}


def nothing_fused(fusion: str, hardware: Hardware) -> str | None:
    """Return why the search of that name can fuse nothing on a hardware; None if it can."""
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return f"nothing can be fused on {hardware.name}: {cores.hint}"
    if cores.count == 1 or fusion in (*ON_CORES, "none"):
        return None
    level = hardware.levels[-2].name
    return (
        f"{fusion} fuses nothing on {hardware.name}: {level} has {cores.count} instances, and "
        f"only {' and '.join(ON_CORES)} run tiles on several"
    )


def plans_of(fusion: str) -> Plans:
    """Return the plans that the search of that name may choose, for bounds that hold for them."""
    if fusion == "none":
        return "layer_by_layer"
    return "steady" if fusion == "integer_printed" else "any"
