"""Designs that are searched again: what certificates learn from a second, better search of them."""

import numpy as np
import pytest

from archloom.search.hardware.protocol import Observation
from archloom.search.pareto import dominated_by, non_dominated

from .test_any_budget import World, world


def fresh(seed: int) -> World:
    """Return a world that no other test sees."""
    made: World = world.__wrapped__(seed)
    return made


def _distinct(rows: np.ndarray) -> list[list[float]]:
    return sorted(map(list, {tuple(row) for row in rows.tolist()}))


@pytest.mark.parametrize("seed", range(200))
def test_all_that_was_found_and_proven_holds(seed: int) -> None:
    """A second search finds something better, worse, or neither; and proves something, or not."""
    known = fresh(seed)
    pruner, rng = known.pruner, np.random.default_rng(1000 + seed)
    again = [int(key) for key in pruner.undecided()]
    changing = known.changing & known.measured
    assert sorted(again) == np.flatnonzero(changing).tolist()
    before = pruner.measured
    least, found = known.tight.copy(), [*known.costs[known.kept]]
    for i in again:
        if rng.random() < 0.3:
            continue
        share = rng.integers(0, 3) / 2
        cost = known.tight[i] + share * (known.costs[i] - known.tight[i]) + (rng.random() < 0.2)
        proven = known.tight[i] + rng.random() * (cost - known.tight[i])
        proven = cost if rng.random() < 0.4 else np.minimum(proven, known.costs[i])
        proven = np.minimum(proven, known.costs[i])
        observation = Observation({"design": i}, tuple(cost.tolist()), 1, None, (-0.2,))
        pruner.tell_again(observation, tuple(proven.tolist()))
        least[i] = np.maximum(least[i], proven)
        found.append(cost)
    rows = np.array(found).reshape(len(found), known.tight.shape[1])
    front = rows[non_dominated(rows)] if len(rows) else rows
    open_after = [
        i
        for i in np.flatnonzero(known.measured & ~known.never)
        if not dominated_by(front, least[i][None])[0]
    ]
    assert sorted(int(key) for key in pruner.undecided()) == open_after
    proof = pruner.certificate()
    assert proof is not None
    assert pruner.measured == before
    assert proof.undecided == len(open_after)
    assert _distinct(pruner._front) == _distinct(front)
    # what remains open at this budget is what the better front does not exclude
    rest = ~known.measured & ~known.never
    assert proof.open <= int(rest.sum())


def test_what_could_add_most_comes_first() -> None:
    """A design whose bound is far below the front before one whose bound is just below it."""
    for seed in range(60):
        known = fresh(seed)
        keys = [int(key) for key in known.pruner.undecided()]
        if len(keys) < 2 or not len(known.front):
            continue
        front = np.log(known.front)
        margins = [min((member - np.log(known.tight[i])).max() for member in front) for i in keys]
        assert margins == sorted(margins, reverse=True)
