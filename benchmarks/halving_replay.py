"""What each way to halve keeps of a front, and what it spends: replayed on full-budget studies.

The curve of a trial does not depend on who shares the budget out (advancing by a and then by b
gives what advancing by a + b gives). So a study without halving tells what any allocator would
have done with its batches: each trial's curve is cut where the allocator would have stopped it.

    python benchmarks/halving_replay.py joint 30 --first 2   # a planner, its full budget in plans
    python benchmarks/halving_replay.py genetic 224

runs ``data/full_budget.yaml`` with each seed (a run that was stopped goes on where it was), and
prints for each allocator the share of the plans that it prices, and the share of the full budget's
hypervolume (decades cubed, below a corner 10% above the worst values) that is left: medians over
seeds and ranges. The designs are those of the study: what an optimizer would have proposed after
weaker results is not in it.
"""

import argparse
from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from statistics import median
from typing import get_args

from archloom.search.brackets import Brackets
from archloom.search.fusion_search import FUSION_SEARCHES
from archloom.search.halving import Rank, SuccessiveHalving
from archloom.search.pareto import hypervolume
from archloom.search.protocols import BudgetAllocator, Curve, Standing
from archloom.studies.choices import Choice
from archloom.studies.config import ExecutorChoice, StudyConfig, load_config
from archloom.studies.executors import make_executor
from archloom.studies.loop import run_study
from archloom.studies.store import Store
from archloom.studies.study import header_of, prepare
from archloom.studies.trial import Record

STUDY = Path(__file__).with_name("data") / "full_budget.yaml"
SHARES = (0.0, 0.15, 0.3, 0.49)
ROUNDS = (2, 3, 4)


def curve_of(record: Record, spent: int | None = None) -> Curve:
    """Return a trial's curve, cut after so many evaluations."""
    steps = [
        (n, float("inf") if edp is None else edp)
        for n, edp in zip(record["curve"]["evaluations"], record["curve"]["edp_js"], strict=True)
        if spent is None or n <= spent
    ]
    return Curve(tuple(n for n, _ in steps), tuple(edp for _, edp in steps))


def costs_of(record: Record, spent: int) -> tuple[float, float, float] | None:
    """Return EDP, area and TDP after so many evaluations; None if nothing was found by then."""
    edp = curve_of(record, spent).edp[-1]
    return (edp, record["area_mm2"], record["tdp_w"]) if isfinite(edp) else None


def standing_of(record: Record, spent: int) -> Standing:
    """Return where a trial stands. Its bound is not in the record: nothing bounds its EDP here."""
    costs = costs_of(record, spent)
    return Standing(curve_of(record, spent), costs, costs and (0.0, *costs[1:]))


def replayed(
    batch: Sequence[Record], allocator: BudgetAllocator, before: Sequence[tuple[float, ...]]
) -> dict[int, int]:
    """Return the evaluations that each trial of a batch gets; ``before`` was measured earlier."""
    records = {record["trial"]: record for record in batch if record["edp_js"] is not None}
    spent = dict.fromkeys(records, 0)
    alive = sorted(records)
    for round_index in range(allocator.rounds):
        for trial in alive:
            spent[trial] += allocator.budget(round_index)
        standings = {trial: standing_of(records[trial], spent[trial]) for trial in alive}
        stopped = (costs_of(records[t], spent[t]) for t in records if t not in standings)
        rivals = [*before, *(costs for costs in stopped if costs)]
        alive = allocator.survivors(standings, round_index, rivals)
    return spent


def outcome(
    batches: Sequence[Sequence[Record]], allocator: BudgetAllocator
) -> tuple[int, list[tuple[float, float, float]]]:
    """Return the evaluations that all batches take, and the values of the priced trials."""
    total = 0
    values: list[tuple[float, float, float]] = []
    for batch in batches:
        spent = replayed(batch, allocator, tuple(values))
        for record in batch:
            if record["trial"] not in spent:
                continue
            costs = costs_of(record, spent[record["trial"]])
            # a planner may have ended before its budget was spent
            total += min(spent[record["trial"]], record["evaluations"])
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
            brackets = Brackets(rounds, first, rank=rank)
            made[f"brackets by {rank}, {rounds} rounds from {first}"] = brackets
    if given:
        made[f"none, {given} for all"] = SuccessiveHalving(1, given)
    return made


def full_budget(fusion: str, plans: int, seed: int) -> Callable[[StudyConfig], StudyConfig]:
    """Return what makes a study of the file: a planner, its budget and a seed."""

    def change(config: StudyConfig) -> StudyConfig:
        return config.model_copy(
            update={
                "seed": seed,
                "halving": Choice.model_validate({"name": "none", "evaluations": plans}),
                "software": config.software.model_copy(update={"fusion": fusion}),
                "executor": ExecutorChoice(name="inline"),
            }
        )

    return change


def run(config: StudyConfig, folder: Path) -> list[Record]:
    """Run a study, or go on with it, and return its trials."""
    study = prepare(config, config.space)
    with (
        Store.create(folder, header_of(config)) as store,
        make_executor("inline", study.context, None, None) as executor,
    ):
        return run_study(study, store, executor, lambda _: None)


def kept(records: Sequence[Record], allocator: BudgetAllocator) -> tuple[float, float, float]:
    """Return percents of the full budget: plans and hypervolume; and the least EDP over its."""
    numbers = sorted({record["batch"] for record in records})
    batches = [[r for r in records if r["batch"] == number] for number in numbers]
    priced = [r for r in records if r["edp_js"] is not None]
    full = [(r["edp_js"], r["area_mm2"], r["tdp_w"]) for r in priced]
    corner = [1.1 * max(column) for column in zip(*full, strict=True)]
    spent, values = outcome(batches, allocator)
    return (
        100 * spent / sum(record["evaluations"] for record in priced),
        100 * hypervolume(values, corner) / hypervolume(full, corner),
        min(v[0] for v in values) / min(v[0] for v in full),
    )


def _band(values: Sequence[float], style: str) -> str:
    return f"{median(values):{style}} ({min(values):{style}}-{max(values):{style}})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("fusion", choices=sorted(FUSION_SEARCHES))
    parser.add_argument("plans", type=int, help="of each design and network: the full budget")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, nargs="+", help="plans of the first round")
    parser.add_argument("--out", type=Path, default=Path("runs/halving"))
    options = parser.parse_args()
    studies = []
    for seed in range(options.seeds):
        config = load_config(STUDY, full_budget(options.fusion, options.plans, seed))
        studies.append(run(config, options.out / f"{options.fusion}-{options.plans}-{seed}"))
        print(f"seed {seed}: {len(studies[-1])} designs", flush=True)
    print("| allocator | plans, % | hypervolume, % | least EDP, x |\n|---|---|---|---|")
    for first in options.first or [None]:
        for name, allocator in allocators(options.plans, first).items():
            columns = zip(*(kept(records, allocator) for records in studies), strict=True)
            cells = [_band(c, s) for c, s in zip(columns, (".1f", ".2f", ".3f"), strict=True)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
