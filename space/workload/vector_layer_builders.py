"""Builders of further layers of the vector unit.

As in :mod:`archloom.space.workload.layer_builders`, layers have batch 1, one number stands for a
square, and every function raises ValueError, with the name of the layer, for what is no size.
"""

from collections.abc import Sequence

from .layer import Layer
from .layer_builders import elementwise
from .slice import Shape
from .vector_ops import VectorName
from .window import Size, check_numbers, check_sizes, pair


def scale_shift(
    name: str, channels: int, size: Size = 1, *, parts: tuple[int, ...] = (), activation: str = ""
) -> Layer:
    """Return a batch norm that no layer before it takes up: a scale and shift for each channel.

    ``parts`` are the channels of each feature map, if several are laid side by side.
    """
    fields = {"operands": max(1, len(parts)), "parts": parts, "activation": activation}
    return elementwise("scale_shift", name, channels, size, **fields)


def softmax(name: str, length: int, positions: int = 1, heads: int = 1) -> Layer:
    """Return a softmax over vectors of ``length``, ``heads`` of them at each position."""
    return _vectors("softmax", name, length, positions, heads)


def layer_norm(name: str, features: int, positions: int = 1) -> Layer:
    """Return a layer norm over ``features``, with a learned scale and shift for each."""
    return _vectors("layer_norm", name, features, positions, 1)


def _vectors(operator: VectorName, name: str, length: int, positions: int, heads: int) -> Layer:
    check_numbers(name, {"length": length, "positions": positions, "heads": heads})
    return Layer(
        name, operator, g=heads, k=length, c=length, p=positions, input_size=(positions, 1)
    )


def rms_norm(name: str, features: int, positions: int = 1) -> Layer:
    """Return a root-mean-square norm over ``features``, with a learned scale for each."""
    check_numbers(name, {"features": features, "positions": positions})
    size = (positions, 1)
    return Layer(name, "rms_norm", k=features, c=features, p=positions, input_size=size)


def group_norm(name: str, channels: int, size: Size, groups: int, *, learned: bool = True) -> Layer:
    """Return a norm over the channels of each group and all positions (instance norm: one each).

    With ``learned`` there is a scale and a shift for each channel.
    """
    check_numbers(name, {"channels": channels, "groups": groups})
    check_sizes(name, {"size": size})
    if channels % groups:
        raise ValueError(f"layer {name}: {groups} groups do not divide {channels} channels")
    rows, columns = pair(size)
    length = channels // groups * rows * columns
    return Layer(
        name, "group_norm", g=groups, k=length, c=length, extra_params=2 * channels * learned
    )


def div(name: str, channels: int, size: Size = 1, *, activation: str = "") -> Layer:
    """Return a quotient of two feature maps, value by value."""
    return elementwise("div", name, channels, size, operands=2, activation=activation)


def rotary(name: str, features: int, positions: int = 1) -> Layer:
    """Return a rotary position embedding: each pair of features turned by its position."""
    check_numbers(name, {"features": features, "positions": positions})
    return Layer(name, "rotary", g=features, p=positions, input_size=(positions, 1))


def copy(name: str, shape: Shape, words: Sequence[int], *, activation: str = "") -> Layer:
    """Return what moves words of feature maps to where others read them, nothing else.

    So run concatenations along rows, nearest upsampling, padding and whatever no reader can take
    from where it stands.

    Args:
        name: of the layer.
        shape: channels, rows and columns of the result.
        words: of each map that it reads.
        activation: function applied on the way.
    """
    return _gathered("copy", name, shape, words, activation)


def bilinear(name: str, shape: Shape, words: int) -> Layer:
    """Return a feature map of ``shape`` interpolated from one of ``words`` words."""
    return _gathered("bilinear", name, shape, (words,), "")


def _gathered(
    operator: VectorName, name: str, shape: Shape, words: Sequence[int], activation: str
) -> Layer:
    check_numbers(name, dict(zip(("channels", "rows", "columns"), shape, strict=True)))
    check_numbers(name, {f"words of map {i + 1}": w for i, w in enumerate(words)})
    channels, rows, columns = shape
    return Layer(
        name,
        operator,
        g=channels,
        p=rows,
        q=columns,
        input_size=(rows, columns),
        operands=len(words),
        whole_parts=tuple(words),
        activation=activation,
    )
