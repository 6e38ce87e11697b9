"""Presets: published accelerators, as templates without parameters.

Each is in the technology of its chip. Designs compare on one cost model only: who compares a
preset with others first takes it to their technology and word width. Where a paper leaves a
number open, the file says "assumption" and marks the value.
"""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from ..errors import Infeasible, InfeasibleError
from .shipped import preset_file
from .template_reader import read_template

if TYPE_CHECKING:
    from archloom.space.hardware import Hardware


@cache
def preset(name: str) -> "Hardware":
    """Return a published accelerator.

    Raises:
        ValueError: there is none of that name; names the nearest that there are.
    """
    built = read_template(preset_file(name)).build({}, name)
    if isinstance(built, Infeasible):
        raise InfeasibleError(built)
    return built


def with_technology(hardware: "Hardware", technology: str) -> "Hardware":
    """Return the hardware built and priced in another technology, with the same clock.

    Energies that the hardware gives itself stay. The table is looked up where the hardware is
    priced: an unknown name is refused there.
    """
    return replace(hardware, technology=technology)


def with_word_bits(hardware: "Hardware", word_bits: int) -> "Hardware":
    """Return the hardware with words of another width but the same memories and wires.

    Capacities and bandwidths in bytes stay, and so do the bytes of an access of several words;
    half the width gives twice the words in each buffer and in each cycle. An access of one word
    stays one word, and the MACs change with the width. Tensors with a width of their own keep it,
    and energies that the hardware gives itself stay.

    Raises:
        ValueError: the width is below 1 or does not divide the bits of an access.
    """
    if word_bits < 1:
        raise ValueError(f"word_bits must be at least 1, got {word_bits}")
    ratio = hardware.word_bits / word_bits
    levels = []
    for level in hardware.levels:
        bits = level.width_words * hardware.word_bits
        single = level.width_words == 1
        if not single and bits % word_bits:
            raise ValueError(
                f"level {level.name}: {word_bits}-bit words do not fill an access of {bits} bits"
            )
        levels.append(
            replace(
                level,
                bandwidth_words=level.bandwidth_words * ratio,
                read_bandwidth_words=level.read_bandwidth_words * ratio,
                write_bandwidth_words=level.write_bandwidth_words * ratio,
                width_words=1 if single else bits // word_bits,
            )
        )
    return replace(hardware, word_bits=word_bits, levels=tuple(levels))
