"""Groups whose anchor is made in one piece, all kinds at once: what the first estimates rest on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archloom.evaluators import Ints
from archloom.evaluators.fusion import with_residents
from archloom.evaluators.fusion.buffer import shape_of
from archloom.search.fusion.tiling import SizeNumbers, Tile, in_one_piece, leaving_out
from archloom.space.workload import Network

from .cut_graph import Maps
from .edge_kinds import EdgeKinds, GroupAmongPins, unwritten


class WholeGroups(NamedTuple):
    """Groups of every kind of edge, in one piece.

    Attributes:
        kinds, layers, sizes: int64[n], for each member of each group the kind of edge, the layer,
            and the number of the size in which it runs.
        made: int64[n, 2], rows and columns of its result that a member makes.
        members: int64[K], how many each group has.
        fetched, stored: int64[K], words of maps of an image.
        weights: int64[K], words of weights; what layers share counts once.
        maps: int64[K], most words that a member reads and makes of an image.
        pinned: int64[K], words of the buffer that are taken.
    """

    kinds: Ints
    layers: Ints
    sizes: Ints
    made: Ints
    members: Ints
    fetched: Ints
    stored: Ints
    weights: Ints
    maps: Ints
    pinned: Ints


class WholeGroupsOf:
    """Works out groups in one piece.

    Args:
        network: where the groups are.
        numbers: of the sizes in which layers run.
    """

    def __init__(self, network: Network, numbers: SizeNumbers) -> None:
        self._network = network
        self._numbers = numbers
        self._sides = np.array([(layer.p, layer.q) for layer in network.layers], np.int64)
        # groups that run less of their layers, by how they run
        self._less: dict[GroupAmongPins, tuple[list[Tile], int, int]] = {}

    def __call__(self, kinds: EdgeKinds) -> WholeGroups:
        """Return the groups of the first edge of every kind."""
        firsts, arrays = kinds.firsts, kinds.firsts.arrays
        running = arrays.members[firsts.groups]
        of, layers = np.nonzero(running)
        made = self._sides[layers]
        fetched, stored = self._moved(kinds)
        ends = np.cumsum(kinds.members)
        for kind in np.flatnonzero(leaving_out(self._network, running)).tolist():
            members = slice(ends[kind] - kinds.members[kind], ends[kind])
            made[members], fetched[kind], stored[kind] = self._less_of(kinds, kind)
        return WholeGroups(
            of,
            layers,
            self._numbers.of(layers, *made.T),
            made,
            kinds.members,
            fetched,
            stored,
            arrays.weights[firsts.groups],
            arrays.maps[firsts.groups],
            kinds.words,
        )

    def _moved(self, kinds: EdgeKinds) -> tuple[Ints, Ints]:
        """int64[K], words of maps of an image that are fetched and stored, each box once."""
        firsts, layers = kinds.firsts, len(self._network.layers)
        outside, box_words, makers = firsts.arrays.fetched
        leaving, made_words = firsts.arrays.stored
        unread = [unwritten(self._network, kept) for kept in firsts.kept]
        # inputs of the network, which no group makes, come last
        held = _marked(firsts.held, layers + 1)
        fetched = (outside[firsts.groups] & ~held[:, makers]) @ box_words
        stored = (leaving[firsts.groups] & ~_marked(unread, layers)) @ made_words
        return fetched, stored

    def _less_of(self, kinds: EdgeKinds, kind: int) -> tuple[list[Tile], int, int]:
        """Return rows and columns that the members of a group make, words fetched and stored."""
        key = kinds.groups[kind]
        if key not in self._less:
            shape = shape_of(self._network, kinds.firsts.layers(kind))
            among = with_residents(self._network, shape, kinds.residents(kind))
            self._less[key] = in_one_piece(self._network, among)
        return self._less[key]


def _marked(rows: Sequence[Maps], columns: int) -> NDArray[np.bool_]:
    """bool[R, columns], true in the columns that each row names."""
    found = np.zeros((len(rows), columns), np.bool_)
    of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    found[of, [column for row in rows for column in row]] = True
    return found
