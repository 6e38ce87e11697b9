"""Cost of a layer of the MAC array with the layers of the vector unit that are folded into it.

The vector unit does the same operations, and the same accesses to the shared buffer, as for layers
by themselves, while the array runs. Feature maps between layers that run together never cross DRAM,
and take no room. Every other map is read from where it lies, once: only what is folded into the
input of a layer that fetches it several times is fetched, and worked on, as often.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from math import ceil

from archloom.evaluators.fusion.buffer import buffer_words, pinned_overflow
from archloom.evaluators.loopnest import LayerCost, pinned_vector_cost, whole_grains, whole_pj
from archloom.space import Infeasible
from archloom.space.fusion import ALONE, Computation, FusionGroup, Residents
from archloom.space.hardware import Hardware
from archloom.space.workload import INPUTS, OUTPUTS, TENSORS, Network

from ..group_graph import group_sources
from ..group_share import GroupCost, LayerShare
from ..tile import ProblemMapper
from .layer import (
    OperandPlaces,
    alone,
    placed_cost,
    placed_problem,
    rounded_capacity,
    stored_words,
    streamed_words,
)


@dataclass(frozen=True)
class _Placed:
    """A computation of a network, and where its feature maps are.

    Attributes:
        network, found: the computation.
        group: of the plan, which says whose weights are steady.
        hardware: that it runs on.
        residents: what the plan keeps in the buffer.
    """

    network: Network
    found: Computation
    group: FusionGroup
    hardware: Hardware
    residents: Residents

    def kept(self, position: int) -> bool:
        """Whether a result stays in the buffer."""
        return position in self.residents.kept

    def stored(self, position: int) -> int:
        """Words of a result that stays in the buffer and goes to DRAM as well."""
        written = self.kept(position) and position not in self.residents.unwritten
        return self.network.layers[position].output_words if written else 0

    def near(self, position: int) -> tuple[bool, ...]:
        """For each map that a layer reads whether it is on the chip."""
        sources = (source.layer for source in group_sources(self.network)[position])
        return tuple(s in self.residents.held or s in self.found.layers for s in sources)

    @property
    def host(self) -> OperandPlaces:
        """Where the operands of the host are."""
        host, found = self.found.host, self.found
        sources = [source.layer for source in group_sources(self.network)[host]]
        if found.before:
            # the array reads what the first of them reads, worked on
            sources[0] = group_sources(self.network)[found.before[0]][0].layer
        held = tuple(source in self.residents.held for source in sources)
        # a pool makes less than the host, whose tiles pass through the buffer then
        layers, result = self.network.layers, found.result
        same = layers[result].output_words == layers[host].output_words
        written = bool(self.stored(result))
        kept = same and self.kept(result)
        return OperandPlaces(host, held, host in self.group.steady, kept, kept and written)


def folded_layer(
    network: Network,
    found: Computation,
    group: FusionGroup,
    hardware: Hardware,
    mapper: ProblemMapper,
    residents: Residents,
) -> GroupCost | Infeasible:
    """Evaluate the group of a plan that is a computation of ``network``.

    Args:
        network, found, group: what runs.
        hardware, mapper: what it runs on, and what maps its host.
        residents: what its plan keeps in the buffer.
    """
    if hardware.levels[-1].timing is not None:
        hint = (
            "layers that are folded do not know rows and banks of DRAM; leave out timing of the "
            "DRAM level, or do not fold"
        )
        name = network.layers[found.host].name
        return Infeasible("dram_has_timing", f"{hardware.name}, {name}", 1, 0, "", hint)
    placed, capacity = _Placed(network, found, group, hardware, residents), buffer_words(hardware)
    host = network.layers[found.host]
    if residents == ALONE and not group.steady:
        mapped = alone(host, hardware, mapper)
    elif capacity < residents.words:
        return pinned_overflow(network, host.name, residents, 0, capacity, hardware)
    else:
        mapped = placed_cost(network, placed.host, hardware, mapper, capacity, residents)
    if isinstance(mapped, Infeasible):
        return mapped
    costs = {found.host: _without_inner(placed, mapped)}
    costs |= dict(_vector_costs(placed, mapped, capacity - residents.words))
    return _together(placed, costs, mapped)


def folded_buffer_use(
    network: Network,
    found: Computation,
    group: FusionGroup,
    hardware: Hardware,
    residents: Residents,
) -> Callable[[int], Hashable]:
    """Return how :func:`folded_layer` uses the free words of the buffer; None if these are below
    0."""
    placed = _Placed(network, found, group, hardware, residents)
    whole = placed_problem(network.layers[found.host], placed.host, hardware)
    if isinstance(whole, Infeasible):
        return lambda free: whole if free >= 0 else None
    passing = streamed_words(whole)
    return lambda free: (rounded_capacity(passing, free),) if free >= 0 else None


def _without_inner(placed: _Placed, mapped: LayerCost) -> LayerCost:
    """The host without the words over DRAM of maps that stay inside.

    Partial sums that its mapping keeps in DRAM still go there and come back.
    """
    host, hardware = placed.network.layers[placed.found.host], placed.hardware
    dram = len(hardware.levels) - 1

    def moved_words(count: int, tensor: int) -> int:
        return count * hardware.bits(dram, TENSORS[tensor]) // hardware.word_bits

    words, energy = mapped.words.copy(), mapped.energy_pj.copy()
    reads, writes = mapped.dram_reads, mapped.dram_writes
    if placed.found.after and words[dram, OUTPUTS]:
        left = int(words[dram, OUTPUTS]) - host.output_words
        energy[dram, OUTPUTS] *= left / int(words[dram, OUTPUTS])
        words[dram, OUTPUTS] = left
        writes -= moved_words(host.output_words, OUTPUTS)
    if placed.found.before:
        reads -= (
            int(words[dram, INPUTS]) * hardware.bits(dram, TENSORS[INPUTS]) // hardware.word_bits
        )
        words[dram, INPUTS], energy[dram, INPUTS] = 0, 0.0
    moved = ceil((reads + writes) / hardware.levels[-1].bandwidth_words)
    return replace(
        mapped,
        words=words,
        energy_pj=whole_grains(energy),
        dram_cycles=min(mapped.dram_cycles, moved),
        dram_reads=reads,
        dram_writes=writes,
    )


def _vector_costs(placed: _Placed, mapped: LayerCost, free: int) -> Iterator[tuple[int, LayerCost]]:
    network, found = placed.network, placed.found
    for i in found.folded:
        layer = network.layers[i]
        inner = i in found.before or (i in found.after and i != found.result)
        kept, steady = inner or placed.kept(i), i in placed.group.steady
        cost = pinned_vector_cost(layer, placed.hardware, placed.near(i), kept, steady, free)
        if i in found.before:
            fetched, once = int(mapped.words[-1, INPUTS]), layer.output_words
            cost = _repeated(cost, max(fetched, once), once)
        yield i, cost


def _repeated(cost: LayerCost, times: int, of: int) -> LayerCost:
    """What a layer costs that runs ``times / of`` times."""

    def more(count: int) -> int:
        return -(-count * times // of)

    return replace(
        cost,
        words=-(-cost.words * times // of),
        energy_pj=whole_grains(cost.energy_pj * (times / of)),
        compute_pj=whole_pj(cost.compute_pj * (times / of)),
        chip_cycles=more(cost.chip_cycles),
        dram_cycles=more(cost.dram_cycles),
        dram_reads=more(cost.dram_reads),
        dram_writes=more(cost.dram_writes),
        operations=more(cost.operations),
    )


def _together(placed: _Placed, costs: dict[int, LayerCost], mapped: LayerCost) -> GroupCost:
    found, hardware = placed.found, placed.hardware
    rate, port = (hardware.levels[i].bandwidth_words for i in (-1, -2))
    # the vector unit works in the time of the array; what takes it longer shows
    hidden = costs[found.host].chip_cycles
    shares, reads, writes, stored = dict[int, LayerShare](), 0, 0, 0
    for i, cost in costs.items():
        moved = stored_words(placed.stored(i), hardware)
        stored += placed.stored(i)
        cycles = cost.chip_cycles
        if i != found.host:
            cycles = max(0, cycles - hidden)
            hidden -= cost.chip_cycles - cycles
        shares[i] = LayerShare(
            i,
            cost.words + moved.words,
            cost.energy_pj + moved.energy_pj,
            cost.compute_pj,
            cycles,
            cost.operations,
            ((1, cost if i != found.host else mapped),),
        )
        reads += cost.dram_reads
        writes += cost.dram_writes + moved.dram_writes
    busy = sum(share.latency_cycles for share in shares.values())
    time = max(busy, ceil((reads + writes) / rate))
    if hardware.fusion_level is not None:
        # array and vector unit share the ports of the buffer
        words = sum(int(cost.words[-2].sum()) for cost in costs.values()) + stored
        by_turns = sum(cost.chip_cycles for cost in costs.values()) + ceil(stored / port)
        time = max(time, min(ceil(words / port), by_turns))
    order = tuple(shares[i] for i in found.layers)
    return GroupCost(placed.group, order, time - busy, reads, writes, 0, 1, True, placed.residents)
