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
from archloom.studies.solve import FusionEffort, in_sub_batches, search_plan, with_proof

from ..errors import UserError
from .boundary import mendable
from .cells import percent_or_inf
from .hardware import HardwareLike, load_hardware
from .network import NetworkLike, load_network
from .network_plan import NOWHERE, Figures, NetworkPlan


@dataclass(frozen=True, repr=False, kw_only=True)
class Schedule(NetworkPlan):
    """A fusion plan that was searched or evaluated, with lower bounds.

    Attributes:
        planner: the planner that chose the groups, or ``given``.
        lower_bound: lower bounds of the figures, over all plans and mappings.
        gap_percent: how far the EDP is above its lower bound, %; infinite if the plan cannot run.
        planner_bound_edp_js: lower bound of the EDP over the plans of the planner's space, J s;
            None if the planner proved nothing.
        planner_gap_percent: how far the EDP is above that bound, %.
        planner_bound_any_mappings_edp_js: the same bound whatever the mappings, where the one above
            is of those that the mapping search finds; else None.
        evaluations: plans that were evaluated.
        cpu_s: CPU time of the search, without compilation.
        notes: remarks of the planner about its plan.
    """

    planner: str
    lower_bound: Figures = NOWHERE
    gap_percent: float = inf
    planner_bound_edp_js: float | None = None
    planner_gap_percent: float | None = None
    planner_bound_any_mappings_edp_js: float | None = None
    evaluations: int = 0
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()
    _record: dict[str, Any] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether the plan is proven to be the best of the planner's space."""
        return self.gap_percent == 0 or self.planner_gap_percent == 0

    def to_dict(self) -> dict[str, Any]:
        """Return what ``archloom schedule --json`` prints, or the reason why nothing can run."""
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
    sub_batches: int | str | None = None,
    evaluations: int = 200,
    prove_plans: int | None = None,
    mapping: str = "auto",
    mapping_evaluations: int | None = None,
    prove_mappings: int = 0,
    factors: str = "imperfect",
    seed: int = 0,
    batch: int | None = None,
) -> Schedule:
    """Find the layers of a network that should run fused.

    Args:
        network: a network, or what :func:`load_network` takes.
        hardware: hardware, or what :func:`load_hardware` takes.
        fusion: name of the fusion planner.
        sub_batches: parts into which the planners ``fast`` and ``fast_printed`` cut the batch, or
            ``auto`` (default: the batch runs as a whole).
        evaluations: maximum number of plans that are evaluated.
        prove_plans: maximum number of steps in which the planner bounds all plans of its search
            space afterwards; 0 for no proof (default: as of ``archloom schedule``).
        mapping: name of the mapping search.
        mapping_evaluations: maximum number of evaluations for each mapping.
        prove_mappings: maximum number of evaluations for each mapping of the best plan, to lower
            the EDP of the plan as a whole and to prove how far it can be lowered; 0 for none.
        factors: ``imperfect``, ``padded`` or ``exact``, as in a study file.
        seed: seed of all random numbers.
        batch: inferences of a pass (default: that of the network; if it is 1, that of the
            hardware).

    Returns:
        The best plan. If the network cannot run on the hardware, its ``infeasible`` has the reason.

    Raises:
        ArchloomError: a mistake in an argument.
        KeyboardInterrupt: Ctrl-C.
    """
    known(FUSION_SEARCHES.today(fusion), "fusion", list(FUSION_SEARCHES))
    effort = effort_of(fusion, mapping, mapping_evaluations, factors, seed)
    effort = replace(
        effort, evaluations=count("evaluations", evaluations), borders=fusion != "none"
    )
    if prove_mappings != 0:
        most = count("prove_mappings", prove_mappings)
        effort = replace(effort, settings=replace(effort.settings, prove_mappings=most))
    if sub_batches is not None:
        effort = in_sub_batches(effort, sub_batches, "sub_batches")
    if prove_plans:
        count("prove_plans", prove_plans)
    effort = with_proof(effort, prove_plans, "prove_plans")
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
        cost_details(found.cost, found.unfused, found.least),
        network.batch,
        hardware.name,
        planner=planner,
        lower_bound=Figures.of(record["lower_bound"]),
        gap_percent=percent_or_inf(record["gap_percent"]),
        planner_bound_edp_js=record["planner_bound"],
        planner_gap_percent=record["planner_gap_percent"],
        planner_bound_any_mappings_edp_js=record["planner_bound_any_mappings"],
        evaluations=record["evaluations"],
        cpu_s=record["cpu_s"],
        notes=tuple(record["notes"]),
        _record=record,
    )
