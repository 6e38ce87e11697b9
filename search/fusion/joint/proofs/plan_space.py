"""Bounds of all plans of the planner's space, on one design after another.

:mod:`.space_bound` bounds the plans of one design. Which tilings fit a buffer, and what they add
up, is the same on all designs with such a buffer; so it is worked out once here, and a design adds
prices. Steps are bounded as a whole, and by tiling once they lie on the path of least product.
Nests, and layers by themselves, count by what steps cost at the least as a whole.

By theorem 1 of docs/explanation/large_spaces.md the bounds of a relaxed hardware hold for all
designs of a box, if the same tilings fit them (docs/explanation/joint.md).
"""

from collections.abc import Hashable, Sequence
from math import inf
from typing import Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Ints, access_costs
from archloom.evaluators.bounds import closest_pass_bounds
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.loopnest import MappingProblem
from archloom.search.fusion.joint.tilings import TilingSums, joined_sums, moved_prices
from archloom.search.fusion.tiling import LayerTile, LeastTiles, TileEstimates, even_sides
from archloom.space.hardware import Cores, Hardware, fusion_cores, pass_batch
from archloom.space.workload import Network

from ...plan_evaluator import MemoizedPlanEvaluator
from ..shortest_path import LeastProductPaths
from ..single_buffer_options import UNEVEN_RATIO, SingleBufferOptions
from .step_bounds import WholeSteps, unbounded

Flags: TypeAlias = NDArray[np.bool_]

#: kinds of steps that are listed by tiling for one design; those that follow list more (ours)
_AT_ONCE: Final = 256

#: sizes of tiles in the tilings of a network in buffers of one size, after which no more are listed
#: (ours; 16 bytes each)
_MOST_SIZES: Final = 4_000_000

#: steps are listed together that lie on paths of at most so much more energy x latency (ours)
_NEAR: Final = 1e-3


#: relative difference of sums in another order
_SUMS: Final = 1e-9


class LeastOfPlans(NamedTuple):
    """What no plan of the space goes below, with any mappings.

    Attributes:
        energy_pj: of one pass, with leakage.
        latency_cycles: of one pass.
        product: of both, of one plan.
    """

    energy_pj: float
    latency_cycles: float
    product: float


class PlanSpaces:
    """Plan spaces of networks in buffers of several sizes, each worked out when it is first asked
    for."""

    def __init__(self) -> None:
        self._spaces: dict[Hashable, _PlanSpace | None] = {}

    def least(
        self, network: Network, design: Hardware, relaxed: Hardware, leakage_pj: float
    ) -> LeastOfPlans:
        """Return bounds of all plans of a network: those of any plan whatsoever where the plans of
        this planner have none of their own.

        Args:
            network: that runs.
            design: one of the designs.
            relaxed: whatever runs on one of them runs there too, for no more energy and in no more
                cycles; the same tilings fit it.
            leakage_pj: of a chip in a cycle, besides that of the relaxed hardware.

        Raises:
            ValueError: the relaxed hardware has a shared buffer of another size than the design.
        """
        if (words := buffer_words(design)) != buffer_words(relaxed):
            raise ValueError(f"relaxed buffer of {buffer_words(relaxed)} words, {words} in designs")
        whole = network.with_batch(pass_batch(network, design))
        key = (whole, words, design.levels[-2].keeps, design.word_bits)
        if key not in self._spaces:
            on_one = _shares_one_buffer(design) and unbounded(whole, design) is None
            self._spaces[key] = _PlanSpace(whole, design) if on_one else None
        space = self._spaces[key]
        if space is not None and _shares_one_buffer(relaxed):
            return _OnDesign(space, design, relaxed, leakage_pj).least()
        energy_pj, cycles = closest_pass_bounds(network, relaxed, "any")
        energy_pj += cycles * leakage_pj
        return LeastOfPlans(energy_pj, cycles, energy_pj * cycles)


def _shares_one_buffer(hardware: Hardware) -> bool:
    cores = fusion_cores(hardware)
    return isinstance(cores, Cores) and cores.count == 1


class _Listed(NamedTuple):
    """Tilings of kinds of steps, one kind after another.

    Attributes:
        kinds: int64[k].
        counts: int64[k], how many each has, at least one.
        sums: of all of them; None if there are none.
    """

    kinds: Ints
    counts: Ints
    sums: TilingSums | None

    def and_more(self, more: "_Listed") -> "_Listed":
        """Return these and others."""
        if self.sums is None or more.sums is None:
            return self if more.sums is None else more
        kinds, counts = (np.concatenate([a, b]) for a, b in zip(self[:2], more[:2], strict=True))
        return _Listed(kinds, counts, joined_sums([self.sums, more.sums]))


