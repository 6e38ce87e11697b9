"""Networks over sequences: tables that are looked up in, and attention.

Maps are (features, positions, 1). Rows of a table that the words choose come from DRAM like
any input; the table's values count with the layer that reads them first. Whatever looks rows up
is no layer.
"""

from dataclasses import dataclass, replace
from math import prod
from typing import Literal

from archloom.space.workload import (
    INPUT,
    Builder,
    Cut,
    Layer,
    Mask,
    Network,
    Piece,
    Shape,
    Slice,
    Source,
    add,
    copy,
    layer_norm,
    linear,
    matmul,
    mul,
    rms_norm,
    rotary,
    softmax,
)


@dataclass(frozen=True, slots=True)
class Heads:
    """How attention is cut into heads.

    Attributes:
        count: heads of keys and values.
        features: of each head.
        sharing: heads of queries that share one head of keys and values (Ainslie et al., EMNLP
            2023; 1 for each its own).
    """

    count: int
    features: int
    sharing: int = 1


@dataclass(frozen=True, slots=True)
class Causal:
    """What a query sees: its own key and those before it, ``window`` of them; 0 for all."""

    window: int = 0


def masks(heads: Heads, sees: Causal | None) -> tuple[Mask | None, Mask | None]:
    """Return the masks of products whose keys lie along k, and along c."""
    return _mask("k", heads, sees), _mask("c", heads, sees)


def _mask(keys: Literal["k", "c"], heads: Heads, sees: Causal | None) -> Mask | None:
    return None if sees is None else Mask(keys, heads.sharing, sees.window)


