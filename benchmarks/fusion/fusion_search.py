"""What the genetic fusion search finds, against random plans and at several mapping efforts.

    python benchmarks/fusion/fusion_search.py [--seeds 4]

ResNet-18 and MobileNetV2 on three designs. The first table gives ln EDP over layer-by-layer at
equal numbers of plans (-0.40 means a third less EDP); the second, the mean ln EDP after 30 plans
against CPU time, for several mapping searches and numbers of evaluations for each problem.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np

from archloom.search.fusion.casco.genetic import GeneticPlanner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import MAPPING_SEARCHES
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset, with_technology
from archloom.space.errors import Infeasible, InfeasibleError
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

NETWORKS = ("resnet18", "mobilenetv2")
PLANS = (16, 30, 60, 120)
POPULATIONS = (4, 8, 16, 24)
EFFORTS = (
    ("local", 1000),
    ("local", 4000),
    ("local", 16_000),
    ("auto", 25_000),
    ("auto", 100_000),
    ("auto", 400_000),
)


def designs() -> list[Hardware]:
    """Eyeriss, and two designs of the CASCO edge space."""
    space = HardwareSpace.load("casco_edge")
    point = {"input_spad_bytes": 32, "output_spad_bytes": 32, "dram_channels": 1, "clock_mhz": 400}
    found = [with_technology(preset("eyeriss"), "cacti_45nm")]
    for pe_x, pe_y, spad, l2_kib in ((16, 16, 128, 512), (14, 12, 256, 128)):
        size = {"pe_x": pe_x, "pe_y": pe_y, "weight_spad_bytes": spad, "l2_kib": l2_kib}
        built = space.build(point | size)
        if isinstance(built, Infeasible):
            raise InfeasibleError(built)
        found.append(built)
    return found


def pricers(
    search: str, evaluations: int, seed: int, cases: int | None
) -> list[MemoizedPlanEvaluator]:
    """An evaluator with an empty memo for each network and design; or for the first ``cases``."""
    made = [
        MemoizedPlanEvaluator(
            network(name), hardware, Mapper(MAPPING_SEARCHES[search](), evaluations, seed)
        )
        for hardware in designs()
        for name in NETWORKS
    ]
    return made[:cases]


def history(
    evaluator: MemoizedPlanEvaluator, population: int, seed: int, plans: int
) -> tuple[float, ...]:
    search = GeneticPlanner(evaluator, population)
    return search.advance(search.start(seed), plans).history


def compare_populations(seeds: range, counts: Sequence[int], cases: int | None) -> None:
    shared = pricers("local", evaluations=500, seed=1, cases=cases)
    print("plans found by    " + "".join(f"{f'{n} plans':>12}" for n in counts))
    # a population that never fills draws every plan at random
    for population in (max(counts) + 1, *POPULATIONS):
        curves = np.array(
            [history(p, population, s, max(counts)) for p in shared for s in seeds], np.float64
        )
        gains = (curves[:, np.array(counts) - 1] - curves[:, :1]).mean(axis=0)
        label = "random draws" if population > max(counts) else f"population {population}"
        print(f"{label:18}" + "".join(f"{gain:12.4f}" for gain in gains))


def compare_efforts(seeds: range, efforts: int, plans: int, cases: int | None) -> None:
    print("search  evaluations  mean ln EDP  CPU s per network")
    for search, evaluations in EFFORTS[:efforts]:
        found, began = [], time.process_time()
        for seed in seeds:
            made = pricers(search, evaluations, seed, cases)
            found += [history(p, 8, seed, plans)[-1] for p in made]
        spent = (time.process_time() - began) / len(found)
        print(f"{search:6}  {evaluations:11,}  {np.mean(found):11.4f}  {spent:17.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--cases", type=int, help="so many designs with a network (default: all)")
    parser.add_argument("--plans", type=int, nargs="+", default=PLANS)
    parser.add_argument("--efforts", type=int, default=len(EFFORTS), help="so many of them")
    given = parser.parse_args()
    seeds = range(given.seeds)
    history(pricers("auto", 10_000, 0, 1)[0], 4, 0, 1)  # compile
    compare_populations(seeds, given.plans, given.cases)
    compare_efforts(seeds, given.efforts, min(30, *given.plans), given.cases)


if __name__ == "__main__":
    main()
