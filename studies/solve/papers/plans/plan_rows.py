"""Rows of a table of plans: each network planned, and the means over networks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean, geometric_mean
from time import process_time
from typing import Any, Final

from archloom.evaluators import hardware_cost
from archloom.space import Infeasible
from archloom.space.fusion import fold
from archloom.space.hardware import Hardware
from archloom.space.networks import network
from archloom.space.workload import Network
from archloom.studies.config import Wording, find_hardware
from archloom.studies.engine.progress import Stages

from .plan_table import METRICS, TIMED, Design, MappingEffort, Planner, PlanTable
from .planning import PassCost, Planning, with_weights_kept

_WORDS: Final = Wording(technology="technology", setting="parameters: ")

#: what compiles, or loads, the code that all planners need
_TINY: Final = "tiny_cnn"


@dataclass(frozen=True)
class PlanFigures:
    """Figures of one network.

    Attributes:
        network: its name.
        batch: images of a pass.
        flops: of a pass, two a MAC.
        busy_cycles: that all MACs would need at the least.
        plan, unfused: what the plan costs, and layer by layer.
        search_cpu_s: CPU time of the planner, with that of mappings that none before it needed.
    """

    network: str
    batch: int
    flops: int
    busy_cycles: float
    plan: PassCost
    unfused: PassCost
    search_cpu_s: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class PlanRow:
    """A row of a table of plans.

    Attributes:
        design, mappings, planner: labels.
        frequency_mhz, area_mm2, tdp_w: of the design.
        sets: figures of each network that can run.
        figures: means over these by metric; empty where none can run.
        infeasible: why networks cannot run, each reason once.
    """

    design: str
    mappings: str
    planner: str
    frequency_mhz: float
    area_mm2: float
    tdp_w: float
    sets: tuple[PlanFigures, ...]
    figures: dict[str, float | None]
    infeasible: tuple[str, ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """What tells rows apart, by heading."""
        return {"design": self.design, "mappings": self.mappings, "planner": self.planner}

    def missing(self, metric: str) -> str:  # noqa: ARG002  # all figures are missing together
        """Return what stands in place of a figure that there is not."""
        return "" if self.figures else "infeasible"

    def spread(self, metric: str) -> tuple[float, float] | None:  # noqa: ARG002  # nothing is random
        """Return the least and the greatest of several values; None of one."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "PlanRow":
        """Return the row of plain values."""
        sets = tuple(
            PlanFigures(
                **{**one, "plan": PassCost(**one["plan"]), "unfused": PassCost(**one["unfused"])}
            )
            for one in data["sets"]
        )
        return cls(**{**data, "sets": sets, "infeasible": tuple(data["infeasible"])})


@dataclass(frozen=True)
class _Case:
    """A design and an effort, which some rows have in common."""

    design: Design
    hardware: Hardware
    effort: MappingEffort
    fold: bool

    def network(self, name: str, batch: int | None, planner: Planner) -> Network:
        found = fold(network(name)) if self.fold or planner.fold else network(name)
        return found.with_batch(batch or self.hardware.native_batch)

    def key(self, planner: Planner) -> tuple[str, str, str]:
        return self.design.label, self.effort.name, planner.label


def planned(
    table: PlanTable,
    stages: Stages,
    known: Sequence[PlanRow] = (),
    sets: int | None = None,
) -> Iterator[PlanRow]:
    """Yield the rows of a table.

    Args:
        table: what is asked for.
        stages: hear how far it is.
        known: rows that need not be measured again.
        sets: networks, the first ones; None for all.

    Raises:
        UserError: a design that cannot be built.
    """
    names = table.networks[:sets]
    designs = [(design, _built(design)) for design in table.designs]
    cases = [_Case(*design, effort, table.fold) for design in designs for effort in table.mappings]
    old = {(row.design, row.mappings, row.planner): row for row in known}
    stages.begin(table.title, len(cases) * len(table.planners) * len(names))
    first: dict[tuple[str, str], PlanRow] = {}
    compiled = set[tuple[str, str]]()
    for case in cases:
        plannings: dict[tuple[str, bool], Planning] = {}
        for planner in table.planners:
            row = old.get(case.key(planner))
            if row is None:
                if (kind := (planner.fusion, case.effort.search)) not in compiled:
                    compiled.add(kind)
                    _compile(case, planner, stages)
                row = _row(table, case, planner, names, plannings, stages)
                row = _with_means(row, first.get((row.mappings, row.planner), row))
                if TIMED in table.figures and row.sets:
                    spent = sum(one.search_cpu_s for one in row.sets)
                    row = replace(row, figures={**row.figures, TIMED: spent})
            else:
                stages.advance(steps=len(names))
            first.setdefault((row.mappings, row.planner), row)
            yield row
    stages.end()


