"""How many mappings a second are drawn, filtered and evaluated, and how long it takes to start.

    python benchmarks/mapping/mapping_throughput.py [--seconds 1] [--threads N] [--without-start]

Two architectures run ResNet-18's 3x3 layer. A mapping is evaluated when its validity, energy and
cycles are known. Each figure is the best of several rounds, per second of CPU time; plain Python
prices the same mappings in the same run, and all forms must agree on each. ``start_time.py`` then
measures the start in fresh processes. Exits with 1 where a target is missed or forms disagree.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from plain_model import PlainModel
from start_time import start_times
from throughput_designs import ARCHITECTURES, problem_of

from archloom.evaluators.arrays import Flags, Floats, Ints
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.evaluators.loopnest.simd.batch_kernel import evaluate_blocks, new_room, pack
from archloom.evaluators.loopnest.simd.inputs import simd_inputs
from archloom.evaluators.loopnest.simd.records import LANES, Records, new_nests
from archloom.search.mapping.random_sampling import sample
from archloom.search.mapping.simd.draws import blank_nests, draw_blocks, draw_candidates, draws_of

#: least mappings per CPU-second on A1_rf256 and one thread, and ratio to plain Python
VALID_A_SECOND, RANDOM_A_SECOND, FASTER = 4e6, 10e6, 80.0

BLOCKS = 16
ROUNDS = 8


@dataclass(frozen=True)
class Pool:
    """Random candidates of a problem, and valid ones among many more, as arrays and in lanes."""

    setup: KernelInputs
    loops: Ints
    keep: Flags
    valid_loops: Ints
    valid_keep: Flags
    share: float

    @classmethod
    def of(cls, setup: KernelInputs) -> "Pool":
        """Draw until the valid ones fill as many blocks as the random ones."""
        count, drawn = BLOCKS * LANES, 0
        loops, keep = draw_candidates(setup, 0, 0, count)
        found: list[tuple[Ints, Flags]] = []
        valid = 0
        while valid < count:
            some = draw_candidates(setup, 1, drawn, 16 * count)
            fits = evaluate_batch(setup, *some)[0] == VALID
            found.append((some[0][fits], some[1][fits]))
            valid, drawn = valid + int(fits.sum()), drawn + 16 * count
        valid_loops, valid_keep = (
            np.concatenate(part)[:count] for part in zip(*found, strict=True)
        )
        return cls(setup, loops, keep, valid_loops, valid_keep, valid / drawn)


def blocks_of(loops: Ints, keep: Flags) -> Records:
    blocks = new_nests(len(loops) // LANES, loops.shape[1])
    pack(loops, keep, blocks)
    return blocks


def by_lanes(setup: KernelInputs, blocks: Records) -> tuple[Callable[[], int], Floats, Floats]:
    """Return what evaluates the blocks once, and where it leaves energies and cycles."""
    lanes, room = simd_inputs(setup), new_room(blocks.shape[1])
    assert lanes is not None
    count = len(blocks) * LANES
    status, energy, cycles = np.zeros(count, np.int8), np.zeros(count), np.zeros((2, count))

    def run() -> int:
        evaluate_blocks(lanes, room, blocks, status, energy, cycles)
        return count

    return run, energy, cycles


def by_kernel(setup: KernelInputs, loops: Ints, keep: Flags) -> Callable[[], int]:
    def run() -> int:
        evaluate_batch(setup, loops, keep)
        return len(loops)

    return run


def by_plain_python(setup: KernelInputs, loops: Ints, keep: Flags) -> Callable[[], int]:
    model, mappings = PlainModel(setup), list(zip(loops.tolist(), keep.tolist(), strict=True))

    def run() -> int:
        for mapping in mappings:
            model.evaluate(*mapping)
        return len(mappings)

    return run


def drawing(setup: KernelInputs) -> Callable[[], int]:
    blocks, draws, seed = blank_nests(setup, BLOCKS), draws_of(setup), np.uint64(1)

    def run() -> int:
        draw_blocks(draws, seed, 0, blocks)
        return BLOCKS * LANES

    return run


def searching(setup: KernelInputs) -> Callable[[], int]:
    count = 256 * LANES

    def run() -> int:
        sample(setup, 1, 1, count)
        return count

    return run


def rate(run: Callable[[], int], seconds: float) -> tuple[float, float]:
    """Return how many a second of CPU time, and of the clock, one thread gets through."""
    done, cpu, clock = 0, time.thread_time(), time.perf_counter()
    while True:
        done += run()
        spent = time.thread_time() - cpu
        if spent >= seconds:
            return done / spent, done / (time.perf_counter() - clock)


def best_rate(
    make: Callable[[], Callable[[], int]], seconds: float, threads: int
) -> tuple[float, float]:
    """Return the best of some rounds: per CPU-second, and per second of the clock."""
    runs = [make() for _ in range(threads)]
    for run in runs:
        run()
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(ROUNDS):
            rates = list(pool.map(lambda run: rate(run, seconds / ROUNDS), runs))
            found.append((sum(r[0] for r in rates) / threads, sum(r[1] for r in rates)))
    return max(r[0] for r in found), max(r[1] for r in found)


def disagreements(pool: Pool) -> int:
    """Return how many valid mappings any two forms see differently."""
    loops, keep = pool.valid_loops, pool.valid_keep
    _, energy, chip, dram = evaluate_batch(pool.setup, loops, keep)
    run, lane_energy, lane_cycles = by_lanes(pool.setup, blocks_of(loops, keep))
    run()
    bad = (lane_energy != energy) | (lane_cycles[0] != chip) | (lane_cycles[1] != dram)
    model = PlainModel(pool.setup)
    for i, mapping in enumerate(zip(loops.tolist(), keep.tolist(), strict=True)):
        plain = model.evaluate(*mapping)
        bad[i] |= plain is None or abs(plain[0] - energy[i]) > 1e-12 * energy[i]
        bad[i] |= plain is None or plain[1] != max(chip[i], dram[i])
    return int(bad.sum())


def _row(title: str, *cells: str) -> str:
    return f"{title:50}" + "".join(f"{cell:>12}" for cell in cells)


def throughput(name: str, seconds: float, threads: int) -> list[str]:
    """Print the figures of an architecture and return the targets that it misses."""
    pool = Pool.of(problem_of(name).setup)
    setup, valid = pool.setup, (pool.valid_loops, pool.valid_keep)
    wrong = disagreements(pool)
    valid_blocks, random_blocks = blocks_of(*valid), blocks_of(pool.loops, pool.keep)
    forms: list[tuple[str, Callable[[], Callable[[], int]], int]] = [
        ("valid mappings evaluated", lambda: by_lanes(setup, valid_blocks)[0], threads),
        ("random candidates filtered, valid ones evaluated",
         lambda: by_lanes(setup, random_blocks)[0], threads),
        ("random candidates drawn", lambda: drawing(setup), threads),
        ("drawn, filtered, evaluated, best one kept", lambda: searching(setup), threads),
        ("valid mappings evaluated by the kernel", lambda: by_kernel(setup, *valid), threads),
        ("valid mappings evaluated by plain Python", lambda: by_plain_python(setup, *valid), 1),
    ]  # fmt: skip
    print(f"\n{name}: {pool.share:.1%} of random candidates are valid; ", end="")
    print(f"{wrong} of {len(valid[0])} valid mappings seen differently by any two forms")
    print(_row("millions of mappings", "1 thread", f"{threads} threads", "", "to plain"))
    print(_row("", "per CPU-s", "per CPU-s", "per s", "Python"))
    found = []
    for title, make, many in forms:
        one = best_rate(make, seconds, 1)
        more = best_rate(make, seconds, many) if many > 1 else None
        found.append((title, one, more))
    plain = found[-1][1][0]
    for title, one, more in found:
        cells = ["", ""] if more is None else [f"{rate / 1e6:.3f}" for rate in more]
        print(_row(title, f"{one[0] / 1e6:.3f}", *cells, f"{one[0] / plain:.0f} x"))
    valid_rate, random_rate = found[0][1][0], found[1][1][0]
    missed = [f"{name}: {wrong} mappings seen differently"] if wrong else []
    if name == "A1_rf256":
        if valid_rate < VALID_A_SECOND or random_rate < RANDOM_A_SECOND:
            missed.append(f"{name}: {valid_rate:.3g} valid, {random_rate:.3g} random a CPU-second")
        if valid_rate < FASTER * plain:
            missed.append(f"{name}: {valid_rate / plain:.0f} times plain Python")
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU time of each figure")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the other column")
    parser.add_argument("--without-start", action="store_true", help="measure throughput alone")
    options = parser.parse_args()
    missed = []
    for name in ARCHITECTURES:
        missed += throughput(name, options.seconds, options.threads)
    if not options.without_start:
        missed += start_times()
    sys.exit("\n".join(missed) or None)


if __name__ == "__main__":
    main()
