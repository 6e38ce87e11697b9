"""Ways to keep tensors in levels that mappings may bypass, each as a design that leaves no choice.

Every mapping is one of such a design. So the least of what holds for each of them holds for all
(docs/explanation/bounds_proofs.md, lemma 12).
"""

from itertools import product
from typing import Final

import numpy as np

from ..level_capacity import Design

#: choices, one for each tensor and level, beyond which there are too many ways
_MOST_CHOICES: Final = 6


def leaves_choice(design: Design) -> bool:
    """Whether mappings may bypass some level."""
    return bool((design.may != design.must).any())


def ways_to_keep(design: Design) -> list[Design]:
    """Return the design once for each way to keep tensors; as it is if there are too many."""
    choices = np.argwhere(design.may != design.must)
    if len(choices) > _MOST_CHOICES:
        return [design]
    ways = []
    for kept in product((1, 0), repeat=len(choices)):
        must = design.must.copy()
        must[tuple(choices.T)] = kept
        ways.append(design._replace(must=must, may=must, tiled=design.tiled * must))
    return ways
