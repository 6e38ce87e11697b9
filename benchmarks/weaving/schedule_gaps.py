"""How near schedules of one query each come to the bounds, on real pairs of networks.

    python benchmarks/weaving/schedule_gaps.py [--full] [--buffers 48] [--lengths 16] [--effort N]

The pairs of the Layerweaver paper, by our own layer model (docs/explanation/weaving.md): four CNNs
with BERT, XLNet and NCF, on the memory-centric NPU with batch 1 and the compute-centric one with
batch 16. A row is an NPU and a weight buffer: how many cases `exact` proves, the gaps and CPU
seconds of all, and how far bound B3, the printed greedy, the best setting of AI-MT and strings are
from the best schedule. ``--full``: 96 cases on each NPU, four buffers.
"""

import argparse
import sys
from pathlib import Path
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.evaluators.weaving import Ticks, makespan
from archloom.search.weaving.applied import ByIdleTime, ByStrings
from archloom.search.weaving.certify import EFFORT, certified
from archloom.search.weaving.online import AiMt
from tests.cases.woven_pairs import BATCH, COMPUTE, MEMORY, pair


def figures(work: Ticks, effort: int) -> list[float]:
    """Return one row of a case, gaps in percent."""
    begun = process_time()
    best = certified(work, effort=effort)
    seconds = process_time() - begun
    upper = best.upper_ticks
    suffixes = best.bounds.suffixes or 0
    others = [
        makespan(work, ByIdleTime()(work, 0)[1]),
        AiMt().weave(work).upper_ticks,
        makespan(work, ByStrings(0.5)(work, 0)[1]),
    ]
    above = [100 * (other / upper - 1) for other in others]
    return [best.proven, 100 * best.gap, seconds, 100 * (1 - suffixes / upper), *above]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--buffers", type=int, nargs="+", default=[48], help="MiB of weights")
    parser.add_argument("--lengths", type=int, nargs="+", default=[16], help="of sequences")
    parser.add_argument("--pairs", type=int, default=16, help="how many of the 16 pairs")
    parser.add_argument("--effort", type=int, default=EFFORT, help="of each proof")
    parser.add_argument("--full", action="store_true", help="all cases, four buffers")
    chosen = parser.parse_args()
    if chosen.full:
        chosen.buffers, chosen.lengths = [48, 16, 8, 4], [8, 16, 32, 64, 128, 384]
    # compiled before anything is timed, with diagrams
    certified(pair((COMPUTE[0], MEMORY[1]), "memory_centric", buffer_mib=8), effort=10**5)
    print("gaps and distances in percent: mean (largest)")
    print("NPU, MiB: proven | gap | CPU s | B3 below | greedy above | AI-MT above | strings above")
    for npu in BATCH:
        for buffer in chosen.buffers:
            names = [(one, other) for one in COMPUTE for other in MEMORY][: chosen.pairs]
            rows = np.array(
                [
                    figures(pair(both, npu, length, buffer), chosen.effort)
                    for length in chosen.lengths
                    for both in names
                ]
            )
            means, most = rows.mean(axis=0), rows.max(axis=0)
            cells = [f"{mean:.4g} ({top:.4g})" for mean, top in zip(means, most, strict=True)]
            proven = f"{int(rows[:, 0].sum())} of {len(rows)}"
            print(f"{npu}, {buffer}: {proven} | {' | '.join(cells[1:])}", flush=True)


if __name__ == "__main__":
    main()
