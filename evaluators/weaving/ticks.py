"""Chains in whole ticks: one tick is the time in which one byte is fetched."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from archloom.space import InfeasibleError

from ..arrays import Ints
from .chain import Chain, Npu, unfit_layer

#: the most that all ticks and bytes of one run of every chain may add up to; sums of a few
#: thousand runs then stay below 2**62
MOST_TICKS = 2**50

#: parts that layers of all chains come in at the most; a schedule of more takes minutes
MOST_PARTS = 1_000_000


class TickError(ValueError):
    """Chains or requests that whole ticks cannot count, or would count for minutes."""


class Ticks(NamedTuple):
    """Layers of chains, one after another, as kernels read them.

    A layer with more weights than the buffer holds comes in equal parts. Times are in ticks of
    one fetched byte.

    Attributes:
        first: int64[k + 1], where the layers of each chain begin; the last is their number.
        fetch: int64[n], bytes of weights, none larger than the buffer.
        compute: int64[n], ticks of the array.
        maps: int64[n], bytes of feature maps over the pins.
        footprint: int64[n], bytes of maps on chip while it runs.
        live: int64[n], bytes of maps still to be read after it.
        layer: int64[n], which layer of its chain a part belongs to.
        buffer: bytes of weights that fit.
        map_buffer: bytes of feature maps that fit.
        maps_bounded: whether that is a limit. If not, the buffer is taken to grow with what runs.
    """

    first: Ints
    fetch: Ints
    compute: Ints
    maps: Ints
    footprint: Ints
    live: Ints
    layer: Ints
    buffer: int
    map_buffer: int
    maps_bounded: bool = False

    @property
    def chains(self) -> int:
        """How many chains there are."""
        return len(self.first) - 1


def ticked(chains: Sequence[Chain], npu: Npu, *, maps_bounded: bool = False) -> Ticks:
    """Return chains in ticks of an NPU.

    Cycles become ticks once, rounded up, so that all that follows is exact in integers. A layer of
    w bytes comes in p = ceil(w / buffer) parts, part i with w (i + 1) // p - w i // p of them; the
    same of its cycles and maps. Between two parts all maps of the layer live.

    Args:
        chains: at least one.
        npu: what they share.
        maps_bounded: whether the map buffer is a limit: maps of paused networks are then written
            out where they do not fit. Otherwise it is taken to grow with the networks and their
            batch, as Layerweaver's authors do ("Context Switch Overhead" in Section III-E).

    Raises:
        ValueError: no chains.
        TickError: ticks that add up to more than 2**50, or a buffer that cuts layers into more than
            :data:`MOST_PARTS`.
        InfeasibleError: a layer whose maps alone exceed a map buffer that is a limit.
    """
    if not chains:
        raise ValueError("there are no networks to schedule; name at least one")
    if maps_bounded:
        for chain in chains:
            if (why := unfit_layer(chain, npu)) is not None:
                raise InfeasibleError(why)
    count = sum(int(part_counts(chain, npu).sum()) for chain in chains)
    if count > MOST_PARTS:
        raise TickError(
            f"{', '.join(chain.name for chain in chains)} on NPU {npu.name}: a weight buffer of "
            f"{npu.weight_buffer_bytes} bytes cuts their layers into {count:,} parts, at most "
            f"{MOST_PARTS:,} can be scheduled; use a larger weight buffer"
        )
    ratio = Fraction(npu.dram_bytes_per_s) / npu.clock_hz
    parts = [_parts(chain, ratio, npu) for chain in chains]
    total = sum(sum(int(v) for v in p[row]) for p in parts for row in range(3))
    if total > MOST_TICKS:
        raise TickError(
            f"{', '.join(chain.name for chain in chains)} on NPU {npu.name}: bytes and cycles add "
            f"up to {total} ticks of one fetched byte; at most 2**50 can be scheduled exactly"
        )
    rows = [np.concatenate([p[row] for p in parts]) for row in range(6)]
    first = np.concatenate([[0], np.cumsum([len(p[0]) for p in parts])]).astype(np.int64)
    room = npu.weight_buffer_bytes, npu.map_buffer_bytes, maps_bounded
    return Ticks(first, rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], *room)


def repeated(work: Ticks, queries: Sequence[int]) -> Ticks:
    """Return chains of so many queries each, one behind the other; those of none are left out."""
    spans = zip(work.first[:-1].tolist(), work.first[1:].tolist(), queries, strict=True)
    wanted = [np.tile(np.arange(a, b, dtype=np.int64), n) for a, b, n in spans if n]
    rows = np.concatenate(wanted)
    first = np.concatenate([[0], np.cumsum([len(part) for part in wanted])]).astype(np.int64)
    return work._replace(
        first=first,
        fetch=work.fetch[rows],
        compute=work.compute[rows],
        maps=work.maps[rows],
        footprint=work.footprint[rows],
        live=work.live[rows],
        layer=work.layer[rows],
    )


def part_counts(chain: Chain, npu: Npu) -> Ints:
    """Return int64[n]: in how many parts each layer comes (:func:`ticked`)."""
    counts: Ints = np.maximum(1, -(-chain.weight_bytes // npu.weight_buffer_bytes))
    return counts


def _parts(chain: Chain, ratio: Fraction, npu: Npu) -> list[Ints]:
    """Return the rows of a chain, each a column of :class:`Ticks`, with its layers in parts."""
    whole, below = ratio.numerator, ratio.denominator
    # rounded up in whole numbers of any size
    compute = [-(-int(cycles) * whole // below) for cycles in chain.cycles]
    counts = part_counts(chain, npu)
    layer = np.repeat(np.arange(len(chain), dtype=np.int64), counts)
    if counts.max() == 1:
        split = [chain.weight_bytes, _exact(compute, chain), chain.map_bytes]
        return [*split, chain.footprint_bytes, chain.live_bytes, layer]
    rows: list[list[int]] = [[], [], []]
    amounts = (chain.weight_bytes.tolist(), compute, chain.map_bytes.tolist())
    for row, values in zip(rows, amounts, strict=True):
        for value, p in zip(values, counts.tolist(), strict=True):
            row += [value * (i + 1) // p - value * i // p for i in range(p)]
    last = np.append(layer[1:] != layer[:-1], True)
    live = np.where(last, chain.live_bytes[layer], chain.footprint_bytes[layer])
    split = [_exact(row, chain) for row in rows]
    return [*split, chain.footprint_bytes[layer], live, layer]


def _exact(values: list[int], chain: Chain) -> Ints:
    if max(values) > MOST_TICKS:
        raise TickError(
            f"chain {chain.name}: a layer takes {max(values)} ticks of one fetched byte; "
            "at most 2**50 can be scheduled exactly"
        )
    return np.array(values, np.int64)
