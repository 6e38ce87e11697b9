"""Cost of one fused group: traffic, energy and latency, tile by tile.

Each layer of each distinct tile is evaluated by the layer model with the operands that live in
the shared buffer staged there; the group adds what moves between DRAM and that buffer.
"""

from collections.abc import Callable, Hashable, Mapping

from archloom.space import Infeasible
from archloom.space.fusion import (
    ALONE,
    Computation,
    FusionGroup,
    Residents,
    folded_of,
    sub_batch,
)
from archloom.space.hardware import Cores, Hardware, fusion_cores, packed
from archloom.space.workload import Network

from .buffer import (
    BufferFit,
    BufferNeeds,
    buffer_needs,
    buffer_words,
    fusion_blocked,
    group_name,
    kept_on_cores,
    overflow,
    peak_demand,
    pinned_overflow,
    resident_loads,
    streams,
    tiles_of,
)
from .core_rounds import Rounds, rounds_of
from .group_share import GroupCost, LayerShare
from .latency import group_cycles, no_work, round_cycles
from .nest import nest_cost, nest_on, nest_use
from .streamed import (
    folded_buffer_use,
    folded_layer,
    naming,
    of_all_parts,
    streamed_buffer_use,
    streamed_layer,
)
from .tile import ProblemMapper, tiled_layer, transfers, weight_load
from .tiling import Tiles

#: free words of the buffer to a key of the group's behaviour; see :func:`buffer_use_of`
BufferUseOf = Callable[[int], Hashable]


def group_cost(
    network: Network,
    group: FusionGroup,
    hardware: Hardware,
    mapper: ProblemMapper,
    residents: Residents = ALONE,
) -> GroupCost | Infeasible:
    """Evaluate one group of ``network`` on ``hardware``, among what its plan keeps in the buffer.

    A group of one layer without tile or faces streams all operands that are not in the buffer:
    alone, it costs what the layer model says, on the whole chip. So does one that is a layer of the
    array with what is folded into it. Any other group holds its maps
    in the shared buffer, or runs its tiles side by side on cores with a buffer each; or it runs in
    the loops of its nest. A group with sub-batches does so for each of them.
    """
    network = packed(network, hardware)
    if group.sub_batches > 1 or group.loaded_once:
        network = sub_batch(network, group.sub_batches)
        part = group_cost(network, group.one_part, hardware, mapper, residents)
        if isinstance(part, Infeasible):
            return part
        return of_all_parts(packed(network, hardware), group, part, hardware)
    if streams(group):
        return _single(network, group, hardware, mapper, residents)
    cores = fusion_cores(hardware)
    if (computation := folded_of(network, group)) is not None:
        return _folded(network, computation, group, hardware, mapper, residents)
    if group.nest is not None:
        return nest_cost(network, group, hardware, mapper, residents)
    tiles = tiles_of(network, group, hardware, residents)
    if isinstance(tiles, Infeasible):
        return tiles
    assert isinstance(cores, Cores), "without cores there are no tiles"
    rounds = rounds_of(tiles, cores.count)
    needs = buffer_needs(network, rounds, group, cores.one)
    fit = needs.fit(buffer_words(cores.one) - residents.words)
    if fit is None:
        return _overflow(network, tiles, needs, group, residents, cores.one)
    return _fused(rounds, group, resident_loads(network, group), cores, mapper, fit, residents)


def buffer_use_of(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents
) -> BufferUseOf:
    """Return how a group uses the buffer, as a function of the words that ``residents`` takes of
    it.

    All else in ``residents`` is fixed. Where the function returns the same, so does
    :func:`group_cost`, but for the words themselves; None where they are too many.
    """
    network, capacity = packed(network, hardware), buffer_words(hardware)
    network, group = sub_batch(network, group.sub_batches), group.one_part
    if hardware.fusion_level is None:
        return lambda _: None
    if streams(group):
        position = group.layers[0]
        steady = position in group.steady
        streamed = streamed_buffer_use(network, position, steady, hardware, residents)
        return lambda words: streamed(capacity - words)
    if (computation := folded_of(network, group)) is not None:
        folded = folded_buffer_use(network, computation, group, hardware, residents)
        return lambda words: folded(capacity - words)
    if group.nest is not None:
        on = nest_on(network, group, hardware, residents)
        if isinstance(on, Infeasible):
            return lambda _: None
        return lambda words: nest_use(on.first, capacity - words)
    tiles = tiles_of(network, group, hardware, residents)
    if isinstance(tiles, Infeasible):
        return lambda _: None
    needs = buffer_needs(network, rounds_of(tiles, 1), group, hardware)
    return lambda words: needs.fit(capacity - words)


def _cannot_keep(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents
) -> Infeasible | None:
    """Return why nothing may stay in the buffer beside a group, or of it; None if it may, or need
    not."""
    if not group.steady and residents == ALONE:
        return None
    blocked = kept_on_cores(network, group, hardware, residents)
    return blocked or fusion_blocked(network, group, hardware)


