"""What each way to halve keeps of a front, and what it spends: replayed on full-budget studies.

The curve of a trial does not depend on who shares the budget out (advancing by a and then by b
gives what advancing by a + b gives). So a study without halving tells what any allocator would
have done with its batches: each trial's curve is cut where the allocator would have stopped it.

    python benchmarks/studies/halving_replay.py joint 30 --first 2   # planner, full budget in plans
    python benchmarks/studies/halving_replay.py casco 224

runs ``data/full_budget.yaml`` with each seed (a run that was stopped goes on where it was), and
prints for each allocator the share of the plans that it prices, and the share of the full budget's
hypervolume (decades cubed, below a corner 10% above the worst values) that is left: medians over
seeds and ranges. The designs are those of the study: what an optimizer would have proposed after
weaker results is not in it.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from statistics import median
from typing import get_args

from archloom.search.budget.hyperband import HyperbandBrackets
from archloom.search.budget.protocol import BudgetAllocator, Curve, Standing
from archloom.search.budget.successive_halving import Rank, SuccessiveHalving
from archloom.search.objectives import ObjectiveSet
from archloom.search.pareto import hypervolume
from archloom.search.registry import FUSION_SEARCHES
from archloom.studies.config.software.component_choice import Choice
from archloom.studies.config.study_config import ExecutorChoice, StudyConfig, load_config
from archloom.studies.engine.executors import make_executor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.records import read_trials
from archloom.studies.storage.store import Store
from archloom.studies.storage.trial import Trial

STUDY = Path(__file__).parents[1] / "data" / "full_budget.yaml"
SHARES = (0.0, 0.15, 0.3, 0.49)
ROUNDS = (2, 3, 4)


def curve_of(trial: Trial, spent: int | None = None) -> Curve:
    """Return a trial's curve, cut after so many evaluations."""
    steps = [
        (n, edp)
        for n, edp in zip(trial.curve.evaluations, trial.curve.edp, strict=True)
        if spent is None or n <= spent
    ]
    return Curve(tuple(n for n, _ in steps), tuple(edp for _, edp in steps))


def costs_of(trial: Trial, spent: int) -> tuple[float, float, float] | None:
    """Return EDP, area and TDP after so many evaluations; None if nothing was found by then."""
    edp = curve_of(trial, spent).edp[-1]
    return (edp, trial.area_mm2, trial.tdp_w) if isfinite(edp) else None


def standing_of(trial: Trial, spent: int) -> Standing:
    """Return where a trial stands. Its bound is not in the record: nothing bounds its EDP here."""
    costs = costs_of(trial, spent)
    return Standing(curve_of(trial, spent), costs, costs and (0.0, *costs[1:]))


def replayed(
    batch: Sequence[Trial], allocator: BudgetAllocator, before: Sequence[tuple[float, ...]]
) -> dict[int, int]:
    """Return the evaluations that each trial of a batch gets; ``before`` was measured earlier."""
    trials = {trial.number: trial for trial in batch if trial.edp_js is not None}
    spent = dict.fromkeys(trials, 0)
    alive = sorted(trials)
    for round_index in range(allocator.rounds):
        for trial in alive:
            spent[trial] += allocator.budget(round_index)
        standings = {trial: standing_of(trials[trial], spent[trial]) for trial in alive}
        stopped = (costs_of(trials[t], spent[t]) for t in trials if t not in standings)
        rivals = [*before, *(costs for costs in stopped if costs)]
        alive = allocator.survivors(standings, round_index, rivals)
    return spent


def outcome(
    batches: Sequence[Sequence[Trial]], allocator: BudgetAllocator
) -> tuple[int, list[tuple[float, float, float]]]:
    """Return the evaluations that all batches take, and the values of the priced trials."""
    total = 0
    values: list[tuple[float, float, float]] = []
    for batch in batches:
        spent = replayed(batch, allocator, tuple(values))
        for trial in batch:
            if trial.number not in spent:
                continue
            costs = costs_of(trial, spent[trial.number])
            # a planner may have ended before its budget was spent
            total += min(spent[trial.number], trial.evaluations)
            values += [costs] if costs else []
    return total, values


