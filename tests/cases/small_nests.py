"""Small networks of products, and designs with buffers that hold a part of what they use."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from archloom.evaluators.fusion.nest.operands import nest_group
from archloom.space.hardware.hardware import Hardware
from archloom.space.networks.transformers.transformer import Causal, Heads, SequenceBuilder
from archloom.space.workload.network import Network

from .small_designs import three_levels


@dataclass(frozen=True)
class SmallCase:
    """All layers of a network as one group, and what it runs on."""

    network: Network
    hardware: Hardware

    @property
    def layers(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(range(len(self.network.layers)))


class _Sizes:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __call__(self, low: int = 2, high: int = 8) -> int:
        return int(self._rng.integers(low, high + 1))


def small_network(rng: np.random.Generator) -> Network:
    """Return two to four layers with ranks of up to 8: a chain, a gate, attention."""
    kind, size = int(rng.integers(4)), _Sizes(rng)
    builder = SequenceBuilder()
    if kind == 0:
        x = builder.input("x", size(), size())
        for i in range(size(2, 3)):
            x = builder.linear(f"layer{i}", x, size(), bias=False)
    elif kind == 1:
        x, hidden = builder.input("x", size(), size()), size()
        up, gate = (builder.linear(name, x, hidden, bias=False) for name in ("up", "gate"))
        builder.linear("down", builder.sum("join", up, gate), size(), bias=False)
    else:
        count, features, wide, length = size(1, 2), size(2, 4), size(2, 4), size()
        queries = builder.input("q", count * features, size())
        if kind == 3:
            queries = builder.linear("made", queries, count * features, bias=False)
        keys = builder.input("k", count * features, length)
        scores = builder.scores("scores", Heads(count, features), queries, keys)
        values = builder.input("v", count * wide, length)
        builder.weigh("weigh", Heads(count, wide), scores, values)
    return builder.network("small").with_batch(size(1, 2))


def masked_network(rng: np.random.Generator) -> Network:
    """Return attention with a causal mask, with a window or without, of up to 16 tokens."""
    size = _Sizes(rng)
    heads, queries = Heads(size(1, 2), size(2, 4), size(1, 2)), size(4, 12)
    keys = queries + size(0, 4) * size(0, 1)
    sees = Causal(size(keys - queries + 1, keys) * size(0, 1))
    builder, width = SequenceBuilder(), heads.count * heads.features
    query = builder.input("q", width * heads.sharing, queries)
    if size(0, 1):
        query = builder.linear("made", query, width * heads.sharing, bias=False)
    key, value = (builder.input(name, width, keys) for name in ("k", "v"))
    scores = builder.scores("scores", heads, query, key, sees=sees)
    builder.weigh("weigh", heads, scores, value, sees=sees)
    return builder.network("masked").with_batch(size(1, 2))


def longer_network(rng: np.random.Generator) -> Network:
    """Return a network of up to five layers with ranks of up to 8."""
    kind, size = int(rng.integers(4)), _Sizes(rng)
    if kind == 0:
        return small_network(rng)
    builder, width = SequenceBuilder(), lambda: size(2, 4)
    x = builder.input("x", width(), size())
    if kind == 1:
        for i in range(size(4, 5)):
            x = builder.linear(f"layer{i}", x, width(), bias=False)
    elif kind == 2:
        x, hidden = builder.linear("first", x, width(), bias=False), size()
        up, gate = (builder.linear(name, x, hidden, bias=False) for name in ("up", "gate"))
        builder.linear("down", builder.sum("join", up, gate), width(), bias=False)
    else:
        count, features, wide, length = size(1, 2), size(2, 3), size(2, 3), size(2, 5)
        queries = builder.linear("made", x, count * features, bias=False)
        keys = builder.input("k", count * features, length)
        scores = builder.scores("scores", Heads(count, features), queries, keys)
        values = builder.input("v", count * wide, length)
        out = builder.weigh("weigh", Heads(count, wide), scores, values)
        builder.linear("out", out, width(), bias=False)
    return builder.network("longer")


def small_case(
    rng: np.random.Generator,
    networks: Callable[[np.random.Generator], Network] = small_network,
    *,
    optional: bool = False,
) -> SmallCase:
    """Return a network and a design whose buffer holds between a seventh and four fifths of all;
    operands may bypass it if it is ``optional``."""
    return _on_small_design(networks(rng), rng, optional=optional)


def longer_case(rng: np.random.Generator) -> SmallCase:
    """Return a network of up to five layers, and such a design."""
    return _on_small_design(longer_network(rng), rng)


def _on_small_design(
    network: Network, rng: np.random.Generator, *, optional: bool = False
) -> SmallCase:
    group = nest_group(network, tuple(range(len(network.layers))), frozenset())
    assert group is not None
    words = sum(operand.words for operand in group.operands)
    plain = three_levels(int(words * rng.uniform(0.15, 0.8)) + 4, (8, 8, 8), optional)
    spad, buffer, dram = plain.levels
    buffer = replace(buffer, width_words=1)
    dram = replace(dram, bandwidth_words=float(rng.choice([0.25, 0.5, 1.0, 2.0])))
    return SmallCase(network, replace(plain, levels=(spad, buffer, dram)))


def cores_case(
    seed: int, networks: Callable[[np.random.Generator], Network] = small_network
) -> SmallCase:
    """Return a network on a design whose 2 to 4 cores hold a part each of what it uses."""
    case, mesh = (
        small_case(np.random.default_rng(seed), networks),
        ((2, 1), (1, 3), (2, 2), (1, 4))[seed % 4],
    )
    spad, buffer, dram = case.hardware.levels
    pes = mesh[0] * 2, mesh[1] * 2
    sent = ("weights", "inputs", "outputs") if seed % 3 else ("inputs", "outputs")
    levels = replace(spad, mesh=pes), replace(buffer, mesh=mesh), replace(dram, multicast=sent)
    lanes = 2 * mesh[0] * mesh[1]
    chip = replace(case.hardware, pe_mesh=pes, levels=levels, vector_lanes=lanes)
    return SmallCase(case.network, chip)
