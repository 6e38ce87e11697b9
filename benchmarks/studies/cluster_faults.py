"""A small study on clusters of three nodes whose nodes and networks fail: does it end the same?

The nodes have a network each: namespaces of Linux on this machine, with a switch between them, so
it takes root and ``ip`` (and ``tc`` for slow ways). Nothing leaves the machine. The head has no
workers, the others have one each. Each run gets one fault, at a moment drawn from ``--seed``; what
is left of the study is then resumed without Ray, and its trials and baseline are compared with
those of an undisturbed run, byte by byte. Ray is told to see within seconds, not a minute, that a
node has gone.

    sudo .venv/bin/python -m benchmarks.studies.cluster_faults --runs 12

Exit code 1 if a run differs, printed a traceback, or did not end.
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.studies.faults.clock import Clock
from tests.cases.ray_cluster import RayCluster, unable, until
from tests.cases.studies import COMMAND, TINY, archloom

RESULTS: Final = ("trials.jsonl", "baseline.json")

#: seconds after which a run counts as one that does not end
PATIENCE_S: Final = 300


@dataclass
class Run:
    """A study on a cluster of its own."""

    cluster: RayCluster
    folder: Path
    rng: random.Random
    process: "subprocess.Popen[str]"
    clock: Clock | None = None
    skipped: str = ""

    def events(self, *names: str) -> list[dict[str, Any]]:
        """Return what the study has told of, so far."""
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [event for event in map(json.loads, lines) if event["event"] in names]

    def after(self, rounds: int) -> None:
        """Wait until some more rounds are done, or the study has ended."""
        wanted = len(self.events("advanced")) + rounds
        until(
            lambda: len(self.events("advanced")) >= wanted or self.process.poll() is not None,
            f"{wanted} rounds",
        )


def undisturbed(run: Run) -> None:
    """Nothing happens."""


def node_killed(run: Run) -> None:
    """A node loses its power; the other one goes on."""
    run.cluster.kill(run.rng.choice([2, 3]))


def node_replaced(run: Run) -> None:
    """Both nodes lose their power, one after the other, and another one joins."""
    run.cluster.kill(2)
    run.after(run.rng.randrange(5))
    run.cluster.kill(3)
    run.cluster.start(4, cpus=2)


def node_still(run: Run) -> None:
    """All that runs on a node stands still for a while: it may have been missed by then."""
    number = run.rng.choice([2, 3])
    run.cluster.signal(number, signal.SIGSTOP)
    time.sleep(run.rng.uniform(0.2, 8))
    run.cluster.signal(number, signal.SIGCONT)


def node_stopped(run: Run) -> None:
    """All that runs on a node stands still for good; the other one goes on."""
    run.cluster.signal(run.rng.choice([2, 3]), signal.SIGSTOP)


def node_clock(run: Run) -> None:
    """The wall clock of a node jumps, forwards and backwards, until the study has ended."""
    assert run.clock is not None
    with run.clock.jumping(run.rng):
        run.process.wait(PATIENCE_S)


def worker_killed(run: Run) -> None:
    """Something kills the workers of a node."""
    run.cluster.crash(run.rng.choice([2, 3]), "ray::Worker")


def short_cut(run: Run) -> None:
    """A node's cable is out for less time than Ray needs to miss it."""
    number = run.rng.choice([2, 3])
    run.cluster.plug(number, False)
    time.sleep(run.rng.uniform(0.2, 1.5))
    run.cluster.plug(number, True)


def partition(run: Run) -> None:
    """A node's cable is out until Ray has taken it off; then it is in again."""
    number = run.rng.choice([2, 3])
    run.cluster.plug(number, False)
    until(lambda: run.events("node_left") or run.process.poll() is not None, "it is missed")
    run.cluster.plug(number, True)


def slow_way(run: Run) -> None:
    """The way to a node takes 100 ms, and one packet in a hundred is lost."""
    try:
        run.cluster.slow_down(run.rng.choice([2, 3]), 100, 1.0)
    except subprocess.CalledProcessError:
        run.skipped = "this kernel has no netem"


def head_killed(run: Run) -> None:
    """The head's process is killed, for good."""
    run.cluster.crash(1, "gcs_server")


FAULTS: Final[dict[str, Callable[[Run], None]]] = {
    fault.__name__: fault
    for fault in (
        undisturbed,
        node_killed,
        node_replaced,
        node_still,
        node_stopped,
        node_clock,
        worker_killed,
        short_cut,
        partition,
        slow_way,
        head_killed,
    )
}


def one_run(
    kind: str, folder: Path, rng: random.Random, most_rounds: int = 40
) -> tuple[int, float, Run]:
    """Run the study with a fault; return the exit code, the seconds since its first round, and it.

    Args:
        kind: of the fault.
        folder: with the study file.
        rng: decides on the fault's moment and place.
        most_rounds: before the fault.

    Raises:
        TimeoutError: it does not end.
    """
    run_it = ("run", "study.yaml", "--out", "run", "--log", "log")
    clock = Clock(folder, "clock") if kind == "node_clock" else None
    with RayCluster() as cluster:
        for number, cpus in ((1, 0), (2, 1), (3, 1)):
            cluster.start(number, cpus, **(clock.environment if clock and number == 2 else {}))
        words = [*COMMAND, *run_it, "--address", cluster.address]
        with (folder / "said").open("w") as said:
            run = Run(cluster, folder, rng, cluster.command(1, words, folder, said), clock)
            run.after(1)
            began = time.monotonic()
            run.after(rng.randrange(most_rounds))
            FAULTS[kind](run)
            try:
                code = run.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise TimeoutError("it does not end") from None
    return code, time.monotonic() - began, run


def main() -> None:
    args = arguments()
    if why := unable():
        sys.exit(why)
    whole = Path(tempfile.mkdtemp(prefix="cluster-faults-"))
    (whole / "study.yaml").write_text(TINY.replace("trials: 10", f"trials: {args.trials}"))
    assert archloom("run", "study.yaml", "--out", "run", cwd=whole).returncode == 0
    wrong = 0
    print("| fault | exit code | seconds | nodes left | workers died | begun again | same result |")
    print("|---|---|---|---|---|---|---|")
    for number in range(args.runs):
        kind = args.kinds[number % len(args.kinds)]
        folder = whole / str(number)
        folder.mkdir()
        shutil.copy(whole / "study.yaml", folder)
        code, seconds, run = one_run(kind, folder, random.Random(args.seed + number))
        mended = archloom("resume", "run", "--executor", "inline", cwd=folder)
        pairs = [(whole / "run" / name, folder / "run" / name) for name in RESULTS]
        same = [there.read_bytes() == here.read_bytes() for there, here in pairs]
        text = (folder / "said").read_text() + mended.stderr
        sound = all(same) and mended.returncode == 0 and "Traceback" not in text
        sound &= code == (4 if kind == "head_killed" else 0)
        wrong += not sound
        told = Counter(
            event["event"] for event in run.events("node_left", "worker_died", "started_again")
        )
        counts = [told[name] for name in ("node_left", "worker_died", "started_again")]
        kind += f" ({run.skipped}: undisturbed)" if run.skipped else ""
        cells = [kind, code, f"{seconds:.0f}", *counts, "yes" if sound else f"no, see {folder}"]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if wrong:
        sys.exit(1)
    shutil.rmtree(whole)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=len(FAULTS), help="in turn, a fault each")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS, default=[*FAULTS])
    parser.add_argument("--trials", type=int, default=60, help="of the study")
    parser.add_argument("--seed", type=int, default=0, help="of the moments of faults")
    return parser.parse_args()


if __name__ == "__main__":
    main()
