"""Isomorphism of networks: colour refinement, a fingerprint, and a difference in words."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from hashlib import blake2b
from math import prod
from operator import attrgetter
from typing import Final

from .graph import remembered
from .layer import Layer
from .network import Network, is_input

#: fields of a layer that belong to its edges rather than to itself
_OF_EDGES: Final = frozenset(("name", "slices", "weights_of"))
_OWN_FIELDS: Final = tuple(f.name for f in fields(Layer) if f.name not in _OF_EDGES)
_OWN: Final = attrgetter(*_OWN_FIELDS)


@dataclass(frozen=True, slots=True)
class _RefinedColours:
    """Digests of every feature map of a network, by its name.

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


def _commutes(layer: Layer) -> bool:
    """Whether the order of what a layer reads means nothing."""
    return layer.operator in ("add", "mul") and not layer.broadcast


@remembered
def _refine_colours(network: Network) -> _RefinedColours:
    """Return the colours of all feature maps."""
    own = {layer.name: _own(network, layer) for layer in network.layers}
    inputs = dict.fromkeys(s for sources in network.reads for s in sources if is_input(s))
    start = {s: digest("input", network.batch, prod(network.map_shape(s))) for s in inputs}
    made = _from_inputs(network, start | own)
    read = _from_results(network, made)
    full, kinds = _from_inputs(network, read), 0
    while len(set(full.values())) > kinds:
        kinds = len(set(full.values()))
        full = _from_inputs(network, _from_results(network, full))
    return _RefinedColours(own, made, read, full)


def digest(*parts: object) -> str:
    """Return a digest of values whose texts tell them apart, the same in any process."""
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _own(network: Network, layer: Layer) -> str:
    # a result that nobody reads leaves, whether it is listed or not
    leaves = layer.name in network.outputs and bool(network.consumers[network.index(layer.name)])
    return digest(_OWN(layer), leaves, bool(layer.weights_of))


def _from_inputs(network: Network, colour: dict[str, str]) -> dict[str, str]:
    """Mix into the colour of every feature map those of what it is made of."""
    found = {source: colour[source] for source in colour if is_input(source)}
    for layer, sources in zip(network.layers, network.reads, strict=True):
        edges = [(found[s], _box(layer, i)) for i, s in enumerate(sources)]
        if _commutes(layer):
            edges.sort()
        shared = found[layer.weights_of] if layer.weights_of else ""
        found[layer.name] = digest(colour[layer.name], edges, shared)
    return found


def _from_results(network: Network, colour: dict[str, str]) -> dict[str, str]:
    """Mix into the colour of every feature map those of all that is made of it."""
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
    anywhere = _commutes(layer)
    return [f"{'' if anywhere else i}{_box(layer, i)}" for i in range(layer.operands)]


def _box(layer: Layer, operand: int) -> str:
    """The box of a feature map that a layer reads; empty for all of it, said or not."""
    box = layer.slice_of(operand)
    return "" if box is None or box.size == box.of else str(box)


#: layers that are named before only their number is said
_MOST: Final = 8
#: what is so unlike is no counterpart
_FAR: Final = 1000


def fingerprint(network: Network) -> str:
    """Return a digest that is the same for networks of the same structure, in any process.

    All that a layer is counts but its name: shapes, windows, activation, learned values, what it
    reads in which order (of sums and products of full feature maps in any), boxes, shared weights,
    the batch; of an input how many words it has and who reads it. Not counted are names and the
    order in which layers are listed.
    """
    return digest(sorted(_refine_colours(network).full.values()))


def same_structure(one: Network, other: Network) -> bool:
    """Whether two networks differ at most in names and in the order of their layers.

    For tests that a model that was read in is the one that it should be. What differs says
    :func:`explain_difference`.
    """
    return fingerprint(one) == fingerprint(other)


