"""Least price of large maps between two layers, over all ways to run these: the compiled part of
``crossing_maps.py`` (docs/explanation/bounds_proofs.md, lemma 16)."""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled, helper

from ....arrays import Floats

#: figures of a crossing, of all images of a pass: words of the reader's operands; words that DRAM
#: moves if the map crosses it, but for what leaves anyway; images; whether results of the reader
#: need more than the position at their place; whether it is known what runs again if the map is
#: made again; words of what that makes, stored and fetched each time, 0 if it is the maker
WEIGHTS: Final = 0
INPUTS: Final = 1
OUTPUTS: Final = 2
MOVED: Final = 3
IMAGES: Final = 4
WINDOWS: Final = 5
KNOWN: Final = 6
STORED: Final = 7
FETCHED: Final = 8
FIGURES: Final = 9


class Room(NamedTuple):
    """Words that fit a chip.

    Attributes:
        held: in the buffer between groups.
        resident: of weights that stay there while a group runs; 0 if it keeps none.
        weights, inputs, outputs: the most of each that lie in one on-chip level.
    """

    held: float
    resident: float
    weights: float
    inputs: float
    outputs: float


@compiled(brief=True)
def least_crossings(figures: Floats, room: Room, words: Floats, again: Floats) -> Floats:
    """Return float64[M], what crossings cost at the least, all together, at each of M prices.

    Args:
        figures: float64[E, 9], of the crossings.
        room: of the chip.
        words: float64[M], price of a word over DRAM.
        again: float64[M, E], price of running once more the layer that makes the map.
    """
    least = np.zeros(len(words))
    for e in range(len(figures)):
        if figures[e, INPUTS] > figures[e, IMAGES] * room.held:
            for m in range(len(words)):
                price = _apart(figures[e], room, words[m])
                price = min(price, _tiled(figures[e], room, words[m]))
                least[m] += min(price, _nested(figures[e], room, words[m], again[m, e]))
    return least


@helper
def _pieces(words: float, room: float) -> float:
    """Return the pieces that fit some room, of which so many words are made at the least."""
    pieces: float = np.ceil(words / max(1.0, room))
    return pieces


@helper
def _apart(one: Floats, room: Room, word: float) -> float:
    """Price if DRAM moves the map, and what the reader moves again."""
    n_w, n_o = _pieces(one[WEIGHTS], room.weights), _pieces(one[OUTPUTS], room.outputs)
    n_i = _pieces(one[INPUTS], room.inputs)
    w, i, o = word * one[WEIGHTS], word * one[INPUTS], word * 2.0 * one[OUTPUTS]
    once = min(w * (min(n_i, n_o) - 1.0), i * (min(n_w, n_o) - 1.0), o * (min(n_w, n_i) - 1.0))
    price: float = word * one[MOVED] + min(once, w + i, w + o, i + o)
    return price


@helper
def _tiled(one: Floats, room: Room, word: float) -> float:
    """Price in a group of tiles: each holds its part of what the reader reads, and of what it
    makes."""
    if one[WEIGHTS] <= room.resident:
        return 0.0
    price: float = (_pieces(one[INPUTS] + one[OUTPUTS], room.held) - 1.0) * word * one[WEIGHTS]
    return price


@helper
def _made(one: Floats, times: float, word: float, again: float) -> float:
    """Price of making the map so many times more."""
    if one[KNOWN] == 0.0 or times <= 0.0:
        return 0.0
    price: float = times * again
    if one[FETCHED] > 0.0:
        price = min(price, word * (one[STORED] + one[FETCHED] * (1.0 + times)))
    return price


@helper
def _nested(one: Floats, room: Room, word: float, again: float) -> float:
    """Price in a loop nest, where the map lies in the buffer, piece by piece."""
    w, o = word * one[WEIGHTS], word * 2.0 * one[OUTPUTS]
    made = _made(one, 1.0, word, again)
    if one[WINDOWS] > 0.0:
        # no loop cuts rows and columns, and loops over images leave all of one
        n_i = _pieces(one[INPUTS] / one[IMAGES], room.held)
        n_o = _pieces(one[OUTPUTS] / one[IMAGES], room.outputs)
        if n_o <= 1.0:
            return 0.0
        cut: float = min(o * (n_i - 1.0), _made(one, n_o - 1.0, word, again), made + o)
        return cut
    n_w, n_o = _pieces(one[WEIGHTS], room.weights), _pieces(one[OUTPUTS], room.outputs)
    n_i = _pieces(one[INPUTS], room.held)
    once = min(w * (min(n_i, n_o) - 1.0), o * (min(n_w, n_i) - 1.0))
    once = min(once, _made(one, min(n_w, n_o) - 1.0, word, again))
    price: float = min(once, w + made, w + o, made + o)
    return price
