"""What rows and banks of DRAM add to the time in which the compiled kernel prices a mapping.

    python benchmarks/mapping/dram_pricing.py [--rounds 15]

The same mappings that fit are priced with and without ``timing`` of the DRAM level, in turns; each
figure is the least CPU time over rounds. Exits with 1 where it adds more than a fifth.
"""

import argparse
import sys
import time
from dataclasses import replace

from archloom.evaluators.arrays import Flags, Ints
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.simd.draws import draw_candidates
from archloom.space.design_space.presets import preset
from archloom.space.hardware.dram import DramTiming
from archloom.space.workload.layer_builders import conv2d, linear

MOST = 1.20
LAYERS = (conv2d("3x3", 64, 128, 56, 3, 1, 1), linear("product", 768, 3072))


def seconds(setup: KernelInputs, loops: Ints, keep: Flags) -> float:
    """Return the CPU time of a mapping."""
    begin = time.process_time()
    evaluate_batch(setup, loops, keep)
    return (time.process_time() - begin) / len(loops)


def main() -> int:
    """Print times; return 1 where the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    worst = 0.0
    print(f"{'ns a mapping':28}{'without':>10}{'timing':>10}{'ratio':>8}")
    for name in ("eyeriss", "simba", "edgetpu"):
        plain = preset(name)
        dram = replace(plain.levels[-1], energy=None, timing=DramTiming("ddr4_3200_x8", 2))
        timed = replace(plain, levels=(*plain.levels[:-1], dram))
        for layer in LAYERS:
            setups = [MappingProblem.of_layer(layer, chip).setup for chip in (plain, timed)]
            loops, keep = draw_candidates(setups[0], 0, 0, 400_000)
            fits = evaluate_batch(setups[0], loops, keep)[0] == VALID
            loops, keep = loops[fits][:2000].repeat(5, 0), keep[fits][:2000].repeat(5, 0)
            seconds(setups[1], loops, keep)
            runs = [[seconds(s, loops, keep) for s in setups] for _ in range(rounds)]
            without, with_rows = (min(times) for times in zip(*runs, strict=True))
            worst = max(worst, with_rows / without)
            what = f"{name}, {layer.name}"
            print(
                f"{what:28}{without * 1e9:10.0f}{with_rows * 1e9:10.0f}{with_rows / without:8.2f}"
            )
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
