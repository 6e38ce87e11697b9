"""Cost of a layer that runs by itself: operands stream from DRAM unless the plan keeps them."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

import numpy as np

from archloom.evaluators.fusion.buffer import buffer_words, pinned_overflow
from archloom.evaluators.loopnest import (
    LayerCost,
    MappingProblem,
    Residency,
    pinned_vector_cost,
    vector_cost,
    vector_fits,
    whole_pj,
)
from archloom.space import Infeasible
from archloom.space.fusion import ALONE, Residents
from archloom.space.hardware import Hardware, packed_words
from archloom.space.workload import OUTPUTS, TENSORS, WEIGHTS, Layer, Network

from ...hardware import access_costs
from ..group_graph import group_sources
from ..tile import ProblemMapper, Transfers

#: leading bits of the words that are left for tiles; plans then share their mappings
_ROUNDED: Final = 3


@dataclass(frozen=True)
class StreamedLayer:
    """Cost of a layer by itself.

    Attributes:
        cost: of the layer model; operands in the buffer have no words in DRAM.
        moved: a result that stays in the buffer and goes to DRAM as well.
        latency_cycles: of both.
    """

    cost: LayerCost
    moved: Transfers
    latency_cycles: int


@dataclass(frozen=True, slots=True)
class OperandPlaces:
    """Which of a layer's operands are in the buffer.

    Attributes:
        position: of the layer.
        held: whether each map that it reads is.
        steady: whether its weights are, for ever.
        kept: whether its result is.
        written: whether a result that is kept goes to DRAM as well.
    """

    position: int
    held: tuple[bool, ...]
    steady: bool
    kept: bool
    written: bool


def streamed_layer(
    network: Network,
    position: int,
    steady: bool,
    hardware: Hardware,
    mapper: ProblemMapper,
    capacity: int,
    residents: Residents,
) -> StreamedLayer | Infeasible:
    """Evaluate one layer of ``network`` by itself.

    Args:
        network, position: the layer.
        steady: whether its weights are in the buffer for ever.
        hardware, mapper: what it runs on, and what maps it.
        capacity: words of the buffer.
        residents: what its plan keeps there.
    """
    layer = network.layers[position]
    if residents == ALONE and not steady:
        plain = alone(layer, hardware, mapper)
        if isinstance(plain, Infeasible):
            return plain
        return StreamedLayer(plain, stored_words(0, hardware), plain.latency_cycles)
    place = _place(network, position, steady, residents)
    if capacity < residents.words:
        return pinned_overflow(network, layer.name, residents, 0, capacity, hardware)
    cost = placed_cost(network, place, hardware, mapper, capacity, residents)
    if isinstance(cost, Infeasible):
        return cost
    stored = layer.output_words if place.written else 0
    # fusion model section 5, fill and drain hidden
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    words = int(cost.words[-2].sum()) + stored if stored else 0
    body = max(cost.chip_cycles, cost.dram_cycles + ceil(stored / rate))
    return StreamedLayer(cost, stored_words(stored, hardware), max(body, ceil(words / port)))


def streamed_problem(
    network: Network, position: int, hardware: Hardware, residents: Residents
) -> MappingProblem | Infeasible:
    """Return the mapping problem of a layer on MACs that runs by itself, its weights in DRAM.

    Args:
        network, position: the layer.
        hardware: with a shared buffer, or without if there are no ``residents``.
        residents: what its plan keeps in the buffer.
    """
    layer = network.layers[position]
    if residents == ALONE:
        return MappingProblem.of_layer(layer, hardware)
    whole = placed_problem(layer, _place(network, position, False, residents), hardware)
    if isinstance(whole, Infeasible):
        return whole
    free = buffer_words(hardware) - residents.words
    return replace(whole, free_words=rounded_capacity(streamed_words(whole), free))


def streamed_buffer_use(
    network: Network,
    position: int,
    steady: bool,
    hardware: Hardware,
    residents: Residents,
) -> Callable[[int], Hashable]:
    """Return how :func:`streamed_layer` uses the free words of the buffer; None if these are below
    0."""
    layer, place = network.layers[position], _place(network, position, steady, residents)
    if not layer.uses_macs:
        return lambda free: vector_fits(layer, hardware, free) if free >= 0 else None
    whole = placed_problem(layer, place, hardware)
    if isinstance(whole, Infeasible):
        return lambda free: whole if free >= 0 else None
    passing = streamed_words(whole)
    return lambda free: (rounded_capacity(passing, free),) if free >= 0 else None


def _place(network: Network, position: int, steady: bool, residents: Residents) -> OperandPlaces:
    sources = group_sources(network)[position]
    kept = position in residents.kept
    return OperandPlaces(
        position,
        tuple(source.layer in residents.held for source in sources),
        steady,
        kept,
        kept and position not in residents.unwritten,
    )


def alone(layer: Layer, hardware: Hardware, mapper: ProblemMapper) -> LayerCost | Infeasible:
    """Return the cost of a layer all of whose operands stream, in all of the buffer."""
    if not layer.uses_macs:
        return vector_cost(layer, hardware, layer.p, layer.q, staged=False)
    cost = mapper(MappingProblem.of_layer(layer, hardware))
    return naming(layer, cost) if isinstance(cost, Infeasible) else cost


def naming(layer: Layer, why: Infeasible) -> Infeasible:
    """Return why a problem of ``layer`` has no mapping, with its name."""
    return replace(why, where=f"{why.where}, layer {layer.name}")


def placed_cost(
    network: Network,
    place: OperandPlaces,
    hardware: Hardware,
    mapper: ProblemMapper,
    capacity: int,
    residents: Residents,
) -> LayerCost | Infeasible:
    """Return the cost of a layer some of whose operands are in the buffer, beside ``residents``."""
    layer, free = network.layers[place.position], capacity - residents.words
    if not layer.uses_macs:
        return pinned_vector_cost(layer, hardware, place.held, place.kept, place.steady, free)
    whole = placed_problem(layer, place, hardware)
    if isinstance(whole, Infeasible):
        return whole
    cost = mapper(replace(whole, free_words=rounded_capacity(streamed_words(whole), free)))
    if not isinstance(cost, Infeasible):
        return cost
    level = hardware.levels[-2]
    needed = ceil(cost.needed * 8 / hardware.word_bits / level.multiple_buffering)
    if cost.where.startswith(f"{level.name} (") and free < needed <= capacity:
        # without what lies there the smallest tiles would fit
        return pinned_overflow(network, layer.name, residents, needed, capacity, hardware)
    return naming(layer, cost)


def placed_problem(
    layer: Layer, place: OperandPlaces, hardware: Hardware
) -> MappingProblem | Infeasible:
    """The problem of a layer some of whose operands are in the buffer, all of which is free."""
    staged = _residency(layer, place)
    if isinstance(staged, Infeasible):
        return staged
    level = hardware.levels[-2]
    if staged[WEIGHTS] and "weights" not in level.keeps:
        hint = (
            f"the second operand of {layer.name} takes the place of weights, which "
            f"{level.name} does "
            "not keep; pin only the first operand"
        )
        return Infeasible("second_map_not_kept", layer.name, 1, 0, "", hint)
    return replace(MappingProblem.of_layer(layer, hardware), staged=staged)


def _residency(layer: Layer, place: OperandPlaces) -> Residency | Infeasible:
    """Which operands are in the buffer; a map that is read side by side with others needs them."""
    windowed = len(layer.map_channels)
    beside, second = place.held[:windowed], place.held[windowed:]
    for maps in (beside, second):
        if any(maps) and not all(maps):
            hint = (
                f"{layer.name} reads these feature maps together, so pin all of them or "
                "none; or give "
                f"{layer.name} a tile, which brings them into the buffer one at a time"
            )
            return Infeasible("pinned_in_part", layer.name, len(maps), sum(maps), "maps", hint)
    return (place.steady or any(second), any(beside), place.kept)


def rounded_capacity(passing: int, free: int) -> int | None:
    """Return the words that tiles of streamed operands may take, as a mapping sees them.

    Args:
        passing: words of all these operands.
        free: words of the buffer for their tiles.

    Returns:
        None if all fit, or none goes through the buffer: then it makes no difference how many
        words there are. Others are rounded down to three leading bits.
    """
    if free >= passing:
        return None
    shift = max(0, free.bit_length() - _ROUNDED)
    return free >> shift << shift


def streamed_words(problem: MappingProblem) -> int:
    """Return the words of all operands that pass through the buffer."""
    level = problem.hardware.levels[-2]
    return sum(
        _whole_words(problem, t)
        for t, tensor in enumerate(TENSORS)
        if not problem.staged[t] and tensor in level.keeps
    )


def _whole_words(problem: MappingProblem, tensor: int) -> int:
    """Words of a whole operand, padding with it."""
    n, g, k, c, p, q, r, s = problem.covered
    if tensor == WEIGHTS:
        hardware = problem.hardware
        buffer = len(hardware.levels) - 2
        return packed_words(g * k * c * r * s, hardware, buffer, problem.sparsity)
    if tensor == OUTPUTS:
        return n * g * k * p * q
    rows, columns = (
        (made - 1) * problem.stride[axis] + (taps - 1) * problem.dilation[axis] + 1
        for axis, (made, taps) in enumerate(((p, r), (q, s)))
    )
    return n * g * c * rows * columns


def stored_words(words: int, hardware: Hardware) -> Transfers:
    """Words of a result that go to DRAM (fusion model section 4: E_dram_w * out)."""
    moved = np.zeros((len(hardware.levels), 3), np.int64)
    energy = np.zeros((len(hardware.levels), 3))
    moved[-1, OUTPUTS] = words
    accesses = -(-words // hardware.levels[-1].width_words)
    energy[-1, OUTPUTS] = whole_pj(accesses * access_costs(hardware).write_pj[-1, OUTPUTS])
    return Transfers(moved, energy, 0, words)
