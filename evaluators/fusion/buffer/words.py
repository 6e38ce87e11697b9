"""Buffer of fused groups: its words, the tiles that it holds, and why a group cannot run from
it."""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from archloom.evaluators.fusion.tiling import Tiles, face_tiles, group_tiles
from archloom.space import Infeasible
from archloom.space.fusion import ALONE, FusionGroup, Residents, bad_cuts
from archloom.space.hardware import Cores, Hardware, fusion_cores
from archloom.space.workload import Layer, Network

from ..core_rounds import dealt
from ..group_graph import GroupShape, group_shape, with_residents
from .demand import group_name

#: most tiles of an image: figures of each are held at once (assumption: a dozen arrays of 128 MiB
#: are as much as anyone has to spare)
MOST_TILES: Final = 2**24


def streams(group: FusionGroup) -> bool:
    """Whether a group streams its operands, rather than hold its maps in the buffer."""
    held = group.tile is not None or group.faces or group.nest is not None
    return len(group.layers) == 1 and not held


def tiles_of(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents = ALONE
) -> Tiles | Infeasible:
    """Return the tiles of a group that holds its maps in the buffer, or why it cannot."""
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return replace(cores, where=group_name(network, group.layers))
    blocked = kept_on_cores(network, group, hardware, residents)
    blocked = blocked or fusion_blocked(network, group, cores.one)
    if blocked is not None:
        return blocked
    shape = with_residents(network, shape_of(network, group.layers), residents)
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


def kept_on_cores(
    network: Network, group: FusionGroup, hardware: Hardware, residents: Residents
) -> Infeasible | None:
    """Return why a chip of several cores keeps nothing from group to group, or None."""
    cores = fusion_cores(hardware)
    several = isinstance(cores, Cores) and cores.count > 1
    if not several or (residents == ALONE and not group.staying):
        return None
    level, names = hardware.levels[-2], group_name(network, group.layers)
    hint = (
        f"{level.name} has {level.instances} instances, and pinning needs one; pin no "
        "feature maps, "
        "and keep no weights permanently"
    )
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
            "fusion needs an on-chip SRAM, shared by all PEs, that keeps inputs and outputs",
        )
    name = hardware.levels[buffer].name
    if "weights" in hardware.levels[buffer].keeps:
        return None
    if group.resident or group.staying:
        return Infeasible(
            "weights_not_kept", names, 1, 0, "", f"{name} keeps no weights; stream them"
        )
    layer = without_second_map(network, group)
    if layer is None:
        return None
    hint = (
        f"the second operand of {layer.name} takes the place of weights, which {name} "
        "does not keep; "
        f"run {layer.name} unfused"
    )
    return Infeasible("second_map_not_kept", names, 1, 0, "", hint)


def without_second_map(network: Network, group: FusionGroup) -> Layer | None:
    """Return the first layer whose second map has no place in a buffer that keeps no weights."""
    if streams(group):
        return None
    layers = (network.layers[i] for i in group.layers)
    return next((layer for layer in layers if layer.multiplies_maps), None)


def buffer_words(hardware: Hardware) -> int:
    """Words that the fusion level holds; 0 if there is none."""
    buffer = hardware.fusion_level
    if buffer is None:
        return 0
    level = hardware.levels[buffer]
    return int(level.total_bytes * 8 // hardware.word_bits // level.multiple_buffering)
