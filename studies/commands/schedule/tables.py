"""Tables of ``archloom schedule``: groups, the plan beside others, and the search's progress."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from archloom.space import Infeasible
from archloom.studies.analysis import Details, cost_details
from archloom.studies.rendering.text import (
    LiveLine,
    border_lines,
    fused_text,
    gaps_text,
    group_layers,
    halo_text,
    kept_columns,
    nest_lines,
    new_table,
    parts_of,
    peak_text,
    percent,
    plain,
    print_line,
    print_whole,
    resident_layers,
    tiling_text,
)
from archloom.studies.solve import Border, FusionEffort, FusionProgress, Schedule

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from archloom.evaluators.bounds import NetworkBound
    from archloom.evaluators.fusion import NetworkCost

_KIB: Final = 1024
_PJ_PER_UJ: Final = 1e6

#: what logarithms and exponentials lose of a bound, in percent
_ROUNDED_PERCENT: Final = 1e-9

#: figures of a plan: name in JSON, heading, unit of the heading in units of JSON, and style
_FIGURES: Final = (
    ("edp_js", "EDP (J s)", 1.0, ".4e"),
    ("energy_pj", "energy (uJ)", _PJ_PER_UJ, ",.2f"),
    ("latency_cycles", "latency (cycles)", 1.0, ",.0f"),
    ("dram_bytes", "DRAM (KiB)", _KIB, ",.1f"),
)


def schedule_record(found: Schedule, effort: FusionEffort) -> Details:
    """Return all that is known of a plan, as ``--json`` prints it (docs/how_to/schedule.md)."""
    from archloom.evaluators.bounds import any_plan_bound
    from archloom.evaluators.fusion.buffer import buffer_words
    from archloom.space.hardware import Cores, fusion_cores

    network, hardware = found.cost.network, found.cost.hardware
    steady = any(group.group.steady for group in found.cost.groups)
    bound = any_plan_bound(network, hardware, steady)
    details = cost_details(found.cost, found.unfused, found.least)
    figures = _figures(found.cost)
    proven, any_mappings = found.bound_edp_js, found.any_mappings_edp_js
    cores = fusion_cores(hardware)
    capacity = buffer_words(cores.one) if isinstance(cores, Cores) else 0
    return {
        "network": network.name,
        "batch": network.batch,
        "hardware": hardware.name,
        "planner": effort.settings.fusion if effort.plan is None else "given",
        **figures,
        "leakage_pj": found.cost.leakage_pj,
        "baseline": _figures(found.unfused),
        "lower_bound": _figures(bound),
        "gap_percent": _gap_percent(figures["edp_js"], bound.edp_js),
        "planner_bound": proven,
        "planner_gap_percent": _gap_or_none(figures["edp_js"], proven),
        "planner_bound_any_mappings": any_mappings,
        "planner_gap_any_mappings_percent": _gap_or_none(figures["edp_js"], any_mappings),
        "cpu_s": found.cpu_s,
        "evaluations": found.evaluations,
        "interrupted": found.interrupted,
        "notes": list(found.notes),
        "mapping_problems": found.mapped,
        "mapping_gaps": details["gaps"],
        "buffers": cores.count if isinstance(cores, Cores) else 0,
        "buffer_bytes": capacity * hardware.word_bits / 8,
        "groups": details["groups"],
        "borders": [_border(found.cost, border) for border in found.borders or ()],
    }


def _border(cost: "NetworkCost", border: Border) -> Details:
    names = [layer.name for layer in cost.network.layers]
    lacks = border.why if isinstance(border.why, Infeasible) else None
    return {
        "before": [names[i] for i in border.before],
        "after": [names[i] for i in border.after],
        "alike": border.alike,
        "edp_percent": None if isinstance(border.why, Infeasible) else 100.0 * (border.why - 1.0),
        "infeasible": None if lacks is None else lacks.to_dict(),
        "sentence": None if lacks is None else str(lacks),
    }


def _figures(cost: "NetworkCost | NetworkBound") -> dict[str, float]:
    return {
        "edp_js": cost.edp_js,
        "energy_pj": cost.energy_pj,
        "latency_cycles": cost.latency_cycles,
        "dram_bytes": cost.dram_bytes,
    }


def _gap_percent(edp: float, bound: float) -> float:
    """Return by how much an EDP is above a bound; nothing where only rounding tells them apart."""
    percent_above = 100.0 * (edp / bound - 1.0)
    return percent_above if percent_above > _ROUNDED_PERCENT else 0.0


def _gap_or_none(edp: float, bound: float | None) -> float | None:
    return None if bound is None else _gap_percent(edp, bound)


def print_schedule(record: Details, console: "Console") -> None:
    """Print a record of :func:`schedule_record`."""
    print_line(_heading(record), console)
    print_whole(_groups(record), console)
    for line in nest_lines(record["groups"]):
        print_line(line, console)
    for line in border_lines(record["borders"]):
        print_line(line, console)
    print_whole(_sums(record), console)
    for line in _remarks(record):
        print_line(line, console)


def _heading(record: Details) -> str:
    fused = sum(len(g["layers"]) > 1 and "folded" not in g for g in record["groups"])
    layers = sum(len(group["layers"]) for group in record["groups"])
    parts, batch = parts_of(record["groups"]), f"batch {record['batch']}"
    if parts > 1:
        batch += f" in {parts} sub-batches"
    return (
        f"{record['network']} ({layers} layers, {batch}) on {record['hardware']}: "
        f"{fused_text(len(record['groups']), fused)}; planner {record['planner']}\n"
    )


def _groups(record: Details) -> "Table":
    groups = record["groups"]
    kept = kept_columns(groups)
    heads = ["group", "layers", "tiles", "halo", "resident weights", *kept]
    numbers = ["peak KiB", "DRAM KiB", "DRAM KiB unfused", "energy uJ", "cycles"]
    capacity = record["buffer_bytes"] / _KIB
    buffers = "shared buffer" if record["buffers"] == 1 else f"{record['buffers']} buffers"
    title = "Groups in order of execution"
    title += f"; {buffers} of {capacity:,.1f} KiB" if capacity else ""
    table = new_table(title, [*heads, *numbers], heads[1:])
    for number, group in enumerate(groups):
        table.add_row(
            str(number),
            plain(group_layers(group["layers"])),
            plain(tiling_text(group)),
            halo_text(group),
            plain(resident_layers(group)),
            *(plain(texts[number]) for texts in kept.values()),
            peak_text(group),
            f"{group['dram_bytes'] / _KIB:,.1f}",
            f"{group['dram_bytes_unfused'] / _KIB:,.1f}",
            f"{group['dynamic_pj'] / _PJ_PER_UJ:,.2f}",
            f"{group['latency_cycles']:,}",
        )
    table.add_section()
    empty = [""] * (len(heads) - 2)
    leakage = f"{record['leakage_pj'] / _PJ_PER_UJ:,.2f}"
    table.add_row("", "leakage", *empty, "", "", "", leakage, "")
    sums = ("dram_bytes", _KIB), ("energy_pj", _PJ_PER_UJ)
    dram, energy = (f"{record[key] / scale:,.{2 if scale > _KIB else 1}f}" for key, scale in sums)
    alone = f"{record['baseline']['dram_bytes'] / _KIB:,.1f}"
    cycles = f"{record['latency_cycles']:,}"
    table.add_row("", "total", *empty, "", dram, alone, energy, cycles)
    return table


def _sums(record: Details) -> "Table":
    heads = ("", "this plan", "unfused", "ratio", "lower bound", "gap")
    images = "1 image" if record["batch"] == 1 else f"{record['batch']} images"
    table = new_table(f"Totals of one pass ({images})", heads, ("",))
    for key, label, scale, style in _FIGURES:
        mine, alone, bound = (
            part[key] / scale for part in (record, record["baseline"], record["lower_bound"])
        )
        table.add_row(
            label,
            format(mine, style),
            format(alone, style),
            f"{mine / alone:.3f}" if alone else "",
            format(bound, style),
            f"{100 * (mine / bound - 1):,.1f} %" if bound else "",
        )
    return table


def _remarks(record: Details) -> Iterator[str]:
    yield (
        "Gap: how far the plan is above the lower bound, which holds for every fusion plan and "
        "mapping. EDP: energy per image x latency of the pass."
    )
    if record["planner_bound"] is not None:
        yield f"Planner {record['planner']}: {_proven_text(record)}."
    yield f"Mappings: {mappings_text(record)}."
    plans = "1 plan" if record["evaluations"] == 1 else f"{record['evaluations']:,} plans"
    yield (
        f"Search effort: {plans} evaluated, {record['mapping_problems']:,} mapping problems "
        f"solved, {record['cpu_s']:.1f} s of CPU time."
    )


def _proven_text(record: Details) -> str:
    """Say what no plan of the planner's space goes below, and with which mappings."""
    gap, bound = record["planner_gap_percent"], record["planner_bound"]
    so = f"this plan is at most {percent(gap)} above the optimum" if gap else "none is better"
    anyhow, least = record["planner_gap_any_mappings_percent"], record["planner_bound_any_mappings"]
    if least is None:
        return f"every plan of its search space has an EDP of at least {bound:.4e} J s, so {so}"
    if not anyhow:
        return (
            f"whatever the mappings, every plan of its search space has an EDP of at least "
            f"{least:.4e} J s, so {so}"
        )
    return (
        "with the mappings that the mapping search finds, every plan of its search space has an "
        f"EDP of at least {bound:.4e} J s, so {so}; with any mappings, of at least "
        f"{least:.4e} J s, so this plan is at most {percent(anyhow)} above the optimum"
    )


