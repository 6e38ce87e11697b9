"""Figures of every network of the catalogue, recorded: to build them all takes half a second.

``figures.csv`` holds what the networks come to as they are built; a test compares. After a change
of a network write it again: ``python -m archloom.space.networks.figures``.
"""

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from archloom.space.workload import Network

RECORDED: Final = Path(__file__).with_name("figures.csv")


@dataclass(frozen=True)
class NetworkFigures:
    """What a list of networks says of each.

    Attributes:
        name: in the catalogue.
        about: what it is: source, input.
        input: channels, rows and columns of the first input, as ``3x224x224``.
        inputs: how many inputs it has.
        layers: how many.
        macs: multiply-accumulates of one pass.
        params: learned values.
        working_set_words: of the layer that has most, inputs and results together.
    """

    name: str
    about: str
    input: str
    inputs: int
    layers: int
    macs: int
    params: int
    working_set_words: int


def figures_of(net: "Network", about: str) -> NetworkFigures:
    """Return the figures of a network as it is built."""
    from archloom.space.workload import is_input, largest_working_set

    sources = dict.fromkeys(s for reads in net.reads for s in reads if is_input(s))
    first = "x".join(map(str, net.map_shape(next(iter(sources))))) if sources else ""
    sizes = (len(net.layers), net.macs, net.params, largest_working_set(net))
    return NetworkFigures(net.name, about, first, len(sources), *sizes)


def catalogue(batch: int | None = None) -> Iterator[NetworkFigures]:
    """Yield the figures of all networks, built for ``batch`` images; None for their own batch."""
    from .registry import NETWORKS, network

    for name, entry in NETWORKS.items():
        net = network(name)
        yield figures_of(net if batch is None else net.with_batch(batch), entry.about)


def recorded_catalogue() -> list[NetworkFigures]:
    """Return the recorded figures of all networks, at batch 1."""
    with RECORDED.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [NetworkFigures(a, b, c, *map(int, numbers)) for a, b, c, *numbers in rows]


def record() -> None:
    """Build all networks and write their figures down."""
    with RECORDED.open("w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, [f.name for f in fields(NetworkFigures)], lineterminator="\n")
        rows.writeheader()
        rows.writerows(map(asdict, catalogue()))


if __name__ == "__main__":
    record()
