"""A stack study from its directory to its results; what was done before is not done again."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archloom.evaluators.host.machine import this_machine
from archloom.search import HARDWARE_OPTIMIZERS, derived_seed
from archloom.search.hardware.schedules import Effort
from archloom.space import bounded_json
from archloom.studies.config import Reading
from archloom.studies.engine.progress import Watch
from archloom.studies.solve.measuring import PASSING, Memory
from archloom.studies.storage import STACK, write_whole

from ...errors import UserError, writing
from .bench import Bench
from .compression import Compression
from .crew import Crew
from .points import Networks, Point, points_of
from .problem import StackProblem, observation
from .processes import train_all
from .record import Trained, stack_record
from .sessions import Sessions
from .settings import StackConfig
from .training import jobs_of
from .tuning import Tuning

#: what a study came to
RESULTS: Final = "results.json"

#: of the file that says what a study is
_FORMAT: Final = 1


def claim(config: StackConfig, folder: Path) -> None:
    """Write down what a directory is for; refuse one that is for something else.

    Raises:
        UserError: it holds a study of other settings, or what is none of ours.
    """
    path = folder / STACK
    if path.exists():
        held = stored_config(folder).identity
        wanted = json.loads(json.dumps(config.identity))
        if odd := [k for k, v in wanted.items() if json.loads(json.dumps(held)).get(k) != v]:
            listed = "; ".join(f"{k}: {held.get(k)} there, {wanted[k]} here" for k in odd)
            raise UserError(
                f"{folder} holds a study with other settings: {listed}; choose another "
                "directory, or use the earlier settings"
            )
        return
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; choose another directory with --out")
    if folder.is_dir() and any(p.name != ".lock" for p in folder.iterdir()):
        raise UserError(
            f"{folder} is not empty and holds no study; choose another directory with --out"
        )
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        about = {"format": _FORMAT, "kind": "stack", "config": config.to_dict()}
        write_whole(path, json.dumps(about, indent=1) + "\n")


def stored_config(folder: Path) -> StackConfig:
    """Return the settings of the study in a directory.

    Raises:
        UserError: they cannot be read, or this version does not take them.
    """
    path = folder / STACK
    try:
        found = bounded_json(path.read_bytes())
        return StackConfig.read(found["config"], Reading(folder))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UserError) as error:
        raise UserError(f"{path} cannot be read as a study: {error}") from None


@dataclass
class StackStudy:
    """A study under way.

    Args:
        config: of it.
        folder: of it, which is claimed.
        watch: hears how far it is.
        check: called often; may raise to stop.
        again: whether what a busy machine refused is measured again.
    """

    config: StackConfig
    folder: Path
    watch: Watch
    check: Callable[[], None]
    again: bool = False

    def run(self) -> dict[str, Any]:
        """Do what is not done; write the results, and return them.

        Raises:
            UserError: another process works on it, or it was begun on another machine.
            TroubleError: a disk failed, or a process was lost.
        """
        machine = this_machine(self.config.threads).record
        memory = Memory(self.folder, self.config.identity, machine)
        if self.again:
            # networks that lack a kernel are refused for one of the others
            memory.forget_refused((*PASSING, "no_kernel"))
        try:
            self._steps: dict[str, list[Any]] = {}
            self._trained: set[tuple[str, Compression]] = set()
            with Crew(
                self.config.threads, self.config.executor.count, self.watch, self.check
            ) as crew:
                self._networks = Networks(self.config, self.folder)
                self._bench = self._new_bench(crew, memory)
                if self.config.search is None:
                    points = list(points_of(self.config))
                    self._measure(points)
                else:
                    points = self._searched()
        finally:
            memory.close()
        trained = Trained(self._steps)
        found = stack_record(self.config, points, trained, (self._networks, self._bench), machine)
        with writing(self.folder / RESULTS):
            write_whole(self.folder / RESULTS, json.dumps(found, indent=1) + "\n")
        return found

    def _new_bench(self, crew: Crew, memory: Memory) -> Bench:
        config = self.config
        sessions = Sessions(crew, config.threads, self.watch, self.check)
        seed = derived_seed(config.seed, "schedules")
        effort = Effort(config.tuning.trials, optimizer=config.tuning.optimizer, seed=seed)
        tuning = Tuning(effort, crew, memory, self.watch, sessions.kernels)
        return Bench(self._networks, crew, memory, tuning, sessions, self.watch)

    def _measure(self, points: Sequence[Point]) -> None:
        """Train what points need, and time them."""
        wanted = {(p.model, p.compression) for p in points} - self._trained
        if jobs := jobs_of(self.config, wanted):
            found = train_all(self.config, self.folder, jobs, self.watch, self.check)
            for (model, _), steps in found.items():
                known = self._steps.setdefault(model, [])
                known += [step for step in steps if step not in known]
            self._trained |= wanted
        self._bench.measure(points)

    def _searched(self) -> list[Point]:
        """Let an optimizer choose points; return them in the order of the axes."""
        search = self.config.search
        assert search is not None, "the caller has looked"
        problem, order = StackProblem(self.config), list(points_of(self.config))
        seed = derived_seed(self.config.seed, "search")
        choice = search.optimizer
        optimizer = HARDWARE_OPTIMIZERS[choice.name](problem, seed, **choice.options)
        taken = list[Point]()
        while len(taken) < search.trials:
            asked = optimizer.ask(min(search.batch_size, search.trials - len(taken)), [])
            if not asked:
                break
            points = [problem.stack.stack_point(design) for design in asked]
            self.watch.found(f"points {len(taken) + 1} to {len(taken) + len(points)}: "
                             + "; ".join(map(str, points)))  # fmt: skip
            self._measure(points)
            told = zip(asked, self._values(points), strict=True)
            optimizer.tell([observation(design, *values) for design, values in told])
            taken += points
        return sorted(taken, key=order.index)

    def _values(self, points: Sequence[Point]) -> Iterator[tuple[float, float | None, int]]:
        trained = Trained(self._steps)
        for point in points:
            found = self._bench.point(point)
            steps = trained.of(point.model, point.compression)
            accuracy = trained.accuracy_percent(point.model, point.compression)
            yield accuracy, found.get("time_us") if found else None, steps[0].stored_bytes
