"""Energy and latency that no way to run a step goes below: any tiling, any nest, any mappings.

Inside the buffer each layer costs at least as much as the whole layer of all images with its
operands in the buffer (docs/explanation/bounds.md, "Networks": tiles add up to no less). Over DRAM
move at least the weights of the group once, the maps that it reads and finds in no pin once, and
the results that leave it. Where operands may bypass the buffer, those do that no layer of the
group makes for another one, unless it runs in tiles.
"""

from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import (
    Design,
    Prices,
    design_and_prices,
    layer_bound,
    layer_costs,
    needed,
    tile_rounding,
    touched,
)
from archloom.evaluators.loopnest import ManyVectors, Residency, VectorTile
from archloom.search.fusion.joint.cuts import WholeGroups
from archloom.space import Infeasible
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import (
    INPUTS,
    NO_ZEROS,
    OUTPUTS,
    TENSORS,
    WEIGHTS,
    Layer,
    Network,
    P,
    Q,
)

from ...group_equivalence import layer_kinds

#: a layer, rows and columns of its result that are made, and whether its inputs and its results
#: are in the buffer
_Size: TypeAlias = tuple[int, int, int, int, int]

#: share that the order of floating-point sums may take off a bound (ours)
_SUMS: Final = 1e-10


def unbounded(network: Network, hardware: Hardware) -> str | None:
    """Return why steps of a network have no such bounds on a design; None if they have."""
    if isinstance(fusion_cores(hardware), Infeasible):
        return "nothing is fused on this hardware"
    if any(one.density != (1.0, 1.0) or one.packed_words is not None for one in network.layers):
        return "zeros of the network spare work"
    if any(hardware.bits(-1, tensor) != hardware.word_bits for tensor in TENSORS):
        return "words in DRAM are of another size than on the chip"
    if network.folded:
        return "layers of the network are folded"
    return None


def least_of_kinds(
    network: Network, hardware: Hardware, whole: WholeGroups, tiled: NDArray[np.bool_]
) -> Floats:
    """Return float64[K, 2], energy (pJ, with leakage) and cycles of each kind of step.

    Args:
        network, hardware: what runs where, of which :func:`unbounded` says nothing.
        whole, tiled: as of :class:`WholeSteps`.
    """
    steps = WholeSteps(network, whole, tiled)
    return steps.least(hardware, steps.inside(hardware))


