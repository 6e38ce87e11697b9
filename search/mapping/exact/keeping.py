"""Ways to keep tensors, and what serving MACs and filling levels costs at least in each.

Most of it depends on the design and on the tensors that live in its buffer, whatever the loops are:
a trial has a hundred problems and a handful of these.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.loopnest import COLUMNS, ROWS, KernelInputs
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, G, K, N, P, Q

from .bounds import Serving
from .spatial import distances, keeps_of
from .subproblem import UNPADDED, Ports, ports_of

#: kernel inputs that all of this depends on
_READ: Final = (
    *("allowed", "optional", "top", "fanout", "bandwidth", "width", "cluster", "instances"),
    *("read_pj", "fill_pj", "update_pj", "hop_pj", "router_pj", "address_pj", "served"),
)

#: designs that are remembered, by which tensors live in the buffer; with five levels that all may
#: be left out one takes a megabyte, with three some kilobytes
_REMEMBERED: Final = 32


@dataclass(frozen=True)
class Keeping:
    """Ways to keep tensors on a design; arrays are shared by all its problems, and never changed.

    Attributes:
        keeps: uint8[B, L, 3].
        level: the outermost one that unrolls anything.
        kinds: int64[B], which way to keep tensors from that level on each of them is.
        kept: uint8[b, L, 3], one of each kind.
        ports: all that have a limit.
        near: float64[L, n], hops to each child of a mesh.
        hops: whether words take any.
        asked_pj: float64[B, 3], energy of a MAC that asks for a word of its own.
        read_pj, update_pj: float64[B], of a word of results that is read, or updated.
        entering: bool[B, L, 3], keepers.
        entering_pj: float64[B, L, 3], what a word costs that enters one, and is sent for that.
    """

    keeps: Flags
    level: int
    kinds: Ints
    kept: Flags
    ports: Ports
    near: Floats
    hops: bool
    asked_pj: Floats
    read_pj: Floats
    update_pj: Floats
    entering: Flags
    entering_pj: Floats


@dataclass(frozen=True)
class _Design:
    """Kernel inputs of a problem, equal to those of all with the same :data:`_READ`."""

    read: tuple[bytes, ...]
    setup: KernelInputs = field(compare=False)


def keeping_of(setup: KernelInputs) -> Keeping:
    """Return the ways to keep tensors on the design of a problem."""
    return _keeping_of(_Design(tuple(getattr(setup, name).tobytes() for name in _READ), setup))


@lru_cache(maxsize=_REMEMBERED)
def _keeping_of(design: _Design) -> Keeping:
    setup = design.setup
    keeps = keeps_of(setup)
    meshes = np.flatnonzero(setup.fanout.prod(axis=1) > 1)
    level = int(meshes[-1]) if len(meshes) else 0
    outer = keeps[:, level:].reshape(len(keeps), -1)
    # a bit for each flag: sorting numbers takes a tenth of the time that sorting rows does
    bits = outer @ (1 << np.arange(outer.shape[1])[::-1])
    _, first, kinds = np.unique(bits, return_index=True, return_inverse=True)
    return Keeping(
        keeps,
        level,
        np.ascontiguousarray(kinds),
        np.ascontiguousarray(keeps[first]),
        ports_of(setup),
        distances(setup),
        bool((setup.hop_pj > 0).any() or (setup.router_pj > 0).any()),
        *_serving_pj(setup, keeps),
        *_filling_pj(setup, keeps),
    )


def _serving_pj(setup: KernelInputs, keeps: Flags) -> tuple[Floats, Floats, Floats]:
    """Return what a MAC that asks for words, and words of results that are read or updated, cost
    the innermost level that holds each tensor.
    """
    first = np.argmax(keeps, axis=1)
    # of instances that are accessed together one is paid for
    together = (setup.instances // setup.cluster) / setup.instances
    share = np.minimum(1.0, together)[first]
    width, address = setup.width[first, range(3)], setup.address_pj[first]
    reads = share * (setup.served * setup.read_pj[first, range(3)] / width)
    updates = share * (setup.served * setup.update_pj[first, range(3)] / width + address)
    return reads + share * address, reads[:, OUTPUTS], updates[:, OUTPUTS]


def _filling_pj(setup: KernelInputs, keeps: Flags) -> tuple[Flags, Floats]:
    """Return which levels are keepers, and what a word costs that enters one, whatever is unrolled.

    Every word of a tensor enters a level that holds it at least once, in one of its instances, and
    is sent by one of those outside. Of instances that are accessed together one is paid for.
    """
    paid = ((setup.instances // setup.cluster) / setup.instances)[:, None]
    addresses = setup.address_pj[:, None]
    filled = paid * (setup.fill_pj / setup.width + addresses)
    sent = paid * (setup.read_pj / setup.width + addresses)
    # results are made inside, and the first of each is neither fetched nor read
    filled[:, OUTPUTS] = 0.0
    update_pj = setup.update_pj[:, OUTPUTS] / setup.width[:, OUTPUTS]
    sent[:, OUTPUTS] = (paid * (update_pj[:, None] + addresses))[:, 0]
    found, outside = np.zeros(keeps.shape), np.zeros((len(keeps), 3))
    entering = np.zeros(keeps.shape, np.uint8)
    for level in range(keeps.shape[1] - 1, -1, -1):
        held = (keeps[:, level] > 0) & (level <= setup.top)
        entering[:, level] = held & (level < setup.top)
        found[:, level] = filled[level] + outside
        outside = np.where(held, sent[level], outside)
    return entering, found


def serving_of(setup: KernelInputs, keeping: Keeping) -> Serving:
    """Return what serving the MACs of a problem costs at least, in each way to keep tensors."""
    bounds = setup.bounds.astype(float).tolist()
    macs, results = prod(bounds), prod(bounds[d] for d in (N, G, K, P, Q))
    prices = np.empty((len(keeping.keeps), 4))
    prices[:, 0] = macs * keeping.asked_pj[:, WEIGHTS]
    prices[:, 1] = macs * keeping.asked_pj[:, INPUTS]
    prices[:, 2], prices[:, 3] = keeping.read_pj, keeping.update_pj
    return Serving(prices, macs, results, macs * setup.working * setup.mac_pj)


def least_fills_pj(setup: KernelInputs, keeping: Keeping, touched: Ints) -> Floats:
    """Return what it costs at least to fill each level of a problem, and to read and update the
    next one outside for that, whatever is unrolled: float64[B, L].
    """
    n, g, k, c, p, q, r, s = setup.bounds.astype(float).tolist()
    # a sum of two sets of numbers has at least as many as both together, less one
    rows_and_columns = (p + r - 1) * (q + s - 1)
    words = np.empty((len(setup.fanout), 3))
    words[:] = g * k * c * r * s, n * g * c * rows_and_columns, n * g * k * p * q
    if touched[UNPADDED]:
        words[-2, INPUTS] = n * g * c * touched[ROWS] * touched[COLUMNS]
    found: Floats = (keeping.entering * words * keeping.entering_pj).sum(axis=2)
    return found
