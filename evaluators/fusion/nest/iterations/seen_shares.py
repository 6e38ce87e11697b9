"""Shares of a nest that a mask leaves, by sizes of tiles of queries and keys."""

from math import prod
from typing import NamedTuple

import numpy as np

from ....arrays import Floats
from .loops import shared_out
from .masked import QUERIES, TileGrid
from .when_used import MOST_TILES, MaskedRanks


class SeenShares(NamedTuple):
    """What a mask leaves of loops over queries and keys; arrays have an axis for sizes of tiles of
    each.

    Attributes:
        pairs: share of all pairs that is in tiles that run.
        queries: in how many of them a query is on average.
        keys: in how many of them a key is on average, on each core that has tiles of queries.
        rounds: share of all pairs of a core for which it runs, or waits for another one.
        own_keys: share of keys that a core's queries see, on average over cores; 1 where cores do
            not share out queries.
    """

    pairs: Floats
    queries: Floats
    keys: Floats
    rounds: Floats
    own_keys: Floats


def seen_share(
    masked: MaskedRanks, sizes: tuple[int, int], tiles: tuple[int, int], cores: int
) -> tuple[float, ...]:
    """Return the figures of :class:`SeenShares` for one size of tiles of queries and of keys, of
    all queries and keys, if so many cores take the tiles of queries in turn."""
    (queries, keys), (tile, width) = sizes, tiles
    counts = -(-queries // tile), -(-keys // width)
    most, working = shared_out(counts[0], cores)
    if prod(counts) > MOST_TILES:
        return 1.0, float(counts[1]), counts[0] / working, 1.0, 1.0
    first, last = masked.seen(tile, width)
    height = np.minimum(tile, queries - np.arange(0, queries, tile))
    covered = (np.minimum((last + 1) * width, keys) - first * width) / keys
    part = height / queries
    pairs, seen = float((part * covered).sum()), float((part * (last - first + 1)).sum())
    if cores == 1:
        return pairs, seen, float(covered.sum()), pairs, 1.0
    # rows of tiles that are next to each other, one for each core
    rows = np.zeros(most * working)
    rows[: counts[0]] = covered * height / tile
    live = np.zeros((most * working, counts[1]), np.bool_)
    live[: counts[0]] = TileGrid.between(first, last, counts[1], QUERIES).live
    widths = np.minimum(width, keys - np.arange(0, keys, width))
    own = live.reshape(most, working, -1).any(axis=0) @ widths
    rounds = float(rows.reshape(most, working).max(axis=1).mean())
    return pairs, seen, float(covered.sum()) / working, rounds, float(own.mean()) / keys
