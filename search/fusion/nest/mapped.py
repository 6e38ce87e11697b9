"""Cost of many nests with the same loops and tiles at once, with the mappings of their tiles.

Which tiles a member runs on follows from loops and tiles. What a tile costs depends besides on what
streams to the member and how much of the buffer is left for it, which is the same for most nests.
So few tiles are mapped, and what is left is to add up and to wait, as in ``fits.py``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import HALF_GRAIN_PJ
from archloom.evaluators.fusion import ProblemMapper
from archloom.evaluators.fusion.nest import (
    NestGroup,
    NestWalk,
    alone,
    overlapped,
    tile_cost,
    tile_kinds,
)
from archloom.evaluators.loopnest import LayerCost
from archloom.space import Infeasible
from archloom.space.fusion import STREAMED, LoopNest

from .facts import NestFacts
from .fits import StaysOfCell

#: tiles that are mapped for a group, at the most (ours): small groups have some hundred
_MOST_TILES: Final = 2048


class _Work(NamedTuple):
    """What a member does in nests in which the same streams to it.

    Attributes:
        energy_pj: over all its tiles.
        chip, dram: float64[n], cycles in each iteration, without and of DRAM.
        ports: int64[n], words through the ports of the buffer.
    """

    energy_pj: float
    chip: Floats
    dram: Floats
    ports: Ints


class MappedNests:
    """Nests around a group, with mappings.

    Args:
        facts: of the group, on a chip with one buffer.
        mapper: finds the mappings of tiles.
    """

    def __init__(self, facts: NestFacts, mapper: ProblemMapper) -> None:
        self._facts, self._mapper = facts, mapper
        self._tiles: dict[object, LayerCost | Infeasible] = {}

    def figures(self, nests: Sequence[LoopNest]) -> Floats:
        """Return float64[2, n], what nests cost at the least: energy with leakage, and cycles.

        It is what they cost, but for what rounding and rescaled partial sums add; 0 where more
        tiles would have to be mapped than is worth while, and infinite for what cannot run.
        """
        found = np.zeros((2, len(nests)))
        alike: dict[object, list[int]] = {}
        for n, nest in enumerate(nests):
            group = self._group(nest)
            passed = tuple(nest.depth[t] for t in group.made if group.operands[t].readers)
            alike.setdefault((nest.loops, passed), []).append(n)
        for some in alike.values():
            if len(self._tiles) > _MOST_TILES:
                break
            found[:, some] = self._of_cell([nests[n] for n in some])
        return found

    def _group(self, nest: LoopNest) -> NestGroup:
        return self._facts.around(tuple(loop.rank for loop in nest.loops))

    def _of_cell(self, nests: Sequence[LoopNest]) -> Floats:
        """As :meth:`figures`, of nests with the same loops and depths of what members pass on."""
        depth = np.array([nest.depth for nest in nests])
        stays, options = list[list[int]](), np.empty_like(depth)
        for t, column in enumerate(depth.T):
            some, options[:, t] = np.unique(column, return_inverse=True)
            stays.append(some.tolist())
        group = self._group(nests[0])
        cell = _MappedCell(self._facts, group, nests[0].loops, stays, _user_of(group))
        return cell.figures(options, nests, self._cost)

    def _cost(
        self, walk: NestWalk, m: int, left: int | None
    ) -> Iterable[tuple[Ints, int, LayerCost | Infeasible]]:
        """Yield the iterations of a member's tiles of each kind, how many they stand for, and what
        one costs."""
        group, depth = walk.group, walk.nest.depth
        used = (group.weights[m], group.maps[m], (group.made[m],))
        streams = tuple(tuple(depth[t] == STREAMED for t in some) for some in used)
        hardware = self._facts.hardware
        for kind in tile_kinds(alone(walk, hardware), m):
            key = (m, tuple(kind.tile.items()), kind.adds, streams, left)
            if key not in self._tiles:
                self._tiles[key] = tile_cost(walk, m, kind, hardware, left, self._mapper)
            yield kind.at, kind.times, self._tiles[key]


_Costs = Callable[[NestWalk, int, int | None], Iterable[tuple[Ints, int, LayerCost | Infeasible]]]


def _user_of(group: NestGroup) -> Callable[[int], int]:
    def user(t: int) -> int:
        operand = group.operands[t]
        return operand.maker if operand.kind == "made" else operand.readers[0]

    return user


class _MappedCell(StaysOfCell):
    """Nests with the same loops, tiles and depths of what members pass on."""

    def figures(self, options: Ints, nests: Sequence[LoopNest], costs: _Costs) -> Floats:
        """Return float64[2, n], energy with leakage and cycles of ``nests``, whose operands stay as
        ``options`` say."""
        sums = self.summed(options)
        able, moves, left = self.fit(sums)
        energy = self.moved_pj(options)
        size = self._runs.shape[1]
        body, dram = np.zeros((2, len(options), size))
        ports = sums.fetched + sums.stored
        for m in self._members:
            used = [*self._group.weights[m], *self._group.maps[m], self._group.made[m]]
            keys = np.concatenate([left[:, m : m + 1], options[:, used]], axis=1)
            _, first, of = np.unique(keys, axis=0, return_index=True, return_inverse=True)
            works = [
                self._work(m, nests[n], int(left[n, m]) or None, costs) for n in first.tolist()
            ]
            at = of.ravel()
            energy += np.array([work.energy_pj for work in works])[at]
            streamed = np.stack([work.dram for work in works])[at]
            body += np.maximum(np.stack([work.chip for work in works])[at], streamed)
            dram += streamed
            ports += np.stack([work.ports for work in works])[at]
        time = overlapped(self._facts.hardware, moves, body, dram, ports)
        cycles = np.where(able, np.ceil(time @ self._walk.times.ravel()), np.inf)
        # the energy of what cannot run is infinite
        leaked = self._facts.leakage_pj * np.where(able, cycles, 0.0)
        return np.stack([energy + leaked, cycles])

    def _work(self, m: int, nest: LoopNest, left: int | None, costs: _Costs) -> _Work:
        walk, size = NestWalk(self._group, nest), self._runs.shape[1]
        chip, dram = np.zeros((2, size))
        ports, energy = np.zeros(size, np.int64), 0.0
        for at, times, cost in costs(walk, m, left):
            if isinstance(cost, Infeasible):
                return _Work(np.inf, chip, dram, ports)
            chip[at], dram[at] = cost.chip_cycles, cost.dram_cycles
            ports[at] = int(cost.words[-2].sum())
            energy += times * cost.dynamic_pj
        return _Work(energy, chip, dram, ports)

    def moved_pj(self, options: Ints) -> Floats:
        """Return float64[n], least energy of what moves between DRAM and buffer for iterations."""
        times, operands = self._walk.times.ravel(), self._group.operands
        # each operand's words are rounded at three places, and the work of each member at one
        places = 3 * len(operands) + len(self._members)
        found = np.full(len(options), -places * HALF_GRAIN_PJ)
        for operand, part, chosen in zip(operands, self._parts, options.T, strict=True):
            comes, leaves = part.fetched @ times, part.stored @ times
            price = self._facts.price_pj(operand)
            found += (comes * price + leaves * self._facts.store_pj)[chosen]
        return found
