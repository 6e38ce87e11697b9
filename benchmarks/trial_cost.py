"""CPU seconds of whole trials, by part: planner, mappings, pricing of plans, bounds, and the rest.

    python benchmarks/trial_cost.py [--fusion joint] [--networks vit_b_16 ...]
        [--designs eyeriss ...] [--factors exact] [--json NEW.json] [--against OLD.json]

A trial searches fusion and mappings of one network on one design, as a study does with its default
settings, the planner ``--fusion``, mappings of ``--factors`` and ``--plans`` plans. CPU seconds are
of one core after compilation, each in the part that spent them (a planner waits for prices, and
prices for mappings).
What depends on the network alone is worked out on the first design and known on the others, as in a
study; with ``--known`` a trial comes after one with another seed, so that its tilings are known as
well. ``--against`` compares with figures that ``--json`` wrote: how many times less each trial
takes, their geometric mean, and the EDP of each plan over that of the earlier plan, both as this
version prices them, whose models may be others.
benchmarks/data/trial_cost_f173ccd.json has those of the version before planners compared tilings in
kernels, whose factors were exact.
"""

import argparse
import gc
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from math import exp, log
from pathlib import Path
from statistics import mean
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from archloom.search.fusion.joint import planner
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.factorization import FACTORS
from archloom.search.mapping.mapper import Mapper
from archloom.search.registry import FUSION_SEARCHES, MAPPING_SEARCHES
from archloom.search.seeds import derived_seed
from archloom.search.software.search import SoftwareSettings, SoftwareTask, advance
from archloom.space import Infeasible
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.design_space.presets import preset
from archloom.space.fusion import FusionPlan
from archloom.space.hardware import pass_batch
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network
from benchmarks.code_version import code_version

NETWORKS: Final = ("resnet18", "mobilenetv2", "vit_b_16", "unet", "efficientnet_b0")

#: what compiles, or loads, the kernels
WARM_UP: Final = ("tiny_cnn", "tiny_mobile", "tiny_mlp", "alexnet")

#: points of CASCO's edge space: the median of every parameter but the buffer
_EDGE: Final = {
    "pe_x": 14,
    "pe_y": 12,
    "weight_spad_bytes": 128,
    "input_spad_bytes": 32,
    "output_spad_bytes": 32,
    "dram_channels": 2,
    "clock_mhz": 400,
}
BUFFERS_KIB: Final = {"casco_edge_32k": 32, "casco_edge_128k": 128}
DESIGNS: Final = ("eyeriss", *BUFFERS_KIB, "fast_small")

#: what is measured by itself, and what is left of a trial beside it
PARTS: Final = ("planner", "mapping", "pricing", "bounds", "rest")

#: what spends CPU time for each part, beside the planner
WATCHED: Final[tuple[tuple[object, str, str], ...]] = (
    (planner, "any_plan_bound", "bounds"),
    (MemoizedPlanEvaluator, "plan", "pricing"),
    (MemoizedPlanEvaluator, "group", "pricing"),
    (Mapper, "__call__", "mapping"),
)

Row = dict[str, Any]


@dataclass
class Meter:
    """CPU seconds by part; those of a part that another one calls count for the called one."""

    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _parts: list[str] = field(default_factory=list)
    _since: float = 0.0

    def enter(self, part: str) -> None:
        """From now on this part works."""
        self._take()
        self._parts.append(part)

    def leave(self) -> None:
        """The part is done; the one that called it goes on."""
        self._take()
        self._parts.pop()

    def _take(self) -> None:
        now = time.process_time()
        if self._parts:
            self.spent[self._parts[-1]] += now - self._since
        self._since = now

    @contextmanager
    def watch(self, owner: object, name: str, part: str) -> Iterator[None]:
        """Count calls of a function, or of a method of a class, for a part."""
        plain: Callable[..., object] = getattr(owner, name)

        @wraps(plain)
        def measured(*args: object, **named: object) -> object:
            self.enter(part)
            try:
                return plain(*args, **named)
            finally:
                self.leave()

        setattr(owner, name, measured)
        try:
            yield
        finally:
            setattr(owner, name, plain)


def design(name: str) -> Hardware:
    """Return a preset, or a point of CASCO's edge space."""
    if name not in BUFFERS_KIB:
        return preset(name)
    built = HardwareSpace.load("casco_edge").build({**_EDGE, "l2_kib": BUFFERS_KIB[name]})
    assert isinstance(built, Hardware)
    return built


def trial(
    meter: Meter, settings: SoftwareSettings, net: Network, name: str, plans: int, seed: int = 1
) -> Row:
    """Return what a trial costs, and what it finds."""
    hardware = design(name)
    gc.collect()
    meter.spent.clear()
    meter.enter("rest")
    found = advance(SoftwareTask(hardware, (net,), settings, seed), None, plans)
    meter.leave()
    result = found.networks[net.name]
    return {
        "network": net.name,
        "design": name,
        "plans": plans,
        "cpu_s": sum(meter.spent.values()),
        "parts": {part: meter.spent[part] for part in PARTS},
        "edp_js": result.edp_js,
        "plan": result.plan,
        "curve": list(found.curve.edp),
    }