class SequenceBuilder(Builder):
    """A builder with several inputs, learned tables, and results that leave though they are read.

    Args:
        shape: channels, rows and columns of ``"input"``, if there is one of that name.
    """

    def __init__(self, shape: Shape | None = None) -> None:
        super().__init__(shape or (1, 1, 1))
        if shape is None:
            del self._shapes[INPUT]
        self._learned: dict[str, int] = {}
        self._outputs: list[str] = []

    def network(self, name: str) -> Network:
        """Return what was built."""
        return Network(name, tuple(self._layers), tuple(self._reads), tuple(self._outputs))

    def append(self, layer: Layer, *sources: Piece) -> str:
        """Add a layer; the first that reads rows of a table counts the table's values."""
        names = [s if isinstance(s, str) else s.name for s in sources]
        values = sum(self._learned.pop(name, 0) for name in names)
        if values:
            layer = replace(layer, extra_params=layer.extra_params + values)
        return super().append(layer, *sources)

    def input(
        self, name: str, features: int, positions: int, *, entries: int = 0, values: int = 0
    ) -> str:
        """Return an input, whose positions are taken from a learned table of ``entries``.

        ``values`` are learned values of what made it, outside of the network.
        """
        source = f"{INPUT}:{name}"
        self._shapes[source] = (features, positions, 1)
        self._learned[source] = features * entries + values
        return source

    def leave(self, *names: str) -> None:
        """Send results out of the network although layers read them."""
        self._outputs += names

    def read_as(self, name: str, features: int, positions: int) -> str:
        """Take a map for one of another shape and as many words, which is free."""
        self._shapes[name] = (features, positions, 1)
        return name

    def columns(self, name: str, start: int, features: int) -> Cut:
        """Return some features of a map, at all positions."""
        _, positions, _ = of = self._shapes[name]
        return Cut(name, Slice((start, 0, 0), (features, positions, 1), of))

    def position(self, name: str, index: int) -> Cut:
        """Return all features of a map at one position: a row or, of a single row, a column."""
        features, rows, _ = of = self._shapes[name]
        start = (0, index, 0) if rows > 1 else (0, 0, index)
        return Cut(name, Slice(start, (features, 1, 1), of))

    def linear(
        self, name: str, source: Source, features: int, *, bias: bool = True, activation: str = ""
    ) -> str:
        """Add a matrix product with learned weights, the same at every position."""
        before, positions, _ = self.shape(source)
        layer = linear(name, before, features, positions, bias=bias, activation=activation)
        return self._read_beside(layer, source)

    def layer_norm(self, name: str, source: Piece) -> str:
        """Add a layer norm over the features of every position."""
        features, positions, _ = self.shape(source)
        return self.append(layer_norm(name, features, positions), source)

    def rms_norm(self, name: str, source: Piece) -> str:
        """Add a root-mean-square norm over the features of every position."""
        features, positions, _ = self.shape(source)
        return self.append(rms_norm(name, features, positions), source)

    def rotary(self, name: str, source: Piece) -> str:
        """Add a rotation of each pair of features by an angle that grows with the position."""
        features, positions, _ = self.shape(source)
        return self.append(rotary(name, features, positions), source)

    def beside(self, name: str, *sources: Piece) -> str:
        """Add a copy of maps of as many positions, with their features side by side."""
        return self.spread(name, sum(map(self.channels, sources)), *sources)

    def spread(self, name: str, features: int, *sources: Piece) -> str:
        """Add a copy of maps of as many positions to so many features, some repeated."""
        shapes = [self.shape(source) for source in sources]
        layer = copy(name, (features, *shapes[0][1:]), list(map(prod, shapes)))
        return self.append(layer, *sources)

    def gated(self, name: str, source: str, hidden: int) -> str:
        """Add a product of two layers, one of them through a SiLU, and a layer after it.

        Without biases (Shazeer, arXiv:2002.05202).
        """
        features, positions, _ = self.shape(source)
        gate = self.linear(f"{name}.gate", source, hidden, bias=False, activation="silu")
        up = self.linear(f"{name}.up", source, hidden, bias=False)
        x = self.append(mul(f"{name}.gated", hidden, (positions, 1)), gate, up)
        return self.linear(f"{name}.down", x, features, bias=False)

    def sum(self, name: str, *sources: str, broadcast: bool = False) -> str:
        """Add a sum of maps; with ``broadcast`` of a map and one value for each feature."""
        features, positions, _ = self.shape(sources[0])
        layer = add(name, features, (positions, 1), len(sources), broadcast=broadcast)
        return self.append(layer, *sources)

    def scores(
        self, name: str, heads: Heads, queries: Piece, *keys: Piece, sees: Causal | None = None
    ) -> str:
        """Add the product of queries with keys, which may come in several pieces.

        Queries that share a head of keys are rows of one product, so keys are read once for all.
        """
        m = self.shape(queries)[1] * heads.sharing
        length, pieces = self._length(heads, keys)
        layer = matmul(name, heads.count, m, heads.features, length, second=pieces)
        return self.append(replace(layer, mask=_mask("k", heads, sees)), queries, *keys)

    def weigh(
        self, name: str, heads: Heads, scores: str, *values: Piece, sees: Causal | None = None
    ) -> str:
        """Add ``NAME.softmax`` of scores and ``NAME.context``, its product with values."""
        m = self.shape(scores)[1]
        length, pieces = self._length(heads, values)
        vectors = softmax(f"{name}.softmax", length, m, heads.count)
        shares = self.append(replace(vectors, mask=_mask("k", heads, sees)), scores)
        layer = matmul(f"{name}.context", heads.count, m, length, heads.features, second=pieces)
        context = self.append(replace(layer, mask=_mask("c", heads, sees)), shares, *values)
        features = heads.count * heads.sharing * heads.features
        return self.read_as(context, features, m // heads.sharing)

    def projected(
        self, name: str, heads: Heads, source: Source, *, key_bias: bool = True
    ) -> tuple[str, str, str]:
        """Add projections of one map to ``NAME.query``, ``NAME.key`` and ``NAME.value``."""
        features = heads.count * heads.features
        return (
            self.linear(f"{name}.query", source, features),
            self.linear(f"{name}.key", source, features, bias=key_bias),
            self.linear(f"{name}.value", source, features),
        )

    def cached_attention(
        self,
        name: str,
        heads: Heads,
        source: Source,
        cached: int = 0,
        *,
        key_bias: bool = True,
        sees: Causal | None = None,
    ) -> str:
        """Add projections of one map, and its attention to itself and to ``cached`` old rows.

        New keys and values are ``NAME.key`` and ``NAME.value``, which may leave for the cache.
        """
        features = heads.count * heads.features
        query, key, value = self.projected(name, heads, source, key_bias=key_bias)
        old_keys, old_values = (
            (self.input(f"{name}.{part}", features, cached),) if cached else ()
            for part in ("keys", "values")
        )
        scores = self.scores(f"{name}.scores", heads, query, *old_keys, key, sees=sees)
        return self.weigh(name, heads, scores, *old_values, value, sees=sees)

    def _length(self, heads: Heads, pieces: tuple[Piece, ...]) -> tuple[int, tuple[int, ...]]:
        """Positions of keys or values, and the words of each piece if there are several."""
        positions = [self.shape(piece)[1] for piece in pieces]
        words = tuple(p * heads.count * heads.features for p in positions)
        return sum(positions), words if len(words) > 1 else ()

    def attention(self, name: str, heads: Heads, queries: Piece, keys: Piece, values: Piece) -> str:
        """Add dot-product attention (Vaswani et al., NeurIPS 2017, equation 1).

        The division by the root of a head's features is left out: it is a constant, which the
        weights of the queries can hold.
        """
        scores = self.scores(f"{name}.scores", heads, queries, keys)
        return self.weigh(name, heads, scores, values)


def check_option(
    network: str, option: str, value: int, *, least: int = 1, most: int | None = None
) -> None:
    """Refuse a size that the network cannot have.

    Raises:
        ValueError: it is not from ``least`` to ``most``; names the nearest that is.
    """
    if value < least or (most is not None and value > most):
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        nearest = least if value < least else most
        raise ValueError(
            f"network {network}: {option} is {value}, must be {rule}; nearest: {nearest}"
        )
