"""Closer bounds of nests: energy and cycles of their tiles together.

:mod:`.nest_prices` bounds nests by the least energy and the least cycles of each tile, which no
mapping need have at once. Here those nests whose bounds are lowest are bounded again with rows of
energy and cycles, of which each mapping is above one
(docs/explanation/bounds_proofs.md, lemma 20). Where nests with lower bounds are all
looked at, the least of what was found is a bound of every nest.
"""

from collections.abc import Iterator
from math import inf
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Flags, Floats
from archloom.evaluators.bounds import bounds_key, nests_of
from archloom.evaluators.fusion.nest import NestGroup
from archloom.evaluators.loopnest import Residency
from archloom.search.fusion.nest import LoopArrays, NestFacts
from archloom.search.fusion.nest.estimates import StayOptions
from archloom.space.workload import INPUTS, OUTPUTS

from ..step_bounds import staged_without_dram
from .nest_prices import LoopEnds, NestBuffer, lines_below, lower_lines

#: nests of a group that are looked at again, at the most (ours)
_MOST_LOOKS: Final = 400

#: each time those are looked at whose bounds are below so many times the least (ours)
_GROWTH: Final = 1.02

#: relative difference of figures that are equal
_EQUAL: Final = 1e-9

#: what :class:`StayOptions` have for each size of tiles
_OF_CELLS: Final = (
    "energy", "words", "held", "piece", "layer_cycles", "later_cycles", "base_pj",
)  # fmt: skip

#: weights of energy alone, and a buffer that costs no time
_ENERGY: Final = np.array([(1.0, 0.0)])
_ENERGY_ALONE: Final = {"rate": inf, "leakage_pj": 0.0}


class NestTable(NamedTuple):
    """Nests with the same loops, in one of the ways in which results stay, for all sizes of tiles.

    Attributes:
        facts, arrays: of the group.
        ranks: of its loops, outermost first.
        options: how long operands may stay, and what that takes.
        stays: bool[options], whether an operand lies in the buffer.
        ends: of its loops.
        buffer: where they stay.
    """

    facts: NestFacts
    arrays: LoopArrays
    ranks: tuple[int, ...]
    options: StayOptions
    stays: Flags
    ends: LoopEnds
    buffer: NestBuffer


