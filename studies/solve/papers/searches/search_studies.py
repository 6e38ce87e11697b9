"""Studies of a table of searches: what each of them searches, and what its directory tells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from archloom.studies.analysis import read_front
from archloom.studies.config import ConfigError, StudyConfig, config_of, with_method
from archloom.studies.storage import BASELINE, read_baseline, read_trials

from ....errors import UserError
from ..budgets import merged
from .hypervolumes import Step, steps_of
from .progress import Progress, progress_of
from .search_sections import SEARCHED, Case, Method
from .source_file import StudySource, origin

if TYPE_CHECKING:
    from archloom.search.software import NetworkResult

#: runs a study in a directory to its end, from wherever it is
RunStudy = Callable[[StudyConfig, Path], None]


@dataclass(frozen=True)
class SeedFigures:
    """Figures of one search.

    Attributes:
        seed: of the study.
        plans: that its trials evaluated, for each network.
        area_mm2, tdp_w: of the picked design.
        energy_mj, latency_ms: of an inference, and of a pass.
        images_per_s: inferences per second, the geometric mean of networks.
        baseline_energy_mj, baseline_latency_ms: of the baseline; None if there is none.
        baseline_images_per_s, baseline_tdp_w: likewise.
        progress: of the search, and the designs that it found.
        steps: its batches; empty for held-out networks.
    """

    seed: int
    plans: int
    area_mm2: float
    tdp_w: float
    energy_mj: float
    latency_ms: float
    images_per_s: float
    progress: Progress
    baseline_energy_mj: float | None = None
    baseline_latency_ms: float | None = None
    baseline_images_per_s: float | None = None
    baseline_tdp_w: float | None = None
    steps: tuple[Step, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "SeedFigures":
        """Return the figures of plain values."""
        parts = {
            "progress": Progress.from_json(data["progress"]),
            "steps": tuple(map(Step.from_json, data["steps"])),
        }
        return cls(**{**data, **parts})

    @property
    def baseline(self) -> dict[str, float]:
        """Figures of the baseline by metric; empty if there is none."""
        if self.baseline_energy_mj is None or self.baseline_latency_ms is None:
            return {}
        cost = {"energy_mj": self.baseline_energy_mj, "latency_ms": self.baseline_latency_ms}
        return cost | {"edp_mj_ms": prod(cost.values())}

    @property
    def values(self) -> dict[str, float]:
        """Figures by metric, but for those over another method's."""
        cost = {"energy": self.energy_mj, "latency": self.latency_ms}
        found = {
            "energy_mj": self.energy_mj,
            "latency_ms": self.latency_ms,
            "edp_mj_ms": prod(cost.values()),
            "area_mm2": self.area_mm2,
            "tdp_w": self.tdp_w,
            "plans": float(self.plans),
            "images_per_s": self.images_per_s,
            "perf_per_tdp": self.images_per_s / self.tdp_w,
            **self.progress.values,
        }
        if theirs := self.baseline:
            found["energy_gain"] = theirs["energy_mj"] / self.energy_mj
            found["speedup"] = theirs["latency_ms"] / self.latency_ms
            found["edp_gain"] = found["energy_gain"] * found["speedup"]
        if self.baseline_images_per_s is not None and self.baseline_tdp_w is not None:
            found["throughput_gain"] = self.images_per_s / self.baseline_images_per_s
            cheaper = self.baseline_tdp_w / self.tdp_w
            found["perf_per_tdp_gain"] = found["throughput_gain"] * cheaper
        return found


def study_name(case: Case, method: Method, seed: int) -> str:
    """Return the name of a study, and of its directory."""
    return f"{case.name}-{method.name}-{seed}"


def study_of(
    source: StudySource, changes: Mapping[str, Any], case: Case, method: Method, seed: int
) -> StudyConfig:
    """Return what a study searches.

    Args:
        source: the study file.
        changes: keys of it, for all studies; those of case and method come after.
        case, method, seed: of the study.

    Raises:
        ConfigError: everything that is wrong with the file and the changes.
        UserError: a method that the study does not take.
    """
    name = study_name(case, method, seed)
    keys = dict(source.keys)
    for some in (changes, case.changes, method.changes):
        keys = merged(keys, some)
    keys |= {"name": name, "seed": seed}
    change = partial(with_method, name=method.method)
    return replace(config_of(keys, folder=source.folder, change=change), name=name)


def study_faults(
    source: StudySource,
    changes: Mapping[str, Any],
    cases: Sequence[Case],
    methods: Sequence[Method],
    seed: int,
) -> Iterator[str]:
    """Yield what is wrong with the studies of a table, each fault once, with its place in it."""
    said = set[str]()
    for i, case in enumerate(cases):
        for j, method in enumerate(methods):
            origins = (
                (f"methods[{j}].changes.", method.changes),
                (f"cases[{i}].changes.", case.changes),
                ("changes.", changes),
            )
            try:
                study_of(source, changes, case, method, seed)
            except ConfigError as error:
                faults = [f"{origin(fault.place.keys, origins)}{fault.place.path}: "
                          f"{fault.message}" for fault in error.faults]  # fmt: skip
            except UserError as error:
                faults = [f"methods[{j}].method: {error}"]
            else:
                continue
            yield from (fault for fault in faults if fault not in said)
            said.update(faults)


def figures_of(
    together: str, folder: Path, seed: int, pick: str | None = None
) -> dict[str, SeedFigures]:
    """Return the figures of a study that ended: of its networks together, and of each that is held
    out; empty if it found no design.

    Args:
        together: how figures of networks are put together.
        folder: of the study.
        seed: of the study.
        pick: name of a pick rule; None for the study's own.
    """
    front, baseline = read_front(folder, pick), read_baseline(folder)
    if front.picked is None:
        return {}
    trials = read_trials(folder)
    plans = sum(trial.evaluations for trial in trials)
    progress = progress_of(front, trials, baseline)
    held_out = front.on_held_out(front.picked)
    beside = next((one for one in front.held_out if one.number == BASELINE), None)
    sets = {SEARCHED: (front.picked.networks, baseline.networks if baseline else {})}
    for name, network in held_out.networks.items() if held_out else ():
        known = beside.networks if beside else {}
        sets[name] = {name: network}, {name: known[name]} if name in known else {}
    shared = (seed, plans, front.picked.area_mm2, front.picked.tdp_w)
    found = {
        name: SeedFigures(
            *shared,
            *_cost(together, ours),
            progress,
            *(
                (*_cost(together, theirs), baseline.tdp_w)
                if baseline and theirs.keys() == ours.keys()
                else ()
            ),
        )
        for name, (ours, theirs) in sets.items()
    }
    found[SEARCHED] = replace(found[SEARCHED], steps=steps_of(trials, front.objective_set))
    return found


def _cost(together: str, networks: "Mapping[str, NetworkResult]") -> tuple[float, float, float]:
    """Return energy (mJ of an inference) and latency (ms of a pass) of networks together, and their
    mean inferences per second."""
    add = sum if together == "sum" else geometric_mean
    return (
        add([one.energy_pj * 1e-9 / one.batch for one in networks.values()]),
        add([one.latency_s * 1e3 for one in networks.values()]),
        geometric_mean([one.batch / one.latency_s for one in networks.values()]),
    )
