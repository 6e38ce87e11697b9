from importlib import import_module

import numpy as np
import torch

from archloom.search.hardware.bayesian.monte_carlo import MonteCarlo
from archloom.surrogates.gp import GaussianProcess
from archloom.surrogates.posterior import EncodedDesigns, Posterior


def designs(n: int, seed: int) -> EncodedDesigns:
    rng = np.random.default_rng(seed)
    return EncodedDesigns(rng.random((n, 2)), rng.random((n, 3)), np.empty((n, 0)))


def task(kind: str, seed: int = 0) -> MonteCarlo:
    """Two unknown objectives and a known one between them."""
    seen = designs(16, 9)
    above = 0.3 * seen.inputs + 0.05 * np.sin(9 * seen.inputs)
    processes = [GaussianProcess.fit(seen.inputs, above[:, j]) for j in range(2)]
    truth = seen.ln_least + np.column_stack([above[:, 0], np.zeros(16), above[:, 1]])
    front = [i for i, row in enumerate(truth) if not (truth < row).all(axis=1).any()]
    posterior = Posterior((processes[0], None, processes[1]), truth[front], np.full(3, 1.2))
    return MonteCarlo(kind, posterior, seen[np.array(front)], seed)  # type: ignore[arg-type]


def test_the_first_choice_is_that_of_the_closed_form() -> None:
    some, none = designs(60, 1), designs(0, 1)
    nehvi = task("qlognehvi")
    assert nehvi.best(some, 1, none) == nehvi.posterior.best(some, 1)


def test_sums_are_those_of_any_machine() -> None:
    """BoTorch's kernel for the machine at hand, which rounds otherwise, is not compiled."""
    task("qlognehvi").best(designs(20, 1), 2, designs(0, 1))
    assert vars(import_module("botorch.acquisition.multi_objective.logei"))["_C"] is None


def test_a_batch_does_not_bet_on_one_design_twice() -> None:
    some, none = designs(40, 2), designs(0, 1)
    best = task("qlognehvi").best(some, 1, none)[0]
    doubled = some[np.array([*range(40), best])]
    assert len({best, 40} & set(task("qlognehvi").best(doubled, 3, none))) == 1


def test_what_is_in_flight_counts_as_chosen() -> None:
    some, none = designs(40, 3), designs(0, 1)
    first, second = task("qlognehvi").best(some, 2, none)
    rest = np.delete(np.arange(40), first)
    after = task("qlognehvi").best(some[rest], 1, some[np.array([first])])
    assert rest[after[0]] == second


def test_scalarisations_differ_from_seed_to_seed_and_leave_the_global_generator() -> None:
    some, none = designs(60, 4), designs(0, 1)
    before = torch.random.get_rng_state()
    batches = [task("qlognparego", seed).best(some, 4, none) for seed in range(4)]
    assert len({tuple(b) for b in batches}) > 1
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_front_of_one_design_is_improved_with_nothing_in_flight() -> None:
    nehvi, some, none = task("qlognehvi"), designs(30, 5), designs(0, 1)
    best = int(np.argmin(nehvi.posterior.front.sum(axis=1)))
    posterior = Posterior(
        nehvi.posterior.processes, nehvi.posterior.front[[best]], nehvi.posterior.reference
    )
    alone = MonteCarlo("qlognehvi", posterior, nehvi.observed[np.array([best])], 0)
    assert len(set(alone.best(some, 3, none))) == 3


def test_with_one_objective_both_improve_it() -> None:
    seen, some, none = designs(12, 6), designs(40, 7), designs(0, 1)
    process = GaussianProcess.fit(seen.inputs, 0.1 * seen.inputs[:, 0])
    least, excess = 0.1 + 0.9 * some.ln_least[:, :1], some.least_excess
    told, asked = EncodedDesigns(seen.inputs, seen.ln_least[:, :1], seen.least_excess), some.inputs
    truth = told.ln_least + 0.1 * seen.inputs[:, :1]
    best = np.array([int(np.argmin(truth))])
    least[17] = truth.min() - 0.5
    posterior = Posterior((process,), truth[best], np.array([2.0]))
    for kind in ("qlognehvi", "qlognparego"):
        batch = MonteCarlo(kind, posterior, told[best], 0).best(  # type: ignore[arg-type]
            EncodedDesigns(asked, least, excess), 3, none
        )
        assert batch[0] == 17
        assert len(set(batch)) == 3
