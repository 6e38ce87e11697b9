"""The best mapping of one layer on a hardware, as ``archloom map`` finds it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from archloom.evaluators.loopnest import MappingProblem
from archloom.search import MAPPING_SEARCHES
from archloom.search.mapping import FACTORS
from archloom.space import Infeasible, InfeasibleError
from archloom.space.importers.cases import Case
from archloom.space.mapping import Mapping as Loops, loop_nest
from archloom.space.workload import DIMS
from archloom.studies.commands.map import (
    DEFAULT_SECONDS,
    OBJECTIVES,
    Task,
    case_json,
    constraints_of,
)
from archloom.studies.rendering.text import known
from archloom.studies.solve import UNLIMITED, MappingEffort, Solution, solve_compiled, warm

from ..errors import UserError
from .boundary import mendable
from .cells import cell, gap, preformatted
from .hardware import HardwareLike, load_hardware
from .network import Layer
from .scheduling import count


@dataclass(frozen=True, repr=False, kw_only=True)
class LayerMapping:
    """The mapping of a layer on a hardware, with its cost and gap.

    Attributes:
        layer, hardware: names of both.
        objective: what was minimised: ``edp``, ``energy`` or ``latency``.
        energy_pj: energy of the layer with leakage; infinite if there is no mapping, like the next
            two.
        latency_cycles: latency of the layer.
        edp_pj_cycles: product of energy and latency.
        gap_percent: how far the objective can be above the optimum, %; 0 if it is proven, infinite
            if nothing is known.
        lower_bound: lower bound of the objective over all mappings, in pJ x cycles, pJ or cycles;
            None if nothing is known.
        nest: the loops as text, from the outermost level inwards.
        loops: the loops as in a case record (docs/reference/timeloop.md), levels from the innermost
            one.
        evaluations: number of evaluations; what counts as one depends on the search.
        cpu_s: CPU time of the search, without compilation.
        exact: with imperfect factors, the best mapping whose factors divide the bounds.
        infeasible: reason why there is no mapping; None if there is one.
    """

    layer: str
    hardware: str
    objective: str
    energy_pj: float = inf
    latency_cycles: float = inf
    edp_pj_cycles: float = inf
    gap_percent: float = inf
    lower_bound: float | None = None
    nest: tuple[str, ...] = ()
    loops: tuple[Mapping[str, Any], ...] = ()
    evaluations: int = 0
    cpu_s: float = 0.0
    exact: "LayerMapping | None" = None
    infeasible: Infeasible | None = None
    _mapping: Loops | None = None
    _record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether no mapping has a lower objective."""
        return self.infeasible is None and self.gap_percent == 0

    def to_dict(self) -> dict[str, Any]:
        """Return what ``archloom map --json`` prints of a case."""
        return dict(self._record)

    def _notes(self) -> Iterator[str]:
        if self.infeasible is not None:
            yield f"infeasible, {self.infeasible}"
            return
        yield f"energy {self.energy_pj:,.6g} pJ"
        yield f"{self.latency_cycles:,.0f} cycles"
        yield f"{self.objective} {gap(self.gap_percent)}"

    def __repr__(self) -> str:
        return (
            f"<archloom.LayerMapping {self.layer} on {self.hardware}: {', '.join(self._notes())}>"
        )

    def _repr_html_(self) -> str:
        title = f"{self.layer} on {self.hardware}"
        return cell(title, [", ".join(self._notes())], *self._nest_html())

    def _nest_html(self) -> Iterator[str]:
        if self.nest:
            yield preformatted(self.nest)


