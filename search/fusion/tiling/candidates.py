"""All tilings of one group that a search may choose from: tile, halo policy, resident weights."""

from collections.abc import Iterator

from archloom.evaluators.fusion.buffer import buffer_words, fusion_blocked, shape_of
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup, HaloPolicy
from archloom.space.hardware import Hardware, fusion_cores
from archloom.space.workload import Network

from ..partition import Group
from .default import choose_weights, fetches, tiles_apart
from .grid import GroupTilings, Tile


def tilings(network: Network, layers: Group, hardware: Hardware) -> tuple[FusionGroup, ...]:
    """Return the tilings of a group whose maps fit in the buffer, larger tiles first.

    Tiles are those of :func:`.default.tile_group`, each under every halo policy that makes a
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
        capacity = buffer_words(cores.one) - int(tiles.activations.max())
        if capacity > 0:
            resident, _ = choose_weights(
                network, layers, cores.one, fetches(tiles, cores), capacity
            )
            for stay in (resident, ()):
                found[FusionGroup(layers, tile, tiles.policy, stay)] = None
    return tuple(found)


def _several(ways: GroupTilings, images: int, cores: int) -> Iterator[tuple[Tile, HaloPolicy]]:
    """Yield tiles and halo policies that differ there."""
    if images % cores == 0:
        yield from ((tile, policy) for tile in ways.bands for policy in ways.policies(tile))
        return
    yield from tiles_apart(ways, cores)
