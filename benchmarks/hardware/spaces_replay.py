"""How soon have optimizers 95% of what all have found on the spaces that nothing was tuned to?

The studies of ``untuned_spaces.py`` without their certificates: an optimizer proposes
one design after the other, and each design is measured once and then remembered, so that
another variant of an optimizer costs little more than its proposals. A design has several outcomes,
mappings that trade energy against latency:

    python benchmarks/hardware/spaces_replay.py
    python benchmarks/hardware/spaces_replay.py --optimizers mobo_loose qnehvi --seeds 2

``mobo`` has the options of the study files, ``mobo_loose`` finds designs by loose bounds;
``--evaluations`` is another effort for each mapping than that of the studies. For each
space it prints medians and ranges over seeds of the trials after which an optimizer has 95% of the
hypervolume of all designs that are remembered (logarithms; the corner lies a tenth above the worst
values of their front), shares of it after some trials, and CPU-seconds of proposals in percent of
those of trials. The same of searches that know what no optimizer does, and choose among all these
designs the one that they take to add most to the outcomes of those before it: *in hindsight* by its
outcomes; *by bounds* if costs were in proportion to its tight bounds, by the mean ratio of all
designs; *by bounds and true energy* if of all costs only the others were.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search import HARDWARE_OPTIMIZERS
from archloom.search.hardware import Candidate, Observation
from archloom.search.objectives import Objective
from archloom.search.pareto import hypervolume, hypervolume_after, non_dominated
from archloom.search.seeds import derived_seed
from archloom.search.software.search import SoftwareTask, advance
from archloom.space.design_space import Point
from archloom.space.hardware import Hardware
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.study import prepare
from benchmarks.hardware.untuned_spaces import GOAL, LOOSE, SPACES

#: trials after which shares are printed
SHOWN: Final = (8, 15, 24)

Floats = np.ndarray[Any, np.dtype[np.float64]]


#: costs of all outcomes of each trial
Rows: TypeAlias = list[list[list[float]]]


class Measured(NamedTuple):
    """What became of a design.

    Attributes:
        rows: costs of each outcome, first that of the least EDP; none if nothing runs on it.
        seconds: of CPU time.
        least: tight bounds of the costs.
    """

    rows: list[list[float]]
    seconds: float
    least: list[float]


class Replay:
    """Studies of a space whose designs are measured once."""

    def __init__(self, space: str, out: Path, evaluations: int | None = None) -> None:
        config = load_config(SPACES / space / "study.yaml")
        if evaluations is not None:
            software = replace(config.software, mapping_evaluations=evaluations)
            config = replace(config, software=software)
        self._config = config
        self._study = prepare(self._config, self._config.space)
        # designs that were measured with another effort are others
        effort = "" if evaluations is None else f".{evaluations}"
        self._path = out / f"{space}{effort}.designs.jsonl"
        text = self._path.read_text() if self._path.exists() else ""
        self.known = {key: Measured(*found) for key, *found in map(json.loads, text.splitlines())}

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is minimised."""
        return self._study.problem.objective_set.objectives

    def cost(self, point: Point) -> Measured:
        """Return what becomes of a design."""
        problem = self._study.problem
        hardware = problem.space.build(point)
        assert isinstance(hardware, Hardware)
        if hardware.name not in self.known:
            context, began = self._study.context, process_time()
            task = SoftwareTask(hardware, context.networks, context.settings, 0)
            trial = self._study.trial(0, 0, None, hardware, [advance(task, None, 1)])
            measured = problem.objective_set
            rows = [list(one.costs(measured)) for one in trial.outcomes if one.edp_js is not None]
            seconds = round(process_time() - began, 3)
            candidate = problem.assess(point)
            assert isinstance(candidate, Candidate)
            least = list(problem.tightened(candidate).values)
            self.known[hardware.name] = Measured(rows, seconds, least)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps([hardware.name, *self.known[hardware.name]]) + "\n")
        return self.known[hardware.name]

    def run(self, optimizer: str, seed: int, trials: int) -> tuple[Rows, float]:
        """Return the costs of each trial, and the share of CPU-seconds that proposals take."""
        choice, problem = self._config.optimizer, prepare(self._config, self._config.space).problem
        options = choice.options if optimizer in (choice.name, LOOSE) else {}
        options = options | ({"bounds": "loose"} if optimizer == LOOSE else {})
        name = choice.name if optimizer == LOOSE else optimizer
        made = HARDWARE_OPTIMIZERS[name](problem, derived_seed(seed, 0, "hardware"), **options)
        found: Rows = []
        proposals, measured = 0.0, 0.0
        while len(found) < trials:
            began = process_time()
            points = made.ask(1, [])
            proposals += process_time() - began
            if not points:
                break
            rows, seconds, _ = self.cost(points[0])
            measured += seconds
            found.append(rows)
            failure = None if rows else "unmappable"
            values = tuple(rows[0]) if rows else None
            began = process_time()
            others = tuple(map(tuple, rows[1:]))
            made.tell([Observation(points[0], values, 1, failure, others=others)])
            proposals += process_time() - began
        return found, proposals / measured


