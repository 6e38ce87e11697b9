"""Networks that share an NPU: rates, deadlines, and what is refused."""

import numpy as np
import pytest

from archloom.evaluators.weaving import steady_rows, throughput_bound
from archloom.search.weaving.serving.requests import NO_DEADLINE
from archloom.search.weaving.serving.tenants import Deadline, Tenants

from ....cases.tenants import PLAIN, chain_of, opposed, random_chains, tenants


def test_load_one_is_as_much_as_any_schedule_could_serve() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        chains = random_chains(rng, int(rng.integers(1, 4)))
        given = tuple(rng.uniform(0.1, 2.0, len(chains)))
        for shares in (None, given):
            shared = tenants(chains, shares=shares)
            assert (shared.rates @ steady_rows(shared.work)).max() == pytest.approx(1.0)
            assert np.all(shared.rates > 0)
        assert shared.rates / shared.rates.sum() == pytest.approx(np.array(given) / sum(given))


def test_without_shares_rates_are_those_that_bound_stp() -> None:
    shared = tenants(opposed())
    best = throughput_bound(shared.work, shared.isolated)
    assert shared.rates @ shared.isolated == pytest.approx(best.value)


def test_where_the_bound_leaves_a_network_out_each_gets_the_same_time() -> None:
    same = [chain_of("a", [(1, 10)]), chain_of("b", [(1, 30)])]
    shared = tenants(same)
    assert shared.rates * shared.isolated == pytest.approx([0.5, 0.5])


def test_deadlines_are_seconds_or_isolated_times() -> None:
    chains = (*opposed(), chain_of("c", [(3, 7)]))
    deadlines = (Deadline(0.5), Deadline(3, isolated=True), None)
    shared = Tenants(chains, PLAIN, deadlines)
    assert shared.within.tolist() == [500_000, int(3 * shared.isolated[1]), NO_DEADLINE]


@pytest.mark.parametrize("amount", [0.0, -1.0, float("nan"), float("inf")])
def test_deadlines_are_positive(amount: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Deadline(amount)


def test_lists_must_fit_the_networks() -> None:
    chains = opposed()
    with pytest.raises(ValueError, match="1 deadlines for 2 networks"):
        Tenants(chains, PLAIN, (None,))
    with pytest.raises(ValueError, match="2 networks need as many shares"):
        tenants(chains, shares=(1.0,))
    with pytest.raises(ValueError, match="2 networks need as many shares"):
        tenants(chains, shares=(1.0, 0.0))
    with pytest.raises(ValueError, match="conv occurs twice"):
        tenants((chains[0], chains[0]))
