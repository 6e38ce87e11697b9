"""Bounds of all plans of the planner's space, on one design after another.

:mod:`.space_bound` bounds the plans of one design. Which tilings fit a buffer, and what they add
up, is the same on all designs with such a buffer; so it is worked out once here, and a design adds
prices. Steps are bounded as a whole, and by tiling once they lie on the path of least product.
Nests, and layers by themselves, count by what steps cost at the least as a whole.

By theorem 1 of docs/explanation/large_spaces.md the bounds of a relaxed hardware hold for all
designs of a box, if the same tilings fit them (docs/explanation/joint.md).
"""

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import closest_pass_bounds
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.loopnest import MappingProblem
from archloom.search.fusion.joint.tilings import MovedPrices, TilingSums, joined_sums
from archloom.search.fusion.tiling import LayerTile, LeastTiles, TileEstimates
from archloom.space.hardware import Cores, Hardware, fusion_cores, pass_batch
from archloom.space.workload import Network

from ...plan_evaluator import MemoizedPlanEvaluator
from ..single_buffer_options import UNEVEN_RATIO, SingleBufferOptions
from .moved_tilings import NO_MOVED, MovedTilings
from .nests import NestRows, nest_corners, nest_words
from .plans_on_design import LeastOfPlans, PlansOnDesign
from .step_bounds import WholeSteps, unbounded
from .streamed_layers import StreamedLayers
from .tile_corners import TileCorners

Flags: TypeAlias = NDArray[np.bool_]

#: sizes of tiles in the tilings of a network in buffers of one size, after which no more are listed
#: (ours; 16 bytes each)
_MOST_SIZES: Final = 4_000_000

#: relative difference of sums in another order
_SUMS: Final = 1e-9


class PlanSpaces:
    """Plan spaces of networks in buffers of several sizes, each worked out when it is first asked
    for."""

    def __init__(self) -> None:
        self._spaces: dict[Hashable, PlanSpace | None] = {}

    def least(
        self,
        network: Network,
        design: Hardware,
        relaxed: Hardware,
        leakage_pj: float,
        steps: bool = True,
    ) -> LeastOfPlans:
        """Return bounds of all plans of a network: those of any plan whatsoever where the plans of
        this planner have none of their own.

        Args:
            network: that runs.
            design: one of the designs.
            relaxed: whatever runs on one of them runs there too, for no more energy and in no more
                cycles; the same tilings fit it.
            leakage_pj: of a chip in a cycle, besides that of the relaxed hardware.
            steps: whether energy and cycles of steps on the best path count together.

        Raises:
            ValueError: the relaxed hardware has a shared buffer of another size than the design.
        """
        if (words := buffer_words(design)) != buffer_words(relaxed):
            raise ValueError(f"relaxed buffer of {buffer_words(relaxed)} words, {words} in designs")
        whole = network.with_batch(pass_batch(network, design))
        key = (whole, words, design.levels[-2].keeps, design.word_bits)
        if key not in self._spaces:
            on_one = shares_one_buffer(design) and unbounded(whole, design) is None
            self._spaces[key] = PlanSpace(whole, design) if on_one else None
        space = self._spaces[key]
        if space is not None and shares_one_buffer(relaxed):
            return PlansOnDesign(space, design, relaxed, leakage_pj).least(steps)
        energy_pj, cycles = closest_pass_bounds(network, relaxed, "any")
        energy_pj += cycles * leakage_pj
        return LeastOfPlans(energy_pj, cycles, energy_pj * cycles)


def shares_one_buffer(hardware: Hardware) -> bool:
    """Return whether groups run on one core, with one shared buffer."""
    cores = fusion_cores(hardware)
    return isinstance(cores, Cores) and cores.count == 1


class Listed(NamedTuple):
    """Tilings of kinds of steps, one kind after another.

    Attributes:
        kinds: int64[k].
        counts: int64[k], how many each has, at least one.
        sums: of all of them; None if there are none.
    """

    kinds: Ints
    counts: Ints
    sums: TilingSums | None

    def and_more(self, more: "Listed") -> "Listed":
        """Return these and others."""
        if self.sums is None or more.sums is None:
            return self if more.sums is None else more
        kinds, counts = (np.concatenate([a, b]) for a, b in zip(self[:2], more[:2], strict=True))
        return Listed(kinds, counts, joined_sums([self.sums, more.sums]))


