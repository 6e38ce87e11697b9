"""What the walked nest costs on a hardware: the oracle of energy, cycles and validity.

It reads hardware, layer and mapping, none of the kernel's arrays. Amounts are counted in bits
and exact fractions; a mesh is a set of links; zeros are looked at one pair of operands at a time.

Independent of: the arrays that kernels read, and the arithmetic of the kernel.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd, inf, prod
from typing import Any

import numpy as np

from archloom.evaluators.loopnest.kernel import OVER_CAPACITY, OVER_FANOUT
from archloom.evaluators.loopnest.problem import MappingProblem
from archloom.space.hardware.hardware import Hardware
from archloom.space.mapping.mapping import Mapping
from archloom.space.workload.dims import TENSORS

from .packed_tensors import expected_bits
from .walked_nest import (
    ALL,
    FILLS,
    INPUTS,
    OUTPUTS,
    READS,
    UPDATES,
    WEIGHTS,
    Layout,
    Moved,
    Nest,
    children,
    entering,
    move,
    used,
)


@dataclass(frozen=True)
class Bill:
    """What a mapping costs.

    Attributes:
        broken: rules that it breaks, as the kernel's status; if there are any, all else is empty.
        counts: int[L, 3, 3], reads, fills and updates of each tensor in one used instance.
        used: instances of each level that take part.
        energy_pj: float[L, 3], of each level for each tensor.
        compute_pj: of the multiply-accumulates.
        chip_cycles, dram_cycles: with the other infinitely fast.
    """

    broken: frozenset[int]
    counts: Any
    used: list[int]
    energy_pj: Any
    compute_pj: float
    chip_cycles: int
    dram_cycles: int


def nest_of(problem: MappingProblem, mapping: Mapping) -> Nest:
    """Return the nest that a mapping makes of a problem."""
    hardware, rows = problem.hardware, mapping.levels
    outermost, buffer = len(rows) - 1, hardware.fusion_level
    return Nest(
        temporal=[list(v.temporal) for v in rows],
        x=[list(v.spatial_x) for v in rows],
        y=[list(v.spatial_y) for v in rows],
        order=[list(v.order) for v in rows],
        keep=[list(v.keeps) for v in rows],
        top=tuple(buffer if s and buffer is not None else outermost for s in problem.staged),
        stride=problem.stride,
        dilation=problem.dilation,
        padding=problem.padding,
        input_size=problem.input_size,
        alone=prod(hardware.fanouts[-1]) == 1,
        multicast=[[t in v.multicast for t in TENSORS] for v in hardware.levels],
    )


def word_bits(problem: MappingProblem, level: int, tensor: int) -> Fraction:
    """Bits of a word at a level; packed weights have theirs from what a random tensor takes."""
    hardware = problem.hardware
    bits = Fraction(hardware.bits(level, TENSORS[tensor]))
    kind, inner = hardware.effects.weight_format, [v.keeps for v in hardware.levels[:level]]
    first = not any("weights" in keeps for keeps in inner)
    if tensor != WEIGHTS or kind == "dense" or not problem.row_words or first:
        return bits
    share = Fraction(problem.density[0])
    packed = expected_bits(kind, int(bits), share, problem.row_words)
    # counted in 64ths of a bit, rounded up
    return min(bits, Fraction(ceil(packed * 64), 64))


def slot_bits(problem: MappingProblem, level: int) -> Fraction:
    """A memory is made of slots, and all words, those of its ports too, are whole numbers of
    them."""
    storage, hardware = problem.hardware.levels[level], problem.hardware
    held = [word_bits(problem, level, TENSORS.index(t)) for t in storage.keeps]
    if any(bits.denominator > 1 for bits in held):
        held.append(Fraction(hardware.word_bits))
    return Fraction(gcd(*(int(bits * 64) for bits in held)), 64)


def broken(problem: MappingProblem, mapping: Mapping, nest: Nest) -> frozenset[int]:
    """Return the rules that a mapping breaks."""
    found, hardware = set(), problem.hardware
    for i, (level, rows) in enumerate(zip(hardware.levels, mapping.levels, strict=True)):
        across, along = hardware.fanouts[i]
        if prod(rows.spatial_x) > across or prod(rows.spatial_y) > along:
            found.add(OVER_FANOUT)
        bits = {}
        for t, tensor in enumerate(TENSORS):
            lives_here = problem.staged[t] and i == nest.top[t]
            if rows.keeps[t] and i <= nest.top[t] and not lives_here:
                tile = Layout(nest, t).tile([nest.size(i, d) for d in ALL])
                bits[tensor] = tile.bit_count() * word_bits(problem, i, t)
        slot = slot_bits(problem, i)
        copies = Fraction(level.multiple_buffering)
        if problem.free_words is not None and i == hardware.fusion_level:
            rooms = [(sum(bits.values()), problem.free_words * hardware.word_bits)]
        elif isinstance(level.capacity_bytes, tuple):
            room = {t: Fraction(b) * 8 // slot * slot for t, b in level.capacity_bytes}
            rooms = [(copies * need, room[tensor]) for tensor, need in bits.items()]
        elif level.capacity_bytes is not None:
            room = Fraction(level.capacity_bytes) * 8 // slot * slot
            rooms = [(copies * sum(bits.values()), room)]
        else:
            rooms = []
        if any(need > room for need, room in rooms):
            found.add(OVER_CAPACITY)
    return frozenset(found)


@dataclass(frozen=True)
class Shares:
    """Shares of all pairs of operands: of MACs that work and take a cycle, of operands read."""

    working: Fraction
    busy: Fraction
    served: tuple[Fraction, Fraction, Fraction]


def shares(problem: MappingProblem) -> Shares:
    """Look at each pair of a weight and an input that may be zero."""
    effects = problem.hardware.effects
    zeros = (effects.weight_zeros, effects.input_zeros)
    working = busy = Fraction(0)
    read = [Fraction(0), Fraction(0)]
    for weight in (True, False):
        for value in (True, False):
            full = (weight, value)
            share = prod(
                Fraction(d) if f else 1 - Fraction(d)
                for d, f in zip(problem.density, full, strict=True)
            )
            idle = [not f and z != "computed" for f, z in zip(full, zeros, strict=True)]
            skipped = [not f and z == "skipped" for f, z in zip(full, zeros, strict=True)]
            working += 0 if any(idle) else share
            busy += 0 if any(skipped) else share
            for t in (WEIGHTS, INPUTS):
                # a zero that is only gated must be read itself to be known
                read[t] += 0 if skipped[t] or idle[1 - t] else share
    return Shares(working, busy, (read[0], read[1], working))


def accesses(words: int, problem: MappingProblem, level: int, tensor: int) -> int:
    """Vector accesses for so many words; a word wider than a line is one access."""
    hardware = problem.hardware
    line = hardware.levels[level].width_words * hardware.word_bits
    whole = max(1, line // word_bits(problem, level, tensor))
    return ceil(Fraction(words, whole))


def port_cycles(bits: Fraction, words_per_cycle: float, word_bits: int) -> int:
    """Cycles that a port needs for so many bits."""
    if words_per_cycle == inf:
        return 0
    return ceil(bits / (Fraction(words_per_cycle) * word_bits))


def hops(group: list[int], width: int, height: int) -> Fraction:
    """Links between the middle of the left edge and all children of a group.

    Half links, because the middle of an even number of rows lies between two.
    """
    middle, links = height - 1, set()
    for child in group:
        column, row = child % width, 2 * (child // width)
        links |= {("along", i, half) for i in range(column) for half in (0, 1)}
        links |= {("across", column, i) for i in range(min(middle, row), max(middle, row))}
    return Fraction(len(links), 2)


def network_pj(
    nest: Nest, tensor: int, level: int, hardware: Hardware, mapping: Mapping, words: int
) -> float:
    """Energy of the words that one instance of a level exchanges with its children."""
    energy = hardware.levels[level].energy
    assert energy is not None
    if hardware.effects.network != "mesh":
        return 0.0
    rows = mapping.levels[level]
    tiles = children(
        nest, level, Layout(nest, tensor).step, (list(rows.order_x), list(rows.order_y))
    )
    if len(tiles) == 1:
        return 0.0
    groups = defaultdict(list)
    for child, tile in enumerate(tiles):
        groups[tile if nest.shares(level, tensor) else child].append(child)
    stream = entering(nest, level - 1, tensor) if level else nest.steps()
    by_size = defaultdict(list)
    for group in groups.values():
        by_size[len(group)].append(hops(group, *hardware.fanouts[level]))
    total = 0.0
    for found in by_size.values():
        passing = Fraction(words * len(found), len(groups))
        moved = stream * sum(found)
        routers = 1 + floor(moved / passing) if passing else 0
        total += float(moved) * energy.hop_pj + float(passing) * routers * energy.router_pj
    return total


def array_cycles(nest: Nest, hardware: Hardware, loads: list[int]) -> int:
    """Cycles in which the array of a PE fills, drains or loads the tensor that stands still."""
    rows = columns = 1
    inner = hardware.mac_mesh
    for level, storage in enumerate(hardware.levels):
        if inner[0] > hardware.pe_mesh[0] or inner[1] > hardware.pe_mesh[1]:
            columns *= prod(nest.x[level])
            rows *= prod(nest.y[level])
        inner = storage.mesh
    rows, columns = min(rows, hardware.array[1]), min(columns, hardware.array[0])
    skew, tiles = rows + columns - 2, min(loads, default=nest.steps())
    if hardware.effects.fill_drain == "exposed":
        return tiles * (rows + skew)
    if hardware.effects.fill_drain == "overlapped":
        late = max(0, rows - nest.steps() // tiles)
        return rows + skew + (tiles - 1) * late
    return 0


def level_energy(
    problem: MappingProblem, mapping: Mapping, nest: Nest, moves: list[list[Moved]], level: int
) -> list[float]:
    """Energy of a level for each tensor, without leakage."""
    hardware, instances = problem.hardware, used(nest)[level]
    storage, zeros, energy = hardware.levels[level], shares(problem), []
    clusters = min(instances, storage.instances // storage.cluster_size)
    pj = storage.energy
    assert pj is not None
    for tensor, found in enumerate(moves):
        made, spent = found[level], 0.0
        if level <= nest.top[tensor]:
            spent = network_pj(nest, tensor, level, hardware, mapping, made.provided) * instances
        if made.kept:
            # zeros spare what MACs would access, and those access the innermost level
            inside = any(other.kept for other in found[:level])
            share = 1.0 if inside else float(zeros.served[tensor])
            n = [accesses(words, problem, level, tensor) for words in made.counts]
            spent += clusters * share * (n[READS] * pj.read_pj + n[UPDATES] * pj.update_pj)
            spent += clusters * n[FILLS] * pj.fill_pj
            spent += clusters * (made.provided + made.counts[FILLS]) * pj.address_pj
        energy.append(spent)
    return energy


def level_cycles(problem: MappingProblem, moves: list[list[Moved]], level: int) -> int:
    """Cycles that the ports of a level need for what it reads and what is written to it."""
    hardware, zeros = problem.hardware, shares(problem)
    storage = hardware.levels[level]
    read = written = Fraction(0)
    for tensor, found in enumerate(moves):
        reads, fills, updates = found[level].counts
        inside = any(other.kept for other in found[:level])
        share = Fraction(1) if inside else zeros.served[tensor]
        bits = word_bits(problem, level, tensor)
        read += share * reads * bits
        written += (fills + share * updates) * bits
    ports = (
        (read, storage.read_bandwidth_words),
        (written, storage.write_bandwidth_words),
        (read + written, storage.bandwidth_words),
    )
    return max(port_cycles(bits, rate, hardware.word_bits) for bits, rate in ports)


def bill(problem: MappingProblem, mapping: Mapping, begun: bool = False) -> Bill:
    """Walk the nest of a mapping and price what moved; every level must have its own energies.

    Its results may be partial sums that were ``begun`` before.
    """
    hardware, nest = problem.hardware, nest_of(problem, mapping)
    wrong, levels = broken(problem, mapping, nest), range(len(hardware.levels))
    counts, energy = np.zeros((len(levels), 3, 3), int), np.zeros((len(levels), 3))
    if wrong:
        return Bill(wrong, counts, [], energy, 0.0, 0, 0)
    moves = [move(nest, t, begun and t == OUTPUTS) for t in range(3)]
    zeros, instances = shares(problem), used(nest)
    *inner, dram = [level_cycles(problem, moves, level) for level in levels]
    chip = max([*inner, ceil(nest.steps() * zeros.busy)])
    chip += array_cycles(nest, hardware, [found[0].loads for found in moves if found[0].kept])
    for level in levels:
        counts[level] = [found[level].counts for found in moves]
        own = hardware.levels[level].energy
        assert own is not None
        leaks = own.leakage_pj * instances[level] * max(chip, dram)
        energy[level] = level_energy(problem, mapping, nest, moves, level)
        energy[level] += leaks / 3
    assert hardware.mac_pj is not None
    compute = prod(nest.bounds) * float(zeros.working) * hardware.mac_pj
    return Bill(wrong, counts, instances, energy, compute, chip, dram)