class WholeSteps:
    """Kinds of steps in one piece, to be bounded on one design after another.

    Args:
        network: of the steps, of which :func:`unbounded` says nothing on any of the designs.
        whole: the groups of the kinds in one piece.
        tiled: bool[K], kinds that run in tiles of maps in the buffer, which none of these bypass.
    """

    def __init__(self, network: Network, whole: WholeGroups, tiled: NDArray[np.bool_]) -> None:
        self._network, self._whole = network, whole
        kinds = np.array(layer_kinds(network), np.int64)
        first = np.unique(kinds, return_index=True)[1]
        keys = np.column_stack(
            [first[kinds[whole.layers]], whole.made, _in_buffer(network, whole, tiled)]
        )
        sizes, of = np.unique(keys, axis=0, return_inverse=True)
        self._of = of.ravel()
        self._sizes = _WholeSizes(network, [tuple(size) for size in sizes.tolist()])
        images = network.batch
        self._fetched = whole.fetched * images * _read_share(network, whole)
        self._stored = whole.stored * images

    def inside(self, hardware: Hardware) -> Floats:
        """Return float64[K, 2], energy (pJ, without leakage) inside the buffer and cycles of each
        kind of step in tiles, whatever moves."""
        cores, whole = fusion_cores(hardware), self._whole
        assert isinstance(cores, Cores), "groups can be fused"
        count = len(whole.members)
        costs = self._sizes.costs(cores.one)[self._of].T
        energy, cycles = (np.bincount(whole.kinds, part, count) for part in costs)
        # at best all cores work on it all the time
        return np.stack([energy, cycles / cores.count], axis=1)

    def moving(self, hardware: Hardware, kind: int, words: float, least: Floats) -> Floats:
        """Return float64[2], energy (pJ) and cycles of a kind of step that moves at least so many
        words over DRAM's pins, from what it takes at the least; leakage is that of the hardware."""
        dram, costs = hardware.levels[-1], access_costs(hardware)
        before = float(self._whole.weights[kind] + self._fetched[kind] + self._stored[kind])
        word_pj = min(float(costs.read_pj[-1].min()), float(costs.write_pj[-1, OUTPUTS]))
        word_pj *= tile_rounding(hardware, 1.0).dram / dram.width_words
        energy, cycles = least.tolist()
        longer = max(cycles, words / dram.bandwidth_words * (1 - _SUMS))
        energy += max(0.0, words - before) * word_pj * (1 - _SUMS)
        return np.array([energy + costs.leakage_pj_per_cycle * (longer - cycles), longer])

    def least(self, hardware: Hardware, inside: Floats) -> Floats:
        """Return float64[K, 2], energy (pJ, with leakage) and cycles of each kind of step, from
        what :meth:`inside` returns."""
        whole, (energy, cycles) = self._whole, inside.T.copy()
        costs, dram, buffer = access_costs(hardware), hardware.levels[-1], hardware.levels[-2]
        # what bypasses the buffer is not written to it
        fill = 0.0 if buffer.optional else float(costs.write_pj[-2, INPUTS]) / buffer.width_words
        read, store = (
            float(of) / dram.width_words
            for of in (costs.read_pj[-1, INPUTS], costs.write_pj[-1, OUTPUTS])
        )
        weight = float(costs.read_pj[-1, WEIGHTS]) / dram.width_words
        weight += fill if "weights" in buffer.keeps else 0.0
        fetched, stored = self._fetched, self._stored
        moved = whole.weights * weight + fetched * (read + fill) + stored * store
        energy += moved * tile_rounding(hardware, 1.0).dram
        cycles = np.maximum(cycles, (whole.weights + fetched + stored) / dram.bandwidth_words)
        cores = fusion_cores(hardware)
        if isinstance(cores, Cores) and cores.count > 1:
            # by itself a layer runs on the whole chip
            for n in np.flatnonzero(whole.members[whole.kinds] == 1).tolist():
                bound = layer_bound(self._network.layers[whole.layers[n]], hardware)
                kind = whole.kinds[n]
                energy[kind], cycles[kind] = bound.dynamic_pj, bound.latency_cycles
        energy += costs.leakage_pj_per_cycle * cycles
        return np.stack([energy, np.maximum(cycles, 1.0)], axis=1) * (1 - _SUMS)


def _read_share(network: Network, whole: WholeGroups) -> Floats:
    """float64[K], share of the maps that each kind of step fetches that it needs, at the least.

    Tiles leave out rows and columns that strides and dilations of windows skip. Where some results
    of a member are not needed for that reason, no share of what the members before it read is
    known.
    """
    shares = np.ones(len(network.layers))
    for i, layer in enumerate(network.layers):
        # taps may fall into the padding, or on a row that others touch
        for read, side in zip(touched(layer), layer.input_size, strict=True):
            shares[i] *= read / side
    shares[_partly_needed(network)] = 0.0
    begins = np.cumsum(whole.members) - whole.members
    least: Floats = np.minimum.reduceat(shares[whole.layers], begins)
    return least


def _partly_needed(network: Network) -> NDArray[np.bool_]:
    """bool[L], layers of which some results are read by nothing."""
    made = np.array([layer.p * layer.q for layer in network.layers])
    partly: NDArray[np.bool_] = np.array(needed(network).outputs) < made
    return partly


