"""All choices of kept tensors and unrolled factors, by what their mappings cost at least."""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Final

import numpy as np

from archloom.evaluators import Flags, Floats, Ints
from archloom.evaluators.loopnest import COLUMNS, ROWS, KernelInputs
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, G, K, N, P, Q

from ..objectives import SCORE_ROUNDING
from .bounds import (
    COUNTS,
    MANY as SIBLINGS,
    Factors,
    Families,
    OuterLevels,
    Pairs,
    ServingPrices,
    Window,
    bare_lattice,
    least_of_pairs,
    list_pairs,
    outer_levels_of,
    share_out,
)
from .spatial import distances, is_mirrored, keeps_of, sides_of, unrolled_by
from .subproblem import UNPADDED, Ports, new_subproblem, ports_of

#: choices that are listed at once
ROOM: Final = 2**19

#: tiles of all extents for which costs outside all meshes are kept, at most for all ways to keep
#: tensors there, and for each pair
MOST_KNOWN: Final = 2**21
TILES_OF_A_PAIR: Final = 2

#: pairs of factors that are compared in the time of one bound
PAIRS_OF_A_BOUND: Final = 64


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
        self, setup: KernelInputs, touched: Ints, parts: tuple[Ints, Ints], stop: Flags
    ) -> None:
        self.setup, self.touched = setup, touched
        self.stop = stop
        self.keeps = keeps_of(setup)
        self.ports: Ports = ports_of(setup)
        self.subproblem = new_subproblem(distances(setup), touched)
        self.hops = bool((setup.hop_pj > 0).any() or (setup.router_pj > 0).any())
        self.prefixes, self.rests = parts
        # what does not depend on what is kept
        self.parts = [_factors(part) for part in parts]
        self.pairs = len(self.prefixes) * len(self.rests) * len(self.keeps)
        self.room = min(ROOM, self.pairs)
        # evaluations that a look at all pairs counts as
        self.look = self.pairs // PAIRS_OF_A_BOUND
        self.mirrored = is_mirrored(setup)
        # the outermost level that unrolls anything, and tiles of all extents there
        meshes = np.flatnonzero(setup.fanout.prod(axis=1) > 1)
        self.level = int(meshes[-1]) if len(meshes) else 0
        self.subproblem.keep[:], self.subproblem.spread[:], self.subproblem.guess[:] = (
            self.keeps[0],
            1,
            0,
        )
        self.lattice = bare_lattice(setup, self.subproblem)
        # ways to keep tensors outside all meshes
        outer = self.keeps[:, self.level :].reshape(len(self.keeps), -1)
        # a bit for each flag: sorting numbers takes a tenth of the time that sorting rows does
        bits = outer @ (1 << np.arange(outer.shape[1])[::-1])
        _, first, kinds = np.unique(bits, return_index=True, return_inverse=True)
        self.kinds: Ints = np.ascontiguousarray(kinds)
        self.kept = np.ascontiguousarray(self.keeps[first])
        nothing = np.empty((0, 0, 0)), np.empty((0, 0, 0, 0))
        self.outer = OuterLevels(self.lattice, self.ports, self.level, *nothing, 0)
        # tiles of subproblems that were bounded without what is known there
        self.tiles = 0

    def spread(self, prefix: int, rest: int) -> Ints:
        """Return the unrolled factors of a choice, int64[L, 8]."""
        found: Ints = self.prefixes[prefix] * self.rests[rest]
        return found

    def least(self) -> float:
        """Return a score that no mapping of any choice is below; set ``stop`` voids it."""
        scores = [inf]
        ways = map(self._pairs, range(len(self.keeps)))
        scores += [least_of_pairs(self.setup, pairs, self.stop) for pairs in ways]
        return min(scores) - SCORE_ROUNDING

    def between(self, low: float, high: float, most_cycles: float, most: int) -> Listed | None:
        """List choices with bounds from ``low`` to below ``high``, or those nearest to ``low``.

        None if that takes more than ``most`` evaluations, or ``stop`` was set.
        """
        spent = 0
        while spent + self.look <= most:
            found, pairs = np.empty(self.room), np.empty((self.room, 2), np.int64)
            counts, limits = np.zeros(1, COUNTS), (low, high, most_cycles, most - spent)
            window = Window(*limits, self.mirrored, found, pairs, counts)
            keeps = self._fill(window)
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
                chosen = np.concatenate([keeps[order, None], pairs[order]], axis=1)
                return Listed(chosen, found[order], high if whole else low, spent)
            high = middle
        return None

    def _fill(self, window: Window) -> Ints:
        """Fill the window; return which way to keep tensors each choice has."""
        keeps, listed = np.zeros(len(window.scores), np.int64), window.counts["listed"]
        for i, keep in enumerate(self.keeps):
            pairs, before = self._pairs(i), int(listed[0])
            self.subproblem.keep[:], self.subproblem.kind[0] = keep, self.kinds[i]
            list_pairs(self.setup, self.subproblem, self.outer, pairs, window, self.stop)
            keeps[before : int(listed[0])] = i
        return keeps

    def _pairs(self, i: int) -> Pairs:
        """Return both parts of the choices that keep tensors in one way."""
        self._find(TILES_OF_A_PAIR * self.pairs // len(self.kept))
        keep, outer = self.keeps[i], self.outer
        one, two = (part._replace(shares=np.empty((len(part.many), 4))) for part in self.parts)
        for part in (one, two):
            share_out(self.setup, self.subproblem, keep, part.spread, part.shares)
        macs = float(np.prod(self.setup.bounds.astype(float)))
        floors = np.full(len(self.prefixes), macs * self.setup.working * self.setup.mac_pj)
        if outer.size:
            floors += outer.outside[self.kinds[i], 0, self.numbers]
        # what is known outside all meshes counts fills there
        fills = self.fills_pj[i, : self.level if outer.size else None].sum()
        return Pairs(one, two, self.prices[i], floors, (1 - SCORE_ROUNDING) * float(fills))

    @cached_property
    def prices(self) -> list[ServingPrices]:
        """What serving MACs costs at least, by way to keep tensors."""
        return prices_of(self.setup, self.keeps)

    @cached_property
    def fills_pj(self) -> Floats:
        """What filling each level costs at least, by way to keep tensors: float64[B, L]."""
        return least_fills_pj(self.setup, self.keeps, self.touched)

    @cached_property
    def numbers(self) -> Ints:
        """Number of the tile, among those of all extents, of what each prefix unrolls: int64[A]."""
        lattice, taken = self.lattice, self.parts[0].taken
        numbers = np.zeros(len(taken), np.int64)
        for d in range(8):
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
        _, families = np.unique(unrolled * len(self.keeps) + keep // SIBLINGS, return_inverse=True)
        many = int(families.max(initial=-1)) + 1
        sizes, scores = np.zeros(many, np.int64), np.empty((many, SIBLINGS))
        ways = (self.keeps, self.kinds, self.prefixes, self.rests)
        found = (listed.chosen, listed.bounds, families.reshape(-1))
        return Families(*ways, *found, sizes, scores)

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
        arrays = (self.setup, self.subproblem, self.lattice, self.ports, self.kept)
        found = outer_levels_of(*arrays, self.level, self.stop)
        if not self.stop[0]:
            self.outer = found


def choices_of(setup: KernelInputs, touched: Ints, stop: Flags) -> Choices | None:
    """Return all choices; None if there are too many to go through, or ``stop`` was set."""
    parts = unrolled_by(setup, stop)
    return None if parts is None else Choices(setup, touched, parts, stop)


def _factors(spreads: Ints) -> Factors:
    """Return unrolled factors, but for the shares, which depend on what is kept."""
    taken = spreads.prod(axis=1)
    return Factors(spreads, taken, taken.prod(axis=1), np.empty((0, 4)), *sides_of(spreads))


def prices_of(setup: KernelInputs, keeps: Flags) -> list[ServingPrices]:
    """Return what serving MACs costs at least, for each of ``keeps[B, L, 3]``."""
    first = np.argmax(keeps, axis=1)
    macs = float(np.prod(setup.bounds.astype(float)))
    results = float(np.prod(setup.bounds[[N, G, K, P, Q]].astype(float)))
    # of instances that are accessed together one is paid for
    together = (setup.instances // setup.cluster) / setup.instances
    share = np.minimum(1.0, together)[first]
    width, address = setup.width[first, range(3)], setup.address_pj[first]
    reads = share * (setup.served * setup.read_pj[first, range(3)] / width)
    updates = share * (setup.served * setup.update_pj[first, range(3)] / width + address)
    asked = macs * (reads + share * address)
    columns = (asked[:, WEIGHTS], asked[:, INPUTS], reads[:, OUTPUTS], updates[:, OUTPUTS])
    ways = zip(*(column.tolist() for column in columns), strict=True)
    return [ServingPrices(w, i, read, update, macs, results) for w, i, read, update in ways]


def least_fills_pj(setup: KernelInputs, keeps: Flags, touched: Ints) -> Floats:
    """Return what it costs at least to fill each level, and to read and update the next one outside
    for that, whatever is unrolled: float64[B, L], for each of ``keeps[B, L, 3]``.

    Every word of a tensor enters a level that holds it at least once, in one of its instances, and
    is sent by one of those outside. Of instances that are accessed together one is paid for.
    """
    n, g, k, c, p, q, r, s = setup.bounds.astype(float).tolist()
    # a sum of two sets of numbers has at least as many as both together, less one
    rows_and_columns = (p + r - 1) * (q + s - 1)
    words = np.array([g * k * c * r * s, n * g * c * rows_and_columns, n * g * k * p * q])
    paid = ((setup.instances // setup.cluster) / setup.instances)[:, None]
    addresses = setup.address_pj[:, None]
    filled = paid * (setup.fill_pj / setup.width + addresses)
    sent = paid * (setup.read_pj / setup.width + addresses)
    # results are made inside, and the first of each is neither fetched nor read
    filled[:, OUTPUTS] = 0.0
    update_pj = setup.update_pj[:, OUTPUTS] / setup.width[:, OUTPUTS]
    sent[:, OUTPUTS] = (paid * (update_pj[:, None] + addresses))[:, 0]
    found, outside = np.zeros(keeps.shape[:2]), np.zeros((len(keeps), 3))
    for level in range(keeps.shape[1] - 1, -1, -1):
        held = (keeps[:, level] > 0) & (level <= setup.top)
        here = words
        if touched[UNPADDED] and level == keeps.shape[1] - 2:
            here = words.copy()
            here[INPUTS] = n * g * c * touched[ROWS] * touched[COLUMNS]
        entering = held & (level < setup.top)
        found[:, level] = (entering * here * (filled[level] + outside)).sum(axis=1)
        outside = np.where(held, sent[level], outside)
    return found
