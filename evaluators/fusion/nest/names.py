"""Names of a group's ranks and operands, as people know them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from archloom.space.workload import Layer, Network

from ..group_graph import group_sources
from .members import Member, group_members
from .operands import NestGroup
from .ranks import group_ranks, weighs_rows, windowless

_N, _G, _K, _C, _P, _Q = range(6)

#: what dimensions of the products of attention are called, and those of its softmax
_SCORES: Final = ((_G, "heads"), (_P, "queries"), (_K, "keys"), (_C, "head features"))
_CONTEXT: Final = ((_G, "heads"), (_P, "queries"), (_C, "keys"), (_K, "value features"))
_SOFTMAX: Final = ((_G, "heads"), (_P, "queries"), (_K, "keys"))


def rank_names(
    network: Network, layers: tuple[int, ...], split: tuple[int, ...] = ()
) -> tuple[str, ...]:
    """Return a name for each rank of a group, all different.

    Ranks of attention are called heads, queries, keys, head features and value features; positions
    tokens, or rows and columns of maps that have both; all others after the first layer that makes
    features along them, or else sums over them. Where several would be called the same, the layer
    stands before it.
    """
    ranks, members = group_ranks(network, layers, split), group_members(network, layers, split)
    assert ranks is not None, "the group has ranks"
    assert members is not None, "its members are known"
    best: dict[int, tuple[int, str, int]] = {}
    for m, member in enumerate(members):
        for weight, d, name in _roles(network, member):
            for place, (rank, called) in enumerate(_parts(ranks.dims[m][d], name)):
                found = (weight + place, called, m)
                best[rank] = min(best.get(rank, found), found, key=lambda role: (role[0], role[2]))
    short = _short_names([member.layer for member in members])
    return _told_apart([best[rank] for rank in range(len(ranks.sizes))], short)


def _parts(ranks: tuple[int, ...], name: str) -> Iterator[tuple[int, str]]:
    """Yield the ranks of a dimension with what they are called, the one of its own name first."""
    if name == "queries":
        # heads that share keys are rows of one product, inside of positions
        yield from zip(ranks, (name, *["query heads"] * len(ranks)), strict=False)
    else:
        yield from zip(reversed(ranks), (name, *[f"outer {name}"] * len(ranks)), strict=False)


def _roles(network: Network, member: Member) -> Iterator[tuple[int, int, str]]:
    """Yield what a layer calls its dimensions; smaller numbers come before larger ones."""
    layer, position = member.layer, member.position
    if layer.multiplies_maps:
        roles = _CONTEXT if weighs_rows(network, position) else _SCORES
        maker = group_sources(network)[position][0].layer
        if maker >= 0 and network.layers[maker].p == 1:
            # one token: its rows are heads that share keys
            yield -1, _P, "query heads"
        yield from ((0, d, name) for d, name in roles)
    elif layer.operator == "softmax":
        yield from ((0, d, name) for d, name in _SOFTMAX)
    wide = layer.q > 1 or not windowless(layer)
    made = "channels" if wide else "features"
    yield 10, _N, "images"
    yield 10, _P, "rows" if wide else "tokens"
    yield 10, _Q, "columns"
    yield 20, _K, made
    yield 20, _G, made
    yield 30, _C, f"input {made}"


def _short_names(layers: Sequence[Layer]) -> list[str]:
    """Return the last parts of layers' names, or all of them where these are not different."""
    ends = [layer.name.rpartition(".")[2] for layer in layers]
    return ends if len(set(ends)) == len(ends) else [layer.name for layer in layers]


def _told_apart(roles: Sequence[tuple[int, str, int]], short: Sequence[str]) -> tuple[str, ...]:
    often = Counter(name for _, name, _ in roles)
    names = []
    for weight, name, m in roles:
        alone = often[name] == 1 and weight < 20
        names.append(name if alone else f"{short[m]} {name}")
    return _numbered(names)


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Number what still is called the same."""
    often, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if often[name] == 1 else f"{name} {seen[name]}")
    return tuple(found)


def operand_names(network: Network, group: NestGroup) -> tuple[str, ...]:
    """Return a name for each operand of a group, all different: ``weights of`` a layer, the layer
    that makes a map, or the input. Of a map that is read in several ways it is said who reads it.
    """
    plain = [_plain(network, group, t) for t in range(len(group.operands))]
    often = Counter(plain)
    return _numbered(
        [
            name if often[name] == 1 else f"{name} ({_reading(network, group, t)})"
            for t, name in enumerate(plain)
        ]
    )


def _plain(network: Network, group: NestGroup, t: int) -> str:
    operand = group.operands[t]
    if operand.kind == "weights":
        return f"weights of {group.layers[operand.maker].name}"
    if operand.kind == "made":
        return group.layers[operand.maker].name
    if operand.source >= 0:
        return network.layers[operand.source].name
    m = operand.readers[0]
    return network.reads[group.positions[m]][_place(network, group, t, m)]


def _place(network: Network, group: NestGroup, t: int, m: int) -> int:
    """Return the first of the maps that a member reads that an operand is."""
    layer, sources = group.layers[m], group_sources(network)[group.positions[m]]
    first, second = iter(group.maps[m]), iter(group.weights[m][bool(layer.weight_words) :])
    for place in range(len(sources)):
        whole = place >= len(layer.map_channels) and layer.multiplies_maps
        if next(second if whole else first) == t:
            return place
    raise AssertionError(f"operand {t} is not read by {layer.name}")


def _reading(network: Network, group: NestGroup, t: int) -> str:
    m = group.operands[t].readers[0]
    layer = group.layers[m]
    if not layer.multiplies_maps:
        return f"for {layer.name}"
    weighs = weighs_rows(network, group.positions[m])
    if t in group.weights[m]:
        return "values" if weighs else "keys"
    return "weights of values" if weighs else "queries"