def mappings_text(record: Details) -> str:
    """Say what is proven of the plan's mappings, by those alone or by the bound of every plan,
    whichever says more."""
    gaps, gap = record["mapping_gaps"], record["gap_percent"]
    if gaps["plan_percent"] is None or gaps["plan_percent"] <= gap:
        return gaps_text(gaps)
    nearer = gaps_text({**gaps, "plan_percent": gap})
    return f"{nearer}, by the lower bound of every plan and mapping"


class ScheduleProgress(LiveLine):
    """A live line on a terminal: how many plans are evaluated, and what the best one saves; then
    how far the proof is."""

    def __init__(self, evaluations: int, proof_steps: int, console: "Console") -> None:
        super().__init__(evaluations, console, bar=12)
        self._evaluations, self._proof_steps = evaluations, proof_steps

    def tell(self, stand: FusionProgress) -> None:
        """Show where the search stands."""
        text = progress_text(stand, self._evaluations, self._proof_steps)
        self.show(text, completed=stand.evaluations)


def progress_text(stand: FusionProgress, most: int, proof_steps: int = 0) -> str:
    """Return where a search of at most so many plans stands, or a proof in so many steps; with a
    bar it fits 80 columns."""
    if stand.proof_steps:
        return f"bounding all other plans: {stand.proof_steps:,} of at most {proof_steps:,} steps"
    if not stand.mapped:
        return "compiling kernels (only the first time)"
    mapped = f"{stand.mapped:,} mappings"
    if not stand.evaluations:
        return f"mapping unfused layers: {mapped}"
    ratio = stand.edp_js / stand.baseline_edp_js
    plans = f"{stand.evaluations:,} of {most:,} plans"
    return f"{plans}: EDP {stand.edp_js:.3g} J s ({ratio:.3f} of unfused)"
