"""Addresses of one stream walked burst by burst: rows that it opens, and banks that it keeps busy.

Strides that are multiples of what the banks hold together meet few banks, which no formula for
runs at independent addresses sees.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import compiled

from ...arrays import Ints
from .device import DramChannel

#: bursts that are walked; patterns of strides repeat long before
WALKED: Final = 16384

#: bursts that a controller has in sight: 32 that wait and 8 in the queue of a bank, the defaults
#: of the simulator whose runs were recorded
WINDOW: Final = 40

#: rows of ``places[5, 2]``
_COLUMN, _GROUP, _BANK, _RANK, _ROW = range(5)


class Walked(NamedTuple):
    """What a walk found.

    Attributes:
        opened: rows that a burst opens on average.
        banks: banks among the bursts that a controller has in sight, on average.
        ranks: share of the ranks that are used.
    """

    opened: float
    banks: float
    ranks: float


def address_places(channel: DramChannel) -> Ints:
    """Return int64[5, 2]: for column, group, bank, rank and row the bursts that one step of it is
    apart, and how many there are.
    """
    sizes = {
        "column": channel.row_bytes // channel.burst_bytes,
        "group": channel.bank_groups,
        "bank": channel.banks_per_group,
        "rank": channel.ranks,
        "row": 2**40,
    }
    found = np.ones((5, 2), np.int64)
    step = 1
    for part in reversed(channel.address_map):
        found[("column", "group", "bank", "rank", "row").index(part)] = step, sizes[part]
        step *= sizes[part] if part != "row" else 1
    return found


@compiled
def walk(places: Ints, pattern: Ints, closed_page: bool) -> Walked:
    """Walk a stream.

    Args:
        places: of :func:`address_places`.
        pattern: int64[4], bytes of a run, of the stride between runs (0: they follow each other),
            runs until the walk goes on beside the first one, and bytes of a burst.
        closed_page: whether each burst opens its row.
    """
    run, stride, height, burst = pattern
    groups, per_group, ranks = places[_GROUP, 1], places[_BANK, 1], places[_RANK, 1]
    banks = groups * per_group * ranks
    row_of = np.full(banks, -1, np.int64)
    seen = np.full(banks, -1, np.int64)
    used = np.zeros(ranks, np.int64)
    opened, bursts, distinct, windows = 0, 0, 0, 0
    index = 0
    while bursts < WALKED:
        start = index * run
        if stride:
            start = (index % height) * stride + (index // height) * run
        index += 1
        for at in range(start // burst, (start + run - 1) // burst + 1):
            group = at // places[_GROUP, 0] % groups
            rank = at // places[_RANK, 0] % ranks
            bank = (rank * groups + group) * per_group + at // places[_BANK, 0] % per_group
            row = at // places[_ROW, 0]
            if closed_page or row_of[bank] != row:
                opened += 1
                row_of[bank] = row
            used[rank] = 1
            if seen[bank] != windows:
                seen[bank] = windows
                distinct += 1
            bursts += 1
            if bursts % WINDOW == 0:
                windows += 1
    return Walked(opened / bursts, distinct / max(1, windows), used.sum() / ranks)
