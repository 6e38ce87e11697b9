"""Cost of one layer, or of one tile of it: counts and energy by level and tensor, cycles."""

from dataclasses import dataclass, replace
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from archloom.space.hardware import BIT_PARTS, packed_words, weight_parts
from archloom.space.mapping import Mapping, trimmed
from archloom.space.workload import TENSORS, WEIGHTS

from ..arrays import Flags, Ints
from .data_reuse import TEMPORAL
from .imperfect import imperfect_cost
from .kernel import VALID, evaluate_one
from .kernel_inputs import (
    FILLS,
    READS,
    UPDATES,
    CountedNest,
    KernelInputs,
    Workspace,
    new_workspace,
)
from .optional_effects import counted_by_level, dram_work, extras_pj
from .problem import MappingProblem

#: energies of a report are multiples of 2**-8 pJ: sums are then exact in any order
_GRAIN = 256.0

Counts = NDArray[np.int64]
Energies = NDArray[np.float64]


def whole_pj(energy_pj: float) -> float:
    """Round an energy to the grain that makes every sum of a report exact.

    Sums of multiples of 2**-8 pJ are exact in double precision up to 35 J.
    """
    return round(energy_pj * _GRAIN) / _GRAIN


def whole_grains(energy_pj: Energies) -> Energies:
    """Round energies to the same grain, of any shape."""
    rounded: Energies = np.rint(energy_pj * _GRAIN) / _GRAIN
    return rounded


@dataclass(frozen=True)
class LayerCost:
    """Cost of one evaluation of the layer model.

    Attributes:
        mapping: how it runs; None for a vector operator.
        words: int64[L, 3], words read and written at each level for each tensor, over all
            instances; of packed weights, the words that they take.
        energy_pj: float64[L, 3], of those words.
        compute_pj: of the multiply-accumulates or vector operations.
        chip_cycles: cycles with DRAM infinitely fast.
        dram_cycles: cycles that DRAM needs.
        dram_reads, dram_writes: words of the hardware's ``word_bits``, all tensors.
        operations: multiply-accumulates or vector operations.
        gap_percent: how far the search that found the mapping could not rule out a better one:
            energy x latency is at most so much above the least that any mapping has; 0 if that
            is proven, infinite if nothing is known.
    """

    mapping: Mapping | None
    words: Counts
    energy_pj: Energies
    compute_pj: float
    chip_cycles: int
    dram_cycles: int
    dram_reads: int
    dram_writes: int
    operations: int
    gap_percent: float = inf

    @property
    def latency_cycles(self) -> int:
        """Cycles with transfer and compute overlapped."""
        return max(self.chip_cycles, self.dram_cycles)

    @property
    def dynamic_pj(self) -> float:
        """Energy without leakage."""
        return float(self.energy_pj.sum() + self.compute_pj)


def setup_for(problem: MappingProblem, mapping: Mapping) -> KernelInputs:
    """Return the kernel inputs with the orders of the mapping's unrolled loops."""
    orders = [[level.order_x, level.order_y] for level in mapping.levels]
    return problem.setup._replace(across=np.array(orders, np.int64))


def mapped_cost(problem: MappingProblem, mapping: Mapping) -> LayerCost:
    """Return the breakdown of a mapping, from the same kernel that searches use.

    Factors that cover more than the bounds, as ``problem.loop_bounds`` allows, are trimmed, and
    only what lies inside the bounds costs anything.

    Raises:
        ValueError: the mapping covers other loop bounds, holds a tensor where there is no place
            for it or nowhere outermost, or breaks a capacity or the mesh.
    """
    _check_holders(problem, mapping)
    return _cost(problem, mapping)


def added_cost(problem: MappingProblem, cost: LayerCost) -> LayerCost:
    """Return what a mapping costs if its partial sums were begun before: of a later part of sums.

    It reads and fetches at their first touch too what a mapping that begins them does not.

    Args:
        problem: for which the mapping was found.
        cost: of the mapping where it begins them.
    """
    assert cost.mapping is not None, "vector operators add up at once"
    factors = cost.mapping.factors
    # of padded loops all runs, of others what lies inside the bounds
    all_runs = prod(factors) == cost.operations
    nest = replace(problem, bounds=factors) if all_runs else replace(problem, loop_bounds=factors)
    found = _cost(replace(nest, begun=True), cost.mapping)
    gap = inf
    if cost.gap_percent < inf and min(cost.dynamic_pj, cost.latency_cycles) > 0:
        # no mapping adds to sums for less than it begins them: so far is this one above that,
        # whatever the chip leaks
        slower = found.latency_cycles / cost.latency_cycles
        more = slower * max(slower, found.dynamic_pj / cost.dynamic_pj)
        gap = 100.0 * ((1.0 + cost.gap_percent / 100.0) * more - 1.0)
    return replace(found, mapping=cost.mapping, gap_percent=gap)


