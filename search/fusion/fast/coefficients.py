"""Coefficients of FAST's integer program, from the costs of layers that run by themselves.

T_i^max and T_i^min are the latencies with every operand streamed and with every one on the chip,
t_i^k the DRAM time of an operand that streams. B_i and the tiles are of the mapping that streams.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from archloom.evaluators import access_costs
from archloom.evaluators.fusion import GroupCost, group_sources
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.loopnest import LayerCost, MappingProblem, tile_words
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, Pin, Residents
from archloom.space.hardware import Hardware, packed_words
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Layer, Network

from ..plan_evaluator import MemoizedPlanEvaluator
from .model import MapRead, PinLayer, PinningProblem, Saving

#: parts of the buffer in which a layer's mapping is looked for, the smallest first
_BUFFER_SHARES = (1 / 64, 1 / 8)

#: energy x latency in such a part, over that in all of the buffer, up to which it is taken
_COST_TOLERANCE = 1.001


def pinning_problem(evaluator: MemoizedPlanEvaluator) -> PinningProblem | Infeasible:
    """Return what may stay in the buffer of the evaluator's hardware, in its network's order.

    Infeasible if there is no shared buffer, or a layer that cannot run at all.
    """
    hardware = evaluator.hardware
    if hardware.fusion_level is None:
        hint = "pinning needs an on-chip SRAM, shared by all PEs, that keeps inputs and outputs"
        return Infeasible("no_shared_buffer", hardware.name, 1, 0, "", hint)
    layers = []
    for i in range(len(evaluator.network.layers)):
        streamed = _streamed(evaluator, i)
        if isinstance(streamed, Infeasible):
            return streamed
        layers.append(_pin_layer(evaluator, i, streamed))
    leakage = access_costs(hardware).leakage_pj_per_cycle
    return PinningProblem(tuple(layers), buffer_words(hardware), leakage)


def _streamed(evaluator: MemoizedPlanEvaluator, i: int) -> GroupCost | Infeasible:
    """Layer ``i`` with all operands streamed, in the least part of the buffer that costs nothing.

    What the best mapping takes of the buffer is of no use as B_i: it may be most of it for next
    to nothing.
    """
    group, capacity = FusionGroup((i,)), buffer_words(evaluator.hardware)
    best = evaluator.group(group)
    if isinstance(best, Infeasible):
        return best
    for part in _BUFFER_SHARES:
        taken = Residents((), (), (), capacity - int(capacity * part))
        cost = evaluator.group(group, taken)
        if isinstance(cost, GroupCost) and _product(cost) <= _COST_TOLERANCE * _product(best):
            return cost
    return best


def _product(cost: GroupCost) -> float:
    return cost.dynamic_pj * cost.latency_cycles


def _pin_layer(evaluator: MemoizedPlanEvaluator, i: int, streamed: GroupCost) -> PinLayer:
    network, hardware = evaluator.network, evaluator.hardware
    layer, cost = network.layers[i], streamed.layers[0].evaluations[0][1]
    steady = _weights_can_stay(layer, hardware)
    tiles, reads = _tiles(layer, hardware, cost), _reads(network, i, hardware, cost)
    write, weights = _saving(cost, OUTPUTS, 1.0), _saving(cost, WEIGHTS, 1.0)
    on_chip = _pinned_cost(evaluator, i, [r.producer for r in reads if r.possible], steady)
    usable = [r.saving for r in reads if r.possible] + [weights] * steady
    usable += [write] * (layer.name not in network.leaving)
    # the linear model is to be exact where everything is on the chip
    far = sum(saving.energy_pj for saving in usable)
    scale = max(0.0, streamed.dynamic_pj - on_chip.dynamic_pj) / far if far else 0.0
    return PinLayer(
        longest_cycles=streamed.latency_cycles,
        shortest_cycles=min(on_chip.latency_cycles, streamed.latency_cycles),
        energy_pj=streamed.dynamic_pj,
        dram_words=streamed.dram_reads + streamed.dram_writes,
        own_words=sum(tiles),
        map_words=layer.output_words,
        map_tile_words=tiles[OUTPUTS],
        write=_scaled(write, scale),
        leaves=layer.name in network.leaving,
        reads=tuple(replace(read, saving=_scaled(read.saving, scale)) for read in reads),
        weight_owner=network.weight_owner(i),
        weight_words=layer.weight_words if steady else 0,
        weight_tile_words=tiles[WEIGHTS] if steady else 0,
        weights=_scaled(weights, scale) if steady else Saving(),
    )


def _pinned_cost(
    evaluator: MemoizedPlanEvaluator, i: int, held: Sequence[int], steady: bool
) -> GroupCost:
    """Layer ``i`` with all operands in the buffer that can be, and space for everything else."""
    network = evaluator.network
    readers = network.consumers[i]
    group = FusionGroup(
        (i,), pins=(Pin(i, readers[-1]),) if readers else (), steady=(i,) if steady else ()
    )
    spared = (i,) if readers and network.layers[i].name not in network.leaving else ()
    residents = Residents(tuple(held), (i,) if readers else (), spared, 0)
    cost = evaluator.group(group, residents)
    if isinstance(cost, Infeasible):
        raise AssertionError(f"a layer that runs from DRAM does not from the buffer: {cost}")
    return cost


def _weights_can_stay(layer: Layer, hardware: Hardware) -> bool:
    return bool(layer.weight_words) and "weights" in hardware.levels[-2].keeps


def _reads(network: Network, i: int, hardware: Hardware, cost: LayerCost) -> tuple[MapRead, ...]:
    """Results of earlier layers that layer ``i`` reads, each of them once."""
    layer, tiles = network.layers[i], _tiles(network.layers[i], hardware, cost)
    windowed, words = len(layer.map_channels), layer.map_read_words
    beside = sum(words[:windowed]) if layer.uses_macs else sum(words)
    keeps_weights = "weights" in hardware.levels[-2].keeps
    found: dict[int, MapRead] = {}
    for operand, source in enumerate(group_sources(network)[i]):
        if source.layer < 0:
            continue
        second = layer.multiplies_maps and operand >= windowed
        tensor = WEIGHTS if second else INPUTS
        together = sum(words[windowed:]) if second else beside
        maps = len(words) - windowed if second else windowed
        # the array reads maps that lie side by side as one operand, which is in one place
        possible = not layer.uses_macs or (maps == 1 and (keeps_weights or not second))
        share = words[operand] / together
        read = MapRead(
            source.layer, int(tiles[tensor] * share), _saving(cost, tensor, share), possible
        )
        known = found.get(source.layer)
        found[source.layer] = read if known is None else _joined(known, read)
    return tuple(found[producer] for producer in sorted(found))


def _joined(one: MapRead, other: MapRead) -> MapRead:
    """Two reads of the same map."""
    a, b = one.saving, other.saving
    saving = Saving(a.cycles + b.cycles, a.energy_pj + b.energy_pj, a.dram_words + b.dram_words)
    tile = one.tile_words + other.tile_words
    return MapRead(one.producer, tile, saving, one.possible and other.possible)


def _saving(cost: LayerCost, tensor: int, share: float) -> Saving:
    """DRAM's part in an operand that streams, or in a share of it."""
    words, total = int(cost.words[-1, tensor]), int(cost.words[-1].sum())
    # t_i^k: words over the bandwidth
    cycles = cost.dram_cycles * words / total if total else 0.0
    energy = float(cost.energy_pj[-1, tensor])
    return Saving(cycles * share, energy * share, round(words * share))


def _scaled(saving: Saving, scale: float) -> Saving:
    return replace(saving, energy_pj=saving.energy_pj * scale)


def _tiles(layer: Layer, hardware: Hardware, cost: LayerCost) -> tuple[int, int, int]:
    """Words of the buffer that a streaming layer has in use, by tensor."""
    if cost.mapping is None:
        # the vector unit takes single words, or whole vectors (results beside them)
        whole = layer.vector is not None and layer.vector.whole_vectors
        return (0, layer.c, layer.c) if whole else (0, 0, 0)
    extents = np.ones((len(hardware.levels) + 1, 8), np.int64)
    for row, level in enumerate(cost.mapping.levels):
        spatial = np.array(level.spatial_x) * np.array(level.spatial_y)
        extents[row + 1] = extents[row] * level.temporal * spatial
    problem = MappingProblem.of_layer(layer, hardware)
    buffer = len(hardware.levels) - 2
    kept = cost.mapping.levels[buffer].keeps
    tiles = (int(tile_words(t, extents, buffer + 1, problem.setup.window)) for t in range(3))
    weights, inputs, outputs = (tile * keeps for tile, keeps in zip(tiles, kept, strict=True))
    return packed_words(weights, hardware, buffer, layer.sparsity), inputs, outputs
