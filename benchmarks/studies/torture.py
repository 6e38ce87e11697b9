"""One small study, run again and again with a fault each time: does it end as if nothing had been?

Each run gets one fault of a kind, at a moment or a place drawn from ``--seed``, and is then resumed
as its messages say (a file that is refused is restored from a copy) until it ends. Its trials,
baseline, certificate and validation are then compared with those of an undisturbed run, byte by
byte. Batches wait for each other in half of the runs, and overlap in the others. Faults of Ray
start it on this machine alone; those of a database start a server of PostgreSQL, those of nodes
make networks of their own, those of clocks compile a small library: what is not there is left out.
Nothing leaves the machine, and nothing of it is set.

    python benchmarks/studies/torture.py --runs 200
    python benchmarks/studies/torture.py --runs 20 --kinds worker raylet head
    python benchmarks/studies/torture.py --runs 200 --json runs.jsonl     # once more, to go on

Exit code 1 if a run lost, doubled or changed a trial, printed a traceback, or did not end.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.studies.config.location import Database
from archloom.studies.storage.database.schema import migrate
from benchmarks.studies.faults.clock import CLOCKS, SHARED_CLOCKS, Clock, clocks_can_jump
from benchmarks.studies.faults.files import FILES
from benchmarks.studies.faults.nodes import NODES
from benchmarks.studies.faults.process import load_all
from benchmarks.studies.faults.processes import PROCESSES
from benchmarks.studies.faults.run import RESUMES, STUDY, Run
from benchmarks.studies.faults.server import SHARED
from tests.cases.postgres import Server, programs
from tests.cases.ray_cluster import unable

#: how many rounds may be open at a time; batches overlap with more than one
WIDTHS: Final = (1, 8)

#: kinds of which a study is in a database
IN_DATABASE: Final = SHARED | SHARED_CLOCKS

EVERY: Final[dict[str, Callable[[Run], None]]] = FILES | PROCESSES | CLOCKS | IN_DATABASE | NODES


def possible() -> list[str]:
    """Return a turn of the kinds that this machine has the programs for; say which are left out.

    Those of clusters of three nodes, which take longest, stand in it once, and all others twice.
    """
    lacking = {
        "no PostgreSQL": set() if programs() else set(IN_DATABASE),
        "no gcc": set() if clocks_can_jump() else {*CLOCKS, *SHARED_CLOCKS, "node_clock"},
        unable() or "": set(NODES) if unable() else set(),
    }
    for why, kinds in lacking.items():
        if kinds:
            print(f"{why}, so left out: {', '.join(sorted(kinds))}", file=sys.stderr)
    turn = [*EVERY, *(kind for kind in EVERY if kind not in NODES)]
    return [kind for kind in turn if not any(kind in kinds for kinds in lacking.values())]


class Place:
    """Folders, a server and clocks for all runs, and what undisturbed ones come to."""

    def __init__(self, folder: Path, kinds: list[str], stack: ExitStack) -> None:
        self.folder = folder
        clocks = folder / "clocks"
        clocks.mkdir()
        for path in (folder, clocks):
            path.chmod(0o755)  # the server is another user
        able = bool({*CLOCKS, *SHARED_CLOCKS} & {*kinds})
        self.clock = Clock(clocks, "study") if able else None
        self.server_clock = Clock(clocks, "server") if able else None
        self.server = None
        if {*kinds} & {*IN_DATABASE}:
            self.server = Server(self.server_clock.environment if self.server_clock else None)
            stack.callback(self.server.stop)
            # so that there are tables that a journal can be looked for in
            migrate(Database.of(self.server.url))
        study = folder / "first.yaml"
        study.write_text(STUDY.format(seed=1, logical_workers=1).replace("24", "2"))
        load_all(study)
        self.expected = {width: self._undisturbed(width) for width in WIDTHS}

    def _undisturbed(self, width: int) -> dict[str, bytes | None]:
        calm = Run(self.folder / f"calm{width}", random.Random(0), width)
        assert calm.end(calm.begin()) == 0, calm.said
        assert None not in calm.results().values()
        return calm.results()

    def run(self, name: str, kind: str, rng: random.Random) -> Run:
        """Return a study for a fault of a kind."""
        return Run(
            self.folder / name,
            rng,
            rng.choice(WIDTHS),
            self.server if kind in IN_DATABASE else None,
            self.clock if kind in {*CLOCKS, *SHARED_CLOCKS} else None,
            self.server_clock if kind in SHARED_CLOCKS else None,
        )


def wrongs(run: Run, kind: str, expected: dict[str, bytes | None]) -> Iterator[str]:
    """Do one run; yield what was wrong with it."""
    with run.afterwards:
        codes = []
        try:
            EVERY[kind](run)
            while not codes or (codes[-1] not in (0, 2) and len(codes) < RESUMES):
                codes.append(run.end(run.begin()))
        except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError) as error:
            yield f"{type(error).__name__}: {error}"[:300]
        if "Traceback" in run.said:
            yield "a traceback"
        if codes and codes[-1] != 0:
            yield f"did not end: exit codes {codes}"
        elif codes:
            found = run.results()
            yield from (f"other {name}" for name, data in found.items() if data != expected[name])


def one_run(place: Place, number: int, kind: str, seed: int) -> dict[str, Any]:
    """Do one run; return what came of it."""
    began = time.monotonic()
    rng = random.Random(f"{seed} {number}")
    run = place.run(f"run{number}", kind, rng)
    found = list(wrongs(run, kind, place.expected[run.logical_workers]))
    if found:
        print(f"run {number}, {kind}: {'; '.join(found)}\n{run.said}", flush=True)
    return {
        "run": number,
        "seed": seed,
        "kind": kind,
        "logical_workers": run.logical_workers,
        "wrong": found,
        "seconds": round(time.monotonic() - began, 1),
        "commit": commit(),
    }


def commit() -> str:
    """Return the commit that is checked out, with a mark if there are changes; empty for none."""
    words = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(
        words, cwd=Path(__file__).parent, check=False, capture_output=True, text=True
    ).stdout.strip()


def table(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of a table of kinds and what came of them."""
    yield "| fault | runs | of them overlapping | wrong | seconds of a run |"
    yield "|---|---|---|---|---|"
    for kind in [kind for kind in EVERY if any(run["kind"] == kind for run in runs)] + ["all"]:
        of_it = [run for run in runs if kind in ("all", run["kind"])]
        overlapping = sum(run["logical_workers"] > 1 for run in of_it)
        wrong = sum(bool(run["wrong"]) for run in of_it)
        seconds = median(run["seconds"] for run in of_it)
        yield f"| {kind} | {len(of_it)} | {overlapping} | {wrong} | {seconds:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="in turn, a kind each")
    parser.add_argument("--seed", type=int, default=0, help="of moments and places")
    parser.add_argument("--kinds", nargs="+", choices=EVERY)
    parser.add_argument(
        "--json", type=Path, help="file that each run is added to; those that are there are done"
    )
    parser.add_argument(
        "--part",
        type=int,
        nargs=2,
        metavar=("I", "N"),
        default=(0, 1),
        help="do each Nth run alone, from the Ith; another process may do the others, to one file",
    )
    options = parser.parse_args()
    part, parts = options.part
    kinds = options.kinds or possible()
    done: list[dict[str, Any]] = []
    if options.json and options.json.exists():
        done = [json.loads(line) for line in options.json.read_text().splitlines()]
    there = {(run["seed"], run["run"], run["kind"], run["commit"]) for run in done}
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="torture-")))
        place = Place(base, kinds, stack)
        for number in range(part, options.runs, parts):
            kind = kinds[number % len(kinds)]
            if (options.seed, number, kind, commit()) in there:
                continue
            done.append(one_run(place, number, kind, options.seed))
            print(f"{number} {kind} {done[-1]['seconds']} s", file=sys.stderr, flush=True)
            if options.json:
                with options.json.open("a") as file:
                    file.write(json.dumps(done[-1]) + "\n")
    print(f"commit {', '.join(sorted({run['commit'] for run in done}))}, seed {options.seed}\n")
    print("\n".join(table(done)))
    sys.exit(1 if any(run["wrong"] for run in done) else 0)


if __name__ == "__main__":
    main()
