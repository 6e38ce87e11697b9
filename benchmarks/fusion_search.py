"""What the genetic fusion search finds, against random plans and at several mapping efforts.

    python benchmarks/fusion_search.py [--seeds 4]

ResNet-18 and MobileNetV2 on three designs. The first table gives ln EDP over layer-by-layer at
equal numbers of plans (-0.40 means a third less EDP); the second, the mean ln EDP after 30 plans
against CPU time, for several mapping searches and numbers of evaluations for each problem.
"""

import argparse
import time

import numpy as np

from archloom.search.genetic import GeneticFusion
from archloom.search.mapper import Mapper
from archloom.search.mapping_search import MAPPING_SEARCHES
from archloom.search.pricing import PlanPricer
from archloom.space.hardware import Hardware
from archloom.space.hardware_space import HardwareSpace
from archloom.space.infeasible import Infeasible, InfeasibleError
from archloom.space.networks import network
from archloom.space.presets import preset, with_technology

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


def pricers(search: str, evaluations: int, seed: int) -> list[PlanPricer]:
    """A pricer with an empty memo for each network and design."""
    return [
        PlanPricer(network(name), hardware, Mapper(MAPPING_SEARCHES[search](), evaluations, seed))
        for hardware in designs()
        for name in NETWORKS
    ]


def history(pricer: PlanPricer, population: int, seed: int, plans: int) -> tuple[float, ...]:
    search = GeneticFusion(pricer, population)
    return search.advance(search.start(seed), plans).history


def compare_populations(seeds: range) -> None:
    shared = pricers("local", evaluations=500, seed=1)
    print("plans found by    " + "".join(f"{f'{n} plans':>12}" for n in PLANS))
    # a population that never fills draws every plan at random
    for population in (max(PLANS) + 1, *POPULATIONS):
        curves = np.array(
            [history(p, population, s, max(PLANS)) for p in shared for s in seeds], np.float64
        )
        gains = (curves[:, np.array(PLANS) - 1] - curves[:, :1]).mean(axis=0)
        label = "random draws" if population > max(PLANS) else f"population {population}"
        print(f"{label:18}" + "".join(f"{gain:12.4f}" for gain in gains))


def compare_efforts(seeds: range) -> None:
    print("search  evaluations  mean ln EDP  CPU s per network")
    for search, evaluations in EFFORTS:
        found, began = [], time.process_time()
        for seed in seeds:
            found += [history(p, 8, seed, 30)[-1] for p in pricers(search, evaluations, seed)]
        spent = (time.process_time() - began) / len(found)
        print(f"{search:6}  {evaluations:11,}  {np.mean(found):11.4f}  {spent:17.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    seeds = range(parser.parse_args().seeds)
    history(pricers("auto", 10_000, 0)[0], 4, 0, 1)  # compile
    compare_populations(seeds)
    compare_efforts(seeds)


if __name__ == "__main__":
    main()