@mendable
def map_layer(
    layer: Layer,
    hardware: HardwareLike,
    *,
    objective: str = "edp",
    seconds: float | None = None,
    evaluations: int | None = None,
    search: str = "auto",
    factors: str = "imperfect",
    dataflow: str | None = None,
    constraints: "str | PathLike[str] | None" = None,
    both_axes: bool = False,
    seed: int = 0,
) -> LayerMapping:
    """Find the best mapping of a layer, with a proof or a gap.

    Args:
        layer: a layer of a network that runs on the MAC array.
        hardware: hardware, or what :func:`load_hardware` takes.
        objective: what is minimised: ``edp``, ``energy`` or ``latency``.
        seconds: time limit (default: 10, unless ``evaluations`` is given).
        evaluations: maximum number of evaluations; the result is the same on every machine.
        search: name of the mapping search.
        factors: ``imperfect`` for tiles of any size, or ``exact``.
        dataflow: dataflow that the mapping must have, such as ``weight_stationary``.
        constraints: YAML file with constraints on the mapping (docs/how_to/mapping.md).
        both_axes: whether a dimension may be unrolled along x and y of a mesh at once.
        seed: seed of all random numbers.

    Returns:
        The best mapping. If there is none, its ``infeasible`` has the reason.

    Raises:
        ArchloomError: a mistake in an argument.
        KeyboardInterrupt: Ctrl-C.
    """
    effort = _effort(search, seconds, evaluations, factors, seed)
    known(objective, "objective", list(OBJECTIVES))
    path = None if constraints is None else Path(fspath(constraints))
    rules = constraints_of(path, dataflow, both_axes, lambda name: name.replace("-", "_"))
    if not layer.runs_on_macs:
        raise UserError(
            f"layer {layer.name} is a {layer.operator}, which the vector unit runs: only layers on "
            "the MAC array have mappings (runs_on_macs)"
        )
    operator, chip = layer._operator, load_hardware(hardware)._chip
    for name, near in rules.unknown_levels([level.name for level in chip.levels]):
        raise UserError(f"constraints: {chip.name} has no level {name!r}; {near}")
    slots: dict[str, int] = {dim: at for at, dim in enumerate(DIMS) if operator.bounds[at] > 1}
    case = Case(layer.name, chip, operator, None, None, True, slots)
    problem = replace(
        MappingProblem.of_layer(operator, chip), weights=OBJECTIVES[objective], constraints=rules
    )
    return _result(Task(case, problem), objective, _solved(problem, effort))


def _effort(
    search: str, seconds: float | None, evaluations: int | None, factors: str, seed: int
) -> MappingEffort:
    known(search, "search", list(MAPPING_SEARCHES))
    known(factors, "factors", [name for name in FACTORS if name != "padded"])
    if seconds is not None and not seconds > 0:
        raise UserError(f"seconds: {seconds!r} must be above 0")
    if seconds is None:
        seconds = DEFAULT_SECONDS if evaluations is None else inf
    most = UNLIMITED if evaluations is None else count("evaluations", evaluations)
    return MappingEffort(search, seconds, most, seed, factors)


def _solved(problem: MappingProblem, effort: MappingEffort) -> Solution:
    try:
        # prices that a technology does not have show here
        _ = problem.setup
    except InfeasibleError:
        # what has no mapping is an answer
        pass
    except ValueError as error:
        raise UserError(f"{problem.hardware.name}: {error}") from None
    if problem.impossible() is None:
        warm(problem, effort)
    found = solve_compiled(problem, effort)
    if found.interrupted:
        raise KeyboardInterrupt
    return found


def _result(task: Task, objective: str, found: Solution) -> LayerMapping:
    chip, record = task.case.hardware, case_json(task, found)
    named: dict[str, Any] = {
        "layer": task.case.layer.name,
        "hardware": chip.name,
        "objective": objective,
    }
    exact = None if found.exact is None else _result(task, objective, found.exact)
    if found.mapping is None:
        return LayerMapping(
            **named, infeasible=found.infeasible, evaluations=found.evaluations, _record=record
        )
    return LayerMapping(
        **named,
        energy_pj=found.energy_pj,
        latency_cycles=int(found.cycles),
        edp_pj_cycles=found.edp,
        gap_percent=found.gap_percent,
        lower_bound=found.lower_bound,
        nest=tuple(loop_nest(found.mapping, chip)),
        loops=tuple(record["mapping"]),
        evaluations=found.evaluations,
        cpu_s=found.cpu_s,
        exact=exact,
        _mapping=found.mapping,
        _record=record,
    )
