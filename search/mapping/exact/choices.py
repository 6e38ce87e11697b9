"""All choices of kept tensors and unrolled factors, by what their mappings cost at least."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from threading import local
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.loopnest import KernelInputs

from ..objectives import SCORE_ROUNDING
from .bounds import (
    COUNTS,
    MANY as SIBLINGS,
    Factors,
    Families,
    OuterLevels,
    Pairs,
    Serving,
    Window,
    bare_lattice,
    least_of_pairs,
    list_pairs,
    outer_levels_of,
)
from .keeping import Keeping, keeping_of, least_fills_pj, serving_of
from .spatial import is_mirrored, sides_of, unrolled_by
from .subproblem import new_subproblem

#: choices that are listed at once
ROOM: Final = 2**19

#: tiles of all extents for which costs outside all meshes are kept, at most for all ways to keep
#: tensors there, and for each pair
MOST_KNOWN: Final = 2**21
TILES_OF_A_PAIR: Final = 2

#: pairs of factors that are compared in the time of one bound
PAIRS_OF_A_BOUND: Final = 64

#: what choices of the last search of each thread were listed in: to be given new megabytes, and to
#: give them back, takes longer than to list a few
_LAST: Final = local()


@dataclass(frozen=True)
class Listed:
    """Choices by ascending bound.

    Attributes:
        chosen: int64[C, 3]: way to keep tensors, and the two parts of the unrolled factors.
        bounds: float64[C], a score (ln) that no mapping of the choice is below.
        below: all choices with a lower bound than this (and no less than was asked) are listed; it
            is what was asked where too many have that very bound.
        evaluations: choices that were bounded.
    """

    chosen: Ints
    bounds: Floats
    below: float
    evaluations: int


class Choices:
    """All ways to keep tensors and to unroll loops; bounds of them are listed when asked for."""

    def __init__(
        self,
        setup: KernelInputs,
        keeping: Keeping,
        touched: Ints,
        parts: tuple[Ints, Ints],
        stop: Flags,
        tables: bool,
    ) -> None:
        self.setup, self.touched = setup, touched
        self.stop = stop
        self.tables = tables
        self.keeping = keeping
        self.keeps, self.kinds, self.kept = keeping.keeps, keeping.kinds, keeping.kept
        self.hops, self.level = keeping.hops, keeping.level
        self.subproblem = new_subproblem(keeping.near, touched)
        self.prefixes, self.rests = parts
        self.mirrored = is_mirrored(setup)
        self.parts = [_factors(part, self.mirrored) for part in parts]
        self.pairs = len(self.prefixes) * len(self.rests) * len(self.keeps)
        self.room = min(ROOM, self.pairs)
        # evaluations that a look at all pairs counts as
        self.look = self.pairs // PAIRS_OF_A_BOUND
        # tiles of all extents of the outermost level that unrolls anything
        self.subproblem.keep[:] = self.keeps[0]
        self.lattice = bare_lattice(setup, self.subproblem)
        nothing = np.empty((0, 0, 0)), np.empty((0, 0, 0, 0))
        self.outer = OuterLevels(self.lattice, keeping.ports, self.level, *nothing, 0)
        # tiles of subproblems that were bounded without what is known there
        self.tiles = 0

    def spread(self, prefix: int, rest: int) -> Ints:
        """Return the unrolled factors of a choice, int64[L, 8]."""
        found: Ints = self.prefixes[prefix] * self.rests[rest]
        return found

    def least(self) -> float:
        """Return a score that no mapping of any choice is below; set ``stop`` voids it."""
        pairs = self._pairs()
        where = (self.setup, self.subproblem, self.outer, pairs)
        return float(least_of_pairs(*where, self.stop)) - SCORE_ROUNDING

    def between(self, low: float, high: float, most_cycles: float, most: int) -> Listed | None:
        """List choices with bounds from ``low`` to below ``high``, or those nearest to ``low``.

        None if that takes more than ``most`` evaluations, or ``stop`` was set.
        """
        spent = 0
        while spent + self.look <= most:
            found, chosen = _room(self.room)
            counts, limits = np.zeros(1, COUNTS), (low, high, most_cycles, most - spent)
            window, pairs = Window(*limits, self.mirrored, found, chosen, counts), self._pairs()
            list_pairs(self.setup, self.subproblem, self.outer, pairs, window, self.stop)
            listed, bounded, compared = (int(number) for number in counts[0].tolist())
            spent += bounded + compared // PAIRS_OF_A_BOUND
            if self.stop[0] or spent >= most:
                return None
            # more than there is room for: the half with lower bounds next, unless all are equal
            whole, middle = listed <= self.room, low
            if not whole:
                middle = float(np.median(found))
            if whole or middle <= low:
                count = min(listed, self.room)
                # of what is listed in part only what has the least bound is in its place
                (at,) = np.nonzero(found[:count] < (inf if whole else np.nextafter(low, inf)))
                order = at[np.argsort(found[at], kind="stable")]
                return Listed(chosen[order], found[order], high if whole else low, spent)
            high = middle
        return None

    def _pairs(self) -> Pairs:
        """Return all choices."""
        if self.tables:
            self._find(TILES_OF_A_PAIR * self.pairs // len(self.kept))
        known = self.outer.size > 0
        numbers = self.numbers if known else np.empty(0, np.int64)
        # what is known outside all meshes counts fills there
        fills = self.fills_pj[:, : self.level if known else None].sum(axis=1)
        fills = (1 - SCORE_ROUNDING) * fills
        one, two = self.parts
        return Pairs(self.keeps, self.kinds, one, two, numbers, self.serving, fills)

    @cached_property
    def serving(self) -> Serving:
        """What serving MACs costs at least."""
        return serving_of(self.setup, self.keeping)

    @cached_property
    def fills_pj(self) -> Floats:
        """What filling each level costs at least, by way to keep tensors: float64[B, L]."""
        return least_fills_pj(self.setup, self.keeping, self.touched)

    @cached_property
    def numbers(self) -> Ints:
        """Number of the tile, among those of all extents, of what each prefix unrolls: int64[A]."""
        lattice, taken = self.lattice, self.parts[0].taken
        numbers = np.zeros(len(taken), np.int64)
        for d in range(8):
            if lattice.counts[d] > 1:
                values = lattice.values[d, : lattice.counts[d]]
                at = np.minimum(np.searchsorted(values, taken[:, d]), len(values) - 1)
                numbers += at * lattice.places[d]
        return numbers

    def families(self, listed: Listed) -> Families | None:
        """Return listed choices as they are ruled out together; None where each is its own."""
        if self.hops or self.level == 0:
            return None
        keep, prefix, rest = listed.chosen.T
        unrolled = prefix * len(self.rests) + rest
        families, many = _numbered(unrolled * len(self.keeps) + keep // SIBLINGS)
        sizes, scores = np.zeros(many, np.int64), np.empty((many, SIBLINGS))
        ways = (self.keeps, self.kinds, self.prefixes, self.rests)
        return Families(*ways, listed.chosen, listed.bounds, families, sizes, scores)

    def count(self, tiles: int) -> None:
        """Count tiles of a subproblem that was bounded without what is known outside all meshes.

        Once there were as many as all extents have, that is found, for subproblems to come.
        """
        self.tiles += tiles
        self._find(self.tiles // max(1, len(self.kept) // SIBLINGS))

    def _find(self, tiles: int) -> None:
        """Find what runs outside all meshes cost at least, if that is worth so many tiles."""
        size, last = int(self.lattice.size), len(self.setup.fanout) - 1
        known = self.hops or self.level >= last or self.outer.size > 0
        if known or size > tiles or size * len(self.kept) > MOST_KNOWN:
            return
        arrays = (self.setup, self.subproblem, self.lattice, self.keeping.ports, self.kept)
        found = outer_levels_of(*arrays, self.level, self.stop)
        if not self.stop[0]:
            self.outer = found


def choices_of(
    setup: KernelInputs,
    touched: Ints,
    stop: Flags,
    keeping: Keeping | None = None,
    tables: bool = True,
) -> Choices | None:
    """Return all choices; None if there are too many to go through, or ``stop`` was set.

    ``keeping`` is :func:`.keeping.keeping_of` the setup, if that is known. Without ``tables``,
    costs outside all meshes are not found before choices are listed: that pays where many of these
    would have to be looked at.
    """
    parts = unrolled_by(setup, stop)
    if parts is None:
        return None
    return Choices(setup, keeping or keeping_of(setup), touched, parts, stop, tables)


def _room(count: int) -> tuple[Floats, Ints]:
    """Return float64[count] and int64[count, 3] to be written over, which the next call of a thread
    gives again."""
    if len(getattr(_LAST, "found", ())) < count:
        _LAST.found, _LAST.chosen = np.empty(count), np.empty((count, 3), np.int64)
    return _LAST.found[:count], _LAST.chosen[:count]


def _numbered(keys: Ints) -> tuple[Ints, int]:
    """Return the place of each key among the different ones, ascending, and how many there are."""
    order = np.argsort(keys)
    ascending, numbers = keys[order], np.zeros(len(keys), np.int64)
    places = np.cumsum(ascending[1:] != ascending[:-1])
    numbers[order[1:]] = places
    return numbers, int(places[-1]) + 1 if len(places) else len(keys)


def _factors(spreads: Ints, mirrored: bool) -> Factors:
    """Return unrolled factors, and room for their shares, which depend on what is kept."""
    taken = spreads.prod(axis=1)
    # where nothing has a mirror image nobody asks for sides
    nowhere = np.zeros(len(spreads), np.int64)
    sides = sides_of(spreads) if mirrored else (nowhere, nowhere)
    return Factors(spreads, taken, taken.prod(axis=1), np.empty((len(spreads), 4)), *sides)
