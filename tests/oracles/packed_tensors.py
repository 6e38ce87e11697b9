"""Random weights, packed entry by entry, and what that takes in the mean.

Independent of: the formulas of formats; streams are cut into entries, and means are sums over all
runs that there are.
"""

from fractions import Fraction
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

RUN, OFFSET = 5, 32


def random_weights(
    rng: np.random.Generator, rows: int, row_words: int, share: float
) -> NDArray[np.bool_]:
    """Return which weights are not zero: just that share of them, anywhere."""
    places = np.zeros(rows * row_words, np.bool_)
    places[rng.permutation(len(places))[: round(share * len(places))]] = True
    return places.reshape(rows, row_words)


def packed_bits(kind: str, word_bits: int, weights: NDArray[np.bool_]) -> int:
    """Return the bits of a tensor in a format."""
    if kind == "bitmask":
        return sum(1 + word_bits * int(full) for full in weights.flat)
    if kind == "run_length":
        return (RUN + word_bits) * _entries(weights.ravel())
    if kind == "csr":
        rows, row_words = weights.shape
        columns = [ceil(log2(row_words))] * int(weights.sum())
        return sum(word_bits + column for column in columns) + OFFSET * rows
    raise ValueError(kind)


def _entries(stream: NDArray[np.bool_]) -> int:
    """Pairs of a run of up to 31 zeros and a value, which is a zero after 31 others."""
    made, zeros = 0, 0
    for full in stream:
        if full or zeros == 2**RUN - 1:
            made, zeros = made + 1, 0
        else:
            zeros += 1
    return made + (zeros > 0)


def expected_bits(kind: str, word_bits: int, share: Fraction, row_words: int) -> Fraction:
    """Return the bits of one of endlessly many weights, each full with the same probability."""
    if kind == "bitmask":
        return (1 - share) * 1 + share * (1 + word_bits)
    if kind == "csr":
        return share * (word_bits + ceil(log2(row_words))) + Fraction(OFFSET, row_words)
    zero, most = 1 - share, 2**RUN
    # an entry of n words: n - 1 zeros and a value, or nothing but zeros
    words = sum(n * zero ** (n - 1) * share for n in range(1, most)) + most * zero ** (most - 1)
    return (RUN + word_bits) / words
