"""Work of a network as bounds count it: distinct layers, how often each runs, and what is known of
them on the levels and meshes of designs that were looked at before."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, TypeVar

import numpy as np

from archloom.evaluators.loopnest import ManyVectors, MappingProblem, VectorTile
from archloom.space.fusion import computations
from archloom.space.hardware import Hardware
from archloom.space.workload import Layer, Network, Sparsity, remembered

from ...arrays import Floats, Ints
from ..compulsory import demand, least_weight_words
from ..layer import design_and_prices, nest_arrays
from ..layer_kernel import CYCLES, ENERGY_PJ, LayerBatch, batch_costs, fill_keys
from ..layer_work import Works, works_of
from ..level_capacity import Design, Shares, design_of, shares_of
from ..mac_work import MacWork
from ..needed_outputs import needed
from ..word_prices import Prices
from .array_loads import loading_cycles
from .joint_levels import joint_energies
from .maps import (
    Crossing,
    Gathered,
    crossings,
    figures_of,
    gathered_maps,
    words_between,
)
from .mesh import NO_LIMIT, Limit, mesh_corners
from .ways_to_keep import leaves_choice, ways_to_keep
from .whole_steps import whole_shares

#: plans that a search of fusion may choose: none that fuses or pins anything, all but those with
#: steady weights, or all
Plans = Literal["layer_by_layer", "any", "steady"]

#: levels and meshes of designs that are remembered: up to some kB for each; then all are forgotten
_MOST_LEVELS: Final = 1024
_MOST_MESHES: Final = 256

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Fills(NamedTuple):
    """What it costs at the least to fill a level for each of B layers.

    Attributes:
        masks: int64[K], sets of tensors that a mapping may keep there.
        ports, pj: float64[B, K, 3] and [B, K, 1], units through its ports, and energy.
    """

    masks: Ints
    ports: Floats
    pj: Floats


class Nests(NamedTuple):
    """Distinct layers on MACs that have the same zeros.

    Attributes:
        bounds, windows: int64[B, 8] and int64[B, 2, 4].
        times: int64[B], how often each runs.
        whole: float64[B], how often each runs and every result is read, as much as masks leave of
            it.
        weights: int64[B], words of the weights of each.
        owned: int64[B], how often it then brings weights that no other layer uses.
        works: of the layers.
        shares: what meshes leave to them, by meshes.
        fills: of levels, by :func:`fill_keys`.
    """

    bounds: Ints
    windows: Ints
    times: Ints
    whole: Floats
    weights: Ints
    owned: Ints
    works: Works
    shares: dict[bytes, Shares]
    fills: dict[bytes, _Fills]

    def costs(self, design: Design, prices: Prices, uncut: bool = False) -> Floats:
        """Return energy and cycles of the layers, as :func:`layer_costs` does; with ``uncut`` of
        layers that run whole, which take whole steps.

        Designs often have meshes or buffers in common, and what these leave to the layers is
        remembered.
        """
        keys, levels = fill_keys(design, prices), len(design.shared)
        ports, pj = (np.full((len(self.bounds), levels, 8, kinds), np.inf) for kinds in (3, 1))
        missing = np.ones(levels, np.int64)
        for p in range(levels):
            if (fills := self.fills.get(keys[p])) is not None:
                missing[p] = 0
                ports[:, p, fills.masks], pj[:, p, fills.masks] = fills.ports, fills.pj
        batch = LayerBatch(self.works, self._shares(design, uncut), ports, pj, missing)
        found: Floats = batch_costs(design, prices, batch)
        for p in np.flatnonzero(missing).tolist():
            # all that a mapping may keep there
            masks = np.flatnonzero(pj[0, p, :, 0] < np.inf)
            fills = _Fills(masks, ports[:, p, masks], pj[:, p, masks])
            remember_in(self.fills, _MOST_LEVELS, keys[p], fills)
        return found

    def joint_energies(self, design: Design, prices: Prices, cycles: Floats) -> Floats:
        """Return float64[B], energy (pJ) that layers which run whole do not go below on all levels
        together, if they take ``cycles`` at least; 0 where levels may be bypassed.
        """
        if leaves_choice(design):
            return np.zeros(len(self.bounds))
        found: Floats = joint_energies(
            design,
            prices,
            self.batch(design),
            self.bounds,
            self.windows,
            np.ascontiguousarray(cycles),
        )
        return found

    def by_way(self, design: Design, prices: Prices) -> Floats:
        """Return float64[W, B, 2], energy (pJ) and cycles of layers that run whole, of each of W
        ways to keep tensors; a mapping is above one of them."""
        return np.array([self._together(way, prices) for way in ways_to_keep(design)])

    def cycles_by_way(self, design: Design, prices: Prices) -> Floats:
        """Return float64[W, B], the cycles of :meth:`by_way`."""
        ways = ways_to_keep(design)
        return np.array([self.costs(way, prices, uncut=True)[:, CYCLES] for way in ways])

    def corners(
        self, design: Design, prices: Prices, way: int, limit: Limit = NO_LIMIT
    ) -> tuple[Ints, Floats]:
        """Return int64[n] and float64[n, 2], a layer, and energy (pJ) and cycles; in one of the
        ways of :meth:`by_way` each layer that runs whole is above one of its rows, or has the score
        of a limit at least."""
        kept = ways_to_keep(design)[way]
        least, batch = self._together(kept, prices), self.batch(kept)
        return mesh_corners(kept, prices, batch, self.bounds, self.windows, least, limit)

    def every_corner(self, design: Design, prices: Prices) -> Floats:
        """Return float64[n, 2], the rows of :meth:`corners` in all ways to keep tensors: each
        mapping of a single layer is above one of them."""
        ways = range(len(ways_to_keep(design)))
        return np.concatenate([self.corners(design, prices, way)[1] for way in ways])

    def _together(self, design: Design, prices: Prices) -> Floats:
        """Return float64[B, 2], energy and cycles of layers that run whole: the energy of all
        levels together, if mappings may bypass none."""
        costs = self.costs(design, prices, uncut=True)
        joint = self.joint_energies(design, prices, costs[:, CYCLES])
        costs[:, ENERGY_PJ] = np.maximum(costs[:, ENERGY_PJ], joint)
        return costs

    def loading_cycles(self, design: Design, prices: Prices) -> Floats:
        """Return float64[B], cycles that layers which run whole take at least on one array that
        has to be loaded; 0 where levels may be bypassed, or zeros spare cycles.
        """
        if leaves_choice(design) or prices.busy < 1.0:
            return np.zeros(len(self.bounds))
        found: Floats = loading_cycles(design, prices, self.batch(design), self.bounds)
        return found

    def batch(self, design: Design) -> LayerBatch:
        """Return the layers as they run whole, without what it costs to fill levels."""
        unused, missing = np.empty((1, 1, 1, 1)), np.zeros(len(design.shared), np.int64)
        return LayerBatch(self.works, self._shares(design, True), unused, unused, missing)

    def _shares(self, design: Design, uncut: bool) -> Shares:
        meshes = b"".join(part.tobytes() for part in (design.fanout, design.dims, design.multicast))
        meshes += b"%d%d" % (design.strict, uncut)
        if (shares := self.shares.get(meshes)) is None:
            shares = shares_of(design, self.bounds)
            if uncut:
                shares = whole_shares(design, self.bounds, shares)
            remember_in(self.shares, _MOST_MESHES, meshes, shares)
        return shares


def nests_of(bounds: Ints, windows: Ints) -> Nests:
    """Return layers with loop bounds ``bounds[B, 8]`` and windows ``windows[B, 2, 4]``, each of
    which runs once, its weights with it."""
    once, none = np.ones(len(bounds), np.int64), np.zeros(len(bounds), np.int64)
    works = works_of(bounds, windows)
    return Nests(bounds, windows, once, np.ones(len(bounds)), none, once, works, {}, {})


def nests_of_problem(problem: MappingProblem) -> tuple[Nests, Design, Prices]:
    """Return a mapping problem as its nest, which runs whole, with the design and the prices that
    its mappings have."""
    _, prices = design_and_prices(problem.hardware, problem.sparsity, problem.staged)
    # constraints may say what levels keep, and a fusion group takes a part of the buffer
    design = design_of(problem.setup)._replace(strict=True)
    return nests_of(*(part[None] for part in nest_arrays(problem))), design, prices


def remember_in(known: dict[Key, Value], most: int, key: Key, value: Value) -> None:
    """Add to what is known; all of it is forgotten when it is too much."""
    if len(known) >= most:
        known.clear()
    known[key] = value


class _Operator(NamedTuple):
    """A distinct layer on the vector unit.

    Attributes:
        layer: one of those that are the same.
        times: how often it runs.
        whole: how often it runs and every result is read, as much as a mask leaves of it.
        folded: whether it runs in the time of the array.
    """

    layer: Layer
    times: int
    whole: float
    folded: bool


class Staged(NamedTuple):
    """Operators of the vector unit that are the same, also in what they move by themselves.

    Attributes:
        layer: one of them.
        whole: how often it runs and every result is read, as much as a mask leaves of it.
        words: of maps between layers, over DRAM, if it runs by itself.
    """

    layer: Layer
    whole: float
    words: int


class Work(NamedTuple):
    """Work of one pass of a network.

    Attributes:
        nests: layers on MACs, by their zeros.
        partly: work of the layers on MACs of whose result only a part is read.
        vector: distinct layers on the vector unit.
        streamed: the distinct layers on the vector unit, each by itself.
        runs: float64[n], how often each of them runs.
        staged: operators that may run on cores or by themselves; none that may be folded.
        gathered: maps that a core needs whole, with the zeros and the row of the nest that makes
            each.
        crossing: float64[E, 9], figures of maps that cross DRAM, or cost something else, where they
            are large.
        remade: by zeros, numbers of those of these maps of which it is known what runs again if
            they are made again, and the rows of the nests that do.
        passes: tight bounds of a pass so far: parts of a box often relax to the same hardware.
        closest: the same of the closest ones.
    """

    nests: dict[Sparsity, Nests]
    partly: MacWork
    vector: tuple[_Operator, ...]
    streamed: ManyVectors
    runs: Floats
    staged: tuple[Staged, ...]
    gathered: tuple[tuple[Gathered, Sparsity, int], ...]
    crossing: Floats
    remade: dict[Sparsity, tuple[Ints, Ints]]
    passes: dict[tuple[Hardware, Plans], tuple[float, float]]
    closest: dict[tuple[Hardware, Plans], tuple[float, float]]


@remembered
def network_work(network: Network) -> Work:
    """Return the work of one pass."""
    read = needed(network).outputs
    shared = {layer.weights_of for layer in network.layers}
    # what makes a nest, as often as it runs, as all of it is read, and as it has its own weights; a
    # mask leaves the same part of all that are equal
    counts: dict[Sparsity, dict[tuple[Any, ...], list[int]]] = {}
    partly = []
    for layer, outputs in zip(network.layers, read, strict=True):
        if layer.uses_macs:
            count = counts.setdefault(_zeros(layer), {}).setdefault(_kind(layer), [0, 0, 0])
            partly.append(outputs < layer.p * layer.q)
            alone = not layer.weights_of and layer.name not in shared
            count[0] += 1
            count[1] += int(not partly[-1])
            count[2] += int(not partly[-1] and alone)
    nests = {}
    for zeros, found in counts.items():
        bounds, windows, pairs, weights = (
            np.array(part, np.int64) for part in zip(*found, strict=True)
        )
        times, runs_whole, owned = np.array(list(found.values()), np.int64).T
        whole = runs_whole * (pairs[:, 0] / pairs[:, 1])
        works = works_of(bounds, windows)
        nests[zeros] = Nests(bounds, windows, times, whole, weights, owned, works, {}, {})
    vector = _operators(network, read)
    operators = [one.layer for one in vector]
    streamed = ManyVectors([VectorTile(one, one.p, one.q, staged=False) for one in operators])
    runs = np.array([float(one.times) for one in vector])
    some = demand(network).work.some(np.array(partly, np.bool_))
    maps = gathered_maps(network, read)
    gathered = tuple((one, *_placed(network.layers[one.maker], counts)) for one in maps)
    crossing = crossings(network, read, frozenset(one.maker for one in maps))
    staged = _staged(network, read, words_between(network, maps))
    across, remade = figures_of(network, crossing), _remade(network, crossing, counts)
    return Work(nests, some, vector, streamed, runs, staged, gathered, across, remade, {}, {})


def _kind(layer: Layer) -> tuple[Any, ...]:
    window = zip(layer.stride, layer.dilation, layer.padding, layer.input_size, strict=True)
    return layer.bounds, tuple(window), layer.pairs, least_weight_words(layer)


def _placed(
    maker: Layer, counts: dict[Sparsity, dict[tuple[Any, ...], list[int]]]
) -> tuple[Sparsity, int]:
    zeros = _zeros(maker)
    return zeros, list(counts[zeros]).index(_kind(maker))


def _remade(
    network: Network,
    found: Sequence[Crossing],
    counts: dict[Sparsity, dict[tuple[Any, ...], list[int]]],
) -> dict[Sparsity, tuple[Ints, Ints]]:
    places: dict[Sparsity, list[tuple[int, int]]] = {}
    for number, one in enumerate(found):
        if one.remade >= 0:
            zeros, row = _placed(network.layers[one.remade], counts)
            places.setdefault(zeros, []).append((number, row))
    return {zeros: (a[:, 0], a[:, 1]) for zeros, a in ((z, np.array(p)) for z, p in places.items())}


def _zeros(layer: Layer) -> Sparsity:
    """Zeros of a layer; rows of its weights matter only where these are packed."""
    return Sparsity(*layer.density) if layer.packed_words is None else layer.sparsity


def _operators(network: Network, read: Sequence[int]) -> tuple[_Operator, ...]:
    """Operators of the vector unit: each costs the same wherever it stands."""
    hidden = {i for found in computations(network) for i in found.folded}
    runs, whole = Counter[tuple[Layer, bool]](), Counter[tuple[Layer, bool]]()
    for i, (layer, outputs) in enumerate(zip(network.layers, read, strict=True)):
        if not layer.uses_macs:
            operator = replace(layer, name="operator", weights_of=""), i in hidden
            runs[operator] += 1
            whole[operator] += int(outputs == layer.p * layer.q)
    return tuple(
        _Operator(layer, times, whole[layer, folded] * (layer.pairs[0] / layer.pairs[1]), folded)
        for (layer, folded), times in runs.items()
    )


def _staged(network: Network, read: Sequence[int], between: Sequence[int]) -> tuple[Staged, ...]:
    """Operators that are not folded, of which every result is read."""
    hidden = {i for found in computations(network) for i in found.folded}
    whole = Counter[tuple[Layer, int]]()
    for i, (layer, outputs) in enumerate(zip(network.layers, read, strict=True)):
        if not layer.uses_macs and i not in hidden and outputs == layer.p * layer.q:
            whole[replace(layer, name="operator", weights_of=""), between[i]] += 1
    return tuple(
        Staged(layer, times * (layer.pairs[0] / layer.pairs[1]), words)
        for (layer, words), times in whole.items()
    )
