"""Random chains in ticks, as kernels read them, and random orders of them."""

from collections.abc import Sequence

import numpy as np

from archloom.evaluators import Ints
from archloom.evaluators.weaving import Order, Ticks

NO_RELEASE = np.zeros(0, np.int64)


def ticks_of(chains: Sequence[Sequence[tuple[int, ...]]], buffer: int) -> Ticks:
    """Return chains of (fetch, compute) or (fetch, compute, maps) as one record."""
    rows = [(*layer, 0)[:3] for chain in chains for layer in chain]
    first = np.cumsum([0, *(len(chain) for chain in chains)]).astype(np.int64)
    fetch, compute, maps = np.array(rows, np.int64).T.copy()
    none = np.zeros(len(rows), np.int64)
    layer = np.concatenate([np.arange(len(chain)) for chain in chains])
    return Ticks(first, fetch, compute, maps, none, none, layer, buffer, 0)


def random_ticks(
    rng: np.random.Generator, counts: Sequence[int], largest: int = 9, maps: bool = False
) -> Ticks:
    """Return chains with so many layers, zeros among their amounts, and a tight buffer."""
    kind = rng.integers(4)
    chains = []
    for number, count in enumerate(counts):
        fetch = rng.integers(0, largest + 1, count)
        compute = rng.integers(0, largest + 1, count)
        if kind == 1 and number % 2:
            fetch, compute = fetch // 3, compute * 2
        if kind == 2:
            fetch = np.where(rng.random(count) < 0.3, largest, fetch // 4)
        moved = rng.integers(0, largest // 2 + 1, count) * (rng.random(count) < 0.4) * maps
        chains.append(list(zip(fetch.tolist(), compute.tolist(), moved.tolist(), strict=True)))
    most = max((layer[0] for chain in chains for layer in chain), default=0)
    return ticks_of(chains, max(1, int(most * rng.choice([1, 1.3, 2, 3, 6]))))


def random_order(rng: np.random.Generator, work: Ticks, queries: int = 1) -> Order:
    """Return a random merge of the chains."""
    steps = np.repeat(np.arange(work.chains), np.diff(work.first) * queries)
    rng.shuffle(steps)
    return Order(steps.astype(np.int64), NO_RELEASE)


def order_of(chain: Sequence[int] | Ints) -> Order:
    """Return an order in which nothing waits."""
    return Order(np.array(chain, np.int64), NO_RELEASE)


def layers_of(work: Ticks) -> list[list[tuple[int, int, int]]]:
    """Return chains of (maps, fetch, compute) layers."""
    rows = list(zip(work.maps.tolist(), work.fetch.tolist(), work.compute.tolist(), strict=True))
    spans = zip(work.first[:-1], work.first[1:], strict=True)
    return [rows[begin:end] for begin, end in spans]
