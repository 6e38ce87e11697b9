"""What rows and banks of DRAM add to the time in which a mapping is priced.

    python benchmarks/mapping/dram_pricing.py [--rounds 9] [--designs eyeriss ...]

The same work is done with and without ``timing`` of the DRAM level, in turns; each figure is the
least CPU time of a mapping over rounds. First the annealing of the exact search, which moves to a
mapping, prices it and keeps the better one; then the compiled kernel alone, on mappings that fit.
That one takes less than a millisecond at a time and has twenty times as many rounds: on a machine
that does other work too, some of them pass undisturbed. Exits with 1 where either takes more than a
fifth longer.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from archloom.evaluators.arrays import Flags, Ints
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.branch_and_bound import Search
from archloom.search.mapping.simd.draws import draw_candidates
from archloom.space.design_space.presets import preset
from archloom.space.hardware.dram import DramTiming
from archloom.space.workload.layer_builders import conv2d, linear

MOST = 1.20

#: rounds of the kernel for each round of the annealing, which takes much longer
KERNEL_ROUNDS = 20
LAYERS = (conv2d("3x3", 64, 128, 56, 3, 1, 1), linear("product", 768, 3072))


def annealed(setup: KernelInputs) -> int:
    """Anneal, and return how many mappings were priced."""
    return Search(setup, 100_000, 1, 0).run(False).evaluations


def priced(setup: KernelInputs, loops: Ints, keep: Flags) -> int:
    """Price mappings, and return how many."""
    evaluate_batch(setup, loops, keep)
    return len(loops)


def ratio(what: str, rounds: int, *work: Callable[[], int]) -> float:
    """Print the times of a mapping without and with ``timing``; return how they compare."""
    best = [float("inf")] * len(work)
    for _ in range(rounds + 1):
        for i, do in enumerate(work):
            begin = time.process_time()
            count = do()
            # the first one may compile, and is never the least
            best[i] = min(best[i], (time.process_time() - begin) / count * 1e9)
    print(f"{what:38}{best[0]:10.0f}{best[1]:10.0f}{best[1] / best[0]:8.2f}")
    return best[1] / best[0]


def main() -> int:
    """Print times; return 1 where the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--designs", nargs="+", default=["eyeriss", "simba", "edgetpu"])
    asked = parser.parse_args()
    rounds = asked.rounds
    worst = 0.0
    print(f"{'ns a mapping':38}{'without':>10}{'timing':>10}{'ratio':>8}")
    for name in asked.designs:
        plain = preset(name)
        dram = replace(plain.levels[-1], energy=None, timing=DramTiming("ddr4_3200_x8", 2))
        timed = replace(plain, levels=(*plain.levels[:-1], dram))
        for layer in LAYERS:
            off, on = (MappingProblem.of_layer(layer, chip).setup for chip in (plain, timed))
            what = f"{name}, {layer.name}"
            searches = (lambda s=off: annealed(s), lambda s=on: annealed(s))
            worst = max(worst, ratio(f"annealing, {what}", rounds, *searches))
            loops, keep = draw_candidates(off, 0, 0, 400_000)
            fits = evaluate_batch(off, loops, keep)[0] == VALID
            fitting = loops[fits][:2000], keep[fits][:2000]
            kernels = (
                lambda s=off, m=fitting: priced(s, *m),
                lambda s=on, m=fitting: priced(s, *m),
            )
            worst = max(worst, ratio(f"kernel, {what}", KERNEL_ROUNDS * rounds, *kernels))
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