def _listed(found: dict[int, TilingSums]) -> _Listed:
    """Return the tilings of those kinds that have any."""
    some = {kind: sums for kind, sums in found.items() if len(sums.starts) > 1}
    counts = np.array([len(sums.starts) - 1 for sums in some.values()], np.int64)
    sums = joined_sums(list(some.values())) if some else None
    return _Listed(np.array(list(some), np.int64), counts, sums)


class _PlanSpace:
    """Tilings of the kinds of steps of a network in one buffer, as far as a design asked for them.

    Args:
        network: of one pass.
        hardware: a design with the buffer.
    """

    def __init__(self, network: Network, hardware: Hardware) -> None:
        evaluator = MemoizedPlanEvaluator(network, hardware, _unmapped)
        self._network, self._hardware = evaluator.network, hardware
        self._options = options = SingleBufferOptions(evaluator)
        #: of the network's cut graph
        self.edges = options.edges()
        self.whole = WholeSteps(self._network, options.whole)
        count = len(self.edges.members)
        #: bool[K], kinds of which tilings may tell more than the step as a whole
        self.worth_listing: Flags = (self.edges.members > 1) & ~options.nestable
        #: bool[K], those of which all tilings but those that fill meshes are listed
        self.is_listed: Flags = np.zeros(count, np.bool_)
        #: bool[K], of those, which have none
        self.bare: Flags = np.zeros(count, np.bool_)
        self.listed = _NONE
        #: those that fill meshes, by the sides of tiles that do so
        self.filling: dict[tuple[int, ...], _Filling] = {}
        #: where the sizes of some tiles stand, and what they are
        self.sizes: list[tuple[Ints, LeastTiles]] = []
        self._known: Flags = np.zeros(0, np.bool_)

    @property
    def places(self) -> int:
        """Places that sizes may have."""
        return 2 * len(self._options.numbers.sizes)

    @property
    def full(self) -> bool:
        """Whether no more tilings are to be listed."""
        return self.listed.sums is not None and len(self.listed.sums.places) > _MOST_SIZES

    def list(self, kinds: Sequence[int]) -> _Listed:
        """List and return the tilings of kinds of steps, but those that fill meshes."""
        found = dict[int, TilingSums]()
        for kind in kinds:
            sums = self._options.tiling_sums(kind)
            if sums is None:
                self.worth_listing[kind] = False
            else:
                found[kind] = sums
                self.is_listed[kind], self.bare[kind] = True, len(sums.starts) == 1
        new = _listed(found)
        self.listed = self.listed.and_more(new)
        self._add_sizes(new)
        return new

    def uneven(self, design: Hardware, relaxed: Hardware) -> Flags:
        """Return bool[K], kinds of which the tilings of some design include those that fill meshes.

        With less time for what layers do at the least, more of them are uneven: sums of larger
        figures and of smaller ones, over each other, fall by the same amount.

        Args:
            design: one of the designs, which all have its meshes.
            relaxed: no layer takes less than there on any of them.
        """
        layers = self._network.layers
        tiles: list[LayerTile] = [(i, of.p, of.q, True) for i, of in enumerate(layers)]
        exact, least = (
            np.array(
                [cycles for _, cycles in TileEstimates(self._network, hardware).of(tiles, cut)]
            )
            for hardware, cut in ((design, False), (relaxed, True))
        )
        running = self.edges.running
        sums = (exact[:, None] * running).sum(axis=0), (least[:, None] * running).sum(axis=0)
        uneven: Flags = sums[0] > UNEVEN_RATIO * (1 - _SUMS) * sums[1]
        return uneven

    def fill(self, sides: tuple[int, ...], uneven: Flags) -> _Listed:
        """List and return the tiles with some sides of all kinds that are listed and uneven, or fit
        nowhere else, as far as they were not."""
        if sides not in self.filling:
            none = np.zeros(len(self.bare), np.bool_)
            self.filling[sides] = _Filling(_NONE, none, none.copy())
        before = self.filling[sides]
        found = dict[int, TilingSums]()
        for kind in np.flatnonzero(
            self.is_listed & (uneven | self.bare) & ~before.is_listed
        ).tolist():
            sums = self._options.tiling_sums(kind, sides)
            assert sums is not None, "it was listed, so nothing is masked"
            found[kind] = sums
            before.is_listed[kind] = True
            if self.bare[kind] and len(sums.starts) == 1:
                # larger groups hold its maps too, and more
                before.unfit[self.edges.containing(kind) & self.worth_listing] = True
        new = _listed(found)
        self.filling[sides] = before._replace(listed=before.listed.and_more(new))
        self._add_sizes(new)
        return new

    def _add_sizes(self, listed: _Listed) -> None:
        if listed.sums is None:
            return
        if len(self._known) < self.places:
            more = np.zeros(self.places - len(self._known), np.bool_)
            self._known = np.concatenate([self._known, more])
        places = listed.sums.places
        new = np.unique(places[~self._known[places]])
        if len(new):
            self._known[new] = True
            every = self._options.numbers.sizes
            tiles = [(*every[place // 2], bool(place % 2)) for place in new.tolist()]
            self.sizes.append((new, LeastTiles(self._network, self._hardware, tiles)))


class _Filling(NamedTuple):
    """Tiles that fill meshes.

    Attributes:
        listed: tilings.
        is_listed: bool[K], of which kinds they are listed.
        unfit: bool[K], kinds that fit nowhere, neither in such tiles nor in others.
    """

    listed: _Listed
    is_listed: Flags
    unfit: Flags


class _OnDesign:
    """A plan space on one design.

    Args:
        space: its tilings.
        design: one of the designs.
        hardware: what stands for all of them.
        leakage_pj: of the chip in a cycle, besides that of the hardware.
    """

    def __init__(
        self, space: _PlanSpace, design: Hardware, hardware: Hardware, leakage_pj: float
    ) -> None:
        self._space, self._hardware = space, hardware
        self._sides, self._uneven = even_sides(design), space.uneven(design, hardware)
        self._prices = moved_prices(hardware)
        self._leakage_pj = access_costs(hardware).leakage_pj_per_cycle + leakage_pj
        self._figures = space.whole.least(hardware)
        self._figures[:, 0] += leakage_pj * self._figures[:, 1]
        self._costs = np.zeros((2, 0))
        #: parts of the sizes that have costs
        self._priced = 0
        edges = space.edges
        starts, ends = edges.edges.starts, edges.edges.ends
        self._paths = LeastProductPaths(edges.cuts, starts, ends, edges.kinds, edges.burdens)
        space.fill(self._sides, self._uneven)
        self._add(space.listed, space.filling[self._sides].listed)

    def least(self) -> LeastOfPlans:
        """Return its bounds, once no step of the best path may be listed, or many were."""
        space, left = self._space, _AT_ONCE
        while True:
            path = self._paths.least_product(self._figures)
            assert path is not None, "every network runs layer by layer"
            wanted = space.worth_listing & ~space.is_listed
            kinds = [row for row in path.rows if row < len(wanted) and wanted[row]]
            if not kinds or left <= 0 or space.full:
                break
            near = [kind for kind in self._paths.near(path, _NEAR) if wanted[kind]]
            some = list(dict.fromkeys([*kinds, *near]))[:left]
            left -= len(some)
            new = space.list(some)
            self._add(new, space.fill(self._sides, self._uneven))
        energy_pj, latency_cycles = self._paths.least_sums(self._figures)
        return LeastOfPlans(energy_pj, latency_cycles, path.product)

    def _add(self, listed: _Listed, filling: _Listed) -> None:
        """Put tilings in the place of kinds of steps."""
        space = self._space
        least = self._figures[: len(space.bare)].copy()
        never = space.bare | space.filling[self._sides].unfit
        self._figures[: len(least)][never] = inf
        self._price()
        for part, instead in ((listed, True), (filling, False)):
            if part.sums is None:
                continue
            energy, cycles = part.sums.totals(self._costs[:, part.sums.places], self._prices)
            figures = np.stack([energy + self._leakage_pj * cycles, cycles], axis=1)
            # no tiling is below its step as a whole
            figures = np.maximum(figures, np.repeat(least[part.kinds], part.counts, axis=0))
            stops = len(self._figures) + np.cumsum(part.counts)
            self._figures = np.concatenate([self._figures, figures])
            self._paths.put_many(part.kinds, stops - part.counts, stops, instead)

    def _price(self) -> None:
        """Work out what sizes cost that are new."""
        short = self._space.places - self._costs.shape[1]
        if short > 0:
            self._costs = np.concatenate([self._costs, np.zeros((2, short))], axis=1)
        for places, tiles in self._space.sizes[self._priced :]:
            self._costs[:, places] = tiles.costs(self._hardware)
        self._priced = len(self._space.sizes)


#: no tilings
_NONE: Final = _Listed(np.zeros(0, np.int64), np.zeros(0, np.int64), None)


def _unmapped(problem: MappingProblem) -> NoReturn:
    raise AssertionError(f"bounds need no mapping: {problem}")