def _single(
    network: Network,
    group: FusionGroup,
    hardware: Hardware,
    mapper: ProblemMapper,
    residents: Residents,
) -> GroupCost | Infeasible:
    if (blocked := _cannot_keep(network, group, hardware, residents)) is not None:
        return blocked
    position = group.layers[0]
    steady, capacity = position in group.steady, buffer_words(hardware)
    run = streamed_layer(network, position, steady, hardware, mapper, capacity, residents)
    if isinstance(run, Infeasible):
        return run
    cost = run.cost
    share = LayerShare(
        position,
        cost.words + run.moved.words,
        cost.energy_pj + run.moved.energy_pj,
        cost.compute_pj,
        cost.chip_cycles,
        cost.operations,
        ((1, cost),),
    )
    wait = run.latency_cycles - cost.chip_cycles
    writes = cost.dram_writes + run.moved.dram_writes
    return GroupCost(group, (share,), wait, cost.dram_reads, writes, 0, 1, True, residents)


def _folded(
    network: Network,
    computation: Computation,
    group: FusionGroup,
    hardware: Hardware,
    mapper: ProblemMapper,
    residents: Residents,
) -> GroupCost | Infeasible:
    if (blocked := _cannot_keep(network, group, hardware, residents)) is not None:
        return blocked
    if not group.steady and residents == ALONE and isinstance(fusion_cores(hardware), Infeasible):
        return _one_by_one(network, group, hardware, mapper)
    together = folded_layer(network, computation, group, hardware, mapper, residents)
    if isinstance(together, Infeasible) or residents != ALONE or not computation.before:
        return together
    # what is fetched again and again may cost less worked on before
    apart = _one_by_one(network, group, hardware, mapper)
    if isinstance(apart, Infeasible):
        return together
    moved = [cost.dram_reads + cost.dram_writes for cost in (together, apart)]
    return together if moved[0] <= moved[1] else apart


def _one_by_one(
    network: Network, group: FusionGroup, hardware: Hardware, mapper: ProblemMapper
) -> GroupCost | Infeasible:
    """Evaluate the layers of a group one after another, each by itself."""
    parts = []
    for i in group.layers:
        part = _single(network, FusionGroup((i,)), hardware, mapper, ALONE)
        if isinstance(part, Infeasible):
            return part
        parts.append(part)
    shares = tuple(share for part in parts for share in part.layers)
    wait, reads, writes = (
        sum(getattr(part, name) for part in parts)
        for name in ("wait_cycles", "dram_reads", "dram_writes")
    )
    return GroupCost(group, shares, wait, reads, writes, 0, 1, True)


def _overflow(
    network: Network,
    tiles: Tiles,
    needs: BufferNeeds,
    group: FusionGroup,
    residents: Residents,
    hardware: Hardware,
) -> Infeasible:
    """Return what is missing at the peak, neighbouring tiles left out."""
    capacity = buffer_words(hardware)
    peak = peak_demand(network, tiles, resident_loads(network, group), needs.least)
    if needs.fit(capacity) is not None:
        name = f"{group_name(network, group.layers)}, layer {tiles.layers[peak.layer].name}"
        return pinned_overflow(network, name, residents, peak.words, capacity, hardware)
    hint = "use a smaller tile, stream weights, cut the group, or enlarge the buffer"
    return overflow(network, tiles, peak, capacity, hardware, hint)


def _fused(
    rounds: Rounds,
    group: FusionGroup,
    loads: Mapping[int, int],
    cores: Cores,
    mapper: ProblemMapper,
    fit: BufferFit,
    residents: Residents,
) -> GroupCost | Infeasible:
    tiles, hardware, work = rounds.tiles, cores.one, no_work(rounds)
    shares: list[LayerShare] = []
    reads, writes = 0, 0
    for m, position in enumerate(group.layers):
        resident = position in group.resident or position in group.steady
        done = tiled_layer(rounds, m, resident, cores, fit.left[m], mapper)
        if isinstance(done, Infeasible):
            return naming(tiles.layers[m], done)
        load = weight_load(loads.get(position, 0), rounds, cores)
        moved = transfers(tiles, m, load, hardware)
        work.add(done.activity, load, hardware)
        reads += done.dram_reads + moved.dram_reads
        writes += done.dram_writes + moved.dram_writes
        shares.append(
            LayerShare(
                position,
                done.words + moved.words,
                done.energy_pj + moved.energy_pj,
                done.compute_pj,
                int(done.activity.busy.sum()) * rounds.repeats,
                done.operations,
                done.evaluations,
            )
        )
    time = group_cycles(rounds, round_cycles(rounds, hardware, fit.prefetch, work))
    wait, own = time - sum(s.latency_cycles for s in shares), fit.peak
    return GroupCost(
        group,
        tuple(shares),
        wait,
        reads,
        writes,
        own,
        tiles.count,
        fit.prefetch,
        residents,
        rounds.working,
    )
