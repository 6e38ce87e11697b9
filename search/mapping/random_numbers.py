"""Random numbers of searches in kernels: a state of one word, seeded by study and problem."""

import numpy as np

from archloom.evaluators import Words
from archloom.evaluators.jit import helper


@helper
def uniform(rng: Words) -> float:
    """Return a number from 0 to 1 (splitmix64; Steele et al., OOPSLA 2014)."""
    rng[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return float(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@helper
def below(rng: Words, n: int) -> int:
    """Return a whole number below ``n``."""
    return int(uniform(rng) * n)
