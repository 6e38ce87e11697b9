"""Colours of a network's maps: digests of what they are, whatever layers are called.

Colours are first made from the inputs on (a Merkle tree: a layer's fields and the colours of
what it reads), then refined by readers and by what is read in turn until no more maps can be
told apart (after Weisfeiler and Leman). :mod:`.fingerprint` compares networks by them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import blake2b
from math import prod
from operator import attrgetter
from typing import Final

from .graph_facts import remembered
from .layer import Layer
from .network import Network, is_input

#: fields of a layer that belong to its edges rather than to itself
_OF_EDGES: Final = frozenset(("name", "slices", "weights_of"))
OWN_FIELDS: Final = tuple(f.name for f in fields(Layer) if f.name not in _OF_EDGES)
_OWN: Final = attrgetter(*OWN_FIELDS)


@dataclass(frozen=True, slots=True)
class Colours:
    """Digests of every map of a network, by its name.

    Attributes:
        own: of layers alone: fields, whether the result leaves, whether weights are shared.
        made: of what maps are made of, back to the inputs.
        read: of that and of what is made of them.
        full: of everything around them.
    """

    own: dict[str, str]
    made: dict[str, str]
    read: dict[str, str]
    full: dict[str, str]


def commutes(layer: Layer) -> bool:
    """Whether the order of what a layer reads means nothing."""
    return layer.operator in ("add", "mul") and not layer.broadcast


@remembered
def colours(network: Network) -> Colours:
    """Return the colours of all maps."""
    own = {layer.name: _own(network, layer) for layer in network.layers}
    inputs = dict.fromkeys(s for sources in network.reads for s in sources if is_input(s))
    start = {s: digest("input", network.batch, prod(network.map_shape(s))) for s in inputs}
    made = _from_inputs(network, start | own)
    read = _from_results(network, made)
    full, kinds = _from_inputs(network, read), 0
    while len(set(full.values())) > kinds:
        kinds = len(set(full.values()))
        full = _from_inputs(network, _from_results(network, full))
    return Colours(own, made, read, full)


def digest(*parts: object) -> str:
    """Return a digest of values whose texts tell them apart, the same in any process."""
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _own(network: Network, layer: Layer) -> str:
    # a result that nobody reads leaves, whether it is listed or not
    leaves = layer.name in network.outputs and bool(network.consumers[network.index(layer.name)])
    return digest(_OWN(layer), leaves, bool(layer.weights_of))


def _from_inputs(network: Network, colour: dict[str, str]) -> dict[str, str]:
    """Mix into the colour of every map those of what it is made of."""
    found = {source: colour[source] for source in colour if is_input(source)}
    for layer, sources in zip(network.layers, network.reads, strict=True):
        edges = [(found[s], _box(layer, i)) for i, s in enumerate(sources)]
        if commutes(layer):
            edges.sort()
        shared = found[layer.weights_of] if layer.weights_of else ""
        found[layer.name] = digest(colour[layer.name], edges, shared)
    return found


def _from_results(network: Network, colour: dict[str, str]) -> dict[str, str]:
    """Mix into the colour of every map those of all that is made of it."""
    readers: dict[str, list[tuple[str, str]]] = {source: [] for source in colour}
    found: dict[str, str] = {}
    for layer, sources in reversed(list(zip(network.layers, network.reads, strict=True))):
        found[layer.name] = digest(colour[layer.name], sorted(readers[layer.name]))
        for source, edge in zip(sources, _places(layer), strict=True):
            readers[source].append((found[layer.name], edge))
        if layer.weights_of:
            readers[layer.weights_of].append((found[layer.name], "weights"))
    inputs: Iterable[str] = filter(is_input, colour)
    return found | {s: digest(colour[s], sorted(readers[s])) for s in inputs}


def _places(layer: Layer) -> list[str]:
    """As what a layer reads each of its maps: which of them it is, and the box."""
    anywhere = commutes(layer)
    return [f"{'' if anywhere else i}{_box(layer, i)}" for i in range(layer.operands)]


def _box(layer: Layer, operand: int) -> str:
    """The box of a map that a layer reads; empty for all of it, said or not."""
    box = layer.slice_of(operand)
    return "" if box is None or box.size == box.of else str(box)
