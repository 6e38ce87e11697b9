"""All tilings of one group that a search may choose from: tile, halo policy, resident weights."""

from ..evaluators.group_cost import buffer_words, fusion_blocked, shape_of
from ..space.fusion import FusionGroup
from ..space.hardware import Hardware
from ..space.network import Network
from .group_tilings import GroupTilings
from .partition import Group
from .tiling import choose_weights


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
    ways = GroupTilings(shape_of(network, layers), tuple(network.layers[i] for i in layers))
    for tile in ways.bands:
        for policy in ways.policies(tile):
            tiles = ways.tiles(tile, policy)
            room = buffer_words(hardware) - int(tiles.activations.max())
            if room > 0:
                runs = tiles.count * tiles.images
                resident, _ = choose_weights(network, layers, hardware, runs, room)
                for stay in (resident, ()):
                    found[FusionGroup(layers, tile, tiles.policy, stay)] = None
    return tuple(found)