def allocators(budget: int, given: int | None = None) -> dict[str, BudgetAllocator]:
    """Return ways to halve that begin with ``given`` plans, and the cheapest way not to.

    If that is None, a winner gets about ``budget`` of them in all.
    """
    made: dict[str, BudgetAllocator] = {}
    for rounds in ROUNDS:
        first = given or max(1, budget // (2**rounds - 1))
        for rank in get_args(Rank):
            for share in SHARES:
                name = "sh" if share == 0 else f"msh {share}"
                halving = SuccessiveHalving(rounds, first, share, rank)
                made[f"{name} by {rank}, {rounds} rounds from {first}"] = halving
            brackets = HyperbandBrackets(rounds, first, rank=rank)
            made[f"brackets by {rank}, {rounds} rounds from {first}"] = brackets
    if given:
        made[f"none, {given} for all"] = SuccessiveHalving(1, given)
    return made


def full_budget(fusion: str, plans: int, seed: int) -> Callable[[StudyConfig], StudyConfig]:
    """Return what makes a study of the file: a planner, its budget and a seed."""

    def change(config: StudyConfig) -> StudyConfig:
        return replace(
            config,
            seed=seed,
            halving=Choice("none", {"evaluations": plans}),
            software=replace(config.software, fusion=fusion),
            executor=ExecutorChoice(name="inline"),
        )

    return change


def run(config: StudyConfig, folder: Path) -> list[Trial]:
    """Run a study, or go on with it, and return its trials."""
    study = prepare(config, config.space)
    with (
        Store.create(folder, header_of(config)) as store,
        make_executor("inline", study.context, None, None) as executor,
    ):
        run_study(study, store, executor, Unwatched())
    return read_trials(folder)


def kept(trials: Sequence[Trial], allocator: BudgetAllocator) -> tuple[float, float, float]:
    """Return percents of the full budget: plans and hypervolume; and the least EDP over its."""
    numbers = sorted({trial.batch for trial in trials})
    batches = [[trial for trial in trials if trial.batch == number] for number in numbers]
    priced = [trial for trial in trials if trial.edp_js is not None]
    full = [trial.costs(ObjectiveSet()) for trial in priced]
    corner = [1.1 * max(column) for column in zip(*full, strict=True)]
    spent, values = outcome(batches, allocator)
    return (
        100 * spent / sum(trial.evaluations for trial in priced),
        100 * hypervolume(values, corner) / hypervolume(full, corner),
        min(v[0] for v in values) / min(v[0] for v in full),
    )


def _band(values: Sequence[float], style: str) -> str:
    return f"{median(values):{style}} ({min(values):{style}}-{max(values):{style}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("fusion", choices=sorted(FUSION_SEARCHES))
    parser.add_argument("plans", type=int, help="of each design and network: the full budget")
    parser.add_argument("--study", type=Path, default=STUDY)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, nargs="+", help="plans of the first round")
    parser.add_argument("--out", type=Path, default=Path("runs/halving"))
    options = parser.parse_args()
    studies = []
    for seed in range(options.seeds):
        config = load_config(options.study, full_budget(options.fusion, options.plans, seed))
        studies.append(run(config, options.out / f"{options.fusion}-{options.plans}-{seed}"))
        print(f"seed {seed}: {len(studies[-1])} designs", flush=True)
    print("| allocator | plans, % | hypervolume, % | least EDP, x |\n|---|---|---|---|")
    for first in options.first or [None]:
        for name, allocator in allocators(options.plans, first).items():
            columns = zip(*(kept(trials, allocator) for trials in studies), strict=True)
            cells = [_band(c, s) for c, s in zip(columns, (".1f", ".2f", ".3f"), strict=True)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
