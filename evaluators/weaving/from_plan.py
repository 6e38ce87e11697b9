"""Chain of a network from Archloom's own costs: a row for each layer or fused group of a plan.

Cycles are those of the chip with DRAM infinitely fast, for the fetch engine has DRAM's time. All
DRAM words of the plan's cost are in the chain: weights in ``weight_bytes``, all else in
``map_bytes``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np

from archloom.evaluators.fusion import (
    GroupCost,
    NetworkCost,
    Work,
    decoupled_rounds,
)
from archloom.evaluators.fusion.buffer import group_name, kept_words, streams
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

from ..arrays import Ints
from .chain import Chain

#: rows that one layer or group takes at most; of more tiles, neighbours make one row together
MOST_ROWS: Final = 64


@dataclass(frozen=True)
class _Rows:
    """Rows of one group: columns of a chain, and a name for each."""

    work: Work
    footprint: int
    names: tuple[str, ...]


class SteadyWeightsError(ValueError):
    """A plan that keeps weights on the chip, or runs in sub-batches, cannot share the chip."""


def plan_chain(cost: NetworkCost, most_rows: int = MOST_ROWS) -> Chain:
    """Return the chain of one pass of a network under an evaluated plan.

    A layer by itself is a row; if its mapping reads its weights t times, t equal rows. The first
    tile of a fused group is a row for each of its layers, for each waits for its own weights alone;
    every other tile is a row with the weights that come again for it. So layers of other networks
    can run between two of them. Between its rows the group's maps stay on chip, and so do its
    resident weights, which later tiles need: in the map buffer, where the plan has them.

    Args:
        cost: of the plan.
        most_rows: of a layer by itself, and of a group's other tiles; beyond, neighbours become one
            row that holds the weights of all of them at once, which takes more room than a chip
            needs.

    Raises:
        SteadyWeightsError: the plan keeps weights on the chip for ever, where those of other
            networks need the room, or its layers run once for each of several sub-batches.
        ValueError: a network that has nothing to weave.
    """
    network = cost.network
    if any(group.group.steady for group in cost.groups):
        raise SteadyWeightsError(
            f"chain {network.name}: its plan keeps weights on chip permanently; "
            "networks that share the buffer need a plan that does not"
        )
    if cost.plan.sub_batches > 1:
        raise SteadyWeightsError(
            f"chain {network.name}: its plan runs its layers {cost.plan.sub_batches} times, once "
            "for each sub-batch; networks that share the chip need a plan that runs them once"
        )
    rows = [_rows(cost, group, most_rows) for group in cost.groups]
    pinned = [_held_bytes(cost, group) for group in cost.groups]
    after = [*pinned[1:], 0]
    live = [[r.footprint] * (len(r.names) - 1) + [a] for r, a in zip(rows, after, strict=True)]
    return Chain(
        network.name,
        np.concatenate([r.work.weight_bytes for r in rows]),
        np.concatenate([r.work.cycles for r in rows]),
        np.concatenate([r.work.map_bytes for r in rows]),
        np.repeat([r.footprint for r in rows], [len(r.names) for r in rows]).astype(np.int64),
        np.concatenate(live).astype(np.int64),
        tuple(name for r in rows for name in r.names),
    )


def _rows(cost: NetworkCost, group: GroupCost, most: int) -> _Rows:
    network = cost.network
    members = [network.layers[i].name for i in group.group.layers]
    found = decoupled_rounds(network, cost.hardware, group)
    footprint = _footprint_words(cost, group)
    if streams(group.group):
        count = max(1, min(most, _times_read(cost, group, found.rounds)))
        even = Work(*(_even(int(column.sum()), count) for column in _columns(found.rounds)))
        return _Rows(even, _bytes(cost, footprint), tuple(_named(members[0], count)))
    rest = [column[1:] for column in _columns(found.rounds)]
    if not len(rest[0]):
        # no other tile needs them: the weight buffer holds what is resident
        footprint -= int(found.resident_bytes * 8 // cost.hardware.word_bits)
        return _Rows(found.first, _bytes(cost, footprint), tuple(members))
    count = min(most, len(rest[0]))
    columns = zip(_columns(found.first), rest, strict=True)
    work = Work(*(np.concatenate([first, _folded(other, count)]) for first, other in columns))
    name = group_name(network, group.group.layers)
    part = "iteration" if group.group.nest else "tile"
    first = (f"{member}, first {part}" for member in members)
    others = _named(f"{name}, other {part}s", count)
    return _Rows(work, _bytes(cost, footprint), (*first, *others))


def _columns(work: Work) -> tuple[Ints, Ints, Ints]:
    return work.cycles, work.weight_bytes, work.map_bytes


def _times_read(cost: NetworkCost, group: GroupCost, work: Work) -> int:
    """How often DRAM reads the weights of a layer by itself; 0 if it has none."""
    words = cost.network.layers[group.layers[0].layer].weight_words
    bits = cost.hardware.bits(len(cost.hardware.levels) - 1, "weights")
    once = -(-words * bits // 8)
    return -(-int(work.weight_bytes.sum()) // once) if once else 0


def _even(total: int, count: int) -> Ints:
    """Cut a total into parts that are as even as can be."""
    parts: Ints = np.array([total * (i + 1) // count - total * i // count for i in range(count)])
    return parts


def _folded(figure: Ints, count: int) -> Ints:
    """Add up neighbours until so many are left."""
    cuts = [len(figure) * i // count for i in range(count)]
    folded: Ints = np.add.reduceat(figure, cuts)
    return folded


def _footprint_words(cost: NetworkCost, group: GroupCost) -> int:
    """Words of the outermost memory on the chip that a group and its plan take, in one instance.

    Of a layer by itself those are the tiles of maps that its mapping keeps there.
    """
    if not streams(group.group):
        return group.peak_words
    layer, run = cost.network.layers[group.layers[0].layer], group.layers[0].evaluations[0][1]
    tiles = 0
    if run.mapping is not None:
        tensors = (INPUTS, OUTPUTS, WEIGHTS) if layer.multiplies_maps else (INPUTS, OUTPUTS)
        tiles = sum(kept_words(run.mapping, layer, t, cost.hardware) for t in tensors)
    return group.residents.words + tiles


def _held_bytes(cost: NetworkCost, group: GroupCost) -> int:
    """Bytes of maps of earlier groups that lie in the buffer while a group runs."""
    return _bytes(cost, sum(cost.network.layers[i].output_words for i in group.residents.held))


def _bytes(cost: NetworkCost, words: int) -> int:
    """Bytes of the outermost memory on the chip, every copy with them (double buffering)."""
    level = cost.hardware.levels[-2]
    return ceil(words * cost.hardware.word_bits / 8 * level.multiple_buffering)


def _named(name: str, count: int) -> Iterator[str]:
    if count == 1:
        yield name
        return
    for i in range(count):
        yield f"{name} {i + 1}/{count}"
