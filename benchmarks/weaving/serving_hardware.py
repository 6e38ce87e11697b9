"""Chips for two networks, searched for both together, against the same budget for each alone.

    python benchmarks/weaving/serving_hardware.py compare --trials 24
    python benchmarks/weaving/serving_hardware.py bounds --designs 40

``compare`` runs ``examples/serving.yaml`` with so many trials, and the same study for each of its
networks alone with half of them. Three ways to serve both networks come of it:

- a chip that was searched for both;
- a chip that was searched for one of them, and that both share: its software is searched for both
  with all that a trial can get, which is not counted;
- two chips side by side, each searched for its network: of any such pair the areas add up, and the
  rate of the mix is that of the chip that is asked for more than it can give.

It prints the most goodput of each within some areas. ``bounds`` says how far goodputs of random
designs are above what docs/explanation/bounds.md bounds their costs by.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np

from archloom.evaluators.hardware import hardware_cost
from archloom.search.objectives.objective import AREA, Objective
from archloom.search.objectives.tenants import Tenant, mean_worth, shares
from archloom.search.software.search import SoftwareTask, advance
from archloom.space.hardware.hardware import Hardware
from archloom.studies.analysis.front import read_front
from archloom.studies.config.study_config import ExecutorChoice, StudyConfig, load_config
from archloom.studies.engine.executors import make_executor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import Study, header_of, prepare
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import Trial

STUDY = Path(__file__).parents[2] / "examples" / "serving.yaml"
GOODPUT = Objective("goodput")


@dataclass(frozen=True)
class Server:
    """One chip or two, and what they are able to do.

    Attributes:
        area_mm2: of all chips.
        goodput_per_s: of the whole mix.
        name: of its designs.
    """

    area_mm2: float
    goodput_per_s: float
    name: str


def ran(config: StudyConfig, folder: Path) -> tuple[Study, Sequence[Trial]]:
    """Run a study, or go on with it; return it and its front."""
    study, choice = prepare(config, config.space), config.executor
    with (
        Store.create(folder, header_of(config)) as store,
        make_executor(choice.name, study.context, choice.workers, choice.address) as executor,
    ):
        run_study(study, store, executor, Unwatched())
    return study, read_front(folder).members


def alone(config: StudyConfig, tenant: Tenant) -> StudyConfig:
    """Return the study of one network, with half of the trials."""
    chosen = [w for w in config.workloads if w.label == tenant.workload]
    return replace(
        config,
        name=f"{config.name}-{tenant.workload}",
        workloads=tuple(chosen),
        tenants=(tenant,),
        trials=config.trials // 2,
    )


def shared(study: Study, hardware: Hardware) -> Server | None:
    """Return what a design does for all tenants, with all the search that a trial can get."""
    budget = sum(map(study.allocator.budget, range(study.allocator.rounds)))
    context = study.context
    task = SoftwareTask(hardware, context.networks, context.settings, 0, context.sharing)
    found = advance(task, None, budget)
    if found.infeasible or found.together.get("deadline", 0.0) > 1:
        return None
    return Server(hardware_cost(hardware).area_mm2, 1 / found.together["goodput"], hardware.name)


def pairs(tenants: Sequence[Tenant], fronts: Sequence[Sequence[Server]]) -> Iterable[Server]:
    """Yield chips side by side, one of each front, whose goodputs are inferences of one network."""
    for chips in product(*fronts):
        mix = zip(shares(tenants), tenants, chips, strict=True)
        rate = min(chip.goodput_per_s / tenant.weight / share for share, tenant, chip in mix)
        area, name = sum(chip.area_mm2 for chip in chips), " | ".join(chip.name for chip in chips)
        yield Server(area, rate * mean_worth(tenants), name)


def servers(front: Iterable[Trial]) -> list[Server]:
    """Return the members of a front."""
    return [Server(t.figure(AREA), t.figure(GOODPUT), t.hardware) for t in front]


def compare(options: argparse.Namespace) -> None:
    """Print the most goodput of each way within some areas."""
    config = load_config(options.study, lambda study: replace(study, **changed(options)))
    study, front = ran(config, options.out / "together")
    ways = {"searched for both": servers(front), "for one, shared": [], "two chips": []}
    fronts = []
    for tenant in config.tenants:
        own, members = ran(alone(config, tenant), options.out / f"for {tenant.workload}")
        fronts.append(servers(members))
        designs = [own.hardware(trial.point) for trial in members if trial.point is not None]
        found = (shared(study, design) for design in designs)
        ways["for one, shared"] += [server for server in found if server is not None]
    ways["two chips"] = list(pairs(config.tenants, fronts))
    print("goodput per second, at most      " + "".join(f"{a:>8g} mm2" for a in options.areas))
    for way, found in ways.items():
        print(f"{way:<33}" + "".join(f"{most(found, a):12,.0f}" for a in options.areas))
    print(f"{config.trials} trials; {config.trials // 2} for each network alone")


def most(found: Iterable[Server], area_mm2: float) -> float:
    """Return the largest goodput within an area; 0 if nothing is as small."""
    return max((s.goodput_per_s for s in found if s.area_mm2 <= area_mm2), default=0.0)


def bounds(options: argparse.Namespace) -> None:
    """Print how far random designs are above both bounds of goodput."""
    config = load_config(options.study)
    study = prepare(config, config.space)
    problem, rng = study.problem, np.random.default_rng(options.seed)
    loose, tight = [], []
    for candidate in problem.sample(rng, options.designs, (), 10_000):
        server = shared(study, study.hardware(candidate.point))
        if server is None:
            continue
        place = problem.objective_set.objectives.index(GOODPUT)
        costs = [c.values[place] for c in (candidate, problem.tightened(candidate))]
        first, second = (1 / cost / server.goodput_per_s for cost in costs)
        loose.append(first)
        tight.append(second)
    print(f"bound / goodput over {len(tight)} designs: median (least to most)")
    for name, ratios in (("first", loose), ("second", tight)):
        print(f"{name:<8}{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def changed(options: argparse.Namespace) -> dict[str, object]:
    """Return what the command line changes of the study."""
    executor = ExecutorChoice(name=options.executor, workers=options.workers)
    return {"seed": options.seed, "trials": options.trials, "executor": executor}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("compare", "bounds"))
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--designs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--areas", type=float, nargs="+", default=[10, 20, 40, 60, 80])
    parser.add_argument("--out", type=Path, default=Path("runs/serving_hardware"))
    parser.add_argument("--executor", choices=("ray", "inline"), default="inline")
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    {"compare": compare, "bounds": bounds}[options.what](options)


if __name__ == "__main__":
    main()
