"""Held-out networks: how the designs of the front do on networks that they were not found for.

After the search each design of the front, and the baseline, has its software searched for every
held-out network, with the same budget. Nothing is learned from it and no design leaves the front.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..search.goals import Goal
from ..search.seeds import derived_seed
from .trial import BASELINE, Record
from .work import Crash, Work, decode

if TYPE_CHECKING:
    from ..space.hardware import Hardware
    from ..space.network import Network
    from .executors import Executor
    from .history import History
    from .study import Study


def held_out_goals(objectives: Sequence[Goal], networks: "Sequence[Network]") -> tuple[Goal, ...]:
    """Return what is measured of the held-out networks together.

    The objectives that software decides, of all held-out networks: what the study has of one
    workload, or weighs, becomes the geometric mean.
    """
    goals = (
        Goal(goal.metric, "geomean" if goal.aggregate == "weighted_sum" else goal.aggregate)
        for goal in objectives
        if not goal.known
    )
    return tuple(goal for goal in dict.fromkeys(goals) if goal.fault(networks) is None)


def validate(
    study: "Study",
    front: Sequence[Record],
    history: "History",
    executor: "Executor",
    watch: Callable[[int, int], None],
) -> list[Record]:
    """Search the software of the held-out networks; return a record for each design.

    Args:
        study: with held-out networks.
        front: its final front.
        history: has what was done before; gets what is done now.
        executor: does the work.
        watch: told how many searches are done, and of how many.

    Returns:
        For each design of the front, in its order, and for the baseline: ``trial`` (-1 for the
        baseline), ``hardware``, ``evaluations`` of each network, ``networks`` (figures of the best
        software by label), ``missing`` (why a network has none) and ``values``, the figures of
        :func:`held_out_goals`, which are empty if a network is missing.
    """
    designs = {record["trial"]: study.hardware(record["point"]) for record in front}
    if study.baseline is not None:
        designs[BASELINE] = study.baseline
    count = len(study.context.held_out)
    pieces = [(trial, i) for trial in designs for i in range(count)]
    left = [piece for piece in pieces if history.held_out(*piece) is None]
    seed, budget = study.config.seed, study.validation_budget
    work = [
        Work(designs[trial], derived_seed(seed, trial, "validation"), None, budget, held_out=i)
        for trial, i in left
    ]
    done = len(pieces) - len(left)
    watch(done, len(pieces))
    for index, result in executor.run(work):
        history.validated(*left[index], result)
        done += 1
        watch(done, len(pieces))
    return [_record(study, trial, design, history) for trial, design in designs.items()]


def _record(study: "Study", trial: int, hardware: "Hardware", history: "History") -> Record:
    from ..evaluators.hardware_cost import hardware_cost
    from ..search.costs import design_costs

    networks = study.context.held_out
    found: dict[str, Any] = {}
    missing: dict[str, Any] = {}
    for i, network in enumerate(networks):
        result = history.held_out(trial, i)
        if result is None:
            raise RuntimeError(f"the executor lost trial {trial} on {network.name}")
        if isinstance(result, Crash):
            missing[network.name] = {"crash": result.to_dict()}
            continue
        outcome = decode(result)
        if network.name in outcome.networks:
            found[network.name] = outcome.networks[network.name]
        else:
            missing[network.name] = {"reason": outcome.infeasible}
    values = {}
    if not missing:
        passes = [(found[n.name]["energy_pj"], found[n.name]["latency_cycles"]) for n in networks]
        costs = design_costs(networks, hardware, hardware_cost(hardware), passes)
        goals = held_out_goals(study.problem.goals.objectives, networks)
        values = {goal.name: goal.figure(goal.cost(costs)) for goal in goals}
    return {
        "trial": trial,
        "hardware": hardware.name,
        "evaluations": study.validation_budget,
        "values": values,
        "missing": missing,
        "networks": found,
    }
