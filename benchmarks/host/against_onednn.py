"""Tuned float32 kernels against oneDNN's, on every convolution of four CIFAR networks.

Each layer's kernels of the three algorithms and all ways to call oneDNN are timed in turns, on one
thread, by its own time. A layer's ratio is that of the fastest tuned kernel to the fastest call of
oneDNN; it is printed with whether it is resolved from the noise. The target: at most 1.3 on
average (geometric mean) over the layers whose times are good enough.

    python benchmarks/host/against_onednn.py [--trials N] [--out DIR] [--retry-refused]

It takes about 15 CPU-minutes with 6 trials. What is done is kept in DIR; the same command again
goes on. Exits with 1 if the target is missed.
"""

import argparse
from collections.abc import Sequence
from itertools import islice
from math import exp, log
from pathlib import Path
from typing import Any

from archloom.evaluators.host import COMPILED
from archloom.evaluators.host.machine import this_machine
from archloom.evaluators.host.worker import Plan, Worker
from archloom.search.hardware.schedules import Effort
from archloom.space.networks import network
from archloom.studies.engine.progress import ProgressView
from archloom.studies.rendering.text import new_console
from archloom.studies.solve.measuring import Campaign, Memory, Variant, Wanted, layers_of

NETWORKS = ("resnet18_cifar10", "vgg16_cifar10", "mobilenetv1_cifar10", "mobilenetv2_cifar10")
TARGET = 1.3


def wanted(networks: Sequence[str], trials: int, most: int | None) -> Wanted:
    layers: dict[Any, tuple[str, ...]] = {}
    for name in networks:
        net = network(name)
        convolutions = {layer.name for layer in net.layers if layer.operator == "conv"}
        for shape, names in layers_of(net)[0].items():
            kept = tuple(f"{name}/{n}" for n in names if n in convolutions)
            if kept:
                layers[shape] = (*layers.get(shape, ()), *kept)
    variants = (*(Variant(name) for name in COMPILED), Variant("library"))
    some = dict(islice(layers.items(), most))
    return Wanted("cifar10", None, some, variants, Effort(trials))


def fastest(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the fastest row; None if its time is too noisy: the second would be no fair one."""
    have = [row for row in rows if "median_us" in row]
    found = min(have, key=lambda row: float(row["median_us"]), default=None)
    return found if found and found["status"] == "timed" else None


def main(asked: Wanted, folder: Path, again: bool) -> None:
    machine = this_machine(1)
    memory = Memory(folder, asked.record, machine.record)
    try:
        with ProgressView(new_console(stderr=True)) as view, Worker(1) as worker:
            plan = Plan(cores=machine.cores)
            Campaign(asked, memory, worker, view, plan, again).run()
    except KeyboardInterrupt:
        print("stopped; the same command goes on. So far:")
    finally:
        memory.close()
    layers = [done for shape in asked.layers if (done := memory.done("layer", str(shape)))]
    print(f"{machine.cpu}, {', '.join(f'{n} {v}' for n, v in machine.libraries)}")
    ratios, resolved, refused = [], 0, 0
    loads = [layer["load"] for layer in layers]
    for layer in layers:
        own = fastest(
            [row for row in layer["rows"] if row["tuned"] and row["algorithm"] in COMPILED]
        )
        its = fastest([row for row in layer["rows"] if row["algorithm"] == "library"])
        if own is None or its is None:
            refused += 1
            print(f"{layer['name']:<60} refused")
            continue
        ratio, noise = own["median_us"] / its["median_us"], max(own["noise"], its["noise"])
        told = max(ratio, 1 / ratio) > 1 + 2 * noise
        ratios.append(ratio)
        resolved += told
        print(
            f"{layer['name']:<60} {own['algorithm']:<12} {own['median_us']:>8,.1f} us, oneDNN "
            f"{its['median_us']:>8,.1f} us: {ratio:.2f}{'' if told else ' (not resolved)'}"
        )
    if not ratios:
        print(f"all {refused} layers are refused; measure again where less else runs")
        return
    mean = exp(sum(map(log, ratios)) / len(ratios))
    print(
        f"{len(ratios)} layers, {refused} refused, {resolved} resolved; geometric mean {mean:.2f}, "
        f"worst {max(ratios):.2f}, target {TARGET}; load {min(loads):.1f} to {max(loads):.1f}"
    )
    if mean > TARGET:
        raise SystemExit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--layers", type=int, help="the first ones alone")
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--out", type=Path, default=Path("runs/against_onednn"))
    parser.add_argument("--retry-refused", action="store_true", help="what a busy machine refused")
    options = parser.parse_args()
    asked = wanted(options.networks, options.trials, options.layers)
    main(asked, options.out, options.retry_refused)
