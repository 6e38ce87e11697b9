"""Price of one fused group: traffic, energy and latency, tile by tile.

Each layer of each distinct tile is priced by the layer model with the operands that live in
the shared buffer staged there; the group adds what moves between DRAM and that buffer.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final

from ..space.cores import Cores, fusion_cores
from ..space.faces import bad_cuts
from ..space.fusion import FusionGroup
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network
from ..space.surroundings import ALONE, Surroundings
from .buffer_demand import fullest_step, group_name, overflow
from .buffer_room import BufferNeeds, Room, buffer_needs, pinned_overflow, resident_loads
from .face_tiles import face_tiles
from .group_latency import group_cycles, no_work, round_cycles
from .group_shape import GroupShape, group_shape, placed
from .layer_cost import Counts, Energies, LayerCost
from .occupancy import Tiles, group_tiles
from .rounds import Rounds, dealt, rounds_of
from .streamed_cost import naming, streamed_layer, streamed_room
from .tile_cost import Mapper, load_of, tiled_layer, transfers

#: see :func:`room_of`
RoomOf = Callable[[int], Hashable]

#: most tiles of an image: figures of each are held at once (assumption: a dozen arrays of 128 MiB
#: are as much as anyone has to spare)
MOST_TILES: Final = 2**24


@dataclass(frozen=True)
class LayerShare:
    """What one layer contributes to its group over a whole pass.

    Attributes:
        layer: position in the network.
        words, energy_pj: [L, 3], as in LayerCost, over all tiles and with the transfers
            between DRAM and buffer that serve the layer.
        compute_pj: of its operations.
        latency_cycles: time that it holds the array.
        operations: multiply-accumulates or vector operations, repeated ones included.
        evaluations: the distinct tiles, as (how many, cost of one).
    """

    layer: int
    words: Counts
    energy_pj: Energies
    compute_pj: float
    latency_cycles: int
    operations: int
    evaluations: tuple[tuple[int, LayerCost], ...]


@dataclass(frozen=True)
class GroupCost:
    """Price of one group over a whole pass.

    Attributes:
        group: what was priced.
        layers: a share for each layer, in order.
        wait_cycles: time in which the array waits for DRAM or the buffer's ports.
        dram_reads, dram_writes: words.
        own_words: most words of the shared buffer (of one core's) that the group itself has in
            use; 0 if it streams.
        tiles: tiles of one image.
        prefetch: whether transfers of neighbouring tiles overlap with compute.
        around: what else its plan keeps in the buffer.
        cores: on which tiles run side by side; 1 if they share one buffer.
    """

    group: FusionGroup
    layers: tuple[LayerShare, ...]
    wait_cycles: int
    dram_reads: int
    dram_writes: int
    own_words: int
    tiles: int
    prefetch: bool
    around: Surroundings = ALONE
    cores: int = 1

    @property
    def peak_words(self) -> int:
        """Most words of the shared buffer in use, pinned maps and steady weights with them."""
        return self.own_words + self.around.words

    # every plan with the group adds these up

    @cached_property
    def latency_cycles(self) -> int:
        """Time of the group."""
        return sum(s.latency_cycles for s in self.layers) + self.wait_cycles

    @cached_property
    def dynamic_pj(self) -> float:
        """Energy without leakage."""
        return float(sum(s.energy_pj.sum() + s.compute_pj for s in self.layers))


def group_cost(
    network: Network,
    group: FusionGroup,
    hardware: Hardware,
    mapper: Mapper,
    around: Surroundings = ALONE,
) -> GroupCost | Infeasible:
    """Price one group of ``network`` on ``hardware``, among what its plan keeps in the buffer.

    A group of one layer without tile or faces streams all operands that are not in the buffer:
    alone, it costs what the layer model says, on the whole chip. Any other group holds its maps
    in the shared buffer, or runs its tiles side by side on cores with a buffer each.
    """
    if streams(group):
        return _single(network, group, hardware, mapper, around)
    cores, tiles = fusion_cores(hardware), tiles_of(network, group, hardware, around)
    if isinstance(tiles, Infeasible):
        return tiles
    assert isinstance(cores, Cores), "without cores there are no tiles"
    rounds = rounds_of(tiles, cores.count)
    needs = buffer_needs(network, rounds, group, cores.one)
    room = needs.room(buffer_words(cores.one) - around.words)
    if room is None:
        return _overflow(network, tiles, needs, group, around, cores.one)
    return _fused(rounds, group, resident_loads(network, group), cores, mapper, room, around)


def room_of(
    network: Network, group: FusionGroup, hardware: Hardware, around: Surroundings
) -> RoomOf:
    """Return what a group makes of the buffer, from the words that ``around`` takes of it.

    What ``around`` says besides is as it is. Where the function returns the same, so does
    :func:`group_cost`, but for the words themselves; None where they are too many.
    """
    capacity = buffer_words(hardware)
    if hardware.fusion_level is None:
        return lambda _: None
    if streams(group):
        position = group.layers[0]
        steady = position in group.steady
        streamed = streamed_room(network, position, steady, hardware, around)
        return lambda words: streamed(capacity - words)
    tiles = tiles_of(network, group, hardware, around)
    if isinstance(tiles, Infeasible):
        return lambda _: None
    needs = buffer_needs(network, rounds_of(tiles, 1), group, hardware)
    return lambda words: needs.room(capacity - words)


def streams(group: FusionGroup) -> bool:
    """Whether a group streams its operands, rather than hold its maps in the buffer."""
    return len(group.layers) == 1 and group.tile is None and not group.faces


def tiles_of(
    network: Network, group: FusionGroup, hardware: Hardware, around: Surroundings = ALONE
) -> Tiles | Infeasible:
    """Return the tiles of a group that holds its maps in the buffer, or why it cannot."""
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return replace(cores, where=group_name(network, group.layers))
    blocked = _kept_on_cores(network, group, hardware, around)
    blocked = blocked or fusion_blocked(network, group, cores.one)
    if blocked is not None:
        return blocked
    shape = placed(network, shape_of(network, group.layers), around)
    members = tuple(network.layers[i] for i in group.layers)
    tiles: Tiles
    if group.faces:
        wrong = bad_cuts(network, group.layers, group.faces)
        if wrong is not None:
            return wrong
        tiles = face_tiles(shape, members, group.faces)
    else:
        tiles = group_tiles(shape, members, group.tile, group.halo)
    count = dealt(tiles, cores.count)
    if count > MOST_TILES:
        names, hint = group_name(network, group.layers), "use larger tiles or cut the group"
        return Infeasible("too_many_tiles", names, count, MOST_TILES, "tiles", hint)
    return tiles


def _kept_on_cores(
    network: Network, group: FusionGroup, hardware: Hardware, around: Surroundings
) -> Infeasible | None:
    """Return why a chip of several cores keeps nothing from group to group, or None."""
    cores = fusion_cores(hardware)
    several = isinstance(cores, Cores) and cores.count > 1
    if not several or (around == ALONE and not group.steady):
        return None
    level, names = hardware.levels[-2], group_name(network, group.layers)
    hint = f"{level.name} has {level.instances} instances: pin no map, and no weights for ever"
    return Infeasible("pins_need_one_buffer", names, 1, level.instances, "buffer", hint)


@lru_cache(maxsize=4096)
def shape_of(network: Network, layers: tuple[int, ...]) -> GroupShape:
    """Memoised :func:`group_shape`."""
    return group_shape(network, layers)


def fusion_blocked(network: Network, group: FusionGroup, hardware: Hardware) -> Infeasible | None:
    """Return why the hardware cannot hold the group's maps or weights anywhere, or None."""
    names = group_name(network, group.layers)
    buffer = hardware.fusion_level
    if buffer is None:
        return Infeasible(
            "no_shared_buffer",
            names,
            1,
            0,
            "",
            "fusion needs a shared SRAM that keeps inputs and outputs",
        )
    name = hardware.levels[buffer].name
    if "weights" in hardware.levels[buffer].keeps:
        return None
    if group.resident or group.steady:
        return Infeasible(
            "weights_not_kept", names, 1, 0, "", f"{name} keeps no weights: leave them streamed"
        )
    for layer in (network.layers[i] for i in group.layers):
        if layer.multiplies_maps and not streams(group):
            hint = f"{name} keeps no weights, where the second map goes: run {layer.name} alone"
            return Infeasible("second_map_not_kept", names, 1, 0, "", hint)
    return None


def _single(
    network: Network,
    group: FusionGroup,
    hardware: Hardware,
    mapper: Mapper,
    around: Surroundings,
) -> GroupCost | Infeasible:
    if group.steady or around != ALONE:
        blocked = _kept_on_cores(network, group, hardware, around)
        blocked = blocked or fusion_blocked(network, group, hardware)
        if blocked is not None:
            return blocked
    position = group.layers[0]
    steady, capacity = position in group.steady, buffer_words(hardware)
    run = streamed_layer(network, position, steady, hardware, mapper, capacity, around)
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
    return GroupCost(group, (share,), wait, cost.dram_reads, writes, 0, 1, True, around)


def buffer_words(hardware: Hardware) -> int:
    """Words that the fusion level holds; 0 if there is none."""
    buffer = hardware.fusion_level
    if buffer is None:
        return 0
    level = hardware.levels[buffer]
    return int(level.total_bytes * 8 // hardware.word_bits // level.multiple_buffering)


def _overflow(
    network: Network,
    tiles: Tiles,
    needs: BufferNeeds,
    group: FusionGroup,
    around: Surroundings,
    hardware: Hardware,
) -> Infeasible:
    """Return what is missing at the step that needs most, neighbouring tiles left out."""
    capacity = buffer_words(hardware)
    step = fullest_step(network, tiles, resident_loads(network, group), needs.least)
    if needs.room(capacity) is not None:
        name = f"{group_name(network, group.layers)}, layer {tiles.layers[step.layer].name}"
        return pinned_overflow(network, name, around, step.words, capacity, hardware)
    hint = "use a smaller tile, stream weights, cut the group, or enlarge the buffer"
    return overflow(network, tiles, step, capacity, hardware, hint)


def _fused(
    rounds: Rounds,
    group: FusionGroup,
    loads: Mapping[int, int],
    cores: Cores,
    mapper: Mapper,
    room: Room,
    around: Surroundings,
) -> GroupCost | Infeasible:
    tiles, hardware, work = rounds.tiles, cores.one, no_work(rounds)
    shares: list[LayerShare] = []
    reads, writes = 0, 0
    for m, position in enumerate(group.layers):
        resident = position in group.resident or position in group.steady
        done = tiled_layer(rounds, m, resident, cores, room.left[m], mapper)
        if isinstance(done, Infeasible):
            return naming(tiles.layers[m], done)
        load = load_of(loads.get(position, 0), rounds, cores)
        moved = transfers(tiles, m, load, hardware)
        work.add(done.run, load, hardware)
        reads += done.dram_reads + moved.dram_reads
        writes += done.dram_writes + moved.dram_writes
        shares.append(
            LayerShare(
                position,
                done.words + moved.words,
                done.energy_pj + moved.energy_pj,
                done.compute_pj,
                int(done.run.busy.sum()) * rounds.repeats,
                done.operations,
                done.evaluations,
            )
        )
    time = group_cycles(rounds, round_cycles(rounds, hardware, room.prefetch, work))
    wait, own = time - sum(s.latency_cycles for s in shares), room.peak
    return GroupCost(
        group,
        tuple(shares),
        wait,
        reads,
        writes,
        own,
        tiles.count,
        room.prefetch,
        around,
        rounds.working,
    )
