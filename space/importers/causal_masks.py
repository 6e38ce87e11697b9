"""Causal masks among the constants of a model: which pairs of a query and a key they leave."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from archloom.space.workload import no_causal_mask

#: What is added to scores that are dropped is at most this: the least that half precision takes
#: is -65504 (IEEE 754), and masks of BERT hold -1e4.
LOW: Final = -1e4


def added_window(added: NDArray[Any] | None) -> int | None:
    """Return the window of a causal mask that is added to scores; None if it is none."""
    return None if added is None else causal_window(added > LOW)


def causal_window(seen: NDArray[np.bool_] | None) -> int | None:
    """Return how many keys a query sees at the most, 0 for all before it; None for another mask.

    Args:
        seen: of shape (..., queries, keys), whether a query sees a key; the same for all heads. The
            last query's own key is the last one, as of :class:`archloom.space.workload.Mask`.
    """
    if seen is None or seen.ndim < 2 or not seen.size:
        return None
    queries, keys = seen.shape[-2:]
    each = seen.reshape(-1, queries, keys)
    first = each[0]
    window = int(first[-1].sum()) % keys
    if first.all() or no_causal_mask(queries, keys, window):
        return None
    behind = np.arange(queries)[:, None] + keys - queries - np.arange(keys)
    expected = (behind >= 0) & ((behind < window) | (not window))
    return window if bool((each == expected).all()) else None
