"""Many walks at once: what their moves leave behind, and that pricing in lanes changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from archloom.evaluators.loopnest.simd.inputs import simd_inputs
from archloom.evaluators.loopnest.simd.records import LANES
from archloom.search.mapping.simd.annealing import ROUND, TRIES, annealed
from archloom.search.mapping.simd.candidates import Block, Stand, mapping_of, new_block

from ....cases.random_kernel_inputs import random_setup
from ....cases.small_problems import drawn_problem
from ..exact.test_annealing import PROBLEMS, score, well_formed

BUDGETS = (1, 63, 64, 65, 700, ROUND * LANES)


def lane(walks: Block, i: int) -> tuple[np.ndarray, np.ndarray]:
    """The mapping at which a lane stands, from what the lane kernel reads."""
    levels = len(walks.nests)
    loops = np.ones((levels, 4, 8), np.int64)
    loops[:, :3] = walks.nests["factors"][..., i]
    loops[:, 3] = np.argsort(walks.nests["key"][..., i], axis=1)
    return loops, walks.nests["keep"][..., i].astype(np.uint8)


def stand(walks: Block, i: int) -> Stand:
    """The same as the search remembers it."""
    state, levels = walks.lanes[0], len(walks.nests)
    keys, keep = walks.nests["key"][..., i], walks.nests["keep"][..., i]
    return Stand(state["places"][:, i], keys, keep, state["ways"][:levels, i])


def same(one: Block, other: Block) -> bool:
    pairs = zip(
        (*one[:2], *one.best, one.least), (*other[:2], *other.best, other.least), strict=True
    )
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", PROBLEMS)
def test_lanes_stay_well_formed_and_know_their_scores(name: str) -> None:
    setup = PROBLEMS[name].setup
    walks, done = new_block(setup), 0
    for budget in BUDGETS:
        walks, done = annealed(setup, walks, 5, done, budget), done + budget
        for i in range(0, LANES, 3):
            loops, keep = lane(walks, i)
            assert well_formed(setup, loops, keep)
            again = mapping_of(setup, stand(walks, i))
            assert np.array_equal(loops, again[0])
            assert np.array_equal(keep, again[1])
            if np.isfinite(walks.lanes[0]["scores"][i]):
                found = score(setup, loops, keep)
                assert walks.lanes[0]["scores"][i] == pytest.approx(found, rel=1e-12)
        best = mapping_of(setup, walks.best)
        assert well_formed(setup, *best)
        assert walks.least[0] == pytest.approx(score(setup, *best), rel=1e-12)
        assert walks.least[0] <= walks.lanes[0]["scores"].min()


def test_lanes_of_a_walk_stand_together() -> None:
    setup = PROBLEMS["eyeriss"].setup
    walks = annealed(setup, new_block(setup), 0, 0, 40 * LANES)
    for name in ("factors", "key", "keep"):
        rows = walks.nests[name].reshape(-1, LANES // TRIES, TRIES)
        assert (rows == rows[..., :1]).all()
    scores = walks.lanes[0]["scores"].reshape(-1, TRIES)
    assert (scores == scores[:, :1]).all()
    assert len(np.unique(scores)) > LANES // TRIES // 2


def test_walks_change_every_kind_of_choice() -> None:
    setup = PROBLEMS["bypass"].setup
    seen: list[set[bytes]] = [set() for _ in range(5)]
    for step in range(1, 30):
        walks = annealed(setup, new_block(setup), 2, 0, step * LANES)
        for i in range(0, LANES, TRIES):
            loops, keep = lane(walks, i)
            for kind in range(4):
                seen[kind].add(loops[:, kind].tobytes())
            seen[4].add(keep.tobytes())
    assert all(len(s) > 4 for s in seen)


def kernel_finds_as_much(number: int, search: Callable[..., Any]) -> bool:
    """Whether a search of lanes finds the same where they do not cover a setup, for prices of
    nothing that only the kernel reads.
    """
    setup = random_setup(np.random.default_rng(number))
    setup = drawn_problem(number).setup if number % 2 else setup
    free = np.zeros(len(setup.fanout))
    setup = setup._replace(hop_pj=free, router_pj=free, address_pj=free, used_leakage_pj=free)
    covered, other = setup._replace(extras=None), setup._replace(extras=1)
    assert simd_inputs(covered) is not None
    assert simd_inputs(other) is None
    by_lanes = search(covered, new_block(covered), number, 0, 3000)
    return same(by_lanes, search(other, new_block(other), number, 0, 3000))


@pytest.mark.parametrize("number", range(40))
def test_the_kernel_finds_what_lanes_find(number: int) -> None:
    """Where lanes do not cover a setup, candidates are priced one by one; nothing else differs."""
    assert kernel_finds_as_much(number, annealed)


def test_a_round_begins_from_the_incumbent_or_from_scratch() -> None:
    setup = PROBLEMS["eyeriss"].setup
    walks = annealed(setup, new_block(setup), 1, 0, ROUND * LANES)
    assert (walks.lanes[0]["scores"] == walks.least[0]).all()
    loops, _ = lane(walks, 7)
    assert np.array_equal(loops, mapping_of(setup, walks.best)[0])
    walks = annealed(setup, walks, 1, ROUND * LANES, ROUND * LANES)
    assert np.isinf(walks.lanes[0]["scores"]).all()
    assert (walks.nests["factors"][:-1] == 1).all(), "every loop at DRAM"
