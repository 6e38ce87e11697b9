"""How far the best mappings that a search finds are above the lower bounds, and what bounds cost.

    python benchmarks/mapping/bounds_gap.py [--evaluations 20000] [--seeds 3]

All distinct layers of ResNet-18, MobileNetV2 and EfficientNet-B0 on published chips and on designs
of the two spaces. Each layer is mapped once for the least EDP, once for the least energy and once
for the least cycles; a gap of 1.10 means 10% above the bound. It says nothing about whether the
search or the bound is at fault.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np

from archloom.evaluators.bounds.layer import design_and_prices, layer_bound, nest_arrays
from archloom.evaluators.bounds.layer_kernel import layer_costs
from archloom.evaluators.loopnest.kernel import ln_objective
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.simd.searches import LocalMapping
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.layer import NO_ZEROS, Layer

NETWORKS = ("resnet18", "mobilenetv2", "efficientnet_b0")
PRESETS = ("eyeriss", "shidiannao", "edgetpu", "tpu_v3")
GOALS = {"EDP": (1.0, 1.0), "energy": (1.0, 0.0), "cycles": (0.0, 1.0)}
QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Found:
    """What the best mapping for one goal takes: energy without leakage, and cycles."""

    energy_pj: float
    cycles: float


def designs() -> dict[str, Hardware]:
    """Published chips, and some designs that random points of each space make."""
    found = {name: preset(name) for name in PRESETS}
    for name in ("casco_edge", "fast"):
        space, rng, count = HardwareSpace.load(name), np.random.default_rng(0), 0
        while count < 3:
            built = space.build(space.sample(rng))
            if not isinstance(built, Infeasible):
                count += 1
                found[f"{name} {count}"] = built
    return found


def layers() -> list[Layer]:
    """Every distinct layer that runs on MACs."""
    nets = (network(name) for name in NETWORKS)
    every = (layer for net in nets for layer in net.layers if layer.uses_macs)
    return list({repr(nest_arrays(layer)): layer for layer in every}.values())


def searched(problem: MappingProblem, goal: str, evaluations: int, seeds: int) -> Found:
    """Return the best of several searches for one goal."""
    setup = problem.setup
    weights = np.array(GOALS[goal])
    leakage = setup.leakage_pj if goal == "EDP" else 0.0
    problem.__dict__["setup"] = setup._replace(weights=weights, leakage_pj=leakage)
    search, best, score = LocalMapping(), Found(np.inf, np.inf), np.inf
    for seed in range(seeds):
        state = search.advance(problem, search.start(problem, seed), evaluations)
        mapped = search.best(problem, state)
        energy, cycles = mapped.energy_pj, mapped.latency_cycles
        found = float(ln_objective(weights, leakage, energy, cycles))
        if mapped.mapping is not None and found < score:
            score = found
            best = Found(mapped.energy_pj, mapped.latency_cycles)
    problem.__dict__["setup"] = setup
    return best


def gaps(hardware: Hardware, every: list[Layer], evaluations: int, seeds: int) -> np.ndarray:
    """Return float64[layers, 3]: found over bound, for EDP, energy and cycles."""
    rows = []
    for layer in every:
        bound, problem = layer_bound(layer, hardware), MappingProblem.of_layer(layer, hardware)
        leakage = problem.setup.leakage_pj
        runs = {goal: searched(problem, goal, evaluations, seeds) for goal in GOALS}
        edp = (runs["EDP"].energy_pj + leakage * runs["EDP"].cycles) * runs["EDP"].cycles
        rows.append(
            (
                edp / (bound.energy_pj * bound.latency_cycles),
                runs["energy"].energy_pj / bound.dynamic_pj,
                runs["cycles"].cycles / bound.latency_cycles,
            )
        )
    return np.array(rows)


def microseconds(hardware: Hardware, every: list[Layer]) -> float:
    """CPU time of energy and cycles of one layer, of the best of five batches."""
    arrays = [nest_arrays(layer) for layer in every]
    bounds, windows = (np.stack(part) for part in zip(*arrays, strict=True))
    design, prices = design_and_prices(hardware, NO_ZEROS)
    layer_costs(design, prices, bounds, windows)  # compile
    times = []
    for _ in range(5):
        began = time.process_time()
        layer_costs(design, prices, bounds, windows)
        times.append(time.process_time() - began)
    return min(times) / len(every) * 1e6


def row(name: str, values: np.ndarray) -> str:
    quantiles = "  ".join(f"{q:7.3f}" for q in np.quantile(values, QUANTILES))
    return f"{name:22}  {quantiles}  {np.mean(values < 1.01):10.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=20000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--designs", type=int, help="so many of them (default: all)")
    parser.add_argument("--layers", type=int, help="so many of them (default: all)")
    given = parser.parse_args()
    every = layers()[: given.layers]
    print(f"{len(every)} layers; best of {given.seeds} searches of {given.evaluations} mappings")
    heads = "  ".join(f"{q:7.0%}" for q in QUANTILES)
    print(f"found / bound           {heads}  within 1%  (us a layer)")
    found = {}
    for name, hardware in list(designs().items())[: given.designs]:
        found[name] = gaps(hardware, every, given.evaluations, given.seeds)
        for i, goal in enumerate(GOALS):
            speed = f"  {microseconds(hardware, every):.0f}" if i == 0 else ""
            print(row(f"{name} {goal}", found[name][:, i]) + speed, flush=True)
    together = np.concatenate(list(found.values()))
    for i, goal in enumerate(GOALS):
        print(row(f"all {goal}", together[:, i]))


if __name__ == "__main__":
    main()
