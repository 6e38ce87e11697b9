"""Network: a DAG of layers whose edges are tensors."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from .layer import Layer
from .layer_validation import too_long
from .slice import Shape

__all__ = ["INPUT", "Network", "Shape", "is_input"]

INPUT = "input"


def is_input(source: str) -> bool:
    """Whether a feature map comes from outside: ``"input"``, or ``"input:"`` and a name."""
    return source == INPUT or source.startswith(f"{INPUT}:")


@dataclass(frozen=True, repr=False)
class Network:
    """Layers in a stable topological order, and what each of them reads.

    Attributes:
        name: name in the catalogue or file.
        layers: in topological order.
        reads: for each layer the names of the feature maps that it reads: names of earlier layers,
            ``"input"`` for the network's input, or ``"input:NAME"`` for one of several inputs
            (a state, a cache).
        outputs: names of layers whose results leave the network although others of its layers
            read them (new rows of a cache); what no layer reads leaves anyway.
        folded: whether layers of the vector unit run with the layers of the MAC array beside them,
            where they can (:mod:`archloom.space.fusion.folding`).

    Raises:
        ValueError: names that repeat, an edge to a layer that is not earlier, a wrong number
            of operands, a map whose shape is not the one that its reader expects, a map of more
            rows or columns than can be followed, or an output or shared weights of no such layer.
    """

    name: str
    layers: tuple[Layer, ...]
    reads: tuple[tuple[str, ...], ...]
    outputs: tuple[str, ...] = ()
    folded: bool = False
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
            if sides := "; ".join(too_long(layer)):
                raise ValueError(f"layer {layer.name}: {sides}")
        shapes = self._input_shapes() | {layer.name: layer.map_shape for layer in self.layers}
        object.__setattr__(self, "_shapes", shapes)
        for i, layer in enumerate(self.layers):
            for operand, words in enumerate(layer.map_words):
                self._check_edge(i, operand, words)
            if layer.weights_of:
                self._check_shared(i)
        unknown = [name for name in self.outputs if name not in index]
        if unknown:
            raise ValueError(
                f"network {self.name}: {unknown[0]!r} is listed as an output, but is not a layer"
            )

    def _input_shapes(self) -> dict[str, Shape]:
        """Inputs have the shape that the first reader with a window expects, else that of a list.

        A box says what shape it is cut from. Others must read as many words.
        """
        windowed: dict[str, Shape] = {}
        whole: dict[str, Shape] = {}
        for layer, sources in zip(self.layers, self.reads, strict=True):
            channels, words = layer.map_channels, layer.map_words
            for operand, source in enumerate(sources):
                box = layer.slice_of(operand)
                if box is not None:
                    windowed.setdefault(source, box.of)
                elif operand < len(channels):
                    windowed.setdefault(source, (channels[operand], *layer.input_size))
                else:
                    whole.setdefault(source, (words[operand], 1, 1))
        return {source: shape for source, shape in (whole | windowed).items() if is_input(source)}

    def _check_edge(self, reader: int, operand: int, words: int) -> None:
        layer, source = self.layers[reader], self.reads[reader][operand]
        producer = -1 if is_input(source) else self._index.get(source, len(self.layers))
        if producer >= reader:
            raise ValueError(f"layer {layer.name} reads {source!r}, which is not an earlier layer")
        shape, box = self._shapes[source], layer.slice_of(operand)
        if box is not None and box.of != shape:
            raise ValueError(
                f"layer {layer.name} reads a box of a map of {box.of} from {source}, "
                f"which {'has' if producer < 0 else 'makes'} {shape}"
            )
        have = (self.layers[max(producer, 0)].n, prod(shape) if box is None else box.words)
        if have != (layer.n, words):
            raise ValueError(
                f"layer {layer.name} expects {words} words x batch {layer.n} from {source}, "
                f"which {'has' if producer < 0 else 'makes'} {have[1]} x {have[0]}"
            )

    def _check_shared(self, position: int) -> None:
        layer = self.layers[position]
        owner = self._index.get(layer.weights_of, position)
        if owner >= position:
            raise ValueError(
                f"layer {layer.name} uses the weights of {layer.weights_of!r}, "
                "which is not an earlier layer"
            )
        if self.layers[owner].weights != layer.weights:
            raise ValueError(
                f"layer {layer.name} has {layer.weights} words of weights, "
                f"{layer.weights_of}, whose weights it uses, {self.layers[owner].weights}"
            )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.layers, self.reads, self.outputs, self.folded))

    @cached_property
    def _remade(self) -> dict[Hashable, "Network"]:
        return {}

    def __reduce__(self) -> tuple[type["Network"], tuple[object, ...]]:
        # hashes of texts differ between processes: what is cached stays behind
        return Network, (self.name, self.layers, self.reads, self.outputs, self.folded)

    def __repr__(self) -> str:
        return (
            f"<Network {self.name}: {len(self.layers)} layers, {self.macs / 1e6:,.1f} M MACs, "
            f"{self.params:,} params>"
        )

    def __str__(self) -> str:
        """Return a line for the network and one for each layer."""
        rows = [
            f"{layer.name:<{self._width}}  {layer}  <- {', '.join(sources)}"
            for layer, sources in zip(self.layers, self._read_texts, strict=True)
        ]
        return "\n".join([f"{self!r}"[1:-1], *rows])

    @property
    def _width(self) -> int:
        return max(len(layer.name) for layer in self.layers)

    @property
    def _read_texts(self) -> list[list[str]]:
        return [
            [f"{source}{layer.slice_of(i) or ''}" for i, source in enumerate(sources)]
            for layer, sources in zip(self.layers, self.reads, strict=True)
        ]

    def map_shape(self, source: str) -> Shape:
        """Shape of an input, or of a layer's result, as others read it.

        Raises KeyError if there is neither.
        """
        return self._shapes[source]

    def index(self, name: str) -> int:
        """Position of the layer called ``name``; raises KeyError if there is none."""
        return self._index[name]

    def weight_owner(self, position: int) -> int:
        """Position of the layer that brings the weights of the one at ``position``."""
        while self.layers[position].weights_of:
            position = self._index[self.layers[position].weights_of]
        return position

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
    def leaving(self) -> frozenset[str]:
        """Layers whose results leave the network: outputs, and what no layer reads."""
        unread = (
            layer.name
            for layer, readers in zip(self.layers, self.consumers, strict=True)
            if not readers
        )
        return frozenset((*self.outputs, *unread))

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

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of one pass."""
        return sum(layer.macs for layer in self.layers)

    @cached_property
    def seen_macs(self) -> int:
        """Multiply-accumulates of one pass without those for pairs that a mask drops."""
        return sum(layer.seen_macs for layer in self.layers)

    @property
    def params(self) -> int:
        """Learned parameters."""
        return sum(layer.params for layer in self.layers)

    @property
    def batch(self) -> int:
        """Batch size of one pass."""
        return self.layers[0].n

    def with_density(self, weights: float, inputs: float) -> "Network":
        """Return the same network with these shares of what its layers have nonzero.

        Shares of 1 leave the layers as they are, those of a pruned network for instance.

        Raises:
            ValueError: a share that is not above 0 and up to 1.
        """
        if weights == inputs == 1.0:
            return self
        # where others have weights, a product of feature maps has an input
        layers = tuple(
            replace(
                layer,
                density=(
                    layer.density[0] * (inputs if layer.multiplies_maps else weights),
                    layer.density[1] * inputs,
                ),
            )
            for layer in self.layers
        )
        return replace(self, layers=layers)

    def with_batch(self, n: int) -> "Network":
        """Return the same network over a batch of ``n``; the same object each time.

        What is known of it, it knows itself, and trials on many designs ask for few batches.
        """
        return self if n == self.batch else self.remade(n, lambda layer: layer.with_batch(n))

    def remade(self, key: Hashable, change: Callable[[Layer], Layer]) -> "Network":
        """Return the network with every layer changed; the same object for the same ``key``."""
        if key not in self._remade:
            self._remade[key] = replace(self, layers=tuple(map(change, self.layers)))
        return self._remade[key]
