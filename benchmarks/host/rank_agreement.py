"""How far the cost model ranks kernels of this machine as their measured times do.

Every schedule that was timed is a mapping of the machine as hardware (``archloom hardware host``),
one core of it; what the model expects of it stands against its time. Printed are rank correlations
(Spearman, Kendall's tau-b) over all kernels, within each layer (their mean), and over layers with
the fastest kernel of each; with intervals of 95% from drawing layers again. "Chosen" is the time of
the kernel that the model ranks first over that of the fastest, in the geometric mean over layers.
Lines add one assumption after the other, so the differences say which of them decides.

    python benchmarks/host/rank_agreement.py [--plot FILE]
    python benchmarks/host/rank_agreement.py --measure DIR [--layers N] [--trials N]

Without ``--measure`` it reads kept times and the kept template of the machine that they are of
(benchmarks/data/), takes seconds, and prints the same everywhere. With it, kernels of all
convolutions of four CIFAR networks are timed on this machine (25 CPU-minutes with 8 trials; what is
done is kept in DIR, and the same command again goes on). ``--read DIR`` reads what ``archloom
measure --out DIR`` or ``against_onednn.py`` left; ``--keep`` writes what was read or measured to
benchmarks/data/.
"""

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from archloom.evaluators.host import (
    COMPILED,
    KernelSpec,
    Schedule,
    Untuned,
    read_schedule,
    read_shape,
    schedule_record,
)
from archloom.evaluators.host.machine import (
    Prediction,
    host_template,
    measured_rates,
    predicted,
    this_machine,
    warm,
)
from archloom.evaluators.host.worker import Plan, Worker
from archloom.search.hardware.schedules import Effort
from archloom.space.design_space import HardwareSpace
from archloom.space.hardware import Hardware
from archloom.space.networks import network
from archloom.studies.engine.progress import ProgressView
from archloom.studies.rendering.text import new_console
from archloom.studies.solve.measuring import Campaign, Memory, Variant, Wanted, layers_of

DATA = Path(__file__).parents[1] / "data"
TIMES, HOST = DATA / "host_kernels.jsonl.gz", DATA / "host_one_core.yaml"
NETWORKS = ("resnet18_cifar10", "vgg16_cifar10", "mobilenetv1_cifar10", "mobilenetv2_cifar10")
RESAMPLES, SEED = 300, 7
NONE = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Timed:
    """A kernel, its schedule and its measured time."""

    spec: KernelSpec
    schedule: Schedule
    time_us: float

    @property
    def layer(self) -> str:
        """Its shape as it is written."""
        return str(self.spec.shape)


@dataclass(frozen=True)
class Expected:
    """A kernel with what the model expects of it.

    Once with operands in DRAM; of a kernel that runs again, with operands in caches; and of that on
    a machine with twice the vector units of half the lanes.
    """

    timed: Timed
    cold: Prediction
    again: Prediction
    halves: Prediction


def waiting(e: Prediction) -> float:
    """Cycles with copies and with products that wait for their accumulators."""
    return max(e.nest, e.chains) + e.copies


#: what is expected of a kernel in cycles, each with one thing more than the line before
EXPECTATIONS: dict[str, Callable[[Expected], float]] = {
    "products (MACs)": lambda e: float(e.timed.spec.shape.macs),
    "vectors of products": lambda e: e.again.products,
    "the model, operands in DRAM": lambda e: e.cold.nest,
    "the model, operands in caches": lambda e: e.again.nest,
    "and columns and tiles copied": lambda e: e.again.nest + e.again.copies,
    "and products that wait": lambda e: waiting(e.again),
    "and maps in frames": lambda e: waiting(e.again) + e.again.frame,
    "and vectors in halves": lambda e: waiting(e.halves) + e.halves.frame,
}
SHOWN = "and maps in frames"


def measure(folder: Path, layers: int | None, trials: int) -> None:
    """Time kernels of the networks' convolutions; what is done is kept."""
    found: dict[Any, tuple[str, ...]] = {}
    for name in NETWORKS:
        net = network(name)
        convolutions = {layer.name for layer in net.layers if layer.operator == "conv"}
        for shape, names in layers_of(net)[0].items():
            if kept := tuple(f"{name}/{n}" for n in names if n in convolutions):
                found[shape] = (*found.get(shape, ()), *kept)
    variants = tuple(Variant(name) for name in COMPILED)
    asked = Wanted("cifar10", None, dict(islice(found.items(), layers)), variants, Effort(trials))
    machine = this_machine(1)
    memory = Memory(folder, asked.record, machine.record)
    try:
        with ProgressView(new_console(stderr=True)) as view, Worker(1) as worker:
            Campaign(asked, memory, worker, view, Plan(cores=machine.cores)).run()
    finally:
        memory.close()


