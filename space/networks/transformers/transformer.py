"""Networks over sequences: tables that are looked up in, and attention.

Maps are (features, positions, 1). Rows of a table that the words choose come from DRAM like
any input; the table's values count with the layer that reads them first. Whatever looks rows up
is no layer.
"""

from dataclasses import dataclass, replace

from archloom.space.workload import (
    INPUT,
    Builder,
    Cut,
    Layer,
    Network,
    Piece,
    Shape,
    Slice,
    Source,
    add,
    layer_norm,
    linear,
    matmul,
    rms_norm,
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

    def input(self, name: str, features: int, positions: int, *, entries: int = 0) -> str:
        """Return an input, whose positions are taken from a learned table of ``entries``."""
        source = f"{INPUT}:{name}"
        self._shapes[source] = (features, positions, 1)
        self._learned[source] = features * entries
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

    def layer_norm(self, name: str, source: str) -> str:
        """Add a layer norm over the features of every position."""
        features, positions, _ = self.shape(source)
        return self.append(layer_norm(name, features, positions), source)

    def rms_norm(self, name: str, source: str) -> str:
        """Add a root-mean-square norm over the features of every position."""
        features, positions, _ = self.shape(source)
        return self.append(rms_norm(name, features, positions), source)

    def sum(self, name: str, *sources: str, broadcast: bool = False) -> str:
        """Add a sum of maps; with ``broadcast`` of a map and one value for each feature."""
        features, positions, _ = self.shape(sources[0])
        layer = add(name, features, (positions, 1), len(sources), broadcast=broadcast)
        return self.append(layer, *sources)

    def scores(self, name: str, heads: Heads, queries: Piece, *keys: Piece) -> str:
        """Add the product of queries with keys, which may come in several pieces.

        Queries that share a head of keys are rows of one product, so keys are read once for all.
        """
        m = self.shape(queries)[1] * heads.sharing
        length, pieces = self._length(heads, keys)
        layer = matmul(name, heads.count, m, heads.features, length, second=pieces)
        return self.append(layer, queries, *keys)

    def weigh(self, name: str, heads: Heads, scores: str, *values: Piece) -> str:
        """Add ``NAME.softmax`` of scores and ``NAME.context``, its product with values."""
        m = self.shape(scores)[1]
        length, pieces = self._length(heads, values)
        shares = self.append(softmax(f"{name}.softmax", length, m, heads.count), scores)
        layer = matmul(f"{name}.context", heads.count, m, length, heads.features, second=pieces)
        context = self.append(layer, shares, *values)
        features = heads.count * heads.sharing * heads.features
        return self.read_as(context, features, m // heads.sharing)

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
            f"network {network}: {option} is {value}, it must be {rule}; nearest: {nearest}"
        )
