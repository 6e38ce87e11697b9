"""Small woven schedules with names and times, ready to be drawn."""

import numpy as np

from archloom.evaluators.weaving import Npu, Order, schedule_timeline, simulated, ticked
from archloom.evaluators.weaving.chain import Chain
from archloom.studies.rendering.pictures.weaving import WovenRun

#: 3 bytes a microsecond: most times are no whole nanoseconds
NPU = Npu("small", 3 * 10**6, 10**6, 8, 40)


def woven_run(seed=0, layers=(4, 7), steps=None):
    """Return random chains, one of them with a layer in parts, in a random order."""
    rng = np.random.default_rng(seed)
    chains = []
    for number, count in enumerate(layers):
        weights, cycles, maps = rng.integers(1, 9, (3, count))
        weights[1] = 19 if number else weights[1]
        footprint = rng.integers(5, 20, count)
        live = np.append(rng.integers(0, 5, count - 1), 0)
        names = tuple(f"layer<{i}>" for i in range(count))
        chains.append(
            Chain(f"net{number}", weights, cycles, maps * (maps % 2), footprint, live, names)
        )
    work = ticked(chains, NPU)
    order = np.repeat(np.arange(len(layers)), np.diff(work.first))
    rng.shuffle(order)
    whole = Order(order.astype(np.int64))
    part = Order(whole.chain[:steps], whole.release)
    drawn = schedule_timeline(work, part, simulated(work, part))
    names = tuple(chain.name for chain in chains)
    title = "net0 and net1 on small, one query each: test"
    return WovenRun(
        title, names, tuple(c.layers for c in chains), work, NPU, drawn, len(whole.chain)
    )
