"""The event loop against an account that fills a buffer, in every time stamp."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from archloom.evaluators import Ints
from archloom.evaluators.weaving import Order, Ticks, simulated
from archloom.search.weaving.serving.arrivals import closed_requests, given_requests
from archloom.search.weaving.serving.facts import facts_of
from archloom.search.weaving.serving.kernel import Conduct, serve
from archloom.search.weaving.serving.policy import RULES, SHED_AT, queue_room
from archloom.search.weaving.serving.requests import NO_DEADLINE, Outcome, Requests, Steps

from ....cases.sweeps import sweep
from ....cases.woven import random_ticks
from ....oracles.serving_events import Account, Request, Rules

NAMES = list(RULES)


def compare(rng: np.random.Generator, rule: str) -> None:
    """Serve random requests of random networks both ways."""
    work = random_ticks(
        rng, rng.integers(1, 7, rng.integers(1, 5)).tolist(), maps=bool(rng.integers(2))
    )
    requests, most = random_requests(rng, work)
    rules = random_rules(rng, work, rule)
    outcome, steps, arrival = by_kernel(work, requests, rules, most)
    account = by_account(work, requests, rules, most)
    assert account.steps == list(zip(steps.chain.tolist(), steps.release.tolist(), strict=True))
    found = [(r.begun, r.ended, r.shed, r.arrival) for queue in account.queues for r in queue]
    known = [None if a == 2**62 else a for a in arrival.tolist()]
    columns = (outcome.begun.tolist(), outcome.ended.tolist(), outcome.shed.tolist(), known)
    assert found == list(zip(*columns, strict=True))
    hold_against_the_simulator(work, requests, outcome, steps)


def random_requests(rng: np.random.Generator, work: Ticks) -> tuple[Requests, int]:
    chains, count = work.chains, int(rng.integers(1, 13))
    alone = int(work.fetch.sum() + work.compute.sum()) + 1
    within = rng.integers(0, 3 * alone, chains)
    within = np.where(rng.random(chains) < 0.2, NO_DEADLINE, within)
    if rng.random() < 0.3:
        return closed_requests(count, rng.integers(1, 4, chains).tolist(), within), count
    span = int(rng.choice([1, alone, alone * count]))
    arrival = rng.integers(0, span, count)
    if rng.random() < 0.3:
        arrival[:] = arrival[0]
    return given_requests(arrival, rng.integers(0, chains, count), within), count


def random_rules(rng: np.random.Generator, work: Ticks, rule: str) -> Rules:
    alone = int(work.fetch.sum() + work.compute.sum()) + 1
    return Rules(
        rule,
        None if rng.random() < 0.7 else int(rng.integers(0, 2 * alone)),
        (None, "start", "arrival")[rng.integers(3)],
        rng.integers(0, alone, work.chains).tolist(),
        int(rng.integers(0, work.buffer + 1)),
    )


def by_kernel(
    work: Ticks, requests: Requests, rules: Rules, most: int
) -> tuple[Outcome, Steps, Ints]:
    count = len(requests.arrival)
    outcome = Outcome(*(np.full(count, v, np.int64) for v in (-1, -1, 0)))
    # one more, because no steps at all would mean that nobody asks for them
    room = count * len(work.fetch) + 1
    steps = Steps(np.empty(room, np.int64), np.empty(room, np.int64))
    own = requests._replace(arrival=requests.arrival.copy())
    conduct = Conduct(
        RULES[rules.rule],
        -(2**60) if rules.window is None else rules.window,
        SHED_AT.get(rules.shed_at or "", 0),
        np.array(rules.margins, np.int64),
        count,
        most,
        queue_room(work, most),
    )
    facts = facts_of(work, 0.0, rules.rule == "exact_idle")._replace(target=rules.low)
    ran = serve(work, own, conduct, facts, outcome, steps)
    return outcome, Steps(steps.chain[:ran], steps.release[:ran]), own.arrival


def by_account(work: Ticks, requests: Requests, rules: Rules, most: int) -> Account:
    first = work.first.tolist()
    rows = list(zip(work.fetch.tolist(), work.maps.tolist(), work.compute.tolist(), strict=True))
    queues = [
        [
            Request(None if a == 2**62 else a, w)
            for a, w in zip(
                requests.arrival[i:j].tolist(), requests.within[i:j].tolist(), strict=True
            )
        ]
        for i, j in zip(requests.first[:-1], requests.first[1:], strict=True)
    ]
    chains = [rows[i:j] for i, j in itertools.pairwise(first)]
    account = Account(chains, work.buffer, queues, requests.batch.tolist(), most, rules)
    account.serve()
    return account


def hold_against_the_simulator(
    work: Ticks, requests: Requests, outcome: Outcome, steps: Steps
) -> None:
    """The order that was made, run again, ends every request when the loop says."""
    stamps = simulated(work, Order(steps.chain, steps.release))
    for m in range(work.chains):
        own = slice(requests.first[m], requests.first[m + 1])
        ends = stamps.done[stamps.part == work.first[m + 1] - 1]
        assert ends.tolist() == outcome.ended[own][outcome.shed[own] == 0][
            : len(ends)
        ].tolist() or (work.first[m + 1] - work.first[m] == 0)


@pytest.mark.parametrize(
    ("rule", "seed"), sweep([(rule, seed) for seed in range(40) for rule in NAMES], 40)
)
def test_every_time_stamp_is_that_of_the_account(rule: str, seed: int) -> None:
    rng = np.random.default_rng([seed, NAMES.index(rule)])
    for _ in range(100):
        compare(rng, rule)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(NAMES))
def test_any_instance_agrees(seed: int, rule: str) -> None:
    compare(np.random.default_rng(seed), rule)
