"""Designs found for two networks, tried on four others: CASCO's Table II on our cost model.

Runs one study file with the methods of ``archloom.studies.config.methods``, everything else alike,
over some seeds, and prints for each network the picked design's energy, latency and EDP (medians
over seeds), and the EDP beside the paper's, both as ratios to HASCO + Optimus. ``archloom`` is the
study file with no method: what a user gets by default.

    python benchmarks/studies/two_networks.py --seeds 1 --out runs/two_networks

A run that was stopped goes on where it was. The paper's design space, technology and mapping search
are not ours, so its absolute figures are not to be compared; whether the order of the methods is
the same may be.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import nan, prod
from pathlib import Path
from statistics import median

from archloom.search.software.result import NetworkResult
from archloom.studies.analysis.front import read_front
from archloom.studies.config.methods import METHODS, with_method
from archloom.studies.config.study_config import ExecutorChoice, StudyConfig, load_config
from archloom.studies.engine.executors import make_executor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store

STUDY = Path(__file__).parents[1] / "data" / "two_networks.yaml"
AGAINST = "hasco_optimus"

#: EDP (mJ x M cycles) of CASCO's Table II: of the training networks together, and of each other
PAPER_NAMES = ("training", "MobileNet", "ResNet50", "UNet", "ViT")
OUR_NAMES = ("training", "mobilenetv2", "resnet50", "unet", "vit_b_16")
PAPER = {
    "hasco": (30850.6, 784.8, 18935.3, 129116.0, 256.9),
    "hasco_optimus": (6747.0, 25.0, 972.6, 5638.2, 93.0),
    "casco": (2457.6, 7.7, 363.0, 3926.9, 53.1),
}

Figures = dict[str, tuple[float, float]]
"""Energy (mJ per inference) and latency (M cycles of a pass) by network."""


def run(config: StudyConfig, folder: Path) -> tuple[Figures, int]:
    """Run a study; return the picked design's figures, and the plans priced in the search."""
    study = prepare(config, config.space)
    choice = config.executor
    with (
        Store.create(folder, header_of(config)) as store,
        make_executor(choice.name, study.context, choice.workers, choice.address) as executor,
    ):
        run_study(study, store, executor, Unwatched())
    trials = read_trials(folder)
    front = read_front(folder)
    assert front.picked is not None
    found = front.on_held_out(front.picked)
    assert found is not None
    trained, held_out = front.picked.networks, found.networks
    figures = {name: _figures(network) for name, network in held_out.items()}
    # the paper adds the two networks up
    energies, latencies = zip(*map(_figures, trained.values()), strict=True)
    figures["training"] = (sum(energies), sum(latencies))
    return figures, sum(t.evaluations for t in trials)


def _figures(network: NetworkResult) -> tuple[float, float]:
    return network.energy_pj * 1e-9 / network.batch, network.latency_cycles * 1e-6


def report(found: dict[str, list[tuple[Figures, int]]]) -> None:
    """Print what was found, and then the ratios beside the paper's."""
    names = list(next(iter(found.values()))[0][0])
    names = ["training", *(name for name in names if name != "training")]
    print(f"\n{'method':15}{'plans':>7}" + "".join(f"{name:>30}" for name in names))
    print(f"{'':22}" + f"{'mJ':>9}{'M cycles':>10}{'EDP':>11}" * len(names))
    edp: dict[str, dict[str, float]] = {}
    for method, runs in found.items():
        edp[method] = {n: median(prod(f[n]) for f, _ in runs) for n in names}
        cells = ""
        for name in names:
            energy, latency = (median(f[name][i] for f, _ in runs) for i in (0, 1))
            cells += f"{energy:9.3g}{latency:10.3g}{edp[method][name]:11.3g}"
        print(f"{method:15}{median(spent for _, spent in runs):7.0f}{cells}")
    print(f"\nEDP / EDP of {AGAINST}: ours, and the paper's")
    shown = [paper for paper, our in zip(PAPER_NAMES, OUR_NAMES, strict=True) if our in names]
    print(f"{'method':15}" + "".join(f"{name:>20}" for name in shown))
    for method in found:
        row = ""
        for i, name in enumerate(OUR_NAMES):
            if name not in names:
                continue
            paper = PAPER[method][i] / PAPER[AGAINST][i] if method in PAPER else nan
            row += f"{edp[method][name] / edp[AGAINST][name]:12.3g}{paper:8.3g}"
        print(f"{method:15}{row}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, help="designs of a run (default: the study's)")
    parser.add_argument("--executor", choices=("inline", "ray"), default="ray")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, default=Path("runs/two_networks"))
    options = parser.parse_args(arguments)
    methods: dict[str, str | None] = {name: name for name in METHODS} | {"archloom": None}
    executor = ExecutorChoice(name=options.executor, workers=options.workers)
    found: dict[str, list[tuple[Figures, int]]] = {name: [] for name in methods}
    for seed in range(options.seeds):
        for name, method in methods.items():
            config = load_config(options.study, partial(with_method, name=method))
            changes = {"executor": executor, "trials": options.trials or config.trials}
            changes |= {"seed": seed}
            config = replace(config, **changes)
            found[name].append(run(config, options.out / f"{name}-{seed}"))
            print(f"{name} seed {seed}: done", flush=True)
    report(found)


if __name__ == "__main__":
    main()
