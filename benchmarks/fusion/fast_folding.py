"""A graph in which the small layers of squeeze-and-excite are folded too, which ``fold`` does not.

It is made from the linear model of the layers as they are: what stays inside a fused computation
does not cross DRAM, and the vector unit works in the shadow of the array.
"""

from collections.abc import Callable, Iterable
from typing import Final

from archloom.search.fusion.fast.model import MapRead, PinLayer, PinningProblem, Saving
from archloom.space.workload.network import Network

#: name of the computation that a layer is part of
Folding = Callable[[str], str]

_WITH_DEPTHWISE: Final = ("depthwise", "squeeze")
_WITH_PROJECTION: Final = ("scale", "project", "add", "reduce", "excite")


def excitation(layer: str) -> str:
    """Fold pooling into the depthwise layer, all else of a block into the projection."""
    block, _, part = layer.rpartition(".")
    for parts in (_WITH_DEPTHWISE, _WITH_PROJECTION):
        if part in parts:
            return f"{block}.{parts[0]}"
    return layer


def folded(
    problem: PinningProblem, network: Network, folding: Folding, words_per_cycle: float
) -> PinningProblem:
    """Return the problem of a network's fused computations; layers of one stand side by side."""
    names = [folding(layer.name) for layer in network.layers]
    number = {name: n for n, name in enumerate(dict.fromkeys(names))}
    home = [number[name] for name in names]
    members: list[list[int]] = [[] for _ in number]
    for i, n in enumerate(home):
        members[n].append(i)
    layers = [_computation(problem, network, m, home, words_per_cycle) for m in members]
    return PinningProblem(tuple(layers), problem.capacity_words, problem.leakage_pj_per_cycle)


def _computation(
    problem: PinningProblem, network: Network, members: list[int], home: list[int], rate: float
) -> PinLayer:
    own, parts = home[members[0]], [problem.layers[i] for i in members]
    inside = [r.saving for part in parts for r in part.reads if home[r.producer] == own]
    outer: dict[int, list[MapRead]] = {}
    for read in (r for part in parts for r in part.reads if home[r.producer] != own):
        outer.setdefault(home[read.producer], []).append(read)
    leaving = [
        i
        for i in members
        if problem.layers[i].leaves or any(home[r] != own for r in problem.readers[i])
    ]
    inside += [problem.layers[i].write for i in members if i not in leaving]
    kept = _sum(inside)
    words = sum(part.dram_words for part in parts) - kept.dram_words
    array = [i for i in members if network.layers[i].uses_macs] or members
    shortest = sum(problem.layers[i].shortest_cycles for i in array)
    return PinLayer(
        longest_cycles=max(shortest, words / rate),
        shortest_cycles=shortest,
        energy_pj=sum(part.energy_pj for part in parts) - kept.energy_pj,
        dram_words=words,
        own_words=max(part.own_words for part in parts),
        map_words=sum(problem.layers[i].map_words for i in leaving),
        map_tile_words=sum(problem.layers[i].map_tile_words for i in leaving),
        write=_sum(problem.layers[i].write for i in leaving),
        leaves=any(part.leaves for part in parts),
        reads=tuple(_joined(producer, reads) for producer, reads in sorted(outer.items())),
        weight_owner=own,
        weight_words=sum(part.weight_words for part in parts),
        weight_tile_words=sum(part.weight_tile_words for part in parts),
        weights=_sum(part.weights for part in parts),
    )


def _joined(producer: int, reads: list[MapRead]) -> MapRead:
    tile = sum(read.tile_words for read in reads)
    return MapRead(producer, tile, _sum(r.saving for r in reads), all(r.possible for r in reads))


def _sum(savings: Iterable[Saving]) -> Saving:
    total = list(savings)
    return Saving(
        sum(s.cycles for s in total),
        sum(s.energy_pj for s in total),
        sum(s.dram_words for s in total),
    )
