"""Bounds of layers that run by themselves among pinned maps, on one design after another.

A step of one layer whose operands stream is one mapping, so more is known of it than of a step in
any tiles: what the buffer cannot hold comes again, and each way to keep tensors has a bound of its
own (docs/explanation/bounds_proofs.md, lemmas 11 to 15 and 17).
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators import Floats, Ints
from archloom.evaluators.bounds import (
    HALF_GRAIN_PJ,
    ROUNDING,
    Design,
    Nests,
    Prices,
    bounds_key,
    design_and_prices,
    evaluation_pj,
    nests_of,
    with_free_words,
    without_dram_cycles,
)
from archloom.evaluators.fusion.streamed import streamed_problem
from archloom.evaluators.loopnest import Residency
from archloom.search.fusion.joint.cuts import EdgeKinds, WholeGroups
from archloom.search.fusion.joint.tilings import moved_prices
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import NO_ZEROS, OUTPUTS, Network

#: operands in the buffer, and words that are left there to the others
_Place = tuple[Residency, int | None]

#: designs, clock and rate of DRAM aside, on which figures are remembered (ours)
_MOST: Final = 4

#: words in a cycle of a DRAM for which everything else waits
_SLOW: Final = 2.0**-20


class _Alike(NamedTuple):
    """Layers with the same operands in the buffer, and as many words left there.

    Attributes:
        place: of them.
        kinds: int64[n], of their steps.
        nests: their loops.
        stored: int64[n], words of all images that leave the buffer for DRAM besides.
    """

    place: _Place
    kinds: Ints
    nests: Nests
    stored: Ints

    def only(self, kind: int) -> "_Alike":
        """Return one kind of them."""
        rows = self.kinds == kind
        nests = nests_of(self.nests.bounds[rows], self.nests.windows[rows])
        return _Alike(self.place, self.kinds[rows], nests, self.stored[rows])


class StreamedLayers:
    """Steps of one layer on MACs each.

    Args:
        network: of one pass.
        hardware: one of the designs, which all have its shared buffer.
        kinds, whole: of all steps.
        some: int64[n], kinds of the steps.
    """

    def __init__(
        self,
        network: Network,
        hardware: Hardware,
        kinds: EdgeKinds,
        whole: WholeGroups,
        some: Ints,
    ) -> None:
        self._images = network.batch
        places = dict[_Place, list[int]]()
        self._never = list[int]()
        self._single = dict[int, _Alike]()
        self._known = dict[tuple[int, int, bytes], Floats]()
        #: by operands in the buffer, and all that figures depend on but the rate of DRAM
        self._inside = dict[_Place, dict[bytes, tuple[Floats, Floats]]]()
        for kind in some.tolist():
            (layer,) = kinds.firsts.layers(kind)
            problem = streamed_problem(network, layer, hardware, kinds.residents(kind))
            if isinstance(problem, Infeasible):
                self._never.append(kind)
            else:
                places.setdefault((problem.staged, problem.free_words), []).append(kind)
        self._alike = [_alike(network, kinds, whole, *some) for some in places.items()]

    def least(self, hardware: Hardware) -> tuple[Ints, Floats]:
        """Return int64[2, n], kinds of steps and ways to keep tensors, and float64[n, 2], energy
        (pJ, without leakage) and cycles; each way to run a step is above one of its rows."""
        never = np.zeros((2, len(self._never)), np.int64), np.full((len(self._never), 2), np.inf)
        never[0][0] = self._never
        found = [never]
        for alike in self._alike:
            figures = self._by_way(alike, hardware)
            ways, count = len(figures), len(alike.kinds)
            numbers = np.tile(alike.kinds, ways), np.repeat(np.arange(ways), count)
            rows = figures.reshape(-1, 2)
            _add_moved(rows, np.tile(alike.stored, ways), hardware, self._images)
            found.append((np.stack(numbers), rows))
        numbers, figures = zip(*found, strict=True)
        return np.concatenate(numbers, axis=1), np.concatenate(figures)

    def _by_way(self, alike: _Alike, hardware: Hardware) -> Floats:
        """Return float64[W, n, 2], energy and cycles of each way to keep tensors."""
        design, prices = _design(alike, hardware)
        rate, slow = float(prices.rates[:, -1].min()), prices.rates.copy()
        slow[:, -1] *= _SLOW / rate
        slowed, known = prices._replace(rates=slow), self._inside.setdefault(alike.place, {})
        key = bounds_key(design, slowed)
        if key not in known:
            if len(known) >= _MOST:
                del known[next(iter(known))]
            inside = alike.nests.by_way(design, without_dram_cycles(prices))
            # cycles are whole, so the last one may not be needed
            waits = (alike.nests.cycles_by_way(design, slowed) - 1.0) * _SLOW
            known[key] = inside, waits
        inside, waits = known[key]
        figures = inside.copy()
        brought = np.ceil(waits / rate * (1 - ROUNDING))
        figures[:, :, 1] = np.maximum(figures[:, :, 1], brought)
        return figures

    def corners(self, hardware: Hardware, kind: int, way: int) -> Floats:
        """Return float64[n, 2], the same of a kind in one way, with energy and cycles told apart
        further."""
        if kind not in self._single:
            (alike,) = (alike for alike in self._alike if kind in alike.kinds)
            self._single[kind] = alike.only(kind)
        alike = self._single[kind]
        design, prices = _design(alike, hardware)
        # what DRAM takes is in the figures of the way already
        prices = without_dram_cycles(prices)
        key = kind, way, bounds_key(design, prices)
        if key not in self._known:
            self._known[key] = alike.nests.corners(design, prices, way)[1]
        rows = self._known[key].copy()
        _add_moved(rows, alike.stored, hardware, self._images)
        return rows


def _alike(
    network: Network, kinds: EdgeKinds, whole: WholeGroups, place: _Place, some: list[int]
) -> _Alike:
    layers = [network.layers[kinds.firsts.layers(kind)[0]] for kind in some]
    windows = [
        list(zip(of.stride, of.dilation, of.padding, of.input_size, strict=True)) for of in layers
    ]
    nests = nests_of(np.array([of.bounds for of in layers]), np.array(windows, np.int64))
    staged, rows = place[0], np.array(some, np.int64)
    stored = whole.stored[rows] * network.batch * staged[OUTPUTS]
    return _Alike(place, rows, nests, stored)


def _design(alike: _Alike, hardware: Hardware) -> tuple[Design, Prices]:
    staged, free_words = alike.place
    design, prices = design_and_prices(hardware, NO_ZEROS, staged)
    return with_free_words(design._replace(strict=True), free_words), prices


def _add_moved(figures: Floats, stored: Ints, hardware: Hardware, images: int) -> None:
    """Add results that stay in the buffer and leave it as well; take off what rounding may."""
    moved = moved_prices(hardware)
    figures[:, 0] += stored * moved.store_pj
    figures[:, 0] -= images * evaluation_pj(len(hardware.levels)) + HALF_GRAIN_PJ
    figures[:, 1] = np.maximum(figures[:, 1], stored / moved.rate)
