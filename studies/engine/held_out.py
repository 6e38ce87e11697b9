"""Validation: how the designs of the front do on networks that they were not found for.

After the search each design of the front, and the baseline, has its software searched for every
held-out network, with the same budget. Nothing is learned from it and no design leaves the front.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from archloom.search import derived_seed
from archloom.studies.config import held_out_objectives
from archloom.studies.storage import BASELINE, Crash, HeldOutTrial, Trial, decode

from .progress import Running, Watch
from .study import Study, figures
from .trial_task import TrialTask

if TYPE_CHECKING:
    from archloom.search.software import NetworkResult
    from archloom.space import Infeasible
    from archloom.space.hardware import Hardware
    from archloom.studies.storage import History

    from .executors import Executor


def validate(
    study: Study,
    front: Sequence[Trial],
    history: "History",
    executor: "Executor",
    watch: "Watch",
    count: Callable[[int, int], None],
) -> list[HeldOutTrial]:
    """Search the software of the held-out networks, for the front's designs and the baseline.

    Args:
        study: with held-out networks.
        front: its final front.
        history: has what was done before; gets what is done now.
        executor: does the work.
        watch: hears what runs.
        count: called with how many searches are done, and of how many.

    Returns:
        What each design does, in the front's order, then the baseline.
    """
    designs = {t.number: study.hardware(t.point) for t in front if t.point is not None}
    if study.baseline is not None:
        designs[BASELINE] = study.baseline
    names = [network.name for network in study.context.held_out]
    every = [(trial, i) for trial in designs for i in range(len(names))]
    left = [one for one in every if history.held_out(*one) is None]
    seed, budget = study.config.seed, study.validation_budget
    tasks = [
        TrialTask(designs[trial], derived_seed(seed, trial, "validation"), None, budget, held_out=i)
        for trial, i in left
    ]
    done = len(every) - len(left)
    count(done, len(every))

    def label(index: int) -> str:
        trial, i = left[index]
        return f"{'baseline' if trial == BASELINE else f'trial {trial}'} on {names[i]}"

    def started(index: int, *where: str) -> None:
        about = ("validation", tasks[index].hardware.name, budget, left[index][0])
        watch.started(Running(label(index), *about), *where)

    for index, result in executor.run(tasks, started):
        history.validated(*left[index], result)
        watch.finished(label(index))
        done += 1
        count(done, len(every))
    return [_held_out(study, trial, design, history) for trial, design in designs.items()]


def _held_out(study: Study, trial: int, hardware: "Hardware", history: "History") -> HeldOutTrial:
    networks = study.context.held_out
    found: dict[str, NetworkResult] = {}
    missing: dict[str, Crash | Infeasible | None] = {}
    for i, network in enumerate(networks):
        result = history.held_out(trial, i)
        if result is None:
            raise RuntimeError(f"the executor lost trial {trial} on {network.name}")
        if isinstance(result, Crash):
            missing[network.name] = result
            continue
        software = decode(result)
        if network.name in software.networks:
            found[network.name] = software.networks[network.name]
        else:
            missing[network.name] = software.infeasible
    objectives = held_out_objectives(study.problem.objective_set.objectives, networks)
    values = {} if missing else figures(objectives, networks, hardware, found)
    budget = study.validation_budget
    return HeldOutTrial(trial, hardware.name, budget, values, missing, found)
