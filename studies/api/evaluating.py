"""What a given choice costs: a fusion plan of a network, or a mapping of a layer."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias, overload

from archloom.evaluators.loopnest import MappingProblem, mapped_cost
from archloom.search import FUSION_SEARCHES
from archloom.space.hardware import Hardware as Chip
from archloom.space.importers.cases import Case, RecordError, written_mapping
from archloom.space.mapping import Mapping as Loops
from archloom.space.workload import DIMS, TENSORS, Layer as Operator, Network as Graph
from archloom.studies.analysis import MisfitError, evaluated
from archloom.studies.commands.schedule import plan_of, read_plan
from archloom.studies.rendering import Cell

from ..errors import UserError
from .boundary import mendable
from .cells import cell, short_table
from .hardware import HardwareLike, load_hardware
from .layer_mapping import LayerMapping
from .network import Layer, NetworkLike
from .network_plan import NetworkPlan
from .scheduling import Schedule, effort_of, found_schedule, placed


@dataclass(frozen=True)
class LevelCost:
    """The part of a storage level, or of the multipliers, in the cost of a layer.

    Attributes:
        name: name of the level.
        energy_pj: energy by tensor (weights, inputs, outputs), over all instances.
        words: words read and written by tensor, over all instances.
    """

    name: str
    energy_pj: Mapping[str, float]
    words: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class LayerCost:
    """The cost of a layer with a given mapping.

    Attributes:
        layer, hardware: names of both.
        energy_pj: total energy with leakage.
        latency_cycles: latency of the layer.
        compute_pj: energy of the multiply-accumulates.
        leakage_pj: leakage of the whole chip by its technology; leakage that a level specifies is
            part of that level.
        macs: multiply-accumulates.
        levels: parts of the levels, from the innermost one.
    """

    layer: str
    hardware: str
    energy_pj: float
    latency_cycles: int
    compute_pj: float
    leakage_pj: float
    macs: int
    levels: tuple[LevelCost, ...]

    @property
    def edp_pj_cycles(self) -> float:
        """Energy x latency."""
        return self.energy_pj * self.latency_cycles

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        return asdict(self)

    def __repr__(self) -> str:
        return (
            f"<archloom.LayerCost {self.layer} on {self.hardware}: energy {self.energy_pj:,.6g} "
            f"pJ, {self.latency_cycles:,} cycles>"
        )

    def _repr_html_(self) -> str:
        rows: list[list[Cell]] = [
            [level.name, *(level.energy_pj[t] for t in TENSORS), *(level.words[t] for t in TENSORS)]
            for level in self.levels
        ]
        heads = ("level", *(f"{t}, pJ" for t in TENSORS), *(f"{t}, words" for t in TENSORS))
        note = (
            f"energy {self.energy_pj:,.6g} pJ (multiply-accumulates {self.compute_pj:,.6g}, "
            f"leakage {self.leakage_pj:,.6g}), {self.latency_cycles:,} cycles"
        )
        title = f"{self.layer} on {self.hardware}"
        return cell(title, [note], short_table(heads, rows, "levels"))


#: a plan, the groups of one as JSON has them, or a file of either
FusionLike: TypeAlias = NetworkPlan | Sequence[Mapping[str, Any]] | PathLike[str] | str

#: a mapping, or the loops of one as a record has them
MappingLike: TypeAlias = LayerMapping | Sequence[Mapping[str, Any]]


@overload
def evaluate(network: Layer, hardware: HardwareLike, *, mapping: MappingLike) -> LayerCost: ...


@overload
def evaluate(
    network: NetworkLike,
    hardware: HardwareLike,
    *,
    fusion: FusionLike | None = None,
    mapping: str = "auto",
    mapping_evaluations: int | None = None,
    factors: str = "imperfect",
    seed: int = 0,
    batch: int | None = None,
) -> Schedule: ...


@mendable
def evaluate(
    network: NetworkLike | Layer,
    hardware: HardwareLike,
    *,
    fusion: FusionLike | None = None,
    mapping: str | MappingLike = "auto",
    mapping_evaluations: int | None = None,
    factors: str = "imperfect",
    seed: int = 0,
    batch: int | None = None,
) -> Schedule | LayerCost:
    """Evaluate a fusion plan of a network, or a mapping of a layer.

    The layers of a network get the best mappings that the search ``mapping`` finds.

    Args:
        network: a network, what :func:`load_network` takes, or a layer.
        hardware: hardware, or what :func:`load_hardware` takes.
        fusion: plan of a network: a result of :func:`schedule`, its ``to_dict()["groups"]``, or a
            JSON file of these (default: the plan that fuses nothing).
        mapping: for a network the name of the mapping search; for a layer a result of
            :func:`map_layer`, or its ``loops``.
        mapping_evaluations: for a network, as in :func:`schedule`.
        factors: for a network, as in :func:`schedule`.
        seed: for a network, as in :func:`schedule`.
        batch: for a network, as in :func:`schedule`.

    Raises:
        ArchloomError: a mistake in an argument, or a mapping that does not fit.
        KeyboardInterrupt: Ctrl-C.
    """
    if isinstance(network, Layer):
        others = {"fusion": fusion, "mapping_evaluations": mapping_evaluations, "batch": batch}
        if given := [name for name, value in others.items() if value is not None]:
            raise UserError(f"{given[0]}: is for networks; {network.name} is a layer")
        return _layer_cost(network._operator, load_hardware(hardware)._chip, mapping)
    if not isinstance(mapping, str):
        raise UserError("mapping: of a network must be the name of a search; of a layer, a mapping")
    graph, chip = placed(network, hardware, batch)
    effort = effort_of("none", mapping, mapping_evaluations, factors, seed)
    if fusion is not None:
        # layer by layer, and the plan
        effort = replace(effort, evaluations=2, plan=_plan(fusion, graph), borders=True)
    return found_schedule(graph, chip, effort)


def _plan(fusion: FusionLike, graph: Graph) -> Any:
    if isinstance(fusion, NetworkPlan):
        groups: object = [dict(group.details) for group in fusion.groups]
        return plan_of(groups, graph, "fusion")
    if isinstance(fusion, str) and fusion in FUSION_SEARCHES:
        raise UserError(
            f"fusion: {fusion!r} is a planner, which searches for a plan: schedule() does that; "
            "evaluate() takes a plan"
        )
    if isinstance(fusion, str | PathLike):
        return read_plan(Path(fspath(fusion)), graph, "fusion")
    return plan_of(list(fusion), graph, "fusion")


def _layer_cost(layer: Operator, chip: Chip, mapping: object) -> LayerCost:
    """Return the cost of a layer, counted by the same kernel that searches use.

    Raises:
        UserError: no mapping, one that does not fit, or hardware without a price.
    """
    if not layer.uses_macs:
        raise UserError(f"layer {layer.name} is a {layer.operator}, which has no mapping")
    loops = _loops(mapping, layer, chip)
    try:
        if loops.factors != layer.bounds:
            return _imperfect(layer, chip, loops)
        slots: dict[str, int] = {dim: at for at, dim in enumerate(DIMS)}
        found = evaluated(Case(layer.name, chip, layer, loops, None, True, slots))
    except MisfitError as error:
        raise UserError(f"mapping: {error}") from None
    except ValueError as error:
        raise UserError(f"{layer.name} on {chip.name}: {error}") from None
    words = found.counts.sum(axis=2) * found.used[:, None]
    energy = found.level_pj + found.leaked_pj[:, None] / len(TENSORS)
    return LayerCost(
        layer.name,
        chip.name,
        found.energy_pj,
        int(found.cycles),
        float(found.mac_pj),
        found.chip_leakage_pj,
        layer.macs,
        _levels(chip, energy, words),
    )


def _loops(mapping: object, layer: Operator, chip: Chip) -> Loops:
    if isinstance(mapping, LayerMapping):
        if mapping._mapping is None:
            raise UserError(f"mapping: {mapping.layer} has none; {mapping.infeasible}")
        return mapping._mapping
    if isinstance(mapping, str) or not isinstance(mapping, Sequence):
        raise UserError(
            f"mapping: {mapping!r} must be a result of map_layer(), or its loops; map_layer() "
            "searches one"
        )
    try:
        return written_mapping(mapping, chip, dict(zip(DIMS, layer.bounds, strict=True)))
    except RecordError as error:
        raise UserError("\n".join(error.faults)) from None


def _imperfect(layer: Operator, chip: Chip, loops: Loops) -> LayerCost:
    """Return the cost of a mapping whose factors cover more than the bounds of the layer."""
    problem = replace(MappingProblem.of_layer(layer, chip), loop_bounds=loops.factors)
    found = mapped_cost(problem, loops)
    leakage = problem.setup.leakage_pj * found.latency_cycles
    return LayerCost(
        layer.name,
        chip.name,
        found.dynamic_pj + leakage,
        found.latency_cycles,
        found.compute_pj,
        leakage,
        layer.macs,
        _levels(chip, found.energy_pj, found.words),
    )


def _levels(chip: Chip, energy_pj: Any, words: Any) -> tuple[LevelCost, ...]:
    """Return the parts of levels from arrays [levels, tensors]."""
    return tuple(
        LevelCost(
            level.name,
            dict(zip(TENSORS, map(float, energy_pj[at]), strict=True)),
            dict(zip(TENSORS, map(int, words[at]), strict=True)),
        )
        for at, level in enumerate(chip.levels)
    )
