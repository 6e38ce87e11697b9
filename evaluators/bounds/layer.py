"""Lower bounds of one layer on one hardware, and how far DRAM lets it run: the roofline.

No valid mapping moves fewer words, needs less energy or takes fewer cycles.
docs/explanation/bounds.md says how near mappings come, bounds_proofs.md there has the theorems.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from archloom.evaluators.loopnest import (
    STREAMED,
    KernelInputs,
    MappingProblem,
    Residency,
    design_inputs,
    vector_cost,
)
from archloom.space.hardware import BIT_PARTS, Hardware, weight_parts
from archloom.space.mapping import UNCONSTRAINED
from archloom.space.workload import (
    INPUTS,
    NO_ZEROS,
    OUTPUTS,
    TENSORS,
    WEIGHTS,
    Layer,
    Sparsity,
)

from ..arrays import Floats
from ..hardware import access_costs, edp_js
from .array_fill import filled_cycles
from .layer_kernel import ACROSS, CYCLES, ENERGY_PJ, MOVED, dram_words, layer_costs, layer_words
from .layer_work import work_of
from .level_capacity import Design, design_of, limits_of
from .rounding import HALF_GRAIN_PJ, evaluation_pj, grains_below
from .traffic import AGAIN
from .word_prices import BY_INNER, FILLED, Prices, prices_of


@dataclass(frozen=True, eq=False)
class LayerBound:
    """Figures that no valid mapping of one layer goes below.

    Attributes:
        hardware: on which it runs.
        operations: multiply-accumulates or vector operations.
        compute_cycles: on all units that its loops can occupy.
        compulsory_words: weights, inputs, outputs over DRAM, each word once; 0 for an operand
            that lives in the buffer.
        moved_words: float64[L], words that each level reads and writes, over all instances.
        crossing_words: float64[L], words that fill each level from outside, and results that
            leave it; 0 for DRAM.
        dram_bytes: of the words that DRAM reads and writes, given the capacity on the chip.
        dynamic_pj: energy without the chip's leakage, less than what costs are rounded to.
        latency_cycles: compute, or a level's words through its ports.
    """

    hardware: Hardware
    operations: int
    compute_cycles: float
    compulsory_words: tuple[float, float, float]
    moved_words: Floats
    crossing_words: Floats
    dram_bytes: float
    dynamic_pj: float
    latency_cycles: float

    @property
    def energy_pj(self) -> float:
        """Energy with leakage over the latency, which is rounded by itself."""
        leakage = access_costs(self.hardware).leakage_pj_per_cycle
        return grains_below(self.dynamic_pj + leakage * self.latency_cycles - HALF_GRAIN_PJ)

    @property
    def edp_js(self) -> float:
        """Energy times latency of the layer, in J s."""
        return edp_js(self.energy_pj, self.latency_cycles, self.hardware, 1)


@lru_cache(maxsize=1024)
def design_and_prices(
    hardware: Hardware, zeros: Sparsity, staged: Residency = STREAMED
) -> tuple[Design, Prices]:
    """Return what bounds need of a hardware, whatever the layer but for its zeros."""
    setup = design_inputs(hardware, staged, zeros)
    return design_of(setup), _prices(setup, hardware, zeros)


def with_free_words(design: Design, free_words: int | None) -> Design:
    """Return a design of which so many words of the fusion level are left to tiles, as of
    :class:`archloom.evaluators.loopnest.MappingProblem`."""
    if free_words is None:
        return design
    shared = design.shared.copy()
    shared[-2] = free_words * design.unit[-2, INPUTS]
    return design._replace(shared=shared)


def without_dram_cycles(prices: Prices) -> Prices:
    """Return prices with a DRAM that takes no time, so that designs which differ in nothing else
    have the same bounds."""
    rates = prices.rates.copy()
    rates[:, -1] = np.inf
    return prices._replace(rates=rates)


def bounds_key(design: Design, prices: Prices) -> bytes:
    """Return all that bounds of a layer on a design depend on."""
    return b"".join(np.asarray(part).tobytes() for part in (*design, *prices))


@lru_cache(maxsize=1024)
def later_sums_pj(hardware: Hardware, zeros: Sparsity, staged: Residency) -> float:
    """Return the least energy, for each word of a result, that a later part of its sums takes
    beside what bounds of a part that begins them count.

    Each level that must keep results reads a sum at its first touch too, and but for the one where
    they live it is filled with it
    (:func:`archloom.evaluators.loopnest.kernel.begin_sums_before`). Some instance of each does so
    for each word.
    """
    design, prices = design_and_prices(hardware, zeros, staged)
    home, total = int(design.top[OUTPUTS]), 0.0
    for level in np.flatnonzero(design.must[: home + 1, OUTPUTS]).tolist():
        words = prices.accesses_pj[level, :, AGAIN]
        # zeros may spare what MACs read
        total += float(words[: BY_INNER + 1].min())
        total += float(words[FILLED]) if level < home else 0.0
    return total


def _prices(setup: KernelInputs, hardware: Hardware, zeros: Sparsity) -> Prices:
    """Prices with every access full of packed weights.

    An access takes whole ones, and how many depends on its width: bounds of a box of designs have
    words of an access in common, whatever that is.
    """
    if not zeros.row_words:
        return prices_of(setup)
    width = setup.width.astype(np.float64)
    for i in range(hardware.unpacking_level + 1, len(hardware.levels)):
        line = hardware.levels[i].width_words * hardware.word_bits * BIT_PARTS
        width[i, WEIGHTS] = max(1.0, line / weight_parts(hardware, i, zeros))
    return prices_of(setup, width)


def layer_bound(layer: Layer, hardware: Hardware) -> LayerBound:
    """Return the bound of a layer that runs by itself, all operands in DRAM.

    Operators on the vector unit have one way to run: their bound is their cost.
    """
    if not layer.uses_macs:
        return _vector_bound(layer, hardware)
    problem = MappingProblem.of_layer(layer, hardware)
    return _bound(problem, *design_and_prices(hardware, layer.sparsity))


def problem_bound(problem: MappingProblem) -> LayerBound:
    """Return the bound of any mapping problem: a layer or a tile of one, some operands staged.

    It is that of all mappings, whatever constraints the problem has: what they prescribe to be
    unrolled is no choice of the kernel inputs, and bounds do not know it.
    """
    free = _free(problem)
    return _bound(free, design_of(free.setup), _prices(free.setup, free.hardware, free.sparsity))


def least_costs(problem: MappingProblem) -> tuple[float, float]:
    """Return dynamic energy (pJ) and cycles of :func:`problem_bound`, in half the time.

    Of energies as searches compare them: exact, where those of costs are rounded.
    """
    free = _free(problem)
    prices = _prices(free.setup, free.hardware, free.sparsity)
    bounds, window = nest_arrays(free)
    costs = layer_costs(design_of(free.setup), prices, bounds[None], window[None])
    cycles = max(float(costs[0, CYCLES]), filled_cycles(free, free.setup))
    return float(costs[0, ENERGY_PJ]), cycles


def _free(problem: MappingProblem) -> MappingProblem:
    """Return a problem without constraints."""
    if problem.constraints == UNCONSTRAINED:
        return problem
    return replace(problem, constraints=UNCONSTRAINED)


def _vector_bound(layer: Layer, hardware: Hardware) -> LayerBound:
    cost = vector_cost(layer, hardware, layer.p, layer.q, staged=False)
    words = cost.words.astype(np.float64)
    into, buffer = np.zeros(len(words)), hardware.fusion_level
    if buffer is not None:
        # what DRAM sends fills the buffer, and results leave it
        into[buffer] = words[-1] @ [t in hardware.levels[buffer].keeps for t in TENSORS]
    weights, inputs, outputs = words[-1]
    return LayerBound(
        hardware,
        cost.operations,
        cost.operations / hardware.vector_lanes,
        (float(weights), float(inputs), float(outputs)),
        words.sum(axis=1),
        into,
        float(words[-1] @ word_bytes(hardware)),
        cost.dynamic_pj,
        float(cost.latency_cycles),
    )


def _bound(problem: MappingProblem, design: Design, prices: Prices) -> LayerBound:
    bounds, window = nest_arrays(problem)
    work, limits = work_of(bounds, window), limits_of(design, bounds)
    energy_pj, cycles = layer_costs(design, prices, bounds[None], window[None])[0]
    packed = packed_shares(problem.hardware, problem.sparsity)
    words = layer_words(design, packed, bounds, window)
    sizes = word_bytes(problem.hardware, problem.sparsity)
    dram = len(design.shared) - 1
    moved = work.words[int(design.alone)] * packed[dram]
    weights, inputs, outputs = np.where(design.top == dram, moved, 0.0)
    return LayerBound(
        problem.hardware,
        problem.macs,
        float(work.macs / limits.at_once * prices.busy),
        (float(weights), float(inputs), float(outputs)),
        words[:, MOVED],
        words[:, ACROSS],
        float(dram_words(design, sizes, bounds[None], window[None])[0]),
        grains_below(float(energy_pj) - evaluation_pj(len(problem.hardware.levels))),
        max(float(cycles), filled_cycles(problem, problem.setup)),
    )


def word_bytes(hardware: Hardware, zeros: Sparsity = NO_ZEROS) -> Floats:
    """Return float64[3], bytes of a word of each tensor in DRAM."""
    words: Floats = np.array([hardware.bits(-1, tensor) / 8 for tensor in TENSORS])
    words *= packed_shares(hardware, zeros)[-1]
    return words


@lru_cache(maxsize=256)
def packed_shares(hardware: Hardware, zeros: Sparsity) -> Floats:
    """Return float64[L, 3], words that a value takes at each level; to be read only."""
    shares = np.ones((len(hardware.levels), len(TENSORS)))
    for level in range(len(shares)):
        dense = hardware.bits(level, "weights") * BIT_PARTS
        shares[level, WEIGHTS] = weight_parts(hardware, level, zeros) / dense
    return shares


def nest_arrays(nest: MappingProblem | Layer) -> tuple[np.ndarray, np.ndarray]:
    """Return int64[8], loop bounds, and int64[2, 4], the window as compiled code reads it."""
    window = zip(nest.stride, nest.dilation, nest.padding, nest.input_size, strict=True)
    return np.array(nest.bounds, np.int64), np.array(list(window), np.int64)
