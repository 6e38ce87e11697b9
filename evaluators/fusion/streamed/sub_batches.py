"""Cost of a group whose batch runs in parts: that of each part, and weights that come once."""

from dataclasses import replace
from math import ceil

import numpy as np

from archloom.evaluators.loopnest import whole_pj
from archloom.space.fusion import FusionGroup
from archloom.space.hardware import Hardware
from archloom.space.workload import WEIGHTS, Network

from ...hardware import access_costs
from ..group_share import GroupCost, LayerShare
from ..tile import Transfers


def of_all_parts(
    network: Network, group: FusionGroup, part: GroupCost, hardware: Hardware
) -> GroupCost:
    """Return the cost of a group over a whole pass.

    The first part of the batch brings the weights that are loaded once, while the group runs: it
    takes the longest of the group's time, the time of DRAM and that of the ports of the buffer.
    Weights that layers share come with the layer that has them.

    Args:
        network: with the images of one part.
        group: of the plan.
        part: its cost on one part of the batch, with those weights in the buffer.
        hardware: that it runs on.
    """
    words = {
        i: network.layers[i].weight_words for i in group.loaded_once if network.weight_owner(i) == i
    }
    loads = {i: loaded_words(count, hardware) for i, count in words.items()}
    shares = tuple(
        _share(share, group.sub_batches, loads.get(share.layer)) for share in part.layers
    )
    late = _first_cycles(network, part, sum(words.values()), hardware) - part.latency_cycles
    return replace(
        part,
        group=group,
        layers=shares,
        wait_cycles=group.sub_batches * part.wait_cycles + late,
        dram_reads=group.sub_batches * part.dram_reads + sum(words.values()),
        dram_writes=group.sub_batches * part.dram_writes,
        part=part,
    )


def loaded_words(words: int, hardware: Hardware) -> Transfers:
    """Weights that come from DRAM into the buffer, as resident ones do (fusion model section 4)."""
    costs, dram, buffer = access_costs(hardware), len(hardware.levels) - 1, len(hardware.levels) - 2
    moved = np.zeros((len(hardware.levels), 3), np.int64)
    energy = np.zeros((len(hardware.levels), 3))
    for level, table in ((dram, costs.read_pj), (buffer, costs.write_pj)):
        accesses = -(-words // hardware.levels[level].width_words)
        moved[level, WEIGHTS] = words
        energy[level, WEIGHTS] = whole_pj(float(accesses * table[level, WEIGHTS]))
    return Transfers(moved, energy, words, 0)


def _share(share: LayerShare, parts: int, load: Transfers | None) -> LayerShare:
    """Return what a layer adds to all parts, and to the first what comes for it."""
    words, energy = share.words * parts, share.energy_pj * parts
    if load is not None:
        words, energy = words + load.words, energy + load.energy_pj
    return replace(
        share,
        words=words,
        energy_pj=energy,
        compute_pj=share.compute_pj * parts,
        latency_cycles=share.latency_cycles * parts,
        operations=share.operations * parts,
        evaluations=tuple((times * parts, cost) for times, cost in share.evaluations),
    )


def _first_cycles(network: Network, part: GroupCost, words: int, hardware: Hardware) -> int:
    """Cycles of the first part of the batch (fusion model section 5, fill and drain hidden)."""
    if not words:
        return part.latency_cycles
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    residents = part.residents
    stored = sum(
        network.layers[i].output_words for i in residents.kept if i not in residents.unwritten
    )
    ports = sum(int(share.words[-2].sum()) for share in part.layers) + stored + words
    moved = part.dram_reads + part.dram_writes + words
    return max(part.latency_cycles, ceil(moved / rate), ceil(ports / port))
