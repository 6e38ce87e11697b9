"""DeepFrack's experiments: four networks on Eyeriss and Simba against layer by layer.

    python benchmarks/fusion/deepfrack_experiments.py [--networks resnet18 ...]
        [--objectives energy edp]

Each layer and tile is mapped by the same search, with the same budget, fused or not. Energy and
latency are of the common price of plans; "own" is DeepFrack's cost of the plan over that price.
"squares mixed" are groups whose face is cut into squares of different sizes; "gain" is how much
more the group where that helps most costs in equal squares (the whole face, or squares that divide
it), and in the best of all grids, with rectangles for what remains. CPU
seconds are of one core with the benchmark of tiles, after compilation. "simba, weights" is the
preset with a buffer that keeps weights as well, so that there is something to cache them in.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from archloom.evaluators.fusion import GroupCost
from archloom.evaluators.fusion.plan import NetworkCost
from archloom.evaluators.hardware import access_costs
from archloom.search.fusion.deepfrack.planner import CostObjective, DeepFrackSearch
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.presets import preset
from archloom.space.fusion.irregular_tiles import anchor_layer
from archloom.space.fusion.plan import FusionGroup, layer_by_layer
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.dims import TENSORS
from archloom.space.workload.network import Network

NETWORKS = ("alexnet", "vgg16", "resnet18", "resnet50")

#: DeepFrack section V-B: average reduction of energy (percent), and speedup
PUBLISHED = {"eyeriss": (30, 1.54), "simba": (50, 1.75)}


@dataclass(frozen=True)
class Row:
    """One network on one design under one objective."""

    energy_less_percent: float
    speedup: float
    dram_less_percent: float
    edp_gain: float
    own_energy: float
    own_cycles: float
    groups: int
    fused_layers: int
    mixed: int
    gain_percent: tuple[float, float]
    tiles: int
    cpu_s: float


def designs() -> dict[str, Hardware]:
    simba = preset("simba")
    levels = list(simba.levels)
    levels[-2] = replace(levels[-2], keeps=TENSORS)
    return {
        "eyeriss": preset("eyeriss"),
        "simba": simba,
        "simba, weights": replace(simba, name="simba_weights", levels=tuple(levels)),
    }


def experiment(
    net: Network, hardware: Hardware, objectives: list[CostObjective], search: str, evaluations: int
) -> Iterator[tuple[CostObjective, Row]]:
    for objective in objectives:
        began = time.process_time()
        evaluator = MemoizedPlanEvaluator(
            net, hardware, Mapper(MAPPING_SEARCHES[search](), evaluations, seed=1)
        )
        before = evaluator.plan(layer_by_layer(net))
        planner = DeepFrackSearch(evaluator)
        plan = planner.plan(objective)
        assert plan is not None
        after = evaluator.plan(plan)
        spent = time.process_time() - began
        assert isinstance(before, NetworkCost)
        assert isinstance(after, NetworkCost)
        steps = planner.planned_ranges(objective)
        assert steps is not None
        mixed = [g for g in plan.groups if len({f.rows for f in g.faces}) > 1]
        # what a little more energy or latency of a group costs the plan
        share = (1 / after.energy_pj, 1 / after.latency_cycles)
        weights = {"energy": (1.0, 0.0), "latency": (0.0, 1.0), "edp": share}[objective]
        more = [gains(evaluator, group, weights) for group in mixed]
        yield (
            objective,
            Row(
                100 * (1 - after.energy_pj / before.energy_pj),
                before.latency_cycles / after.latency_cycles,
                100 * (1 - after.dram_bytes / before.dram_bytes),
                before.edp_js / after.edp_js,
                sum(s.energy_pj for s in steps) / after.energy_pj,
                sum(s.cycles for s in steps) / after.latency_cycles,
                len(plan.groups),
                sum(len(g.layers) for g in plan.groups if len(g.layers) > 1),
                len(mixed),
                max(more, default=(0.0, 0.0)),
                planner.benchmark.measured,
                spent,
            ),
        )


def gains(
    evaluator: MemoizedPlanEvaluator, group: FusionGroup, weights: tuple[float, float]
) -> tuple[float, float]:
    """How much more (percent) equal squares, and any grid, cost with the same weights cached."""
    anchor = evaluator.network.layers[anchor_layer(evaluator.network, group.layers)]
    size = (anchor.p, anchor.q)
    grids = {(min(s, size[0]), min(s, size[1])) for s in range(1, max(size) + 1)}
    # the whole face, and what the published code looks at
    equal = {
        g for g in grids if g == size or (g[0] == g[1] > 1 and not any(n % g[0] for n in size))
    }
    costs = {g: weighted(evaluator, replace(group, faces=(), tile=g), weights) for g in grids}
    mixed = weighted(evaluator, group, weights)
    least = [min(costs[g] for g in found) for found in (equal, grids)]
    return 100 * (least[0] / mixed - 1), 100 * (least[1] / mixed - 1)


def weighted(
    evaluator: MemoizedPlanEvaluator, group: FusionGroup, weights: tuple[float, float]
) -> float:
    cost = evaluator.group(group)
    if not isinstance(cost, GroupCost):
        return inf
    leak = access_costs(evaluator.hardware).leakage_pj_per_cycle * cost.latency_cycles
    return weights[0] * (cost.dynamic_pj + leak) + weights[1] * cost.latency_cycles


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--presets", nargs="+", default=list(designs()), choices=list(designs()))
    parser.add_argument("--objectives", nargs="+", default=["energy", "edp"])
    parser.add_argument("--search", default="auto", choices=sorted(MAPPING_SEARCHES))
    parser.add_argument("--evaluations", type=int, default=1_000_000)
    options = parser.parse_args()
    for name, (energy, speedup) in PUBLISHED.items():
        print(f"published for {name}: energy -{energy}%, speedup {speedup}")
    print(
        "| network | preset | objective | energy | speedup | DRAM bytes | EDP gain | own energy, "
        "cycles | groups | layers fused | squares mixed | gain | tiles benchmarked | CPU-s |"
    )
    print("|" + " --- |" * 14)
    warm_up(options.search)
    for name in options.networks:
        for design in options.presets:
            arguments = (network(name), designs()[design], options.objectives)
            for objective, row in experiment(*arguments, options.search, options.evaluations):
                print(
                    f"| {name} | {design} | {objective} | {-row.energy_less_percent:+.1f}% "
                    f"| {row.speedup:.2f}x | {-row.dram_less_percent:+.1f}% | {row.edp_gain:.2f} "
                    f"| {row.own_energy:.3f}, {row.own_cycles:.3f} | {row.groups} "
                    f"| {row.fused_layers} | {row.mixed} | {row.gain_percent[0]:.1f}%, "
                    f"{row.gain_percent[1]:.1f}% "
                    f"| {row.tiles} | {row.cpu_s:.1f} |",
                    flush=True,
                )


def warm_up(search: str) -> None:
    """Compile what is compiled."""
    net = network("tiny_cnn")
    for hardware in designs().values():
        for _ in experiment(net, hardware, ["energy"], search, 1000):
            pass


if __name__ == "__main__":
    main()
