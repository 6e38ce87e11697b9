"""How far are plans above the bounds of all plans of the planner's space, on single designs?

For designs of the edge space that lie on fronts with fusion, ``joint`` searches a plan of each
network as a trial does, and the bounds that certificates use for single designs are worked out
(docs/explanation/joint.md, "Plans of a box"). Prints EDP over bound, and CPU seconds of both.

    python benchmarks/hardware/plan_bounds.py
    python benchmarks/hardware/plan_bounds.py --designs 28,12,32,800 --networks mobilenetv2
"""

import argparse
from math import exp, fsum, log
from time import process_time

from archloom.evaluators.hardware import edp_js
from archloom.search.fusion.joint.planner import JointPlanner
from archloom.search.fusion.joint.proofs.plan_space import PlanSpaces
from archloom.search.fusion.plan_evaluator import MemoizedPlanEvaluator
from archloom.search.mapping.auto import auto_mapping
from archloom.search.mapping.mapper import Mapper
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.errors import Infeasible
from archloom.space.hardware.hardware import Hardware, pass_batch
from archloom.space.networks.registry import network

#: PEs along x and y, KiB of the buffer, MHz: eleven members of a front, from fast to small
DESIGNS = (
    "32,12,256,800", "24,12,128,800", "7,32,64,800", "12,32,32,400", "16,8,32,800", "8,28,32,400",
    "4,16,32,800", "4,24,32,400", "4,7,32,800", "8,8,32,200", "4,4,32,200",
)  # fmt: skip

#: what all of them have in common
COMMON = {
    "weight_spad_bytes": 32, "input_spad_bytes": 16, "output_spad_bytes": 16, "dram_channels": 1,
}  # fmt: skip


def design(text: str) -> tuple[str, Hardware]:
    """Return a design of the edge space beside its text."""
    names, space = ("pe_x", "pe_y", "l2_kib", "clock_mhz"), HardwareSpace.load("casco_edge")
    try:
        sizes = dict(zip(names, map(int, text.split(",")), strict=True))
        hardware = space.build(space.canonical(COMMON | sizes))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}, as PE_X,PE_Y,KIB,MHZ: {error}") from None
    if isinstance(hardware, Infeasible):
        raise argparse.ArgumentTypeError(f"{text}: {hardware}")
    return text, hardware


def plan_edp(name: str, hardware: Hardware, plans: int, evaluations: int) -> float:
    """Return the EDP (J s) of the plan that a trial finds."""
    net = network(name)
    whole = net.with_batch(pass_batch(net, hardware))
    mapper = Mapper(auto_mapping(), evaluations, 0, "imperfect")
    planner = JointPlanner(MemoizedPlanEvaluator(whole, hardware, mapper))
    return exp(planner.advance(planner.start(0), plans).history[-1])


def least_edp(name: str, hardware: Hardware, spaces: PlanSpaces) -> float:
    """Return the EDP (J s) that no plan of the planner's space is below, with any mappings."""
    net = network(name)
    least = spaces.least(net, hardware, hardware, 0.0)
    return edp_js(least.product, 1.0, hardware, pass_batch(net, hardware))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--designs", nargs="+", type=design, default=[*map(design, DESIGNS)], metavar="X,Y,KIB,MHZ"
    )
    parser.add_argument("--networks", nargs="+", default=("resnet18", "mobilenetv2"))
    parser.add_argument("--plans", type=int, default=14)
    parser.add_argument("--mappings", type=int, default=100_000)
    args = parser.parse_args()
    spaces, every = PlanSpaces(), {name: [] for name in args.networks}
    print("| design |", " | ".join(args.networks), "| CPU s, plans | CPU s, bounds |")
    print("|---" * (len(args.networks) + 3) + "|")
    for text, hardware in args.designs:
        spent = [0.0, 0.0]
        for name, ratios in every.items():
            begin = process_time()
            found = plan_edp(name, hardware, args.plans, args.mappings)
            between = process_time()
            ratios.append(found / least_edp(name, hardware, spaces))
            spent[0] += between - begin
            spent[1] += process_time() - between
        row = [f"{ratios[-1]:.3f}" for ratios in every.values()]
        print(
            "|", " | ".join([text, *row, *(f"{seconds:.1f}" for seconds in spent)]), "|", flush=True
        )
    means = [exp(fsum(map(log, ratios)) / len(ratios)) for ratios in every.values()]
    print("| mean |", " | ".join(f"{mean:.3f}" for mean in means), "| | |")


if __name__ == "__main__":
    main()
