"""What streams of pairs of networks gain, and how near they come to the bound on throughput.

    python benchmarks/weaving/streams.py [--full] [--lengths 16] [--others]

The pairs of the Layerweaver paper, by our own layer model (docs/weaving.md), weight buffers of 48
MiB. A row is an NPU and a length of sequences, means over 16 pairs: the bound's gain over one
network at a time (STP* - 1), the gain of the printed greedy, shares of STP* (least) of greedy,
strings, AI-MT with the best setting of each pair and the repeated plan, active shares of array and
DRAM under the greedy, and ANTT of greedy and strings. ``--full``: all lengths, and other buffers at
16. ``--others``: networks on which strings falls short, with the rule that replaces it.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search.registry import WEAVERS
from archloom.search.weaving import Stream
from archloom.search.weaving.online import Strings
from tests.cases.woven_pairs import BATCH, COMPUTE, MEMORY, pair

WEAVER_NAMES = ("layerweaver", "strings", "ai_mt", "beam")
OTHERS = (
    "densenet161",
    "googlenet",
    "squeezenet1_0",
    "resnet18",
    "vit_b_16",
    "efficientnet_b4",
    "unet",
    "vgg16",
)


def share(streams: list[Stream]) -> str:
    shares = [100 * stream.share for stream in streams]
    return f"{np.mean(shares):.2f} ({min(shares):.2f})"


def row(npu: str, length: int, buffer: int, pairs: int) -> str:
    names = [(one, other) for one in COMPUTE for other in MEMORY][:pairs]
    works = [pair(both, npu, length, buffer) for both in names]
    found = {name: [WEAVERS[name]().stream(work) for work in works] for name in WEAVER_NAMES}
    greedy, strings = found["layerweaver"], found["strings"]
    gains = [100 * np.mean([s.bound.value - 1 for s in greedy])]
    gains.append(100 * np.mean([s.metrics.stp - 1 for s in greedy]))
    cells = [f"{gain:+.1f}" for gain in gains] + [share(streams) for streams in found.values()]
    active = [
        100 * np.mean([s.metrics.compute_active for s in greedy]),
        100 * np.mean([s.metrics.memory_active for s in greedy]),
    ]
    antt = [np.mean([s.metrics.antt for s in streams]) for streams in (greedy, strings)]
    cells += [f"{active[0]:.0f} / {active[1]:.0f}", f"{antt[0]:.2f} / {antt[1]:.2f}"]
    return f"{npu}, {length}, {buffer}: {' | '.join(cells)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[16], help="of sequences")
    parser.add_argument("--pairs", type=int, default=16, help="how many of the 16 pairs")
    parser.add_argument("--full", action="store_true", help="all lengths and buffers")
    parser.add_argument("--others", action="store_true", help="other networks, with BERT base")
    chosen = parser.parse_args()
    cases = [(length, 48) for length in chosen.lengths]
    if chosen.full:
        cases = [(length, 48) for length in (8, 16, 32, 64, 128, 384)]
        cases += [(16, buffer) for buffer in (32, 24, 16, 8)]
    print(
        f"NPU, length, MiB: STP* | greedy | shares of {', '.join(WEAVER_NAMES)} | PE / DRAM | ANTT"
    )
    for npu in BATCH:
        for length, buffer in cases:
            print(row(npu, length, buffer, chosen.pairs), flush=True)
    for name in OTHERS if chosen.others else ():
        for npu in BATCH:
            work = pair((name, "bert_base"), npu)
            plain, best = Strings(fallback=False).stream(work), Strings().stream(work)
            gained = f"strings {100 * plain.share:.2f}, best {100 * best.share:.2f} by {best.rule}"
            print(f"{name} and bert_base, {npu}: {gained}", flush=True)


if __name__ == "__main__":
    main()
