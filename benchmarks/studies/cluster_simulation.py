"""How busy are 1 to 1,000 workers with one study, and what do they wait for?

A study's decisions are simulated in the order in which a study makes them
(:mod:`archloom.studies.engine.logical_order`), with durations of rounds and of proposals that were
recorded in real studies, on workers that are all as fast as the recorded one. Who goes on after a
round is drawn at random, half of the trials.

    python benchmarks/studies/cluster_simulation.py                      # recorded durations
    python benchmarks/studies/cluster_simulation.py --study runs/mine    # those of your own study

For each number of workers it prints how many rounds are open at a time (``logical_workers``), how
busy the workers are, trials an hour, and what idle workers wait for: ``proposals`` (the driver is
learning and proposing), ``order`` (the result that the next decision needs is still being worked
on), or ``end`` (all designs are proposed). ``--record DIR ... --proposals DIR ...`` writes down the
durations of studies; of the latter, which may have batches of other sizes, only those of proposals.
"""

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import ceil
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.studies.engine.logical_order import Job, LogicalOrder
from archloom.studies.storage.journal import read_events
from archloom.studies.storage.parts import JOURNAL
from benchmarks.code_version import code_version

RECORDED = Path(__file__).parents[1] / "data" / "round_seconds.json"


@dataclass(frozen=True)
class Durations:
    """CPU seconds that parts of a study took: on one thread, and on a busy machine, too.

    Attributes:
        rounds: of each round, those of every trial that was in it.
        proposals: designs, seconds to propose them, seconds to learn before it.
    """

    rounds: list[list[float]]
    proposals: list[tuple[int, float, float]]

    def proposal(self, designs: int, rng: random.Random) -> float:
        """Draw how long it takes to learn, and to propose so many designs."""
        sizes = {n for n, *_ in self.proposals}
        # of as many designs, or of more if there are none
        size = min((n for n in sizes if n >= designs), default=max(sizes))
        n, seconds, learning = rng.choice([p for p in self.proposals if p[0] == size])
        # learning takes its time for each result, of which there are as many as designs
        return seconds + learning * designs / n

    @property
    def of_a_trial(self) -> float:
        """Mean seconds of a trial, in all its rounds."""
        return sum(map(sum, self.rounds)) / len(self.rounds[0])


def recorded(folders: Sequence[Path]) -> Durations:
    """Return the durations in the journals of studies."""
    rounds: defaultdict[int, list[float]] = defaultdict(list)
    proposals = []
    for folder in folders:
        for event in read_events(folder / JOURNAL):
            if event["event"] == "advanced" and event["trial"] >= 0:
                rounds[event["round"]].append(round(event["cpu_seconds"], 3))
            if event["event"] == "asked" and event["points"]:
                taken = (event["cpu_seconds"], event["learning_cpu_seconds"])
                proposals.append((len(event["points"]), *(round(s, 3) for s in taken)))
    return Durations([rounds[i] for i in range(len(rounds))], proposals)


@dataclass
class Cluster:
    """Workers that do rounds, first those that sort first.

    Attributes:
        clock: seconds since the study began.
        busy: seconds of work that was done.
        waits: seconds of idle workers, by what they waited for.
    """

    workers: int
    durations: Durations
    rng: random.Random
    clock: float = 0.0
    busy: float = 0.0
    waits: Counter[str] = field(default_factory=Counter)
    _waiting: list[Job] = field(default_factory=list)
    _running: list[tuple[float, Job]] = field(default_factory=list)
    _done: set[Job] = field(default_factory=set)

    def submit(self, job: Job) -> None:
        """Take a round."""
        heappush(self._waiting, job)

    def until(self, time: float, reason: str) -> None:
        """Work until a time."""
        self._start()
        while self._running and self._running[0][0] <= time:
            self._end(reason)
        self._pass(time, reason)

    def until_done(self, job: Job, reason: str) -> None:
        """Work until a round is done."""
        self._start()
        while job not in self._done:
            self._end(reason)

    def _end(self, reason: str) -> None:
        time, job = self._running[0]
        self._pass(time, reason)
        heappop(self._running)
        self._done.add(job)
        self._start()

    def _pass(self, time: float, reason: str) -> None:
        self.waits[reason] += (self.workers - len(self._running)) * (time - self.clock)
        self.clock = time

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.workers:
            job = heappop(self._waiting)
            seconds = self.rng.choice(self.durations.rounds[job.round])
            self.busy += seconds
            heappush(self._running, (self.clock + seconds, job))


