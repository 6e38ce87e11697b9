"""Texts about a network's layers, for tables and pictures: shapes, windows, bytes, sources."""

from dataclasses import dataclass

from archloom.space.workload import Layer, Network, Shape, is_input

_BYTE_BITS = 8


@dataclass(frozen=True, slots=True)
class Moved:
    """Bytes that a layer takes in and gives out once each, for a whole batch.

    Attributes:
        inputs: of its input maps, without what no window reads.
        weights: of its weights.
        outputs: of its result.
    """

    inputs: float
    weights: float
    outputs: float

    @property
    def maps(self) -> float:
        """Bytes of inputs and outputs."""
        return self.inputs + self.outputs

    @property
    def all(self) -> float:
        """Bytes of everything."""
        return self.maps + self.weights


def moved(layer: Layer, word_bits: int) -> Moved:
    """Return the bytes that a layer moves if each word of its tensors moves once."""
    size = word_bits / _BYTE_BITS
    return Moved(layer.read_words * size, layer.weight_words * size, layer.output_words * size)


def intensity(layer: Layer, word_bits: int) -> float | None:
    """Return MACs for a byte of weights, inputs and outputs, each moved once; None without MACs."""
    return layer.macs / moved(layer, word_bits).all if layer.uses_macs else None


def operator_text(layer: Layer) -> str:
    """Return the operator, and the activation that is folded into it: ``conv + relu``."""
    name = "depthwise" if layer.depthwise else layer.operator
    return f"{name} + {layer.activation}" if layer.activation else name


def window_text(layer: Layer) -> str:
    """Return kernel, stride, dilation and groups where they are not 1, and the mask if there is
    one: ``3x3 /2, 4 groups``, ``12 heads, causal``."""
    parts = []
    if (layer.r, layer.s) != (1, 1) or layer.operator == "conv":
        parts.append(f"{layer.r}x{layer.s}")
    if layer.stride != (1, 1):
        parts.append(f"/{_pair(layer.stride)}")
    if layer.dilation != (1, 1):
        parts.append(f"dilated {_pair(layer.dilation)}")
    text = " ".join(parts)
    if layer.uses_macs and layer.g > 1 and not layer.depthwise:
        groups = f"{layer.g} {'heads' if layer.multiplies_maps else 'groups'}"
        text = f"{text}, {groups}" if text else groups
    return ", ".join(filter(None, (text, str(layer.mask or ""))))


def shape_text(shape: Shape) -> str:
    """Return channels, rows and columns: ``64x56x56``."""
    return "x".join(map(str, shape))


def shapes_in(network: Network, position: int) -> list[tuple[str, Shape]]:
    """Return what a layer reads: the name of each map, with the box of it, and the box's shape."""
    layer = network.layers[position]
    found = []
    for operand, source in enumerate(network.reads[position]):
        box = layer.slice_of(operand)
        shape = network.map_shape(source) if box is None else box.size
        found.append((source if box is None else f"{source}{box}", shape))
    return found


def reads_text(network: Network, position: int, most: int = 3) -> str:
    """Return the names of the maps that a layer reads; of more than ``most``, the ends."""
    names = [name for name, _ in shapes_in(network, position)]
    if len(names) <= most:
        return ", ".join(names)
    return f"{names[0]} .. {names[-1]} ({len(names)} maps)"


def change_text(network: Network, position: int) -> str:
    """Return the shapes in and out: ``64x56x56 -> 128x28x28``."""
    shapes = [shape for _, shape in shapes_in(network, position)]
    layer = network.layers[position]
    if layer.parts and len(shapes) == len(layer.parts) > 1 and len({s[1:] for s in shapes}) == 1:
        # a concatenation along channels
        shapes = [(sum(layer.parts), *shapes[0][1:])]
    texts = list(dict.fromkeys(map(shape_text, shapes)))
    before = ", ".join(texts) if len(texts) <= 3 else f"{texts[0]} .. {texts[-1]}"
    return f"{before} -> {shape_text(layer.map_shape)}"


def inputs_of(network: Network) -> list[str]:
    """Return the maps that come from outside, in the order of their first readers."""
    return list(dict.fromkeys(s for sources in network.reads for s in sources if is_input(s)))


def _pair(numbers: tuple[int, int]) -> str:
    return str(numbers[0]) if numbers[0] == numbers[1] else "x".join(map(str, numbers))
