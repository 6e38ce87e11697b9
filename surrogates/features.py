"""Derived hardware quantities that are inputs of the surrogates beside the parameters.

Spotlight (Sakhuja et al., HPCA 2023) shows that a surrogate learns faster from quantities such
as total PEs and total buffer bytes than from the raw parameters alone.
"""

from math import log2
from typing import Final

from archloom.space.hardware import Hardware

FEATURES: Final = ("macs", "pes", "on_chip_bytes", "dram_bytes_per_s", "macs_per_dram_word")


def domain_features(hardware: Hardware) -> tuple[float, ...]:
    """Return the base-2 logarithms of :data:`FEATURES`, in that order."""
    pes = hardware.pe_mesh[0] * hardware.pe_mesh[1]
    words_per_cycle = hardware.levels[-1].bandwidth_words
    return (
        log2(hardware.macs),
        log2(pes),
        log2(1 + hardware.on_chip_bytes),
        log2(hardware.dram_gbytes_per_s * 1e9),
        log2(hardware.macs / words_per_cycle),
    )
