"""All tilings of one group that a search may choose from: tile, halo policy, resident weights."""

from collections.abc import Iterator
from functools import cache
from typing import get_args

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..evaluators.occupancy import GroupTiles
from ..evaluators.sweep import AxisSweep, axis_sweep
from ..space.fusion import FusionGroup, HaloPolicy
from ..space.hardware import Hardware
from ..space.network import Network
from .partition import Group
from .tiling import choose_weights, tile_sizes


def tilings(network: Network, layers: Group, hardware: Hardware) -> tuple[FusionGroup, ...]:
    """Return the tilings of a group whose maps fit in the buffer, larger tiles first.

    Tiles are those of :func:`.tiling.tile_group`, each under every halo policy that makes a
    difference; weights stay while they fit, most used and largest first, or none stay. A layer by
    itself has but one: its tiles are in its mapping.
    """
    if len(layers) == 1:
        return (FusionGroup(layers),)
    if fusion_blocked(network, FusionGroup(layers), hardware) is not None:
        return ()
    found: dict[FusionGroup, None] = {}
    for tiles, tile in _tiled(network, layers):
        room = buffer_words(hardware) - int(tiles.activations.max())
        if room > 0:
            runs = tiles.count * tiles.images
            resident, _ = choose_weights(network, layers, hardware, runs, room)
            for stay in (resident, ()):
                found[FusionGroup(layers, tile, tiles.policy, stay)] = None
    return tuple(found)


def _tiled(network: Network, layers: Group) -> Iterator[tuple[GroupTiles, tuple[int, int]]]:
    shape, members = shape_of(network, layers), [network.layers[i] for i in layers]
    whole = shape.sizes[shape.anchor]

    @cache
    def sweep(axis: int, size: int, keep: bool) -> AxisSweep:
        return axis_sweep(shape, members, axis, size, keep)

    for tile in dict.fromkeys(tile_sizes(*whole)):
        cut = tile[0] < whole[0], tile[1] < whole[1]
        for policy in get_args(HaloPolicy):
            # tiles that are not cut along an axis have no halo there
            if policy != "keep_all" and not (all(cut) if policy == "keep_inner" else any(cut)):
                continue
            keep = policy == "keep_all" or not cut[0], policy != "recompute" or not cut[1]
            rows, columns = (sweep(axis, tile[axis], keep[axis]) for axis in (0, 1))
            yield GroupTiles(shape, tuple(members), policy, rows, columns), tile
