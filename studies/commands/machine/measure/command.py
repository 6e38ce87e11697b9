"""``archloom measure``: runs a measurement, prints it, and writes its results and picture."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from archloom.evaluators.host.machine import this_machine
from archloom.evaluators.host.worker import Plan, Worker
from archloom.studies.engine.progress import ProgressView
from archloom.studies.rendering.text import new_console, print_json, print_line, print_whole
from archloom.studies.solve.measuring import Campaign, Memory, Wanted
from archloom.studies.storage import write_whole

from ....errors import INTERRUPTED, NOTHING_FOUND, writing
from .picture import draw_times
from .tables import layer_table, network_table, remarks

if TYPE_CHECKING:
    from rich.console import Console

RESULTS = "results.json"
PICTURE = "times.png"


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go.

    Attributes:
        folder: of journal, results and picture.
        as_json: print JSON instead of tables.
        again: whether refused rows are measured again.
        compile_s: seconds of the processor that a kernel may take to compile.
    """

    folder: Path
    as_json: bool
    again: bool
    compile_s: int


def measure_kernels(wanted: Wanted, output: Output, console: "Console") -> int:
    """Measure what is wanted; return the exit code.

    Raises:
        UserError: the directory holds another measurement, or cannot be written.
    """
    machine = this_machine(wanted.threads)
    notes = new_console(stderr=True)
    memory = Memory(output.folder, wanted.record, machine.record)
    plan = Plan(compile_s=float(output.compile_s), cores=machine.cores)
    try:
        with ProgressView(notes) as view, Worker(wanted.threads) as worker:
            found = Campaign(wanted, memory, worker, view, plan, output.again).run()
    except KeyboardInterrupt:
        print_line(
            f"stopped; finished measurements are kept in {output.folder}; the same command resumes",
            notes,
        )
        return INTERRUPTED
    finally:
        memory.close()
    results = {
        "wanted": wanted.record,
        "machine": machine.record,
        "skipped": [[name, str(why)] for name, why in wanted.skipped],
        **found,
    }
    paths = _write(results, output.folder)
    if output.as_json:
        print_json(results, console)
    else:
        print_whole(layer_table(results), console)
        if results["network"]:
            print_whole(network_table(results), console)
        for line in remarks(results):
            print_line(line, console)
    for path in paths:
        print_line(f"wrote {path}", notes)
    timed = [r for layer in results["layers"] for r in layer["rows"] if r["status"] == "timed"]
    return 0 if timed else NOTHING_FOUND


def _write(results: dict[str, Any], folder: Path) -> list[Path]:
    paths = [folder / RESULTS, folder / PICTURE]
    with writing(paths[0]):
        write_whole(paths[0], json.dumps(results, indent=1).encode() + b"\n")
    with writing(paths[1]):
        draw_times(results, paths[1])
    return paths
