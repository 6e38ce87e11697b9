"""All tilings of one group that a search may choose from: tile, halo policy, resident weights."""

from collections.abc import Iterator

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..space.cores import fusion_cores
from ..space.fusion import FusionGroup, HaloPolicy
from ..space.hardware import Hardware
from ..space.infeasible import Infeasible
from ..space.network import Network
from .group_tilings import GroupTilings, Tile
from .partition import Group
from .tiling import POLICIES_APART, choose_weights, core_tile_sizes, fetches


def tilings(network: Network, layers: Group, hardware: Hardware) -> tuple[FusionGroup, ...]:
    """Return the tilings of a group whose maps fit in the buffer, larger tiles first.

    Tiles are those of :func:`.tiling.tile_group`, each under every halo policy that makes a
    difference; weights stay while they fit, most used and largest first, or none stay. A layer by
    itself has but one: its tiles are in its mapping.
    """
    if len(layers) == 1:
        return (FusionGroup(layers),)
    cores = fusion_cores(hardware)
    if isinstance(cores, Infeasible):
        return ()
    if fusion_blocked(network, FusionGroup(layers), cores.one) is not None:
        return ()
    found: dict[FusionGroup, None] = {}
    ways = GroupTilings(shape_of(network, layers), tuple(network.layers[i] for i in layers))
    for tile, policy in _several(ways, network.batch, cores.count):
        tiles = ways.tiles(tile, policy)
        room = buffer_words(cores.one) - int(tiles.activations.max())
        if room > 0:
            resident, _ = choose_weights(network, layers, cores.one, fetches(tiles, cores), room)
            for stay in (resident, ()):
                found[FusionGroup(layers, tile, tiles.policy, stay)] = None
    return tuple(found)


def _several(ways: GroupTilings, images: int, cores: int) -> Iterator[tuple[Tile, HaloPolicy]]:
    """Yield tiles and halo policies that differ there."""
    if images % cores == 0:
        yield from ((tile, policy) for tile in ways.bands for policy in ways.policies(tile))
        return
    for tile in core_tile_sizes(*ways.whole, cores):
        # runs of tiles are dealt to cores; whole rows keep nothing for the next tile
        yield from ((tile, policy) for policy in POLICIES_APART[: 1 + (tile[1] < ways.whole[1])])
