"""The study's networks as compact data, which the page's script draws as graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from archloom.space.workload import Network
from archloom.studies.analysis import Details
from archloom.studies.rendering.pictures import (
    KINDS,
    PlacedNetwork,
    pinned_reads,
    placed_network,
)
from archloom.studies.rendering.text import operator_text

#: layers of a network whose graph a page carries
MOST_LAYERS: Final = 1200


@dataclass(frozen=True, slots=True)
class NetworkPlace:
    """A network of the study, and its place in the page.

    Attributes:
        number: position among the study's networks.
        network: itself.
        layers: positions of its layers by name.
        drawn: its graph; None if it is too large for a page.
    """

    number: int
    network: Network
    layers: Mapping[str, int]
    drawn: PlacedNetwork | None

    def pinned(self, groups: Sequence[Details]) -> list[tuple[str, str]]:
        """Return maker and reader of what a plan's groups find in the buffer of earlier ones."""
        return pinned_reads(self.network, groups)


def places_of(networks: Sequence[Network]) -> dict[str, NetworkPlace]:
    """Return the networks of a study by name, with their graphs laid out."""
    return {
        network.name: NetworkPlace(
            number,
            network,
            {layer.name: i for i, layer in enumerate(network.layers)},
            placed_network(network, {}) if len(network.layers) <= MOST_LAYERS else None,
        )
        for number, network in enumerate(networks)
    }


def network_data(place: NetworkPlace) -> dict[str, Any]:
    """Return a network's layers, and its graph if it is drawn."""
    network = place.network
    return {
        "name": network.name,
        "about": f"{network!r}"[1:-1].partition(": ")[2],
        "layers": [[layer.name, operator_text(layer), layer.uses_macs] for layer in network.layers],
        "graph": None if place.drawn is None else _graph(place.drawn),
    }


def _graph(drawn: PlacedNetwork) -> dict[str, Any]:
    layout, kinds = drawn.layout, list(KINDS)
    return {
        "width": _rounded(layout.width),
        "height": _rounded(layout.height),
        "kinds": [[name, colour] for name, colour in KINDS.items()],
        "detailed": drawn.detailed,
        "nodes": [
            [
                *(node.name, kinds.index(node.kind)),
                *map(_rounded, (*place, *size)),
                *(node.note, "\n".join(node.about)),
            ]
            for node, place, size in zip(drawn.graph.nodes, layout.places, drawn.sizes, strict=True)
        ],
        "lines": [[_rounded(at) for point in line for at in point] for line in layout.lines],
        "far": [
            [*(_rounded(at) for point in line for at in point), "\n".join(tip)]
            for line, tip in drawn.far
        ],
    }


def _rounded(pixels: float) -> float:
    return round(pixels, 1)
