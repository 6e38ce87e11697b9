"""Words of the shared buffer that the tiles of streamed operands take, by the mappings found."""

from ..space.dims import INPUTS, OUTPUTS, TENSORS, WEIGHTS, C, G, K, N, P, Q, R, S
from ..space.fusion import FusionGroup
from ..space.hardware import Hardware
from ..space.layer import Layer
from ..space.mapping import Mapping
from ..space.network import Network
from .group_cost import GroupCost, LayerShare


def kept_words(mapping: Mapping, layer: Layer, tensor: int, hardware: Hardware) -> int:
    """Return the words that the fusion level keeps of an operand; 0 if it lets it pass.

    The box of the tile, padding with it, as the layer model checks it, in words of the hardware's
    width.
    """
    level = len(hardware.levels) - 2
    if not mapping.levels[level].keeps[tensor]:
        return 0
    size = [1] * 8
    for loops in mapping.levels[: level + 1]:
        factors = zip(loops.temporal, loops.spatial_x, loops.spatial_y, strict=True)
        for d, (steps, x, y) in enumerate(factors):
            size[d] *= steps * x * y
    if tensor == WEIGHTS:
        words = size[G] * size[K] * size[C] * size[R] * size[S]
    elif tensor == OUTPUTS:
        words = size[N] * size[G] * size[K] * size[P] * size[Q]
    else:
        sides = ((size[P], size[R], 0), (size[Q], size[S], 1))
        rows, columns = (
            (made - 1) * layer.stride[axis] + (taps - 1) * layer.dilation[axis] + 1
            for made, taps, axis in sides
        )
        words = size[N] * size[G] * size[C] * rows * columns
    # psums may be wider than other words
    return -(-words * hardware.bits(level, TENSORS[tensor]) // hardware.word_bits)


def streamed_held(
    network: Network, position: int, cost: GroupCost, hardware: Hardware
) -> list[tuple[str, int]]:
    """Return what a layer by itself keeps of the operands that it streams, by name.

    Nothing of layers on the vector unit: what they stream goes straight through.
    """
    layer = network.layers[position]
    mapping = cost.layers[0].evaluations[0][1].mapping
    if mapping is None or hardware.fusion_level is None:
        return []
    windowed, around = len(layer.map_channels), cost.around
    reads = network.reads[position]
    beside, second = reads[:windowed], reads[windowed:]

    def held(names: tuple[str, ...]) -> bool:
        return any(network.layers[i].name in names for i in around.held)

    weights = _together(second, layer) if layer.multiplies_maps else f"weights of {layer.name}"
    staged = {
        INPUTS: held(beside),
        WEIGHTS: position in cost.group.steady or (layer.multiplies_maps and held(second)),
        OUTPUTS: position in around.kept,
    }
    names = {INPUTS: _together(beside, layer), WEIGHTS: weights, OUTPUTS: layer.name}
    return [
        (names[tensor], kept_words(mapping, layer, tensor, hardware))
        for tensor, lies_there in staged.items()
        if not lies_there
    ]


def _together(names: tuple[str, ...], layer: Layer) -> str:
    return names[0] if len(names) == 1 else f"inputs of {layer.name}"


def streamed_weights(
    layer: Layer, share: LayerShare, size: int | None, group: FusionGroup, hardware: Hardware
) -> int:
    """Return the words that the tiles of a member's weights take while they pass the buffer.

    Args:
        layer: the member.
        share: of it.
        size: of its evaluations that of the running tile; None if it makes nothing there.
        group: that it is in.
        hardware: that runs it.
    """
    lies_there = share.layer in group.resident or share.layer in group.steady
    if size is None or lies_there or layer.multiplies_maps:
        return 0
    mapping = share.evaluations[size][1].mapping
    return 0 if mapping is None else kept_words(mapping, layer, WEIGHTS, hardware)
