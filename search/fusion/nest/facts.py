"""What estimates of nests around one group must know of it and of the design."""

from collections.abc import Collection, Hashable
from functools import cached_property
from math import ceil, prod
from typing import Final, Self

import numpy as np

from archloom.evaluators import Floats, Ints, access_costs
from archloom.evaluators.bounds import later_sums_pj
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.fusion.nest import (
    MaskedRanks,
    NestGroup,
    Operand,
    SeenShares,
    dealable,
    masked_pair,
    masked_ranks,
    nest_group,
    part_of,
    seen_share,
)
from archloom.evaluators.loopnest import Residency, vector_cost
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Network, Sparsity

from .tile_tables import tables_of, tile_costs

#: sizes of tiles that are looked at for each rank (ours)
_MOST_TILES: Final = 8

#: ranks that cores share out that are looked at (ours)
_MOST_DEALT: Final = 1

_K, _C, _P, _Q = 2, 3, 4, 5


class NestFacts:
    """A group on a design, and what its tiles cost at the least.

    Args:
        network, layers: what runs.
        hardware: with a shared buffer, or cores with a buffer each.
        split: layers that run in parts, as places among ``layers``.
        dealt: the rank that the cores share out, if they are several. Layers, ranks and operands
            are then those of the largest share.
    """

    def __init__(
        self,
        network: Network,
        layers: tuple[int, ...],
        hardware: Hardware,
        split: tuple[int, ...] = (),
        dealt: int | None = None,
    ) -> None:
        cores = fusion_cores(hardware)
        assert isinstance(cores, Cores), "its groups run in loops"
        self.split, self.dealt, self.cores = split, dealt, cores
        self._network, self._layers, self._hardware = network, layers, hardware
        self.hardware = cores.one
        self._around: dict[frozenset[int], NestGroup] = {}
        self._whole: dict[frozenset[int], NestGroup] = {}
        #: of the whole group, and of a core
        self.size = 1 if dealt is None else self.whole(()).ranks.sizes[dealt]
        self.share = -(-self.size // cores.count)
        self.group = self.around(())
        self.capacity = buffer_words(cores.one)
        costs, dram, buffer = access_costs(hardware), hardware.levels[-1], hardware.levels[-2]
        self.rate = dram.bandwidth_words
        self.fill_pj = fill = float(costs.write_pj[-2, INPUTS]) / buffer.width_words
        self.fetch_pj = float(costs.read_pj[-1, INPUTS]) / dram.width_words + fill
        #: whether the buffer keeps weights and what stands in their place
        self.keeps_weights = "weights" in buffer.keeps
        self.weight_pj = float(costs.read_pj[-1, WEIGHTS]) / dram.width_words
        self.weight_pj += fill if self.keeps_weights else 0.0
        self.store_pj = float(costs.write_pj[-1, OUTPUTS]) / dram.width_words
        #: of a word of partial sums that is rescaled
        rescaled = float(costs.read_pj[-2, OUTPUTS] + costs.write_pj[-2, OUTPUTS])
        self.rescale_pj = rescaled / buffer.width_words
        self.leakage_pj = costs.leakage_pj_per_cycle
        self._tables: dict[tuple[int, tuple[int, ...]], Floats] = {}
        self._grids: dict[tuple[int, ...], dict[int, Ints]] = {}
        self._vectors: dict[int, tuple[float, float, float]] = {}
        self._seen: dict[MaskedRanks, SeenShares] = {}

    def dealing(self, rank: int) -> Self:
        """Return the same if cores share out a rank."""
        return type(self)(self._network, self._layers, self._hardware, self.split, rank)

    def whole(self, ranks: tuple[int, ...]) -> NestGroup:
        """Return the group as loops over some ranks see it."""
        looped = frozenset(ranks)
        if looped not in self._whole:
            self._whole[looped] = _known(self._network, self._layers, looped, self.split)
        return self._whole[looped]

    def around(self, ranks: tuple[int, ...]) -> NestGroup:
        """Return what a core has of the group as loops over some ranks see it."""
        looped = frozenset(ranks)
        if looped not in self._around:
            group = self.whole(ranks)
            if self.dealt is not None:
                group = part_of(group, self.dealt, self.share)
            self._around[looped] = group
        return self._around[looped]

    @property
    def working(self) -> int:
        """Cores that have a share."""
        return -(-self.size // self.share)

    def times(self, ranks: Collection[int]) -> float:
        """What all cores have of something along some ranks, over the share of the first."""
        if self.dealt is None:
            return 1.0
        return self.size / self.share if self.dealt in ranks else float(self.working)

    def sent(self, operand: Operand) -> float:
        """Words that cross DRAM's pins for a word that a core gets or sends of an operand."""
        if self.dealt is None:
            return 1.0
        common = self.dealt not in operand.ranks and self.cores.shared_weights
        return 1.0 if common and operand.kind == "weights" else self.times(operand.ranks)

    def price_pj(self, operand: Operand) -> float:
        """Energy for each word that a core gets of an operand."""
        kind = self.weight_pj if operand.kind == "weights" else self.fetch_pj
        if self.dealt is None:
            return kind
        copies, every = self.sent(operand), self.times(operand.ranks)
        filled = self.fill_pj if operand.kind != "weights" or self.keeps_weights else 0.0
        return kind * copies + filled * (every - copies)

    def later_sums_pj(self, m: int) -> float:
        """Energy for each word of a member's result in each later part of its sums."""
        density = Sparsity(*self.group.layers[m].density)
        return later_sums_pj(self.hardware, density, (self.keeps_weights, True, True))

    def staying_sums_pj(self, _: int, /) -> float:
        """The same besides, if the result stays in the buffer."""
        return 0.0

    @cached_property
    def least_edp(self) -> float:
        """Energy x latency (pJ and cycles) with tiles of whole layers, what masks drop left out
        element by element, and each word moved once."""
        energy, latency = self.least
        return energy * latency

    @cached_property
    def least(self) -> tuple[float, float]:
        """Energy with leakage and latency (pJ and cycles) of these."""
        seen = [some / every for some, every in (layer.pairs for layer in self.group.layers)]
        layers = [
            self.costs(m, ())[:2] * (seen[m] * np.array([self.times(own), 1.0]))
            for m, own in enumerate(self.group.own)
        ]
        energy, cycles = (float(figure) for figure in np.sum(layers, axis=0))
        words = {"weights": 0.0, "read": 0.0, "made": 0.0}
        for operand in self.group.operands:
            some = operand.words * (operand.kind != "made" or operand.exported)
            words[operand.kind] += some * self.sent(operand)
        energy += words["weights"] * self.weight_pj + words["read"] * self.fetch_pj
        energy += words["made"] * self.store_pj
        latency = max(cycles, sum(words.values()) / self.rate)
        return energy + self.leakage_pj * latency, latency

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """Ranks that loops may run over, those of the most work first."""
        loopable = [r for r, may in enumerate(self.group.ranks.loopable) if may]
        work = {
            r: sum(
                layer.macs
                for layer, own in zip(self.group.layers, self.group.own, strict=True)
                if r in own
            )
            for r in loopable
        }
        return tuple(sorted(loopable, key=lambda r: (-work[r], r)))

    @cached_property
    def tiles(self) -> dict[int, Ints]:
        """Sizes of tiles of each rank, descending: halves, and what fills a side of the mesh."""
        sizes = self.group.ranks.sizes
        found = {rank: _sides(sizes[rank], self._children) for rank in self.ranks}
        if self.dealt is not None:
            # a core may run its share at once
            some = found[self.dealt] if self.share > 1 else found[self.dealt][:0]
            found[self.dealt] = np.append(np.int64(self.share), some)
        return found

    @cached_property
    def masked_pair(self) -> tuple[int, int] | None:
        """Ranks of queries and keys, if loops may run over both and a mask drops tiles of them."""
        pair = masked_pair(self.whole(()))
        return pair if pair is not None and set(pair) <= set(self.ranks) else None

    def masked(self, ranks: tuple[int, ...]) -> MaskedRanks | None:
        """Return the ranks that a mask is along, if loops over some ranks may leave out tiles."""
        if not self._any_mask:
            return None
        return masked_ranks(self.whole(ranks), frozenset(ranks))

    @cached_property
    def _any_mask(self) -> bool:
        return any(layer.mask is not None for layer in self.group.layers)

    def seen_shares(self, masked: MaskedRanks) -> SeenShares:
        """Return what a mask leaves of loops over both of its ranks, for all sizes of tiles."""
        if masked not in self._seen:
            cores = self.cores.count if self.dealt == masked.queries else 1
            tiles = self.tiles[masked.queries].tolist(), self.tiles[masked.keys].tolist()
            every = self.whole(()).ranks.sizes
            sizes = every[masked.queries], every[masked.keys]
            found = [
                [seen_share(masked, sizes, (tile, width), cores) for width in tiles[1]]
                for tile in tiles[0]
            ]
            self._seen[masked] = SeenShares(*np.moveaxis(np.array(found), -1, 0))
        return self._seen[masked]

    @cached_property
    def _children(self) -> tuple[int, ...]:
        sides = {side for fanout in self.hardware.fanouts for side in fanout if side > 1}
        return tuple(sorted(sides))

    def costs(self, m: int, looped: tuple[int, ...]) -> Floats:
        """Return float64[3, ...], least energy on the chip (pJ) and cycles of a member's tile, and
        cycles of one that adds to sums which were begun before.

        There is an axis for each of ``looped`` ranks, which are its own, with the sizes of
        :attr:`tiles`.
        """
        key = (m, looped)
        if key not in self._tables:
            vector = not self.group.layers[m].uses_macs
            self._tables[key] = (self._vector if vector else self._nest)(m, looped)
        return self._tables[key]

    def _grid(self, looped: tuple[int, ...]) -> dict[int, Ints]:
        """Sizes of each looped rank at each place of a grid, in a row."""
        if looped not in self._grids:
            sizes = np.meshgrid(*(self.tiles[rank] for rank in looped), indexing="ij")
            pairs = zip(looped, sizes, strict=True)
            self._grids[looped] = {rank: size.ravel() for rank, size in pairs}
        return self._grids[looped]

    def _shape(self, looped: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(len(self.tiles[rank]) for rank in looped)

    def _dims(self, m: int, looped: tuple[int, ...]) -> Ints:
        """int64[6, n], dimensions N, G, K, C, P and Q of tiles."""
        grid, sizes = self._grid(looped), self.group.ranks.sizes
        dims = self.group.ranks.dims[m]
        found = np.empty((len(dims), prod(self._shape(looped))), np.int64)
        for row, ranks in zip(found, dims, strict=True):
            row[:] = prod(sizes[rank] for rank in ranks if rank not in grid)
            for rank in ranks:
                if rank in grid:
                    row *= grid[rank]
        return found

    def _nest(self, m: int, looped: tuple[int, ...]) -> Floats:
        # groups have many members in common, each with ranks of its own numbers
        sizes, dims = self.group.ranks.sizes, self.group.ranks.dims[m]
        at = {rank: n for n, rank in enumerate(looped)}
        parts = tuple(
            (
                prod(sizes[rank] for rank in some if rank not in at),
                *(at[rank] for rank in some if rank in at),
            )
            for some in dims
        )
        key = self._layer_keys[m], parts, tuple(self._tile_bytes[rank] for rank in looped)
        return tables_of(self._hardware).of(key, lambda: self._found_nest(m, looped))

    @cached_property
    def _layer_keys(self) -> tuple[Hashable, ...]:
        """What the costs of each member's tiles depend on, beside their sizes."""
        return tuple(
            (x.density, x.r, x.s, x.stride, x.dilation, x.multiplies_maps)
            for x in self.group.layers
        )

    @cached_property
    def _tile_bytes(self) -> dict[int, bytes]:
        return {rank: tiles.tobytes() for rank, tiles in self.tiles.items()}

    def ways(self, m: int) -> tuple[Residency, ...]:
        """Which operands of a member may lie in the buffer, as mappings choose."""
        del m
        return ((self.keeps_weights, True, True),)

    def nests(self, m: int, looped: tuple[int, ...], way: Residency) -> tuple[Ints, Ints]:
        """Return int64[n, 8] and int64[n, 2, 4], loop bounds and windows of a member's tiles, of
        which some operands lie in the buffer; in the order of :meth:`costs`."""
        del way
        return self._loops(m, self._dims(m, looped))

    def _adds(self, m: int, looped: tuple[int, ...]) -> bool:
        """Whether loops run over what a member adds up."""
        return any(rank in looped for rank in self.group.ranks.dims[m][_C])

    def _found_nest(self, m: int, looped: tuple[int, ...]) -> Floats:
        layer, dims = self.group.layers[m], self._dims(m, looped)
        bounds, windows = self._loops(m, dims)
        adds, arrays = self._adds(m, looped), (bounds.tobytes(), windows.tobytes())
        found = tile_costs(self.hardware, layer.density, self.keeps_weights, adds, *arrays)
        if not self.keeps_weights:
            # what crosses DRAM's pins is counted with the loops
            words = dims[1] * dims[_K] * dims[_C] * (layer.r * layer.s)
            found = found.copy()
            found[0] -= words * (dims[0] if layer.multiplies_maps else 1) * self.weight_pj
        return found.reshape(3, *self._shape(looped))

    def _loops(self, m: int, dims: Ints) -> tuple[Ints, Ints]:
        """int64[n, 8] and int64[n, 2, 4], loop bounds and windows of tiles of a member."""
        layer = self.group.layers[m]
        bounds = np.empty((dims.shape[1], 8), np.int64)
        bounds[:, : len(dims)] = dims.T
        bounds[:, len(dims) :] = layer.r, layer.s
        if layer.multiplies_maps:
            bounds[:, 0], bounds[:, 1] = 1, dims[0] * dims[1]
        windows = np.zeros((len(bounds), 2, 4), np.int64)
        for axis, (dim, kernel) in enumerate(((_P, layer.r), (_Q, layer.s))):
            stride, dilation = layer.stride[axis], layer.dilation[axis]
            windows[:, axis, 0], windows[:, axis, 1] = stride, dilation
            windows[:, axis, 3] = (dims[dim] - 1) * stride + (kernel - 1) * dilation + 1
        return bounds, windows

    def _vector(self, m: int, looped: tuple[int, ...]) -> Floats:
        """As much of a whole operator's cost as a tile is of it."""
        layer = self.group.layers[m]
        if m not in self._vectors:
            sides = layer.n * layer.p, layer.q
            cost = vector_cost(layer, self.hardware, *sides, staged=True, resident=True)
            # no loop runs over what a vector operator adds up
            self._vectors[m] = cost.dynamic_pj, cost.latency_cycles, cost.latency_cycles
        dims = self._dims(m, looped)
        share = (dims[:_C].prod(axis=0) * dims[_P:].prod(axis=0)) / layer.output_words
        found: Floats = np.multiply.outer(self._vectors[m], share)
        return found.reshape(3, *self._shape(looped))


def shared_out(facts: NestFacts) -> tuple[NestFacts, ...]:
    """Return facts of the ranks that are best shared out to cores; the same for one buffer."""
    if facts.cores.count == 1:
        return (facts,)
    ranks = [rank for rank in facts.ranks if dealable(facts.group, rank)]
    return tuple(sorted(map(facts.dealing, ranks), key=lambda some: some.least_edp)[:_MOST_DEALT])


def _known(
    network: Network, layers: tuple[int, ...], looped: frozenset[int], split: tuple[int, ...]
) -> NestGroup:
    group = nest_group(network, layers, looped, split)
    assert group is not None, "only groups with ranks are looked at"
    return group


def _sides(size: int, children: tuple[int, ...]) -> Ints:
    """Tiles of a rank of ``size``, descending."""
    halves = {-(-size // 2**k) for k in range(1, size.bit_length() + 1)}
    full = {side for side in children if side < size}
    some = sorted({side for side in halves | full if side < size}, reverse=True)
    if len(some) > _MOST_TILES:
        kept = set(some[: _MOST_TILES - 1 - len(full)]) | full | {some[-1]}
        some = sorted(kept, reverse=True)
    return np.array(some or [ceil(size / 2)], np.int64)
