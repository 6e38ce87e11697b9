"""How long bursts of several streams take on one channel, and how many rows they open.

A stream is runs of consecutive bytes at addresses that do not depend on each other. Each limit of
the channel is the time that it needs for a burst, in slots: 1 is a burst in every slot of the bus.
"""

from typing import Final, NamedTuple

import numpy as np

from archloom.evaluators.jit import helper

from ...arrays import Floats
from .device import DramChannel

#: entries of ``figures[9]`` of a channel, as kernels read it; times are slots
(BURST_BYTES, ROW_BYTES, SPLIT, ACTIVATE, BANK_READ, BANK_WRITE, SAME_GROUP, GROUPS, TURN) = range(
    9
)
AHEAD, BURSTS_A_BYTE, ROWS_A_BYTE = 9, 10, 11
FIGURES: Final = 12


class Fitted(NamedTuple):
    """What the recorded runs say about a controller, for all devices alike.

    Attributes:
        conflicts: share of the time that all banks need if they get rows one after another.
        batch: bursts from one turn of the bus to the next, where half of them write: a quarter
            of it stands in for reads and writes that come in turns.
        ahead: bursts among which the controller looks for one to another bank group.
    """

    conflicts: float
    batch: float
    ahead: float


#: of two thirds of the recorded runs: ``python benchmarks/hardware/dram_accuracy.py --fit``
FITTED: Final = Fitted(conflicts=0.63, batch=26.6, ahead=53.6)


def channel_figures(channel: DramChannel, fitted: Fitted = FITTED) -> Floats:
    """Return float64[:data:`FIGURES`] of a channel."""
    t, slot = channel.timing, channel.slot_cycles
    banks = channel.ranks * channel.banks
    # JEDEC: four activates in tFAW, neighbours tRRD apart; GDDR6 (JESD250) also 32 in t32AW
    activate = max(t["tFAW"] / 4, t["tRRD_S"], t.get("t32AW", 0.0) / 32)
    # JEDEC: a bank that was written to may close tWR after the last of its data
    written = t["tRCD"] + t["CWL"] + channel.burst_cycles + t["tWR"] + t["tRP"]
    # JEDEC: a write follows a read CL - CWL later and tRTRS; a read waits tWTR after written data
    after_write = t["CWL"] + channel.burst_cycles + (t["tWTR_S"] + t["tWTR_L"]) / 2
    turn = t["CL"] - t["CWL"] + t["tRTRS"] + after_write
    figures = np.empty(FIGURES)
    figures[BURST_BYTES] = channel.burst_bytes
    figures[ROW_BYTES] = channel.row_bytes
    figures[BURSTS_A_BYTE] = 1.0 / channel.burst_bytes
    figures[ROWS_A_BYTE] = 1.0 / channel.row_bytes
    figures[SPLIT] = channel.bank_groups if channel.groups_low else 1
    figures[ACTIVATE] = activate / (channel.ranks * slot)
    figures[BANK_READ] = fitted.conflicts * channel.row_cycle / (banks * slot)
    figures[BANK_WRITE] = fitted.conflicts * max(channel.row_cycle, written) / (banks * slot)
    same = t["tCCD_L"] / slot
    figures[SAME_GROUP] = 0.0 if channel.groups_low or same <= 1.0 else same
    figures[GROUPS] = channel.bank_groups
    figures[TURN] = turn / slot / fitted.batch
    figures[AHEAD] = fitted.ahead
    return figures


@helper
def rows_of_run(figures: Floats, run_bytes: float) -> float:
    """Rows that a run of at least a burst opens: one in each bank group that its bursts are spread
    over, or as many as it fills.
    """
    bursts = run_bytes * figures[BURSTS_A_BYTE]
    return max(min(bursts, figures[SPLIT]), run_bytes * figures[ROWS_A_BYTE])


@helper
def slots_per_burst(
    figures: Floats, opened: float, writes: float, run_bytes: float, alike: float
) -> float:
    """Slots that a burst takes on average, without refresh; at least 1.

    Limits that are about as tight delay each other, so the largest is taken smoothly: the fourth
    root of the sum of fourth powers (assumption; the runs ask for an exponent of about 4).

    Args:
        figures: of the channel.
        opened: rows that a burst opens on average over all streams.
        writes: share of bursts that write.
        run_bytes: mean of the runs over bursts, each at most a row.
        alike: chance that the next burst belongs to the same run.
    """
    by_activates = opened * figures[ACTIVATE]
    by_banks = opened * ((1.0 - writes) * figures[BANK_READ] + writes * figures[BANK_WRITE])
    by_activates *= by_activates
    by_banks *= by_banks
    fourth = 1.0 + by_activates * by_activates + by_banks * by_banks
    if figures[SAME_GROUP] > 0.0:
        # bursts of a run lie in one bank group, so they come tCCD_L apart
        bursts = run_bytes * figures[BURSTS_A_BYTE]
        by_group = figures[SAME_GROUP] * bursts / (bursts + figures[AHEAD])
        by_group *= alike + (1.0 - alike) / figures[GROUPS]
        by_group *= by_group
        fourth += by_group * by_group
    return np.sqrt(np.sqrt(fourth)) + writes * (1.0 - writes) * figures[TURN]
