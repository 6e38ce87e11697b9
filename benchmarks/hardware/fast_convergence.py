"""How fast do hardware optimizers find FAST's best design for EfficientNet-B7?

FAST (Zhang et al., ASPLOS 2022, figure 8) compares Bayesian optimization, a linear combination
swarm (LCS) and random sampling over 5000 trials of throughput per TDP, and finds that LCS is ahead
"when trials exceed 2000". This does the same in the space of the paper's Table 3, a curve for each
optimizer, in batches of eight:

    python benchmarks/hardware/fast_convergence.py run mobo   # or lcs, random, and others by name
    python benchmarks/hardware/fast_convergence.py table        # of all curves so far

Trials are kept in a file for each curve, so that a stopped run goes on where it was. A trial is a
design within the caps, of which the modelled TPU-v3 has half of the TDP and 0.6 of the area as in
the paper's Table 4; layers run one by one, and every distinct layer is mapped with a bounded number
of evaluations. Of designs that `random` draws those are not mapped whose proven bound is no better
than the best so far: its curve is the same without them. All others learn from every trial.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import process_time

import numpy as np

from archloom.evaluators.fusion.plan import NetworkCost
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.hardware.problem import Candidate, DesignProblem
from archloom.search.hardware.protocol import Observation
from archloom.search.mapping.mapper import Mapper
from archloom.search.objectives import Objective, ObjectiveSet
from archloom.search.registry import HARDWARE_OPTIMIZERS, MAPPING_SEARCHES
from archloom.search.seeds import derived_seed
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.parameter import Point
from archloom.space.errors import Infeasible
from archloom.space.fusion.plan import layer_by_layer
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network

NETWORK = network("efficientnet_b7")
GOAL = Objective("perf_per_tdp")
AREA_MM2, TDP_W = 400.0, 200.0
BATCH = 8
COUNTS = (50, 100, 200, 500, 1000, 1500, 2000, 2500, 3000, 4000, 5000)


def problem() -> DesignProblem:
    """Return the problem of the study."""
    space = HardwareSpace.load("fast")
    objective_set = ObjectiveSet((GOAL,))
    return DesignProblem(
        space, [NETWORK], AREA_MM2, TDP_W, objective_set=objective_set, plans="layer_by_layer"
    )


@dataclass(frozen=True)
class Trial:
    """What became of one design.

    Attributes:
        point: the design.
        figure: throughput per TDP, 1/(s W); 0 if it was not measured.
        bound: what it cannot exceed.
        failure: why nothing runs on it.
        cpu_s: of the mappings.
        ask_s: of the batch's proposal, in its first trial.
    """

    point: Point
    figure: float
    bound: float
    failure: str | None
    cpu_s: float
    ask_s: float

    @property
    def seen(self) -> Observation:
        """What the optimizer is told."""
        values = (1 / self.figure,) if self.figure else None
        return Observation(self.point, values, int(self.figure > 0), self.failure)


class Curve:
    """One optimizer's trials, on disk and in memory."""

    def __init__(self, where: DesignProblem, path: Path, evaluations: int) -> None:
        self._problem, self._path = where, path
        self._evaluations = evaluations
        self.trials = read(path)

    @property
    def best(self) -> float:
        """The best figure so far."""
        return max((t.figure for t in self.trials), default=0.0)

    def go_on(self, name: str, seed: int, trials: int) -> None:
        """Run until there are so many trials."""
        optimizer = HARDWARE_OPTIMIZERS[name](self._problem, seed)
        optimizer.tell([t.seen for t in self.trials])
        while len(self.trials) < trials:
            began = process_time()
            points = optimizer.ask(BATCH, ())
            ask_s = process_time() - began
            best, batch = self.best, []
            for i, point in enumerate(points):
                needed = best if name == "random" else -inf
                batch.append(self._trial(point, needed, 0.0 if i else ask_s))
                best = max(best, batch[-1].figure)
            optimizer.tell([t.seen for t in batch])
            self._keep(batch)

    def _trial(self, point: Point, needed: float, ask_s: float) -> Trial:
        """Measure a design, unless it cannot exceed the figure that is needed."""
        began = process_time()
        found = self._problem.assess(point)
        assert isinstance(found, Candidate)
        if needed > 0 and 1 / found.values[0] > needed:
            found = self._problem.tightened(found)
        bound = 1 / found.values[0]
        figure, failure = 0.0, None
        if bound > needed:
            hardware = self._problem.space.build(point)
            assert isinstance(hardware, Hardware)
            cost = self._mapped(hardware)
            if isinstance(cost, Infeasible):
                failure = cost.reason
            else:
                figure = cost.network.batch / cost.latency_s / found.tdp_w
        return Trial(point, figure, bound, failure, process_time() - began, ask_s)

    def _mapped(self, hardware: Hardware) -> NetworkCost | Infeasible:
        """Return the price of the network layer by layer, over the design's native batch."""
        mapper = Mapper(MAPPING_SEARCHES["auto"](), self._evaluations, derived_seed(0, "mapping"))
        net = NETWORK.with_batch(hardware.native_batch)
        return MemoizedPlanEvaluator(net, hardware, mapper).plan(layer_by_layer(net))

    def _keep(self, batch: Sequence[Trial]) -> None:
        self.trials += batch
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.writelines(json.dumps(vars(t)) + "\n" for t in batch)


def read(path: Path) -> list[Trial]:
    """Return the trials of a curve so far."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Trial(**json.loads(line)) for line in lines]


def table(curves: dict[str, list[Trial]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, and where curves cross."""
    yield "| optimizer | " + " | ".join(map(str, COUNTS)) + " | mapped | CPU min |"
    yield "|---" * (len(COUNTS) + 3) + "|"
    best = {name: np.maximum.accumulate([t.figure for t in ts]) for name, ts in curves.items()}
    for name, trials in curves.items():
        cells = [f"{best[name][n - 1]:.3f}" if n <= len(trials) else "" for n in COUNTS]
        mapped = sum(t.figure > 0 for t in trials)
        minutes = sum(t.cpu_s + t.ask_s for t in trials) / 60
        yield f"| {name} | {' | '.join(cells)} | {mapped} | {minutes:.1f} |"
    yield ""
    for one, other in ((a, b) for a in curves for b in curves if a < b):
        yield from crossings(one, best[one], other, best[other])


def crossings(one: str, first: np.ndarray, other: str, second: np.ndarray) -> Iterator[str]:
    """Yield from which trial on which of two curves is ahead."""
    n = min(len(first), len(second))
    ahead = np.sign(first[:n] - second[:n])
    leader = 0.0
    for trial in np.flatnonzero(ahead):
        if ahead[trial] != leader:
            leader = ahead[trial]
            names = (one, other) if leader > 0 else (other, one)
            yield f"{names[0]} is ahead of {names[1]} from trial {trial + 1} on"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("optimizer", nargs="?", default="mobo", choices=list(HARDWARE_OPTIMIZERS))
    parser.add_argument("--trials", type=int, default=COUNTS[-1])
    parser.add_argument("--evaluations", type=int, default=1000, help="of each distinct layer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/fast_convergence"))
    options = parser.parse_args()
    if options.what == "run":
        path = options.out / f"{options.optimizer}.jsonl"
        curve = Curve(problem(), path, options.evaluations)
        curve.go_on(options.optimizer, options.seed, options.trials)
    names = [path.stem for path in sorted(options.out.glob("*.jsonl"))]
    for line in table({name: read(options.out / f"{name}.jsonl") for name in names}):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
