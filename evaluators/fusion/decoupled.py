"""Rounds of a group with DRAM taken apart: cycles of the chip, and bytes that each round moves.

For whoever plans DRAM transfers himself, such as a schedule of several networks whose weights are
fetched long before they are used. Whatever a transfer makes the array wait for is left out here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final

import numpy as np

from archloom.evaluators.loopnest import LayerCost
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import INPUTS, OUTPUTS, TENSORS, WEIGHTS, Network

from ..arrays import Ints
from .buffer import resident_loads, streams, tiles_of
from .core_rounds import Grid, Rounds, RoundSizes, rounds_of
from .group_share import GroupCost
from .latency import no_work, round_cycles
from .nest import Unfolded, nest_activity
from .tile import layer_activity, weight_load
from .tiling import Tiles

_BYTE_BITS = 8

#: iterations of a nest that are told apart, unless one loop has more: far more than any schedule
#: has rows for a group
_MOST_ROUNDS: Final = 4096


@dataclass(frozen=True)
class Work:
    """Cycles of the chip, and bytes over its pins.

    Attributes:
        cycles: int64[n], with DRAM infinitely fast: arrays, vector lanes and the ports of on-chip
            memories, nothing else.
        weight_bytes: int64[n], weights read from DRAM. Resident ones come with the first round that
            needs them.
        map_bytes: int64[n], feature maps read from DRAM and written to it.
    """

    cycles: Ints
    weight_bytes: Ints
    map_bytes: Ints


@dataclass(frozen=True)
class DecoupledRounds:
    """What the R rounds of a group do over a whole pass, in running order.

    A round is a tile, or one tile for each core; a group that streams has one round. Of a nest it
    is an iteration, or all iterations of its inner loops where there are very many.

    Attributes:
        rounds: of each round.
        first: the first round once more, by layer of the group. Of a round that waits for the ports
            of a memory, layers share the cycles in proportion to those of their own.
        resident_bytes: weights that stay in the buffer for all rounds, a copy in each core.
    """

    rounds: Work
    first: Work
    resident_bytes: int


def decoupled_rounds(network: Network, hardware: Hardware, cost: GroupCost) -> DecoupledRounds:
    """Return the rounds of an evaluated group of ``network`` on ``hardware``."""
    if streams(cost.group):
        alone = _streamed(network, hardware, cost)
        return DecoupledRounds(alone, alone, 0)
    if cost.group.nest is not None:
        return _nested(network, hardware, cost)
    cores = fusion_cores(hardware)
    tiles = tiles_of(network, cost.group, hardware, cost.residents)
    assert isinstance(cores, Cores), "the group was evaluated there"
    assert isinstance(tiles, Tiles), "the group was evaluated there"
    rounds = rounds_of(tiles, cores.count)
    loads = resident_loads(network, cost.group)
    size = hardware.word_bits / _BYTE_BITS
    work = _Members(rounds, replace(cores, one=_instant(cores.one)), cost, loads)
    cycles, weights = work.cycles, np.tile(work.streamed.sum(axis=0), rounds.repeats)
    weights[: len(rounds.at)] += work.resident.sum(axis=0)
    maps = np.tile(rounds.moved(tiles.fetched + tiles.stored), rounds.repeats)
    first = Work(
        _shares(work.busy[:, 0], int(cycles[0])),
        _in_turn((work.streamed + work.resident)[:, 0] * size),
        _in_turn(_first_maps(rounds) * size),
    )
    return DecoupledRounds(
        Work(cycles, _whole(weights * size), _whole(maps * size)),
        first,
        ceil(sum(loads.values()) * size),
    )


def _instant(hardware: Hardware) -> Hardware:
    """The hardware with an infinitely fast DRAM."""
    dram = replace(hardware.levels[-1], bandwidth_words=inf)
    return replace(hardware, levels=(*hardware.levels[:-1], dram))


def _streamed(network: Network, hardware: Hardware, cost: GroupCost) -> Work:
    share = cost.layers[0]
    alone = share.evaluations[0][1]
    moved = share.words[-1]
    # a result that stays in the buffer and goes to DRAM too passes the buffer's ports once more
    stored = int((moved - alone.words[-1]).sum())
    ports = 0.0
    if stored:
        words = int(alone.words[-2].sum()) + stored
        ports = words / hardware.levels[-2].bandwidth_words
    bits = [hardware.bits(len(hardware.levels) - 1, tensor) for tensor in TENSORS]
    size = [int(n) * b for n, b in zip(moved, bits, strict=True)]
    # the second map of a product stands where other layers have weights
    of_maps = network.layers[share.layer].multiplies_maps
    weights = 0 if of_maps else size[WEIGHTS]
    maps = size[INPUTS] + size[OUTPUTS] + (size[WEIGHTS] if of_maps else 0)
    return Work(
        np.array([max(alone.chip_cycles, ceil(ports))], np.int64),
        np.array([-(-weights // _BYTE_BITS)], np.int64),
        np.array([-(-maps // _BYTE_BITS)], np.int64),
    )


def _nested(network: Network, hardware: Hardware, cost: GroupCost) -> DecoupledRounds:
    """Rounds of a group in a nest."""
    tiles = [
        [replace(tile, dram_cycles=0) for _, tile in share.evaluations] for share in cost.layers
    ]
    found = nest_activity(network, _instant(hardware), cost, tiles)
    rounds, size = Unfolded(found.walk, _MOST_ROUNDS), hardware.word_bits / _BYTE_BITS
    # the second map of a product stands where other layers have weights
    second = [layer.multiplies_maps for layer in found.walk.group.layers]
    learned = found.dram[:, WEIGHTS].copy()
    learned[second] = 0
    weights, maps = rounds.sums(learned), rounds.sums(found.dram.sum(axis=1) - learned)
    cycles = rounds.sums(found.cycles)
    cells = rounds.cells(0, rounds.count)
    # of each layer in the first round, its parts together
    of = np.equal.outer(cost.group.layers, found.walk.group.positions)
    busy, *first_words = (of @ part[:, 0] for part in (rounds.sums(found.busy), weights, maps))
    first = Work(_shares(busy, int(cycles[0])), *(_in_turn(words * size) for words in first_words))
    moved = (_whole(words.sum(axis=0)[cells] * size) for words in (weights, maps))
    positions = found.walk.group.positions
    steady = {m for m, i in enumerate(positions) if i in cost.group.steady}
    resident = sum(
        operand.words
        for operand, depth in zip(found.walk.group.operands, found.walk.nest.depth, strict=True)
        if operand.kind == "weights" and depth == 0 and operand.maker not in steady
    )
    return DecoupledRounds(Work(_whole(cycles[cells]), *moved), first, ceil(resident * size))


class _Members:
    """What the m layers of a group do in the R rounds of a repeat, and all rounds' cycles.

    Attributes:
        busy: float64[m, R], cycles of each layer.
        streamed, resident: float64[m, R], words of weights; resident ones in the first repeat.
        cycles: int64[R x repeats], of rounds.
    """

    def __init__(
        self, rounds: Rounds, cores: Cores, cost: GroupCost, loads: dict[int, int]
    ) -> None:
        work, count = no_work(rounds), (len(cost.layers), len(rounds.at))
        self.busy, self.streamed, self.resident = (np.zeros(count) for _ in range(3))
        for m, share in enumerate(cost.layers):
            sizes, costs = rounds.sizes(m), [one for _, one in share.evaluations]
            instant = [replace(one, dram_cycles=0) for one in costs]
            activity = layer_activity(sizes, instant, rounds.alike, cores.shared_weights)
            load = weight_load(loads.get(share.layer, 0), rounds, cores)
            work.add(activity, load, cores.one)
            self.busy[m] = activity.busy
            copies = _copies(sizes, rounds.alike, cores.shared_weights)
            self.streamed[m] = _weights(sizes, costs) * copies
            if load.words:
                # as work.add has it: with the first round in which the layer runs
                self.resident[m, int(np.argmax(activity.chip_cycles > 0))] = load.words * load.reads
        time = round_cycles(rounds, cores.one, True, work)
        middle = [time[len(time) // 2]] * max(0, rounds.repeats - len(time))
        self.cycles = _whole(np.concatenate([time[0], *middle, *time[1:]]))


def _first_maps(rounds: Rounds) -> Grid:
    """float64[m], words of maps in the first round, as fusion model section 4 charges them."""
    tiles, shape = rounds.tiles, rounds.tiles.shape
    words = np.zeros(shape.members)
    for t in shape.arriving:
        reader = min(edge.reader for edge in shape.edges if edge.source == t)
        words[reader] += rounds.moved(tiles.made(t))[0]
    for m in shape.departing:
        words[m] += rounds.moved(tiles.written(m))[0]
    return words


def _weights(sizes: RoundSizes, costs: Sequence[LayerCost]) -> Grid:
    """float64[R], words of weights that one core at work reads in each round."""
    words = np.zeros(len(sizes.rows))
    words[sizes.made] = [int(one.words[-1, WEIGHTS]) for one in costs]
    found: Grid = words[sizes.at]
    return found


def _copies(sizes: RoundSizes, alike: int, shared: bool) -> Grid:
    """float64[R], how often DRAM reads weights that stream: once, or for each core at work."""
    if shared:
        return np.ones(len(sizes.at))
    copies: Grid = sizes.busy.sum(axis=1) * float(alike)
    return copies


def _shares(busy: Grid, cycles: int) -> Ints:
    """Cut cycles into whole shares in proportion to those that layers are busy."""
    parts = busy if busy.sum() else np.ones_like(busy)
    ends = np.rint(np.append(0, np.cumsum(parts)) / parts.sum() * cycles)
    shares: Ints = np.diff(ends).astype(np.int64)
    return shares


def _in_turn(amounts: Grid) -> Ints:
    """Round amounts one after another, so that they add up to the rounded sum."""
    rounded: Ints = np.diff(np.ceil(np.append(0, np.cumsum(amounts)))).astype(np.int64)
    return rounded


def _whole(figures: Grid) -> Ints:
    whole: Ints = np.ceil(figures).astype(np.int64)
    return whole
