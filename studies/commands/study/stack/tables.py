"""Tables of studies of kind stack: their points, with the front, and how far they are."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from archloom.studies.config import argument
from archloom.studies.rendering.text import new_table, print_line, print_whole
from archloom.studies.solve.stack import StackStatus

if TYPE_CHECKING:
    from rich.console import Console

_HEADS: Final = (
    "model", "compression", "algorithm", "schedules", "accuracy %", "time us", "noise", "kB",
    "front", "remark",
)  # fmt: skip
_TEXTS: Final = ("model", "compression", "algorithm", "schedules", "front", "remark")


def print_points(found: dict[str, Any], console: "Console") -> None:
    """Print all points of the results of a study."""
    study, machine = found["study"], found["machine"]
    threads = study["threads"]
    clock = "1 thread, CPU time" if threads == 1 else f"{threads} threads, wall-clock time"
    seeds = f"{study['seeds']} seed{'s' if study['seeds'] > 1 else ''}"
    table = new_table(f"{found['name']}: {study['data']}, {seeds}; {clock}", _HEADS, _TEXTS)
    front = set(found["front"])
    before: tuple[str, ...] = ()
    for number, row in enumerate(found["points"]):
        head = (row["model"], row["compression"])
        names = head if head != before else ("", "")
        table.add_row(*names, *_cells(row), "<" if number in front else "", _remark(row))
        before = head
    print_whole(table, console)
    print_line(
        "Column front: < marks points of the Pareto front of accuracy, time and size", console
    )
    reasons = Counter(r["reason"]["reason"] for r in found["points"] if r["status"] == "refused")
    for reason, count in sorted(reasons.items()):
        print_line(f"{count} of {len(found['points'])} points refused: {reason}", console)
    libraries = ", ".join(f"{name} {v}" for name, v in machine["libraries"].items())
    print_line(f"{machine['cpu']}; {libraries}", console)


def _cells(row: dict[str, Any]) -> Iterator[str]:
    yield row["algorithm"]
    yield "tuned" if row["tuned"] else "untuned"
    yield f"{row['accuracy_percent']:.2f}"
    timed = row["status"] == "timed"
    yield f"{row['time_us']:,.1f}" if timed else ""
    yield f"{row['noise']:.1%}" if timed else ""
    yield f"{row['stored_bytes'] / 1e3:,.1f}"


def _remark(row: dict[str, Any]) -> str:
    return "" if row["status"] == "timed" else f"refused: {row['reason']['text']}"


def status_lines(status: StackStatus) -> Iterator[str]:
    """Yield what is printed of how far a study is."""
    if status.process is not None:
        who = f"running in process {status.process}"
    elif status.ended:
        who = "finished"
    else:
        who = f"not running; resume with: archloom resume {argument(status.folder)}"
    yield f"study {status.folder} (kind: stack): {who}"
    yield (
        f"  models: {status.steps} of {status.steps_wanted} training, pruning and quantisation "
        "steps done"
    )
    yield f"  kernels: {status.tried} schedules tried, {status.kernels} kernels timed"
    yield f"  points: {status.points} of {status.points_wanted} done"
