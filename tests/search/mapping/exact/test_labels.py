"""Labels that make others useless: the lemma, on all mappings of small problems.

A mapping is cut in two at a level: loops up to it (a label) and loops outside (a continuation).
Every pair of a label and a continuation of one state is priced by the batch kernel, which knows
nothing of labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import permutations
from math import inf

import numpy as np
import pytest

from archloom.evaluators.loopnest.data_reuse import ORDER
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs

from ....cases.small_problems import OBJECTIVES, all_loops, along_axes, drawn_filled
from ....oracles.enumerated_mappings import kept

#: dimensions that each tensor depends on, as theorem 1 of the proofs has them
DEPENDS = ((1, 2, 3, 6, 7), (0, 1, 3, 4, 5, 6, 7), (0, 1, 2, 4, 5))
MOST_ROWS = 30_000
#: row of a mapping by state, label and continuation
States = defaultdict[object, defaultdict[object, dict[object, int]]]


def setups() -> Iterator[KernelInputs]:
    """Problems of at least three levels whose array fills, with ports that never wait."""
    for number in range(90):
        setup = along_axes(drawn_filled(number), both=False).setup
        if len(setup.fanout) >= 3:
            yield setup._replace(bandwidth=np.full_like(setup.bandwidth, inf))


def loops_at(row: np.ndarray) -> tuple[tuple[int, ...], ...]:
    """Loops of each level that have steps, from the innermost."""
    steps = (((int(d), int(level[0, d])) for d in level[ORDER]) for level in row)
    return tuple(tuple(loop for loop in each if loop[1] > 1) for each in steps)


def first_open(row: np.ndarray, keep: np.ndarray, cut: int) -> tuple[int, ...]:
    """Innermost keeper of each tensor whose run goes on outside of the cut."""
    found = []
    for t, dims in enumerate(DEPENDS):
        moved = [level for level in range(1, cut + 1) if (row[level, 0, list(dims)] > 1).any()]
        begin = max(moved, default=0)
        found.append(next((at for at in range(begin, cut + 1) if keep[at, t]), cut + 1))
    return tuple(found)


def states(setup: KernelInputs, keep: np.ndarray) -> Iterator[tuple[bool, np.ndarray, np.ndarray]]:
    """Energies and cycles [label, continuation] by state, and whether the array waits there."""
    loops = all_loops(setup)
    if len(loops) > MOST_ROWS:
        return
    keeps = np.broadcast_to(keep, (len(loops), *keep.shape)).copy()
    status, energy, chip, dram = evaluate_batch(setup, loops, keeps)
    rows = np.flatnonzero(status == VALID)
    for cut in range(1, len(setup.fanout) - 1):
        found: dict[object, dict[object, dict[object, int]]] = defaultdict(
            lambda: defaultdict(dict)
        )
        for i in rows:
            row, nest = loops[i], loops_at(loops[i])
            opened = first_open(row, keep, cut)
            tile = tuple(row[: cut + 1, 0].prod(axis=0))
            state = (row[:, 1:3].tobytes(), tile, opened)
            found[state][nest[: cut + 1]][nest[cut + 1 :]] = i
        for (_, _, opened), labels in found.items():
            both = [sorted(each.items(), key=repr) for each in labels.values()]
            assert len({tuple(key for key, _ in each) for each in both}) == 1
            at = np.array([[i for _, i in each] for each in both])
            waits = any(begin == 0 and keep[0, t] for t, begin in enumerate(opened))
            yield waits, energy[at], np.maximum(chip, dram)[at]


def test_a_label_that_is_no_worse_is_no_worse_with_every_continuation() -> None:
    """And of labels that cost less but fill later, some are worse: what fills must be compared."""
    pairs = waiting = misled = 0
    for setup in setups():
        for keep in kept(setup):
            for waits, energy, cycles in states(setup, keep):
                for a, b in permutations(range(len(energy)), 2):
                    pairs += 1
                    # what a label costs is added to what a continuation costs
                    less = energy[a] - energy[b]
                    assert less == pytest.approx(less[0], abs=1e-9 * energy[a].max())
                    sooner = cycles[a] - cycles[b]
                    if waits:
                        # what loads the array is still open: the continuation says how often
                        assert (sooner == 0).all()
                        waiting += 1
                    # else it is known: the same difference with every continuation
                    assert (sooner == sooner[0]).all()
                    if less[0] <= 0:
                        more = scores(setup, energy[a], cycles[a])
                        more -= scores(setup, energy[b], cycles[b])
                        assert sooner[0] > 0 or more.max() <= 1e-9
                        misled += bool(more.max() > 1e-9)
    assert (pairs > 5000, waiting > 1000, misled > 100) == (True,) * 3


def scores(setup: KernelInputs, energy: np.ndarray, cycles: np.ndarray) -> np.ndarray:
    """Scores [objective, continuation]."""
    whole = energy + setup.leakage_pj * cycles
    return np.array([w[0] * np.log(whole) + w[1] * np.log(cycles) for w in OBJECTIVES.values()])
