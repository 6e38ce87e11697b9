"""Formats in which levels hold weights that are partly zero, and the bits that a weight takes.

Weights are unpacked as they enter the innermost level that keeps them: all levels outside it, DRAM
with them, hold and send packed words. Zeros are spread evenly, as those of
:class:`.effects.Effects`. Names of formats are those of Sparseloop (Wu et al., MICRO 2022).
"""

from math import ceil
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from archloom.space.workload import Sparsity

    from .hardware import Hardware

#: how weights are held outside the innermost level that keeps them
WeightFormat = Literal["dense", "bitmask", "run_length", "csr"]

#: amounts of packed weights are counted in such parts of a bit, rounded up
BIT_PARTS: Final = 64

#: bits of a run of zeros, and of an offset into all rows (assumption: a 32-bit word)
_RUN_BITS: Final = 5
_OFFSET_BITS: Final = 32

#: against rounding of what is a whole number of parts
_SLACK: Final = 1e-9


def bits_per_weight(kind: WeightFormat, word_bits: int, share: float, row_words: int) -> float:
    """Return the bits that a weight takes on average, zero or not, with all that a format adds.

    Args:
        kind: ``dense``; ``bitmask``, the values that are not zero and a bit for every word;
            ``run_length``, each value behind the number of zeros before it; ``csr``, each value
            with its column, and an offset for each row.
        word_bits: of a value.
        share: of the weights that are not zero, above 0.
        row_words: weights of a row, which is what one output channel multiplies.
    """
    if kind == "bitmask":
        # one bit a word says whether its value is there (Sparseloop, MICRO 2022, section 3: B)
        return share * word_bits + 1
    if kind == "run_length":
        # a 5-bit run and a value (Eyeriss, Chen et al., JSSC 2017, section IV-C); an entry ends at
        # a value, or after 31 zeros with a zero as its value, so it covers min(G + 1, 32) words
        # for G zeros in a row, in the mean (1 - zeros**32) / share
        return share / (1 - (1 - share) ** 2**_RUN_BITS) * (word_bits + _RUN_BITS)
    if kind == "csr":
        # columns of what is not zero, and where each row begins (Sparseloop: UOP-CP)
        return share * (word_bits + ceil_log2(row_words)) + _OFFSET_BITS / row_words
    return float(word_bits)


def ceil_log2(count: int) -> int:
    """Bits that tell so many things apart."""
    return (count - 1).bit_length()


def weight_parts(hardware: "Hardware", level: int, zeros: "Sparsity") -> int:
    """Return what a weight takes at a level, in parts of :data:`BIT_PARTS` to a bit.

    A layer whose weights would take more in the format than without stays dense.

    Args:
        hardware, level: where it is.
        zeros: of the layer.
    """
    word_bits = hardware.bits(level, "weights")
    kind, dense = hardware.effects.weight_format, BIT_PARTS * word_bits
    if kind == "dense" or not zeros.row_words or level <= hardware.unpacking_level:
        return dense
    bits = bits_per_weight(kind, word_bits, zeros.weights, zeros.row_words)
    return min(dense, ceil(bits * BIT_PARTS - _SLACK))


def packed_words(words: int, hardware: "Hardware", level: int, zeros: "Sparsity") -> int:
    """Return the words that so many weights take at a level, as wide as unpacked ones there.

    Rounded up.
    """
    word_bits = hardware.bits(level, "weights")
    return -(-words * weight_parts(hardware, level, zeros) // (BIT_PARTS * word_bits))
