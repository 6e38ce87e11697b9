"""Hardware and its prices taken apart, as plain JSON values."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from archloom.evaluators.technology import Technology
    from archloom.space.hardware import Hardware, StorageLevel

Details = dict[str, Any]


def hardware_details(hardware: "Hardware") -> Details:
    """Return a design for people: its parts, and the area and power of each."""
    from archloom.evaluators import hardware_cost
    from archloom.evaluators.technology import technology

    cost = hardware_cost(hardware)
    return {
        "name": hardware.name,
        "technology": hardware.technology,
        "dram": hardware.dram,
        "dram_pj_per_bit": technology(hardware.technology).dram(hardware.dram).pj_per_bit,
        "dram_gbytes_per_s": hardware.dram_gbytes_per_s,
        "frequency_mhz": hardware.frequency_mhz,
        "word_bits": hardware.word_bits,
        "pe_mesh": list(hardware.pe_mesh),
        "array": list(hardware.array),
        "datapath": hardware.datapath,
        "macs": hardware.macs,
        "vector_lanes": hardware.vector_lanes,
        "effects": asdict(hardware.effects),
        "levels": [_level_details(level) for level in hardware.levels],
        "area_mm2": dict(cost.area_breakdown_mm2),
        "tdp_w": dict(cost.tdp_breakdown_w),
    }


def _level_details(level: "StorageLevel") -> Details:
    return {
        "name": level.name,
        "storage": level.storage,
        "keeps": list(level.keeps),
        "mesh": list(level.mesh),
        "capacity_bytes": {tensor: level.buffer_bytes(tensor) for tensor in level.keeps}
        if level.private
        else level.capacity_bytes,
        "bandwidth_words": level.bandwidth_words,
        "width_words": level.width_words,
    }


def fit_details(table: "Technology") -> Details:
    """Return how far interpolated SRAM prices are off where a run is left out, as shares.

    By what is left out (``size``, ``width``), quantity, and ``median``, ``most`` (90%), ``worst``.
    """
    axes: dict[str, Any] = {
        "size": table.sram.fit_errors("size"),
        "width": table.sram.fit_errors("width"),
    }
    return {
        axis: {name: error._asdict() for name, error in errors.items()}
        for axis, errors in axes.items()
    }
