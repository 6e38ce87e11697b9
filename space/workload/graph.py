"""Facts of a network's graph that searches over fusion plans use.

Layers are positions in the network; a set of them is a tuple of ascending positions or, where
it must be fast, a whole number whose bit ``i`` stands for layer ``i``. Facts depend on the
network alone, and those that cost something are computed once for each network object.
:mod:`.liveness` and :mod:`.isomorphism` hold more of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import reduce, wraps
from operator import attrgetter, or_
from typing import Final, TypeVar

from ..errors import Infeasible
from .layer import Layer
from .network import Network

Fact = TypeVar("Fact")

#: what no cost of an operator on the vector unit depends on
_FREE: Final = frozenset(
    ("name", "activation", "extra_params", "weights_of", "slices", "interleave")
)
_PRICED: Final = attrgetter(*(f.name for f in fields(Layer) if f.name not in _FREE))


def remembered(fact: Callable[[Network], Fact]) -> Callable[[Network], Fact]:
    """Compute a fact once for each network object, as a cached property would.

    A memo by value would hash every layer of the network on every call.
    """
    key = f"{fact.__module__}.{fact.__qualname__}"

    @wraps(fact)
    def known(network: Network) -> Fact:
        held: dict[str, Fact] = vars(network)
        if key not in held:
            held[key] = fact(network)
        return held[key]

    return known


def bits(layers: Iterable[int]) -> int:
    """Return the set of ``layers`` as a whole number."""
    return reduce(or_, (1 << i for i in layers), 0)


def positions(members: int) -> tuple[int, ...]:
    """Return the ascending layers of a set; the inverse of :func:`bits`."""
    return tuple(i for i, bit in enumerate(reversed(f"{members:b}")) if bit == "1")


@remembered
def ranks(network: Network) -> tuple[int, ...]:
    """Return for each layer the length of the longest path to it from an input.

    Inputs have rank 0, so layers that read nothing else have rank 1. A rank does not depend on
    the order in which a network lists its layers, nor on what comes after the layer; layers of
    one rank do not depend on each other.
    """
    found: list[int] = []
    for producers in network.producers:
        found.append(1 + max((found[p] for p in producers), default=0))
    return tuple(found)


@remembered
def rank_order(network: Network) -> tuple[int, ...]:
    """Return all layers by rank, those of one rank by position: a topological order."""
    return tuple(sorted(range(len(network.layers)), key=ranks(network).__getitem__))


@remembered
def ancestors(network: Network) -> tuple[int, ...]:
    """Return for each layer the set, in bits, of those that it depends on, itself left out."""
    found: list[int] = []
    for producers in network.producers:
        found.append(reduce(or_, (found[p] | 1 << p for p in producers), 0))
    return tuple(found)


@remembered
def descendants(network: Network) -> tuple[int, ...]:
    """Return for each layer the set, in bits, of those that depend on it, itself left out."""
    found = [0] * len(network.layers)
    for i in reversed(range(len(found))):
        found[i] = reduce(or_, (found[c] | 1 << c for c in network.consumers[i]), 0)
    return tuple(found)


def between(network: Network, layers: Iterable[int]) -> tuple[int, ...]:
    """Return the layers outside ``layers`` that lie on a path from one of them to another.

    A group that takes them in is the smallest convex one around ``layers``.
    """
    members = tuple(layers)
    below = reduce(or_, (descendants(network)[i] for i in members), 0)
    above = reduce(or_, (ancestors(network)[i] for i in members), 0)
    return positions(below & above & ~bits(members))


def can_share(network: Network, layers: Iterable[int]) -> Infeasible | None:
    """Return None if ``layers`` may be one fused group, else the rule that they break.

    A group hangs together by shared data (``no_shared_data``: its parts need be one), and no
    path leaves it and enters it again (``not_convex``: it lacks the layers on the path). So a
    plan of this group and single layers is valid if and only if this returns None
    (:func:`archloom.space.fusion.plan.plan_violations`). Groups of one plan may still wait for each
    other in a circle: that is a question about the plan.

    Raises:
        ValueError: no layers, or a position that is not in the network.
    """
    members = tuple(sorted(set(layers)))
    count = len(network.layers)
    if not members or members[0] < 0 or members[-1] >= count:
        raise ValueError(
            f"layers {members} must be at least one position of {network.name}, "
            f"which are 0 to {count - 1}"
        )
    where = ", ".join(_names(network, members))
    if not connected(network, members):
        parts = components(network, members)
        apart = "; ".join(", ".join(_names(network, part)) for part in parts)
        return Infeasible(
            "no_shared_data", where, 1, len(parts), "parts", f"run these apart: {apart}"
        )
    missing = between(network, members)
    if missing:
        needed = len(members) + len(missing)
        path = ", ".join(_names(network, missing))
        hint = (
            f"a path leaves the group and returns through {path}: add these layers, or "
            "split the group"
        )
        return Infeasible("not_convex", where, needed, len(members), "layers", hint)
    return None


def _names(network: Network, layers: tuple[int, ...], most: int = 6) -> list[str]:
    """Names of the first layers, and how many more there are."""
    names = [network.layers[i].name for i in layers[:most]]
    return names if len(layers) <= most else [*names, f"{len(layers) - most} more"]


@remembered
def identical_layers(network: Network) -> tuple[tuple[int, ...], ...]:
    """Return classes of layers that cost the same when they run alone, by first member.

    For searches that map each class once. Layers of the MAC array are identical if they are the
    same mapping problem: loop nest, window and density, whatever the operator is called. That
    is what ``MappingProblem.of_layer(layer, hardware).key`` is made of, on any hardware.
    Operators of the vector unit are identical if all agrees but names, folded activations,
    learned values that no loop touches, where boxes of feature maps lie and what becomes of the
    result.
    """
    classes: dict[tuple[object, ...], list[int]] = {}
    for i, layer in enumerate(network.layers):
        classes.setdefault(_problem(layer), []).append(i)
    return tuple(map(tuple, classes.values()))


def _problem(layer: Layer) -> tuple[object, ...]:
    """What the cost of a layer depends on when it runs alone."""
    if layer.uses_macs:
        window = (layer.stride, layer.dilation, layer.padding, layer.input_size)
        return (layer.bounds, *window, layer.sparsity)
    return tuple(_PRICED(layer))


def components(network: Network, members: Iterable[int]) -> list[tuple[int, ...]]:
    """Split layers into parts connected by shared data: an edge, or a feature map both read."""
    left, parts = set(members), []
    while left:
        part = {min(left)}
        frontier = list(part)
        while frontier:
            near = network.neighbours[frontier.pop()] & left - part
            part |= near
            frontier.extend(near)
        left -= part
        parts.append(tuple(sorted(part)))
    return parts


def connected(network: Network, members: Iterable[int]) -> bool:
    """Whether the layers hang together by shared data."""
    return len(components(network, members)) == 1
