"""Schedules: which layers of a network run fused on a hardware, as ``archloom schedule`` finds."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from archloom.search import FUSION_SEARCHES, MAPPING_SEARCHES
from archloom.search.mapping import FACTORS
from archloom.search.software import SoftwareSettings
from archloom.space import Infeasible
from archloom.space.hardware import Hardware as Chip, pass_batch
from archloom.space.workload import Network as Graph
from archloom.studies.analysis import cost_details
from archloom.studies.commands.schedule import schedule_record
from archloom.studies.rendering.text import known, percent
from archloom.studies.solve import FusionEffort, search_plan

from ..errors import UserError
from .boundary import mendable
from .cells import percent_or_inf
from .hardware import HardwareLike, load_hardware
from .network import NetworkLike, load_network
from .network_plan import NOWHERE, Figures, NetworkPlan


@dataclass(frozen=True, repr=False, kw_only=True)
class Schedule(NetworkPlan):
    """A plan that was searched or priced, beside what nothing goes below.

    Attributes:
        planner: that chose the groups; ``given`` if they were given.
        lower_bound: figures that no plan with any mappings goes below.
        gap_percent: the EDP is at most so much above that bound; infinite if it cannot run.
        planner_bound_edp_js: EDP that the planner proved no plan of its space to go below; None
            if it proved nothing.
        planner_gap_percent: likewise above that bound.
        evaluations: plans that were evaluated.
        cpu_s: CPU time of the search, without compilation.
        notes: what the planner says of its plan.
    """

    planner: str
    lower_bound: Figures = NOWHERE
    gap_percent: float = inf
    planner_bound_edp_js: float | None = None
    planner_gap_percent: float | None = None
    evaluations: int = 0
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()
    _record: dict[str, Any] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether no plan of the planner's space is better, with any mappings."""
        return self.gap_percent == 0 or self.planner_gap_percent == 0

    def to_dict(self) -> dict[str, Any]:
        """Return what ``archloom schedule --json`` prints, or why nothing can run."""
        return dict(self._record)

    def _notes(self) -> Iterator[str]:
        yield from super()._notes()
        if self.proven:
            yield f"proven optimal in the search space of {self.planner}"
        elif self.planner_gap_percent is None:
            yield f"EDP at most {percent(self.gap_percent)} above its lower bound"
        else:
            known_gap = percent(self.planner_gap_percent)
            yield f"EDP at most {known_gap} above the optimum of the search space of {self.planner}"


@mendable
def schedule(
    network: NetworkLike,
    hardware: HardwareLike,
    *,
    fusion: str = "joint",
    evaluations: int = 200,
    mapping: str = "auto",
    mapping_evaluations: int | None = None,
    factors: str = "imperfect",
    seed: int = 0,
    batch: int | None = None,
) -> Schedule:
    """Find which layers run fused, and what that saves.

    Args:
        network: what :func:`load_network` takes or returns.
        hardware: what :func:`load_hardware` takes or returns.
        fusion: planner that chooses.
        evaluations: plans that are evaluated at most.
        mapping: search for mappings.
        mapping_evaluations: for each layer, tile and residency at most.
        factors: ``imperfect``, ``padded`` or ``exact``.
        seed: of everything that is random.
        batch: images of a pass; None for the network's, or for a network of batch 1 the hardware's.

    Returns:
        The best plan; if the network cannot run there, one whose ``infeasible`` says why.

    Raises:
        ArchloomError: a mistake in an argument.
        KeyboardInterrupt: Ctrl-C.
    """
    known(FUSION_SEARCHES.today(fusion), "fusion", list(FUSION_SEARCHES))
    effort = effort_of(fusion, mapping, mapping_evaluations, factors, seed)
    effort = replace(
        effort, evaluations=count("evaluations", evaluations), borders=fusion != "none"
    )
    return found_schedule(*placed(network, hardware, batch), effort)


def placed(network: NetworkLike, hardware: HardwareLike, batch: int | None) -> tuple[Graph, Chip]:
    """Return a network with the batch of a pass, and the hardware that it runs on."""
    chip, graph = load_hardware(hardware)._chip, load_network(network, batch=batch)._graph
    return (graph if batch else graph.with_batch(pass_batch(graph, chip))), chip


def effort_of(
    fusion: str, mapping: str, mapping_evaluations: int | None, factors: str, seed: int
) -> FusionEffort:
    """Return the effort that arguments ask for, of one plan.

    Raises:
        UserError: an unknown mapping search or kind of factors, or a number that is none.
    """
    known(mapping, "mapping", list(MAPPING_SEARCHES))
    known(factors, "factors", FACTORS)
    settings = SoftwareSettings(fusion=fusion, mapping=mapping, factors=factors)
    if mapping_evaluations is not None:
        most = count("mapping_evaluations", mapping_evaluations)
        settings = replace(settings, mapping_evaluations=most)
    return FusionEffort(settings, 1, seed)


def count(name: str, value: int) -> int:
    """Return a number of at least 1.

    Raises:
        UserError: it is none.
    """
    if type(value) is not int or value < 1:
        raise UserError(f"{name}: {value!r} must be a whole number, at least 1")
    return value


def found_schedule(network: Graph, hardware: Chip, effort: FusionEffort) -> Schedule:
    """Search a plan, or price the one that is given.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    found = search_plan(network, hardware, effort)
    planner = effort.settings.fusion if effort.plan is None else "given"
    if isinstance(found, Infeasible):
        named: dict[str, Any] = {
            "network": network.name,
            "batch": network.batch,
            "hardware": hardware.name,
            "planner": planner,
        }
        why = named | {"infeasible": found.to_dict()}
        return Schedule(**named, infeasible=found, details=why, _record=why)
    if found is None or found.interrupted:
        raise KeyboardInterrupt
    record = schedule_record(found, effort)
    return Schedule.of(
        cost_details(found.cost, found.unfused),
        network.batch,
        hardware.name,
        planner=planner,
        lower_bound=Figures.of(record["lower_bound"]),
        gap_percent=percent_or_inf(record["gap_percent"]),
        planner_bound_edp_js=record["planner_bound"],
        planner_gap_percent=record["planner_gap_percent"],
        evaluations=record["evaluations"],
        cpu_s=record["cpu_s"],
        notes=tuple(record["notes"]),
        _record=record,
    )
