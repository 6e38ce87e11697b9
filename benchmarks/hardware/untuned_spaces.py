"""How much of a front is certified on spaces that nothing was tuned to, and how soon is it found?

The spaces and studies of ``examples/spaces/``: ResNet-18 and MobileNetV2, layer by layer; latency,
energy and area are minimised, so software decides two of three objectives. Whole studies are run in
this process, a seed after another:

    python benchmarks/hardware/untuned_spaces.py
    python benchmarks/hardware/untuned_spaces.py --optimizers qnehvi tpe --seeds 1 --trials 48
    python benchmarks/hardware/untuned_spaces.py --optimizers     # print what was run before

What designs come to and what studies came to is kept in files, so that a stopped run goes on where
it was. For each space and optimizer it prints medians and ranges over seeds of

- the share of the hypervolume that is certified at the budget, what it would be without the cuts at
  the end, and how many designs bounds exclude;
- the trials after which a study has 95% of the hypervolume of the front of all kept runs together
  (logarithms; the corner lies a tenth above the worst values of that front);
- CPU seconds of proposals and of the certificate, in percent of those of the trials.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

import numpy as np
import yaml

sys.path.insert(0, str(Path(__file__).parents[2]))

from archloom.search.hardware.bayesian.mobo import Mobo
from archloom.search.pareto import hypervolume_after, non_dominated
from archloom.search.software.result import SoftwareResult
from archloom.search.software.search import SoftwareTask, advance
from archloom.studies.config.study_config import load_config
from archloom.studies.engine.executors.executor import InlineExecutor
from archloom.studies.engine.loop import run_study
from archloom.studies.engine.progress.watch import Unwatched
from archloom.studies.engine.proposals import Proposals
from archloom.studies.engine.study import header_of, prepare
from archloom.studies.storage.history import decode, encode
from archloom.studies.storage.records import read_certificate, read_trials
from archloom.studies.storage.store import Store
from benchmarks.studies.proposal_share import Parts

SPACES: Final = Path(__file__).parents[2] / "examples" / "spaces"

#: part of the hypervolume of all runs that is to be found
GOAL: Final = 0.95

#: the optimizer of the studies, which finds designs by its default bounds
LOOSE: Final = "mobo_loose"


class Designs:
    """A software search that remembers what every design came to, and the CPU seconds of that."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = {key: (seconds, packed) for key, seconds, packed in _lines(path)}
        self.cpu_s = 0.0

    def __call__(
        self, task: SoftwareTask, state: dict[str, Any] | None, budget: int
    ) -> SoftwareResult:
        """Return what a design comes to."""
        key = f"{task.hardware.name}{' with trade-offs' if task.settings.trade_offs else ''}"
        if key not in self._known:
            began = process_time()
            packed = encode(advance(task, state, budget))
            self._known[key] = round(process_time() - began, 3), packed
            _append(self._path, [key, *self._known[key]])
        seconds, packed = self._known[key]
        self.cpu_s += seconds
        return decode(packed)


@dataclass(frozen=True)
class Run:
    """What came of a study.

    Attributes:
        space, optimizer, seed, trials: which one.
        values: costs of each outcome of each trial.
        certified, uncut: share of the hypervolume, at the budget; and without cuts at the end.
        points, excluded: of the space; designs that bounds exclude.
        trials_s, proposals_s, certificate_s: CPU seconds.
    """

    space: str
    optimizer: str
    seed: int
    trials: int
    values: list[list[list[float]]]
    certified: float
    uncut: float
    points: int
    excluded: int
    trials_s: float
    proposals_s: float
    certificate_s: float


def run(options: argparse.Namespace, space: str, optimizer: str, seed: int, parts: Parts) -> Run:
    """Run a study."""
    with TemporaryDirectory() as folder:
        config = load_config(_study_file(options, space, optimizer, seed, Path(folder)))
        designs = Designs(_out(options) / f"{space}.jsonl")
        parts.seconds = Counter()

        def search(*arguments: Any) -> Any:
            # reading what is known is no part of a study
            with parts.of("trials"):
                return designs(*arguments)

        study = prepare(config, config.space, search)
        out = Path(folder) / "run"
        with Store.create(out, header_of(config)) as store, InlineExecutor(study.context) as one:
            run_study(study, store, one, Unwatched())
        proof = read_certificate(out)
        assert proof is not None, "the space is covered by boxes"
        trials, measured = read_trials(out), study.problem.objective_set
        return Run(
            space=space,
            optimizer=optimizer,
            seed=seed,
            trials=options.trials,
            values=[
                [list(one.costs(measured)) for one in trial.outcomes if one.edp_js is not None]
                for trial in trials
            ],
            certified=proof.share,
            uncut=proof.share if proof.share_uncut is None else proof.share_uncut,
            points=proof.points,
            excluded=proof.excluded,
            trials_s=round(designs.cpu_s, 2),
            proposals_s=round(parts.seconds["proposals"], 2),
            certificate_s=round(parts.seconds["certificate"], 2),
        )


