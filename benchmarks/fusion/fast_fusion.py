"""FAST's fusion on EfficientNet-B7: operational intensity and memory stalls, beside the paper's.

    python benchmarks/fusion/fast_fusion.py [--network efficientnet_b7] [--preset fast_large]
        [--evaluations 100000] [--batch N]

Prints the tables of docs/validation/fusion_planners.md. FAST (Zhang et al., ASPLOS 2022, Table 4
and section 5.2.4) has 63 to 383 FLOP/byte, and 63% to 9% of the time waiting for DRAM. The first
table is of the layers as they are: what the linear model says, and what the common price says of
the same plan. The second has the same of the graph that FAST starts from, in which layers are
folded (``fold`` of networks); the third is of the linear model with the small layers of
squeeze-and-excite folded too (see fast_folding.py).
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from fast_folding import excitation, folded

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.fast.coefficients import pinning_problem
from archloom.search.fusion.fast.ilp import IntegerProgram
from archloom.search.fusion.fast.model import (
    LinearCost,
    PinnedData,
    PinningProblem,
    Saving,
    linear_cost,
)
from archloom.search.fusion.fast.planner import PinningPlan, fitted_plan, live_plan, printed_plan
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.fusion.folding import fold
from archloom.space.fusion.plan import FusionPlan, layer_by_layer
from archloom.space.networks.registry import network

T = TypeVar("T")

COLUMNS = (
    "",
    "FLOP/byte",
    "waiting for DRAM, %",
    "DRAM, GB",
    "ms per pass",
    "images/s",
    "EDP, mJ s",
    "ILP, CPU-s",
    "gap, %",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"
PAPER = """| FAST, before | 63 | 63 | | | | | | |
| FAST, after | 383 | 9 | | | 733 | | at most 1,200 s | |"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="efficientnet_b7")
    parser.add_argument("--preset", default="fast_large")
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--batch", type=int)
    given = parser.parse_args(arguments)
    hardware = preset(given.preset)
    net = network(given.network)
    net = net.with_batch(given.batch or hardware.native_batch)
    mapper = Mapper(MAPPING_SEARCHES["auto"](), given.evaluations, 0)
    evaluator = MemoizedPlanEvaluator(net, hardware, mapper)
    _, cpu = timed(lambda: priced(evaluator, layer_by_layer(net)))
    problem, facts = timed(lambda: pinning_problem(evaluator))
    assert isinstance(problem, PinningProblem)
    print(f"{net.name}, batch {net.batch}, on {hardware.name}: {len(net.layers)} layers, mapped")
    print(f"from DRAM in {cpu:.1f} CPU-s and from the buffer in {facts:.1f} more.\n")
    print(f"{HEAD}\n{PAPER}")
    as_it_is(evaluator, problem)
    busy(evaluator, problem)
    print(f"\nElement-wise layers folded:\n\n{HEAD}\n{PAPER}")
    compiled = MemoizedPlanEvaluator(fold(net), hardware, mapper)
    found = pinning_problem(compiled)
    assert isinstance(found, PinningProblem)
    as_it_is(compiled, found)
    array_alone(compiled, problem)
    as_folded(compiled, found)
    rate = hardware.levels[-1].bandwidth_words
    print(f"\nSqueeze-and-excite folded too:\n\n{HEAD}\n{PAPER}")
    as_folded(evaluator, folded(problem, net, excitation, rate))


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what work returns, and its CPU seconds."""
    began = time.process_time()
    return work(), time.process_time() - began


def priced(evaluator: MemoizedPlanEvaluator, plan: FusionPlan) -> NetworkCost:
    cost = evaluator.plan(plan)
    assert isinstance(cost, NetworkCost), cost
    return cost


def as_it_is(evaluator: MemoizedPlanEvaluator, problem: PinningProblem) -> None:
    price_row(evaluator, "layer by layer", layer_by_layer(evaluator.network))
    solved, cpu = timed(
        lambda: IntegerProgram(problem, "printed", steady_weights=True).solve(0.0, 1.0)
    )
    found = printed_plan(evaluator)
    assert isinstance(found, PinningPlan)
    linear_row(
        evaluator, problem, "`integer_printed`, linear", solved.cost, cpu, solved.gap_percent
    )
    plan_row(evaluator, "`integer_printed`, priced", found)
    for steady, name in ((True, ", steady weights"), (False, "")):
        program, build = timed(lambda steady=steady: IntegerProgram(problem, "live", steady))
        solved, cpu = timed(lambda program=program: program.solve(0.0, 1.0))
        text = f"live, least latency{name}"
        linear_row(
            evaluator, problem, f"{text}, linear", solved.cost, cpu + build, solved.gap_percent
        )
        plan_row(evaluator, f"{text}, priced", fitted_plan(evaluator, problem, solved, "live"))
    found, cpu = timed(lambda: live_plan(evaluator))
    assert isinstance(found, PinningPlan)
    linear_row(evaluator, problem, "`integer`, linear", found.own, cpu, found.solved.gap_percent)
    plan_row(evaluator, "`integer`, priced", found)


def busy(evaluator: MemoizedPlanEvaluator, problem: PinningProblem) -> None:
    """Print the time without DRAM, and how many MACs are busy then."""
    cycles = sum(layer.shortest_cycles for layer in problem.layers)
    share = evaluator.network.macs / evaluator.hardware.macs / cycles
    ms = cycles / evaluator.hardware.frequency_mhz / 1e3
    print(f"\nWith all operands on the chip: {ms:.1f} ms, {100 * share:.0f}% of the MACs busy.")


def array_alone(compiled: MemoizedPlanEvaluator, problem: PinningProblem) -> None:
    """Print the waiting of layer by layer if vector unit and buffer ports took no time."""
    layers = zip(compiled.network.layers, problem.layers, strict=True)
    needed = sum(pin.shortest_cycles for layer, pin in layers if layer.uses_macs)
    whole = priced(compiled, layer_by_layer(compiled.network)).latency_cycles
    ms = needed / compiled.hardware.frequency_mhz / 1e3
    share = 100 * (whole - needed) / whole
    print(f"\nThe array alone takes {ms:.1f} ms; layer by layer, {share:.0f}% is all other time.\n")
    print(HEAD)


def as_folded(evaluator: MemoizedPlanEvaluator, problem: PinningProblem) -> None:
    linear_row(evaluator, problem, "nothing stays", linear_cost(problem, PinnedData(), "live"))
    for form, steady, name in (
        ("printed", True, "as printed"),
        ("live", True, "live, steady weights"),
        ("live", False, "live"),
    ):
        program, build = timed(lambda f=form, s=steady: IntegerProgram(problem, f, s))
        solved, cpu = timed(lambda program=program: program.solve(0.0, 1.0))
        linear_row(evaluator, problem, name, solved.cost, cpu + build, solved.gap_percent)
        if form == "printed":
            cost = linear_cost(problem, solved.pinned, "live")
            linear_row(evaluator, problem, "the same, all readers served", cost)

    solved, cpu = timed(
        lambda: IntegerProgram(counting_words(problem), "live", True).solve(1.0, 0.0)
    )
    cost = linear_cost(problem, solved.pinned, "live")
    linear_row(evaluator, problem, "live, fewest words", cost, cpu, solved.gap_percent)
    busy(evaluator, problem)


def counting_words(problem: PinningProblem) -> PinningProblem:
    """Return the problem with words over DRAM in place of energies."""

    def words(saving: Saving) -> Saving:
        return replace(saving, energy_pj=float(saving.dram_words))

    layers = (
        replace(
            layer,
            energy_pj=float(layer.dram_words),
            write=words(layer.write),
            weights=words(layer.weights),
            reads=tuple(replace(read, saving=words(read.saving)) for read in layer.reads),
        )
        for layer in problem.layers
    )
    return PinningProblem(tuple(layers), problem.capacity_words)


def plan_row(evaluator: MemoizedPlanEvaluator, name: str, found: PinningPlan) -> None:
    dropped = f" ({len(found.dropped)} dropped)" if found.dropped else ""
    price_row(evaluator, f"{name}{dropped}", found.plan)


def price_row(evaluator: MemoizedPlanEvaluator, name: str, plan: FusionPlan) -> None:
    cost = priced(evaluator, plan)
    waiting = sum(group.wait_cycles for group in cost.groups)
    row(evaluator, name, cost.dram_bytes, cost.latency_cycles, waiting, cost.edp_js, "", "")


def linear_row(
    evaluator: MemoizedPlanEvaluator,
    problem: PinningProblem,
    name: str,
    cost: LinearCost,
    cpu_s: float | None = None,
    gap_percent: float = 0.0,
) -> None:
    hardware = evaluator.hardware
    needed = sum(layer.shortest_cycles for layer in problem.layers)
    seconds = cost.cycles / (hardware.frequency_mhz * 1e6)
    edp = cost.energy_pj * 1e-12 / evaluator.network.batch * seconds
    solver = ("", "") if cpu_s is None else (f"{cpu_s:.2f}", f"{gap_percent:.1g}")
    moved = cost.dram_words * hardware.word_bits / 8
    row(evaluator, name, moved, cost.cycles, cost.cycles - needed, edp, *solver)


def row(
    evaluator: MemoizedPlanEvaluator,
    name: str,
    moved: float,
    cycles: float,
    waiting: float,
    edp: float,
    *solver: str,
) -> None:
    net, ms = evaluator.network, cycles / evaluator.hardware.frequency_mhz / 1e3
    cells = (
        name,
        f"{2 * net.macs / moved:.0f}",
        f"{100 * waiting / cycles:.0f}",
        f"{moved / 1e9:.2f}",
        f"{ms:.1f}",
        f"{1e3 * net.batch / ms:.0f}",
        f"{edp * 1e3:.3g}",
        *solver,
    )
    print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
