"""All tilings of one group that a search may choose from: tile, halo policy, resident weights."""

from archloom.evaluators.fusion.buffer import buffer_words, fusion_blocked
from archloom.space import Infeasible
from archloom.space.fusion import FusionGroup
from archloom.space.hardware import Hardware, fusion_cores
from archloom.space.workload import Network

from ..partition import Group
from .default import fetches, staying_weights, weight_users
from .known_tilings import known_tilings


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
    users = weight_users(network, layers)
    keeps = "weights" in cores.one.levels[-2].keeps
    for tiling in known_tilings(network, layers, cores.count):
        capacity = buffer_words(cores.one) - tiling.peak
        if capacity > 0:
            runs = fetches(tiling, network.batch, cores)
            resident, _ = staying_weights(users, keeps, runs, capacity)
            for stay in (resident, ()):
                found[FusionGroup(layers, tiling.tile, tiling.halo, stay)] = None
    return tuple(found)
