"""CPU time of serving: requests and layers a CPU-millisecond, by policy.

    python benchmarks/weaving/serving_speed.py [--requests 3000] [--times 20]

Poisson arrivals at load 0.7 on the memory-centric NPU, deadlines of 4 isolated times; requests have
65 layers on average, or 4. Beside the policies stands the makespan of the same layers in an order
that is given, by the simulator of weaving. Minima over the runs, on one core, after compilation.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from archloom.evaluators.weaving import NPUS, Chain, makespan, weight_stationary_chain
from archloom.search.weaving.serving import (
    Deadline,
    Policy,
    Tenants,
    draws_of,
    open_requests,
    served,
)
from archloom.space.networks import network

CASES = {
    "resnet50 + bert_base": ("resnet50", "bert_base"),
    "alexnet + ncf": ("alexnet", "ncf"),
}
POLICIES = (
    Policy("fcfs"),
    Policy("edf"),
    Policy("strings"),
    Policy("strings", shed=1.3),
    Policy("layerweaver"),
    Policy("exact_idle", shed=1.3),
)


def chain(name: str) -> Chain:
    options = {"sequence_length": 16} if name.startswith("bert") else {}
    return weight_stationary_chain(network(name, **options), NPUS["memory_centric"][1])


def least_ms(run: Callable[[], object], times: int) -> float:
    """Return the least CPU time of a run, in ms."""
    run()
    found = []
    for _ in range(times):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found) * 1e3


def policies(names: tuple[str, ...], requests: int, times: int) -> None:
    npu, deadline = NPUS["memory_centric"][0], Deadline(4, isolated=True)
    tenants = Tenants(tuple(chain(name) for name in names), npu, (deadline,) * len(names))
    given = open_requests(draws_of(requests, 1), tenants.rates * 0.7, tenants.within)
    order = served(tenants, Policy("strings"), given, log=True).order
    assert order is not None
    alone = least_ms(lambda: makespan(tenants.work, order), times)
    print(f"{'order given':24} {alone:8.2f} {requests / alone:12,.0f}"
          f" {len(order.chain) / alone:12,.0f}")  # fmt: skip
    for policy in POLICIES:
        taken = least_ms(lambda policy=policy: served(tenants, policy, given), times)
        found = served(tenants, policy, given)
        layers = int(np.diff(tenants.work.first)[found.network[found.finished]].sum())
        print(f"{policy.text:24} {taken:8.2f} {requests / taken:12,.0f} {layers / taken:12,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--times", type=int, default=20)
    asked = parser.parse_args()
    for case, names in CASES.items():
        print(f"\n{case}: {asked.requests} requests")
        print(f"{'policy':24} {'ms':>8} {'requests/ms':>12} {'layers/ms':>12}")
        policies(names, asked.requests, asked.times)


if __name__ == "__main__":
    main()