@dataclass(frozen=True)
class Outcome:
    """What came of a simulation.

    Attributes:
        busy: share of the workers' time.
        trials_per_hour: throughput.
        waits: share of the workers' time by what they waited for.
    """

    busy: float
    trials_per_hour: float
    waits: dict[str, float]


def simulate(
    durations: Durations, workers: int, logical: int, trials: int, batch: int, seed: int = 0
) -> Outcome:
    """Run a study of so many trials on so many workers."""
    rng = random.Random(seed)
    cluster = Cluster(workers, durations, rng)
    order = LogicalOrder(logical)
    alive: dict[int, list[int]] = {}
    left: dict[int, int] = {}
    proposed, over = 0, False
    while not over:
        while order.has_room and proposed < trials:
            n = min(batch, trials - proposed)
            cluster.until(cluster.clock + durations.proposal(n, rng), "proposals")
            number, proposed = proposed // batch, proposed + n
            alive[number] = list(range(proposed - n, proposed))
            _begin(alive[number], 0, order, cluster)
            left[number] = n
        job = order.close()
        over = job is None
        if job is None:
            continue
        cluster.until_done(job, "order" if proposed < trials else "end")
        number = job.trial // batch
        left[number] -= 1
        if left[number]:
            continue
        if job.round + 1 == len(durations.rounds):
            order.ended(len(alive[number]))
        else:
            going = sorted(rng.sample(alive[number], ceil(len(alive[number]) / 2)))
            order.ended(len(alive[number]) - len(going))
            alive[number], left[number] = going, len(going)
            _begin(going, job.round + 1, order, cluster)
    whole = workers * cluster.clock
    waits = {reason: seconds / whole for reason, seconds in cluster.waits.items()}
    return Outcome(cluster.busy / whole, 3600 * trials / cluster.clock, waits)


def _begin(trials: Sequence[int], round_index: int, order: LogicalOrder, cluster: Cluster) -> None:
    jobs = [Job(trial, round_index) for trial in trials]
    order.add(jobs)
    for job in jobs:
        cluster.submit(job)


def read(path: Path, name: str) -> Durations:
    """Return durations that were written down."""
    kept = json.loads(path.read_text())["studies"][name]
    return Durations(kept["rounds"], [tuple(p) for p in kept["proposals"]])


def write(path: Path, studies: dict[str, Durations]) -> None:
    """Write durations down."""
    content = {
        "archloom": code_version(),
        "studies": {
            name: {"rounds": d.rounds, "proposals": d.proposals} for name, d in studies.items()
        },
    }
    path.write_text(json.dumps(content) + "\n")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--study", type=Path, nargs="+", help="directories of studies")
    parser.add_argument("--recorded", default="joint", help="name among recorded studies")
    parser.add_argument("--record", type=Path, nargs="+", help="studies to write down")
    parser.add_argument("--proposals", type=Path, nargs="+", default=[], help="more proposals")
    parser.add_argument("--out", type=Path, default=RECORDED, help="where --record writes to")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 8, 32, 128, 1000])
    parser.add_argument("--per-worker", type=int, nargs="+", default=[0, 2, 4, 5])
    parser.add_argument(
        "--batch-size",
        type=int,
        help="if not said: 8, and half as many as workers from 16 on; 64 at the most",
    )
    parser.add_argument("--trials", type=int, default=5000)
    options = parser.parse_args()
    if options.record:
        more = recorded(options.proposals).proposals
        found_in = {folder.name: recorded([folder]) for folder in options.record}
        write(
            options.out,
            {name: Durations(d.rounds, d.proposals + more) for name, d in found_in.items()},
        )
        return
    found = recorded(options.study) if options.study else read(RECORDED, options.recorded)
    print(f"a trial takes {found.of_a_trial:.2f} s in all its rounds; {options.trials} trials")
    print("workers | logical workers | batch | busy | trials an hour | idle workers wait for")
    for workers in options.workers:
        batch = options.batch_size or min(max(8, workers // 2), 64)
        for per_worker in options.per_worker:
            logical = max(per_worker * workers, 1)
            got = simulate(found, workers, logical, options.trials, batch)
            waits = ", ".join(f"{k} {100 * v:.0f}%" for k, v in got.waits.items() if v > 0.005)
            row = f"{workers} | {logical} | {batch} | {100 * got.busy:.1f}%"
            print(f"{row} | {got.trials_per_hour:.0f} | {waits or 'nothing'}", flush=True)


if __name__ == "__main__":
    main()