class _WholeSizes:
    """Layers of all images, of which some rows and columns are made.

    Args:
        network: of the layers.
        sizes: n of them.
    """

    def __init__(self, network: Network, sizes: list[_Size]) -> None:
        layers = network.layers
        self._nests = [n for n, (i, *_) in enumerate(sizes) if layers[i].uses_macs]
        self._vectors = [n for n, (i, *_) in enumerate(sizes) if not layers[i].uses_macs]
        some = [sizes[n] for n in self._vectors]
        # accesses are rounded up once for all images where the layer runs by itself; weights are
        # at hand or not
        self._operators = [
            ManyVectors(
                [
                    VectorTile(layers[i], layers[i].n * r, c, staged=True, resident=stays)
                    for i, r, c, *_ in some
                ]
            )
            for stays in (False, True)
        ]
        if self._nests:
            loops = [_loops(layers[sizes[n][0]], *sizes[n][1:3]) for n in self._nests]
            parts = (np.array(part, np.int64) for part in zip(*loops, strict=True))
            self._bounds, self._windows = parts
            self._maps = np.array([sizes[n][3:] for n in self._nests])
        # of a mask's tiles none is left out of which some pair is seen
        seen = np.array([layer.pairs[0] / layer.pairs[1] for layer in layers])
        # tiles leave out results that nothing reads
        seen[_partly_needed(network)] = 0.0
        self._seen: Floats = seen[[i for i, *_ in sizes]][:, None]

    def costs(self, core: Hardware) -> Floats:
        """float64[n, 2], least energy without DRAM and without leakage, and cycles on one core."""
        left = tile_rounding(core, 1.0)
        found = np.zeros((len(self._seen), 2))
        if self._vectors:
            energies, cycles = zip(
                *(one.costs(core, on_chip=True) for one in self._operators), strict=True
            )
            found[self._vectors, 0] = np.minimum(*energies) * left.vectors
            found[self._vectors, 1] = np.minimum(*cycles)
        if self._nests:
            costs = self._of_nests(core)
            spared = self._bounds.prod(axis=1, dtype=np.float64) * left.mac_pj
            share = min(left.buffer, left.vectors)
            costs[:, 0] = np.maximum(0.0, costs[:, 0] * share - spared)
            found[self._nests] = costs
        costs_seen: Floats = found * self._seen
        return costs_seen

    def _of_nests(self, core: Hardware) -> Floats:
        """float64[n, 2], the same of layers on MACs."""
        keeps, every = "weights" in core.levels[-2].keeps, (True, True)
        if not core.levels[-2].optional:
            found: Floats = layer_costs(
                *staged_without_dram(core, (keeps, *every)), self._bounds, self._windows
            )
            return found
        found = np.empty((len(self._bounds), 2))
        for maps in np.unique(self._maps, axis=0).tolist():
            rows = (self._maps == maps).all(axis=1)
            # what does not have to be in the buffer is there or passes it by
            ways = product({False, keeps}, *({True, bool(there)} for there in maps))
            found[rows] = np.minimum.reduce(
                [
                    layer_costs(
                        *staged_without_dram(core, way), self._bounds[rows], self._windows[rows]
                    )
                    for way in ways
                ]
            )
        return found


def _in_buffer(network: Network, whole: WholeGroups, tiled: NDArray[np.bool_]) -> Ints:
    """int64[n, 2], whether the inputs of each member, and its results, are in the buffer: in tiles
    all maps are, in a nest those that one member makes and another reads.
    """
    within = np.zeros((len(whole.members), len(network.layers)), np.bool_)
    within[whole.kinds, whole.layers] = True
    found = np.zeros((len(whole.layers), 2), np.int64)
    for i, made in enumerate(network.producers):
        rows = np.flatnonzero(whole.layers == i)
        members = within[whole.kinds[rows]]
        if len(made) == len(network.reads[i]):
            found[rows, 0] = members[:, list(made)].all(axis=1)
        found[rows, 1] = members[:, list(network.consumers[i])].any(axis=1)
    found[tiled[whole.kinds]] = 1
    return found


def _loops(
    layer: Layer, rows: int, columns: int
) -> tuple[list[int], list[tuple[int, int, int, int]]]:
    """Loop bounds and window of a layer of all images."""
    bounds = list(layer.bounds)
    bounds[P], bounds[Q] = rows, columns
    window = zip(layer.stride, layer.dilation, layer.padding, layer.input_size, strict=True)
    return bounds, list(window)


@lru_cache(maxsize=256)
def staged_without_dram(core: Hardware, staged: Residency) -> tuple[Design, Prices]:
    """Design and prices of layers with some operands in the shared buffer, as if DRAM cost
    nothing."""
    design, prices = design_and_prices(core, NO_ZEROS, staged)
    accesses, ports = prices.accesses_pj.copy(), prices.ports.copy()
    accesses[-1] = ports[:, -1] = 0.0
    return design, prices._replace(accesses_pj=accesses, ports=ports)
