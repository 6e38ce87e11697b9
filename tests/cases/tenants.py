"""Random networks that share an NPU, for serving."""

import numpy as np

from archloom.evaluators.weaving import Chain, Npu
from archloom.search.weaving.serving import Deadline, Tenants

#: a byte a tick, a tick a microsecond, a cycle a tick
PLAIN = Npu("plain", 10**6, 10**6, 64, 0)


def chain_of(name: str, layers: list[tuple[int, int]]) -> Chain:
    """Return a chain of (bytes of weights, cycles)."""
    weights, cycles = np.array(layers, np.int64).T
    zero = np.zeros(len(layers), np.int64)
    return Chain(
        name, weights, cycles, zero, zero, zero, tuple(f"l{i}" for i in range(len(layers)))
    )


def opposed() -> tuple[Chain, Chain]:
    """Return a network that computes and one that fetches; weaving them nearly doubles STP."""
    return chain_of("conv", [(2, 20), (4, 16), (8, 30)]), chain_of("dense", [(30, 3), (26, 2)])


def random_chains(rng: np.random.Generator, count: int, largest: int = 40) -> list[Chain]:
    """Return chains of one to six layers, all of which have work."""
    return [
        chain_of(
            f"n{m}",
            [
                (int(rng.integers(0, largest + 1)), int(rng.integers(1, largest + 1)))
                for _ in range(rng.integers(1, 7))
            ],
        )
        for m in range(count)
    ]


def tenants(
    chains: tuple[Chain, ...] | list[Chain],
    deadline: Deadline | None = None,
    shares: tuple[float, ...] | None = None,
    npu: Npu = PLAIN,
) -> Tenants:
    """Return networks that all have the same deadline."""
    return Tenants(tuple(chains), npu, (deadline,) * len(chains), shares)