def _listed(found: dict[int, TilingSums]) -> Listed:
    """Return the tilings of those kinds that have any."""
    some = {kind: sums for kind, sums in found.items() if len(sums.starts) > 1}
    counts = np.array([len(sums.starts) - 1 for sums in some.values()], np.int64)
    sums = joined_sums(list(some.values())) if some else None
    return Listed(np.array(list(some), np.int64), counts, sums)


class PlanSpace:
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
        self.whole = WholeSteps(self._network, options.whole, options.tiled)
        count = len(self.edges.members)
        #: bool[K], kinds of which tilings may tell more than the step as a whole
        self.worth_listing: Flags = self.edges.members > 1
        #: bool[K], kinds of which the groups may run in nests as well
        self.nested: Flags = options.nestable
        #: words over DRAM's pins that no nest goes below, by the fan-outs of meshes, whether
        #: operands may bypass the buffer, and kinds
        self._nest_words: dict[Hashable, float] = {}
        #: bool[K], those of which it is known what moves for all tilings but those that fill meshes
        self.is_moved: Flags = np.zeros(count, np.bool_)
        self.moved = NO_MOVED
        #: bool[K], those of which all tilings but those that fill meshes are listed
        self.is_listed: Flags = np.zeros(count, np.bool_)
        #: bool[K], of those of either, which have none
        self.bare: Flags = np.zeros(count, np.bool_)
        self.listed = _NONE
        #: those that fill meshes, by the sides of tiles that do so
        self.filling: dict[tuple[int, ...], _Filling] = {}
        #: where the sizes of some tiles stand, and what they are
        self.sizes: list[tuple[Ints, LeastTiles]] = []
        self._known: Flags = np.zeros(0, np.bool_)
        single = np.flatnonzero((self.edges.members == 1) & ~options.nestable & self._on_macs())
        self.is_listed[single] = True
        #: of layers by themselves: as they stream, and the tilings of others
        self._corners, self._rows = TileCorners(self._network, hardware), NestRows()
        self.streamed = StreamedLayers(self._network, hardware, self.edges, options.whole, single)
        found = {kind: options.tiling_sums(kind) for kind in single.tolist()}
        self.alone = _listed({kind: sums for kind, sums in found.items() if sums is not None})
        self._add_sizes(self.alone)

    @property
    def places(self) -> int:
        """Places that sizes may have."""
        return 2 * len(self._options.numbers.sizes)

    @property
    def full(self) -> bool:
        """Whether no more tilings are to be listed."""
        return self.listed.sums is not None and len(self.listed.sums.places) > _MOST_SIZES

    def _on_macs(self) -> Flags:
        """bool[K], kinds of which some member runs on MACs."""
        macs = np.array([layer.uses_macs for layer in self._network.layers])
        some: Flags = self.edges.running[macs].any(axis=0)
        return some

    def move(self, kinds: Sequence[int], sides: tuple[int, ...], uneven: Flags) -> None:
        """Find out what moves for kinds of steps, also in tiles with some sides if they are uneven
        or fit nowhere else."""
        found = self._sums_of(kinds, self.is_moved)
        self.moved = self.moved.and_more(found)
        self._fill_moved(sides, uneven)
        self._options.forget(kinds)

    def _fill_moved(self, sides: tuple[int, ...], uneven: Flags) -> None:
        before = self._filling(sides)
        found = dict[int, TilingSums]()
        for kind in np.flatnonzero(
            self.is_moved & (uneven | self.bare) & ~before.is_moved
        ).tolist():
            found[kind] = self._filled(kind, sides)
            before.is_moved[kind] = True
        self.filling[sides] = before._replace(moved=before.moved.and_more(found))
        self._options.forget(found)

    def least_moved(
        self, prices: MovedPrices, sides: tuple[int, ...], uneven: Flags
    ) -> tuple[Ints, Floats]:
        """Return kinds, and float64[n, 2], the least energy (pJ) and cycles that what moves takes
        for each; infinite for those that fit in no tiles."""
        self._fill_moved(sides, uneven)
        count, filling = len(self.bare), self._filling(sides)
        found, filled = (of.least(prices, count) for of in (self.moved, filling.moved))
        # tiles that fill the mesh are known for other designs too
        filled[~(uneven | self.bare)] = np.inf
        kinds = np.flatnonzero(self.is_moved)
        return kinds, np.minimum(found, filled)[kinds]

    def list(self, kinds: Sequence[int]) -> Listed:
        """List and return the tilings of kinds of steps, but those that fill meshes."""
        found = self._sums_of(kinds, self.is_listed)
        new = _listed(found)
        self.listed = self.listed.and_more(new)
        self._add_sizes(new)
        self._options.forget(kinds)
        return new

    def _sums_of(self, kinds: Sequence[int], known: Flags) -> dict[int, TilingSums]:
        """Return the tilings of kinds, but those that fill meshes, and note which are ``known``."""
        found = dict[int, TilingSums]()
        for kind in kinds:
            sums = self._options.tiling_sums(kind)
            if sums is None:
                self.worth_listing[kind] = False
            else:
                found[kind] = sums
                known[kind], self.bare[kind] = True, len(sums.starts) == 1
        return found

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

    def fill(self, sides: tuple[int, ...], uneven: Flags) -> Listed:
        """List and return the tiles with some sides of all kinds that are listed and uneven, or fit
        nowhere else, as far as they were not."""
        before = self._filling(sides)
        found = dict[int, TilingSums]()
        for kind in np.flatnonzero(
            self.is_listed & (uneven | self.bare) & ~before.is_listed
        ).tolist():
            found[kind] = self._filled(kind, sides)
            before.is_listed[kind] = True
        new = _listed(found)
        self.filling[sides] = before._replace(listed=before.listed.and_more(new))
        self._add_sizes(new)
        self._options.forget(found)
        return new

    def _filling(self, sides: tuple[int, ...]) -> "_Filling":
        if sides not in self.filling:
            none = np.zeros(len(self.bare), np.bool_)
            self.filling[sides] = _Filling(_NONE, none, NO_MOVED, none.copy(), none.copy())
        return self.filling[sides]

    def _filled(self, kind: int, sides: tuple[int, ...]) -> TilingSums:
        """Return the tiles of a kind with some sides."""
        sums = self._options.tiling_sums(kind, sides)
        assert sums is not None, "it was listed, so nothing is masked"
        if self.bare[kind] and len(sums.starts) == 1:
            # larger groups hold its maps too, and more
            unfit = self.filling[sides].unfit
            unfit[self.edges.containing(kind) & self.worth_listing] = True
        return sums

    def moving_nests(self, hardware: Hardware, kind: int, least: Floats) -> Floats:
        """Return float64[2], energy and cycles that no nest of a kind goes below, by what moves;
        infinite if there are none.

        Args:
            hardware: that they run on.
            least: float64[2], energy and cycles of any way to run the step.
        """
        key = hardware.fanouts, hardware.levels[-2].optional, kind
        if key not in self._nest_words:
            layers = self.edges.firsts.layers(kind)
            self._nest_words[key] = nest_words(self._network, hardware, layers)
        return self.whole.moving(hardware, kind, self._nest_words[key], least)

    def nests(
        self,
        hardware: Hardware,
        kind: int,
        whole: Floats,
        price_pj: float,
        leakage_pj: float,
        close: bool = False,
    ) -> Floats | None:
        """Return figures of the nests of a kind as :func:`.nests.nest_corners` does; with
        energy and cycles of their tiles together if they are to be ``close``."""
        layers, rows = self.edges.firsts.layers(kind), self._rows if close else None
        return nest_corners(self._network, hardware, layers, whole, price_pj, leakage_pj, rows)

    def has_corners(self, place: int) -> bool:
        """Whether more may be known of a size than its least energy and its least cycles."""
        return self._network.layers[self._options.numbers.sizes[place // 2][0]].uses_macs

    def corners(self, hardware: Hardware, place: int) -> Floats:
        """Return float64[n, 2], energy on the chip (pJ, without leakage) and cycles of a size; each
        mapping is above one row."""
        tile = (*self._options.numbers.sizes[place // 2], bool(place % 2))
        return self._corners(hardware, tile)

    def _add_sizes(self, listed: Listed) -> None:
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
        moved: what moves for tilings.
        is_moved: bool[K], of which kinds that is known.
        unfit: bool[K], kinds that fit nowhere, neither in such tiles nor in others.
    """

    listed: Listed
    is_listed: Flags
    moved: MovedTilings
    is_moved: Flags
    unfit: Flags


#: no tilings
_NONE: Final = Listed(np.zeros(0, np.int64), np.zeros(0, np.int64), None)


def _unmapped(problem: MappingProblem) -> NoReturn:
    raise AssertionError(f"bounds need no mapping: {problem}")
