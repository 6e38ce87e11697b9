"""What each way to halve keeps of a front, and what it spends: replayed on one study's curves.

The curve of a trial does not depend on who shares the budget out (advancing by a and then by b
gives what advancing by a + b gives). So one study without halving tells what any allocator would
have done with its batches: each trial's curve is cut where the allocator would have stopped it.

    archloom run full.yaml            # with  halving: {name: none, evaluations: 224}
    python benchmarks/halving_replay.py runs/full [--first 2]

Prints, for each allocator, the share of the software evaluations that it spends, and the share
of the full budget's hypervolume (decades cubed, below a corner 10% above the worst values) that
is left. The designs are those of the study: what an optimizer would have proposed after weaker
results is not in it.
"""

import argparse
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import get_args

from archloom.search.brackets import Brackets
from archloom.search.halving import Rank, SuccessiveHalving
from archloom.search.pareto import hypervolume
from archloom.search.protocols import BudgetAllocator, Curve, Standing
from archloom.studies.store import read_header, read_trials
from archloom.studies.trial import Record

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
    """Return ways to halve that begin with ``given`` evaluations.

    If that is None, a winner gets about ``budget`` of them in all.
    """
    made: dict[str, BudgetAllocator] = {}
    for rounds in ROUNDS:
        first = given or max(1, budget // (2**rounds - 1))
        for rank in get_args(Rank):
            for share in SHARES:
                name = "sh" if share == 0 else f"msh {share}"
                halving = SuccessiveHalving(rounds, first, share, rank)
                made[f"{name} by {rank}, {rounds} rounds"] = halving
            made[f"brackets by {rank}, {rounds} rounds"] = Brackets(rounds, first, rank=rank)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="directory of a study with halving: none")
    parser.add_argument("--first", type=int, help="evaluations of the first round")
    options = parser.parse_args()
    folder = options.study
    if (name := read_header(folder).config["halving"]["name"]) != "none":
        parser.error(f"{folder} was halved by {name}; its curves end where that stopped them")
    records = read_trials(folder)
    numbers = sorted({record["batch"] for record in records})
    batches = [[r for r in records if r["batch"] == number] for number in numbers]
    priced = [r for r in records if r["edp_js"] is not None]
    full = [(r["edp_js"], r["area_mm2"], r["tdp_w"]) for r in priced]
    corner = [1.1 * max(column) for column in zip(*full, strict=True)]
    budget = max(record["evaluations"] for record in priced)
    print(f"{len(priced)} designs in {len(batches)} batches, {budget} evaluations each")
    print(f"{'allocator':28}{'evaluations %':>15}{'hypervolume %':>15}{'least EDP x':>13}")
    for name, allocator in allocators(budget, options.first).items():
        spent, values = outcome(batches, allocator)
        share = 100 * hypervolume(values, corner) / hypervolume(full, corner)
        least = min(v[0] for v in values) / min(v[0] for v in full)
        used = 100 * spent / sum(record["evaluations"] for record in priced)
        print(f"{name:28}{used:15.1f}{share:15.2f}{least:13.3f}")


if __name__ == "__main__":
    main()