class NestRows:
    """Energy and cycles of tiles together, known for all designs with the same mesh and prices."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes, bytes], Floats] = {}

    def of(
        self, facts: NestFacts, m: int, looped: tuple[int, ...], place: int, there: int | None
    ) -> Floats:
        """Return float64[n, 2], energy on the chip (pJ, without leakage) and cycles of which each
        mapping of a member's tile is above one row.

        Args:
            facts, m: the member.
            looped: ranks of it that have loops.
            place: of the tile in its costs.
            there: a tensor that lies in the buffer; None if that is not known of any.
        """
        ways = [way for way in facts.ways(m) if there is None or way[there]]
        return np.concatenate([self._of_way(facts, m, looped, place, way) for way in ways])

    def _of_way(
        self, facts: NestFacts, m: int, looped: tuple[int, ...], place: int, way: Residency
    ) -> Floats:
        design, prices = staged_without_dram(facts.hardware, way)
        bounds, windows = (part[place : place + 1] for part in facts.nests(m, looped, way))
        key = bounds.tobytes(), windows.tobytes(), bounds_key(design, prices)
        if key not in self._known:
            nests = nests_of(bounds, windows)
            self._known[key] = nests.every_corner(design._replace(strict=True), prices)
        return self._known[key]


def close_lines(tables: list[NestTable], weights: Floats, least: Floats, rows: NestRows) -> Floats:
    """Return float64[J], weighted energy and cycles that no nest is below.

    Args:
        tables: all nests.
        weights: float64[J, 2], of a pJ and a cycle.
        least: float64[J], what none is below by energy and cycles of tiles apart.
        rows: of tiles.
    """
    if not np.isfinite(least).all():
        return least
    seen, known = set[tuple[int, int]](), least
    upper: Floats = np.full(len(least), inf)
    most: Floats = least * (1 + _EQUAL)
    while True:
        for nest in _below(tables, weights, most):
            if nest in seen:
                continue
            if len(seen) == _MOST_LOOKS:
                # what was not looked at is above what was known before
                return _lesser(upper, known)
            seen.add(nest)
            upper = _lesser(upper, _least_of(tables[nest[0]], nest[1], rows, weights))
        known, done = _lesser(upper, most), upper <= most
        if done.all():
            return known
        most = np.where(done, most, _lesser(upper, most * _GROWTH))


def _lesser(a: Floats, b: Floats) -> Floats:
    lesser: Floats = np.minimum(a, b)
    return lesser


def _below(tables: list[NestTable], weights: Floats, most: Floats) -> Iterator[tuple[int, int]]:
    """Yield those nests whose bounds are below some figures, as table and size of tiles; those of
    the lowest bounds first."""
    found = list[tuple[float, int, int]]()
    for number, table in enumerate(tables):
        lines = lines_below(table.options, table.ends, table.buffer, weights, most)
        lowest = (lines / most[:, None]).min(axis=0)
        found += [(lowest[cell], number, cell) for cell in np.flatnonzero(lowest < inf).tolist()]
    yield from ((number, cell) for _, number, cell in sorted(found))


class _Tile(NamedTuple):
    """The tile of a member.

    Attributes:
        operand: the one that decides whether :attr:`there` or :attr:`rows` hold; -1 for none.
        rows: float64[n, 2], energy (pJ) and cycles of which each mapping is above one row.
        there: the same where the operand lies in the buffer.
        energy_pj: at the least, as tables count it.
        runs, later_runs: how often it runs, and of these how often it adds to sums.
        later_cycles: of such a run at the least, if the sums lie in the buffer.
    """

    operand: int
    rows: Floats
    there: Floats
    energy_pj: float
    runs: float
    later_runs: float
    later_cycles: float


def _tiles(table: NestTable, cell: int, rows: NestRows) -> list[_Tile]:
    """Return the tiles of members in one size of tiles of the loops."""
    arrays, sizes, _ = table.arrays.of(table.ranks)
    at = np.array(np.unravel_index(cell, sizes.counts))
    parts = sizes.sizes / sizes.tiles[np.arange(len(at)), at]
    group, found = table.facts.around(table.ranks), list[_Tile]()
    for m, own in enumerate(group.own):
        place = int(sizes.strides[m] @ at)
        energy, begin, add = sizes.costs[:, sizes.starts[m] + place].tolist()
        runs = float(table.options.layer_cycles[m, cell]) / begin if begin > 0 else 0.0
        # as estimates count them
        later = runs * (1.0 - 1.0 / float(parts[arrays.reduced[m].astype(np.bool_)].prod()))
        least = np.array([[energy, begin]])
        operand, tensor = _deciding(table.facts, group, m)
        some = there = least
        if arrays.macs[m] and runs > 0:
            which = (
                table.facts,
                m,
                tuple(rank for rank in sorted(table.ranks) if rank in own),
                place,
            )
            some = np.maximum(rows.of(*which, None), least)
            there = some if operand < 0 else np.maximum(rows.of(*which, tensor), least)
        found.append(_Tile(operand, some, there, energy, runs, later, add))
    return found


def _deciding(facts: NestFacts, group: NestGroup, m: int) -> tuple[int, int]:
    """Return an operand of a member that may lie in the buffer or not, and which tensor it is; -1
    for none. It is one alone: what two of them take besides is not known to add up."""
    ways = set(facts.ways(m))
    for tensor, operands in ((OUTPUTS, (group.made[m],)), (INPUTS, group.maps[m])):
        if len(operands) == 1 and len({way[tensor] for way in ways}) > 1:
            return operands[0], tensor
    return -1, -1


def _least_of(table: NestTable, cell: int, rows: NestRows, weights: Floats) -> Floats:
    """Return float64[J], weighted energy and cycles of nests with one size of tiles."""
    tiles = _tiles(table, cell, rows)
    columns = {
        name: np.ascontiguousarray(getattr(table.options, name)[..., cell : cell + 1])
        for name in _OF_CELLS
    }
    options = table.options._replace(**columns)
    besides = options.base_pj - sum(tile.runs * tile.energy_pj for tile in tiles)
    options = options._replace(base_pj=besides)
    found = np.full(len(weights), inf)
    ends = LoopEnds(*(np.ascontiguousarray(part[..., cell : cell + 1]) for part in table.ends))
    lower_lines(_apart(table, options, tiles), ends, table.buffer, weights, found)
    buffer = table.buffer._replace(**_ENERGY_ALONE)
    for j, together in enumerate(_together(table, options, tiles, weights)):
        line = np.full(1, inf)
        lower_lines(together, ends, buffer, _ENERGY, line)
        found[j] = max(found[j], line[0])
    return found


def _apart(table: NestTable, options: StayOptions, tiles: list[_Tile]) -> StayOptions:
    """Return options with the least energy and the least cycles of tiles."""
    least = np.array([tile.rows.min(axis=0) * tile.runs for tile in tiles])
    energy, later = options.energy.copy(), np.zeros(len(tiles))
    for m, tile in enumerate(tiles):
        more = tile.runs * (tile.there.min(axis=0) - tile.rows.min(axis=0))
        energy[_where(table, tile.operand)] += more[0]
        fewest = float(tile.rows[:, 1].min())
        if tile.operand == table.facts.around(table.ranks).made[m]:
            later[m], fewest = more[1], float(tile.there[:, 1].min())
        later[m] += tile.later_runs * max(tile.later_cycles - fewest, 0.0)
    return options._replace(
        base_pj=options.base_pj + least[:, 0].sum(),
        energy=energy,
        layer_cycles=np.ascontiguousarray(least[:, 1:]),
        later_cycles=later[:, None],
    )


def _together(
    table: NestTable, options: StayOptions, tiles: list[_Tile], weights: Floats
) -> Iterator[StayOptions]:
    """Yield options that count weighted energy and cycles of layers as energy, and no cycles, for
    each pair of weights: a nest takes no fewer cycles than its layers one after another."""
    prices = weights + np.outer(weights[:, 0], (0.0, table.buffer.leakage_pj))
    base = prices[:, :1] * options.base_pj
    energy = prices[:, :1] * options.energy[:, 0]
    for m, tile in enumerate(tiles):
        least, there = (_least_priced(prices, some) for some in (tile.rows, tile.there))
        base[:, 0] += tile.runs * least
        energy[:, _where(table, tile.operand)] += tile.runs * (there - least)[:, None]
        own = tile.operand == table.facts.around(table.ranks).made[m]
        begun = tile.there if own else tile.rows
        added = np.maximum(begun, (0.0, tile.later_cycles))
        more = _least_priced(prices, added) - (there if own else least)
        energy[:, options.sums == m] += tile.later_runs * more[:, None]
    none = np.zeros_like(options.layer_cycles)
    options = options._replace(layer_cycles=none, later_cycles=none)
    for own_base, own_energy in zip(base, energy, strict=True):
        yield options._replace(base_pj=own_base, energy=own_energy[:, None])


def _least_priced(prices: Floats, rows: Floats) -> Floats:
    """Return float64[J], the least that a row of energy and cycles is worth at each pair of
    prices: products of matrices may differ in the last digit from call to call."""
    worth: Floats = np.outer(prices[:, 0], rows[:, 0]) + np.outer(prices[:, 1], rows[:, 1])
    least: Floats = worth.min(axis=1)
    return least


def _where(table: NestTable, operand: int) -> NDArray[np.bool_]:
    """bool[options], options of an operand in which it lies in the buffer."""
    found = np.zeros(len(table.stays), np.bool_)
    if operand >= 0:
        some = slice(*table.options.begin[operand : operand + 2].tolist())
        found[some] = table.stays[some]
    return found