def read_journal(folder: Path) -> Iterator[Timed]:
    """Yield what a measurement tried, and its untuned kernels."""
    lines = (folder / "journal.jsonl").read_text().splitlines()
    for event in (json.loads(line)["event"] for line in lines):
        if event["kind"] == "tried" and event["time_us"] is not None:
            yield timed(event["kernel"], event["schedule"], event["time_us"])
        for row in event.get("rows", ()) if event["kind"] == "layer" else ():
            if row["algorithm"] in COMPILED and not row["tuned"] and row["status"] == "timed":
                kernel = f"{event['name']} {row['algorithm']} {row['dtype']}"
                if row["density"] == 1:
                    yield timed(kernel, schedule_record(Untuned()), row["median_us"])


def timed(kernel: str, schedule: dict[str, Any], time_us: float) -> Timed:
    shape, algorithm, dtype = kernel.split(" ")[:3]
    return Timed(KernelSpec(read_shape(shape), algorithm, dtype), read_schedule(schedule), time_us)


def read_kept(file: Path) -> Iterator[Timed]:
    with gzip.open(file, "rt") as lines:
        for line in lines:
            yield timed(*json.loads(line))


def keep(kernels: Sequence[Timed], template: str) -> None:
    """Write times and template to where they are read from without ``--measure``."""
    with gzip.GzipFile(TIMES, "wb", mtime=0) as file:
        for k in kernels:
            kernel = f"{k.layer} {k.spec.algorithm} {k.spec.dtype}"
            line = [kernel, schedule_record(k.schedule), round(k.time_us, 3)]
            file.write((json.dumps(line) + "\n").encode())
    HOST.write_text(template)


