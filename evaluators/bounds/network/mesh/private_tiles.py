"""Tiles that a buffer of a mesh may hold, the largest ones in whole numbers: compiled."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import allocating, helper
from archloom.evaluators.loopnest import DILATION, STRIDE
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, C, K, N, P, Q, R, S

from ....arrays import Floats, Ints

#: extents up to this one are told apart; further out runs of extents count as the smallest of them
#: for capacity, and as the largest for all else, which are this much larger at the most
_EXACT: Final = 16
_FINER: Final = 0.1


#: tiles that are compared with each other
_MOST: Final = 1024


class Room(NamedTuple):
    """What a buffer has room for.

    Attributes:
        words: float64[3], of each tensor; infinite where nothing limits them.
        units: float64[3], of a word in what tensors share.
        shared: units that all tensors share.
    """

    words: Floats
    units: Floats
    shared: float


class _Layer(NamedTuple):
    bounds: Ints
    window: Ints
    room: Room


@helper
def _last(extent: int, bound: int) -> int:
    """Return the last extent that counts as one with this."""
    if extent < _EXACT:
        return extent
    return min(bound, int(extent * (1.0 + _FINER)))


@helper
def _box(layer: _Layer, axis: int, outputs: int, taps: int) -> float:
    stride, dilation = layer.window[axis, STRIDE], layer.window[axis, DILATION]
    return float((outputs - 1) * stride + (taps - 1) * dilation + 1)


@helper
def _largest(layer: _Layer, tile: Ints, d: int) -> int:
    """Return the largest extent along K or C that fits, all others as they are; 0 if none does."""
    room = layer.room
    tile[d] = 1
    weights = float(tile[K] * tile[C] * tile[R] * tile[S])
    outputs = float(tile[N] * tile[K] * tile[P] * tile[Q])
    inputs = tile[N] * tile[C] * _box(layer, 0, tile[P], tile[R])
    inputs *= _box(layer, 1, tile[Q], tile[S])
    most = float(layer.bounds[d])
    if d == K:
        most = min(most, room.words[WEIGHTS] / weights, room.words[OUTPUTS] / outputs)
        grows, stays = weights * room.units[WEIGHTS] + outputs * room.units[OUTPUTS], inputs
        stays, fits = stays * room.units[INPUTS], inputs <= room.words[INPUTS]
    else:
        most = min(most, room.words[WEIGHTS] / weights, room.words[INPUTS] / inputs)
        grows, stays = weights * room.units[WEIGHTS] + inputs * room.units[INPUTS], outputs
        stays, fits = stays * room.units[OUTPUTS], outputs <= room.words[OUTPUTS]
    if grows > 0:
        most = min(most, (room.shared - stays) / grows)
    return int(most * (1 + 1e-9)) if fits else 0


@allocating
def _put(found: Ints, count: int, tile: Ints, ends: Ints) -> Ints:
    """Put a tile, by the last extents that count as its own."""
    if count == len(found):
        more = np.ones((2 * count, 8), np.int64)
        more[:count] = found
        found = more
    for d in range(8):
        found[count, d] = max(tile[d], ends[d])
    return found


@helper
def _restart(layer: _Layer, tile: Ints, ends: Ints, d: int) -> None:
    tile[d] = 1
    ends[d] = _last(1, int(layer.bounds[d]))


@allocating
def _stays(layer: _Layer, loops: Ints, d: int) -> Ints:
    """Return int64[n, 8], tiles of all extents along some dimensions, and the largest along K or C
    that fits: none that fits is larger than one of them."""
    bounds, found, count = layer.bounds, np.ones((64, 8), np.int64), 0
    tile, ends = np.ones(8, np.int64), np.ones(8, np.int64)
    for i in loops:
        ends[i] = _last(1, int(bounds[i]))
    while True:
        tile[d] = 1
        largest = _largest(layer, tile, d)
        if largest:
            tile[d], ends[d] = largest, largest
            found = _put(found, count, tile, ends)
            count += 1
        at = 0
        if not largest:
            # without room for these extents there is none for larger ones
            while at < len(loops) and tile[loops[at]] == 1:
                at += 1
            if at < len(loops):
                _restart(layer, tile, ends, loops[at])
                at += 1
        while at < len(loops) and ends[loops[at]] >= bounds[loops[at]]:
            _restart(layer, tile, ends, loops[at])
            at += 1
        if at == len(loops):
            return found[:count]
        i = loops[at]
        tile[i] = ends[i] + 1
        ends[i] = _last(int(tile[i]), int(bounds[i]))


@allocating
def tiles_that_stay(bounds: Ints, window: Ints, room: Room, stays: int) -> Ints:
    """Return int64[n, 8], tiles of one buffer while a tensor stays there; any other is no larger
    along the dimensions that matter than one of them.

    Args:
        bounds, window: int64[8] and int64[2, 4] of the layer.
        room: of the buffer, which keeps all tensors.
        stays: the tensor.
    """
    layer = _Layer(bounds, window, room)
    if stays == OUTPUTS:
        return _maximal(_stays(layer, np.array([S, R, Q, P, N]), K))
    if stays == WEIGHTS:
        return _maximal(_stays(layer, np.array([S, R, Q, P, C]), K))
    return _maximal(_stays(layer, np.array([S, R, Q, P, N]), C))


@allocating
def _maximal(tiles: Ints) -> Ints:
    """Return the tiles that no other one exceeds; all where they are many."""
    if len(tiles) > _MOST:
        return tiles
    kept = np.ones(len(tiles), np.bool_)
    for n in range(len(tiles)):
        for other in range(len(tiles)):
            exceeds = kept[other] and other != n
            for d in range(8):
                exceeds = exceeds and tiles[other, d] >= tiles[n, d]
            if exceeds:
                kept[n] = False
                break
    return tiles[kept]
