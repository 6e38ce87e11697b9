"""How soon have optimizers 95% of what all have found on the spaces that nothing was tuned to?

The studies of ``untuned_spaces.py`` without their certificates: an optimizer proposes
one design after the other, and each design is measured once and then remembered, so that
another variant of an optimizer costs little more than its proposals:

    python benchmarks/hardware/spaces_replay.py
    python benchmarks/hardware/spaces_replay.py --optimizers mobo_loose qnehvi --seeds 2

``mobo`` has the options of the study files, ``mobo_loose`` finds designs by loose bounds. For each
space it prints medians and ranges over seeds of the trials after which an optimizer has 95% of the
hypervolume of all designs that are remembered (logarithms; the corner lies a tenth above the worst
values of their front), shares of it after some trials, and CPU-seconds of proposals in percent of
those of trials; and the same of the *front in hindsight*: members of that front, each the one that
adds the most to those before it.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search import HARDWARE_OPTIMIZERS
from archloom.search.hardware import Observation
from archloom.search.pareto import hypervolume_after, non_dominated
from archloom.search.seeds import derived_seed
from archloom.search.software.search import SoftwareTask, advance
from archloom.space.hardware import Hardware
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.study import prepare
from archloom.surrogates.box_decomposition import DominatedRegion
from archloom.surrogates.ehvi import expected_improvement
from benchmarks.hardware.untuned_spaces import GOAL, LOOSE, SPACES

#: trials after which shares are printed
SHOWN: Final = (8, 15, 24)

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Replay:
    """Studies of a space whose designs are measured once."""

    def __init__(self, space: str, out: Path) -> None:
        self._config = load_config(SPACES / space / "study.yaml")
        self._study = prepare(self._config, self._config.space)
        self._path = out / f"{space}.costs"
        text = self._path.read_text() if self._path.exists() else ""
        self.known = {key: (row, s) for key, row, s in map(json.loads, text.splitlines())}

    def cost(self, hardware: Hardware) -> tuple[list[float] | None, float]:
        """Return the costs of a design, None if nothing runs on it, and its CPU-seconds."""
        if hardware.name not in self.known:
            context, began = self._study.context, process_time()
            task = SoftwareTask(hardware, context.networks, context.settings, 0)
            found = self._study.costs(None, hardware, advance(task, None, 1))
            row = list(found) if found else None
            self.known[hardware.name] = row, round(process_time() - began, 3)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps([hardware.name, *self.known[hardware.name]]) + "\n")
        return self.known[hardware.name]

    def run(self, optimizer: str, seed: int, trials: int) -> tuple[list[list[float] | None], float]:
        """Return the costs of each trial, and the share of CPU-seconds that proposals take."""
        choice, problem = self._config.optimizer, prepare(self._config, self._config.space).problem
        options = choice.options if optimizer in (choice.name, LOOSE) else {}
        options = options | ({"bounds": "loose"} if optimizer == LOOSE else {})
        name = choice.name if optimizer == LOOSE else optimizer
        made = HARDWARE_OPTIMIZERS[name](problem, derived_seed(seed, 0, "hardware"), **options)
        rows: list[list[float] | None] = []
        proposals, measured = 0.0, 0.0
        while len(rows) < trials:
            began = process_time()
            points = made.ask(1, [])
            proposals += process_time() - began
            if not points:
                break
            hardware = problem.space.build(points[0])
            assert isinstance(hardware, Hardware)
            row, seconds = self.cost(hardware)
            measured += seconds
            rows.append(row)
            failure = None if row else "unmappable"
            values = tuple(row) if row else None
            began = process_time()
            made.tell([Observation(points[0], values, 1, failure)])
            proposals += process_time() - began
        return rows, proposals / measured


def hindsight(front: Floats, corner: Floats, n: int) -> list[list[float] | None]:
    """Return ``n`` members, each of which adds most to those before it."""
    logs, region, rows = np.log(front), DominatedRegion.of(front[:0], np.log(corner)), []
    for _ in range(min(n, len(front))):
        best = int(np.argmax(expected_improvement(region, logs, np.zeros_like(logs))))
        rows.append(front[best].tolist())
        region = region.cut(logs[best])
    return [*rows]


def table(
    replay: Replay, runs: dict[str, list[tuple[list[list[float] | None], float]]], trials: int
) -> Iterator[str]:
    """Yield the lines of the runs on a space, by optimizer."""
    rows = np.array([row for row, _ in replay.known.values() if row])
    front = rows[non_dominated(rows)]
    corner = 1.1 * front.max(axis=0)
    whole = hypervolume_after(front, corner.tolist())[-1]
    shown = [n for n in SHOWN if n <= trials]
    yield f"{len(rows)} designs, {len(front)} of them on the front"
    yield f"| optimizer (seeds) | 95% after | {' | '.join(map(str, shown))} | proposals, % |"
    yield "|---" * (3 + len(shown)) + "|"
    every = {"the front in hindsight": [(hindsight(front, corner, trials), 0.0)], **runs}
    for name, own in every.items():
        shares = [_shares([row or corner.tolist() for row in one], corner, whole) for one, _ in own]
        after = [next((i + 1 for i, s in enumerate(each) if s >= GOAL), inf) for each in shares]
        cells = [_band(after, ".0f")]
        cells += [_band([100 * each[n - 1] for each in shares], ".1f") for n in shown]
        cells.append(_band([100 * taken for _, taken in own], ".0f"))
        yield f"| {name} ({len(own)}) | " + " | ".join(cells) + " |"


def _shares(rows: list[list[float]], corner: Floats, whole: float) -> list[float]:
    return [volume / whole for volume in hypervolume_after(rows, corner.tolist())]


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
    parser.add_argument("--out", type=Path, default=Path("runs/spaces_replay"))
    options = parser.parse_args()
    for space in options.spaces:
        replay = Replay(space, options.out)
        runs = {
            name: [replay.run(name, seed, options.trials) for seed in range(options.seeds)]
            for name in options.optimizers
        }
        print(space + ": " + "\n".join(table(replay, runs, options.trials)), flush=True)


if __name__ == "__main__":
    main()
