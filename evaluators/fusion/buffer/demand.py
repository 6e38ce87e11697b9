"""Peak buffer demand of a fused group, and the sentence that says why it is too much."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from archloom.evaluators.fusion.tiling import Tiles
from archloom.space import Infeasible
from archloom.space.hardware import Hardware
from archloom.space.workload import Network

from ..group_graph import group_sources

_NAMED: Final = 4
"""Most demands that a sentence names; the others are added up."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Words of the buffer that one tensor takes at one step.

    Attributes:
        name: of a map: the layer that makes it, or the input; ``weights of`` a layer.
        words: how many.
    """

    name: str
    words: int


@dataclass(frozen=True, slots=True)
class PeakDemand:
    """The layer and tile at which a group holds most.

    Attributes:
        layer: that runs then, by its number in the group.
        tile: row and column among the tiles, from 0 on.
        demands: what is held, the largest first; of equal ones, maps before weights.
    """

    layer: int
    tile: tuple[int, int]
    demands: tuple[Demand, ...]

    @property
    def words(self) -> int:
        """All that is held."""
        return sum(demand.words for demand in self.demands)


def group_name(network: Network, layers: tuple[int, ...]) -> str:
    """Name a group after its first and last layer."""
    first, last = network.layers[layers[0]].name, network.layers[layers[-1]].name
    return first if len(layers) == 1 else f"{first}..{last} ({len(layers)} layers)"


def map_names(network: Network, layers: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of a group's maps, numbered as in its :class:`GroupShape`.

    A map from outside has the name of the layer that makes it, or of the input, and the box of it
    that is read if that is not all.
    """
    names = [network.layers[i].name for i in layers]
    outside: dict[int, str] = {}
    for i in layers:
        for operand, source in enumerate(group_sources(network)[i]):
            if source.layer not in layers:
                box = network.layers[i].slice_of(operand)
                name = network.reads[i][operand]
                outside.setdefault(source.box, name if box is None else f"{name}{box}")
    return (*names, *outside.values())


def peak_demand(
    network: Network,
    tiles: Tiles,
    weights: Mapping[int, int],
    streamed: Sequence[int] | None = None,
) -> PeakDemand:
    """Return the first layer and tile at which a group holds most, without what is in flight.

    Args:
        network: where the group is.
        tiles: of the group.
        weights: words of resident weights, by the position of the layer that brings them.
        streamed: words that each layer needs for weights that pass through; none if left out.
    """
    passing = streamed or [0] * tiles.shape.members
    held = tiles.activations + np.array(passing)[:, None, None]
    member, a, b = map(int, np.unravel_index(int(held.argmax()), held.shape))
    layers = tiles.shape.layers
    alive = zip(map_names(network, layers), tiles.alive(member, (a, b)), strict=True)
    demands = [Demand(name, words) for name, words in alive]
    demands += [_of_weights(network, i, words) for i, words in weights.items()]
    demands.append(_of_weights(network, layers[member], passing[member]))
    found = sorted((d for d in demands if d.words), key=lambda d: -d.words)
    rows, columns = tiles.corners
    return PeakDemand(member, (int(rows[a, 0]), int(columns[0, b])), tuple(found))


def _of_weights(network: Network, layer: int, words: int) -> Demand:
    return Demand(f"weights of {network.layers[layer].name}", words)


def overflow(
    network: Network, tiles: Tiles, peak: PeakDemand, capacity: int, hardware: Hardware, hint: str
) -> Infeasible:
    """Return why a group does not fit: how much is missing at its peak, and what takes most then.

    Args:
        network: where the group is.
        tiles: of the group.
        peak: the layer and tile at which it holds more than there is.
        capacity: words that the buffer holds.
        hardware: that has the buffer.
        hint: what would make it fit.
    """
    group, layer = group_name(network, tiles.shape.layers), tiles.layers[peak.layer].name
    where = f"{hardware.levels[-2].name}, group {group}, layer {layer}"
    if tiles.count > 1:
        where += f" in tile ({peak.tile[0]}, {peak.tile[1]}) of"
        where += f" {tiles.grid[0]}x{tiles.grid[1]}"
    size = hardware.word_bits / 8
    missing = over_capacity((peak.words - capacity) * size)
    return Infeasible(
        "glb_overflow",
        where,
        peak.words * size,
        capacity * size,
        "bytes",
        f"{missing}, for {_listed(peak, size)}; {hint}",
    )


def _listed(peak: PeakDemand, word_bytes: float) -> str:
    """Return the largest demands of a peak, and how much the others take."""
    # one of two that are left out is as short to name
    most = _NAMED if len(peak.demands) > _NAMED + 1 else _NAMED + 1
    texts = [f"{d.name} {bytes_text(d.words * word_bytes)}" for d in peak.demands[:most]]
    if rest := peak.demands[most:]:
        texts.append(f"{len(rest)} others {bytes_text(sum(d.words for d in rest) * word_bytes)}")
    return ", ".join(texts)


def bytes_text(count: float) -> str:
    """Return a number of bytes for people; shares of one only where there are any."""
    return f"{count:,.0f}" if float(count).is_integer() else f"{count:,.1f}"


def over_capacity(count: float) -> str:
    """Say how many bytes are missing."""
    return f"{bytes_text(count)} {'byte' if count == 1 else 'bytes'} over capacity"
