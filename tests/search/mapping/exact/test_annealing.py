"""The compiled moves: what they leave behind, and the generator under them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from archloom.evaluators.loopnest.data_reuse import ORDER
from archloom.evaluators.loopnest.kernel import VALID, evaluate_batch
from archloom.evaluators.loopnest.kernel_inputs import KernelInputs
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.mapping.exact.annealing import RESTART, anneal, first_mapping
from archloom.space.design_space.presets import preset

from ....cases.small_designs import casco_edge, conv, resnet_conv, three_levels, two_levels

PROBLEMS = {
    "two levels": MappingProblem.of_layer(conv(size=6), two_levels()),
    "bypass": MappingProblem.of_layer(conv(), three_levels(optional=True)),
    "eyeriss": MappingProblem.of_layer(resnet_conv(), preset("eyeriss")),
    "edge": MappingProblem.of_layer(resnet_conv(), casco_edge()),
}


class Walk:
    """The arrays of one walk."""

    def __init__(self, setup: KernelInputs, seed: int) -> None:
        self.setup, self.done = setup, 0
        self.now, self.best = first_mapping(setup), first_mapping(setup)
        self.rng = np.array([seed], np.uint64)

    def anneal(self, budget: int) -> None:
        anneal(self.setup, self.now, self.best, self.rng, self.done, budget)
        self.done += budget


def score(setup: KernelInputs, loops: NDArray[np.int64], keep: NDArray[np.uint8]) -> float:
    """Ln EDP by the batch kernel."""
    status, energy, chip, dram = evaluate_batch(setup, loops[None], keep[None])
    assert status[0] == VALID
    cycles = max(chip[0], dram[0])
    return float(np.log(energy[0] + setup.leakage_pj * cycles) + np.log(cycles))


def well_formed(setup: KernelInputs, loops: NDArray[np.int64], keep: NDArray[np.uint8]) -> bool:
    """Factors multiply to the bounds, orders are permutations, the mask is an allowed one."""
    factors = loops[:, :ORDER].prod(axis=(0, 1))
    permuted = np.sort(loops[:, ORDER], axis=1) == np.arange(8)
    forced = (setup.optional == 0) & (keep != setup.allowed)
    closed = (loops[:, 1:3] > 1) & (setup.spatial == 0)
    return bool(
        (factors == setup.bounds).all()
        and permuted.all()
        and not forced.any()
        and not closed.any()
        and (keep <= setup.allowed).all()
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_first_mapping_always_fits(name: str) -> None:
    setup = PROBLEMS[name].setup
    walk = Walk(setup, 0)
    assert well_formed(setup, walk.now.loops, walk.now.keep)
    assert np.isfinite(score(setup, walk.now.loops, walk.now.keep))


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_walk_stays_well_formed_and_knows_its_scores(name: str) -> None:
    setup = PROBLEMS[name].setup
    walk = Walk(setup, 11)
    for budget in (1, 1, 5, 90, RESTART, 250, RESTART):
        walk.anneal(budget)
        assert well_formed(setup, walk.now.loops, walk.now.keep)
        assert well_formed(setup, walk.best.loops, walk.best.keep)
        now = [
            score(setup, walk.now.loops, walk.now.keep),
            score(setup, walk.best.loops, walk.best.keep),
        ]
        assert [walk.now.score[0], walk.best.score[0]] == pytest.approx(now, rel=1e-12)
        assert walk.best.score[0] <= walk.now.score[0]


def test_a_walk_changes_every_kind_of_choice() -> None:
    """Over a short hot walk factors, orders, spatial factors and the mask all move."""
    setup = PROBLEMS["bypass"].setup
    walk = Walk(setup, 2)
    seen: list[set[bytes]] = [set() for _ in range(5)]
    for _ in range(1500):
        walk.anneal(1)
        for kind in range(4):
            seen[kind].add(walk.now.loops[:, kind].tobytes())
        seen[4].add(walk.now.keep.tobytes())
    # two orders matter (glb, dram), and the mask has three free bits
    assert all(len(s) > 4 for s in seen)


def test_a_warm_restart_goes_on_from_the_incumbent() -> None:
    walk = Walk(PROBLEMS["eyeriss"].setup, 1)
    walk.anneal(RESTART)
    best = walk.best.score[0]
    walk.anneal(1)
    # half as hot as a cold one, and one move away from the incumbent
    assert walk.now.score[0] == best or not np.array_equal(walk.now.loops, walk.best.loops)
    walk.anneal(RESTART - 1)
    walk.anneal(1)
    assert (walk.now.loops[:-1, :ORDER] == 1).all(), "a cold restart begins with every loop at DRAM"


def test_the_weights_of_the_objective_are_obeyed() -> None:
    """With energy alone it finds less energy than with latency alone, and the reverse."""
    setup = PROBLEMS["edge"].setup
    energies, latencies = [0.0, 0.0], [0.0, 0.0]
    for i, weights in enumerate(((1.0, 0.0), (0.0, 1.0))):
        for seed in range(5):
            walk = Walk(setup._replace(weights=np.array(weights)), seed)
            walk.anneal(4000)
            best = (walk.best.loops[None], walk.best.keep[None])
            _, energy, chip, dram = evaluate_batch(setup, *best)
            cycles = max(chip[0], dram[0])
            energies[i] += energy[0] + setup.leakage_pj * cycles
            latencies[i] += cycles
    assert energies[0] < energies[1]
    assert latencies[1] < latencies[0]