def expected(kernels: Sequence[Timed], host: Hardware) -> list[Expected]:
    """Return the kernels whose loops the model knows."""
    lanes, units = host.array
    halves = replace(host, array=(lanes // 2, units * 2)) if lanes % 2 == 0 else host
    found = []
    for k in kernels:
        machines = (host, warm(host, k.spec), warm(halves, k.spec))
        cold, again, half = (predicted(k.spec, k.schedule, machine) for machine in machines)
        if cold is not None and again is not None and half is not None:
            found.append(Expected(k, cold, again, half))
    return found


def ranks(values: Sequence[float]) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau-b of pairs; not a number where one side is all the same."""
    from scipy.stats import kendalltau, rankdata

    x, y = np.array(values).T
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return NONE
    rho = np.corrcoef(rankdata(x), rankdata(y))[0, 1]
    return float(rho), float(kendalltau(x, y).statistic)


Pairs = dict[str, list[tuple[float, float]]]


def overall(layers: Pairs, drawn: Sequence[str]) -> tuple[float, float]:
    return ranks([pair for name in drawn for pair in layers[name]])


def fastest(layers: Pairs, drawn: Sequence[str]) -> tuple[float, float]:
    """Over layers: the least expected time against the least measured one."""
    return ranks([tuple(min(side) for side in zip(*layers[name], strict=True)) for name in drawn])


class Within:
    """The mean over layers; ranks of a layer do not change when layers are drawn again."""

    def __init__(self, layers: Pairs) -> None:
        self._of = {name: ranks(pairs) for name, pairs in layers.items() if len(pairs) > 3}

    def __call__(self, _: Pairs, drawn: Sequence[str]) -> tuple[float, float]:
        """Return the means over some layers."""
        found = np.array([self._of[name] for name in drawn if name in self._of])
        found = found[~np.isnan(found).any(axis=1)] if len(found) else found
        return (float(found[:, 0].mean()), float(found[:, 1].mean())) if len(found) else NONE


def interval(
    statistic: Callable[[Pairs, Sequence[str]], tuple[float, float]], layers: Pairs
) -> list[tuple[float, float, float]]:
    """Return value and 95% interval of both correlations, drawing layers with replacement."""
    names, rng = sorted(layers), np.random.default_rng(SEED)
    values = statistic(layers, names)
    if len(names) < 3 or values == NONE:
        return [(v, float("nan"), float("nan")) for v in values]
    drawn = np.array([statistic(layers, rng.choice(names, len(names))) for _ in range(RESAMPLES)])
    low, high = np.nanpercentile(drawn, (2.5, 97.5), axis=0)
    return list(zip(values, low, high, strict=True))


def chosen(layers: Pairs) -> float:
    """Time of the kernel that is expected to be the fastest over that of the fastest one.

    Of kernels that are expected to be equally fast, the mean.
    """
    total = 0.0
    for pairs in layers.values():
        least = min(x for x, _ in pairs)
        picked = [y for x, y in pairs if x == least]
        total += log(sum(picked) / len(picked) / min(y for _, y in pairs))
    return exp(total / len(layers))


def report(found: Sequence[Expected], host: Hardware) -> None:
    """Print a line for each expectation, and times over expected ones by algorithm."""
    layers = {e.timed.layer for e in found}
    print(f"{len(found)} kernels of {len(layers)} layers on {host.name}\n")
    print("| expected time | all kernels | within a layer | fastest of each layer | chosen |")
    print("|---|---|---|---|---|")
    for name, cycles in EXPECTATIONS.items():
        pairs: Pairs = defaultdict(list)
        for e in found:
            pairs[e.timed.layer].append((cycles(e), e.timed.time_us))
        cells = [_text(interval(s, pairs)) for s in (overall, Within(pairs), fastest)]
        print(f"| {name} | {' | '.join(cells)} | {chosen(pairs):.2f} |")
    _by_kind(found, host)


def kind_of(spec: KernelSpec) -> str:
    """Return what a layer is for the table of kinds."""
    shape = spec.shape
    return "depthwise" if shape.depthwise else f"{shape.r}x{shape.s}"


def _by_kind(found: Sequence[Expected], host: Hardware) -> None:
    """Print where the model is right: by kinds of layers, algorithms, and vectors.

    The last column is what is left if each call takes what the fastest of all kernels takes.
    """
    call = min(e.timed.time_us for e in found)
    heads = (
        "kernels",
        "within a layer",
        "chosen",
        "time / expected",
        f"and a call of {call:.1f} us",
    )
    print(f"\n| {SHOWN} | {' | '.join(heads)} |\n|---|---|---|---|---|---|")
    for name, some in sorted(_groups(found, host).items()):
        pairs: Pairs = defaultdict(list)
        for e in some:
            pairs[e.timed.layer].append((EXPECTATIONS[SHOWN](e), e.timed.time_us))
        rank = _text(interval(Within(pairs), pairs)[:1])
        cycles, times = np.array([pair for of in pairs.values() for pair in of]).T
        expected_us = cycles / host.frequency_mhz
        low, middle, high = np.percentile(times / expected_us, (10, 50, 90))
        called = np.median(times / (expected_us + call))
        print(
            f"| {name} | {len(some)} | {rank} | {chosen(pairs):.2f} "
            f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {called:.2f} |"
        )


def _groups(found: Sequence[Expected], host: Hardware) -> dict[str, list[Expected]]:
    groups: dict[str, list[Expected]] = defaultdict(list)
    for e in found:
        spec = e.timed.spec
        tuned = "untuned" if isinstance(e.timed.schedule, Untuned) else "tuned"
        groups[kind_of(spec)].append(e)
        groups[f"{spec.algorithm}, {tuned}"].append(e)
        if not spec.shape.depthwise:
            lanes = round(spec.shape.macs / e.again.products / host.array[1])
            groups[f"others with {lanes:2} lanes"].append(e)
    return groups


def _text(values: Sequence[tuple[float, float, float]]) -> str:
    if values[0][0] != values[0][0]:
        return "none: all are equal"
    return "; ".join(f"{v:.2f} ({low:.2f} to {high:.2f})" for v, low, high in values)


def plot(found: Sequence[Expected], host: Hardware, file: Path) -> None:
    """Draw measured against expected times."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.6), sharey=True, layout="constrained")
    shown = ("products (MACs)", SHOWN)
    titles = ("MACs alone", "cost model, with copies, waiting and frames")
    for axis, name, title in zip(axes, shown, titles, strict=True):
        scale = host.macs if name == shown[0] else 1
        for algorithm in COMPILED:
            of = [e for e in found if e.timed.spec.algorithm == algorithm]
            x = [EXPECTATIONS[name](e) / scale / host.frequency_mhz for e in of]
            axis.scatter(x, [e.timed.time_us for e in of], s=7, alpha=0.5, label=algorithm)
        ends = [e.timed.time_us for e in found]
        axis.plot([min(ends), max(ends)], [min(ends), max(ends)], color="grey", lw=0.8)
        axis.set(xscale="log", yscale="log", xlabel="expected time (us)", title=title)
    axes[0].set_ylabel("measured time (us)")
    axes[0].legend()
    figure.savefig(file, dpi=110)


def main(options: argparse.Namespace) -> None:
    folder = options.measure or options.read
    if folder is None:
        kernels, file = list(read_kept(TIMES)), HOST
        host = HardwareSpace.load(str(file)).build({})
    else:
        if options.measure:
            measure(options.measure, options.layers, options.trials)
        kernels = list(read_journal(folder))
        file = folder / "host_one_core.yaml"
        if not file.exists():
            file.write_text(host_template(measured_rates(), 1))
        host = HardwareSpace.load(str(file)).build({})
        if options.keep:
            keep(kernels, file.read_text())
    assert isinstance(host, Hardware)
    found = expected(kernels[: options.most], host)
    report(found, host)
    print(f"\n{len(kernels[: options.most]) - len(found)} kernels have loops that the model lacks")
    if options.plot:
        plot(found, host, options.plot)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--measure", type=Path, metavar="DIR", help="take times on this machine")
    source.add_argument("--read", type=Path, metavar="DIR", help="times that were taken before")
    parser.add_argument("--layers", type=int, help="measure the first ones alone")
    parser.add_argument("--trials", type=int, default=8, help="schedules of each algorithm")
    parser.add_argument("--keep", action="store_true", help="write them to benchmarks/data/")
    parser.add_argument("--most", type=int, help="the first kernels alone")
    parser.add_argument("--plot", type=Path, metavar="FILE")
    main(parser.parse_args())
