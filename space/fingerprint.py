"""Structural equality of networks: whatever layers are called and however they are listed.

Every map has a colour, a digest of what it is made of. Colours are first made from the inputs on
(a Merkle tree: a layer's fields and the colours of what it reads), then refined by their readers
and by what they read in turn until no more maps can be told apart (after Weisfeiler and Leman).
Networks are the same if the colours of all their maps are.
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


def fingerprint(network: Network) -> str:
    """Return a digest that is the same for networks of the same structure, in any process.

    All that a layer is counts but its name: shapes, windows, activation, learned values, what it
    reads in which order (of sums and products of full maps in any), boxes, shared weights, the
    batch; of an input how many words it has and who reads it. Not counted are names and the
    order in which layers are listed.
    """
    return _digest(sorted(colours(network).full.values()))


def same_structure(one: Network, other: Network) -> bool:
    """Whether two networks differ at most in names and in the order of their layers.

    For tests that a model that was read in is the one that it should be. What differs says
    :func:`archloom.space.difference.explain_difference`.
    """
    return fingerprint(one) == fingerprint(other)


def commutes(layer: Layer) -> bool:
    """Whether the order of what a layer reads means nothing."""
    return layer.operator in ("add", "mul") and not layer.broadcast


@remembered
def colours(network: Network) -> Colours:
    """Return the colours of all maps."""
    own = {layer.name: _own(network, layer) for layer in network.layers}
    inputs = dict.fromkeys(s for sources in network.reads for s in sources if is_input(s))
    start = {s: _digest("input", network.batch, prod(network.map_shape(s))) for s in inputs}
    made = _from_inputs(network, start | own)
    read = _from_results(network, made)
    full, kinds = _from_inputs(network, read), 0
    while len(set(full.values())) > kinds:
        kinds = len(set(full.values()))
        full = _from_inputs(network, _from_results(network, full))
    return Colours(own, made, read, full)


def _digest(*parts: object) -> str:
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _own(network: Network, layer: Layer) -> str:
    # a result that nobody reads leaves, whether it is listed or not
    leaves = layer.name in network.outputs and bool(network.consumers[network.index(layer.name)])
    return _digest(_OWN(layer), leaves, bool(layer.weights_of))


def _from_inputs(network: Network, colour: dict[str, str]) -> dict[str, str]:
    """Mix into the colour of every map those of what it is made of."""
    found = {source: colour[source] for source in colour if is_input(source)}
    for layer, sources in zip(network.layers, network.reads, strict=True):
        edges = [(found[s], _box(layer, i)) for i, s in enumerate(sources)]
        if commutes(layer):
            edges.sort()
        shared = found[layer.weights_of] if layer.weights_of else ""
        found[layer.name] = _digest(colour[layer.name], edges, shared)
    return found


def _from_results(network: Network, colour: dict[str, str]) -> dict[str, str]:
    """Mix into the colour of every map those of all that is made of it."""
    readers: dict[str, list[tuple[str, str]]] = {source: [] for source in colour}
    found: dict[str, str] = {}
    for layer, sources in reversed(list(zip(network.layers, network.reads, strict=True))):
        found[layer.name] = _digest(colour[layer.name], sorted(readers[layer.name]))
        for source, edge in zip(sources, _places(layer), strict=True):
            readers[source].append((found[layer.name], edge))
        if layer.weights_of:
            readers[layer.weights_of].append((found[layer.name], "weights"))
    inputs: Iterable[str] = filter(is_input, colour)
    return found | {s: _digest(colour[s], sorted(readers[s])) for s in inputs}


def _places(layer: Layer) -> list[str]:
    """As what a layer reads each of its maps: which of them it is, and the box."""
    anywhere = commutes(layer)
    return [f"{'' if anywhere else i}{_box(layer, i)}" for i in range(layer.operands)]


def _box(layer: Layer, operand: int) -> str:
    """The box of a map that a layer reads; empty for all of it, said or not."""
    box = layer.slice_of(operand)
    return "" if box is None or box.size == box.of else str(box)
