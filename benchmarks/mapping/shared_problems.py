"""How many mapping problems designs of one space have in common: is it worth to remember results?

    python benchmarks/mapping/shared_problems.py [--template casco_edge] [--designs 24] [--seed 1]

Two problems are one if the search reads the same numbers. "Shared among designs" counts problems of
designs drawn at random that another of them has as well; "with neighbours" those that a design
shares with one that differs in a single parameter. Both once with the leakage of the chip, and
once as if that were nothing.
"""

import argparse
from collections import Counter

import numpy as np

from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.search.hardware.problem import DesignProblem
from archloom.search.hardware.random_search import RandomSearch
from archloom.space.design_space.hardware_space import HardwareSpace
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.registry import network
from archloom.space.workload.network import Network

NETWORKS = ("resnet18", "mobilenetv2")

#: designs whose neighbours are looked at
AROUND = 4


def keys(hardware: Hardware, networks: list[Network], leakage: bool) -> set[bytes]:
    """Return what a search would read of each distinct layer."""
    layers = [layer for net in networks for layer in net.layers if layer.uses_macs]
    setups = [MappingProblem.of_layer(layer, hardware).setup for layer in layers]
    plain = [s._replace(extras=None, leakage_pj=s.leakage_pj * leakage) for s in setups]
    return {b"|".join(np.asarray(value).tobytes() for value in setup) for setup in plain}


def shared_among(designs: list[Hardware], networks: list[Network], leakage: bool) -> str:
    """Return how many problems are shared, of how many."""
    counts = Counter(key for design in designs for key in keys(design, networks, leakage))
    return f"{counts.total() - len(counts)} of {counts.total()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--template", default="casco_edge")
    parser.add_argument("--designs", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--around", type=int, default=AROUND, help="whose neighbours are looked at")
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    given = parser.parse_args()
    space, networks = HardwareSpace.load(given.template), [network(name) for name in given.networks]
    points = RandomSearch(DesignProblem(space, networks), given.seed).ask(given.designs, [])
    built = [space.build(point) for point in points]
    designs = [hardware for hardware in built if isinstance(hardware, Hardware)]
    for leakage in (True, False):
        print("with leakage" if leakage else "as if nothing leaked")
        print("  shared among designs:", shared_among(designs, networks, leakage))
        found, total = 0, 0
        for point in points[: given.around]:
            own = space.build(point)
            around = [space.build(near) for near in space.neighbours(point)]
            for near in around:
                if isinstance(own, Hardware) and isinstance(near, Hardware):
                    there = keys(near, networks, leakage)
                    found += len(there & keys(own, networks, leakage))
                    total += len(there)
        print(f"  with neighbours: {found} of {total}")


if __name__ == "__main__":
    main()
