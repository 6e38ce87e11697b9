"""Coefficients of FAST's integer program, from the costs of layers that run by themselves.

T_i^max and T_i^min are the latencies with every operand streamed and with every one on the chip,
t_i^k the DRAM time of an operand that streams. B_i and the tiles are of the mapping that streams.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from archloom.evaluators import access_costs
from archloom.evaluators.fusion import GroupCost, LayerShare, group_sources
from archloom.evaluators.fusion.buffer import buffer_words
from archloom.evaluators.fusion.streamed import loaded_words
from archloom.evaluators.loopnest import LayerCost, MappingProblem, tile_words
from archloom.space import Infeasible
from archloom.space.fusion import (
    Computation,
    FusionGroup,
    Pin,
    Residents,
    computation_numbers,
    computations,
)
from archloom.space.hardware import Hardware, packed_words
from archloom.space.workload import INPUTS, OUTPUTS, WEIGHTS, Layer, Network

from ..plan_evaluator import MemoizedPlanEvaluator
from .model import MapRead, PinLayer, PinningProblem, Saving

#: parts of the buffer in which a layer's mapping is looked for, the smallest first
_BUFFER_SHARES = (1 / 64, 1 / 8)

#: energy x latency in such a part, over that in all of the buffer, up to which it is taken
_COST_TOLERANCE = 1.001


def pinning_problem(
    evaluator: MemoizedPlanEvaluator, sub_batches: int = 1, loads_weights: bool = False
) -> PinningProblem | Infeasible:
    """Return what may stay in the buffer of the evaluator's hardware, in its network's order.

    Args:
        evaluator: of the network with the images of one sub-batch.
        sub_batches: of a pass.
        loads_weights: whether weights that stay come with the first of them.

    Returns:
        The problem; or what is missing: a shared buffer, or what a layer needs to run at all.
    """
    hardware = evaluator.hardware
    if hardware.fusion_level is None:
        hint = "pinning needs an on-chip SRAM, shared by all PEs, that keeps inputs and outputs"
        return Infeasible("no_shared_buffer", hardware.name, 1, 0, "", hint)
    layers = []
    for found in computations(evaluator.network):
        streamed = _streamed(evaluator, found)
        if isinstance(streamed, Infeasible):
            return streamed
        layers.append(_pin_layer(evaluator, found, streamed))
    leakage = access_costs(hardware).leakage_pj_per_cycle
    capacity = buffer_words(hardware)
    return PinningProblem(tuple(layers), capacity, leakage, sub_batches, loads_weights)


def _streamed(evaluator: MemoizedPlanEvaluator, found: Computation) -> GroupCost | Infeasible:
    """A computation with all operands streamed, in the least part of the buffer that costs nothing.

    What the best mapping takes of the buffer is of no use as B_i: it may be most of it for next
    to nothing.
    """
    group, capacity = FusionGroup(found.layers), buffer_words(evaluator.hardware)
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


def _pin_layer(
    evaluator: MemoizedPlanEvaluator, found: Computation, streamed: GroupCost
) -> PinLayer:
    network, hardware = evaluator.network, evaluator.hardware
    part = _Streamed(network, hardware, found, streamed)
    steady, tiles, reads = part.steady, part.tiles, part.reads
    written = tuple(i for i in found.results if network.layers[i].name not in network.leaving)
    leaves = len(written) < len(found.results)
    write, weights = part.saving(found.results, OUTPUTS), part.saving(steady, WEIGHTS)
    held = [i for read in reads if read.possible for i in part.made_by(read.producer)]
    on_chip = _pinned_cost(evaluator, found, held, steady)
    usable = [r.saving for r in reads if r.possible] + [weights] * bool(steady)
    usable += [write] * (not leaves)
    # the linear model is to be exact where everything is on the chip
    far = sum(saving.energy_pj for saving in usable)
    scale = max(0.0, streamed.dynamic_pj - on_chip.dynamic_pj) / far if far else 0.0
    words = sum(network.layers[i].output_words for i in found.results)
    return PinLayer(
        longest_cycles=streamed.latency_cycles,
        shortest_cycles=min(on_chip.latency_cycles, streamed.latency_cycles),
        energy_pj=streamed.dynamic_pj,
        dram_words=streamed.dram_reads + streamed.dram_writes,
        own_words=sum(tiles),
        map_words=words,
        map_tile_words=tiles[OUTPUTS] if part.same else 0,
        write=_scaled(write, scale),
        leaves=leaves,
        reads=tuple(replace(read, saving=_scaled(read.saving, scale)) for read in reads),
        weight_owner=part.weight_owner,
        weight_words=sum(network.layers[i].weight_words for i in steady),
        weight_tile_words=tiles[WEIGHTS] if steady else 0,
        weights=_scaled(weights, scale),
        weight_load=_weight_load(network, hardware, steady),
    )


def _weight_load(network: Network, hardware: Hardware, steady: tuple[int, ...]) -> Saving:
    """What it takes to bring weights of layers into the buffer, of those that have their own."""
    own = [network.layers[i].weight_words for i in steady if network.weight_owner(i) == i]
    loads = [loaded_words(words, hardware) for words in own]
    energy = sum(float(load.energy_pj.sum()) for load in loads)
    return Saving(sum(own) / hardware.levels[-1].bandwidth_words, energy, sum(own))


def _pinned_cost(
    evaluator: MemoizedPlanEvaluator,
    found: Computation,
    held: Sequence[int],
    steady: tuple[int, ...],
) -> GroupCost:
    """A computation with all operands in the buffer that can be, and space for everything else."""
    network = evaluator.network
    last = {i: outside[-1] for i in found.results if (outside := _outside(network, found, i))}
    group = FusionGroup(
        found.layers,
        pins=tuple(Pin(i, reader) for i, reader in sorted(last.items())),
        steady=steady,
    )
    kept = tuple(pin.layer for pin in group.pins)
    spared = tuple(i for i in kept if network.layers[i].name not in network.leaving)
    cost = evaluator.group(group, Residents(tuple(held), kept, spared, 0))
    if isinstance(cost, Infeasible):
        raise AssertionError(f"a layer that runs from DRAM does not from the buffer: {cost}")
    return cost


def _outside(network: Network, found: Computation, position: int) -> list[int]:
    """Readers of a result that are not in the computation."""
    return [i for i in network.consumers[position] if i not in found.layers]


@dataclass(frozen=True)
class _Streamed:
    """A computation whose operands all stream.

    Attributes:
        network, hardware, found: what runs where.
        cost: of it.
    """

    network: Network
    hardware: Hardware
    found: Computation
    cost: GroupCost

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Words of the buffer in use, by tensor."""
        host = self._share(self.found.host).evaluations[0][1]
        return _tiles(self.network.layers[self.found.host], self.hardware, host)

    @property
    def same(self) -> bool:
        """Whether the result is as large as what the array makes."""
        made = [self.network.layers[i].output_words for i in (self.found.host, self.found.result)]
        return made[0] == made[1]

    @property
    def weight_owner(self) -> int:
        """Number of the computation that brings the weights."""
        numbers = computation_numbers(self.network)
        return numbers[self.network.weight_owner(self.found.host)]

    @property
    def steady(self) -> tuple[int, ...]:
        """Layers whose weights can stay, those that the owner brings."""
        return steady_layers(self.network, self.hardware, self.found, self.weight_owner)

    def made_by(self, number: int) -> list[int]:
        """Layers of a computation whose results this one reads."""
        sources = group_sources(self.network)
        read = {source.layer for i in self.found.layers for source in sources[i]}
        return [i for i in computations(self.network)[number].results if i in read]

    @property
    def reads(self) -> tuple[MapRead, ...]:
        """Results of earlier computations, each of them once."""
        numbers, found = computation_numbers(self.network), dict[int, MapRead]()
        for i in self.found.layers:
            for read in self._reads_of(i):
                number = numbers[read.producer]
                if number == numbers[self.found.host]:
                    continue
                read = replace(read, producer=number)
                known = found.get(number)
                found[number] = read if known is None else _joined(known, read)
        return tuple(found[number] for number in sorted(found))

    def _reads_of(self, position: int) -> Iterator[MapRead]:
        """Results of other layers that a layer reads."""
        layer, hardware = self.network.layers[position], self.hardware
        windowed, words = len(layer.map_channels), layer.map_read_words
        beside = sum(words[:windowed]) if layer.uses_macs else sum(words)
        keeps_weights = "weights" in hardware.levels[-2].keeps
        for operand, source in enumerate(group_sources(self.network)[position]):
            if source.layer < 0:
                continue
            second = layer.multiplies_maps and operand >= windowed
            tensor = WEIGHTS if second else INPUTS
            together = sum(words[windowed:]) if second else beside
            if not second and not layer.uses_macs:
                # maps of other layers of the computation have no words
                near = self.found.layers
                sources = group_sources(self.network)[position]
                pairs = zip(words, sources, strict=True)
                together = sum(w for w, other in pairs if other.layer not in near)
            maps = len(words) - windowed if second else windowed
            # the array reads maps that lie side by side as one operand, which is in one place
            possible = not layer.uses_macs or (maps == 1 and (keeps_weights or not second))
            share = words[operand] / together if together else 0.0
            tile = 0
            if position in (self.found.host, *self.found.before[:1]) and source.layer not in (
                self.found.layers
            ):
                tile = int(self.tiles[tensor] * share) if operand < windowed or second else 0
            yield MapRead(source.layer, tile, self._saving(position, tensor, share), possible)

    def saving(self, layers: Iterable[int], tensor: int) -> Saving:
        """DRAM's part in an operand of layers."""
        total = Saving()
        for i in layers:
            total = _sum(total, self._saving(i, tensor, 1.0))
        return total

    def _share(self, position: int) -> LayerShare:
        return next(share for share in self.cost.layers if share.layer == position)

    def _saving(self, position: int, tensor: int, share: float) -> Saving:
        part = self._share(position)
        words = int(part.words[-1, tensor])
        total = sum(int(one.words[-1].sum()) for one in self.cost.layers)
        # t_i^k: words over the bandwidth
        cycles = self._dram_cycles * words / total if total else 0.0
        energy = float(part.energy_pj[-1, tensor])
        return Saving(cycles * share, energy * share, round(words * share))

    @property
    def _dram_cycles(self) -> int:
        if not self.found.folded:
            return self.cost.layers[0].evaluations[0][1].dram_cycles
        moved = self.cost.dram_reads + self.cost.dram_writes
        return ceil(moved / self.hardware.levels[-1].bandwidth_words)


def steady_layers(
    network: Network, hardware: Hardware, found: Computation, owner: int
) -> tuple[int, ...]:
    """Return the layers of a computation whose weights stay if those of computation ``owner`` do.

    They are what that one brings, on hardware whose buffer keeps weights.
    """
    if "weights" not in hardware.levels[-2].keeps:
        return ()
    numbers = computation_numbers(network)
    return tuple(
        i
        for i in found.layers
        if network.layers[i].weight_words and numbers[network.weight_owner(i)] == owner
    )


def _sum(one: Saving, other: Saving) -> Saving:
    return Saving(
        one.cycles + other.cycles,
        one.energy_pj + other.energy_pj,
        one.dram_words + other.dram_words,
    )


def _joined(one: MapRead, other: MapRead) -> MapRead:
    """Two reads of the same maps."""
    tile, possible = one.tile_words + other.tile_words, one.possible and other.possible
    return MapRead(one.producer, tile, _sum(one.saving, other.saving), possible)


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
