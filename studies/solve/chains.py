"""Chain of a network on a design: the plan is searched, and its rows are what several networks
share the design with."""

from archloom.evaluators.weaving import Chain, plan_chain
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import Network
from archloom.studies.engine.progress import SILENT, Stages

from .fusion import FusionEffort, FusionProgress, search_plan


def network_chain(
    network: Network, hardware: Hardware, effort: FusionEffort, stages: Stages = SILENT
) -> Chain | Infeasible | None:
    """Return the chain of the best plan of a network on a design.

    Ctrl-C ends the search of the plan, not the program.

    Args:
        network: with the batch of a query.
        hardware: without what is set aside for weights.
        effort: who plans, and for how long.
        stages: told how many plans are evaluated.

    Returns:
        The chain, why the network cannot run there, or None if somebody stopped the search.

    Raises:
        SteadyWeightsError: a plan that keeps weights on the chip for ever.
    """
    seen = 0

    def tell(stand: FusionProgress) -> None:
        nonlocal seen
        stages.advance(f"{stand.mapped:,} mappings", stand.evaluations - seen)
        seen = stand.evaluations

    stages.begin(f"planning {network.name} with {effort.settings.fusion}", effort.evaluations)
    try:
        found = search_plan(network, hardware, effort, tell)
    finally:
        stages.end()
    if found is None or isinstance(found, Infeasible):
        return found
    return None if found.interrupted else plan_chain(found.cost)