def explain_difference(one: Network, other: Network) -> list[str]:
    """Return what makes two networks different, the most telling first; empty if nothing does.

    First the totals that differ. Then the layers that are different in themselves, each beside
    the one of the other network that is most like it. If there are none, the layers that read
    other feature maps; if there are none either, the maps that others read. What differs only
    because something before it does is not named. For the output of tests, and for people who
    compare a model that they read in with one of the catalogue.
    """
    if same_structure(one, other):
        return []
    names = (one.name, other.name) if one.name != other.name else ("the first", "the second")
    sides = (
        _Side(one, names[0], _refine_colours(one)),
        _Side(other, names[1], _refine_colours(other)),
    )
    for what in (_layers_apart, _reads_apart, _readers_apart):
        found = list(what(*sides))
        if found:
            break
    return [*_totals(*sides), *found]


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two networks, by the name that messages give it."""

    network: Network
    name: str
    colours: _RefinedColours

    def layer(self, name: str) -> Layer:
        return self.network.layers[self.network.index(name)]

    def sources(self, name: str) -> tuple[str, ...]:
        return self.network.reads[self.network.index(name)]

    def reads(self, name: str) -> str:
        layer = self.layer(name)
        texts = [
            f"{source}{layer.slice_of(i) or ''}" for i, source in enumerate(self.sources(name))
        ]
        shared = [f"the weights of {layer.weights_of}"] if layer.weights_of else []
        return " and ".join([", ".join(texts), *shared])

    def readers(self, source: str) -> str:
        pairs = zip(self.network.layers, self.network.reads, strict=True)
        return ", ".join(la.name for la, sources in pairs if source in sources) or "nobody"


def _totals(one: _Side, other: _Side) -> Iterator[str]:
    counts: dict[str, Callable[[Network], int]] = {
        "layers": lambda net: len(net.layers),
        "MACs": lambda net: net.macs,
        "parameters": lambda net: net.params,
        "images in a batch": lambda net: net.batch,
    }
    for what, count in counts.items():
        here, there = count(one.network), count(other.network)
        if here != there:
            yield f"{what}: {here:,} in {one.name}, {there:,} in {other.name}"


def _unmatched(here: dict[str, str], there: dict[str, str]) -> list[str]:
    """Feature maps whose colour the other side has less often, in order."""
    left = Counter(there.values())
    found = []
    for name, colour in here.items():
        left[colour] -= 1
        if left[colour] < 0:
            found.append(name)
    return found


def _layers_apart(one: _Side, other: _Side) -> Iterator[str]:
    """Layers that are different in themselves."""
    here = _unmatched(one.colours.own, other.colours.own)
    there = _unmatched(other.colours.own, one.colours.own)

    def unlike(name: str, near: str) -> int:
        layer, like = one.layer(name), other.layer(near)
        return len(_fields_apart(layer, like)) if layer.operator == like.operator else _FAR

    def beside(name: str, near: str) -> str:
        return _beside(one.layer(name), other.layer(near))

    def alone(side: _Side, name: str) -> str:
        return " ".join(str(side.layer(name)).split())

    yield from _lines((one, other), (here, there), unlike, beside, alone)


def _fields_apart(layer: Layer, near: Layer) -> list[str]:
    return [field for field in _OWN_FIELDS if getattr(layer, field) != getattr(near, field)]


def _beside(layer: Layer, like: Layer) -> str:
    parts = [
        f"{field} {getattr(layer, field)!r} against {getattr(like, field)!r}"
        for field in _fields_apart(layer, like)
    ]
    if bool(layer.weights_of) != bool(like.weights_of):
        which = "first" if layer.weights_of else "second"
        parts.append(f"only the {which} has the weights of another")
    # what is left: of two that are the same otherwise only one leaves
    return ", ".join(parts) or "only one of them is an output that layers read, too"


def _reads_apart(one: _Side, other: _Side) -> Iterator[str]:
    """Layers that are the same in themselves and read other feature maps, or in another way."""
    here = _made_otherwise(one, other)
    there = _made_otherwise(other, one)

    def unlike(name: str, near: str) -> int:
        return 0 if one.colours.own[name] == other.colours.own[near] else _FAR

    def beside(name: str, near: str) -> str:
        return f"reads {one.reads(name)} against {other.reads(near)}"

    def alone(side: _Side, name: str) -> str:
        return f"reads {side.reads(name)}"

    yield from _lines((one, other), (here, there), unlike, beside, alone)


def _made_otherwise(one: _Side, other: _Side) -> list[str]:
    """Layers that the other side makes of nothing like it, though it has what they read."""
    apart = [n for n in _unmatched(one.colours.made, other.colours.made) if n in one.colours.own]
    cause = set(apart)
    return [n for n in apart if not cause & {*one.sources(n), one.layer(n).weights_of}]


def _readers_apart(one: _Side, other: _Side) -> Iterator[str]:
    """Feature maps that are made of the same and read by others."""
    here, there = _read_otherwise(one, other), _read_otherwise(other, one)

    def unlike(name: str, near: str) -> int:
        return 0 if one.colours.made[name] == other.colours.made[near] else _FAR

    def beside(name: str, near: str) -> str:
        return f"read by {one.readers(name)} against {other.readers(near)}"

    def alone(side: _Side, name: str) -> str:
        return f"read by {side.readers(name)}"

    yield from _lines((one, other), (here, there), unlike, beside, alone)


def _read_otherwise(one: _Side, other: _Side) -> list[str]:
    """Feature maps that nothing on the other side is read like, though it has their readers."""
    apart = _unmatched(one.colours.read, other.colours.read)
    readers = one.colours.own.keys() & set(apart)
    caused = {source for name in readers for source in one.sources(name)}
    first = [name for name in apart if name not in caused]
    return first or _unmatched(one.colours.full, other.colours.full)


def _lines(
    sides: tuple[_Side, _Side],
    names: tuple[list[str], list[str]],
    unlike: Callable[[str, str], int],
    beside: Callable[[str, str], str],
    alone: Callable[[_Side, str], str],
) -> Iterator[str]:
    """One line for each of the first names, with its counterpart if there is one; then counts.

    Args:
        sides, names: the names of each side that are apart.
        unlike: how far a name of the first is from one of the second.
        beside: what sets such names apart.
        alone: what a name stands for that has no counterpart.
    """
    (one, other), (here, there) = sides, names
    left = dict.fromkeys(there)
    for name in here[:_MOST]:
        # of those that are like it, the one of the same name, else the nearest
        far, _, near = min(((unlike(name, n), n != name, n) for n in left), default=(_FAR, 0, ""))
        if name in left and unlike(name, name) < _FAR:
            far, near = 0, name
        if far < _FAR:
            del left[near]
            yield f"{name} of {one.name} and {near} of {other.name}: {beside(name, near)}"
        else:
            yield f"{name} of {one.name} has no counterpart in {other.name}: {alone(one, name)}"
    rest = list(left)
    shown = max(0, _MOST - len(here))
    for name in rest[:shown]:
        yield f"{name} of {other.name} has no counterpart in {one.name}: {alone(other, name)}"
    more = [(len(here) - _MOST, one), (len(rest) - shown, other)]
    counts = [f"{count} more of {side.name}" for count, side in more if count > 0]
    if counts:
        yield f"and {', '.join(counts)}"
