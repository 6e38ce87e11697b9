"""The lane kernel against the kernel: the same verdicts, energies and cycles, in every bit."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from archloom.evaluators.loopnest.kernel import (
    OVER_CAPACITY,
    OVER_FANOUT,
    VALID,
    evaluate_batch,
    evaluate_one,
)
from archloom.evaluators.loopnest.kernel_inputs import (
    EXPOSED,
    OVERLAPPED,
    KernelInputs,
    new_workspace,
    unlimited,
)
from archloom.evaluators.loopnest.simd.batch_kernel import CHUNK, evaluate_simd
from archloom.evaluators.loopnest.simd.inputs import EXACT, TABLE, simd_inputs
from archloom.evaluators.loopnest.simd.records import LANES
from archloom.space.workload.dims import DIMS, INPUTS, RELEVANT, WEIGHTS, C, K, P, Q

from ....cases.random_kernel_inputs import random_candidates, random_setup
from ....cases.sweeps import sweep

Int = NDArray[np.int64]
Flags = NDArray[np.uint8]


def assert_equal(setup: KernelInputs, loops: Int, keep: Flags) -> NDArray[np.int8]:
    """Hold lanes against the kernel and return the verdicts."""
    lanes, one_by_one = evaluate_simd(setup, loops, keep), evaluate_batch(setup, loops, keep)
    for ours, theirs in zip(lanes, one_by_one, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    return lanes[0]


@pytest.mark.parametrize("batch", sweep(range(12), 4))
def test_lanes_and_kernel_agree_in_every_bit(batch: int) -> None:
    seen = set()
    for seed in range(60 * batch, 60 * batch + 60):
        rng = np.random.default_rng(seed)
        setup = random_setup(rng)
        assert simd_inputs(setup) is not None
        seen |= set(assert_equal(setup, *random_candidates(rng, setup, 90)).tolist())
    assert seen == {VALID, OVER_CAPACITY, OVER_FANOUT}


FEATURES = {
    "units": lambda s: s.unit.max() > 1,
    "widths": lambda s: s.width.max() > 1,
    "clusters": lambda s: s.cluster.max() > 1,
    "no multicast": lambda s: s.multicast.min() == 0,
    "staged operands": lambda s: s.staged.max() > 0,
    "ports": lambda s: np.isfinite(s.bandwidth).any(),
    "zeros": lambda s: s.served.min() < 1 and s.busy < 1,
    "bypass": lambda s: s.optional.max() > 0,
    "private buffers": lambda s: s.capacity.max() >= 0,
    "shared buffers": lambda s: s.shared.max() >= 0,
    "exposed fill": lambda s: s.fill_drain == EXPOSED,
    "overlapped fill": lambda s: s.fill_drain == OVERLAPPED,
    "strides": lambda s: s.window[:, 0].max() > 1,
    "dilations": lambda s: s.window[:, 1].max() > 1,
    "groups": lambda s: s.bounds[1] > 1,
    "padding that is not fetched": lambda s: simd_inputs(s).problem["cut"][0],
    "diagonals": lambda s: simd_inputs(s).levels["crossed"].any(),
    "one level": lambda s: len(s.fanout) == 1,
    "six levels": lambda s: len(s.fanout) == 6,
}


def test_the_setups_have_every_feature_with_valid_candidates() -> None:
    valid = dict.fromkeys(FEATURES, 0)
    for seed in range(240):
        rng = np.random.default_rng(seed)
        setup = random_setup(rng)
        status = evaluate_batch(setup, *random_candidates(rng, setup, 90))[0]
        for name, has in FEATURES.items():
            valid[name] += int((status == VALID).sum()) if has(setup) else 0
    assert min(valid.values()) > 150, valid


def test_what_a_candidate_does_although_the_setup_does_not_allow_it_counts_too() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        setup = random_setup(rng)
        loops, keep = random_candidates(rng, setup, 70)
        bare = setup._replace(
            allowed=np.zeros_like(setup.allowed),
            optional=np.zeros_like(setup.optional),
            fanout=np.ones_like(setup.fanout),
            instances=np.ones_like(setup.instances),
        )
        assert_equal(bare, loops, keep)


@pytest.mark.parametrize("count", [0, 1, LANES - 1, LANES, LANES + 1, CHUNK * LANES + 1])
def test_any_number_of_candidates(count: int) -> None:
    rng = np.random.default_rng(7)
    setup = random_setup(rng)
    status = assert_equal(setup, *random_candidates(rng, setup, count))
    assert len(status) == count


def test_a_candidate_costs_the_same_in_any_lane() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        setup = random_setup(rng)
        loops, keep = random_candidates(rng, setup, 300)
        order = rng.permutation(300)
        straight = evaluate_simd(setup, loops, keep)
        shuffled = evaluate_simd(setup, loops[order], keep[order])
        for one, other in zip(straight, shuffled, strict=True):
            assert np.array_equal(one[order], other)


def words(setup: KernelInputs, level: int, tensor: int, kind: str, loops: Int, keep: Flags) -> Int:
    """Return the words that one kind of access moves, as the energy of accesses that cost 1."""
    costs = {f"{name}_pj": np.zeros((len(setup.fanout), 3)) for name in ("read", "fill", "update")}
    costs[f"{kind}_pj"][level, tensor] = 1.0
    status, energy, _, _ = evaluate_simd(setup._replace(**costs), loops, keep)
    assert (status == VALID).all()
    return energy.astype(np.int64)


def test_loops_that_never_concern_a_tensor_do_not_fetch_it_again() -> None:
    """All sets of loops above a buffer, in orders of all kinds.

    A sentinel for "no relevant loop" that does not exceed every key would multiply the fetches
    of a tensor by loops that it does not depend on.
    """
    sets = np.array(list(product((1, 2), repeat=8)), np.int64)
    orders = [np.roll(np.arange(8), shift)[::step] for shift in range(8) for step in (1, -1)]
    for order in orders:
        loops = np.ones((len(sets), 2, 4, 8), np.int64)
        loops[:, :, 3] = order
        loops[:, 1, 0] = sets
        loops[:, 0, 0] = 2 // sets
        setup = unlimited(np.full(8, 2), np.array([[1, 1, 0, 3]] * 2), 2)
        keep = np.ones((len(sets), 2, 3), np.uint8)
        assert_equal(setup, loops, keep)
        turning = sets[:, order] > 1
        for tensor in (WEIGHTS, INPUTS):
            concerned = turning & np.array(RELEVANT[tensor])[order]
            never = ~concerned.any(axis=1)
            fills = words(setup, 0, tensor, "fill", loops, keep)[never]
            # the tile is everything then: 2 of each dimension, rows and columns of 2 + 2 - 1
            assert (fills == (32 if tensor == WEIGHTS else 8 * 9)).all()
            assert len(fills) == 2 ** (8 - sum(RELEVANT[tensor]))


def vocabulary(**bounds: int) -> KernelInputs:
    """Return three levels without limits for a layer with the given bounds."""
    sizes = [bounds.get(d, 1) for d in DIMS]
    window = [[1, 1, 0, sizes[P] + sizes[6] - 1], [1, 1, 0, sizes[Q] + sizes[7] - 1]]
    base = unlimited(np.array(sizes, np.int64), np.array(window, np.int64), 3)
    return base._replace(
        fanout=np.array([[1, 1], [2**20, 2**20], [1, 1]]),
        read_pj=np.full((3, 3), 1.25),
        fill_pj=np.full((3, 3), 0.75),
        update_pj=np.full((3, 3), 2.5),
        width=np.array([[1, 3, 7]] * 3),
        bandwidth=np.array([[3.0, 5.0, 7.0]] * 3),
    )


@pytest.mark.parametrize(
    "bounds",
    [
        {"K": 128256, "C": 4096, "P": 2048},  # the output layer of Llama 3 8B: 1.1e12 MACs
        {"K": 65537, "C": 65537},  # primes
        {"K": 2**20, "C": 2**20},
        {"N": 512, "K": 512, "C": 512, "P": 112, "Q": 112, "R": 3, "S": 3},  # 1.5e13 MACs
    ],
)
def test_large_layers_are_exact(bounds: dict[str, int]) -> None:
    setup = vocabulary(**bounds)
    assert simd_inputs(setup) is not None
    rng = np.random.default_rng(0)
    loops, keep = random_candidates(rng, setup, 200)
    status = assert_equal(setup, loops, keep)
    assert (status == VALID).sum() > 100
    valid = status == VALID
    loops, keep = loops[valid][:20], keep[valid][:20]
    found = new_workspace(3)
    plain = setup._replace(width=np.ones((3, 3), np.int64), mac_pj=0.0)
    for t in range(3):
        fills = words(plain, 1, t, "fill", loops, keep)
        for i in range(len(loops)):
            evaluate_one(plain, loops[i], keep[i], found)
            assert fills[i] == found.counts[1, t, 1]


def test_counts_beyond_the_integers_of_a_float_go_to_the_kernel() -> None:
    setup = vocabulary(K=2**26, C=2**24, P=8)
    assert setup.bounds.prod() > EXACT
    assert simd_inputs(setup) is None
    rng = np.random.default_rng(0)
    loops, keep = random_candidates(rng, setup, 50)
    assert (assert_equal(setup, loops, keep) == VALID).any()


def test_tables_that_would_be_too_large_go_to_the_kernel() -> None:
    setup = vocabulary(P=4096, R=512)
    assert TABLE < 4096 * 512
    assert simd_inputs(setup) is None
    assert_equal(setup, *random_candidates(np.random.default_rng(0), setup, 50))


def test_factors_beyond_the_bounds_go_to_the_kernel() -> None:
    rng = np.random.default_rng(5)
    setup = random_setup(rng)
    loops, keep = random_candidates(rng, setup, 70)
    loops[:, -1, 0, C] *= 2
    loops[::2, 0, 0, K] *= 3
    assert_equal(setup, loops, keep)


def test_networks_addresses_and_leakage_go_to_the_kernel() -> None:
    rng = np.random.default_rng(11)
    setup = random_setup(rng, largest=300)
    levels = len(setup.fanout)
    prices = {f"{name}_pj": rng.random(levels) for name in ("hop", "router", "address")}
    setup = setup._replace(**prices, used_leakage_pj=rng.random(levels), extras=1)
    assert simd_inputs(setup) is None
    assert_equal(setup, *random_candidates(rng, setup, 100))