def hindsight(designs: Rows, expected: Rows, corner: Floats, n: int) -> Rows:
    """Return ``n`` designs, each of which would add most to those before it if its outcomes were
    the ``expected`` ones."""
    chosen: list[list[float]] = []
    best: Rows = []
    # what a design adds only falls
    gains = [(-inf, at) for at in range(len(designs))]
    for _ in range(min(n, len(designs))):
        volume = hypervolume(chosen, corner.tolist()) if chosen else 0.0
        while True:
            _, at = heappop(gains)
            added = hypervolume([*chosen, *expected[at]], corner.tolist()) - volume
            if not gains or -added <= gains[0][0]:
                break
            heappush(gains, (-added, at))
        best.append(designs[at])
        rows = np.array([*chosen, *designs[at]])
        chosen = rows[non_dominated(rows)].tolist()
    return best


def omniscient(replay: Replay, corner: Floats, n: int) -> Iterator[tuple[str, Rows]]:
    """Yield what searches that know something of all designs choose."""
    found = [one for one in replay.known.values() if one.rows]
    designs = [one.rows for one in found]
    yield "in hindsight", hindsight(designs, designs, corner, n)
    true = np.array([np.min(rows, axis=0) for rows in designs])
    least = np.array([one.least for one in found])
    bounds = least * np.exp(np.log(true / least).mean(axis=0))
    yield "by bounds", hindsight(designs, bounds[:, None].tolist(), corner, n)
    for i, objective in enumerate(replay.objectives):
        if not objective.known:
            better = bounds.copy()
            better[:, i] = true[:, i]
            rows = better[:, None].tolist()
            yield f"by bounds and true {objective.name}", hindsight(designs, rows, corner, n)


def table(replay: Replay, runs: dict[str, list[tuple[Rows, float]]], trials: int) -> Iterator[str]:
    """Yield the lines of the runs on a space, by optimizer."""
    designs = [one.rows for one in replay.known.values() if one.rows]
    every = np.array([row for rows in designs for row in rows])
    front = every[non_dominated(every)]
    corner = 1.1 * front.max(axis=0)
    whole = hypervolume_after(front, corner.tolist())[-1]
    shown = [n for n in SHOWN if n <= trials]
    yield f"{len(designs)} designs with {len(every)} outcomes, {len(front)} of them on the front"
    yield f"| optimizer (seeds) | 95% after | {' | '.join(map(str, shown))} | proposals, % |"
    yield "|---" * (3 + len(shown)) + "|"
    knowing = {name: [(best, 0.0)] for name, best in omniscient(replay, corner, trials)}
    for name, own in (knowing | runs).items():
        shares = [_shares(one, corner, whole) for one, _ in own]
        after = [next((i + 1 for i, s in enumerate(each) if s >= GOAL), inf) for each in shares]
        cells = [_band(after, ".0f")]
        cells += [_band([100 * each[n - 1] for each in shares], ".1f") for n in shown]
        cells.append(_band([100 * taken for _, taken in own], ".0f"))
        yield f"| {name} ({len(own)}) | " + " | ".join(cells) + " |"


def _shares(trials: Rows, corner: Floats, whole: float) -> list[float]:
    # a trial without any outcome adds nothing
    trials = [rows or [corner.tolist()] for rows in trials]
    volumes = hypervolume_after([row for rows in trials for row in rows], corner.tolist())
    return [volumes[end - 1] / whole for end in np.cumsum([len(rows) for rows in trials])]


def _band(values: Sequence[float], style: str) -> str:
    low, high, middle = min(values), max(values), format(median(values), style)
    return middle if low == high else f"{middle} ({low:{style}}-{high:{style}})"


def main() -> None:
    """Run the studies and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    names = sorted(path.name for path in SPACES.iterdir())
    parser.add_argument("--spaces", nargs="+", choices=names, default=names)
    parser.add_argument("--optimizers", nargs="*", default=["mobo", LOOSE])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--evaluations", type=int, help="of a mapping; those of the studies")
    parser.add_argument("--out", type=Path, default=Path("runs/spaces_replay"))
    options = parser.parse_args()
    for space in options.spaces:
        replay = Replay(space, options.out, options.evaluations)
        runs = {
            name: [replay.run(name, seed, options.trials) for seed in range(options.seeds)]
            for name in options.optimizers
        }
        print(space + ": " + "\n".join(table(replay, runs, options.trials)), flush=True)


if __name__ == "__main__":
    main()
