"""How a network branches: forks, joins, dominators, and where it is cut clean.

Maps that leave the network although layers read them are no way out here, and inputs from
outside are no way in but one: the first map that the first layer reads is the entrance. Other
inputs (states, caches, tables) stand in DRAM wherever the network is cut.
"""

from dataclasses import dataclass
from functools import partial, reduce

from .fusion import components
from .graph_facts import ancestors, bits, remembered
from .network import Network


def forks(network: Network) -> dict[str, tuple[int, ...]]:
    """Return the maps with several readers, inputs included, and these readers.

    Where branches begin; each such map is fetched, or held, for more than one layer.
    """
    readers: dict[str, list[int]] = {}
    for i, sources in enumerate(network.reads):
        for source in dict.fromkeys(sources):
            readers.setdefault(source, []).append(i)
    return {source: tuple(found) for source, found in readers.items() if len(found) > 1}


def joins(network: Network) -> tuple[int, ...]:
    """Return the layers that read the results of several layers: where branches end."""
    return tuple(i for i, made in enumerate(network.producers) if len(set(made)) > 1)


def _entered(network: Network) -> tuple[int, ...]:
    """The layers that read the entrance."""
    return tuple(i for i, sources in enumerate(network.reads) if network.reads[0][0] in sources)


@remembered
def immediate_dominators(network: Network) -> tuple[int | None, ...]:
    """Return for each layer the last one that every path to it from outside runs through.

    None if there is none but the outside. For :func:`segments`, and for searches that want the
    layer at which the branches of a join began. After Cooper, Harvey and Kennedy ("A simple,
    fast dominance algorithm", 2001), of which a graph in topological order needs one pass.
    """
    outside, entered = -1, set(_entered(network))
    found: list[int] = []
    for i, producers in enumerate(network.producers):
        before = (*producers, outside) if i in entered or not producers else producers
        found.append(reduce(partial(_common, found), before))
    return tuple(None if i == outside else i for i in found)


def _common(dominators: list[int], one: int, other: int) -> int:
    """The nearest layer that dominates both; the outside, -1, dominates all."""
    while one != other:
        if one > other:
            one = dominators[one]
        else:
            other = dominators[other]
    return one


@remembered
def immediate_postdominators(network: Network) -> tuple[int | None, ...]:
    """Return for each layer the first one that every path from it to a result runs through.

    None if there is none but the outside: a result of the network, or branches that never meet.
    """
    outside = len(network.layers)
    found = [outside] * outside
    for i in reversed(range(outside)):
        readers = network.consumers[i]
        if readers:
            found[i] = reduce(partial(_common_reader, found), readers)
    return tuple(None if i == outside else i for i in found)


def _common_reader(dominators: list[int], one: int, other: int) -> int:
    """The nearest layer that postdominates both; the outside, the largest, does so for all."""
    while one != other:
        if one < other:
            one = dominators[one]
        else:
            other = dominators[other]
    return one


@remembered
def clean_cuts(network: Network) -> tuple[int, ...]:
    """Return the layers at which the network is cut clean.

    What comes before such a layer (all that it depends on) is read by nobody else after it:
    between the two sides stands its result alone. The places where a search may cut without
    spilling a branch, and where exact methods may solve both sides apart.
    """
    above, entered = ancestors(network), bits(_entered(network))
    readers = [bits(found) for found in network.consumers]
    around: list[int] = []  # for each layer, all that read any map on the way to it
    for i, producers in enumerate(network.producers):
        met = entered if entered >> i & 1 else 0
        for p in producers:
            met |= around[p] | readers[p]
        around.append(met)
    return tuple(i for i, met in enumerate(around) if not met & ~(above[i] | 1 << i))


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a network between clean cuts.

    Attributes:
        layers: ascending positions.
        branching: whether it holds branches (a residual block, an inception block) rather than
            a chain, in which each layer reads the one before it.
        exit: the layer whose result is all that others read of the segment; None for the last
            segment of a network that ends in several results.
    """

    layers: tuple[int, ...]
    branching: bool
    exit: int | None


@remembered
def segments(network: Network) -> tuple[Segment, ...]:
    """Cut the network at all of its clean cuts: chains and branching blocks, in running order.

    A block holds what lies between two neighbouring cuts, with the layer at its end: the add of
    a residual block. What one map feeds is then in the segments that read it. Every layer is in
    exactly one segment. For searches over ranges of a chain (DeepFrack's shortest path,
    Optimus' dynamic program), which need not look into what cannot interact.
    """
    cuts = set(clean_cuts(network))
    after = immediate_postdominators(network)
    homes: dict[int | None, list[int]] = {}
    home: list[int | None] = [None] * len(after)
    for i in reversed(range(len(after))):
        following = after[i]
        home[i] = i if i in cuts else None if following is None else home[following]
    for i, at in enumerate(home):
        homes.setdefault(at, []).append(i)
    loose = homes.pop(None, [])
    ends = [Segment(part, True, None) for part in components(network, loose)]
    return (*_chained(network, homes), *ends)


def _chained(network: Network, homes: dict[int | None, list[int]]) -> list[Segment]:
    """One segment for each cut with what lies before it; runs of lone cuts are one chain."""
    found: dict[int, Segment] = {}  # by exit
    for at in sorted(cut for cut in homes if cut is not None):
        inside = tuple(homes[at])
        producers = set(network.producers[at])
        if len(inside) > 1:
            found[at] = Segment(inside, True, at)
            continue
        before = found.get(next(iter(producers))) if len(producers) == 1 else None
        if before is None or before.branching or before.exit is None:
            found[at] = Segment(inside, False, at)
        else:
            del found[before.exit]
            found[at] = Segment((*before.layers, at), False, at)
    return list(found.values())
