"""Words that a layer's mapping keeps in the buffer of an operand that passes through it."""

from archloom.space.hardware import Hardware, packed_words
from archloom.space.mapping import Mapping
from archloom.space.workload import OUTPUTS, TENSORS, WEIGHTS, C, G, K, Layer, N, P, Q, R, S


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
        words = packed_words(words, hardware, level, layer.sparsity)
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
