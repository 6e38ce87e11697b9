"""Served requests against closed forms, rules of schedules, and each other."""

import numpy as np
import pytest

from archloom.evaluators.weaving import simulated
from archloom.search.weaving.rules import (
    Greedy,
    deficits,
    finite,
    greedy_steps,
    strings_steps,
)
from archloom.search.weaving.serving.arrivals import (
    closed_requests,
    draws_of,
    given_requests,
    open_requests,
)
from archloom.search.weaving.serving.facts import facts_of
from archloom.search.weaving.serving.policy import RULES, Policy
from archloom.search.weaving.serving.serving import few_missed, served
from archloom.search.weaving.serving.tenants import Deadline

from ....cases.tenants import chain_of, opposed, random_chains, tenants

SHEDDING = Policy("strings", shed=1.3)


def test_one_layer_without_weights_is_a_queue_with_constant_service() -> None:
    """Mean waiting time of M/D/1 (Pollaczek and Khinchine): load / (2 (1 - load)) of a service."""
    shared = tenants([chain_of("one", [(0, 10**6)])])
    for load in (0.3, 0.7):
        requests = open_requests(draws_of(200_000, 1), np.array([load * 1e-6]), shared.within)
        found = served(shared, Policy("fcfs"), requests)
        mean = found.latency.mean() / 1e6
        assert mean == pytest.approx(1.0 + load / (2 * (1 - load)), rel=0.03)


def test_a_single_stream_takes_its_latency_again_and_again() -> None:
    shared = tenants([chain_of("two", [(5, 3), (4, 10)])])
    found = served(shared, Policy(), closed_requests(4, [1], shared.within))
    # both fetches but the part of the second that hides behind the first layer, and the last layer
    assert found.latency.tolist() == [5 + max(3, 4) + 10] * 4
    assert found.requests.arrival.tolist() == [0, 19, 38, 57]
    assert found.horizon == 76


def test_the_next_batch_comes_when_the_last_has_ended() -> None:
    shared = tenants([chain_of("two", [(5, 3), (4, 10)])])
    found = served(shared, Policy(), closed_requests(6, [3], shared.within))
    ends, arrivals = found.outcome.ended, found.requests.arrival
    assert arrivals.tolist() == [0, 0, 0] + [ends[2]] * 3
    # within a batch the first layer of the next one is fetched while this one is computed
    assert np.diff(ends[:3]).tolist() == [13, 13]


def test_closed_loops_end_after_so_many_requests_of_all_networks() -> None:
    shared = tenants(opposed())
    found = served(shared, Policy(), closed_requests(20, [1, 2], shared.within), 20)
    assert found.taken.sum() == 20
    assert np.bincount(found.network[found.taken]).min() > 2


def test_requests_at_one_time_are_woven_as_the_rules_weave_them() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        shared = tenants(random_chains(rng, int(rng.integers(2, 4))))
        work = shared.work
        counts = rng.integers(1, 4, work.chains)
        network = np.repeat(np.arange(work.chains), counts)
        requests = given_requests(np.zeros(len(network), np.int64), network, shared.within)
        computes = facts_of(work).greedy.computes
        for rule in ("strings", "layerweaver", "exact_idle"):
            run = finite(work, counts)
            if rule == "strings":
                steps = strings_steps(run, deficits(work, True), work.buffer // 2)
            else:
                greedy = Greedy(computes, rule == "exact_idle", False)
                steps = greedy_steps(run, greedy, np.zeros(0, np.int64))
            found = served(shared, Policy(rule), requests, log=True)
            assert found.order is not None
            # where one network alone is left there is nothing to choose
            assert found.order.chain.tolist() == run.chain[:steps].tolist()
            assert found.horizon == simulated(work, found.order).makespan


def test_weaving_serves_more_than_one_request_after_another() -> None:
    shared = tenants(opposed(), Deadline(4, isolated=True))
    requests = open_requests(draws_of(2000, 1), shared.rates * 0.8, shared.within)
    late = {
        rule: 2000 - int(served(shared, Policy(rule), requests).in_time.sum()) for rule in RULES
    }
    assert late["strings"] < 0.5 * late["fcfs"]
    assert late["exact_idle"] < 0.5 * late["edf"]
    shed = served(shared, Policy("strings", shed=1.0), requests)
    assert 2000 - int(shed.in_time.sum()) < late["strings"]


def test_who_is_shed_is_never_begun_and_counts_as_missed() -> None:
    shared = tenants(opposed(), Deadline(3, isolated=True))
    requests = open_requests(draws_of(1000, 2), shared.rates * 0.9, shared.within)
    for policy in (SHEDDING, Policy("strings", shed=1.3, shed_at="arrival")):
        found = served(shared, policy, requests, log=True)
        gone = found.outcome.shed == 1
        assert 0 < gone.sum() < 1000
        assert np.all(found.outcome.begun[gone] == found.outcome.ended[gone])
        assert found.order is not None
        layers = np.diff(shared.work.first)[found.network[~gone]].sum()
        assert len(found.order.chain) == layers
        assert not np.any(found.in_time & gone)
    # at its start a request that is not shed has more time left than that
    found = served(shared, SHEDDING, requests)
    left = requests.arrival + requests.within - found.outcome.begun
    margin = np.ceil(1.3 * shared.isolated)[found.network]
    assert np.all(left[found.finished] >= margin[found.finished])
    assert np.all(left[found.outcome.shed == 1] < margin[found.outcome.shed == 1])


def test_a_window_lets_urgent_requests_go_first() -> None:
    shared = tenants(opposed(), Deadline(4, isolated=True))
    requests = open_requests(draws_of(500, 3), shared.rates * 0.8, shared.within)
    plain, same, urgent = (
        served(shared, Policy("strings", slack_window=window), requests, log=True).order
        for window in (None, 0.0, 2.0)
    )
    assert plain is not None
    assert same is not None
    assert urgent is not None
    assert plain.chain.tolist() != urgent.chain.tolist()
    assert len(plain.chain) == len(urgent.chain) == len(same.chain)


def test_counting_misses_ends_early_and_says_the_same() -> None:
    shared = tenants(opposed(), Deadline(3, isolated=True))
    for policy in (Policy(), SHEDDING, Policy("fcfs")):
        requests = open_requests(draws_of(400, 4), shared.rates * 0.9, shared.within)
        missed = 400 - int(served(shared, policy, requests).in_time.sum())
        assert missed > 1
        assert few_missed(shared, policy, 400, missed)(requests)
        assert not few_missed(shared, policy, 400, missed - 1)(requests)
        assert not few_missed(shared, policy, 400, 0)(requests)


def test_requests_that_cannot_be_counted_are_refused() -> None:
    shared = tenants(opposed())
    nothing = given_requests(np.zeros(0, np.int64), np.zeros(0, np.int64), shared.within)
    with pytest.raises(ValueError, match="no requests"):
        served(shared, Policy(), nothing)
    late = given_requests(np.array([2**60]), np.array([0]), shared.within)
    with pytest.raises(ValueError, match=r"2\*\*60 ticks"):
        served(shared, Policy(), late)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "string"}, "serving policy 'string' is not known; did you mean strings?"),
        ({"shed": -1.0}, "shed must be a number from 0 up"),
        ({"shed": float("nan")}, "shed must be"),
        ({"slack_window": -0.1}, "slack_window must be"),
        ({"lead_target": 1.5}, "lead_target must be a number from 0 up to 1"),
        ({"shed": 1.0, "shed_at": "end"}, "at their start or arrival, not 'end'"),
    ],
)
def test_policies_check_themselves(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        Policy(**settings)  # type: ignore[arg-type]