def price_now(old: Row, settings: SoftwareSettings, net: Network, seed: int = 1) -> float:
    """Return the EDP (J s) of an earlier plan as it is priced now; infinite where it cannot run."""
    hardware = design(old["design"])
    search = MAPPING_SEARCHES[settings.mapping](**dict(settings.mapping_options))
    effort = settings.mapping_evaluations, derived_seed(seed, "mapping"), settings.factors
    batch = net.with_batch(pass_batch(net, hardware))
    evaluator = MemoizedPlanEvaluator(batch, hardware, Mapper(search, *effort))
    cost = evaluator.plan(FusionPlan.from_list(old["plan"]))
    return float("inf") if isinstance(cost, Infeasible) else cost.edp_js


def line(row: Row, old: Row | None) -> str:
    """Return a row as text."""
    parts = "  ".join(f"{row['parts'][part]:8.2f}" for part in PARTS)
    text = f"{row['network']:16}  {row['design']:16}  {row['cpu_s']:7.2f}  {parts}"
    if old is None:
        return text
    same = "same plan" if row["plan"] == old["plan"] else "other plan"
    gain, work = old["cpu_s"] / row["cpu_s"], old["parts"]["planner"] / row["parts"]["planner"]
    return f"{text}  {gain:5.2f}x  planner {work:5.2f}x  {same}"


def summary(
    rows: list[Row], old: dict[tuple[str, str], Row], prices: dict[tuple[str, str], float]
) -> str:
    """Return the geometric mean of gains, of whole trials and of each part, and how plans compare
    with earlier ones; ``prices`` are what these cost now."""
    pairs = [(row, old[key]) for row in rows if (key := (row["network"], row["design"])) in old]
    if not pairs:
        return "no case of both"
    whole = _mean([before["cpu_s"] / row["cpu_s"] for row, before in pairs])
    parts = [_sums(pairs, part) for part in PARTS]
    ratios = sorted(
        (row["edp_js"] / prices[row["network"], row["design"]], row["network"], row["design"])
        for row, _ in pairs
    )
    least, most = (f"{edp:.6f} ({name}, {where})" for edp, name, where in (ratios[0], ratios[-1]))
    same = sum(row["plan"] == before["plan"] for row, before in pairs)
    return (
        f"geometric mean of gains {whole:.2f}x of {len(pairs)} trials, planner alone "
        f"{_mean([b['parts']['planner'] / r['parts']['planner'] for r, b in pairs]):.2f}x; "
        f"CPU-s in all: {', '.join(parts)}; {same} plans are the same; "
        f"EDP over that of the earlier plan {least} to {most}"
    )


def _sums(pairs: list[tuple[Row, Row]], part: str) -> str:
    before, now = (sum(pair[side]["parts"][part] for pair in pairs) for side in (1, 0))
    return f"{part} {before:.1f} -> {now:.1f}"


def _mean(ratios: list[float]) -> float:
    return exp(mean(map(log, ratios)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fusion", default=SoftwareSettings().fusion, help="the planner")
    parser.add_argument("--factors", choices=FACTORS, default=SoftwareSettings().factors)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--designs", nargs="+", default=DESIGNS)
    parser.add_argument("--plans", type=int, default=2)
    parser.add_argument("--warm-up", nargs="+", default=WARM_UP, help="networks of untimed trials")
    parser.add_argument("--known", action="store_true", help="each trial is the second of its case")
    parser.add_argument("--json", type=Path, help="file that the figures go to")
    parser.add_argument("--against", type=Path, help="figures of an earlier version")
    asked = parser.parse_args()
    settings = SoftwareSettings(fusion=asked.fusion, factors=asked.factors)
    old: dict[tuple[str, str], Row] = {}
    if asked.against is not None:
        before = json.loads(asked.against.read_text())
        old = {(row["network"], row["design"]): row for row in before["trials"]}
        print(f"against {before['version']}")
    rows, meter = [], Meter()
    with ExitStack() as watched:
        work = (FUSION_SEARCHES[settings.fusion], "advance", "planner")
        for owner, called, part in (work, *WATCHED):
            watched.enter_context(meter.watch(owner, called, part))
        # kernels are compiled before anything is timed
        for name in asked.designs:
            for small in asked.warm_up:
                trial(meter, settings, network(small), name, asked.plans)
        print(
            f"{'network':16}  {'design':16}  {'CPU-s':>7}  " + "  ".join(f"{p:>8}" for p in PARTS)
        )
        for net in map(network, asked.networks):
            for name in asked.designs:
                if asked.known:
                    trial(meter, settings, net, name, asked.plans, seed=2)
                rows.append(trial(meter, settings, net, name, asked.plans))
                print(line(rows[-1], old.get((net.name, name))), flush=True)
    if old:
        # once all is measured, since what is priced is known to later trials
        names = {(row["network"], row["design"]) for row in rows} & old.keys()
        prices = {key: price_now(old[key], settings, network(key[0])) for key in sorted(names)}
        print(summary(rows, old, prices))
    if asked.json is not None:
        found = {"version": code_version(), "fusion": settings.fusion, "trials": rows}
        asked.json.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
