"""Requests with deadlines on the NPUs of the Layerweaver paper, by policy and load.

    python benchmarks/weaving/serving.py [--requests 3000] [--seeds 3] [--loads .7 .85 .95]
        [--burst 8] [--burst-sizes fixed] [--burst-deadline 12] [--pairs RN+BB IC+BL MN+BB]

Three pairs at sequence length 16: ResNet-50 + BERT-base and Inception-v3 + BERT-large at batch 1 on
the memory-centric NPU, MobileNetV2 + BERT-base at batch 16 on the compute-centric one, whose
feature maps are taken to fit (in the paper the buffer grows with the batch). Rates are those that
bound STP, times the load. Poisson arrivals have deadlines of 4 isolated times, bursts of 8 of 12.
``--burst-sizes geometric``: sizes vary, with that mean. All policies and loads get the same
requests of each seed; figures are means over the seeds, in brackets those of the design study that
the policies come from where it prints them.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.evaluators.weaving import NPUS, Chain, weight_stationary_chain
from archloom.search.weaving.serving import (
    Deadline,
    Draws,
    Policy,
    Tenants,
    draws_of,
    latencies,
    open_requests,
    served,
    serving_metrics,
    stable_load,
)
from archloom.space.networks import network

#: networks, batch, NPU
PAIRS: Final = {
    "RN+BB": (("resnet50", "bert_base"), 1, "memory_centric"),
    "IC+BL": (("inception_v3", "bert_large"), 1, "memory_centric"),
    "MN+BB": (("mobilenetv2", "bert_base"), 16, "compute_centric"),
}

POLICIES: Final = (
    Policy("fcfs"),
    Policy("edf"),
    Policy("layerweaver"),
    Policy("exact_idle"),
    Policy("strings"),
    Policy("layerweaver", slack_window=1.0),
    Policy("exact_idle", slack_window=0.2),
    Policy("exact_idle", shed=1.3),
    Policy("exact_idle", shed=1.3, slack_window=0.2),
    Policy("strings", shed=1.3),
    Policy("strings", shed=1.3, shed_at="arrival"),
)

#: of the study, by pair, arrivals, load and policy: p50, p99 (isolated times), misses (%), goodput
#: (STP); None where it prints none
STUDY: Final[Mapping[tuple[str, str, float, str], tuple[float | None, ...]]] = {
    ("RN+BB", "poisson", 0.7, "fcfs"): (12.2, 52, 82, 0.20),
    ("RN+BB", "poisson", 0.7, "edf"): (11.7, 49, 79, 0.21),
    ("RN+BB", "poisson", 0.7, "layerweaver"): (2.1, 13, 20, 0.83),
    ("RN+BB", "poisson", 0.7, "exact_idle"): (1.9, 9, 13, 0.88),
    ("RN+BB", "poisson", 0.7, "layerweaver + slack 1"): (3.0, 17, 38, 0.62),
    ("RN+BB", "poisson", 0.7, "exact_idle + shed 1.3"): (1.7, 4.0, 5.4, 0.96),
    ("RN+BB", "poisson", 0.95, "layerweaver"): (None, 240, 84, 0.28),
    ("RN+BB", "poisson", 0.95, "exact_idle"): (None, 48, 78, 0.30),
    ("RN+BB", "poisson", 0.95, "exact_idle + shed 1.3"): (None, 4.4, 16, 1.15),
    ("RN+BB", "poisson", 0.95, "exact_idle + slack 0.2 + shed 1.3"): (None, 4.1, 15, 1.18),
    ("RN+BB", "poisson", 0.95, "strings + shed 1.3"): (None, 4.3, 15, 1.16),
    ("RN+BB", "bursts", 0.7, "exact_idle"): (None, None, 67, 0.32),
    ("RN+BB", "bursts", 0.7, "exact_idle + shed 1.3"): (None, None, 37, 0.64),
    ("IC+BL", "poisson", 0.85, "exact_idle"): (None, None, None, 0.89),
    ("IC+BL", "poisson", 0.85, "exact_idle + shed 1.3"): (None, None, None, 1.26),
    ("MN+BB", "poisson", 0.95, "exact_idle + shed 1.3"): (None, None, 22, 1.28),
    ("MN+BB", "poisson", 0.95, "strings + shed 1.3"): (None, None, 17, 1.36),
}

STYLES: Final = (".1f", ".1f", ".1f", ".2f")


@dataclass(frozen=True)
class Plan:
    """What is served: requests, seeds, loads, requests of a burst, whether their number varies, and
    until how many isolated times they may end."""

    requests: int
    seeds: int
    loads: tuple[float, ...]
    burst: int
    varying: bool
    deadline: float


def chain(name: str, batch: int, npu: str) -> Chain:
    options = {"sequence_length": 16} if name.startswith("bert") else {}
    return weight_stationary_chain(network(name, **options), NPUS[npu][1], batch)


def tenants_of(pair: str, arrivals: str, plan: Plan) -> Tenants:
    names, batch, npu = PAIRS[pair]
    deadline = Deadline(plan.deadline if arrivals == "bursts" else 4, isolated=True)
    chains = tuple(chain(name, batch, npu) for name in names)
    return Tenants(chains, NPUS[npu][0], (deadline,) * len(chains))


def geometric_bursts(count: int, seed: int, mean: int) -> Draws:
    """Return draws of bursts whose sizes are geometric, each for one network."""
    random = np.random.default_rng([seed, mean])
    # none is smaller than 1, so that there are enough
    sizes = random.geometric(1 / mean, count)
    times = np.cumsum(random.exponential(mean, count))
    return Draws(np.repeat(times, sizes)[:count], np.repeat(random.random(count), sizes)[:count])


def figures(
    tenants: Tenants, policy: Policy, arrivals: str, load: float, plan: Plan
) -> list[float]:
    """Return p50, p99, misses in percent, goodput and the bound on it, as means over the seeds."""
    rows = []
    for seed in range(1, plan.seeds + 1):
        if arrivals == "bursts" and plan.varying:
            draws = geometric_bursts(plan.requests, seed, plan.burst)
        else:
            draws = draws_of(plan.requests, seed, plan.burst if arrivals == "bursts" else 1)
        found = served(tenants, policy, open_requests(draws, tenants.rates * load, tenants.within))
        metrics = serving_metrics(found)
        p50, p99 = np.percentile(latencies(found), [50, 99]).tolist()
        goodput, bound = metrics.goodput_stp, metrics.goodput_bound_stp
        rows.append((p50, p99, 100 * metrics.missed_share, goodput, bound))
    means: list[float] = np.mean(rows, axis=0).tolist()
    return means


def lines(pair: str, arrivals: str, plan: Plan) -> Iterator[str]:
    tenants = tenants_of(pair, arrivals, plan)
    most = float(tenants.rates @ tenants.isolated)
    yield (
        f"\n{pair}, {arrivals}; STP is at most {most:.3f}, one network at a time serves up to load "
        f"{1 / most:.2f}"
    )
    heads = "".join(f"{head:>15}" for head in ("p50", "p99", "missed %", "goodput"))
    yield f"{'load':>5} {'policy':34}{heads}  bound"
    for load in plan.loads:
        for policy in POLICIES:
            *ours, bound = figures(tenants, policy, arrivals, load, plan)
            study = STUDY.get((pair, arrivals, load, policy.text), (None,) * 4)
            cells = [
                format(value, style) + ("" if theirs is None else f" ({theirs:g})")
                for value, theirs, style in zip(ours, study, STYLES, strict=True)
            ]
            row = "".join(f"{cell:>15}" for cell in cells)
            yield f"{load:5.2f} {policy.text:34}{row} {bound:6.2f}"


def stable_lines(pair: str, plan: Plan) -> Iterator[str]:
    tenants = tenants_of(pair, "poisson", plan)
    yield f"\n{pair}, poisson: largest load with at most 1% missed, and what no policy gets above"
    for policy in POLICIES:
        found = [
            stable_load(tenants, policy, draws_of(plan.requests, seed))
            for seed in range(1, plan.seeds + 1)
        ]
        load = np.mean([stable.load for stable in found])
        bound = np.mean([stable.bound for stable in found])
        yield f"      {policy.text:36} {load:6.3f} {bound:6.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.7, 0.85, 0.95])
    parser.add_argument("--burst", type=int, default=8)
    parser.add_argument("--burst-sizes", choices=("fixed", "geometric"), default="fixed")
    parser.add_argument("--burst-deadline", type=float, default=12)
    parser.add_argument("--pairs", nargs="+", choices=list(PAIRS), default=list(PAIRS))
    asked = parser.parse_args()
    loads, varying = tuple(asked.loads), asked.burst_sizes == "geometric"
    plan = Plan(asked.requests, asked.seeds, loads, asked.burst, varying, asked.burst_deadline)
    for pair in asked.pairs:
        for arrivals in ("poisson", "bursts"):
            for line in lines(pair, arrivals, plan):
                print(line)
        for line in stable_lines(pair, plan):
            print(line)


if __name__ == "__main__":
    main()