def _cost(problem: MappingProblem, mapping: Mapping) -> LayerCost:
    """Return the breakdown of a mapping whose tensors have their places."""
    if mapping.factors != problem.covered:
        raise ValueError(
            f"mapping covers {mapping.factors}, must cover the layer's loops {problem.covered}"
        )
    if problem.covered != problem.bounds:
        return _imperfect_layer(problem, trimmed(mapping, problem.bounds))
    setup = setup_for(problem, mapping)
    loops, keep = mapping.arrays()
    found = new_workspace(len(problem.hardware.levels))
    status, _, chip, dram = evaluate_one(setup, loops, keep, found)
    if status != VALID:
        raise _misfit(problem, status)
    energy = energy_by_level(setup, loops, keep, found, max(chip, dram))
    total = found.counts * found.used[:, None, None]
    return _layer_cost(problem, mapping, total, energy, chip, dram)


def _check_holders(problem: MappingProblem, mapping: Mapping) -> None:
    """Refuse a mapping that moves words which nothing would be paid for."""
    levels, setup = problem.hardware.levels, problem.setup
    if len(mapping.levels) != len(levels):
        raise ValueError(
            f"mapping has {len(mapping.levels)} levels, {problem.hardware.name} has {len(levels)}"
        )
    may, top = setup.allowed.tolist(), setup.top.tolist()
    for i, (level, loops) in enumerate(zip(levels, mapping.levels, strict=True)):
        for t, tensor in enumerate(TENSORS):
            if loops.keeps[t] and not may[i][t]:
                raise ValueError(f"mapping: {level.name} cannot hold {tensor}")
            if i == top[t] and not loops.keeps[t]:
                raise ValueError(
                    f"mapping: {level.name} is the outermost level for {tensor}, so it "
                    "must keep them"
                )


def _imperfect_layer(problem: MappingProblem, mapping: Mapping) -> LayerCost:
    setup = setup_for(problem, mapping)._replace(bounds=np.array(problem.bounds, np.int64))
    cost = imperfect_cost(setup, *mapping.arrays())
    if cost.status != VALID:
        raise _misfit(problem, cost.status)
    cycles = (cost.chip_cycles, cost.dram_cycles)
    return _layer_cost(problem, mapping, cost.totals, cost.energy_pj, *cycles)


def _misfit(problem: MappingProblem, status: int) -> ValueError:
    return ValueError(f"mapping does not fit {problem.hardware.name}: status {status}")


def _layer_cost(
    problem: MappingProblem,
    mapping: Mapping,
    total: Counts,
    energy_pj: Energies,
    chip_cycles: float,
    dram_cycles: float,
) -> LayerCost:
    """Put together what reports hold from words [L, 3, 3] and energies [L, 3]."""
    setup = problem.setup
    return LayerCost(
        mapping=mapping,
        words=_words(total.sum(axis=2), problem),
        energy_pj=whole_grains(energy_pj),
        compute_pj=whole_pj(problem.macs * setup.working * setup.mac_pj),
        chip_cycles=int(chip_cycles),
        dram_cycles=int(dram_cycles),
        dram_reads=_dram_words(total[-1, :, READS], problem),
        dram_writes=_dram_words(total[-1, :, UPDATES], problem),
        operations=problem.macs,
    )


def _words(words: Counts, problem: MappingProblem) -> Counts:
    """Words [L, 3] with packed weights as what they take."""
    hardware, zeros = problem.hardware, problem.sparsity
    if zeros.row_words:
        for level in range(hardware.unpacking_level + 1, len(words)):
            count = int(words[level, WEIGHTS])
            words[level, WEIGHTS] = packed_words(count, hardware, level, zeros)
    return words


def _dram_words(words: Counts, problem: MappingProblem) -> int:
    hardware, dram = problem.hardware, len(problem.hardware.levels) - 1
    parts = [hardware.bits(dram, tensor) * BIT_PARTS for tensor in TENSORS]
    parts[WEIGHTS] = weight_parts(hardware, dram, problem.sparsity)
    return -(-int(words @ np.array(parts)) // (hardware.word_bits * BIT_PARTS))


def energy_by_level(
    setup: KernelInputs, loops: Ints, keep: Flags, found: Workspace, cycles: float
) -> Energies:
    """Return the energy [L, 3] of what the kernel just counted, network and addresses with it.

    ``found`` is as :func:`archloom.evaluators.loopnest.kernel.evaluate_one` left it for the same
    mapping.
    """
    counts, used = found.counts, found.used
    reads, fills, updates = (-(-counts[:, :, i] // setup.width) for i in (READS, FILLS, UPDATES))
    # only the innermost level that keeps a tensor serves the MACs, and is spared by zeros
    inside = np.cumsum(keep, axis=0) - keep
    share = np.where((inside == 0) & (keep > 0), setup.served, 1.0)
    active = np.minimum(used, setup.instances // setup.cluster)[:, None]
    # whole vector accesses of every active instance (Timeloop's energy reference table)
    energy: Energies = active * (
        share * reads * setup.read_pj + fills * setup.fill_pj + share * updates * setup.update_pj
    )
    if counted_by_level(setup.extras):
        nest = CountedNest(loops, keep, int(loops[:, TEMPORAL].prod()), found)
        energy += extras_pj(setup, nest, cycles)
    energy[-1] += dram_work(setup.extras, setup, keep, found, 0.0)[1:]
    return energy
