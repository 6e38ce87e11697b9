"""How near the mapping searches come to the best known mapping, against evaluations spent.

    python benchmarks/mapping_search.py [--seeds 9]

Problems are layers of ResNet-18 and MobileNetV2, whole and as tiles of a fused group, on three
designs. The gap is the difference of ln EDP to the best mapping that any search ever found
here, long runs included: 0.10 means about 10% more EDP.
"""

import argparse
import time
from typing import Any

import numpy as np

from archloom.evaluators.problem import MappingProblem
from archloom.search.mapping_search import MAPPING_SEARCHES
from archloom.space.hardware import Hardware
from archloom.space.hardware_space import HardwareSpace
from archloom.space.infeasible import Infeasible, InfeasibleError
from archloom.space.networks import network
from archloom.space.presets import preset, with_technology

LAYERS = {
    "resnet18": ("conv1", "stage1.0.conv1", "stage3.0.conv1", "stage4.1.conv2"),
    "mobilenetv2": ("stage2.0.expand", "stage2.1.depthwise", "stage5.0.project", "conv_last"),
}
EVALUATIONS = (250, 500, 1000, 2000, 4000, 8000)
LONG_RUN = 100_000


def designs() -> dict[str, Hardware]:
    """Eyeriss, and two designs of the CASCO edge space."""
    space = HardwareSpace.load("casco_edge")
    point = {"input_spad_bytes": 32, "output_spad_bytes": 32, "dram_channels": 1, "clock_mhz": 400}
    found = {"eyeriss": with_technology(preset("eyeriss"), "cacti_45nm")}
    for pe_x, pe_y, spad, l2_kib in ((16, 16, 128, 512), (14, 12, 256, 128)):
        size = {"pe_x": pe_x, "pe_y": pe_y, "weight_spad_bytes": spad, "l2_kib": l2_kib}
        built = space.build(point | size)
        if isinstance(built, Infeasible):
            raise InfeasibleError(built)
        found[f"edge {pe_x}x{pe_y}, {l2_kib} KiB"] = built
    return found


def problems() -> list[MappingProblem]:
    """Whole layers everywhere, and two tiles with their maps in the buffer of the large design."""
    found = [
        MappingProblem.of_layer(net.layers[net.index(layer)], hardware)
        for hardware in designs().values()
        for net, layers in ((network(name), layers) for name, layers in LAYERS.items())
        for layer in layers
    ]
    bounds, window = (1, 1, 128, 128, 7, 28, 3, 3), ((1, 1), (1, 1), (0, 0), (9, 30))
    large = designs()["edge 16x16, 512 KiB"]
    found.append(MappingProblem(bounds, *window, large, (False, True, True), 65536))
    found.append(MappingProblem(bounds, *window, large, (True, True, True)))
    return found


def ln_edp(problem: MappingProblem, search: Any, seed: int, evaluations: int) -> float:
    state = search.advance(problem, search.start(problem, seed), evaluations)
    found = search.best(problem, state)
    energy = found.energy_pj + problem.setup.leakage_pj * found.latency_cycles
    return float(np.log(energy) + np.log(found.latency_cycles))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=9)
    seeds = range(parser.parse_args().seeds)
    cases = problems()
    found: dict[tuple[str, int], np.ndarray] = {}
    seconds: dict[tuple[str, int], float] = {}
    for name, make in MAPPING_SEARCHES.items():
        ln_edp(cases[0], make(), 0, 1)  # compile
        for evaluations in EVALUATIONS:
            began = time.process_time()
            found[name, evaluations] = np.array(
                [[ln_edp(p, make(), seed, evaluations) for seed in seeds] for p in cases]
            )
            spent = time.process_time() - began
            seconds[name, evaluations] = spent / (len(cases) * len(seeds))
    local = MAPPING_SEARCHES["local"]()
    best = np.array([min(ln_edp(p, local, s, LONG_RUN) for s in (101, 102, 103)) for p in cases])
    for values in found.values():
        best = np.minimum(best, values.min(axis=1))
    print(f"{len(cases)} problems, {len(seeds)} seeds; gap of ln EDP to the best known mapping")
    print("search  evaluations  mean gap  median gap  worst gap  CPU ms per problem")
    for (name, evaluations), values in found.items():
        gap = values - best[:, None]
        print(
            f"{name:6}  {evaluations:11}  {gap.mean():8.3f}  {np.median(gap):10.3f}  "
            f"{gap.max():9.3f}  {seconds[name, evaluations] * 1e3:18.2f}"
        )


if __name__ == "__main__":
    main()
