"""How much of a study of cheap trials goes into proposing designs, and into the proof of the front?

A whole study, with its store, in one process: ResNet-18 and MobileNetV2, layer by layer, on
``casco_edge``, each layer with a few random mappings, so that a trial costs next to nothing and
what is left is what the study itself takes. Kernels are compiled before.

    python benchmarks/studies/proposal_share.py
    python benchmarks/studies/proposal_share.py --trials 300 --workloads tiny_cnn

Prints CPU-seconds and shares by part: *trials* (software search); *proposals* (all that it takes to
propose: what the optimizer learns from trials, its pool, models and bounds, whether bounds exclude
what it chose, and the designs that open boxes give where it has none); *certificate* (the proof of
the front: designs and boxes that are bounded as trials end, and what they prove; the optimizer does
not see it); *start* (imports, and the space where it is assessed as a whole); and *rest*.
"""

import argparse
import gc
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

STUDY: Final = """\
seed: {seed}
workloads: [{workloads}]
space: {space}
constraints: {{area_mm2: 20, tdp_w: 2}}
optimizer: {{name: mobo}}
halving: {{name: none, evaluations: 1}}
trials: {trials}
batch_size: 8
software: {{fusion: none, mapping: random, mapping_evaluations: {evaluations}}}
executor: {{name: inline}}
"""

PARTS: Final = ("trials", "proposals", "certificate", "start", "rest")


class Parts:
    """CPU seconds by part; a part that runs inside another one is taken off that."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._open: list[float] = []

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Count what is done inside as a part."""
        before = process_time()
        self._open.append(0.0)
        try:
            yield
        finally:
            taken, inside = process_time() - before, self._open.pop()
            self.seconds[part] += taken - inside
            if self._open:
                self._open[-1] += taken

    def watch(self, owner: Any, name: str, part: str) -> None:
        """Count the calls of a method as a part from now on."""
        inner: Callable[..., Any] = getattr(owner, name)

        @wraps(inner)
        def timed(*args: Any, **keywords: Any) -> Any:
            with self.of(part):
                return inner(*args, **keywords)

        setattr(owner, name, timed)


def run(options: argparse.Namespace, seed: int) -> tuple[Counter[str], float]:
    """Run a study in this process; return CPU seconds by part, and the certified share."""
    with TemporaryDirectory() as folder:
        return _run(options, seed, Path(folder))


def _run(options: argparse.Namespace, seed: int, folder: Path) -> tuple[Counter[str], float]:
    began = process_time()
    from archloom.search.hardware.bayesian.mobo import Mobo
    from archloom.search.software.search import advance
    from archloom.studies.config.study_config import load_config
    from archloom.studies.engine.executors.executor import InlineExecutor
    from archloom.studies.engine.loop import run_study
    from archloom.studies.engine.progress.watch import Unwatched
    from archloom.studies.engine.proposals import Proposals
    from archloom.studies.engine.study import header_of, prepare
    from archloom.studies.storage.records import read_certificate
    from archloom.studies.storage.store import Store

    parts = Parts()
    parts.watch(Proposals, "next", "proposals")
    parts.watch(Proposals, "tell", "certificate")
    # a part of the latter
    parts.watch(Mobo, "tell", "proposals")
    parts.watch(Proposals, "certificate", "certificate")

    def search(*args: Any) -> Any:
        with parts.of("trials"):
            return advance(*args)

    settings = {name: getattr(options, name) for name in ("space", "trials", "evaluations")}
    text = STUDY.format(seed=seed, workloads=", ".join(options.workloads), **settings)
    (folder / "study.yaml").write_text(text)
    with parts.of("rest"):
        config = load_config(folder / "study.yaml")
        with parts.of("start"):
            study = prepare(config, config.space, search)
        with (
            Store.create(folder / "run", header_of(config)) as store,
            InlineExecutor(study.context) as executor,
        ):
            run_study(study, store, executor, Unwatched())
    parts.seconds["start"] += process_time() - began - parts.seconds.total()
    certificate = read_certificate(folder / "run")
    return parts.seconds, certificate.share if certificate else 0.0


def main() -> int:
    """Run the studies, each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--workloads", nargs="+", default=["resnet18", "mobilenetv2"])
    parser.add_argument("--space", default="casco_edge")
    parser.add_argument("--trials", type=int, default=96)
    parser.add_argument("--evaluations", type=int, default=20, help="mappings of each layer")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", type=int, metavar="SEED", help="one study, in this process")
    options = parser.parse_args()
    if options.only is not None:
        # as the command does (studies/commands/cli.py)
        gc.set_threshold(100_000, 10, 10)
        print(row(options, options.only))
        return 0
    print(f"{'CPU s':12}" + "".join(f"{part:>18}" for part in PARTS) + f"{'all':>8}  certified")
    for seed in range(options.seeds):
        command = [sys.executable, __file__, *sys.argv[1:], "--only", str(seed)]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        print(found.stdout, end="", flush=True)
    return 0


def row(options: argparse.Namespace, seed: int) -> str:
    """Return the row of one study."""
    seconds, share = run(options, seed)
    whole = seconds.total()
    cells = [f"{seconds[p]:9.2f} ({seconds[p] / whole:5.1%})" for p in PARTS]
    return f"{f'seed {seed}':12}{''.join(f'{cell:>18}' for cell in cells)}{whole:8.2f}  {share:.2%}"


if __name__ == "__main__":
    sys.exit(main())