def _built(design: Design) -> Hardware:
    values = [f"{name}={value}" for name, value in design.parameters.items()]
    found = find_hardware(design.source, values, design.technology or None, None, _WORDS)
    return with_weights_kept(found.hardware) if design.keeps_weights else found.hardware


def _compile(case: _Case, planner: Planner, stages: Stages) -> None:
    stages.begin("compiling kernels (only the first time)")
    few = MappingEffort(name="few", search=case.effort.search, evaluations=1000)
    tiny = Planning(case.network(_TINY, None, planner), case.hardware, few)
    if not isinstance(tiny.unfused(), Infeasible):
        tiny.planned(planner)
    stages.end()


def _row(
    table: PlanTable,
    case: _Case,
    planner: Planner,
    names: Sequence[str],
    plannings: dict[tuple[str, bool], Planning],
    stages: Stages,
) -> PlanRow:
    found, reasons, cost = list[PlanFigures](), dict[str, None](), hardware_cost(case.hardware)
    for name in names:
        stages.advance(f"{name} on {case.design.label}, {planner.label}", steps=0)
        net = case.network(name, table.batch, planner)
        if (key := (name, net.folded)) not in plannings:
            plannings[key] = Planning(net, case.hardware, case.effort)
        began = process_time()
        unfused = plannings[key].unfused()
        plan = unfused if isinstance(unfused, Infeasible) else plannings[key].planned(planner)
        spent = process_time() - began
        for part in (unfused, plan):
            if isinstance(part, Infeasible):
                reasons[f"{name} on {case.design.label}: {part}"] = None
        if not isinstance(unfused, Infeasible) and not isinstance(plan, Infeasible):
            busy = net.macs / case.hardware.macs
            found.append(PlanFigures(name, net.batch, 2 * net.macs, busy, plan, unfused, spent))
        stages.advance()
    return PlanRow(
        *case.key(planner),
        case.hardware.frequency_mhz,
        cost.area_mm2,
        cost.tdp_w,
        tuple(found),
        {},
        tuple(reasons),
    )


def _with_means(row: PlanRow, first: PlanRow) -> PlanRow:
    """Return a row with its figures, given that of the first design.

    Ratios, rates and intensities are geometric means over networks, percentages and numbers of
    layers arithmetic ones.
    """
    if not row.sets:
        return row
    plans, unfused = [one.plan for one in row.sets], [one.unfused for one in row.sets]
    both = list(zip(plans, unfused, strict=True))
    rate = _rate(row, plans)
    figures: dict[str, float | None] = {
        "energy_percent": fmean(100 * (a.energy_pj / b.energy_pj - 1) for a, b in both),
        "dram_percent": fmean(100 * (a.dram_bytes / b.dram_bytes - 1) for a, b in both),
        "speedup": geometric_mean(b.latency_cycles / a.latency_cycles for a, b in both),
        "edp_gain": geometric_mean(b.edp_js / a.edp_js for a, b in both),
        "layers_fused": fmean(a.layers_fused for a in plans),
        "sub_batches": fmean(a.sub_batches for a in plans),
        "unfused_flop_per_byte": _intensity(row, unfused),
        "flop_per_byte": _intensity(row, plans),
        "unfused_waiting_percent": _waiting(unfused),
        "waiting_percent": _waiting(plans),
        "unfused_images_per_s": _rate(row, unfused),
        "images_per_s": rate,
        "macs_busy_percent": fmean(
            100 * one.busy_cycles / one.plan.latency_cycles for one in row.sets
        ),
        "area_mm2": row.area_mm2,
        "tdp_w": row.tdp_w,
        "area_over_first": row.area_mm2 / first.area_mm2,
        "tdp_over_first": row.tdp_w / first.tdp_w,
    }
    same = [one.network for one in first.sets] == [one.network for one in row.sets]
    faster = rate / _rate(first, [one.plan for one in first.sets]) if same else None
    figures["speed_over_first"] = faster
    figures["perf_per_tdp_over_first"] = faster and faster * first.tdp_w / row.tdp_w
    assert figures.keys() == METRICS.keys() - {TIMED}, "each has a heading"
    return PlanRow(**{**vars(row), "figures": figures})


def _rate(row: PlanRow, costs: Sequence[PassCost]) -> float:
    """Images a second."""
    pairs = zip(row.sets, costs, strict=True)
    hertz = row.frequency_mhz * 1e6
    return geometric_mean(one.batch * hertz / cost.latency_cycles for one, cost in pairs)


def _intensity(row: PlanRow, costs: Sequence[PassCost]) -> float:
    """Operational intensity, in FLOP a byte of DRAM."""
    pairs = zip(row.sets, costs, strict=True)
    return geometric_mean(one.flops / cost.dram_bytes for one, cost in pairs)


def _waiting(costs: Sequence[PassCost]) -> float:
    return fmean(100 * cost.wait_cycles / cost.latency_cycles for cost in costs)
