"""Random networks twice: with products whose results are cut, and with a product for each part."""

from dataclasses import dataclass

import numpy as np

from archloom.space.networks.transformers.transformer import Heads, SequenceBuilder
from archloom.space.workload import Network, Piece
from archloom.space.workload.layer_builders import mul
from archloom.space.workload.vector_layer_builders import rotary


@dataclass(frozen=True)
class CutNetwork:
    """A network with products that others cut, and the same with a product for each part.

    Attributes:
        cut, apart: both.
        parts: for each layer of ``cut`` those of ``apart`` that it is.
    """

    cut: Network
    apart: Network
    parts: tuple[tuple[int, ...], ...]


class _Drawing:
    """One of both networks; drawn with the same numbers they differ in products alone."""

    def __init__(self, rng: np.random.Generator, apart: bool) -> None:
        self.rng, self.apart = rng, apart
        self.net = SequenceBuilder()
        self.of: dict[str, str] = {}

    def size(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def products(self, name: str, source: str, sizes: list[int]) -> list[Piece]:
        if self.apart:
            made = [self.net.linear(f"{name}{i}", source, n) for i, n in enumerate(sizes)]
            self.of.update(dict.fromkeys(made, name))
            return list[Piece](made)
        made = self.net.linear(name, source, sum(sizes))
        starts = np.cumsum([0, *sizes])[:-1].tolist()
        return [self.net.columns(made, at, n) for at, n in zip(starts, sizes, strict=True)]

    def attention(self, source: str) -> str:
        heads = Heads(self.size(1, 3), self.size(2, 4), self.size(1, 3))
        width, rows = heads.count * heads.features, self.net.shape(source)[1]
        sizes = [width * heads.sharing, width, width]
        q, k, v = self.products("qkv", source, sizes)
        if self.chance(0.4):
            q = self.net.append(rotary("turn", sizes[0], rows), q)
        if self.chance(0.3):
            # a cache reads it too, here a layer that is in no group
            self.net.linear("kept", v, 2)
        context = self.net.attention("a", heads, q, k, v)
        return self.net.linear("project", context, self.net.channels(source))

    def gated(self, source: str) -> str:
        hidden, rows = self.size(2, 9), self.net.shape(source)[1]
        gate, up = self.products("gate_up", source, [hidden, hidden])
        both = self.net.append(mul("gated", hidden, (rows, 1)), gate, up)
        return self.net.linear("down", both, self.size(2, 5))

    def network(self) -> Network:
        x = self.net.input("x", self.size(2, 6), self.size(2, 7))
        if self.chance(0.5):
            x = self.net.layer_norm("norm", x)
        make = self.attention if self.chance(0.7) else self.gated
        make(x)
        return self.net.network("apart" if self.apart else "cut").with_batch(self.size(1, 2))


def cut_network(seed: int) -> CutNetwork:
    """Return a network of a norm, attention or a gate, and a product, which differ by seed."""
    drawn = [_Drawing(np.random.default_rng(seed), apart) for apart in (False, True)]
    cut, apart = (one.network() for one in drawn)
    of = [cut.index(drawn[1].of.get(layer.name, layer.name)) for layer in apart.layers]
    parts = tuple(
        tuple(i for i, whole in enumerate(of) if whole == number)
        for number in range(len(cut.layers))
    )
    return CutNetwork(cut, apart, parts)
