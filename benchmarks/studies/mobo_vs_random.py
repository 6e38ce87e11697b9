"""Does the Bayesian optimizer find a better front than random search for the same software search?

Runs one study file with both optimizers over some seeds, everything else alike, and compares the
hypervolumes of what they found (decades cubed, see ``archloom.search.pareto``) after every batch.
The reference is the file's caps, and for EDP a tenth above the worst value that any run saw.
Exits with 1 unless the median of the Bayesian optimizer is the larger one at the end.

    python benchmarks/studies/mobo_vs_random.py --seeds 5 --out runs/mobo_vs_random

A run that was stopped goes on where it was. The quickstart's study takes some minutes for each
of the ten runs; ``--trials`` and ``--workloads`` make it shorter.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archloom.search.pareto import hypervolume
from archloom.studies.config.software.component_choice import Choice
from archloom.studies.config.study_config import ExecutorChoice, StudyConfig, load_config
from archloom.studies.config.workloads import load_workloads
from archloom.studies.engine.executors import make_executor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store

OPTIMIZERS = ("mobo", "random")
OBJECTIVES = ("edp_js", "area_mm2", "tdp_w")
QUICKSTART = Path(__file__).parents[2] / "studies" / "quickstart.yaml"

Array = NDArray[np.float64]


def run(config: StudyConfig, folder: Path) -> tuple[Array, int]:
    """Run a study; return its objectives [trials, 3], inf where none, and the plans priced."""
    study = prepare(config, config.space)
    choice = config.executor
    with (
        Store.create(folder, header_of(config)) as store,
        make_executor(choice.name, study.context, choice.workers, choice.address) as executor,
    ):
        run_study(study, store, executor, Unwatched())
    trials = read_trials(folder)
    rows = [[np.inf if t.edp_js is None else t.edp_js, t.area_mm2, t.tdp_w] for t in trials]
    return np.array(rows), sum(t.evaluations for t in trials)


def variants(base: StudyConfig, options: argparse.Namespace) -> dict[tuple[str, int], StudyConfig]:
    """Return the study of each optimizer and seed."""
    changes: dict[str, Any] = {
        "baseline": None,
        "trials": options.trials or base.trials,
        "workloads": load_workloads(options.workloads, Path())
        if options.workloads
        else base.workloads,
        "executor": ExecutorChoice(name=options.executor, workers=options.workers),
    }
    return {
        (name, seed): replace(base, **changes, seed=seed, optimizer=Choice(name))
        for name in OPTIMIZERS
        for seed in range(options.seeds)
    }


def volumes(rows: Array, counts: Sequence[int], reference: Sequence[float]) -> list[float]:
    """Return the hypervolume of the first trials, for each of some numbers of them."""
    found = (rows[:n][np.isfinite(rows[:n]).all(axis=1)] for n in counts)
    return [hypervolume(part, reference) for part in found]


def report(base: StudyConfig, results: dict[tuple[str, int], tuple[Array, int]]) -> bool:
    """Print the comparison; return whether the Bayesian optimizer is ahead at the end."""
    every = np.vstack([rows for rows, _ in results.values()])
    worst = every[np.isfinite(every).all(axis=1)].max(axis=0) * 1.1
    caps = (None, base.constraints.area_mm2, base.constraints.tdp_w)
    reference = [cap or float(w) for cap, w in zip(caps, worst, strict=True)]
    trials = min(len(rows) for rows, _ in results.values())
    counts = sorted({*range(base.batch_size, trials + 1, base.batch_size), trials})
    print(
        "reference: "
        + ", ".join(f"{n} {r:.4g}" for n, r in zip(OBJECTIVES, reference, strict=True))
    )
    print(f"{'optimizer':12}{'plans':>8}" + "".join(f"{n:>9}" for n in counts) + "   (trials)")
    last = {}
    for name in OPTIMIZERS:
        runs = [value for (optimizer, _), value in results.items() if optimizer == name]
        table = np.array([volumes(rows, counts, reference) for rows, _ in runs])
        plans = median(spent for _, spent in runs)
        for label, row in (("median", np.median(table, axis=0)), ("least", table.min(axis=0))):
            shown = f"{name:12}{plans:8.0f}" if label == "median" else f"{'':20}"
            print(shown + "".join(f"{v:9.4f}" for v in row) + f"   {label} of {len(runs)} seeds")
        last[name] = float(np.median(table[:, -1]))
    return last["mobo"] > last["random"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", type=Path, default=QUICKSTART)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, help="trials of a run (default: the study's)")
    parser.add_argument("--workloads", nargs="+", help="networks (default: the study's)")
    parser.add_argument("--executor", choices=("inline", "ray"), default="ray")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=Path("runs/mobo_vs_random"))
    options = parser.parse_args()
    base = load_config(options.study)
    results = {}
    for (name, seed), config in variants(base, options).items():
        results[name, seed] = run(config, options.out / f"{name}-{seed}")
        rows = results[name, seed][0]
        print(
            f"{name} seed {seed}: {len(rows)} trials, best EDP {rows[:, 0].min():.4g} J s",
            flush=True,
        )
    return 0 if report(base, results) else 1


if __name__ == "__main__":
    sys.exit(main())
