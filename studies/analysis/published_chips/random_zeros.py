"""What zeros at random places cost hardware that skips them, which an even spread does not show.

The model divides zeros evenly: each child of a mesh gets the same share, and vectors are full.
Zeros that are independent of each other leave vectors partly filled, and children that finish
early wait for the last one. Distributions are arrays: the probability of 0, 1, 2 and so on.
"""

from math import lgamma

import numpy as np
from numpy.typing import NDArray

Distribution = NDArray[np.float64]


def counted(words: int, share: float) -> Distribution:
    """Return how many of so many words are not zero: a binomial distribution."""
    if share in (0.0, 1.0):
        sure = np.zeros(words + 1)
        sure[round(words * share)] = 1.0
        return sure
    k = np.arange(words + 1)
    choose = lgamma(words + 1) - np.array([lgamma(i + 1) + lgamma(words - i + 1) for i in k])
    found: Distribution = np.exp(choose + k * np.log(share) + (words - k) * np.log1p(-share))
    return found


def in_vectors(words: Distribution, width: int) -> Distribution:
    """Return how many vectors of ``width`` such a number of words fills, the last one in part."""
    found = np.zeros(-(-(len(words) - 1) // width) + 1)
    np.add.at(found, -(-np.arange(len(words)) // width), words)
    return found


def mixed(share: float, cost: Distribution) -> Distribution:
    """Return a cost that is only paid with the probability ``share``."""
    found = share * cost
    found[0] += 1 - share
    return found


def summed(cost: Distribution, times: int) -> Distribution:
    """Return the sum of so many independent costs."""
    size = times * (len(cost) - 1) + 1
    # the transform of a sum of independent numbers is the product of their transforms
    found: Distribution = np.fft.irfft(np.fft.rfft(cost, 2 * size) ** times, 2 * size)[:size]
    return np.maximum(found, 0.0)


def mean(cost: Distribution) -> float:
    """Return the mean."""
    return float(cost @ np.arange(len(cost)))


def mean_of_largest(cost: Distribution, children: int) -> float:
    """Return the mean of the largest of so many independent costs: what all wait for."""
    below = np.minimum(np.cumsum(cost), 1.0)
    # the mean of a count is the sum of P(count > n)
    return float(np.sum(1 - below**children))