def _study_file(
    options: argparse.Namespace, space: str, optimizer: str, seed: int, folder: Path
) -> Path:
    """Write the study of a space with another optimizer, seed and number of trials."""
    study = yaml.safe_load((SPACES / space / "study.yaml").read_text())
    # options of the study are those of its own optimizer
    if optimizer == LOOSE:
        study["optimizer"] |= {"bounds": "loose"}
    own = study["optimizer"]["name"] == optimizer or optimizer == LOOSE
    study |= {"seed": seed, "trials": options.trials}
    study |= {} if own else {"optimizer": {"name": optimizer}, "batch_size": options.batch_size}
    if options.cuts is not None:
        study["certificate_cuts"] = options.cuts
    study["space"] = str(SPACES / space / "hardware.yaml")
    study["software"]["mapping_evaluations"] = options.evaluations
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(study))
    return file


def runs(options: argparse.Namespace) -> list[Run]:
    """Run the studies that are asked for and not kept; return all that are."""
    path, parts = _out(options) / "runs.jsonl", Parts()
    parts.watch(Proposals, "next", "proposals")
    parts.watch(Proposals, "tell", "certificate")
    # a part of the latter
    parts.watch(Mobo, "tell", "proposals")
    parts.watch(Proposals, "last_certificate", "certificate")
    kept = [Run(**record) for record in _lines(path)]
    known = {(one.space, one.optimizer, one.seed, one.trials) for one in kept}
    for space in options.spaces:
        for optimizer in options.optimizers:
            for seed in range(options.seeds):
                if (space, optimizer, seed, options.trials) in known:
                    continue
                kept.append(run(options, space, optimizer, seed, parts))
                _append(path, asdict(kept[-1]))
                said = f"certified {kept[-1].certified:.1%}"
                print(space, optimizer, seed, said, file=sys.stderr, flush=True)
    return kept


def table(space: str, found: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of the runs on a space."""
    rows = [row for one in found for trial in one.values for row in trial]
    front = np.array(rows)[non_dominated(rows)]
    yield f"{space}: {found[0].points:,} points, {len(front)} members of the front of all runs"
    yield (
        "| optimizer (seeds) | trials | certified, % | uncut, % | excluded | % of all | 95% after "
        "| proposals, % | certificate, % |"
    )
    yield "|---" * 9 + "|"
    names = sorted({(one.optimizer, one.trials) for one in found})
    for name, trials in names:
        own = [one for one in found if (one.optimizer, one.trials) == (name, trials)]
        shares = [_shares(one, front) for one in own]
        after = [next((i + 1 for i, s in enumerate(each) if s >= GOAL), inf) for each in shares]
        cells = [
            _band([100 * one.certified for one in own], ".1f"),
            _band([100 * one.uncut for one in own], ".1f"),
            _band([one.excluded for one in own], ",.0f"),
            _band([100 * each[-1] for each in shares], ".1f"),
            _band(after, ".0f"),
            _band([100 * one.proposals_s / one.trials_s for one in own], ".0f"),
            _band([100 * one.certificate_s / one.trials_s for one in own], ".0f"),
        ]
        yield f"| {name} ({len(own)}) | {trials} | " + " | ".join(cells) + " |"


def _shares(one: Run, front: np.ndarray) -> list[float]:
    """Return the share of a front's hypervolume after each trial."""
    corner = (1.1 * front.max(axis=0)).tolist()
    # a trial without any adds nothing
    trials = [rows or [corner] for rows in one.values]
    ends = np.cumsum([len(rows) for rows in trials])
    every = [row for rows in trials for row in rows]
    volumes = hypervolume_after([*every, *front.tolist()], corner)
    return [volumes[end - 1] / volumes[-1] for end in ends]


def _band(values: Sequence[float], style: str) -> str:
    """Return a median and its range."""
    low, high, middle = min(values), max(values), format(median(values), style)
    return middle if low == high else f"{middle} ({low:{style}}-{high:{style}})"


def _out(options: argparse.Namespace) -> Path:
    """Return where results of so many evaluations are kept."""
    return Path(options.out) / str(options.evaluations)


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _append(path: Path, record: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def main() -> None:
    """Run the studies and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    names = sorted(path.name for path in SPACES.iterdir())
    parser.add_argument("--spaces", nargs="+", choices=names, default=names)
    parser.add_argument("--optimizers", nargs="*", default=["mobo"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=4, help="of optimizers other than mobo")
    parser.add_argument("--evaluations", type=int, default=200_000, help="of a mapping")
    parser.add_argument(
        "--cuts", type=int, help="of boxes at the end; that of the studies if left out"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/untuned_spaces"))
    options = parser.parse_args()
    kept = runs(options)
    for space in options.spaces:
        found = [one for one in kept if one.space == space]
        print("\n".join(table(space, found)) if found else f"{space}: no runs", flush=True)


if __name__ == "__main__":
    main()
