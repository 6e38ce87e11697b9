"""Validation of the numbers of a layer."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..errors import did_you_mean, is_amount
from .slice import Slice, no_causal_mask
from .vector_ops import ACTIVATIONS

if TYPE_CHECKING:
    from .layer import Layer

_NUMBERS: Final = ("n", "g", "k", "c", "p", "q", "r", "s", "operands")
_PAIRS: Final = ("stride", "dilation", "input_size")
_LISTS: Final = ("parts", "whole_parts")
_MOST_OPERANDS: Final = 1024
#: floating point holds every whole number up to here
_EXACT: Final = 2**53
#: most rows or columns: reads are followed position by position, with a flag for each
#: (assumption: 64 MiB of flags for one side of one feature map are as much as anyone has to spare)
_LONGEST: Final = 2**26


def unknown_names(layer: "Layer", operators: tuple[str, ...]) -> Iterator[str]:
    """Say which names are not known, and what is nearest to them."""
    for kind, name, known in (
        ("operator", layer.operator, operators),
        ("activation", layer.activation, ("", *ACTIVATIONS)),
    ):
        if not isinstance(name, str) or name not in known:
            yield f"{kind} {name!r} is not known; {did_you_mean(str(name), filter(None, known))}"


def wrong_numbers(layer: "Layer") -> Iterator[str]:
    """Say which numbers are no sizes; without these the other checks make sense."""
    sizes: list[tuple[str, object]] = [(name, getattr(layer, name)) for name in _NUMBERS]
    for name in (*_PAIRS, "padding", *_LISTS):
        values: object = getattr(layer, name)
        pair = name not in _LISTS
        if not isinstance(values, tuple) or (pair and len(values) != 2):
            yield f"{name} is {values!r}, must be a tuple{' of two' * pair}"
        else:
            sizes += [(name, value) for value in values]
    for name, value in sizes:
        least = name != "padding"
        if type(value) is not int or (least and value < 1):
            yield f"{name} is {value!r}, must be a whole number{', at least 1' * least}"
    if _is_whole(layer.operands, _MOST_OPERANDS + 1):
        yield f"operands is {layer.operands}, must be at most {_MOST_OPERANDS}"
    if not _is_whole(layer.extra_params, 0):
        yield f"extra_params is {layer.extra_params!r}, must be a whole number, at least 0"


def wrong_values(layer: "Layer", spread_class: type) -> Iterator[str]:
    """Say which other fields hold no such thing."""
    shares: object = layer.density
    if not (
        isinstance(shares, tuple)
        and len(shares) == 2
        and all(is_amount(share, 0, 1) and share > 0 for share in shares)
    ):
        yield f"density is {shares!r}, must be two shares above 0 and up to 1"
    packed: object = layer.packed_words
    if packed is not None and not _is_whole(packed, 0):
        yield f"packed_words is {packed!r}, must be a whole number, at least 0, or none"
    broadcast: object = layer.broadcast
    if not isinstance(broadcast, bool):
        yield f"broadcast is {broadcast!r}, must be true or false"
    spread: object = layer.interleave
    if spread is not None and not isinstance(spread, spread_class):
        yield f"interleave is {spread!r}, must be an {spread_class.__name__}"


def _is_whole(value: object, least: int) -> bool:
    return type(value) is int and value >= least


def wrong_windows(layer: "Layer") -> Iterator[str]:
    """Say which windows do not lie on the input."""
    for axis, (out, kernel) in enumerate(((layer.p, layer.r), (layer.q, layer.s))):
        window = (kernel - 1) * layer.dilation[axis] + 1
        pad, size = layer.padding[axis], layer.input_size[axis]
        last_start = (out - 1) * layer.stride[axis] - pad
        if not 0 <= pad < window:
            yield f"padding {pad} must be at least 0 and below the window, {window}"
        elif last_start >= size:
            yield (
                f"output {out} starts its last window at {last_start}, outside the input of {size}"
            )
    vector = layer.vector
    windowed = not layer.multiplies_maps if vector is None else vector.windowed
    still = (layer.r, layer.s, *layer.stride) == (1, 1, 1, 1)
    gathers = vector is not None and vector.gathers > 0
    if not windowed and not (still and (gathers or layer.input_size == (layer.p, layer.q))):
        yield f"{layer.operator} has no windows: its result is as large as its input"


def wrong_maps(layer: "Layer") -> Iterator[str]:
    """Say which maps the operator cannot read or make."""
    vector, reads = layer.vector, layer.operands
    takes = vector.operands if vector else 1
    if layer.multiplies_maps:
        takes = 1 + max(1, len(layer.whole_parts))
    if layer.parts:
        if takes != 1:
            yield f"parts are for operators with one input, {layer.operator} is not one"
        elif (len(layer.parts), sum(layer.parts)) != (reads, layer.input_channels):
            yield (
                f"parts {layer.parts} must be the channels of {reads} maps, "
                f"{layer.input_channels} together"
            )
    elif takes is not None and reads != takes:
        yield f"operands is {reads}, {layer.operator} reads {takes}"
    if layer.broadcast and (reads != 2 or takes is not None):
        yield f"broadcast is for an add or mul of 2 maps, not for {layer.operator} of {reads}"
    yield from _wrong_wholes(layer)
    if vector is not None:
        depth = layer.c if vector.whole_vectors else 1
        if (layer.k, layer.c) != (depth, depth):
            rule = "the length of a vector" if vector.whole_vectors else "1: channels are in g"
            yield f"k and c are {layer.k} and {layer.c}, for {layer.operator} both must be {rule}"


def _wrong_wholes(layer: "Layer") -> Iterator[str]:
    """Say why pieces do not make what every part of the result needs all of."""
    vector, pieces = layer.vector, layer.whole_parts
    if vector is not None and vector.gathers:
        if len(pieces) != layer.operands:
            yield (
                f"whole_parts {pieces} must be the words of each of the {layer.operands} maps "
                f"that {layer.operator} reads"
            )
    elif pieces and not layer.multiplies_maps:
        yield f"whole_parts are for matmul, copy and bilinear, {layer.operator} is not one"
    elif pieces and sum(pieces) != layer.g * layer.k * layer.c:
        yield (
            f"whole_parts {pieces} must add up to the {layer.g * layer.k * layer.c} words of the "
            "second map"
        )


def wrong_reads(layer: "Layer") -> Iterator[str]:
    """Say which boxes of feature maps, or weights of another layer, it cannot read."""
    slices: object = layer.slices
    if not isinstance(slices, tuple) or len(slices) not in (0, layer.operands):
        yield f"slices is {slices!r}, must hold one entry for each of {layer.operands} maps"
        return
    boxes: tuple[object, ...] = layer.slices
    for box, words in zip(boxes, layer.map_words, strict=False):
        if box is None:
            continue
        if not isinstance(box, Slice):
            yield f"slices holds {box!r}, must be a Slice or None"
        elif box.words != words:
            yield f"a slice has {box.words} words where the layer reads {words}"
    again: object = layer.weights_of
    if not isinstance(again, str):
        yield f"weights_of is {again!r}, must be the name of a layer"
    elif again and not layer.weight_words:
        yield f"weights_of is {again!r}, but {layer.operator} has no weights"


def wrong_mask(layer: "Layer", mask_class: type) -> Iterator[str]:
    """Say why a mask does not fit the layer: each query must see a key, each key be seen."""
    mask = layer.mask
    if mask is None:
        return
    if not isinstance(mask, mask_class):
        yield f"mask is {mask!r}, must be a Mask or None"
        return
    if not (layer.multiplies_maps or (layer.operator == "softmax" and mask.keys == "k")):
        yield f"a mask along {mask.keys} is for products of two maps, or a softmax along k"
        return
    keys = layer.k if mask.keys == "k" else layer.c
    queries, rest = divmod(layer.p, mask.rows)
    if rest or layer.q != 1:
        yield f"{layer.p} x {layer.q} rows must be {mask.rows} for each query of the mask"
    elif wrong := no_causal_mask(queries, keys, mask.window):
        yield wrong


def too_large(layer: "Layer") -> Iterator[str]:
    """Say which counts floating point cannot hold exactly."""
    for what in ("macs", "vector_ops", "input_words", "output_words", "params"):
        count = getattr(layer, what)
        if count > _EXACT:
            yield f"{what} is {count}, must be at most {_EXACT} to be counted exactly"


def too_long(layer: "Layer") -> Iterator[str]:
    """Say which sides are too long for a network, whose reads are followed along them."""
    for name in ("p", "q", "r", "s", *_PAIRS):
        value: int | tuple[int, int] = getattr(layer, name)
        longest = max(value) if isinstance(value, tuple) else value
        if longest > _LONGEST:
            yield f"{name} is {longest}, along rows and columns must be at most {_LONGEST}"


def wrong_interleave(layer: "Layer") -> Iterator[str]:
    """Say why the result cannot become the feature map that others read."""
    spread = layer.interleave
    if spread is None:
        return
    if min(spread.rows, spread.columns) < 1 or layer.output_channels % (
        spread.rows * spread.columns
    ):
        yield (
            f"patches of {spread.rows}x{spread.columns} must divide "
            f"{layer.output_channels} channels"
        )
    elif min(*spread.start, *spread.end) < 0 or min(layer.map_shape) < 1:
        yield f"cutting off {spread.start} and {spread.end} must leave some of the map"
