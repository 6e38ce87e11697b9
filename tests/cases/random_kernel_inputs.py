"""Random setups of the kernel with every feature, and random candidates for them."""

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators.loopnest.kernel_inputs import (
    EXPOSED,
    NO_FILL,
    OVERLAPPED,
    KernelInputs,
    unlimited,
)

Int = NDArray[np.int64]
Flags = NDArray[np.uint8]
PRIMES = (2, 2, 2, 2, 3, 3, 5, 7)


def random_setup(rng: np.random.Generator, largest: int = 4000) -> KernelInputs:
    """Return a setup of 1 to 6 levels; about a third of its limits bind now and then."""
    levels = int(rng.integers(1, 7))
    bounds = _bounds(rng, largest)
    base = unlimited(bounds, _window(rng, bounds), levels)
    return base._replace(
        **_meshes(rng, levels), **_storage(rng, levels, bounds), **_prices(rng, levels)
    )


def _bounds(rng: np.random.Generator, largest: int) -> Int:
    bounds = np.ones(8, np.int64)
    for p in rng.choice(PRIMES, rng.integers(1, 12)):
        if bounds.prod() * p <= largest:
            bounds[rng.integers(0, 8)] *= p
    return bounds


def _window(rng: np.random.Generator, bounds: Int) -> Int:
    window = np.ones((2, 4), np.int64)
    window[:, :2] = rng.integers(1, 4, (2, 2))
    for axis in (0, 1):
        stride, dilation = window[axis, :2]
        reach = (bounds[6 + axis] - 1) * dilation + 1
        pad = rng.integers(0, reach) if rng.random() < 0.5 else 0
        span = (bounds[4 + axis] - 1) * stride + reach
        window[axis, 2:] = pad, max(1, span - pad - rng.integers(-2, pad + 1))
    return window


def _meshes(rng: np.random.Generator, levels: int) -> dict[str, object]:
    fanout = rng.choice([1, 1, 2, 6, 12, 16], (levels, 2))
    if rng.random() < 0.7:
        fanout[-1] = 1
    inside = np.cumprod(fanout.prod(axis=1)[::-1])[::-1]
    cluster = rng.choice([1, 1, 2, 4], levels)
    instances = np.append(inside[1:], 1) * rng.integers(1, 3, levels)
    return {
        "fanout": fanout,
        "spatial": rng.integers(0, 4, (levels, 2, 8)).clip(0, 1).astype(np.uint8),
        "multicast": rng.integers(0, 4, (levels, 3)).clip(0, 1).astype(np.uint8),
        "cluster": cluster,
        "instances": np.maximum(instances, cluster),
        "array": rng.integers(1, 5, 3).clip(1, [9, 9, levels]),
        "fill_drain": int(rng.choice([NO_FILL, NO_FILL, OVERLAPPED, EXPOSED])),
    }


def _storage(rng: np.random.Generator, levels: int, bounds: Int) -> dict[str, object]:
    allowed = rng.integers(0, 4, (levels, 3)).clip(0, 1).astype(np.uint8)
    allowed[-1] = 1
    optional = allowed * rng.integers(0, 2, (levels, 3)).astype(np.uint8)
    optional[-1] = 0
    top = np.full(3, levels - 1)
    buffer = levels - 2
    if levels > 1 and rng.random() < 0.3:
        staged = rng.integers(0, 2, 3) > 0
        top[staged], allowed[buffer, staged], optional[buffer, staged] = buffer, 1, 0
    limit = rng.random((levels, 4)) < 0.12
    limit[-1] = False
    words = np.exp(rng.uniform(0, np.log(bounds.prod() + 2.0), (levels, 4))).astype(np.int64)
    words[~limit] = -1
    return {
        "allowed": allowed,
        "optional": optional,
        "top": top,
        "staged": (top < levels - 1).astype(np.uint8),
        "shared": words[:, 3].copy(),
        "capacity": words[:, :3].copy(),
        "unit": rng.choice([1, 1, 2, 3], (levels, 3)),
        "width": rng.choice([1, 1, 2, 3, 4, 7], (levels, 3)),
    }


def _prices(rng: np.random.Generator, levels: int) -> dict[str, object]:
    ports = np.exp(rng.uniform(-3, 3, (levels, 3)))
    ports[rng.random((levels, 3)) < 0.6] = np.inf
    zeros = rng.random() < 0.4
    return {
        "read_pj": rng.uniform(0, 9, (levels, 3)),
        "fill_pj": rng.uniform(0, 9, (levels, 3)),
        "update_pj": rng.uniform(0, 9, (levels, 3)),
        "bandwidth": ports,
        "served": rng.uniform(0.1, 1, 3) if zeros else np.ones(3),
        "working": float(rng.uniform(0.1, 1)) if zeros else 1.0,
        "busy": float(rng.uniform(0.1, 1)) if zeros else 1.0,
        "mac_pj": float(rng.uniform(0, 2)),
    }


def random_candidates(
    rng: np.random.Generator, setup: KernelInputs, count: int
) -> tuple[Int, Flags]:
    """Return ``loops[B, L, 4, 8]`` and ``keep[B, L, 3]``; prime factors anywhere but rarely closed.

    One candidate in eight ignores which dimensions a mesh unrolls, so that limits are tested.
    """
    levels = len(setup.fanout)
    loops = np.ones((count, levels, 4, 8), np.int64)
    loops[:, :, 3] = rng.permuted(np.tile(np.arange(8), (count, levels, 1)), axis=2)
    careless = rng.random(count) < 0.125
    for d, bound in enumerate(setup.bounds):
        slots = np.ones((levels, 3), bool)
        slots[:, 1:] = (setup.fanout > 1) & (setup.spatial[:, :, d] > 0)
        for p in _primes(int(bound)):
            every, fitting = np.arange(levels * 3), np.flatnonzero(slots)
            slot = np.where(careless, rng.choice(every, count), rng.choice(fitting, count))
            loops[np.arange(count), slot // 3, slot % 3, d] *= p
    keep = np.where(setup.optional, rng.integers(0, 2, (count, levels, 3)), setup.allowed)
    return loops, keep.astype(np.uint8, order="C")


def _primes(value: int) -> list[int]:
    found, p = [], 2
    while value > 1:
        while value % p == 0:
            found.append(p)
            value //= p
        p += 1
    return found
