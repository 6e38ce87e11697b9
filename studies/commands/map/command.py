"""``archloom map``: the best mapping of each case of a file."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from archloom.evaluators.loopnest import MappingProblem
from archloom.search import MAPPING_SEARCHES
from archloom.studies.rendering.pictures import PANELS, check_picture, draw_convergence, draw_fronts
from archloom.studies.rendering.text import known, print_line
from archloom.studies.solve import (
    UNLIMITED,
    MappingEffort,
    Solution,
    find_front,
    solve_compiled,
    warm,
)

from ...errors import INTERRUPTED, NOTHING_FOUND, UserError
from .cases import Sought, Task, read_tasks
from .tables import MapProgress, Solved, case_json, print_solved

if TYPE_CHECKING:
    from rich.console import Console

#: how factors may cover the bounds of a layer
FACTORS = ("imperfect", "exact")

#: seconds for a case, if nobody says anything
DEFAULT_SECONDS = 10.0


@dataclass(frozen=True)
class Output:
    """Choices of what is printed and drawn.

    Attributes:
        as_json: print a line of JSON for each case, as soon as it is solved.
        plot: file for the picture of how the searches got there.
        front: file for the picture of energy against latency.

    Raises:
        UserError: a file that is no picture, or has no folder.
    """

    as_json: bool = False
    plot: Path | None = None
    front: Path | None = None

    def __post_init__(self) -> None:
        check_picture(self.plot, "--plot")
        check_picture(self.front, "--front")


def effort_of(
    search: str, seconds: float | None, evaluations: int | None, seed: int, factors: str
) -> MappingEffort:
    """Return the effort that options ask for.

    Raises:
        UserError: an unknown search or kind of factors, or a budget that is none.
    """
    known(search, "--search", list(MAPPING_SEARCHES))
    known(factors, "--factors", FACTORS)
    if seconds is not None and not seconds > 0:
        raise UserError(f"--budget-seconds must be above 0, got {seconds:g}")
    if seconds is None:
        seconds = DEFAULT_SECONDS if evaluations is None else float("inf")
    most = UNLIMITED if evaluations is None else evaluations
    return MappingEffort(search, seconds, most, seed, factors)


def map_cases(
    path: Path,
    case: str | None,
    sought: Sought,
    effort: MappingEffort,
    output: Output,
    console: "Console",
) -> int:
    """Solve the cases of a file and print what was found; return the exit code.

    Raises:
        UserError: see :func:`archloom.studies.commands.map.cases.read_tasks`.
    """
    from rich.console import Console

    tasks = read_tasks(path, sought, case)
    solved: list[Solved] = []
    notes = Console(stderr=True)
    try:
        with MapProgress(len(tasks), notes) as live:
            for task, solution in solutions(tasks, effort, live):
                solved.append((task, solution))
                if output.as_json:
                    print(json.dumps(case_json(task, solution), allow_nan=False), flush=True)
        stopped = any(solution.interrupted for _, solution in solved)
    except KeyboardInterrupt:
        stopped = True
    if solved and not output.as_json:
        print_solved(solved, sought.objective, console)
    if stopped:
        print_line(
            f"stopped; {len(tasks) - len(solved)} of {len(tasks)} cases are not mapped yet", notes
        )
    stopped = draw(solved, sought, effort, output, notes, stopped)
    if stopped:
        return INTERRUPTED
    return NOTHING_FOUND if any(solution.mapping is None for _, solution in solved) else 0


def draw(
    solved: Sequence[Solved],
    sought: Sought,
    effort: MappingEffort,
    output: Output,
    notes: "Console",
    stopped: bool,
) -> bool:
    """Draw what is asked for, and say what is on it; return whether somebody stopped it."""
    distinct = {task.problem: (task, s) for task, s in reversed(solved) if s.mapping is not None}
    longest = sorted(distinct.values(), key=lambda pair: -pair[1].cpu_s)[:PANELS]
    which = ""
    if len(longest) < len(distinct):
        which = f"the {PANELS} of {len(distinct)} problems with the longest search (use --case for "
        "one)"
    if output.plot is not None and longest:
        draw_convergence([(t.title, s) for t, s in longest], sought.objective, output.plot)
        print_line(f"wrote {output.plot}: {which or 'progress of the search'}", notes)
    if output.front is None or not longest or stopped:
        return stopped
    fronts = []
    with MapProgress(len(longest), notes) as live:
        for task, _ in longest:
            live.begin(task.title, "front")
            fronts.append((task.title, find_front(task.problem, effort, live.tell)))
            live.done()
            if fronts[-1][1].interrupted:
                break
    draw_fronts(fronts, output.front)
    print_line(f"wrote {output.front}: {which or 'Pareto front of energy and latency'}", notes)
    return fronts[-1][1].interrupted


def solutions(tasks: Sequence[Task], effort: MappingEffort, live: MapProgress) -> Iterator[Solved]:
    """Yield each task with its solution; the same problem is solved once.

    The last solution is one that was interrupted, if any is.
    """
    found: dict[MappingProblem, Solution] = {}
    compiled: set[bool] = set()
    for task in tasks:
        problem = task.problem
        if problem not in found:
            if problem.impossible() is None and (problem.setup.extras is None) not in compiled:
                live.begin(task.title, "compiling kernels (only the first time)")
                warm(problem, effort)
                compiled.add(problem.setup.extras is None)
            live.begin(task.title, "searching")
            found[problem] = solve_compiled(problem, effort, live.tell)
        live.done()
        yield task, found[problem]
        if found[problem].interrupted:
            return
