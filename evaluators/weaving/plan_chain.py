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
    DecoupledRounds,
    GroupCost,
    NetworkCost,
    decoupled_rounds,
    kept_words,
)
from archloom.evaluators.fusion.buffer import group_name, streams
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS

from ..arrays import Ints
from .chain import Chain

#: rows that one layer or group takes at most; of more tiles, neighbours make one row together
MOST_ROWS: Final = 64


@dataclass(frozen=True)
class _Rows:
    """Rows of one group: columns of a chain, and a name for each."""

    weights: Ints
    cycles: Ints
    maps: Ints
    footprint: int
    names: tuple[str, ...]


def plan_chain(cost: NetworkCost, most_rows: int = MOST_ROWS) -> Chain:
    """Return the chain of one pass of a network under an evaluated plan.

    A group whose weights come from DRAM once is one row: all its weights are held until it ends.
    One whose weights come again with each tile is a row for each tile, so that layers of other
    networks can run between two of them; its maps stay meanwhile, and so do its resident weights,
    in the map buffer. A layer whose mapping reads its weights t times is t equal rows.

    Args:
        cost: of the plan.
        most_rows: of a group; beyond, neighbouring tiles become one row that holds the weights of
            all of them at once, which takes more room than a chip needs.

    Raises:
        ValueError: the plan keeps weights on the chip for ever (steady ones), where those of other
            networks need the room; or a network that has nothing to weave.
    """
    network = cost.network
    if any(group.group.steady for group in cost.groups):
        raise ValueError(
            f"chain {network.name}: its plan keeps weights on the chip for ever; where several "
            "networks share the buffer choose a plan that does not"
        )
    rows = [_rows(cost, group, most_rows) for group in cost.groups]
    pinned = [_held_bytes(cost, group) for group in cost.groups]
    after = [*pinned[1:], 0]
    live = [[r.footprint] * (len(r.names) - 1) + [a] for r, a in zip(rows, after, strict=True)]
    return Chain(
        network.name,
        np.concatenate([r.weights for r in rows]),
        np.concatenate([r.cycles for r in rows]),
        np.concatenate([r.maps for r in rows]),
        np.repeat([r.footprint for r in rows], [len(r.names) for r in rows]).astype(np.int64),
        np.concatenate(live).astype(np.int64),
        tuple(name for r in rows for name in r.names),
    )


def _rows(cost: NetworkCost, group: GroupCost, most: int) -> _Rows:
    network, name = cost.network, group_name(cost.network, group.group.layers)
    if len(group.group.layers) == 1:
        name = network.layers[group.group.layers[0]].name
    rounds = decoupled_rounds(network, cost.hardware, group)
    footprint = _footprint_words(cost, group)
    if streams(group.group):
        count = max(1, min(most, _times_read(cost, group, rounds)))
        columns = [_even(figure, count) for figure in _sums(rounds)]
    else:
        again = len(rounds.cycles) > 1 and bool(rounds.weight_bytes[1:].any())
        count = min(most, len(rounds.cycles)) if again else 1
        columns = [_folded(figure, count) for figure in _columns(rounds)]
        if not again:
            # the weight buffer holds them
            footprint -= int(rounds.resident_bytes * 8 // cost.hardware.word_bits)
    return _Rows(*columns, _bytes(cost, footprint), tuple(_named(name, count)))


def _columns(rounds: DecoupledRounds) -> tuple[Ints, Ints, Ints]:
    return rounds.weight_bytes, rounds.cycles, rounds.map_bytes


def _sums(rounds: DecoupledRounds) -> list[int]:
    return [int(figure.sum()) for figure in _columns(rounds)]


def _times_read(cost: NetworkCost, group: GroupCost, rounds: DecoupledRounds) -> int:
    """How often DRAM reads the weights of a layer by itself; 0 if it has none."""
    words = cost.network.layers[group.layers[0].layer].weight_words
    bits = cost.hardware.bits(len(cost.hardware.levels) - 1, "weights")
    once = -(-words * bits // 8)
    return -(-int(rounds.weight_bytes.sum()) // once) if once else 0


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
