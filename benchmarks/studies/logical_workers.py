"""What a study loses in the quality of its front if many rounds are open at a time.

The problem is the one of ``hardware/hardware_search.py``, whose front is known: ResNet-18 and
MobileNetV2 on the edge accelerators of ``casco_edge``, layer by layer, every layer with an exact
mapping. Whole studies with ``mobo`` are run for each number of ``logical_workers``; what a design
comes to is kept in a file, since it does not depend on the study that asks.

    python benchmarks/studies/logical_workers.py --trials 300 --seeds 5

It prints the percent of the exact front's hypervolume (logarithms; the corner lies a tenth above
the worst values of the exact front) after so many trials: medians over seeds, and ranges.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from archloom.search.pareto import hypervolume_after
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.executors.executor import InlineExecutor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.history import decode, encode
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import Trial

FRONT = Path(__file__).parents[1] / "data" / "casco_edge_front.json"

STUDY = """\
seed: {seed}
workloads: [resnet18, mobilenetv2]
space: casco_edge
constraints: {{area_mm2: 20, tdp_w: 2}}
optimizer: {{name: mobo, initial: 8}}
halving: {{name: none, evaluations: 1}}
trials: {trials}
batch_size: {batch_size}
logical_workers: {logical_workers}
software: {{fusion: none, mapping: exact}}
executor: {{name: inline}}
"""


class Kept:
    """A software search that remembers what every design came to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._known: dict[str, str] = dict(json.loads(line) for line in lines)

    def __call__(
        self, task: SoftwareTask, state: dict[str, Any] | None, budget: int
    ) -> SoftwareResult:
        """Return what a design comes to."""
        key = task.hardware.name
        if key not in self._known:
            self._known[key] = encode(advance(task, state, budget))
            with self._path.open("a") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return decode(self._known[key])


def shares(trials: list[Trial], exact: np.ndarray) -> list[float]:
    """Return the percent of the exact hypervolume after each trial."""
    corner = (1.1 * exact.max(axis=0)).tolist()
    rows = [corner if t.edp_js is None else [t.edp_js, t.area_mm2, t.tdp_w] for t in trials]
    volumes = hypervolume_after([*rows, *exact.tolist()], corner)
    return [100 * volume / volumes[-1] for volume in volumes[: len(rows)]]


def run(options: argparse.Namespace, workers: int, seed: int, kept: Kept) -> list[Trial]:
    """Return the trials of a study; one that was stopped goes on where it was."""
    name = f"{workers}_{options.batch_size}_{seed}"
    file = options.out / f"{name}.yaml"
    settings = {"trials": options.trials, "batch_size": options.batch_size}
    file.write_text(STUDY.format(seed=seed, logical_workers=workers, **settings))
    config = load_config(file)
    study = prepare(config, config.space, kept)
    with (
        Store.create(options.out / name, header_of(config)) as store,
        InlineExecutor(study.context) as executor,
    ):
        run_study(study, store, executor, Unwatched())
    return read_trials(options.out / name)


def table(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines that are printed."""
    exact = np.array([member["values"] for member in json.loads(FRONT.read_text())["front"]])
    kept = Kept(options.out / "designs.jsonl")
    counts = [n for n in options.counts if n <= options.trials]
    yield "logical workers | " + " | ".join(f"{n} trials" for n in counts)
    for workers in options.workers:
        runs = [shares(run(options, workers, seed, kept), exact) for seed in range(options.seeds)]
        cells = []
        for n in counts:
            found = [one[min(n, len(one)) - 1] for one in runs]
            cells.append(f"{median(found):.2f} ({min(found):.2f} to {max(found):.2f})")
        yield f"{workers} | " + " | ".join(cells)


def main() -> None:
    """Run the studies and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--counts", type=int, nargs="+", default=[40, 100, 300])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs/logical_workers"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for line in table(options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
