"""Tables of ``archloom map``: best mappings, the loops of one, and the progress of the search."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from archloom.space.importers.cases import loops_of
from archloom.space.mapping import loop_nest
from archloom.studies.rendering.text import (
    LiveLine,
    gap_text,
    new_table,
    percent,
    plain,
    print_line,
    print_whole,
)
from archloom.studies.solve import MappingProgress, Solution

from .cases import Task

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: a task and what came of it
Solved = tuple[Task, Solution]

#: what ``--json`` says of exact factors beside imperfect ones
_OF_EXACT = ("best", "mapping", "lower_bound", "proven_optimal", "gap_percent")

_TEXTS = ("layer", "architecture", "case", "gap", "exact factors")


def case_json(task: Task, solution: Solution) -> dict[str, Any]:
    """Return the line that ``--json`` prints for a case."""
    case, mapping = task.case, solution.mapping
    found: dict[str, Any] = {"id": case.name, "best": None, "mapping": None}
    if mapping is not None:
        found["best"] = {
            "edp": solution.edp,
            "energy_pj": solution.energy_pj,
            "cycles": int(solution.cycles),
        }
        found["mapping"] = loops_of(mapping, case.hardware, case.slots)
    found["evaluations"] = solution.evaluations
    found["cpu_s"] = solution.cpu_s
    found["lower_bound"] = solution.lower_bound
    found["proven_optimal"] = solution.proven
    found["gap_percent"] = None if solution.gap_percent == inf else solution.gap_percent
    if solution.infeasible is not None:
        found["infeasible"] = solution.infeasible.to_dict()
    if solution.exact is not None:
        again = case_json(task, solution.exact)
        found["exact"] = {key: again[key] for key in _OF_EXACT}
    return found


def print_solved(solved: Sequence[Solved], objective: str, console: "Console") -> None:
    """Print the table, what could not be mapped, and of a single case the loops.

    Args:
        solved: what came of each case; cases with the same problem stand in one row.
        objective: name of what was minimised.
        console: where to.
    """
    rows: dict[tuple[str, int], list[Solved]] = {}
    for task, solution in solved:
        rows.setdefault((task.title, id(solution)), []).append((task, solution))
    mapped = [row for row in rows.values() if row[0][1].mapping is not None]
    if mapped:
        print_whole(_table(mapped, objective), console)
    for row in rows.values():
        task, solution = row[0]
        if solution.infeasible is not None:
            free = "; --bypass free may help" if task.problem.constraints.levels else ""
            print_line(f"{_ids(row)}, {task.title}: {solution.infeasible}{free}", console)
    if len(solved) == 1 and solved[0][1].mapping is not None:
        _print_nest(*solved[0], console)
    print_line(_summary([row[0][1] for row in rows.values()], len(solved)), console)


def _table(rows: Sequence[Sequence[Solved]], objective: str) -> "Table":
    columns = ["layer", "architecture", "case", "EDP (pJ x cycles)", "energy (pJ)", "cycles"]
    names = {"edp": "EDP", "energy": "energy", "latency": "latency"}
    both = any(row[0][1].exact is not None for row in rows)
    table = new_table(
        f"Mappings of lowest {names[objective]}",
        [*columns, "gap", *(["exact factors"] if both else []), "evaluations", "CPU time s"],
        _TEXTS,
    )
    for row in rows:
        task, solution = row[0]
        table.add_row(
            plain(task.case.layer.name),
            plain(task.case.hardware.name),
            plain(_ids(row)),
            f"{solution.edp:.9e}",
            _number(solution.energy_pj),
            f"{solution.cycles:,.0f}",
            gap_text(None if solution.gap_percent == inf else solution.gap_percent),
            *([_exact_text(solution)] if both else []),
            f"{solution.evaluations:,}",
            f"{solution.cpu_s:.3f}",
        )
    return table


def _exact_text(solution: Solution) -> str:
    """Return how much worse the best mapping with exact factors is, and whether it is proven."""
    exact = solution.exact
    if exact is None:
        return ""
    ratio = exact.objective / solution.objective if solution.objective > 0 else 1.0
    worse = "same mapping" if exact.mapping == solution.mapping else f"x{ratio:.4g}"
    return f"{worse}, {gap_text(None if exact.gap_percent == inf else exact.gap_percent)}"


def _ids(row: Sequence[Solved]) -> str:
    first, more = row[0][0].case.name, len(row) - 1
    return f"{first} and {more} more" if more else first


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 1e12 else f"{value:.9e}"


def _print_nest(task: Task, solution: Solution, console: "Console") -> None:
    assert solution.mapping is not None
    bounds = " ".join(
        f"{dim}:{task.case.layer.bounds[place]}"
        for dim, place in sorted(task.case.slots.items(), key=lambda item: item[1])
        if task.case.layer.bounds[place] > 1
    )
    print_line(f"{task.title} ({bounds or 'a single operation'})", console)
    for line in loop_nest(solution.mapping, task.case.hardware):
        print_line(f"  {line}", console)
    print_line(
        "Levels from the outermost to the innermost. [WIO]: tensors held at a level (weights, "
        "inputs, outputs). Loops: outermost first; x and y are spatial (unrolled on the mesh).\n",
        console,
    )


def _summary(found: Sequence[Solution], cases: int) -> str:
    mapped = [s for s in found if s.mapping is not None]
    proven = sum(s.proven for s in mapped)
    unknown = sum(s.gap_percent == inf for s in mapped)
    gaps = [s.gap_percent for s in mapped if 0 < s.gap_percent < inf]
    parts = [f"{proven} proven optimal"]
    if gaps:
        parts.append(f"{len(gaps)} with a gap of at most {percent(max(gaps))}")
    if unknown:
        parts.append(f"{unknown} without a bound")
    if len(mapped) < len(found):
        parts.append(f"{len(found) - len(mapped)} without a mapping")
    problems = f"{len(found)} problem{'' if len(found) == 1 else 's'}"
    of = f" of {cases} cases" if cases != len(found) else ""
    spent = sum(s.cpu_s for s in found)
    return f"{problems}{of}: {', '.join(parts)}; {spent:.2f} s of CPU time"


class MapProgress(LiveLine):
    """A live line on a terminal: how many cases are done, and where the search of one stands."""

    def __init__(self, cases: int, console: "Console") -> None:
        super().__init__(cases, console, bar=24, counted=True)
        self._title = ""

    def begin(self, title: str, doing: str) -> None:
        """Say what is done for which case."""
        self._title = title
        self.show(plain(f"{title}: {doing}"))

    def done(self) -> None:
        """Count a case."""
        self.show(advance=1)

    def tell(self, stand: MappingProgress) -> None:
        """Show where the search stands."""
        gap = f", lower bound {stand.bound:.4g}" if stand.bound > 0 else ""
        text = f"{self._title}: best {stand.objective:.4g}{gap}, {stand.evaluations:,} evaluations"
        self.show(plain(text))
