"""A network: a DAG of layers whose edges are tensors."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from .layer import Layer

INPUT = "input"

#: Channels, rows and columns of a map.
Shape = tuple[int, int, int]


def is_input(source: str) -> bool:
    """Whether a map comes from outside: ``"input"``, or ``"input:"`` and a name."""
    return source == INPUT or source.startswith(f"{INPUT}:")


@dataclass(frozen=True)
class Network:
    """Layers in a stable topological order, and what each of them reads.

    Attributes:
        name: name in the catalogue or file.
        layers: in topological order.
        reads: for each layer the names of the maps that it reads: names of earlier layers,
            ``"input"`` for the network's input, or ``"input:NAME"`` for one of several inputs
            (a state, a cache).

    Raises:
        ValueError: names that repeat, an edge to a layer that is not earlier, a wrong number
            of operands, or a map whose shape is not the one that its reader expects.
    """

    name: str
    layers: tuple[Layer, ...]
    reads: tuple[tuple[str, ...], ...]
    _index: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)
    _shapes: dict[str, Shape] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        index = {layer.name: i for i, layer in enumerate(self.layers)}
        object.__setattr__(self, "_index", index)
        if len(index) != len(self.layers) or any(map(is_input, index)):
            raise ValueError(f"network {self.name}: layer names must be unique and not {INPUT!r}")
        if len(self.reads) != len(self.layers):
            raise ValueError(f"network {self.name}: every layer needs an entry in reads")
        for layer, sources in zip(self.layers, self.reads, strict=True):
            if len(sources) != layer.operands:
                raise ValueError(f"layer {layer.name} reads {layer.operands} maps, got {sources}")
        shapes = self._input_shapes() | {layer.name: layer.map_shape for layer in self.layers}
        object.__setattr__(self, "_shapes", shapes)
        for i, (layer, sources) in enumerate(zip(self.layers, self.reads, strict=True)):
            for source, words in zip(sources, layer.map_words, strict=True):
                self._check_edge(source, i, words)

    def _input_shapes(self) -> dict[str, Shape]:
        """Inputs have the shape that the first reader with a window expects, else that of a list.

        Others must read as many words.
        """
        windowed: dict[str, Shape] = {}
        whole: dict[str, Shape] = {}
        for layer, sources in zip(self.layers, self.reads, strict=True):
            for source, channels in zip(sources, layer.map_channels, strict=False):
                windowed.setdefault(source, (channels, *layer.input_size))
            if layer.whole_words:
                whole.setdefault(sources[-1], (layer.whole_words, 1, 1))
        return {source: shape for source, shape in (whole | windowed).items() if is_input(source)}

    def _check_edge(self, source: str, reader: int, words: int) -> None:
        layer = self.layers[reader]
        producer = -1 if is_input(source) else self._index.get(source, len(self.layers))
        if producer >= reader:
            raise ValueError(f"layer {layer.name} reads {source!r}, which is no earlier layer")
        have = (self.layers[max(producer, 0)].n, prod(self._shapes[source]))
        if have != (layer.n, words):
            raise ValueError(
                f"layer {layer.name} expects {words} words x batch {layer.n} from {source}, "
                f"which {'has' if producer < 0 else 'makes'} {have[1]} x {have[0]}"
            )

    def map_shape(self, source: str) -> Shape:
        """Shape of an input, or of a layer's result, as others read it.

        Raises KeyError if there is neither.
        """
        return self._shapes[source]

    def index(self, name: str) -> int:
        """Position of the layer called ``name``; raises KeyError if there is none."""
        return self._index[name]

    @cached_property
    def producers(self) -> tuple[tuple[int, ...], ...]:
        """For each layer the positions of the layers that it reads from."""
        return tuple(
            tuple(self._index[s] for s in sources if not is_input(s)) for sources in self.reads
        )

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """For each layer the positions of the layers that read it, in order."""
        readers: list[list[int]] = [[] for _ in self.layers]
        for i, producers in enumerate(self.producers):
            for p in dict.fromkeys(producers):
                readers[p].append(i)
        return tuple(tuple(r) for r in readers)

    @cached_property
    def neighbours(self) -> tuple[frozenset[int], ...]:
        """For each layer those that share data with it: producers, consumers, co-readers."""
        near: list[set[int]] = [set() for _ in self.layers]
        readers: dict[str, list[int]] = {}
        for i, sources in enumerate(self.reads):
            near[i].update(self.producers[i], self.consumers[i])
            for source in dict.fromkeys(sources):
                readers.setdefault(source, []).append(i)
        for group in readers.values():
            for i in group:
                near[i].update(j for j in group if j != i)
        return tuple(frozenset(n) for n in near)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one pass."""
        return sum(layer.macs for layer in self.layers)

    @property
    def params(self) -> int:
        """Learned parameters."""
        return sum(layer.params for layer in self.layers)

    @property
    def batch(self) -> int:
        """Batch size of one pass."""
        return self.layers[0].n

    def with_density(self, weights: float, inputs: float) -> "Network":
        """Return the same network with these shares of nonzero weights and inputs everywhere.

        Raises:
            ValueError: a share that is not above 0 and up to 1.
        """
        # where others have weights, a product of maps has an input
        layers = tuple(
            replace(layer, density=(inputs if layer.multiplies_maps else weights, inputs))
            for layer in self.layers
        )
        return Network(self.name, layers, self.reads)

    def with_batch(self, n: int) -> "Network":
        """Return the same network over a batch of ``n``."""
        return Network(self.name, tuple(layer.with_batch(n) for layer in self.layers), self.reads)
