"""Networks on designs that are nearly the same, layer by layer.

Mappings are searched on each design with the same effort and seed. A search that proves nothing may
find a good one on one design and miss it on the next, and that would look like an effect of what
differs. So all that were found are tried on all designs, and each layer runs with the best.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from archloom.evaluators.fusion import NetworkCost, ProblemMapper
from archloom.evaluators.loopnest import LayerCost, MappingProblem
from archloom.search import MAPPING_SEARCHES, derived_seed
from archloom.search.fusion import MemoizedPlanEvaluator
from archloom.search.mapping import Mapper, RecordedMapper, Recorder, objective, short_key
from archloom.space import Infeasible, InfeasibleError
from archloom.space.fusion import layer_by_layer
from archloom.space.hardware import Hardware
from archloom.space.workload import Network
from archloom.studies.engine.progress import Stages

#: how factors may cover the bounds of a layer
_FACTORS: Final = "imperfect"


@dataclass(frozen=True)
class MappingsEffort:
    """How mappings are searched.

    Attributes:
        search: one of MAPPING_SEARCHES.
        evaluations: mappings tried for each layer, at most.
        seed: of everything that is random.
    """

    search: str = "auto"
    evaluations: int = 100_000
    seed: int = 0


@dataclass(frozen=True)
class Figures:
    """What a network costs on a design.

    Attributes:
        latency_s: of a pass.
        energy_pj: of a pass.
        edp_js: energy of an inference x latency of the pass.
    """

    latency_s: float
    energy_pj: float
    edp_js: float


def figures_of(
    network: Network, designs: Sequence[Hardware], effort: MappingsEffort, stages: Stages
) -> list[Figures | Infeasible]:
    """Return what a network costs on each of some designs, or why it cannot run there.

    Args:
        network: with the batch of a pass.
        designs: the design as it is, and others that differ in few values.
        effort: of the mappings on each design.
        stages: told how many designs are done.

    Raises:
        InfeasibleError: the network cannot run on the first design.
    """
    pool = _Pool(effort)
    stages.begin(f"searching mappings of {network.name}", len(designs))
    try:
        for design in designs:
            cost = pool.search(network, design)
            if isinstance(cost, Infeasible) and design is designs[0]:
                raise InfeasibleError(cost)
            stages.advance()
    finally:
        stages.end()
    stages.begin(f"trying all mappings of {network.name} on all designs", len(designs))
    try:
        found = []
        for design in designs:
            found.append(_figures(_cost(network, design, pool.best_on(design))))
            stages.advance()
        return found
    finally:
        stages.end()


def _cost(network: Network, design: Hardware, mapper: ProblemMapper) -> NetworkCost | Infeasible:
    return MemoizedPlanEvaluator(network, design, mapper).plan(layer_by_layer(network))


def _figures(cost: NetworkCost | Infeasible) -> Figures | Infeasible:
    if isinstance(cost, Infeasible):
        return cost
    return Figures(cost.latency_s, cost.energy_pj, cost.edp_js)


class _Pool:
    """Mappings that were found on any design, by problem."""

    def __init__(self, effort: MappingsEffort) -> None:
        self._effort = effort
        self._mappers: dict[Hardware, Mapper] = {}
        self._found: dict[str, dict[str, None]] = {}

    def search(self, network: Network, design: Hardware) -> NetworkCost | Infeasible:
        """Search mappings of all layers on a design; return what the network costs with them."""
        recorder = Recorder(self._mapper(design))
        found = _cost(network, design, recorder)
        for key, cost in recorder.costs.items():
            if cost.mapping is not None:
                self._found.setdefault(key, {})[cost.mapping.to_text()] = None
        return found

    def best_on(self, design: Hardware) -> "_Best":
        """Return what gives the best mapping of each layer on a design that was searched."""
        return _Best(self._mapper(design), self._found)

    def _mapper(self, design: Hardware) -> Mapper:
        if design not in self._mappers:
            search, seed = MAPPING_SEARCHES[self._effort.search](), self._effort.seed
            self._mappers[design] = Mapper(
                search, self._effort.evaluations, derived_seed(seed, "mapping"), _FACTORS
            )
        return self._mappers[design]


class _Best:
    """Gives the best mapping of a problem of all that were found, on one design."""

    def __init__(self, own: Mapper, found: dict[str, dict[str, None]]) -> None:
        self._own, self._found = own, found

    def __call__(self, problem: MappingProblem) -> LayerCost | Infeasible:
        """Return the cost of the best mapping, or why there is none."""
        best = self._own(problem)
        if isinstance(best, Infeasible):
            return best
        for text in self._found.get(problem.key, ()):
            try:
                cost = RecordedMapper({short_key(problem.key): text}, _FACTORS)(problem)
            except ValueError:
                continue  # found on another design, it does not fit this one
            if objective(problem, cost) < objective(problem, best):
                best = cost
        return best
